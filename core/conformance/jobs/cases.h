/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/jobs/cases.h
 * @brief The jobs that a plugin is called with, generated from what it says of a kind.
 */
#ifndef RH_CONFORMANCE_JOBS_CASES_H
#define RH_CONFORMANCE_JOBS_CASES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "roundhouse/plugin.h"

/** One job. */
struct rh_case {
	const struct rh_kind *kind; /**< borrowed */
	char *label;                /**< "PyTorchJob, replicas: all types 7"; owned */
	struct rh_json *object;     /**< owned */
	struct rh_json *twin;       /**< the same job, its replica types in the opposite order; owned; NULL: none */
	bool leak_check;            /**< rh_leak_check() calls the plugin with it */
};

/** Jobs. All zero is none. */
struct rh_cases {
	struct rh_case *items;
	size_t count;
	size_t capacity;
};

/**
 * Add the jobs of a kind: empty, every field of its schema alone and together, every set of replica types, 0 to 10,000
 * replicas, names and texts that are hard to handle, values of wrong types, null.
 * @param pod schema document of pod templates (rh_schema_pod_text())
 * @return 0, RH_EPLUGIN (the schema of the kind is not JSON) or RH_ENOMEM
 */
int rh_cases_generate(struct rh_cases *cases, const struct rh_kind *kind, const struct rh_json *pod,
                      struct rh_error *err);
/** Add a job (@p object taken, also on error). @return 0 or RH_ENOMEM */
int rh_cases_add(struct rh_cases *cases, const struct rh_kind *kind, const char *label, struct rh_json *object);
/** Free all jobs. */
void rh_cases_deinit(struct rh_cases *cases);

#endif
