/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/collective/reduce.h"
#include "comm/core/floats.h"

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

#include "comm/values.h"
#include "random.h"

/* Longer than any vector register, and no multiple of one. */
#define COUNT 131
#define OPS 8

static void check_one(int32_t type, int32_t reduce, size_t offset, size_t count)
{
	_Alignas(64) char a[COUNT * 8 + 64];
	_Alignas(64) char b[COUNT * 8 + 64];
	_Alignas(64) char wanted[COUNT * 8 + 64];
	size_t size = rh_comm_type_size(type);
	size_t shift = offset * size;
	uint64_t seed = (uint64_t)type * 100 + (uint64_t)reduce;
	/* what every type holds exactly */
	uint32_t most = values_is_float(type) && size == 1 ? 5 : 12;

	memset(a, 0x5a, sizeof(a));
	memcpy(wanted, a, sizeof(a));
	for (size_t i = 0; i < count; i++) {
		int x = (int)(test_random_below(&seed, most));
		int y = (int)(test_random_below(&seed, most));

		values_put(a + shift, i, type, x);
		values_put(b + shift, i, type, y);
		values_put(wanted + shift, i, type, (int)values_combine(x, y, reduce));
	}
	rh_comm_reduce(a + shift, a + shift, b + shift, count, type, reduce);
	/* with what stands around it */
	assert_memory_equal(a, wanted, sizeof(a));
}

static void test_reduce__combines_every_type_by_every_reduction(void **state)
{
	(void)state;
	for (int32_t type = 1; type <= VALUES_TYPES; type++) {
		for (int32_t reduce = 1; reduce <= OPS; reduce++) {
			if (values_is_float(type) && reduce > RH_COMM_PROD)
				continue;
			for (size_t offset = 0; offset < 3; offset++) {
				check_one(type, reduce, offset, COUNT - 3);
				check_one(type, reduce, offset, 1);
				check_one(type, reduce, offset, 0);
			}
		}
	}
}

static void test_reduce__integers_wrap_around(void **state)
{
	int32_t a32[2] = {INT32_MAX, INT32_MIN};
	int32_t one32[2] = {1, -1};
	int8_t a8[2] = {100, -100};
	uint8_t u8[1] = {255};
	uint8_t two[1] = {2};
	int64_t a64[1] = {INT64_MAX};
	int64_t two64[1] = {2};

	(void)state;
	rh_comm_reduce(a32, a32, one32, 2, RH_COMM_I32, RH_COMM_SUM);
	assert_int_equal(a32[0], INT32_MIN);
	assert_int_equal(a32[1], INT32_MAX);
	rh_comm_reduce(a8, a8, a8, 2, RH_COMM_I8, RH_COMM_SUM);
	assert_int_equal(a8[0], -56);
	assert_int_equal(a8[1], 56);
	rh_comm_reduce(u8, u8, two, 1, RH_COMM_U8, RH_COMM_PROD);
	assert_int_equal(u8[0], 254);
	rh_comm_reduce(a64, a64, two64, 1, RH_COMM_I64, RH_COMM_PROD);
	assert_true(a64[0] == -2);
}

static void test_reduce__integers_compare_with_their_sign(void **state)
{
	int8_t a[2] = {-128, 127};
	int8_t b[2] = {1, -1};
	uint8_t c[2] = {128, 1};
	uint8_t d[2] = {1, 255};

	(void)state;
	rh_comm_reduce(a, a, b, 2, RH_COMM_I8, RH_COMM_MIN);
	assert_int_equal(a[0], -128);
	assert_int_equal(a[1], -1);
	rh_comm_reduce(c, c, d, 2, RH_COMM_U8, RH_COMM_MAX);
	assert_int_equal(c[0], 128);
	assert_int_equal(c[1], 255);
}

static void test_reduce__unsigned_types_reach_beyond_the_signed_ones(void **state)
{
	int16_t i16[1] = {INT16_MIN};
	int16_t one16[1] = {1};
	uint16_t u16[1] = {UINT16_MAX};
	uint16_t half16[1] = {UINT16_MAX / 2};
	uint32_t u32[1] = {UINT32_MAX};
	uint32_t half32[1] = {UINT32_MAX / 2};
	uint64_t u64[1] = {UINT64_MAX};
	uint64_t half64[1] = {UINT64_MAX / 2};

	(void)state;
	rh_comm_reduce(i16, i16, one16, 1, RH_COMM_I16, RH_COMM_MIN);
	assert_int_equal(i16[0], INT16_MIN);
	rh_comm_reduce(u16, u16, half16, 1, RH_COMM_U16, RH_COMM_MAX);
	assert_int_equal(u16[0], UINT16_MAX);
	/* 65535 squared is more than an int can hold */
	rh_comm_reduce(u16, u16, u16, 1, RH_COMM_U16, RH_COMM_PROD);
	assert_int_equal(u16[0], 1);
	rh_comm_reduce(u32, half32, u32, 1, RH_COMM_U32, RH_COMM_MAX);
	assert_true(u32[0] == UINT32_MAX);
	rh_comm_divide(u32, 1, RH_COMM_U32, 3);
	assert_true(u32[0] == UINT32_MAX / 3);
	rh_comm_reduce(half64, half64, u64, 1, RH_COMM_U64, RH_COMM_MIN);
	assert_true(half64[0] == UINT64_MAX / 2);
	rh_comm_divide(u64, 1, RH_COMM_U64, 3);
	assert_true(u64[0] == UINT64_MAX / 3);
}

