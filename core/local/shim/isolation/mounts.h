/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/isolation/mounts.h
 * @brief Private mount namespaces for a pod's volumes, without root where the kernel allows it.
 *
 * A shim enters one namespace for the file systems that its containers share; each container gets its own copy.
 */
#ifndef RH_LOCAL_SHIM_ISOLATION_MOUNTS_H
#define RH_LOCAL_SHIM_ISOLATION_MOUNTS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "local/shim/plan.h"

/**
 * Move this process into a new mount namespace, and into a new user namespace if needed; later mounts are invisible
 * outside. The process must have no other thread.
 * @return 0 or RH_EIO
 */
int rh_shim_mounts_enter(struct rh_error *err);
/** Mount the tmpfs volumes that all containers of a pod share. @return 0 or RH_EIO */
int rh_shim_mounts_tmpfs(const struct rh_shim_tmpfs *tmpfs, size_t count, struct rh_error *err);
/**
 * Create the mounts of a container in a copy of the parent's namespace. Called in the child, after
 * rh_shim_mounts_enter() in its parent.
 * @return 0, RH_EIO or RH_ENOMEM
 */
int rh_shim_mounts_apply(const struct rh_shim_mount *mounts, size_t count, struct rh_error *err);
/**
 * Enter the mount namespace of @p pid, a process of the same container. Called in the child. @return 0
 * or RH_EIO
 */
int rh_shim_mounts_join(pid_t pid, struct rh_error *err);

#endif
