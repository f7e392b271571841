/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file random.h
 * @brief Pseudo-random numbers of tests: the same from the same seed, everywhere, so that a failure can be repeated.
 *
 * The generator is Knuth's linear congruential one of 64 bits (MMIX), of which the upper half counts.
 */
#ifndef RH_TEST_RANDOM_H
#define RH_TEST_RANDOM_H

#include <stdint.h>

/** @param state starts as any seed; advanced. @return the next number */
static inline uint32_t test_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 32);
}

/** @return the next number reduced to [0, @p below); @p below at least 1 */
static inline uint32_t test_random_below(uint64_t *state, uint32_t below)
{
	return test_random(state) % below;
}

/** @return the next number as one of [0, 1) */
static inline double test_random_part(uint64_t *state)
{
	return (double)test_random(state) / 0x1p32;
}

#endif
