/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/clock_steps.h"

#include "base/support.h"

/* The clock was set from `from` to `from + by`. */
struct step {
	int64_t from;
	int64_t by;
};

/* The list of steps ends with by 0. */
struct row {
	const char *name;
	struct step steps[RH_CLOCK_STEPS_MAX + 4];
	int64_t time;
	int64_t later;
};

#define TEN                                                                              \
	{                                                                                    \
		{10, 1}, {20, 1}, {30, 1}, {40, 1}, {50, 1}, {60, 1}, {70, 1}, {80, 1}, {90, 1}, \
		{                                                                                \
			100, 1                                                                       \
		}                                                                                \
	}

static const struct row rows[] = {
	{"none", {{0, 0}}, 1000, 0},
	{"before it", {{1000, 50}}, 999, 50},
	{"at its moment", {{1000, 50}}, 1000, 50},
	{"after it", {{1000, 50}}, 1050, 0},
	{"yet to come", {{1000, 50}}, 9999, 0},
	{"a time that the clock never had", {{1000, 50}}, 1049, 50},
	{"before two", {{1000, 50}, {1060, 7}}, 900, 57},
	{"between two", {{1000, 50}, {1060, 7}}, 1055, 7},
	{"after two", {{1000, 50}, {1060, 7}}, 1067, 0},
	{"back", {{1000, -50}}, 900, 0},
	{"back, and noted by both", {{1000, -50}}, 960, 0},
	{"forward and back again", {{1000, 50}, {1060, -50}}, 900, 0},
	{"noted while it was ahead: it ends late", {{1000, 50}, {1060, -50}}, 1055, 0},
	{"forward, and back a part of it", {{1000, 50}, {1060, -20}}, 900, 30},
	{"back more", {{1000, 50}, {1060, -500}}, 900, 0},
	{"back more, and forward", {{1000, 50}, {1060, -500}, {570, 600}}, 900, 150},
	{"noted while it was ahead, then back and forward", {{1000, 50}, {1060, -500}, {570, 600}}, 1055, 100},
	{"noted while it was behind", {{1000, -500}, {570, 600}}, 565, 600},
	{"before it was behind", {{1000, -500}, {570, 600}}, 800, 100},
	{"by another clock", {{1000, -500}, {570, 600}}, 1001, 600},
	{"beyond all times", {{1000, INT64_MAX - 10}, {1000, INT64_MAX}}, 900, INT64_MAX},
	{"back as far as can be", {{1000, 50}, {1000, INT64_MIN}}, 900, 0},
	{"more than are kept", TEN, 0, 10},
	{"of more than are kept the oldest become one", TEN, 25, 10},
	{"and the newest do not", TEN, 85, 2},
};

static void test_clock_steps__rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_clock_steps steps = {0};

		support_row(rows[i].name);
		for (const struct step *step = rows[i].steps; step->by != 0; step++)
			rh_clock_steps_note(&steps, step->from, step->by);
		assert_int_equal(rh_clock_steps_since(&steps, rows[i].time), rows[i].later);
	}
}

static void test_clock_steps__null_is_none(void **state)
{
	(void)state;
	assert_int_equal(rh_clock_steps_since(NULL, 1000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_steps__rows),
		cmocka_unit_test(test_clock_steps__null_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
