/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/board.h
 * @brief Memory that the kit shares with the processes in which it runs a plugin.
 *
 * A child writes, its parent reads; what a child wrote is there also when it crashed. A plugin could overwrite it: the
 * parent reads texts as far as their room goes, and uses no number as an index unchecked.
 */
#ifndef RH_CONFORMANCE_BOARD_H
#define RH_CONFORMANCE_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "conformance/report.h"
#include "host/containment/guard.h"

/** Most findings of all processes. */
#define RH_BOARD_FINDINGS (RH_CHECK_COUNT * RH_REPORT_PER_CHECK)
/** Most answers that are compared between two processes. */
#define RH_BOARD_ANSWERS 65536

/** What the kit calls. RH_STAGE_LOAD is all that comes before the first job; RH_STAGE_FINI all after the last. */
enum rh_stage {
	RH_STAGE_LOAD,
	RH_STAGE_VALIDATE,
	RH_STAGE_POD,
	RH_STAGE_OBJECTS,
	RH_STAGE_JUDGE,
	RH_STAGE_EXPAND,
	RH_STAGE_FINI,
	RH_STAGE_COUNT
};

/** The shared memory. */
struct rh_board {
	struct rh_guard_trace trace; /**< operation in progress */
	_Atomic int64_t began;       /**< monotonic time of the call in progress; 0: none */
	uint32_t stage;              /**< enum rh_stage in progress */
	uint32_t skip;               /**< bits of stages that are not called any more, because they crashed or hung */
	uint32_t at;                 /**< place in the order of the case in progress */
	uint32_t from;               /**< place in the order of the case to start with */
	uint32_t total;              /**< number of cases; 0 before it is known */
	uint32_t calls;              /**< operations that were called */
	uint32_t traps;              /**< 1: system calls are watched */
	char where[240];             /**< operation, kind and case in progress, for findings */
	char plugin[64];             /**< name of the plugin */
	char release[64];            /**< its release */
	uint32_t count;              /**< of findings */
	uint64_t answers[RH_BOARD_ANSWERS]; /**< hashes of the first process; 0: none */
	struct rh_report_finding findings[RH_BOARD_FINDINGS];
};

/**
 * Add a finding at board->where. One that is there already is counted; beyond RH_REPORT_PER_CHECK findings of a check
 * the last one is counted.
 */
void rh_board_add(struct rh_board *board, enum rh_check check, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** rh_board_add() of a warning. */
void rh_board_warn(struct rh_board *board, enum rh_check check, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
