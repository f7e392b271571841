/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/compress/codec.h"

#include <math.h>
#include <string.h>

#include "comm/core/floats.h"

/* Scales of float8 are powers of two, so that scaling is exact; smaller numbers are worth no more. */
#define LEAST_EXPONENT (-100)

static size_t codec_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* @return bytes of a block's scale */
static size_t codec_head(int32_t how)
{
	return how == RH_COMM_COMPRESS_SIGN ? sizeof(float) : sizeof(int8_t);
}

static size_t codec_block_bytes(int32_t how, size_t count)
{
	return codec_head(how) + (how == RH_COMM_COMPRESS_SIGN ? (count + 7) / 8 : count);
}

size_t rh_comm_codec_bytes(int32_t how, size_t count)
{
	size_t rest = count % RH_COMM_CODEC_BLOCK;

	return count / RH_COMM_CODEC_BLOCK * codec_block_bytes(how, RH_COMM_CODEC_BLOCK) +
	       (rest > 0 ? codec_block_bytes(how, rest) : 0);
}

/* @return the least exponent that makes the greatest number of the block fit float8 */
static int codec_exponent(int32_t how, const float *values, size_t count)
{
	uint32_t greatest = 0;
	float fraction;
	int exponent;

	for (size_t i = 0; i < count; i++) {
		uint32_t magnitude = rh_comm_f32_bits(values[i]) & 0x7fffffff;

		if (magnitude < 0x7f800000 && magnitude > greatest)
			greatest = magnitude;
	}
	if (greatest == 0)
		return 0;
	/* both types end at 1.75 times a power of two, 448 and 57344 */
	fraction = frexpf(rh_comm_f32_of_bits(greatest), &exponent);
	exponent -= (how == RH_COMM_COMPRESS_E4M3 ? 9 : 16) - (fraction > 0.875F);
	return exponent > LEAST_EXPONENT ? exponent : LEAST_EXPONENT;
}

/* A difference that is no number is none to be kept. */
static float codec_lost(float value, float sent)
{
	float lost = value - sent;

	return (rh_comm_f32_bits(lost) & 0x7fffffff) < 0x7f800000 ? lost : 0.0F;
}

#define EIGHTHS(name, to_eighth, from_eighth)                                                              \
	static void codec_encode_##name(const float *values, float *error, size_t count, float down, float up, \
	                                uint8_t *to)                                                           \
	{                                                                                                      \
		for (size_t i = 0; i < count; i++) {                                                               \
			to[i] = to_eighth(values[i] * down);                                                           \
			error[i] = codec_lost(values[i], from_eighth(to[i]) * up);                                     \
		}                                                                                                  \
	}                                                                                                      \
                                                                                                           \
	static void codec_decode_##name(const uint8_t *from, size_t count, float up, float *values)            \
	{                                                                                                      \
		for (size_t i = 0; i < count; i++)                                                                 \
			values[i] = from_eighth(from[i]) * up;                                                         \
	}

EIGHTHS(e4m3, rh_comm_e4m3_from_f32, rh_comm_f32_from_e4m3)
EIGHTHS(e5m2, rh_comm_e5m2_from_f32, rh_comm_f32_from_e5m2)

static void codec_encode_signs(const float *values, float *error, size_t count, uint8_t *to)
{
	double total = 0;
	float mean;

	for (size_t i = 0; i < count; i++)
		total += (double)fabsf(values[i]);
	mean = isfinite(total) ? (float)(total / (double)count) : NAN;
	memcpy(to, &mean, sizeof(mean));
	to += sizeof(mean);
	memset(to, 0, (count + 7) / 8);
	for (size_t i = 0; i < count; i++) {
		uint32_t negative = rh_comm_f32_bits(values[i]) >> 31;

		to[i / 8] |= (uint8_t)(negative << i % 8);
		error[i] = codec_lost(values[i], negative ? -mean : mean);
	}
}

static void codec_decode_signs(const uint8_t *from, size_t count, float *values)
{
	float mean;

	memcpy(&mean, from, sizeof(mean));
	from += sizeof(mean);
	for (size_t i = 0; i < count; i++)
		values[i] = from[i / 8] >> i % 8 & 1 ? -mean : mean;
}

static void codec_encode_block(int32_t how, const float *values, float *error, size_t count, uint8_t *to)
{
	int exponent;

	if (how == RH_COMM_COMPRESS_SIGN) {
		codec_encode_signs(values, error, count, to);
		return;
	}
	exponent = codec_exponent(how, values, count);
	*to++ = (uint8_t)(int8_t)exponent;
	if (how == RH_COMM_COMPRESS_E4M3)
		codec_encode_e4m3(values, error, count, ldexpf(1, -exponent), ldexpf(1, exponent), to);
	else
		codec_encode_e5m2(values, error, count, ldexpf(1, -exponent), ldexpf(1, exponent), to);
}

static void codec_decode_block(int32_t how, const uint8_t *from, size_t count, float *values)
{
	if (how == RH_COMM_COMPRESS_SIGN)
		codec_decode_signs(from, count, values);
	else if (how == RH_COMM_COMPRESS_E4M3)
		codec_decode_e4m3(from + 1, count, ldexpf(1, (int8_t)*from), values);
	else
		codec_decode_e5m2(from + 1, count, ldexpf(1, (int8_t)*from), values);
}

void rh_comm_codec_encode(int32_t how, const float *values, float *error, size_t count, uint8_t *to)
{
	float block[RH_COMM_CODEC_BLOCK];

	for (size_t at = 0; at < count; at += RH_COMM_CODEC_BLOCK) {
		size_t length = codec_least(count - at, RH_COMM_CODEC_BLOCK);

		for (size_t i = 0; i < length; i++)
			block[i] = values[at + i] + error[at + i];
		codec_encode_block(how, block, error + at, length, to);
		to += codec_block_bytes(how, length);
	}
}

void rh_comm_codec_decode(int32_t how, const uint8_t *from, size_t count, float *ret_values)
{
	for (size_t at = 0; at < count; at += RH_COMM_CODEC_BLOCK) {
		size_t length = codec_least(count - at, RH_COMM_CODEC_BLOCK);

		codec_decode_block(how, from, length, ret_values + at);
		from += codec_block_bytes(how, length);
	}
}

void rh_comm_codec_add(int32_t how, const uint8_t *from, size_t count, float *sums)
{
	float block[RH_COMM_CODEC_BLOCK];

	for (size_t at = 0; at < count; at += RH_COMM_CODEC_BLOCK) {
		size_t length = codec_least(count - at, RH_COMM_CODEC_BLOCK);

		codec_decode_block(how, from, length, block);
		for (size_t i = 0; i < length; i++)
			sums[at + i] += block[i];
		from += codec_block_bytes(how, length);
	}
}
