/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/evidence/stalled.h
 * @brief What rank 0 of rh_comm writes of ranks that others wait for.
 */
#ifndef RH_JOB_EVIDENCE_STALLED_H
#define RH_JOB_EVIDENCE_STALLED_H

/**
 * Find the last report that a rank waits (comm/core/bootstrap/server_diagnosis.c), unless ranks went on after it.
 * @param log the end of the output, of any bytes
 * @return the report, printable and of 1000 bytes at most; owned; NULL: no rank waits, or memory is out
 */
char *rh_evidence_stalled(const char *log);

#endif
