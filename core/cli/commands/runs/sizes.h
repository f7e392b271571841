/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/runs/sizes.h
 * @brief Bytes for people, and the runs that `ps` and `top` look at.
 */
#ifndef RH_CLI_COMMANDS_RUNS_SIZES_H
#define RH_CLI_COMMANDS_RUNS_SIZES_H

#include <stdint.h>

#include "cli/cli.h"
#include "local/keep/kept.h"

/** Room for rh_size_format(). */
#define RH_SIZE_SIZE 32

/** Write bytes as "0", "512K", "1.5M" or "12G", in powers of 1024. @return @p buffer */
const char *rh_size_format(int64_t bytes, char buffer[RH_SIZE_SIZE]);
/**
 * Find the runs that go on: that of the operand, else all. @param[out] ret_list owned by the caller
 * @return 0; RH_ENOENT: that of the operand does not go on; RH_EINVAL, RH_EIO or RH_ENOMEM
 */
int rh_running_find(const struct rh_cli *cli, struct rh_kept_list *ret_list, struct rh_error *err);

#endif
