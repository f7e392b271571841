/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/durable/image.h
 * @brief A store in a file, whole, with a checksum.
 */
#ifndef RH_COMM_PS_SERVER_DURABLE_IMAGE_H
#define RH_COMM_PS_SERVER_DURABLE_IMAGE_H

#include "comm/ps/server/store.h"

/**
 * Add @p length bytes to checksum @p sum. The result depends on how the bytes are split into calls.
 * @return the new sum
 */
uint64_t rh_ps_sum(uint64_t sum, const void *data, size_t length);
/**
 * Write a store to file @p name in folder @p folder: under another name, then synced, then renamed.
 * Blocks. @return 0 or RH_COMM_EIO
 */
int32_t rh_ps_image_write(const struct rh_ps_store *store, int folder, const char *name, struct rh_comm_error *err);
/**
 * Read one. @param config configuration of the server: that of the file must be equal, except for the constants of the
 * rule; the learning rate is the file's
 * @return 0; RH_COMM_EINVAL: it is of another server, or of another version; RH_COMM_EIO: it cannot be read or is
 * damaged; RH_COMM_ENOMEM
 */
int32_t rh_ps_image_read(int folder, const char *name, const struct rh_ps_config *config,
                         struct rh_ps_store **ret_store, struct rh_comm_error *err);

#endif
