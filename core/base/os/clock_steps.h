/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/os/clock_steps.h
 * @brief How the wall clock was set while we looked, so that what was to last an hour lasts an hour. Pure.
 *
 * A time that was noted before the clock was set forward seems to lie further back than it does, and what counts from
 * there would end too early. So it is remembered what the clock said until each time that it was set, and how it was
 * set since. A time may have been noted by more than one of these clocks, or by the clock of another machine; then the
 * one counts by which it ends last, because what has ended cannot be undone.
 */
#ifndef RH_BASE_OS_CLOCK_STEPS_H
#define RH_BASE_OS_CLOCK_STEPS_H

#include <stddef.h>
#include <stdint.h>

/** Most stretches that are told apart; of more, the oldest two become one, which can only make something end later. */
#define RH_CLOCK_STEPS_MAX 8

/** A time in which nobody set the clock. Microseconds. */
struct rh_clock_stretch {
	int64_t first; /**< what the clock said then, since the epoch */
	int64_t last;
	int64_t later; /**< by how much the clock was set forward since; less than 0: back */
};

/** How the clock was set. All zero is not at all. */
struct rh_clock_steps {
	struct rh_clock_stretch past[RH_CLOCK_STEPS_MAX]; /**< oldest first */
	size_t count;
	int64_t first; /**< what the clock said when it was set last */
};

/** Note that the clock said @p from and then at once @p by more, less than 0 when it was set back. Microseconds. */
void rh_clock_steps_note(struct rh_clock_steps *steps, int64_t from, int64_t by);
/**
 * @param steps NULL is none
 * @param time what the clock said when something was noted, microseconds since the epoch
 * @return how much more the clock of now would have said then, microseconds, 0 or more
 */
int64_t rh_clock_steps_since(const struct rh_clock_steps *steps, int64_t time);

#endif
