/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/client_handshake.h
 * @brief How a rank gets its connection to rank 0: both ends prove that they know the secret. For client.c alone.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_CLIENT_HANDSHAKE_H
#define RH_COMM_CORE_BOOTSTRAP_CLIENT_HANDSHAKE_H

#include <stdint.h>

#include "comm/core/bootstrap/client.h"

/**
 * Connect to rank 0, again and again until @p deadline, and prove the secret. Blocks.
 * @param[out] ret_fd the connection, owned by the caller; -1 after a failure
 * @param[in,out] in empty; afterwards it has what came after the welcome
 * @return 0, RH_COMM_ETIME (nobody was reached), RH_COMM_EINVAL (refused, or the secret is another one) or
 * RH_COMM_ENOMEM
 */
int32_t rh_comm_client_connect(const struct rh_comm_env *env, int64_t deadline, int *ret_fd, struct rh_comm_buffer *in,
                               struct rh_comm_error *err);

#endif
