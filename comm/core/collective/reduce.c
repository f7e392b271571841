/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/collective/reduce.h"

#include "comm/core/floats.h"
#include "roundhouse/comm_backend.h"

#if defined(__x86_64__)
#define REDUCE_HAS_AVX2 1
#else
#define REDUCE_HAS_AVX2 0
#endif

#define REDUCE_TYPES (RH_COMM_F8_E5M2 + 1)
#define REDUCE_OPS 9

typedef void reduce_fn(void *out, const void *a, const void *b, size_t count);
typedef void divide_fn(void *data, size_t count, int32_t divisor);

static inline float f32_keep(float value)
{
	return value;
}

static inline double f64_keep(double value)
{
	return value;
}

/* Integers are added and multiplied without a sign, so that they wrap around by definition. */
#define ADD(wide, x, y) ((wide)(x) + (wide)(y))
#define MULTIPLY(wide, x, y) ((wide)(x) * (wide)(y))
#define LESSER(wide, x, y) ((x) < (y) ? (x) : (y))
#define GREATER(wide, x, y) ((x) > (y) ? (x) : (y))
/* a NaN is less than nothing, nor equal to itself */
#define LESSER_FLOAT(wide, x, y) ((x) < (y) || (x) != (x) ? (x) : (y))
#define GREATER_FLOAT(wide, x, y) ((x) > (y) || (x) != (x) ? (x) : (y))
#define AND(wide, x, y) ((x) & (y))
#define OR(wide, x, y) ((x) | (y))
#define XOR(wide, x, y) ((x) ^ (y))

/* One kernel: elements are read through `load`, combined as `wide`, and stored through `store`. */
#define KERNEL(name, attribute, type, wide, load, store, combine)                     \
	attribute static void name(void *out, const void *a, const void *b, size_t count) \
	{                                                                                 \
		type *to = out;                                                               \
		const type *left = a;                                                         \
		const type *right = b;                                                        \
                                                                                      \
		_Pragma("GCC ivdep") for (size_t i = 0; i < count; i++) to[i] =               \
			(type)store(combine(wide, load(left[i]), load(right[i])));                \
	}

