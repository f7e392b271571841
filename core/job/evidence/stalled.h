/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/evidence/stalled.h
 * @brief What rank 0 of rh_comm writes of ranks that others wait for, once or again and again.
 */
#ifndef RH_JOB_EVIDENCE_STALLED_H
#define RH_JOB_EVIDENCE_STALLED_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Find the last report that a rank waits (comm/core/bootstrap/server_diagnosis.c), unless ranks went on after it.
 * @param log the end of the output, of any bytes
 * @return the report, printable and of 1000 bytes at most; owned; NULL: no rank waits, or memory is out
 */
char *rh_evidence_stalled(const char *log);
/**
 * Find the last report that a rank comes last, or no longer does (comm/core/bootstrap/server_pace.c).
 * @param[in,out] is_slow whether a rank comes last; unchanged where the log has no such report
 */
void rh_evidence_slow(const char *log, bool *is_slow);

/** Room for the address of a rank, terminating zero included. */
#define RH_STALLED_ADDRESS_SIZE 64

/**
 * Find the rank that such a report says others wait for.
 * @param[out] ret_rank that rank; -1: it names none
 * @param[out] ret_address the IP address at which that rank runs; "": the report has none
 */
void rh_evidence_stalled_rank(const char *report, int32_t *ret_rank, char ret_address[RH_STALLED_ADDRESS_SIZE]);

#endif
