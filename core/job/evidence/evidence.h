/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/evidence/evidence.h
 * @brief Classifies the failure of one replica as cause or consequence, by its exit code and last output. Pure
 * functions.
 *
 * When one replica of a job fails, its peers fail a moment later, with closed connections and time-outs. Time alone
 * does not distinguish the cause from its victims: a process that raised an exception may need longer to end than a
 * peer that lost its connection. Their output does. Known messages of frameworks are rows of a table (rows.c), each
 * with its source.
 *
 * Texts come from programs of users: any bytes are accepted, and the time is proportional to the length.
 */
#ifndef RH_JOB_EVIDENCE_EVIDENCE_H
#define RH_JOB_EVIDENCE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/** Most bytes of output that are read: a traceback, and what some programs write after it. */
#define RH_EVIDENCE_TEXT_MAX (256 * 1024)

/** How likely an end is the cause of the ends of its peers, most likely first. */
enum rh_blame {
	RH_BLAME_NONE,    /**< no container failed */
	RH_BLAME_CAUSE,   /**< an error of its own: an exception, a crash, no memory, a full disk, a port in use */
	RH_BLAME_UNKNOWN, /**< it failed, and its output does not show why */
	RH_BLAME_KILLED,  /**< a signal from outside, or its pod was deleted: the cause when it was the first end */
	RH_BLAME_SUMMARY, /**< a launcher's report that a process of it, or of another replica, ended badly */
	RH_BLAME_STUCK,   /**< one of its processes waited until a timeout, and its launcher had to stop another one, which
	                     had not   ended */
	RH_BLAME_UNREACHED, /**< it could not connect to a peer */
	RH_BLAME_LATE,      /**< it waited for a peer until a timeout of a collective operation or a rendezvous */
	RH_BLAME_VICTIM,    /**< a peer was gone: a connection that was closed */
	RH_BLAME_HUNG, /**< of a replica that has not ended, or ended well too early: its peers lost or waited for it */
	RH_BLAMES
};

/** How one container ended. Texts are borrowed; "" where there is none. */
struct rh_end {
	int32_t exit_code;  /**< -1: unknown, because its pod was deleted */
	const char *reason; /**< Kubernetes' reason: "Error", "OOMKilled" */
	const char *output; /**< what it wrote last; its last RH_EVIDENCE_TEXT_MAX bytes are looked at */
};

/** Classification of one end. */
struct rh_evidence {
	enum rh_blame blame;
	bool raised;     /**< a traceback reports the failure */
	int32_t rank;    /**< rank of the process that failed, where the output names it; else -1 */
	int32_t accused; /**< rank that a victim names as the one it lost or waited for; else -1 */
	/** The most specific line, as "ValueError: bad batch", without blanks around it: borrowed from the output;
	 * never NULL. */
	const char *headline;
	size_t headline_length; /**< bytes; 0: there is no such line */
};

/** @return the evidence of @p end; its headline is valid as long as the output */
struct rh_evidence rh_evidence_read(const struct rh_end *end);
/**
 * Append the lines of the output that belong to the end: the last traceback of the process that failed, whole and as it
 * was written, or else the last lines. Reading what is appended gives the same blame, rank and accused.
 * @param limit most bytes that are appended, at least 1024; a longer text loses lines from the middle, which "  ..."
 * replaces
 */
void rh_evidence_excerpt(const struct rh_end *end, size_t limit, struct rh_str *out);
/** @return whether @p blame means that another replica caused the end */
bool rh_blame_is_consequence(enum rh_blame blame);
/** @return "none", "cause", "unknown", "killed", "summary", "stuck", "unreached", "late", "victim" or "hung"; static
 * storage */
const char *rh_blame_name(enum rh_blame blame);
/** @return the class of that name; RH_BLAME_NONE for any other text, or NULL */
enum rh_blame rh_blame_of(const char *name);

#endif
