/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/mounts.h
 * @brief Private mount namespaces: what a pod's volumes need, without root where the kernel allows it.
 *
 * A shim enters a namespace once, for file systems that its containers share; each container then gets a copy of its
 * own.
 */
#ifndef RH_LOCAL_SHIM_MOUNTS_H
#define RH_LOCAL_SHIM_MOUNTS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "local/shim/plan.h"

/**
 * Move this process into a mount namespace of its own, in a user namespace of its own too where that is needed; nothing
 * that is mounted from then on is seen outside. It must have no other thread.
 * @return 0 or RH_EIO
 */
int rh_shim_mounts_enter(struct rh_error *err);
/** Mount the file systems in memory that all containers of a pod share. @return 0 or RH_EIO */
int rh_shim_mounts_tmpfs(const struct rh_shim_tmpfs *tmpfs, size_t count, struct rh_error *err);
/**
 * For the child that becomes a container, after rh_shim_mounts_enter() in its parent: leave the parent's namespace for
 * a copy and mount there.
 * @return 0, RH_EIO or RH_ENOMEM
 */
int rh_shim_mounts_apply(const struct rh_shim_mount *mounts, size_t count, struct rh_error *err);
/**
 * For a child that becomes another process of a container: enter the mounts of @p pid, one that runs in it. @return 0
 * or RH_EIO
 */
int rh_shim_mounts_join(pid_t pid, struct rh_error *err);

#endif
