/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/first_fault.h
 * @brief The failure that came first in an attempt of a job.
 */
#ifndef RH_ENGINE_FIRST_FAULT_H
#define RH_ENGINE_FIRST_FAULT_H

#include <stdint.h>

/** The first failure of an attempt. All texts owned; type NULL: there is none. */
struct rh_first_fault {
	char *type; /**< canonical replica type */
	int32_t index;
	char *pod;
	char *node; /**< "" locally */
	char *container;
	char *reason;      /**< "OOMKilled", "Evicted", "Error", … */
	char *last_lines;  /**< of that replica; cut to RH_LAST_LINES_MAX bytes in the ledger */
	char *reported_by; /**< of RH_BLAME_HUNG: the peer that failed because of it, and how: "Worker-0: …"; else "" */
	int32_t exit_code; /**< -1 when unknown */
	int32_t blame;     /**< enum rh_blame */
	int32_t rank;      /**< of the process in the replica that failed, as it names itself; else -1 */
	int32_t attempt;
	int32_t message_offset; /**< bytes of the Failed condition's message before the fault; 0: it has none yet */
	int64_t at;             /**< microseconds */
	int64_t until;          /**< latest time to judge a fault that looks like a consequence; 0: at once. Microseconds */
};

/** Free what @p fault holds and make it empty. */
void rh_first_fault_deinit(struct rh_first_fault *fault);
/** Deep copy into @p to, which must be empty. @return 0 or RH_ENOMEM */
int rh_first_fault_copy(struct rh_first_fault *to, const struct rh_first_fault *from);

#endif
