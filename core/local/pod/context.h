/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/context.h
 * @brief Shared input of the modules that create a runtime spec. For core/local/pod alone.
 */
#ifndef RH_LOCAL_POD_CONTEXT_H
#define RH_LOCAL_POD_CONTEXT_H

#include "local/runtime_spec.h"

/** The pod. All borrowed. */
struct rh_pod_context {
	const struct rh_runtime_spec_input *input;
	const char *namespace_;
	const char *name;
	const char *uid;
	const struct rh_json *spec;
	struct rh_str *notes; /**< NULL: notes are dropped */
};

/** Append a sentence to the notes. */
void rh_pod_note(const struct rh_pod_context *context, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/**
 * Set a number of a plan, limited to RH_SHIM_AMOUNT_MAX.
 * @return 0 or RH_ENOMEM
 */
int rh_pod_set_amount(struct rh_json *object, const char *key, int64_t amount);

#endif
