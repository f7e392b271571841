/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/trace/waits.h"

#include <string.h>

/* With fewer marks in a report, more of them are kept from then on. */
#define WAITS_FEW (RH_COMM_PACE_MARKS / 4)
#define WAITS_SHIFT_MOST 62

/* Each second one goes. */
static void waits_thin(struct rh_comm_waits *waits)
{
	uint32_t kept = 0;

	waits->shift++;
	for (uint32_t i = 0; i < waits->count; i++) {
		if ((waits->marks[i].number & ((UINT64_C(1) << waits->shift) - 1)) == 0)
			waits->marks[kept++] = waits->marks[i];
	}
	waits->count = kept;
}

void rh_comm_waits_keep(struct rh_comm_waits *waits, int64_t ticks)
{
	int64_t waited = atomic_load_explicit(&waits->waited, memory_order_relaxed);

	while (waits->count == RH_COMM_PACE_MARKS && waits->shift < WAITS_SHIFT_MOST)
		waits_thin(waits);
	if (waits->count < RH_COMM_PACE_MARKS && (waits->common & ((UINT64_C(1) << waits->shift) - 1)) == 0)
		waits->marks[waits->count++] = (struct rh_comm_waits_mark){waits->common, waited, ticks};
}

/* Nanoseconds of a tick since the latest report: the processor's counter has a pace of its own. */
static double waits_pace(const struct rh_comm_waits *waits, int64_t ns, int64_t ticks)
{
	if (waits->clock_ticks == 0 || ticks <= waits->clock_ticks || ns <= waits->clock_ns)
		return 0;
	return (double)(ns - waits->clock_ns) / (double)(ticks - waits->clock_ticks);
}

/* Only what came since the mark before is translated, so that a pace that is known better later changes nothing. */
static struct rh_comm_pace_mark waits_translate(struct rh_comm_waits *waits, const struct rh_comm_waits_mark *mark,
                                                double pace)
{
	struct rh_comm_pace_mark translated = {
		.number = mark->number,
		.waited = waits->base_ns.waited + (int64_t)((double)(mark->waited - waits->base.waited) * pace),
		.ended = waits->base_ns.ended + (int64_t)((double)(mark->ended - waits->base.ended) * pace),
	};

	waits->base = *mark;
	waits->base_ns = translated;
	return translated;
}

size_t rh_comm_waits_take(struct rh_comm_waits *waits, int64_t ns, int64_t ticks, struct rh_comm_pace_mark *ret_marks)
{
	double pace = waits_pace(waits, ns, ticks);
	uint32_t count = pace > 0 ? waits->count : 0;

	for (uint32_t i = 0; i < count; i++)
		ret_marks[i] = waits_translate(waits, &waits->marks[i], pace);
	if (pace > 0 && waits->count < WAITS_FEW && waits->shift > 0)
		waits->shift--;
	waits->count -= count;
	waits->clock_ticks = ticks;
	waits->clock_ns = ns;
	return count;
}
