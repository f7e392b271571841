/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of what is decoded and what is kept, on vectors of many shapes. */
#include "comm/core/compress/codec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "random.h"

#define MOST 2000
#define GUARD 0x5a

static const int32_t kinds[] = {RH_COMM_COMPRESS_E4M3, RH_COMM_COMPRESS_E5M2, RH_COMM_COMPRESS_SIGN};
static const size_t counts[] = {1, 7, 8, 255, 256, 257, 513, 1999};

#define KINDS (sizeof(kinds) / sizeof(*kinds))
#define COUNTS (sizeof(counts) / sizeof(*counts))

/* A vector, what it was encoded to, and what came of it. */
struct trial {
	float values[MOST];
	float before[MOST]; /* error that was kept earlier */
	float error[MOST];
	float got[MOST];
	uint8_t bytes[2 * MOST + 1];
};

/* From -1 to 1. */
static double random_part(uint64_t *seed)
{
	return test_random_part(seed) * 2 - 1;
}

/* Numbers of about `scale`, a few of them much larger, or 0. */
static void trial_fill(struct trial *trial, size_t count, double scale, uint64_t seed)
{
	for (size_t i = 0; i < count; i++) {
		double value = random_part(&seed) * scale;

		if (i % 17 == 3)
			value *= 100;
		if (i % 5 == 2)
			value = 0;
		trial->values[i] = (float)value;
		trial->before[i] = (float)(random_part(&seed) * scale / 8);
	}
}

static void trial_run(struct trial *trial, int32_t how, size_t count)
{
	size_t length = rh_comm_codec_bytes(how, count);

	assert_true(length < sizeof(trial->bytes));
	memcpy(trial->error, trial->before, sizeof(trial->error));
	memset(trial->bytes, GUARD, sizeof(trial->bytes));
	rh_comm_codec_encode(how, trial->values, trial->error, count, trial->bytes);
	assert_int_equal(trial->bytes[length], GUARD);
	rh_comm_codec_decode(how, trial->bytes, count, trial->got);
}

static void test_codec__bytes(void **state)
{
	(void)state;
	assert_int_equal(rh_comm_codec_bytes(RH_COMM_COMPRESS_E4M3, 0), 0);
	assert_int_equal(rh_comm_codec_bytes(RH_COMM_COMPRESS_E4M3, 256), 257);
	assert_int_equal(rh_comm_codec_bytes(RH_COMM_COMPRESS_E5M2, 257), 259);
	assert_int_equal(rh_comm_codec_bytes(RH_COMM_COMPRESS_SIGN, 256), 36);
	assert_int_equal(rh_comm_codec_bytes(RH_COMM_COMPRESS_SIGN, 265), 42);
}

/* What was to be sent is what arrives and what is kept. */
static void check_feedback(const struct trial *trial, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double wanted = (double)trial->values[i] + (double)trial->before[i];
		double sum = (double)trial->got[i] + (double)trial->error[i];

		assert_true(fabs(sum - wanted) <= 1e-6 * (fabs(wanted) + fabs((double)trial->got[i])));
	}
}

/* float8 has a relative error, and an absolute one below its least normal number: both of the greatest of its block. */
static void check_eighths(const struct trial *trial, int32_t how, size_t count)
{
	double relative = how == RH_COMM_COMPRESS_E4M3 ? 0x1p-4 : 0x1p-3;
	double absolute = how == RH_COMM_COMPRESS_E4M3 ? 0x1p-17 : 0x1p-31;

	for (size_t i = 0; i < count; i++) {
		size_t end = (i / RH_COMM_CODEC_BLOCK + 1) * RH_COMM_CODEC_BLOCK;
		double greatest = 0;

		for (size_t j = end - RH_COMM_CODEC_BLOCK; j < end && j < count; j++)
			greatest = fmax(greatest, fabs((double)(trial->values[j] + trial->before[j])));
		assert_true(fabs((double)trial->error[i]) <=
		            fmax(relative * fabs((double)(trial->values[i] + trial->before[i])), absolute * greatest));
	}
}

