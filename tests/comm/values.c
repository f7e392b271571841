/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/values.h"

#include <string.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/floats.h"

bool values_is_float(int32_t type)
{
	return type <= RH_COMM_BF16 || type >= RH_COMM_F8_E4M3;
}

static float values_single(int32_t type, const char *data)
{
	uint16_t half;

	if (type == RH_COMM_F8_E4M3)
		return rh_comm_f32_from_e4m3((uint8_t)*data);
	if (type == RH_COMM_F8_E5M2)
		return rh_comm_f32_from_e5m2((uint8_t)*data);
	memcpy(&half, data, sizeof(half));
	return type == RH_COMM_F16 ? rh_comm_f32_from_f16(half) : rh_comm_f32_from_bf16(half);
}

void values_put_float(void *data, size_t at, int32_t type, float value)
{
	double wide = (double)value;
	uint16_t half = type == RH_COMM_F16 ? rh_comm_f16_from_f32(value) : rh_comm_bf16_from_f32(value);
	uint8_t eighth = type == RH_COMM_F8_E4M3 ? rh_comm_e4m3_from_f32(value) : rh_comm_e5m2_from_f32(value);
	const void *from = type == RH_COMM_F32 ? (const void *)&value : type == RH_COMM_F64 ? (const void *)&wide : &half;
	size_t size = rh_comm_type_size(type);

	memcpy((char *)data + at * size, size == 1 ? &eighth : from, size);
}

void values_put(void *data, size_t at, int32_t type, int value)
{
	int64_t whole = value; /* little-endian: its first bytes are the narrower integers */
	size_t size = rh_comm_type_size(type);

	if (values_is_float(type))
		values_put_float(data, at, type, (float)value);
	else
		memcpy((char *)data + at * size, &whole, size);
}

/* The integers that came later. */
static double values_take_other(const char *data, int32_t type)
{
	int16_t i16 = 0;
	uint16_t u16 = 0;
	uint32_t u32 = 0;
	uint64_t u64 = 0;

	switch (type) {
	case RH_COMM_I16:
		memcpy(&i16, data, sizeof(i16));
		return (double)i16;
	case RH_COMM_U16:
		memcpy(&u16, data, sizeof(u16));
		return (double)u16;
	case RH_COMM_U32:
		memcpy(&u32, data, sizeof(u32));
		return (double)u32;
	default:
		memcpy(&u64, data, sizeof(u64));
		return (double)u64;
	}
}

double values_take(const void *values, size_t at, int32_t type)
{
	const char *data = values;
	size_t size = rh_comm_type_size(type);
	float single = 0;
	double wide = 0;
	int64_t whole = 0;
	int32_t word = 0;

	memcpy(&wide, data + at * size, type == RH_COMM_F64 ? sizeof(wide) : 0);
	memcpy(&single, data + at * size, type == RH_COMM_F32 ? sizeof(single) : 0);
	memcpy(&word, data + at * size, type == RH_COMM_I32 ? sizeof(word) : 0);
	switch (type) {
	case RH_COMM_F64:
		return wide;
	case RH_COMM_F32:
		return (double)single;
	case RH_COMM_F16:
	case RH_COMM_BF16:
	case RH_COMM_F8_E4M3:
	case RH_COMM_F8_E5M2:
		return (double)values_single(type, data + at * size);
	case RH_COMM_I8:
		return (double)*(const int8_t *)(data + at);
	case RH_COMM_I32:
		return (double)word;
	case RH_COMM_I64:
		memcpy(&whole, data + at * size, sizeof(whole));
		return (double)whole;
	case RH_COMM_U8:
		return (double)*(const uint8_t *)(data + at);
	default:
		return values_take_other(data + at * size, type);
	}
}

double values_combine(double a, double b, int32_t reduce)
{
	switch (reduce) {
	case RH_COMM_MIN:
		return a < b ? a : b;
	case RH_COMM_MAX:
		return a > b ? a : b;
	case RH_COMM_PROD:
		return a * b;
	case RH_COMM_BAND:
		return (double)((int)a & (int)b);
	case RH_COMM_BOR:
		return (double)((int)a | (int)b);
	case RH_COMM_BXOR:
		return (double)((int)a ^ (int)b);
	default:
		return a + b;
	}
}

bool values_are_close(double a, double b, int32_t type)
{
	/* float8 is rounded at each hop, and sums of eight ranks have seven */
	double slack = type == RH_COMM_F64       ? 1e-12
	               : type == RH_COMM_F32     ? 1e-5
	               : type == RH_COMM_F16     ? 4e-3
	               : type == RH_COMM_F8_E4M3 ? 0.3
	               : type == RH_COMM_F8_E5M2 ? 0.6
	                                         : 3e-2;
	double scale = (b < 0 ? -b : b) + 1;

	return a - b <= slack * scale && b - a <= slack * scale;
}
