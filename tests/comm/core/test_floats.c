/* SPDX-License-Identifier: Apache-2.0 */
/* float8 against a search for the nearest of its 256 numbers; binary16 and bfloat16 are tested in test_reduce.c. */
#include "comm/core/floats.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define TRIES 200000

struct eighth {
	float (*read)(uint8_t eighth);
	uint8_t (*write)(float value);
	int mantissa; /* bits */
	int bias;
	uint8_t greatest; /* finite */
};

static const struct eighth types[] = {
	{rh_comm_f32_from_e4m3, rh_comm_e4m3_from_f32, 3, 7, 0x7e},
	{rh_comm_f32_from_e5m2, rh_comm_e5m2_from_f32, 2, 15, 0x7b},
};

/* What the bits say, by the definition of the formats (OCP 8-bit floating point, 2023). */
static double eighth_value(const struct eighth *type, uint8_t eighth)
{
	int exponent = (eighth & 0x7f) >> type->mantissa;
	int fraction = eighth & ((1 << type->mantissa) - 1);
	double magnitude = exponent == 0 ? ldexp(fraction, 1 - type->bias - type->mantissa)
	                                 : ldexp(fraction + (1 << type->mantissa), exponent - type->bias - type->mantissa);

	return eighth & 0x80 ? -magnitude : magnitude;
}

static void test_floats__every_eighth_is_read(void **state)
{
	(void)state;
	for (size_t t = 0; t < 2; t++) {
		for (int bits = 0; bits < 256; bits++) {
			float value = types[t].read((uint8_t)bits);

			if ((bits & 0x7f) <= types[t].greatest) {
				assert_true((double)value == eighth_value(&types[t], (uint8_t)bits));
				assert_int_equal(signbit(value) != 0, bits >> 7);
				assert_int_equal(types[t].write(value), bits);
			} else if (t == 1 && (bits & 0x7f) == 0x7c) {
				assert_true(isinf(value));
				assert_int_equal(types[t].write(value), bits);
			} else {
				assert_true(isnan(value));
				assert_int_equal(types[t].write(value) & 0x7f, 0x7f);
			}
		}
	}
}

/* The nearest of all, the even one of two. */
static uint8_t eighth_nearest(const struct eighth *type, float value)
{
	double magnitude = fabs((double)value);
	uint8_t best = 0;

	for (uint8_t bits = 1; bits <= type->greatest; bits++) {
		double here = fabs(eighth_value(type, bits) - magnitude);
		double before = fabs(eighth_value(type, best) - magnitude);

		if (here < before || (here == before && bits % 2 == 0))
			best = bits;
	}
	return (uint8_t)(best | (signbit(value) ? 0x80 : 0));
}

static void test_floats__rounds_to_the_nearest_eighth(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (size_t t = 0; t < 2; t++) {
		double greatest = eighth_value(&types[t], types[t].greatest);

		for (int i = 0; i < TRIES; i++) {
			float value;

			seed = seed * 1664525 + 1013904223;
			/* exponents around those of the type; mantissas with few bits, too, for ties */
			value = ldexpf((float)(seed >> (i % 4 == 0 ? 27 : 8)), (int)(seed % 40) - (i % 4 == 0 ? 24 : 43));
			value = seed >> 7 & 1 ? -value : value;
			if (fabs((double)value) <= greatest)
				assert_int_equal(types[t].write(value), eighth_nearest(&types[t], value));
		}
	}
}

static void test_floats__what_is_too_large(void **state)
{
	(void)state;
	/* half way to 480, which e4m3fn does not have; the even one is 448 */
	assert_int_equal(rh_comm_e4m3_from_f32(464.0F), 0x7e);
	assert_int_equal(rh_comm_e4m3_from_f32(464.001F), 0x7f);
	assert_int_equal(rh_comm_e4m3_from_f32(-500.0F), 0xff);
	assert_int_equal(rh_comm_e4m3_from_f32(-INFINITY), 0xff);
	assert_int_equal(rh_comm_e5m2_from_f32(61439.0F), 0x7b);
	assert_int_equal(rh_comm_e5m2_from_f32(61440.0F), 0x7c);
	assert_int_equal(rh_comm_e5m2_from_f32(-3e38F), 0xfc);
	assert_int_equal(rh_comm_e5m2_from_f32(1e-40F), 0);
	assert_int_equal(rh_comm_e4m3_from_f32(-1e-40F), 0x80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floats__every_eighth_is_read),
		cmocka_unit_test(test_floats__rounds_to_the_nearest_eighth),
		cmocka_unit_test(test_floats__what_is_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
