/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/foreign/ras.h
 * @brief Reads what NCCL's RAS says of a job: the output of `ncclras`, as text or as JSON (-f json). It knows how many
 * operations of each kind the ranks of each communicator have launched.
 */
#ifndef RH_COMM_BENCH_TRACE_FOREIGN_RAS_H
#define RH_COMM_BENCH_TRACE_FOREIGN_RAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Kinds of findings. */
enum rh_ras_kind {
	RH_RAS_DEAD,    /**< processes that NCCL cannot reach */
	RH_RAS_SILENT,  /**< ranks that do not answer, or are no longer in the communicator */
	RH_RAS_ERROR,   /**< ranks on which NCCL has failed */
	RH_RAS_STATUS,  /**< ranks with another status than most */
	RH_RAS_MISSING, /**< ranks that have launched fewer operations than others */
};

/** Most ranks that a finding lists. */
#define RH_RAS_RANKS 64

/** A finding. */
struct rh_ras_finding {
	enum rh_ras_kind kind;
	char group[40];  /**< hash of the communicator; "": of the job */
	char what[40];   /**< MISSING: "AllReduce"; STATUS, ERROR: which */
	uint64_t number; /**< MISSING: how many they have launched */
	uint64_t most;   /**< MISSING: how many others have */
	int64_t whole;   /**< ranks or processes that it is about */
	int32_t ranks[RH_RAS_RANKS];
	int32_t count;    /**< of `ranks`; may be fewer than `whole` */
	char places[200]; /**< "process 71 on node 10.0.0.7, …": where the first of them are; "": not known */
};

/** What it says. All zero: nothing. */
struct rh_ras {
	struct rh_ras_finding *items;
	size_t count;
};

/** @return whether the bytes are such an output */
bool rh_ras_is(const char *bytes, size_t length);
/**
 * Read. @param[out] why a constant text or one with @p room, when it fails
 * @return 0 or RH_COMM_E*; *@p ret_ras is freed by rh_ras_deinit() either way
 */
int32_t rh_ras_read(const char *bytes, size_t length, struct rh_ras *ret_ras, char *why, size_t room);
/** Free what it holds. */
void rh_ras_deinit(struct rh_ras *ras);
/** One sentence about a finding. @return @p text */
const char *rh_ras_finding_text(const struct rh_ras_finding *finding, char *text, size_t room);
/** ras_print.c: as text or as one JSON object. */
void rh_ras_print(const struct rh_ras *ras, bool json, FILE *out);

#endif
