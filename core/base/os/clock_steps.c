/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/clock_steps.h"

#include <stdbool.h>

/* Saturating sum. */
static int64_t steps_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

static int64_t steps_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void steps_join_oldest(struct rh_clock_steps *steps)
{
	const struct rh_clock_stretch *oldest = &steps->past[0];
	struct rh_clock_stretch *next = &steps->past[1];

	next->first = oldest->first < next->first ? oldest->first : next->first;
	next->last = steps_max(oldest->last, next->last);
	next->later = steps_max(oldest->later, next->later);
	steps->count--;
	for (size_t i = 0; i < steps->count; i++)
		steps->past[i] = steps->past[i + 1];
}

void rh_clock_steps_note(struct rh_clock_steps *steps, int64_t from, int64_t by)
{
	if (steps->count == RH_CLOCK_STEPS_MAX)
		steps_join_oldest(steps);
	steps->past[steps->count++] = (struct rh_clock_stretch){steps->first, from, 0};
	for (size_t i = 0; i < steps->count; i++)
		steps->past[i].later = steps_add(steps->past[i].later, by);
	steps->first = steps_add(from, by);
}

int64_t rh_clock_steps_since(const struct rh_clock_steps *steps, int64_t time)
{
	int64_t most = 0;
	int64_t noted = 0;
	bool known = steps && time >= steps->first;

	for (size_t i = 0; steps && i < steps->count; i++) {
		const struct rh_clock_stretch *stretch = &steps->past[i];

		most = steps_max(most, stretch->later);
		if (time < stretch->first || time > stretch->last)
			continue;
		known = true;
		noted = steps_max(noted, stretch->later);
	}
	return known ? noted : most;
}
