/* SPDX-License-Identifier: Apache-2.0 */
/* Averages of real ranks. What runs in ranks returns an exit status: cmocka lives in the parent. */
#include "roundhouse/compress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/core/check.h"
#include "comm/ranks.h"

#define TURNS 12
#define MOST 5000

/* What a rank gives, repeatable on every other one: few large elements, as gradients have. */
static float gradient(int32_t rank, int turn, size_t i)
{
	uint64_t seed = ((uint64_t)rank * 1000 + (uint64_t)turn) * 100000 + i;
	double value;

	seed = (seed ^ seed >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	seed = (seed ^ seed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (double)(seed >> 40) / 0x1p23 - 1;
	return (float)(value * value * value);
}

static double mean_gradient(int32_t world, int turn, size_t i)
{
	double total = 0;

	for (int32_t rank = 0; rank < world; rank++)
		total += (double)gradient(rank, turn, i);
	return total / world;
}

/* All ranks have the same bits. */
static int check_same(struct rh_comm *comm, const float *vector, size_t count)
{
	static uint32_t greatest[MOST];
	struct rh_comm_error err = {0};

	memcpy(greatest, vector, count * sizeof(*vector));
	CHECK_DONE(rh_comm_all_reduce(comm, greatest, count, RH_COMM_U32, RH_COMM_MAX, &err));
	CHECK(memcmp(greatest, vector, count * sizeof(*vector)) == 0);
	memcpy(greatest, vector, count * sizeof(*vector));
	CHECK_DONE(rh_comm_all_reduce(comm, greatest, count, RH_COMM_U32, RH_COMM_MIN, &err));
	CHECK(memcmp(greatest, vector, count * sizeof(*vector)) == 0);
	return 0;
}

/* How far one average may be off: of what was left out, that is, no bound but that it is kept. */
static double bound_once(int32_t how)
{
	switch (how) {
	case RH_COMM_COMPRESS_F16:
		return 0x1p-10;
	case RH_COMM_COMPRESS_BF16:
		return 0x1p-7;
	case RH_COMM_COMPRESS_E4M3:
		return 0x1p-2;
	case RH_COMM_COMPRESS_E5M2:
		return 0x1p-1;
	default:
		return INFINITY;
	}
}

/* Sums of all averages: what came, and what was to come. */
struct sums {
	double came[MOST];
	double wanted[MOST];
};

static int run_turns(struct rh_comm *comm, struct rh_comm_compressor *compressor, int32_t how, size_t count,
                     struct sums *sums)
{
	static float vector[MOST];
	int32_t world = rh_comm_world(comm);
	struct rh_comm_error err = {0};

	memset(sums, 0, sizeof(*sums));
	for (int turn = 0; turn < TURNS; turn++) {
		for (size_t i = 0; i < count; i++)
			vector[i] = gradient(rh_comm_rank(comm), turn, i);
		CHECK_DONE(rh_comm_compressor_average(compressor, vector, 0, &err));
		CHECK(check_same(comm, vector, count) == 0);
		for (size_t i = 0; i < count; i++) {
			double wanted = mean_gradient(world, turn, i);

			CHECK(fabs((double)vector[i] - wanted) <= bound_once(how));
			sums->came[i] += (double)vector[i];
			sums->wanted[i] += wanted;
		}
	}
	return 0;
}

/* What was kept on all ranks is all that is missing. */
static int check_total(struct rh_comm *comm, struct rh_comm_compressor *compressor, size_t count,
                       const struct sums *sums)
{
	static float kept[MOST];
	struct rh_comm_error err = {0};

	memset(kept, 0, sizeof(kept));
	rh_comm_compressor_drain(compressor, kept);
	CHECK_DONE(rh_comm_all_reduce(comm, kept, count, RH_COMM_F32, RH_COMM_AVG, &err));
	for (size_t i = 0; i < count; i++)
		CHECK(fabs(sums->came[i] + (double)kept[i] - sums->wanted[i]) < 2e-5);
	/* it is kept no longer */
	memset(kept, 0, sizeof(kept));
	rh_comm_compressor_drain(compressor, kept);
	for (size_t i = 0; i < count; i++)
		CHECK(kept[i] == 0);
	return 0;
}

static int check_saved(struct rh_comm *comm, const struct rh_comm_compressor *compressor, int32_t how, size_t count)
{
	static const double least[] = {0, 1.99, 1.99, 3.8, 3.8, 1.9, 25};
	struct rh_comm_compressed saved = {.size = sizeof(saved)};
	uint64_t others = (uint64_t)rh_comm_world(comm) - 1;

	rh_comm_compressor_saved(compressor, &saved);
	CHECK(saved.calls == TURNS);
	CHECK(saved.plain_bytes == TURNS * (8 * count * others / (others + 1)));
	/* two slices, of 256 elements and of one, each with a head and a scale: the other's slice, and the average of the
	 * own one */
	if (how == RH_COMM_COMPRESS_E4M3 && count == 257 && others == 1)
		CHECK(saved.sent_bytes == TURNS * (8 + 1 + 256 + 8 + 1 + 1));
	if (count == MOST && others == 1)
		CHECK((double)saved.plain_bytes >= least[how] * (double)saved.sent_bytes);
	return 0;
}

static int averages(struct rh_comm *comm, const void *arg)
{
	static const size_t counts[] = {1, 255, 257, 1000, MOST};
	static struct sums sums;
	struct rh_comm_error err = {0};

	(void)arg;
	for (int32_t how = RH_COMM_COMPRESS_F16; how <= RH_COMM_COMPRESS_SIGN; how++) {
		for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
			struct rh_comm_compression compression = {sizeof(compression), how, counts[i], 0.25};
			struct rh_comm_compressor *compressor = NULL;

			CHECK_DONE(rh_comm_compressor_new(comm, &compression, &compressor, &err));
			CHECK(run_turns(comm, compressor, how, counts[i], &sums) == 0);
			CHECK(check_saved(comm, compressor, how, counts[i]) == 0);
			if (how > RH_COMM_COMPRESS_BF16)
				CHECK(check_total(comm, compressor, counts[i], &sums) == 0);
			rh_comm_compressor_free(compressor);
		}
	}
	return 0;
}

static void test_compressor__what_comes_and_what_is_kept_is_all(void **state)
{
	(void)state;
	for (int32_t world = 1; world <= 4; world++) {
		struct ranks_plan plan = {.world = world, .fn = averages};

		ranks_run(&plan);
	}
}

static void test_compressor__over_tcp(void **state)
{
	static const struct ranks_plan plan = {.world = 3, .no_shm = true, .fn = averages};

	(void)state;
	ranks_run(&plan);
}

/* A NaN of one rank is one on all, and none in the next turn. */
static int not_a_number(struct rh_comm *comm, const void *arg)
{
	static float vector[MOST];
	struct rh_comm_error err = {0};

	(void)arg;
	for (int32_t how = RH_COMM_COMPRESS_F16; how <= RH_COMM_COMPRESS_SIGN; how++) {
		struct rh_comm_compression compression = {sizeof(compression), how, 1000, 0};
		struct rh_comm_compressor *compressor = NULL;

		CHECK_DONE(rh_comm_compressor_new(comm, &compression, &compressor, &err));
		for (size_t i = 0; i < 1000; i++)
			vector[i] = rh_comm_rank(comm) == 1 && i == 700 ? NAN : 1.0F;
		CHECK_DONE(rh_comm_compressor_average(compressor, vector, 0, &err));
		CHECK(isnan(vector[700]));
		for (size_t i = 0; i < 1000; i++)
			vector[i] = 1.0F;
		CHECK_DONE(rh_comm_compressor_average(compressor, vector, 0, &err));
		for (size_t i = 0; i < 1000; i++)
			CHECK(isfinite(vector[i]));
		rh_comm_compressor_free(compressor);
	}
	return 0;
}

static void test_compressor__nan_arrives_once(void **state)
{
	static const struct ranks_plan plan = {.world = 3, .fn = not_a_number};

	(void)state;
	ranks_run(&plan);
}

/* Kinds of the ranks, which differ, and a word of the error. */
struct different {
	struct rh_comm_compression mine[2]; /* of rank 0, and of rank 1 */
	const char *word;
};

static int differ(struct rh_comm *comm, const void *arg)
{
	static float vector[MOST];
	const struct different *row = arg;
	struct rh_comm_compressor *compressor = NULL;
	struct rh_comm_error err = {0};

	CHECK_DONE(rh_comm_compressor_new(comm, &row->mine[rh_comm_rank(comm)], &compressor, &err));
	CHECK(rh_comm_compressor_average(compressor, vector, 0, &err) == RH_COMM_EINVAL);
	CHECK(err.rank >= 0 && strstr(err.text, row->word));
	rh_comm_compressor_free(compressor);
	return 0;
}

static void test_compressor__ranks_that_compress_otherwise_are_named(void **state)
{
#define KIND(how, count)                                      \
	{                                                         \
		sizeof(struct rh_comm_compression), (how), (count), 0 \
	}
	static const struct different rows[] = {
		{{KIND(RH_COMM_COMPRESS_E4M3, 100), KIND(RH_COMM_COMPRESS_E5M2, 100)}, "compresses by"},
		{{KIND(RH_COMM_COMPRESS_TOP, 1000), KIND(RH_COMM_COMPRESS_TOP, 1001)}, "all-gather"},
		{{KIND(RH_COMM_COMPRESS_TOP, 100), KIND(RH_COMM_COMPRESS_TOP, 99)}, "compresses by"},
		{{KIND(RH_COMM_COMPRESS_F16, 100), KIND(RH_COMM_COMPRESS_BF16, 100)}, "bf16"},
		{{KIND(RH_COMM_COMPRESS_SIGN, 100), KIND(RH_COMM_COMPRESS_E4M3, 100)}, "elements for rank"},
		{{KIND(RH_COMM_COMPRESS_SIGN, 100), KIND(RH_COMM_COMPRESS_F16, 100)}, "all-to-all"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ranks_plan plan = {.world = 2, .fn = differ, .arg = &rows[i]};

		ranks_run(&plan);
	}
}

/* Rank 1 is gone: the others learn it. */
static int leave(struct rh_comm *comm, const void *arg)
{
	static float vector[MOST];
	struct rh_comm_compression compression = {sizeof(compression), *(const int32_t *)arg, MOST, 0};
	struct rh_comm_compressor *compressor = NULL;
	struct rh_comm_error err = {0};
	int32_t r = 0;

	CHECK_DONE(rh_comm_compressor_new(comm, &compression, &compressor, &err));
	CHECK_DONE(rh_comm_compressor_average(compressor, vector, 0, &err));
	if (rh_comm_rank(comm) == 1)
		_Exit(0);
	while (r == 0)
		r = rh_comm_compressor_average(compressor, vector, 0, &err);
	CHECK(r == RH_COMM_EPEER && err.rank == 1);
	rh_comm_compressor_free(compressor);
	return 0;
}

static void test_compressor__a_dead_rank_is_named(void **state)
{
	static const int32_t kinds[] = {RH_COMM_COMPRESS_F16, RH_COMM_COMPRESS_SIGN, RH_COMM_COMPRESS_TOP};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct ranks_plan plan = {.world = 3, .fn = leave, .arg = &kinds[i]};

		ranks_run(&plan);
	}
}

static int refuse(struct rh_comm *comm, const void *arg)
{
	static const struct {
		struct rh_comm_compression given;
		const char *word;
	} rows[] = {
		{KIND(0, 10), ".how is 0"},
		{KIND(RH_COMM_COMPRESS_SIGN + 1, 10), ".how is 7"},
		{KIND(RH_COMM_COMPRESS_SIGN, 0), ".count is 0"},
		{KIND(RH_COMM_COMPRESS_F16, SIZE_MAX), ".count is"},
		{KIND(RH_COMM_COMPRESS_TOP, (size_t)UINT32_MAX + 1), "32 bits"},
		{{sizeof(struct rh_comm_compression), RH_COMM_COMPRESS_TOP, 10, 1.5}, ".part is 1.5"},
		{{sizeof(struct rh_comm_compression), RH_COMM_COMPRESS_TOP, 10, -0.5}, ".part is -0.5"},
	};
	struct rh_comm_compressor *compressor = NULL;
	struct rh_comm_error err = {0};

	(void)arg;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CHECK(rh_comm_compressor_new(comm, &rows[i].given, &compressor, &err) == RH_COMM_EINVAL);
		CHECK(!compressor && strstr(err.text, rows[i].word));
	}
	rh_comm_compressor_free(NULL);
	return 0;
}

static void test_compressor__refuses_what_is_none(void **state)
{
	static const struct ranks_plan plan = {.world = 1, .fn = refuse};

	(void)state;
	ranks_run(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compressor__what_comes_and_what_is_kept_is_all),
		cmocka_unit_test(test_compressor__over_tcp),
		cmocka_unit_test(test_compressor__nan_arrives_once),
		cmocka_unit_test(test_compressor__ranks_that_compress_otherwise_are_named),
		cmocka_unit_test(test_compressor__a_dead_rank_is_named),
		cmocka_unit_test(test_compressor__refuses_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
