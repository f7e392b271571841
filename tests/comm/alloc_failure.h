/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/alloc_failure.h
 * @brief Memory that runs out when a test says so.
 *
 * A test that links rh_test_alloc_failure has malloc(), calloc(), realloc(), aligned_alloc(), strdup() and strndup()
 * of everything that is linked into it go through a gate. What shared objects allocate (libc itself, cmocka, backends
 * that are loaded) does not pass it. All counts are those of the whole process, its threads included.
 */
#ifndef RH_TEST_COMM_ALLOC_FAILURE_H
#define RH_TEST_COMM_ALLOC_FAILURE_H

#include <stdbool.h>

/**
 * Begin to count. Allocation number @p first, from 0, fails, and so do the ones after it, @p count together.
 * @param count negative: all from then on
 */
void alloc_failure_arm(long first, long count);
/** Let all go well again. @return whether one has failed since alloc_failure_arm() */
bool alloc_failure_disarm(void);

#endif
