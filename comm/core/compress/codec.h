/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/compress/codec.h
 * @brief Vectors as blocks of float8 or signs, with error feedback. Pure; any alignment of bytes.
 */
#ifndef RH_COMM_CORE_COMPRESS_CODEC_H
#define RH_COMM_CORE_COMPRESS_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "roundhouse/compress.h"

/** Elements that share a scale. */
#define RH_COMM_CODEC_BLOCK 256

/** @return bytes of @p count elements by RH_COMM_COMPRESS_E4M3, E5M2 or SIGN */
size_t rh_comm_codec_bytes(int32_t how, size_t count);
/**
 * Write @p values + @p error to @p to, in rh_comm_codec_bytes() bytes.
 * @param error becomes the difference to what rh_comm_codec_decode() will make of it; 0 where that is no number
 */
void rh_comm_codec_encode(int32_t how, const float *values, float *error, size_t count, uint8_t *to);
/** Read @p count elements. */
void rh_comm_codec_decode(int32_t how, const uint8_t *from, size_t count, float *ret_values);
/** Read @p count elements, and add them to @p sums. */
void rh_comm_codec_add(int32_t how, const uint8_t *from, size_t count, float *sums);

#endif
