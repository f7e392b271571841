/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/floats.h
 * @brief Conversions between binary32 and the short floating types, for loops over arrays. To a short type they round
 * to nearest, ties to even.
 */
#ifndef RH_COMM_CORE_FLOATS_H
#define RH_COMM_CORE_FLOATS_H

#include <stdint.h>
#include <string.h>

/** @return how @p value lies in memory */
static inline uint32_t rh_comm_f32_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/** @return the number that lies in memory as @p bits */
static inline float rh_comm_f32_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/** @return @p half as binary32, exactly. Scaling by 2^112 turns its exponent, also a subnormal's, into a binary32's */
static inline float rh_comm_f32_from_f16(uint16_t half)
{
	uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t scaled = rh_comm_f32_bits(rh_comm_f32_of_bits(magnitude) * 0x1p112F);

	if (magnitude >= 0x0f800000)
		scaled = magnitude | 0x7f800000;
	return rh_comm_f32_of_bits(scaled | sign);
}

/**
 * Adding a number whose last place is worth as much as the result's lets the addition do the rounding, for normal
 * results by the exponent's own number, for subnormal ones by a fixed one.
 * @return the binary16 nearest to @p value; infinite when it is too large
 */
static inline uint16_t rh_comm_f16_from_f32(float value)
{
	uint32_t bits = rh_comm_f32_bits(value);
	uint32_t sign = bits >> 16 & 0x8000;
	uint32_t magnitude = bits & 0x7fffffff;
	uint32_t normal = magnitude + 0xfff + (magnitude >> 13 & 1) - (UINT32_C(112) << 23);
	uint32_t subnormal = rh_comm_f32_bits(rh_comm_f32_of_bits(magnitude) + 0.5F) - rh_comm_f32_bits(0.5F);
	uint32_t result = magnitude < 0x38800000 ? subnormal : normal >> 13;

	if (magnitude >= 0x477ff000)
		result = 0x7c00;
	if (magnitude > 0x7f800000)
		result = 0x7e00;
	return (uint16_t)(sign | result);
}

/** @return @p half as binary32, exactly */
static inline float rh_comm_f32_from_bf16(uint16_t half)
{
	return rh_comm_f32_of_bits((uint32_t)half << 16);
}

/** @return the bfloat16 nearest to @p value; infinite when it is too large */
static inline uint16_t rh_comm_bf16_from_f32(float value)
{
	uint32_t bits = rh_comm_f32_bits(value);
	uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);

	if ((bits & 0x7fffffff) > 0x7f800000)
		rounded = bits | 0x400000;
	return (uint16_t)(rounded >> 16);
}

/** @return @p eighth, a float8 of 4 bits of exponent and 3 of mantissa without infinity, as binary32, exactly */
static inline float rh_comm_f32_from_e4m3(uint8_t eighth)
{
	uint32_t magnitude = eighth & 0x7f;
	uint32_t sign = (uint32_t)(eighth & 0x80) << 24;
	uint32_t normal = (magnitude << 20) + (UINT32_C(120) << 23);
	uint32_t subnormal = rh_comm_f32_bits((float)(int32_t)magnitude * 0x1p-9F);
	uint32_t result = magnitude < 0x08 ? subnormal : normal;

	if (magnitude == 0x7f)
		result = 0x7fc00000;
	return rh_comm_f32_of_bits(result | sign);
}

/** @return the float8 e4m3fn nearest to @p value; NaN when that is above 448, or infinite: the type has no infinity */
static inline uint8_t rh_comm_e4m3_from_f32(float value)
{
	uint32_t bits = rh_comm_f32_bits(value);
	uint32_t sign = bits >> 24 & 0x80;
	uint32_t magnitude = bits & 0x7fffffff;
	uint32_t normal = magnitude + 0x7ffff + (magnitude >> 20 & 1) - (UINT32_C(120) << 23);
	uint32_t subnormal = rh_comm_f32_bits(rh_comm_f32_of_bits(magnitude) + 0x1p14F) - rh_comm_f32_bits(0x1p14F);
	uint32_t result = magnitude < 0x3c800000 ? subnormal : normal >> 20;

	/* from 480 on; what rounds up to that has the bits of NaN anyway */
	if (magnitude >= 0x43f00000)
		result = 0x7f;
	return (uint8_t)(sign | result);
}

/** @return @p eighth, a float8 of 5 bits of exponent and 2 of mantissa, as binary32, exactly */
static inline float rh_comm_f32_from_e5m2(uint8_t eighth)
{
	uint32_t magnitude = eighth & 0x7f;
	uint32_t sign = (uint32_t)(eighth & 0x80) << 24;
	uint32_t normal = (magnitude << 21) + (UINT32_C(112) << 23);
	uint32_t subnormal = rh_comm_f32_bits((float)(int32_t)magnitude * 0x1p-16F);
	uint32_t result = magnitude < 0x04 ? subnormal : normal;

	if (magnitude >= 0x7c)
		result = magnitude << 21 | 0x7f800000;
	return rh_comm_f32_of_bits(result | sign);
}

/** @return the float8 e5m2 nearest to @p value; infinite when it is too large */
static inline uint8_t rh_comm_e5m2_from_f32(float value)
{
	uint32_t bits = rh_comm_f32_bits(value);
	uint32_t sign = bits >> 24 & 0x80;
	uint32_t magnitude = bits & 0x7fffffff;
	uint32_t normal = magnitude + 0xfffff + (magnitude >> 21 & 1) - (UINT32_C(112) << 23);
	uint32_t subnormal = rh_comm_f32_bits(rh_comm_f32_of_bits(magnitude) + 0x1p7F) - rh_comm_f32_bits(0x1p7F);
	uint32_t result = magnitude < 0x38800000 ? subnormal : normal >> 21;

	if (magnitude >= 0x47700000)
		result = 0x7c;
	if (magnitude > 0x7f800000)
		result = 0x7f;
	return (uint8_t)(sign | result);
}

#endif
