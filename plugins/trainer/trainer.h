/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file trainer/trainer.h
 * @brief What the files of this plugin share.
 */
#ifndef RH_TRAINER_TRAINER_H
#define RH_TRAINER_TRAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roundhouse/plugin.h"
#include "values/tree.h"

/** Room for a path, a name or a small object. */
#define TRAINER_TEXT 512
/** The replicated jobs of a runtime, and their place in paths. */
#define TRAINER_JOBS "template.spec.replicatedJobs"
/** Most replicated jobs: as many as a host has replica types. */
#define TRAINER_JOBS_MAX 16
/** Container of a job that trains, and its port. */
#define TRAINER_NODE "node"
#define TRAINER_LAUNCHER "launcher"
#define TRAINER_PORT 29500
/** Labels of JobSet and of Trainer begin so. */
#define TRAINER_JOBSET "jobset.sigs.k8s.io/"
#define TRAINER_STEP "trainer.kubeflow.org/trainjob-ancestor-step"
/** What an initializer's volume is called. */
#define TRAINER_VOLUME "initializer"

/** What mlPolicy says. */
enum trainer_policy { TRAINER_PLAIN, TRAINER_TORCH, TRAINER_JAX, TRAINER_XGBOOST, TRAINER_MPI };

/** One call of an operation. The first error stays in status, and ends what follows. */
struct trainer_call {
	const struct rh_services *host;
	const struct rh_view *view;
	struct rh_reply *reply;
	const char *runtime; /**< how paths begin: the runtime that the job named, or the snapshot of it */
	int32_t status;      /**< 0 or a negative status */
	bool refused;        /**< the job is not valid */
};

/** @name What job and runtime say (trainer_spec.c) @{ */
/** @return a call of an operation */
struct trainer_call trainer_begin(void *self, const struct rh_view *view, struct rh_reply *reply);
/** Print a path below spec of the runtime into @p path of TRAINER_TEXT bytes. @return @p path */
const char *trainer_path(const struct trainer_call *call, char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/** @return the text below spec of the runtime, borrowed; NULL: there is none */
const char *trainer_text(const struct trainer_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/** @return how many items or members are there; -1: it is absent */
int32_t trainer_size(const struct trainer_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** @return the number there, or @p fallback */
int64_t trainer_number(const struct trainer_call *call, int64_t fallback, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/** @return the job's name, borrowed */
const char *trainer_name(const struct trainer_call *call);
/** @return what pods have as subdomain, and the Service as name, borrowed */
const char *trainer_subdomain(const struct trainer_call *call);
/** @return which framework mlPolicy names */
enum trainer_policy trainer_policy(const struct trainer_call *call);
/** @return the place of replicated job @p name; -1: there is none */
int32_t trainer_job(const struct trainer_call *call, const char *name);
/** @return the name of replicated job @p place, borrowed; NULL after the last */
const char *trainer_job_name(const struct trainer_call *call, int32_t place);
/** @return the replicated job with that label of ancestors, borrowed; NULL: there is none */
const char *trainer_ancestor(const struct trainer_call *call, const char *step);
/** @return whether a replicated job is the one that gets the fields of trainer */
bool trainer_is_ancestor(const struct trainer_call *call, const char *job);
/** @return how many nodes the job wants */
int64_t trainer_nodes(const struct trainer_call *call);
/** @return how many pods replicated job @p place has */
int64_t trainer_pods(const struct trainer_call *call, int32_t place);
/** @return GPUs of one node; 0: none */
int64_t trainer_gpus(const struct trainer_call *call);
/** @return processes of one node as torchrun reads them, in @p text of 32 bytes or "auto" */
const char *trainer_processes(const struct trainer_call *call, char *text);
/** @return slots of one node of MPI */
int64_t trainer_slots(const struct trainer_call *call);
/** @return whether the launcher of MPI takes part in the work */
bool trainer_launcher_works(const struct trainer_call *call);
/** @return printf(@p format) as a JSON string, borrowed from the host; NULL with the status set when memory is out */
const char *trainer_quote(struct trainer_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Refuse the job: @p detail in the words of Kubernetes. */
void trainer_refuse(struct trainer_call *call, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/** Note that memory is out. */
void trainer_fail_memory(struct trainer_call *call);
/** @} */

/** @name Pods @{ */
/** Print where a replica is reached into @p text of TRAINER_TEXT bytes (trainer_edit.c). @return @p text */
const char *trainer_host(const struct trainer_call *call, const char *job, int32_t index, char *text);
/** Set what is at the printed path of the pod to @p json; with NULL, or after an error, nothing (trainer_edit.c). */
void trainer_edit(struct trainer_call *call, const char *json, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/** Set the variables of the framework (trainer_env.c). */
void trainer_add_env(struct trainer_call *call, const struct rh_replica *me);
/** @return variable @p place of those that a job must not set, by name; NULL after the last (trainer_env.c) */
const char *trainer_reserved(enum trainer_policy policy, size_t place);
/** @return whether a variable is the framework's, so that a job must not set it (trainer_env.c) */
bool trainer_is_reserved(enum trainer_policy policy, const char *name);
/** Set torchtune's command, if the job runs torchtune (trainer_tune.c). @return whether it does */
bool trainer_add_tune(struct trainer_call *call, const struct rh_replica *me, int32_t container);
/** @return whether the job runs torchtune (trainer_tune.c) */
bool trainer_tunes(const struct trainer_call *call);
/** Refuse what torchtune's recipes do not have (trainer_tune.c). */
void trainer_check_tune(struct trainer_call *call);
/** @return whether pods are processes of one machine */
bool trainer_is_local(const struct trainer_call *call);
/** Give a launcher or node of MPI what mpirun needs beside variables (trainer_mpi.c). */
void trainer_add_mpi(struct trainer_call *call, const struct rh_replica *me);
/** @see rh_plugin.pod @return 0 or a negative status */
int32_t trainer_make_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply);
/** @} */

/** @name Further objects @{ */
/** @see rh_plugin.objects (trainer_objects.c) @return 0 or a negative status */
int32_t trainer_objects(void *self, const struct rh_view *view, struct rh_reply *reply);
/** Name the PodGroup that podGroupPolicy asks for (trainer_gang.c). */
void trainer_add_gang(struct trainer_call *call);
/** Let a pod take part in it (trainer_gang.c). */
void trainer_join_gang(struct trainer_call *call);
/** @see rh_plugin.make (trainer_keys.c) @return 0 or a negative status */
int32_t trainer_make(void *self, const struct rh_view *view, const struct rh_made *made, struct rh_reply *reply);
/** @} */

/** @see rh_plugin.expand (trainer_expand.c) @return 0 or a negative status */
int32_t trainer_expand(void *self, const struct rh_view *view, struct rh_reply *reply);
/** @see rh_plugin.validate (trainer_validate.c) @return 0 or a negative status */
int32_t trainer_validate(void *self, const struct rh_view *view, struct rh_reply *reply);
/** @see rh_plugin.judge (trainer_judge.c) @return 0 or a negative status */
int32_t trainer_judge(void *self, const struct rh_view *view, struct rh_reply *reply);

#endif
