/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plugins/kit.h
 * @brief What tests of a plugin need: a host with the built file, one job, what is observed of it, and answers as text.
 */
#ifndef RH_TEST_PLUGINS_KIT_H
#define RH_TEST_PLUGINS_KIT_H

#include <stddef.h>
#include <stdint.h>

#include "host/fixture.h"
#include "job/kinds.h"

/** Most replicas of a job whose pods a test sets. */
#define KIT_PODS_MAX 64

/** What a test works with. All zero is empty. */
struct kit {
	struct fixture fixture;
	struct rh_pod pods[KIT_PODS_MAX];
	const struct rh_pod *slots[KIT_PODS_MAX];
	size_t offsets[RH_TYPES_MAX + 1];
};

/** A job of namespace team with the name mnist: further members of spec, and the replica types below @p field. */
#define KIT_JOB(kind, field, spec, types)        \
	"apiVersion: kubeflow.org/v1\n"              \
	"kind: " kind "\n"                           \
	"metadata: {name: mnist, namespace: team}\n" \
	"spec:\n" spec "  " field ":\n" types

/** One replica type with a container of this name; @p replicas is a text. */
#define KIT_TYPE(type, replicas, container) \
	"    " type ": {replicas: " replicas ", template: {spec: {containers: [{name: " container ", image: i}]}}}\n"

/** A counted table. */
#define KIT_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/** Open with the built plugin of that name, or the file of that path, configuration @p ini (NULL: none) and a job; what
 * cannot be made fails the test. */
void kit_open(struct kit *kit, const char *plugin, const char *ini, const char *yaml);
/** Free it and make it empty. */
void kit_close(struct kit *kit);
/** Let the pod of a replica be in a phase (RH_PHASE_*), ended with @p exit_code (-1: not ended). */
void kit_set_pod(struct kit *kit, const char *type, int32_t index, int32_t phase, int32_t exit_code);
/** @return the pod's body, owned by the caller; one that cannot be made fails the test */
struct rh_json *kit_pod(struct kit *kit, const char *type, int32_t index);
/** @return the further objects, owned by the caller */
struct rh_json *kit_objects(struct kit *kit);
/** Compare the variables of a container, "NAME=value" or "NAME<-fieldPath" a line, with @p want. */
void kit_assert_env(const struct rh_json *pod, size_t container, const char *want);
/** Compare all findings, "E path: detail" and "W path: detail" a line, with @p want. */
void kit_assert_findings(struct kit *kit, const char *want);
/** Compare all verdicts, number, type ("-": none) and message a line, with @p want. */
void kit_assert_verdicts(struct kit *kit, const char *want);
/** Compare what describe() says with V1's constants (v1-behaviour A.1), and its flags with @p flags. */
void kit_assert_kind(const struct kit *kit, const struct rh_kind *want, uint32_t flags);
/** A recorded job that breaks a rule (tests/goldens/invalid/NAME.yaml) must be refused in V1's words. */
void kit_assert_words_of_v1(const char *plugin, const char *name);
/** Ask for a pod, findings, objects and verdicts with every allocation failing in turn: out of memory or the same
 * answer. */
void kit_assert_survives(struct kit *kit, const char *type, int32_t index);

/** A local kit that is closed when it goes out of scope. */
#define auto_kit __attribute__((cleanup(kit_close))) struct kit

#endif
