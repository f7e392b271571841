/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/isolation/limits.h
 * @brief Limits of memory and processors by cgroups, where this process may create them, and the kernel's counts of
 * out-of-memory kills and of waits for a processor.
 *
 * Version 2: a cgroup is created below the nearest parent of this process's cgroup that is writable and enables both
 * controllers for its children. Version 1: one cgroup for each controller is created below this process's cgroup or its
 * nearest writable parent. Existing cgroups are not changed.
 */
#ifndef RH_LOCAL_SHIM_ISOLATION_LIMITS_H
#define RH_LOCAL_SHIM_ISOLATION_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

/** Prefix of names of cgroups; the ID of the creating process, "-" and the container's name follow. */
#define RH_SHIM_LIMITS_PREFIX "roundhouse-"

/** A cgroup of this process. */
struct rh_shim_limits;

/** Options of a cgroup. Strings are borrowed for the call. */
struct rh_shim_limits_options {
	const char *root; /**< "" for this machine; in tests a folder in place of / */
	const char *name; /**< the cgroup's own name */
	int64_t memory;   /**< bytes; 0: no limit */
	int64_t cpu;      /**< thousandths of a processor; 0: no limit */
};

/**
 * Find the parent folder for new cgroups. @param controller of version 1; NULL: both, in version 2
 * @return owned by the caller; NULL: none, or out of memory
 */
char *rh_shim_limits_parent(const char *root, const char *controller);
/**
 * Check whether cgroups with both controllers can be created. @param root as in struct rh_shim_limits_options. @return
 * 0, RH_ENOENT (the message has the reason: a missing controller, or a folder that is not writable) or RH_ENOMEM
 */
int rh_shim_limits_check(const char *root, struct rh_error *err);
/** Create a cgroup, and remove those of ended processes. @param[out] ret_limits owned by the caller. @return 0, RH_EIO,
 * RH_ENOENT (no parent folder) or RH_ENOMEM */
int rh_shim_limits_new(const struct rh_shim_limits_options *options, struct rh_shim_limits **ret_limits,
                       struct rh_error *err);
/** Remove the cgroup, which must be empty, and free @p limits. NULL is ignored. */
void rh_shim_limits_free(struct rh_shim_limits *limits);
RH_DEFINE_CLEANUP(shim_limits);
/** Put the calling process into the cgroup. Safe between fork() and exec(). @return 0 or -1 with errno */
int rh_shim_limits_enter(const struct rh_shim_limits *limits);
/** @return number of out-of-memory kills of the cgroup; 0 for NULL */
int64_t rh_shim_limits_kills(const struct rh_shim_limits *limits);
/**
 * Get the number of out-of-memory kills of the whole machine since its start. @param root
 * as above @param[out] ret_kills set when the count is known
 * @return whether the kernel has this count
 */
bool rh_shim_limits_machine_kills(const char *root, int64_t *ret_kills);
/** @param root as above. @return a descriptor for rh_shim_limits_waited(), close-on-exec, owned by the caller; -1: the
 * kernel does not count waits */
int rh_shim_limits_open_waits(const char *root);
/** @param fd of rh_shim_limits_open_waits(), or -1. @return how long this process has been ready to run and waited for
 * a processor so far, microseconds; 0: unknown */
int64_t rh_shim_limits_waited(int fd);

#endif
