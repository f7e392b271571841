/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/check/contract.h
 * @brief rh_kind.contract, held against what pods and objects got.
 */
#ifndef RH_CONFORMANCE_CHECK_CONTRACT_H
#define RH_CONFORMANCE_CHECK_CONTRACT_H

#include "base/json.h"
#include "conformance/board.h"
#include "roundhouse/plugin.h"

/** The contract of a kind, and what of it was seen. */
struct rh_contract {
	struct rh_json *entries; /**< owned; NULL: the kind has none, and nothing is checked */
	bool *seen;              /**< for each entry; owned */
	size_t count;
	bool pods;    /**< a pod of a valid job was seen */
	bool objects; /**< objects() of a valid job were seen */
};

/** Read the contract of @p kind. @return 0, also without one, or RH_ENOMEM */
int rh_contract_open(struct rh_contract *contract, struct rh_board *board, const struct rh_kind *kind);
/** Free it and make it empty. */
void rh_contract_close(struct rh_contract *contract);
/**
 * A pod got these additions.
 * @param additions an object: members "env NAME", "volume NAME", ...
 * @param type replica type of the pod
 */
void rh_contract_pod(struct rh_contract *contract, struct rh_board *board, const struct rh_json *additions,
                     const char *type);
/** An object of @p kind was named, whose name is @p name with JOB in place of the job's. */
void rh_contract_object(struct rh_contract *contract, struct rh_board *board, const char *kind, const char *name);
/** All jobs were seen: report the entries that none had. */
void rh_contract_finish(const struct rh_contract *contract, struct rh_board *board);

#endif
