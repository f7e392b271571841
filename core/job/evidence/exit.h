/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/evidence/exit.h
 * @brief What the exit code of a container means. Pure functions.
 */
#ifndef RH_JOB_EVIDENCE_EXIT_H
#define RH_JOB_EVIDENCE_EXIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/** @return the signal n of an exit code 128 + n, if n is a known signal; else 0 */
int rh_exit_signal(int32_t exit_code);
/**
 * Append how a container ended: "exited with code 137 (SIGKILL, OOMKilled)", or, with an @p exit_code that is not known
 * (-1), "failed (Evicted)". @param reason Kubernetes' word; "Error", "Completed" and "" add nothing
 */
void rh_exit_print(int32_t exit_code, const char *reason, struct rh_str *out);
/** @return whether ExitCode restarts a replica that ended with @p exit_code (v1-behaviour C.3: 128 and above, or
 * unknown) */
bool rh_exit_retryable(int32_t exit_code);

#endif
