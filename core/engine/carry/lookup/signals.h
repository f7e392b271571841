/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/lookup/signals.h
 * @brief Watches of resources that jobs name; for core/engine/carry.
 *
 * A watch keeps nothing but the objects that jobs name (shared.h). ConfigMaps and Secrets are not watched, a cluster
 * has too many of them.
 */
#ifndef RH_ENGINE_CARRY_LOOKUP_SIGNALS_H
#define RH_ENGINE_CARRY_LOOKUP_SIGNALS_H

#include <stdbool.h>

#include "job/lookups/lookups.h"

struct rh_engine;
struct rh_lookup_watch;

/** Start the missing watches of the resources that a job names. When memory is out, they stay missing. */
void rh_signals_start(struct rh_engine *engine, const struct rh_lookups *lookups);
/** @return whether a change of the object of @p lookup is signalled: its resource is watched, and its list complete */
bool rh_signals_has(const struct rh_engine *engine, const struct rh_lookup *lookup);
/** End all watches. */
void rh_signals_end(struct rh_engine *engine);

#endif
