/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/options.h"
#include "comm/bench/result/result.h"
#include "comm/bench/result/verdict.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define WORLD_MOST 8
#define NEAR(a, b) assert_true((a) - (b) < 1e-6 && (b) - (a) < 1e-6)

/* A world in which all pairs are alike, and what is then made slow. */
struct world {
	const char *name;
	int32_t ranks;
	int32_t per_host;
	void (*spoil)(struct rh_bench_result *result);
	double ratio;
	double least;
	bool crowded;
	const char *findings; /* "kind:from-to" joined by blanks */
};

static void set_bandwidth(struct rh_bench_result *result, int32_t from, int32_t to, double value)
{
	result->bandwidth[from * result->world + to] = value;
}

static void set_latency(struct rh_bench_result *result, int32_t a, int32_t b, double value)
{
	result->latency[a * result->world + b] = value;
	result->latency[b * result->world + a] = value;
}

static void spoil_nothing(struct rh_bench_result *result)
{
	(void)result;
}

static void spoil_one_way(struct rh_bench_result *result)
{
	set_bandwidth(result, 1, 2, result->bandwidth[1 * result->world + 2] * 0.3);
}

static void spoil_little(struct rh_bench_result *result)
{
	set_bandwidth(result, 1, 2, result->bandwidth[1 * result->world + 2] * 0.6);
}

static void spoil_latency(struct rh_bench_result *result)
{
	set_latency(result, 0, 3, result->latency[3] * 10);
}

static void spoil_rank_two(struct rh_bench_result *result)
{
	for (int32_t peer = 0; peer < result->world; peer++) {
		if (peer == 2)
			continue;
		set_bandwidth(result, 2, peer, result->bandwidth[2 * result->world + peer] / 4);
		set_bandwidth(result, peer, 2, result->bandwidth[peer * result->world + 2] / 4);
	}
}

/* It receives well and sends badly. */
static void spoil_sending_of_two(struct rh_bench_result *result)
{
	for (int32_t peer = 0; peer < result->world; peer++)
		set_bandwidth(result, 2, peer, peer == 2 ? 0 : result->bandwidth[2 * result->world + peer] / 4);
}

static void spoil_latency_of_one(struct rh_bench_result *result)
{
	for (int32_t peer = 0; peer < result->world; peer++) {
		if (peer != 1)
			set_latency(result, 1, peer, result->latency[1 * result->world + peer] * 3);
	}
}

static void spoil_copy(struct rh_bench_result *result)
{
	result->copy[3] = 1;
}

static void spoil_unmeasured(struct rh_bench_result *result)
{
	size_t cells = (size_t)result->world * (size_t)result->world;

	memset(result->bandwidth, 0, cells * sizeof(double));
	memset(result->latency, 0, cells * sizeof(double));
	memset(result->copy, 0, (size_t)result->world * sizeof(double));
}

/* Ranks of one host reach ten times what ranks of two hosts do. */
static void make_world(const struct world *world, struct rh_bench_result *result)
{
	assert_int_equal(rh_bench_result_init(result, world->ranks), 0);
	result->crowded = world->crowded;
	for (int32_t i = 0; i < world->ranks; i++) {
		result->hosts[i] = i / world->per_host;
		result->copy[i] = 10;
	}
	for (int32_t a = 0; a < world->ranks; a++) {
		for (int32_t b = 0; b < world->ranks; b++) {
			bool near = rh_bench_near(result, a, b);

			if (a == b)
				continue;
			set_bandwidth(result, a, b, near ? 10 : 1);
			set_latency(result, a, b, near ? 0.2 : 20);
		}
	}
	world->spoil(result);
}

static void list_findings(const struct rh_bench_verdict *verdict, char *text, size_t room)
{
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < verdict->count; i++) {
		const struct rh_bench_finding *item = &verdict->items[i];
		int n = snprintf(text + length, room - length, "%s%s:%d", i ? " " : "", rh_bench_kind_name(item->kind),
		                 (int)item->from);

		length += (size_t)n;
		if (item->to >= 0)
			length += (size_t)snprintf(text + length, room - length, "-%d", (int)item->to);
		assert_true(length < room);
	}
}

static void judge(const struct world *world, struct rh_bench_verdict *ret_verdict)
{
	struct rh_bench_options options = {.ratio = world->ratio, .least = world->least};
	struct rh_bench_result result;

	make_world(world, &result);
	assert_int_equal(rh_bench_find_slow(&result, &options, ret_verdict), 0);
	rh_bench_result_deinit(&result);
}

