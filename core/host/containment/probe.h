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
 * Try plugin files: load them as the host would, with init() and describe(), make the definitions of their kinds, call
 * fini() and unload them. It is done in a child of this process, with limits of time ([plugins] time-limit), memory and
 * processor, without standard output and without a core dump; first in one for all, and only when that one does not
 * come to its end, in one for each. That a plugin says why it does not fit, or that its init() fails, is an end.
 * Blocks; must be called from the process's one thread.
 * @param[out] ret_reasons for each file: code 0, or RH_EPLUGIN with what it did and in which operation
 * @return 0, RH_ENOMEM or RH_EIO (no child can be made)
 */
int rh_probe(const struct rh_config *config, char *const *paths, size_t count, struct rh_error *ret_reasons,
             struct rh_error *err);

#endif
