/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/devices/gpus.h
 * @brief What processes use of NVIDIA's GPUs, from the driver's management library (NVML), where a machine has one.
 *
 * The library is opened when it is asked for: nothing is linked, and nothing is needed to build.
 */
#ifndef RH_LOCAL_DEVICES_GPUS_H
#define RH_LOCAL_DEVICES_GPUS_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/** What one process uses of one GPU. */
struct rh_gpu_use {
	int64_t pid;
	int64_t memory; /**< bytes; -1: the driver does not say */
	double share;   /**< of the GPU's time, 0 to 1; -1: the driver does not say */
};

/** What several processes use of all GPUs together. All zero: none of them uses one. */
struct rh_gpu_total {
	size_t count;   /**< of uses that were added */
	int64_t memory; /**< bytes; -1: unknown */
	double share;   /**< of whole GPUs, 1.5 of one and a half; -1: unknown */
};

/** Add one use to @p total. A sum with an unknown part is unknown. */
void rh_gpu_total_add(struct rh_gpu_total *total, const struct rh_gpu_use *use);

/** Opaque: the library and the GPUs that it knows. */
struct rh_gpus;

/** @return owned by the caller; NULL: there is no such library or no GPU, or memory is out */
struct rh_gpus *rh_gpus_open(void) __attribute__((warn_unused_result));
/** Close the library and free @p gpus. NULL is ignored. */
void rh_gpus_free(struct rh_gpus *gpus);
RH_DEFINE_CLEANUP(gpus);
/**
 * Look at all GPUs. Blocks for the driver.
 * @param[out] ret_uses an item for each process on each GPU; owned by the caller. @param[out] ret_count how many
 * @return 0 or RH_ENOMEM
 */
int rh_gpus_read(struct rh_gpus *gpus, struct rh_gpu_use **ret_uses, size_t *ret_count);

#endif