#define FLOATS(name, attribute, type, wide, load, store)                  \
	KERNEL(name##_sum, attribute, type, wide, load, store, ADD)           \
	KERNEL(name##_min, attribute, type, wide, load, store, LESSER_FLOAT)  \
	KERNEL(name##_max, attribute, type, wide, load, store, GREATER_FLOAT) \
	KERNEL(name##_prod, attribute, type, wide, load, store, MULTIPLY)

#define INTEGERS(name, attribute, type, wide)                \
	KERNEL(name##_sum, attribute, type, wide, , , ADD)       \
	KERNEL(name##_min, attribute, type, wide, , , LESSER)    \
	KERNEL(name##_max, attribute, type, wide, , , GREATER)   \
	KERNEL(name##_prod, attribute, type, wide, , , MULTIPLY) \
	KERNEL(name##_band, attribute, type, wide, , , AND)      \
	KERNEL(name##_bor, attribute, type, wide, , , OR)        \
	KERNEL(name##_bxor, attribute, type, wide, , , XOR)

#define ALL_KERNELS(level, attribute)                                                              \
	FLOATS(level##_f32, attribute, float, float, f32_keep, f32_keep)                               \
	FLOATS(level##_f64, attribute, double, double, f64_keep, f64_keep)                             \
	FLOATS(level##_f16, attribute, uint16_t, float, rh_comm_f32_from_f16, rh_comm_f16_from_f32)    \
	FLOATS(level##_bf16, attribute, uint16_t, float, rh_comm_f32_from_bf16, rh_comm_bf16_from_f32) \
	FLOATS(level##_e4m3, attribute, uint8_t, float, rh_comm_f32_from_e4m3, rh_comm_e4m3_from_f32)  \
	FLOATS(level##_e5m2, attribute, uint8_t, float, rh_comm_f32_from_e5m2, rh_comm_e5m2_from_f32)  \
	INTEGERS(level##_i8, attribute, int8_t, uint8_t)                                               \
	INTEGERS(level##_i16, attribute, int16_t, uint32_t)                                            \
	INTEGERS(level##_i32, attribute, int32_t, uint32_t)                                            \
	INTEGERS(level##_i64, attribute, int64_t, uint64_t)                                            \
	INTEGERS(level##_u8, attribute, uint8_t, uint8_t)                                              \
	INTEGERS(level##_u16, attribute, uint16_t, uint32_t)                                           \
	INTEGERS(level##_u32, attribute, uint32_t, uint32_t)                                           \
	INTEGERS(level##_u64, attribute, uint64_t, uint64_t)

#define ROW(name)                                                                                                   \
	[RH_COMM_SUM] = name##_sum, [RH_COMM_AVG] = name##_sum, [RH_COMM_MIN] = name##_min, [RH_COMM_MAX] = name##_max, \
	[RH_COMM_PROD] = name##_prod

#define ROW_OF_BITS(name)                                                                                  \
	{                                                                                                      \
		ROW(name), [RH_COMM_BAND] = name##_band, [RH_COMM_BOR] = name##_bor, [RH_COMM_BXOR] = name##_bxor, \
	}

#define TABLE(level)                                                                        \
	static reduce_fn *const level##_table[REDUCE_TYPES][REDUCE_OPS] = {                     \
		[RH_COMM_F32] = {ROW(level##_f32)},       [RH_COMM_F64] = {ROW(level##_f64)},       \
		[RH_COMM_F16] = {ROW(level##_f16)},       [RH_COMM_BF16] = {ROW(level##_bf16)},     \
		[RH_COMM_I8] = ROW_OF_BITS(level##_i8),   [RH_COMM_I32] = ROW_OF_BITS(level##_i32), \
		[RH_COMM_I64] = ROW_OF_BITS(level##_i64), [RH_COMM_U8] = ROW_OF_BITS(level##_u8),   \
		[RH_COMM_I16] = ROW_OF_BITS(level##_i16), [RH_COMM_U16] = ROW_OF_BITS(level##_u16), \
		[RH_COMM_U32] = ROW_OF_BITS(level##_u32), [RH_COMM_U64] = ROW_OF_BITS(level##_u64), \
		[RH_COMM_F8_E4M3] = {ROW(level##_e4m3)},  [RH_COMM_F8_E5M2] = {ROW(level##_e5m2)},  \
	};

ALL_KERNELS(plain, )
TABLE(plain)

#if REDUCE_HAS_AVX2
/* no fused multiply-add: bits must not depend on the machine */
ALL_KERNELS(avx2, __attribute__((target("avx2"))))
TABLE(avx2)
#endif

static reduce_fn *reduce_find(int32_t type, int32_t reduce)
{
#if REDUCE_HAS_AVX2
	if (__builtin_cpu_supports("avx2"))
		return avx2_table[type][reduce];
#endif
	return plain_table[type][reduce];
}

bool rh_comm_type_is_known(int32_t type)
{
	return type > 0 && type < REDUCE_TYPES;
}

bool rh_comm_reduce_is_known(int32_t reduce)
{
	return reduce > 0 && reduce < REDUCE_OPS;
}

bool rh_comm_type_reduces_by(int32_t type, int32_t reduce)
{
	return plain_table[type][reduce];
}

size_t rh_comm_type_size(int32_t type)
{
	return rh_comm_element_size(type);
}

void rh_comm_reduce(void *out, const void *a, const void *b, size_t count, int32_t type, int32_t reduce)
{
	reduce_find(type, reduce)(out, a, b, count);
}

#define DIVIDE(name, type, wide, load, store)                            \
	static void divide_##name(void *data, size_t count, int32_t divisor) \
	{                                                                    \
		type *items = data;                                              \
		wide by = (wide)divisor;                                         \
                                                                         \
		for (size_t i = 0; i < count; i++)                               \
			items[i] = (type)store(load(items[i]) / by);                 \
	}

DIVIDE(f32, float, float, f32_keep, f32_keep)
DIVIDE(f64, double, double, f64_keep, f64_keep)
DIVIDE(f16, uint16_t, float, rh_comm_f32_from_f16, rh_comm_f16_from_f32)
DIVIDE(bf16, uint16_t, float, rh_comm_f32_from_bf16, rh_comm_bf16_from_f32)
DIVIDE(e4m3, uint8_t, float, rh_comm_f32_from_e4m3, rh_comm_e4m3_from_f32)
DIVIDE(e5m2, uint8_t, float, rh_comm_f32_from_e5m2, rh_comm_e5m2_from_f32)
DIVIDE(i8, int8_t, int32_t, , )
DIVIDE(i32, int32_t, int32_t, , )
DIVIDE(i64, int64_t, int64_t, , )
DIVIDE(u8, uint8_t, int32_t, , )
DIVIDE(i16, int16_t, int32_t, , )
DIVIDE(u16, uint16_t, int32_t, , )
DIVIDE(u32, uint32_t, uint32_t, , )
DIVIDE(u64, uint64_t, uint64_t, , )

void rh_comm_divide(void *data, size_t count, int32_t type, int32_t divisor)
{
	static divide_fn *const table[REDUCE_TYPES] = {
		[RH_COMM_F32] = divide_f32,      [RH_COMM_F64] = divide_f64,      [RH_COMM_F16] = divide_f16,
		[RH_COMM_BF16] = divide_bf16,    [RH_COMM_I8] = divide_i8,        [RH_COMM_I32] = divide_i32,
		[RH_COMM_I64] = divide_i64,      [RH_COMM_U8] = divide_u8,        [RH_COMM_I16] = divide_i16,
		[RH_COMM_U16] = divide_u16,      [RH_COMM_U32] = divide_u32,      [RH_COMM_U64] = divide_u64,
		[RH_COMM_F8_E4M3] = divide_e4m3, [RH_COMM_F8_E5M2] = divide_e5m2,
	};

	table[type](data, count, divisor);
}