static void check_nan(int32_t type, int32_t reduce)
{
	_Alignas(64) char a[COUNT * 8];
	_Alignas(64) char b[COUNT * 8];

	for (size_t i = 0; i < COUNT; i++) {
		values_put_float(a, i, type, i % 3 == 0 ? NAN : (float)(i % 6));
		values_put_float(b, i, type, i % 5 == 0 ? NAN : 3.0F);
	}
	rh_comm_reduce(a, a, b, COUNT, type, reduce);
	for (size_t i = 0; i < COUNT; i++) {
		double wanted = values_combine((double)(i % 6), 3, reduce);

		if (i % 3 == 0 || i % 5 == 0)
			assert_true(isnan(values_take(a, i, type)));
		else
			assert_true(values_take(a, i, type) == wanted);
	}
}

/* Whoever looks for a loss that is no number any more does so by the largest of all ranks. */
static void test_reduce__min_and_max_keep_nan(void **state)
{
	(void)state;
	for (int32_t type = RH_COMM_F32; type <= VALUES_TYPES; type++) {
		if (!values_is_float(type))
			continue;
		check_nan(type, RH_COMM_MIN);
		check_nan(type, RH_COMM_MAX);
		check_nan(type, RH_COMM_SUM);
	}
}

static void test_reduce__halves_survive_a_round_trip(void **state)
{
	(void)state;
	for (uint32_t half = 0; half < 65536; half++) {
		float f16 = rh_comm_f32_from_f16((uint16_t)half);
		float bf16 = rh_comm_f32_from_bf16((uint16_t)half);

		if (isnan(f16))
			assert_true(isnan(rh_comm_f32_from_f16(rh_comm_f16_from_f32(f16))));
		else
			assert_int_equal(rh_comm_f16_from_f32(f16), half);
		if (isnan(bf16))
			assert_true(isnan(rh_comm_f32_from_bf16(rh_comm_bf16_from_f32(bf16))));
		else
			assert_int_equal(rh_comm_bf16_from_f32(bf16), half);
	}
}

static void test_reduce__rounds_to_nearest_even(void **state)
{
	static const struct {
		float value;
		uint16_t f16;
	} rows[] = {
		{0.0F, 0x0000},
		{-0.0F, 0x8000},
		{1.0F, 0x3c00},
		{65504.0F, 0x7bff},
		{65519.996F, 0x7bff},
		{65520.0F, 0x7c00},
		{-1e30F, 0xfc00},
		{INFINITY, 0x7c00},
		{0x1p-24F, 0x0001},
		{0x1p-25F, 0x0000},
		{0x1.8p-25F, 0x0001},
		{0x1.8p-24F, 0x0002},
		{0x1.ff8p-15F, 0x03ff},
		{0x1.ffcp-15F, 0x0400},
		{1.0F + 0x1p-11F, 0x3c00},
		{1.0F + 0x1.8p-10F, 0x3c02},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(rh_comm_f16_from_f32(rows[i].value), rows[i].f16);
	assert_int_equal(rh_comm_bf16_from_f32(1.0F + 0x1p-8F), 0x3f80);
	assert_int_equal(rh_comm_bf16_from_f32(1.0F + 0x1.8p-7F), 0x3f82);
	assert_int_equal(rh_comm_bf16_from_f32(3.4e38F), 0x7f80);
}

static void test_reduce__divides(void **state)
{
	for (int32_t type = 1; type <= VALUES_TYPES; type++) {
		char data[16];
		char wanted[16];

		(void)state;
		values_put(data, 0, type, 12);
		values_put(data, 1, type, 6);
		values_put(wanted, 0, type, 4);
		values_put(wanted, 1, type, 2);
		rh_comm_divide(data, 2, type, 3);
		assert_memory_equal(data, wanted, 2 * rh_comm_type_size(type));
	}
}

static void test_reduce__knows_its_types(void **state)
{
	(void)state;
	assert_int_equal(rh_comm_type_size(0), 0);
	assert_int_equal(rh_comm_type_size(-1), 0);
	assert_int_equal(rh_comm_type_size(VALUES_TYPES + 1), 0);
	assert_false(rh_comm_type_is_known(0));
	assert_false(rh_comm_reduce_is_known(0));
	assert_false(rh_comm_reduce_is_known(OPS + 1));
	assert_true(rh_comm_reduce_is_known(OPS));
	for (int32_t type = 1; type <= VALUES_TYPES; type++) {
		assert_true(rh_comm_type_reduces_by(type, RH_COMM_PROD));
		assert_int_equal(rh_comm_type_reduces_by(type, RH_COMM_BAND), !values_is_float(type));
		assert_int_equal(rh_comm_type_reduces_by(type, RH_COMM_BXOR), !values_is_float(type));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reduce__combines_every_type_by_every_reduction),
		cmocka_unit_test(test_reduce__integers_wrap_around),
		cmocka_unit_test(test_reduce__integers_compare_with_their_sign),
		cmocka_unit_test(test_reduce__unsigned_types_reach_beyond_the_signed_ones),
		cmocka_unit_test(test_reduce__min_and_max_keep_nan),
		cmocka_unit_test(test_reduce__halves_survive_a_round_trip),
		cmocka_unit_test(test_reduce__rounds_to_nearest_even),
		cmocka_unit_test(test_reduce__divides),
		cmocka_unit_test(test_reduce__knows_its_types),
	};

	return cmocka_run_group_tests_name("comm/core/collective/reduce", tests, NULL, NULL);
}
