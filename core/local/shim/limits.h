/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/limits.h
 * @brief Limits of memory and processors by cgroups, where this process may make them, and what the kernel says of
 * memory that ran out.
 *
 * Version 2: a cgroup is made beside the one that we are in, below the nearest folder above us that is ours to write
 * and passes both controllers on. Where the controllers are version 1's, a cgroup is made for each of them, below our
 * own one or the nearest above it that is ours to write. Nothing that exists is changed.
 */
#ifndef RH_LOCAL_SHIM_LIMITS_H
#define RH_LOCAL_SHIM_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

/** How names of cgroups start; the number of the process that made it, "-" and the container's name follow. */
#define RH_SHIM_LIMITS_PREFIX "roundhouse-"

/** A cgroup of ours. */
struct rh_shim_limits;

/** What to make. Texts are borrowed for the call. */
struct rh_shim_limits_options {
	const char *root; /**< "" for this machine; the folder that stands for / in tests */
	const char *name; /**< the cgroup's own name */
	int64_t memory;   /**< bytes; 0: no limit */
	int64_t cpu;      /**< thousandths of a processor; 0: no limit */
};

/**
 * Find the folder below which cgroups can be made. @param controller of version 1; NULL: both, in version 2
 * @return owned by the caller; NULL when there is none (or memory is out)
 */
char *rh_shim_limits_parent(const char *root, const char *controller);
/**
 * See whether cgroups with both controllers can be made. @param root as in struct rh_shim_limits_options. @return 0,
 * RH_ENOENT (the message says what is in the way: a controller that is nowhere, or a folder that this user may not
 * write) or RH_ENOMEM
 */
int rh_shim_limits_check(const char *root, struct rh_error *err);
/** Make a cgroup, and remove those of processes that are gone. @return 0, RH_EIO, RH_ENOENT (there is no such folder)
 * or RH_ENOMEM */
int rh_shim_limits_new(const struct rh_shim_limits_options *options, struct rh_shim_limits **ret_limits,
                       struct rh_error *err);
/** Remove the cgroup, which must be empty, and free it. NULL is nothing. */
void rh_shim_limits_free(struct rh_shim_limits *limits);
RH_DEFINE_CLEANUP(shim_limits);
/** Put the calling process into the cgroup. Safe between fork() and exec(). @return 0 or -1 with errno */
int rh_shim_limits_enter(const struct rh_shim_limits *limits);
/** @return how many processes of the cgroup the kernel killed because memory ran out; 0 for NULL */
int64_t rh_shim_limits_kills(const struct rh_shim_limits *limits);
/**
 * Count the processes that the kernel killed on the whole machine because memory ran out, since it started. @param root
 * as above @param[out] ret_kills set when the count is known
 * @return whether the kernel gives the count
 */
bool rh_shim_limits_machine_kills(const char *root, int64_t *ret_kills);

#endif
