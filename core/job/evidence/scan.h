/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/evidence/scan.h
 * @brief Parser of the last output of a container: tracebacks, reports of launchers, last lines. For
 * job/evidence/evidence alone.
 *
 * The ranks of one container write into one stream. Launchers mark their lines ("[rank3]: ", "[default1]:",
 * "[1,3]<stderr>:"); lines of one mark are a stream of their own here, so that tracebacks of several ranks stay
 * separate.
 */
#ifndef RH_JOB_EVIDENCE_SCAN_H
#define RH_JOB_EVIDENCE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/evidence/rows.h"

/** Most tracebacks of one output that are kept, the last ones. */
#define RH_EVIDENCE_BLOCKS 64

/** A part of the output, mostly one line without its end: borrowed. */
struct rh_evidence_line {
	const char *text;
	size_t length;
	size_t prefix; /**< bytes of the mark that it begins with; 0: it has none */
};

/** How far a traceback has been read. */
enum rh_evidence_stage {
	RH_EVIDENCE_FRAMES,  /**< its exception has not been read */
	RH_EVIDENCE_MESSAGE, /**< its exception was read; more of the message may follow */
	RH_EVIDENCE_OVER,    /**< an empty line followed: it may be the cause of another one */
	RH_EVIDENCE_LINKED,  /**< another one follows that belongs to it */
	RH_EVIDENCE_CLOSED
};

/** One traceback, with those that led to it. */
struct rh_evidence_block {
	struct rh_evidence_line prefix; /**< the mark of its lines */
	const char *start;
	const char *end;                       /**< where its last line ends */
	struct rh_evidence_line headline;      /**< its exception without mark and blanks; length 0: it was cut off */
	struct rh_evidence_line headline_line; /**< the whole line; text is the end of the block where there is none */
	const struct rh_evidence_row *row; /**< evidence of its message, or of an earlier one in its chain; NULL: none */
	enum rh_evidence_stage stage;
	int32_t rank;  /**< of its mark, or of the report that repeats its headline; -1: neither names one */
	int32_t more;  /**< lines of the message beyond the first */
	int32_t after; /**< lines of its stream that follow it and belong to no traceback */
	bool aside;    /**< of a thread, or of an exception that Python ignores: it ends no process */
};

/** One process that a launcher reports to have ended badly. */
struct rh_evidence_child {
	int32_t rank;
	int32_t code;                 /**< its exit code, or the negative of the signal that ended it; 0: not known */
	struct rh_evidence_line line; /**< where its rank is named */
	struct rh_evidence_line exit; /**< where its exit code is named; length 0: nowhere else */
};

/** Most processes of a launcher that are kept. */
#define RH_EVIDENCE_CHILDREN 32
/** How many last lines, beside tracebacks and reports of launchers, may belong to the end. */
#define RH_EVIDENCE_LAST 30

/** Content of an output. */
struct rh_evidence_scan {
	struct rh_evidence_block blocks[RH_EVIDENCE_BLOCKS];
	size_t block_count;
	const struct rh_evidence_block *chosen;   /**< the traceback that belongs to the end; NULL: there is none */
	const struct rh_evidence_block *survived; /**< the last one that much was written after; NULL: there is none */
	const struct rh_evidence_block *summary;  /**< the last one that is a launcher's; NULL: there is none */
	size_t stopped;                           /**< processes that torchrun reports as stopped */
	size_t raised;                            /**< tracebacks that are not a launcher's */
	struct rh_evidence_child children[RH_EVIDENCE_CHILDREN];
	size_t child_count;
	struct rh_evidence_line last[RH_EVIDENCE_LAST]; /**< lines that are not empty, whole, the latest last */
	size_t last_count;
	const struct rh_evidence_row *row; /**< evidence of the last lines; NULL: none */
	struct rh_evidence_line decisive;  /**< the line of that row, or a complaint, or the last one; whole */
	bool complaint;                    /**< one of the last lines reports an error */
	bool launcher;                     /**< several processes wrote it, and a launcher reported on them */
	char frame;                        /**< while reading: what the report that is being read is framed with; 0: none */
	bool framed;                       /**< while reading: its first line was read */
	bool report;                       /**< while reading: it is a launcher's on its processes */
	const char *end;                   /**< end of the output */
};

/** Look through the last RH_EVIDENCE_TEXT_MAX bytes of @p output. @p scan points into itself: it must not be copied. */
void rh_evidence_scan(const char *output, struct rh_evidence_scan *scan);
/** @return the evidence of the traceback */
enum rh_blame rh_evidence_block_blame(const struct rh_evidence_block *block);
/** Read the next line from *@p at, and advance it. @return whether there was one before @p end */
bool rh_evidence_next(const char **at, const char *end, struct rh_evidence_line *ret_line);
/** @return whether @p line begins with the mark @p prefix, or both have none */
bool rh_evidence_has_prefix(const struct rh_evidence_line *line, const struct rh_evidence_line *prefix);
/** @return the line without its mark and blanks */
struct rh_evidence_line rh_evidence_bare(const struct rh_evidence_line *line);
/** @return the number that the @p length bytes of @p text begin with; -1: none, or one beyond 9 digits */
int32_t rh_evidence_number(const char *text, size_t length);

#endif
