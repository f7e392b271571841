/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/compress/top.h"

#include <string.h>

#include "comm/core/floats.h"

/* Magnitudes are numbers of 31 bits, which are looked at from the top: 11 bits, 10, and 10. */
#define PASSES 3
#define BINS 2048

static uint32_t top_magnitude(float value)
{
	return rh_comm_f32_bits(value) & 0x7fffffff;
}

/* The magnitude at a place, counted from 1, the greatest first. @param ret_equal how many equal ones come up to it */
static uint32_t top_least(const float *values, size_t count, size_t place, size_t *ret_equal)
{
	static const struct {
		unsigned shift;
		unsigned bits;
	} passes[PASSES] = {{20, 11}, {10, 10}, {0, 10}};
	uint32_t found = 0;

	for (size_t pass = 0; pass < PASSES; pass++) {
		unsigned above = passes[pass].shift + passes[pass].bits;
		uint32_t mask = (UINT32_C(1) << passes[pass].bits) - 1;
		uint32_t bin = mask;
		size_t bins[BINS] = {0};

		for (size_t i = 0; i < count; i++) {
			uint32_t magnitude = top_magnitude(values[i]);

			bins[magnitude >> passes[pass].shift & mask] += magnitude >> above == found >> above;
		}
		for (; bins[bin] < place; bin--)
			place -= bins[bin];
		found |= bin << passes[pass].shift;
	}
	*ret_equal = place;
	return found;
}

void rh_comm_top_take(float *values, size_t count, size_t number, struct rh_comm_top *ret_taken)
{
	size_t equal;
	uint32_t least = top_least(values, count, number, &equal);

	for (size_t i = 0; i < count && number > 0; i++) {
		uint32_t magnitude = top_magnitude(values[i]);

		if (magnitude < least || (magnitude == least && equal == 0))
			continue;
		equal -= magnitude == least;
		number--;
		*ret_taken++ = (struct rh_comm_top){(uint32_t)i, values[i]};
		values[i] = 0;
	}
}
