/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/death.h
 * @brief Ranks that are killed while all processors are busy, for tests of every backend: the others learn it in time.
 */
#ifndef RH_TEST_COMM_DEATH_H
#define RH_TEST_COMM_DEATH_H

#include "comm/ranks.h"

/**
 * Each rank of a world of three is killed, in an operation of all and in one of a group, beside two busy processes for
 * each processor. All others get the error that names it within the second that is promised, or, on a machine that is
 * slower than that, within so many times what it needs to pass on the death of a process without any library.
 */
void death_check_under_load(const char *backend, bool no_shm);

#endif