static void test_verdict__who_is_slow(void **state)
{
	static const struct world rows[] = {
		{"all alike", 4, 4, spoil_nothing, 0.5, 0, false, ""},
		{"hosts are not compared with pairs inside one", 6, 3, spoil_nothing, 0.5, 0, false, ""},
		{"one direction", 4, 4, spoil_one_way, 0.5, 0, false, "slow-bandwidth:1-2"},
		{"one direction between hosts", 4, 1, spoil_one_way, 0.5, 0, false, "slow-bandwidth:1-2"},
		{"not slow enough", 4, 4, spoil_little, 0.5, 0, false, ""},
		{"a stricter limit", 4, 4, spoil_little, 0.7, 0, false, "slow-bandwidth:1-2"},
		{"no limit", 4, 4, spoil_one_way, 0, 0, false, ""},
		{"latency", 4, 4, spoil_latency, 0.5, 0, false, "slow-latency:0-3"},
		{"a rank, not its pairs", 6, 6, spoil_rank_two, 0.5, 0, false, "slow-rank:2"},
		{"a rank between hosts", 6, 1, spoil_rank_two, 0.5, 0, false, "slow-rank:2"},
		{"a rank that only sends badly", 6, 1, spoil_sending_of_two, 0.5, 0, false, "slow-rank:2"},
		{"a rank that answers late", 6, 1, spoil_latency_of_one, 0.5, 0, false, "slow-rank:1"},
		{"memory", 4, 4, spoil_copy, 0.5, 0, false, "slow-copy:3"},
		{"two ranks have no like", 2, 2, spoil_nothing, 0.5, 0, false, ""},
		{"one rank", 1, 1, spoil_nothing, 0.5, 0, false, ""},
		{"nothing was measured", 4, 4, spoil_unmeasured, 0.5, 5, false, ""},
		{"crowded: pairs on one host", 4, 4, spoil_one_way, 0.5, 0, true, ""},
		{"crowded: memory", 4, 4, spoil_copy, 0.5, 0, true, ""},
		{"crowded: between hosts", 4, 1, spoil_one_way, 0.5, 0, true, "slow-bandwidth:1-2"},
		{"least", 3, 3, spoil_nothing, 0.5, 10.5, false,
	     "below-least:0-1 below-least:1-0 below-least:0-2 below-least:2-0 below-least:1-2 below-least:2-1"},
		{"least is reached", 3, 3, spoil_nothing, 0.5, 10, false, ""},
		{"least of two ranks", 2, 2, spoil_nothing, 0.5, 11, false, "below-least:0-1 below-least:1-0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_bench_verdict verdict = {0};
		char text[512];

		print_message("%s\n", rows[i].name);
		judge(&rows[i], &verdict);
		list_findings(&verdict, text, sizeof(text));
		assert_string_equal(text, rows[i].findings);
		rh_bench_verdict_deinit(&verdict);
		assert_int_equal(verdict.count, 0);
	}
}

static void test_verdict__many_findings(void **state)
{
	static const struct world world = {"", WORLD_MOST, WORLD_MOST, spoil_nothing, 0.5, 11, false, ""};
	struct rh_bench_verdict verdict = {0};

	(void)state;
	judge(&world, &verdict);
	assert_int_equal(verdict.count, WORLD_MOST * (WORLD_MOST - 1));
	rh_bench_verdict_deinit(&verdict);
}

static void test_verdict__numbers_of_a_finding(void **state)
{
	static const struct world world = {"", 4, 4, spoil_one_way, 0.5, 0, false, ""};
	struct rh_bench_verdict verdict = {0};

	(void)state;
	judge(&world, &verdict);
	assert_int_equal(verdict.count, 1);
	NEAR(verdict.items[0].value, 3);
	NEAR(verdict.items[0].median, 10);
	NEAR(verdict.items[0].ratio, 0.3);
	rh_bench_verdict_deinit(&verdict);
}

struct text_row {
	struct rh_bench_finding finding;
	const char *text;
};

static void test_verdict__texts(void **state)
{
	static const struct text_row rows[] = {
		{{RH_BENCH_SLOW_LATENCY, 1, 2, 4, 1, 0.25},
	     "ranks 1 and 2: a message takes 4 us, 4 times the median of pairs like it"},
		{{RH_BENCH_SLOW_BANDWIDTH, 1, 2, 2.5, 10, 0.25}, "rank 1 to 2: 2.5 GB/s, 0.25 of the median of pairs like it"},
		{{RH_BENCH_BELOW_LEAST, 1, 2, 2.5, 10, 0.25}, "rank 1 to 2: 2.5 GB/s, less than the 10 that --least demands"},
		{{RH_BENCH_SLOW_RANK, 3, -1, 0.25, 1, 0.25},
	     "rank 3: its pairs reach 0.25 of the median: it is the rank, not its peers"},
		{{RH_BENCH_SLOW_COPY, 3, -1, 2, 8, 0.25},
	     "rank 3: it copies 2 GB/s in its own memory, 0.25 of the median rank"},
	};
	char text[240];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(rh_bench_finding_text(&rows[i].finding, text, sizeof(text)), rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdict__who_is_slow),
		cmocka_unit_test(test_verdict__many_findings),
		cmocka_unit_test(test_verdict__numbers_of_a_finding),
		cmocka_unit_test(test_verdict__texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
