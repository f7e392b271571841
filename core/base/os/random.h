/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/os/random.h
 * @brief Pseudo-random numbers for jitter, hash keys and tests that repeat by their seed; and the kernel's, for
 * secrets.
 *
 * The caller owns the state, one uint64_t, which starts as any seed. Functions on different states are thread-safe.
 */
#ifndef RH_BASE_OS_RANDOM_H
#define RH_BASE_OS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

/**
 * SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
 * @param state any value, 0 included; advanced
 * @return the next number of the sequence; it may seed a sequence of its own
 */
uint64_t rh_random_next(uint64_t *state);
/** @return the next number of the sequence reduced to [0, @p below); @p below at least 1 */
uint64_t rh_random_below(uint64_t *state, uint64_t below);
/** @return a seed from the kernel; from the monotonic clock while the kernel has no entropy yet. Never blocks */
uint64_t rh_random_seed(void);
/**
 * Copy the random bytes that the kernel gives a process with its program, without a call of the system: for keys of
 * hashes, from which nobody can learn them. The same at each call; a child has those of its parent until it starts a
 * program.
 */
void rh_random_of_process(uint64_t ret_words[2]);
/**
 * Fill @p bytes with @p size (at most 256) bytes that nobody can guess. Never blocks.
 * @return false while the kernel has no entropy yet
 */
bool rh_random_secret(uint8_t *bytes, size_t size);

#endif
