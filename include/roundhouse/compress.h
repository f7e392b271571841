/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file roundhouse/compress.h
 * @brief Averages of gradients that travel in fewer bytes, by rh_comm.
 *
 * A compressor belongs to one vector of binary32 numbers in host memory, as one bucket of gradients, and to one
 * context. All ranks make compressors of the same kind and length, and average the same vectors in the same order. All
 * ranks end with the same bits. What the kinds from RH_COMM_COMPRESS_E4M3 on leave out is not lost: each rank keeps it,
 * and adds it to the next vector (error feedback), so that over many calls the averages add up to those of the vectors
 * themselves, but for what is kept. NaN arrives as NaN, and is not kept.
 */
#ifndef ROUNDHOUSE_COMPRESS_H
#define ROUNDHOUSE_COMPRESS_H

#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name Kinds of compression @{ */
#define RH_COMM_COMPRESS_F16 1  /**< binary16, 1/2 of the bytes; divided by the number of ranks before it travels */
#define RH_COMM_COMPRESS_BF16 2 /**< bfloat16, 1/2; likewise. Both are rounded, and keep no error */
/** float8 with 3 bits of mantissa, and a power of two for each 256 elements, 1/4 of the bytes; infinity becomes NaN */
#define RH_COMM_COMPRESS_E4M3 3
#define RH_COMM_COMPRESS_E5M2 4 /**< float8 with 2 bits of mantissa, likewise; infinity stays */
/** The elements of greatest magnitude of each rank, as pairs of index and number; the lower index of equal ones */
#define RH_COMM_COMPRESS_TOP 5
/** The sign of each element, and the mean magnitude of each 256: 1/28 of the bytes; infinity makes its 256 NaN */
#define RH_COMM_COMPRESS_SIGN 6
/** @} */

/** What to compress, and how. */
struct rh_comm_compression {
	uint32_t size; /**< sizeof(struct rh_comm_compression) where it was compiled */
	int32_t how;   /**< RH_COMM_COMPRESS_F16 … */
	size_t count;  /**< elements of the vector, at least 1; of RH_COMM_COMPRESS_TOP below 2^32 */
	double part;   /**< RH_COMM_COMPRESS_TOP: what part of the elements travels, above 0 and up to 1; 0: 0.01 */
};

/** What a compressor has saved so far. */
struct rh_comm_compressed {
	uint32_t size;        /**< sizeof(struct rh_comm_compressed) where it was compiled */
	uint32_t reserved;    /**< 0 */
	uint64_t calls;       /**< averages that ended well */
	uint64_t plain_bytes; /**< that would have left this rank: twice its vector, but for the part of one rank */
	uint64_t sent_bytes;  /**< that this rank had for others */
};

/** Opaque: a vector's compression on this rank, and what it has left out so far. */
struct rh_comm_compressor;

/**
 * Make a compressor. Not collective, and no message is sent. It takes the memory of about two vectors at most.
 * @param comm must live until the last rh_comm_compressor_average()
 * @param ret_compressor is freed by rh_comm_compressor_free()
 * @return 0, RH_COMM_EINVAL or RH_COMM_ENOMEM
 */
RH_COMM_API int32_t rh_comm_compressor_new(struct rh_comm *comm, const struct rh_comm_compression *compression,
                                           struct rh_comm_compressor **ret_compressor, struct rh_comm_error *err);
/** Free it. It may outlive its context. NULL is nothing. */
RH_COMM_API void rh_comm_compressor_free(struct rh_comm_compressor *compressor);
/**
 * Replace @p vector by the average of the vectors of all ranks, and wait. Collective: it posts up to two collectives,
 * one after the other, so that a thread which averages beside others needs a context of its own (rh_comm_group() of all
 * ranks). One thread at a time for each compressor. In a world of one rank the vector stays as it is.
 * @param vector as many elements as the compressor has. @param timeout as in rh_comm_op, of each of the collectives
 * @return 0 or RH_COMM_E*; RH_COMM_EINVAL names a rank that compresses otherwise. After an error free the compressor
 */
RH_COMM_API int32_t rh_comm_compressor_average(struct rh_comm_compressor *compressor, float *vector, int64_t timeout,
                                               struct rh_comm_error *err);
/** Add what was left out so far to @p vector, which has as many elements, and keep nothing. Local: no message is sent.
 */
RH_COMM_API void rh_comm_compressor_drain(struct rh_comm_compressor *compressor, float *vector);
/** Say what it has saved. @param ret_saved its size is set by the caller, and no more than that is written */
RH_COMM_API void rh_comm_compressor_saved(const struct rh_comm_compressor *compressor,
                                          struct rh_comm_compressed *ret_saved);

#ifdef __cplusplus
}
#endif

#endif
