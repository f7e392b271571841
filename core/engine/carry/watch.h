/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/watch.h
 * @brief Watch events: which job each concerns; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_WATCH_H
#define RH_ENGINE_CARRY_WATCH_H

#include "job/values/version.h"
#include "store/store.h"

struct rh_engine;
struct rh_engine_kind;

/** The resource of a watch. */
enum rh_engine_watched { RH_WATCHED_JOBS, RH_WATCHED_PODS, RH_WATCHED_SERVICES, RH_WATCHED_GROUPS };

/** One watch: the argument of its callback. */
struct rh_engine_watch {
	struct rh_engine_watch *next;
	struct rh_engine *engine;
	struct rh_engine_kind *kind; /**< of a watch of jobs, else NULL; of several versions the first that is served */
	struct rh_versions versions; /**< of a watch of jobs: kinds that its jobs may be of, also those not served here */
	enum rh_engine_watched what;
	uint64_t id; /**< of the store's watch */
	bool synced; /**< its initial list is complete */
};

/** Callback of all watches; @p arg is a struct rh_engine_watch. */
void rh_watch_on_event(void *arg, enum rh_watch_event event, const struct rh_json *object);
/** Forget everything that was observed. */
void rh_watch_forget_all(struct rh_engine *engine);

#endif
