/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/ledger.h
 * @brief What live pods cannot tell, kept in one annotation of the job (RH_ANNOTATION_LEDGER, DESIGN section 4).
 *
 * Bounded in size whatever the job is. Written before the delete that it accounts for, with a resourceVersion precondition; idempotent by pod UID: a restart
 * whose pod UID has been counted is not counted again.
 */
#ifndef RH_ENGINE_LEDGER_H
#define RH_ENGINE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "job/job.h"
#include "job/pod.h"

/** Why a replica was restarted. */
enum rh_restart_cause {
	RH_CAUSE_EXIT,     /**< its container ended with an exit code that is not good */
	RH_CAUSE_DELETED,  /**< somebody else deleted its pod, or it vanished */
	RH_CAUSE_EVICTED,  /**< its pod failed without an exit code of the main container: eviction, lost node */
	RH_CAUSE_IN_PLACE, /**< the kubelet restarted a container in its pod (restartCount) */
	RH_CAUSE_JOB,      /**< it was stopped because its job restarts as a whole */
	RH_CAUSES
};

/** Longest annotation text that is ever written, in bytes. */
#define RH_LEDGER_TEXT_MAX (32 * 1024)
/** Most pod UIDs that are remembered as counted; those of pods that are gone for good are dropped first. */
#define RH_LEDGER_COUNTED_MAX 512

/** The first failure of an attempt. All texts owned; type NULL: there is none. */
struct rh_first_fault {
	char *type;       /**< canonical replica type */
	int32_t index;
	char *pod;
	char *node;       /**< "" locally */
	char *container;
	char *reason;     /**< "OOMKilled", "Evicted", "Error", … */
	char *last_lines; /**< cut to 1024 bytes in the ledger */
	int32_t exit_code; /**< -1 when unknown */
	int32_t attempt;
	int64_t at;       /**< microseconds */
};

/** Restarts and successes of one replica type. */
struct rh_ledger_type {
	char *type;                     /**< canonical type; owned */
	int64_t restarts[RH_CAUSES];    /**< by cause; RH_CAUSE_IN_PLACE holds those of pods that are gone: live ones are read from the pods */
	uint8_t *succeeded;             /**< bitmap of indices that succeeded; owned, NULL when none */
	int32_t succeeded_bits;         /**< bits in it */
};

/** The ledger. All zero is the empty one. */
struct rh_ledger {
	struct rh_ledger_type types[RH_TYPES_MAX];
	size_t type_count;
	int32_t attempt;       /**< 0 at first; counts whole-job restarts */
	bool stopping;         /**< the attempt is over, its pods are being stopped; the next begins when all are gone */
	char **counted;        /**< UIDs of pods whose restart has been counted; owned */
	size_t counted_count;
	struct rh_first_fault fault;
};

/** Free it and make it empty. */
void rh_ledger_deinit(struct rh_ledger *ledger);
/** Deep copy into @p to, which must be empty. @return 0 or RH_ENOMEM */
int rh_ledger_copy(struct rh_ledger *to, const struct rh_ledger *from);
/**
 * Read the annotation of @p job. None, one that does not parse, or one of another UID gives an empty ledger (what can be seen is observed again).
 * @return 0 or RH_ENOMEM
 */
int rh_ledger_read(const struct rh_job *job, struct rh_ledger *ret_ledger);
/** Write it as the annotation's text, carrying the job's UID; index sets as ranges ("0-3,7"). @return owned by the caller; NULL: out of memory */
char *rh_ledger_text(const struct rh_ledger *ledger, const struct rh_job *job) __attribute__((warn_unused_result));
/** @return whether both say the same */
bool rh_ledger_equal(const struct rh_ledger *a, const struct rh_ledger *b);
/** @return the entry of @p type, made when it was missing; NULL when memory or room is out */
struct rh_ledger_type *rh_ledger_type_of(struct rh_ledger *ledger, const char *type);
/** @return whether @p index of @p type is known to have succeeded */
bool rh_ledger_succeeded(const struct rh_ledger *ledger, const char *type, int32_t index);
/** Remember that @p index of @p type succeeded. @return 0 or RH_ENOMEM */
int rh_ledger_set_succeeded(struct rh_ledger *ledger, const char *type, int32_t index);
/** @return whether the restart of pod @p uid has been counted */
bool rh_ledger_counted(const struct rh_ledger *ledger, const char *uid);
/** Count a restart of @p type once for pod @p uid. @return 0 or RH_ENOMEM */
int rh_ledger_count(struct rh_ledger *ledger, const char *type, enum rh_restart_cause cause, const char *uid);
/** @return restarts that count against backoffLimit: every cause, but those that a whole-job restart caused count once for the attempt */
int64_t rh_ledger_restarts(const struct rh_ledger *ledger);

#endif
