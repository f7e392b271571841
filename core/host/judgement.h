/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/judgement.h
 * @brief What one judge() call of a plugin says about a job.
 */
#ifndef RH_HOST_JUDGEMENT_H
#define RH_HOST_JUDGEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/** One verdict of judge(). */
struct rh_verdict {
	int32_t verdict; /**< RH_VERDICT_* */
	char *type;      /**< owned; NULL when none */
	char *reason;    /**< of the condition; owned; NULL: the core's */
	char *message;   /**< owned; never NULL: the core's words where the plugin has none */
};

/** Most verdicts of one judge() call. */
#define RH_VERDICTS_MAX 16

/** Replicas of which judge() wants no pod yet. */
struct rh_hold {
	const char *type; /**< canonical type; borrowed from the job */
	int32_t index;    /**< -1: all of the type */
};

/** Replicas that judge() wants restarted. */
struct rh_restart {
	const char *type; /**< canonical type; borrowed from the job; NULL: all of the job */
	int32_t index;    /**< -1: all of the type */
	uint32_t flags;   /**< RH_RESTART_* */
	char *token;      /**< owned; NULL: none */
	char *message;    /**< owned; NULL: the core's words */
};

/** What one judge() call says. All zero: nothing. */
struct rh_judgement {
	struct rh_verdict items[RH_VERDICTS_MAX];
	size_t count;
	struct rh_hold *holds; /**< owned */
	size_t hold_count;
	struct rh_restart *restarts; /**< owned */
	size_t restart_count;
	struct rh_json *status; /**< members of status to set, an object; null removes; owned; NULL: none */
	size_t status_bytes;    /**< of their JSON */
};

/** Free it and make it empty. */
void rh_judgement_deinit(struct rh_judgement *judgement);

#endif
