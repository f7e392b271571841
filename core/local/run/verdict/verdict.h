/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/verdict/verdict.h
 * @brief Finds the replica that caused a job of a run to fail, or to be given up. A pure function of the replicas'
 * logs.
 *
 * The engine knows only how replicas ended. This module also uses the logs of running replicas: in a job that hangs, no
 * replica failed first.
 */
#ifndef RH_LOCAL_RUN_VERDICT_VERDICT_H
#define RH_LOCAL_RUN_VERDICT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "job/evidence/evidence.h"

/** Most bytes of a log that a verdict reads. */
#define RH_VERDICT_TAIL_MAX (64 * 1024)

/** State of one replica when its job failed or was given up. Strings are borrowed; "" for none. */
struct rh_verdict_replica {
	const char *name;            /**< "Worker-1" */
	int32_t rank;                /**< its position among the replicas */
	bool running;                /**< it had not ended by itself */
	bool succeeded;              /**< it exited with code 0 */
	enum rh_blame blame;         /**< of its last failure; RH_BLAME_NONE: none */
	int32_t accused;             /**< as in struct rh_evidence, of that failure */
	int64_t silent;              /**< microseconds since its last output; RH_NEVER: no output */
	int64_t at;                  /**< when it ended; of several ends in a row, the first; 0: never */
	const char *lines;           /**< the lines of its failure */
	const char *tail;            /**< the end of its log */
	bool read;                   /**< evidence is set; the caller sets false */
	struct rh_evidence evidence; /**< from its lines, or from its tail if it has not failed; set by rh_verdict() */
};

/** The verdict. */
struct rh_blamed {
	size_t who; /**< number of the replica whose lines are shown; SIZE_MAX: none */
	bool named; /**< it caused the failure; otherwise no single replica did */
	bool alike; /**< all failed in the same way */
	enum rh_blame blame;
	struct rh_evidence evidence; /**< from its lines */
	size_t by;                   /**< number of the replica that failed because of it; SIZE_MAX: none */
};

/**
 * Find the replica that caused the failure.
 * @param replicas the output of each is read once at most, and the result kept in it
 * @param known number of the replica that the engine considers the first fault; SIZE_MAX: none
 */
struct rh_blamed rh_verdict(struct rh_verdict_replica *replicas, size_t count, size_t known);
/** Append the lines that show what the replica did: its traceback, or its last lines. */
void rh_verdict_lines(const struct rh_verdict_replica *replica, const struct rh_blamed *blamed, struct rh_str *out);

#endif
