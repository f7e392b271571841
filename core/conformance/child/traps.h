/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/child/traps.h
 * @brief System calls that an operation of a plugin has no use for: each fails with EPERM and is remembered.
 *
 * A filter of seccomp sends SIGSYS for them. It holds until the process ends, for the kit's own code, too.
 */
#ifndef RH_CONFORMANCE_CHILD_TRAPS_H
#define RH_CONFORMANCE_CHILD_TRAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "conformance/report.h"

/**
 * Put the filter in place. Called twice: before a plugin is loaded, when files must still be read, and before its
 * operations are called.
 * @param reading files may be opened for reading, not for writing
 * @return false where the kernel or the processor has no filter; then nothing is watched
 */
bool rh_traps_set(bool reading);
/**
 * Take what was remembered first since the last call.
 * @param[out] ret_what "opened \"/tmp/x\" for writing"
 * @return whether there was such a call; then *@p ret_check is the check that it breaks
 */
bool rh_traps_take(enum rh_check *ret_check, char *ret_what, size_t size);

#endif
