/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/containment/probe.h
 * @brief Plugins, tried in a process of their own before they are loaded into this one.
 */
#ifndef RH_HOST_CONTAINMENT_PROBE_H
#define RH_HOST_CONTAINMENT_PROBE_H

#include <stddef.h>

#include "base/error.h"
#include "config/config.h"

/** Most memory that the process which tries plugins may map, in bytes. */
#define RH_PROBE_MEMORY_MAX (UINT64_C(2) << 30)

/**
 * Loads @p count files as a host does and unloads them. Called in a child; what it returns, that a file does not fit or
 * that its init() fails, is ignored there: only that it returns counts.
 */
typedef void rh_probe_fn(const struct rh_config *config, char *const *paths, size_t count);

/** Plugin files that are to be tried. All is borrowed. */
struct rh_probe_files {
	const struct rh_config *config; /**< [plugins] time-limit */
	rh_probe_fn *load;
	char *const *paths;
	size_t count;
};

/**
 * Try plugin files: load and unload them in a child of this process, with limits of time, memory and processor, without
 * standard output and without a core dump; first in one for all, and only when that one does not come to its end, in
 * one for each. Blocks; must be called from the process's one thread.
 * @param[out] ret_reasons for each file: code 0, or RH_EPLUGIN with what it did and in which operation
 * @return 0, RH_ENOMEM or RH_EIO (no child can be made)
 */
int rh_probe(const struct rh_probe_files *files, struct rh_error *ret_reasons, struct rh_error *err);

#endif
