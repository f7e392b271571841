/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/verdict.h
 * @brief Which replica is to blame when a job of a run fails, or is given up: a pure function of what each one wrote.
 *
 * The engine knows how replicas ended. Here are the logs of those that have not ended, too: a job whose replicas hang
 * has nobody who failed first.
 */
#ifndef RH_LOCAL_RUN_VERDICT_H
#define RH_LOCAL_RUN_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "job/evidence/evidence.h"

/** Most bytes of a log that a verdict looks at. */
#define RH_VERDICT_TAIL_MAX (64 * 1024)

/** What one replica was doing when its job failed or was given up. Texts are borrowed, "" where there is none. */
struct rh_verdict_replica {
	const char *name;    /**< "Worker-1" */
	int32_t rank;        /**< its place in the order of replicas */
	bool running;        /**< it had not ended by itself */
	bool succeeded;      /**< it ended well */
	enum rh_blame blame; /**< of its last bad end; RH_BLAME_NONE: there was none */
	int32_t accused;     /**< as rh_evidence has it, of that end */
	int64_t silent;      /**< for how long it has written nothing, microseconds; RH_NEVER: it never wrote */
	int64_t at;          /**< when it ended; 0: never */
	const char *lines;   /**< what belongs to its bad end */
	const char *tail;    /**< the end of its log */
	bool read;           /**< evidence is there; false from the caller */
	struct rh_evidence
		evidence; /**< of its lines, or, where it has not ended badly, its tail; rh_verdict() fills it in */
};

/** Who is to blame. */
struct rh_blamed {
	size_t who; /**< number of the replica whose lines are shown; SIZE_MAX: there is none */
	bool named; /**< it is to blame; else nobody can be, alone */
	bool alike; /**< all failed alike */
	enum rh_blame blame;
	struct rh_evidence evidence; /**< what its lines say */
	size_t by;                   /**< number of the replica that failed for want of it; SIZE_MAX: there is none */
};

/**
 * Judge.
 * @param replicas are read, each once at most, and keep what was read
 * @param known number of the replica that the engine holds for the first fault; SIZE_MAX: none
 */
struct rh_blamed rh_verdict(struct rh_verdict_replica *replicas, size_t count, size_t known);
/** Append the lines that show what the replica did: its traceback, or its last lines. */
void rh_verdict_lines(const struct rh_verdict_replica *replica, const struct rh_blamed *blamed, struct rh_str *out);

#endif