/* Signs arrive, and one magnitude for a block; the error is less than the vector itself. */
static void check_signs(const struct trial *trial, size_t count)
{
	for (size_t at = 0; at < count; at += RH_COMM_CODEC_BLOCK) {
		double whole = 0;
		double lost = 0;

		for (size_t i = at; i < at + RH_COMM_CODEC_BLOCK && i < count; i++) {
			float value = trial->values[i] + trial->before[i];

			assert_int_equal(signbit(trial->got[i]) != 0, signbit(value) != 0);
			assert_true(fabsf(trial->got[i]) == fabsf(trial->got[at]));
			whole += (double)value * (double)value;
			lost += (double)trial->error[i] * (double)trial->error[i];
		}
		assert_true(lost < whole);
	}
}

static void test_codec__errors_are_bounded_and_kept(void **state)
{
	static const double scales[] = {1, 1e-6, 1e20, 3e-30};
	struct trial *trial = calloc(1, sizeof(*trial));

	(void)state;
	assert_non_null(trial);
	for (size_t kind = 0; kind < KINDS; kind++) {
		for (size_t at = 0; at < COUNTS * 4; at++) {
			size_t count = counts[at / 4];

			trial_fill(trial, count, scales[at % 4], 1000 * kind + at);
			trial_run(trial, kinds[kind], count);
			check_feedback(trial, count);
			if (kinds[kind] == RH_COMM_COMPRESS_SIGN)
				check_signs(trial, count);
			else if (at % 4 < 3)
				check_eighths(trial, kinds[kind], count);
		}
	}
	free(trial);
}

static void test_codec__adds_what_it_decodes(void **state)
{
	struct trial *trial = calloc(1, sizeof(*trial));
	float sums[MOST];

	(void)state;
	assert_non_null(trial);
	for (size_t kind = 0; kind < KINDS; kind++) {
		trial_fill(trial, 700, 1, kind);
		trial_run(trial, kinds[kind], 700);
		for (size_t i = 0; i < 700; i++)
			sums[i] = (float)i;
		rh_comm_codec_add(kinds[kind], trial->bytes, 700, sums);
		for (size_t i = 0; i < 700; i++)
			assert_true(sums[i] == (float)i + trial->got[i]);
	}
	free(trial);
}

static void test_codec__zero_is_zero(void **state)
{
	struct trial *trial = calloc(1, sizeof(*trial));

	(void)state;
	assert_non_null(trial);
	for (size_t kind = 0; kind < KINDS; kind++) {
		trial_run(trial, kinds[kind], 300);
		for (size_t i = 0; i < 300; i++)
			assert_true(trial->got[i] == 0 && trial->error[i] == 0);
	}
	free(trial);
}

/* What is no number arrives as none, disturbs no other block, and is not kept. */
static void test_codec__nan_is_not_kept(void **state)
{
	struct trial *trial = calloc(1, sizeof(*trial));

	(void)state;
	assert_non_null(trial);
	for (size_t row = 0; row < KINDS * 2; row++) {
		int32_t how = kinds[row / 2];

		trial_fill(trial, 600, 1, row);
		trial->values[300] = row % 2 == 0 ? NAN : -INFINITY;
		trial_run(trial, how, 600);
		if (row % 2 == 1 && how == RH_COMM_COMPRESS_E5M2)
			assert_true(isinf(trial->got[300]) && trial->got[300] < 0);
		else
			assert_true(isnan(trial->got[300]));
		for (size_t i = 0; i < 600; i++) {
			assert_true(isfinite(trial->error[i]));
			if (i / RH_COMM_CODEC_BLOCK != 1 || (how != RH_COMM_COMPRESS_SIGN && i != 300))
				assert_true(isfinite(trial->got[i]));
		}
	}
	free(trial);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codec__bytes),
		cmocka_unit_test(test_codec__errors_are_bounded_and_kept),
		cmocka_unit_test(test_codec__adds_what_it_decodes),
		cmocka_unit_test(test_codec__zero_is_zero),
		cmocka_unit_test(test_codec__nan_is_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
