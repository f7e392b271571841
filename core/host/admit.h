/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/admit.h
 * @brief A loaded plugin is checked, started and described: the checks that need the other plugins. Private to the
 * host.
 */
#ifndef RH_HOST_ADMIT_H
#define RH_HOST_ADMIT_H

#include "base/error.h"
#include "host/containment/guard.h"
#include "host/registry.h"

/** Before a call of the slot's plugin: limit it by @p guard, until rh_guard_leave(). @param operation static storage */
void rh_slot_enter(const struct rh_config *config, const struct rh_slot *slot, const char *operation,
                   struct rh_guard *guard);
/** Call fini() of a plugin that runs in this process. */
void rh_slot_finish(const struct rh_config *config, const struct rh_slot *slot);
/** Check that @p name may be loaded; else the slot is disabled. @return 0, or RH_EPLUGIN with how to allow it */
int rh_slot_check_allowed(const struct rh_host *host, struct rh_slot *slot, const char *name, struct rh_error *err);
/**
 * Check the table of the slot's plugin, start it unless its own process has, and take its kinds.
 * @return 0, or RH_EPLUGIN with the slot's state set, or RH_ENOMEM
 */
int rh_host_admit(struct rh_host *host, struct rh_slot *slot, const struct rh_plugin *plugin, struct rh_error *err);

#endif
