/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/rules/findings.h
 * @brief What validation and lint have to say about one object.
 */
#ifndef RH_JOB_RULES_FINDINGS_H
#define RH_JOB_RULES_FINDINGS_H

#include <stddef.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/fields.h"

/** Most findings of each severity that are kept; further ones are dropped. */
#define RH_FINDINGS_MAX 200

/** How much a finding matters: RH_FINDING_ERROR refuses the job, RH_FINDING_WARNING does not. */
enum rh_severity { RH_FINDING_ERROR, RH_FINDING_WARNING };

/** One finding. Strings are owned by the list. */
struct rh_finding {
	enum rh_severity severity;
	char *path;         /**< "spec.pytorchReplicaSpecs[Master].replicas" */
	char *detail;       /**< "Forbidden: must be 1" */
	bool unknown_field; /**< no schema knows the field at path */
};

/** A list of findings. All zero is the empty one. */
struct rh_findings {
	struct rh_finding *items;
	size_t count;
	size_t capacity;
	bool failed; /**< an add ran out of memory: the list is not complete */
};

/** Free the list and make it empty. */
void rh_findings_deinit(struct rh_findings *findings);
/**
 * Add one; a finding that is there already is not added again. Running out of memory is also kept in the list, so that
 * a caller of many need look only once.
 * @return 0 or RH_ENOMEM
 */
int rh_findings_add(struct rh_findings *findings, enum rh_severity severity, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** rh_findings_add() with a path that is made only when it is needed. @return 0 or RH_ENOMEM */
int rh_findings_at(struct rh_findings *findings, enum rh_severity severity, const struct rh_place *place,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/** Add the error that the value at @p place is @p found, and must be of type @p expected. */
void rh_findings_type(struct rh_findings *findings, const struct rh_place *place, const char *expected,
                      const struct rh_json *found);
/** @return how many are errors */
size_t rh_findings_errors(const struct rh_findings *findings);
/** Append the errors as V1's webhook words them: one as "path: detail", several as "[a, b]" (v1-behaviour A.4). */
void rh_findings_print_v1(const struct rh_findings *findings, struct rh_str *out);

/** A local list that is freed when it goes out of scope. */
#define rh_auto_findings __attribute__((cleanup(rh_findings_deinit))) struct rh_findings

#endif
