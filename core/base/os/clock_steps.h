/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/os/clock_steps.h
 * @brief History of wall clock adjustments, so that a delay of an hour takes an hour of real time. Pure functions.
 *
 * When the wall clock is set forward, a recorded time seems older than it is, and a delay that counts from it would end
 * too early. This history keeps the range of clock readings between adjustments, and the sum of the adjustments since.
 * Ranges can overlap, and a time can come from the clock of another machine; then the largest adjustment counts, so
 * that a delay ends late rather than early.
 */
#ifndef RH_BASE_OS_CLOCK_STEPS_H
#define RH_BASE_OS_CLOCK_STEPS_H

#include <stddef.h>
#include <stdint.h>

/** Most stretches in a history; when there are more, the two oldest are merged, which can only lengthen a delay. */
#define RH_CLOCK_STEPS_MAX 8

/** A period without adjustments. Microseconds. */
struct rh_clock_stretch {
	int64_t first; /**< earliest clock reading, since the epoch */
	int64_t last;  /**< latest clock reading */
	int64_t later; /**< sum of the adjustments since; less than 0: the clock was set back */
};

/** History of adjustments. All zero: the clock was never set. */
struct rh_clock_steps {
	struct rh_clock_stretch past[RH_CLOCK_STEPS_MAX]; /**< oldest first */
	size_t count;
	int64_t first; /**< clock reading after the last adjustment */
};

/** Record that the clock was set from @p from to @p from + @p by; @p by is less than 0 when it was set back.
 * Microseconds. */
void rh_clock_steps_note(struct rh_clock_steps *steps, int64_t from, int64_t by);
/**
 * @param steps NULL: an empty history
 * @param time a recorded clock reading, microseconds since the epoch
 * @return what to add to @p time so that it compares with the current clock, microseconds, 0 or more
 */
int64_t rh_clock_steps_since(const struct rh_clock_steps *steps, int64_t time);

#endif
