/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/devices/devices.h
 * @brief GPUs of this machine and their allocation to pods.
 */
#ifndef RH_LOCAL_DEVICES_DEVICES_H
#define RH_LOCAL_DEVICES_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** Most devices that are supported. */
#define RH_DEVICES_MAX 64

/** One device. */
struct rh_device {
	char id[64];    /**< its name in CUDA_VISIBLE_DEVICES: "3", "GPU-8932f937-…" */
	int32_t number; /**< number of its lock, 0 to 65535; equal in all processes */
};

/** The devices that this process may use. */
struct rh_devices {
	struct rh_device items[RH_DEVICES_MAX];
	size_t count;
};

/**
 * Find NVIDIA devices. Never fails: unreadable devices are left out.
 * @param root "" for this machine; in tests a folder in place of /
 * @param visible this process's $CUDA_VISIBLE_DEVICES, which alone decides when it is set (up to the first -1); NULL:
 * not set
 */
void rh_devices_find(const char *root, const char *visible, struct rh_devices *ret_devices);
/**
 * Choose @p want devices, the first ones that are not in use. Pure.
 * @param used as long as @p devices; a chosen one is set
 * @param[out] ret_ids @p want texts, borrowed from @p devices
 * @return 0; RH_EINVAL: this machine has not as many; RH_EAGAIN: it has, but too few are free now
 */
int rh_devices_pick(const struct rh_devices *devices, bool *used, size_t want, const char **ret_ids,
                    struct rh_error *err);

#endif
