/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/divergence.h
 * @brief Ranks that diverge, and ranks that are stopped, for tests of every backend: the right one is named.
 */
#ifndef RH_TEST_COMM_DIVERGENCE_H
#define RH_TEST_COMM_DIVERGENCE_H

#include "comm/ranks.h"

/** Worlds in which one rank posts something else than the others: all learn which one, and what each has posted. */
void divergence_check(const char *backend, bool no_shm);
/** A group in whose messages ranks have the numbers of the world, not those of the group. */
void divergence_check_group(const char *backend, bool no_shm);
/** Worlds in which a rank is stopped, in a collective of all, of a group, while a group is made: it is named. */
void divergence_check_stopped(const char *backend, bool no_shm);

#endif
