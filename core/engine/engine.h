/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/engine.h
 * @brief The engine that reconciles jobs: watches, caches, a work queue, and the execution of plans.
 *
 * The engine owns no loop, clock or thread: the owner calls rh_engine_step() after store callbacks and when
 * rh_engine_deadline() comes. One thread.
 */
#ifndef RH_ENGINE_ENGINE_H
#define RH_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os/clock_steps.h"
#include "engine/gate.h"
#include "engine/plan.h"
#include "host/host.h"
#include "job/addresses.h"
#include "store/store.h"

/** Opaque engine. */
struct rh_engine;

/** A change of a job, as read from the store. All borrowed until the callback returns. */
struct rh_engine_change {
	const struct rh_kind *kind;
	bool first;                            /**< the job is new, or existed when the engine started */
	const struct rh_job *before;           /**< NULL: not known, for example of a finished job */
	const struct rh_ledger *ledger_before; /**< never NULL */
	const struct rh_job *after;            /**< NULL: the job is invalid */
	const struct rh_ledger *ledger_after;  /**< never NULL */
	uint32_t *flags;                       /**< for the owner's use: kept as long as the job is known, 0 at first */
};

/** Options of an engine. All borrowed while the engine exists. */
struct rh_engine_options {
	const struct rh_host *host;
	struct rh_store *store;
	/**
	 * Local mode: make the address plan of one attempt of a job. NULL: a cluster. @p ret_addresses is empty at the
	 * call.
	 * @return 0 or a negative status; the job is then tried again with back-off
	 */
	int (*addresses)(void *arg, const struct rh_job *job, int32_t attempt, struct rh_addresses *ret_addresses,
	                 struct rh_error *err);
	/** Observed steps of the wall clock; read at each decision. NULL: none. */
	const struct rh_clock_steps *steps;
	/**
	 * Jobs go on while a plugin in a process of its own has not answered about another one. The owner calls
	 * rh_host_attach(). Else a decision waits for each answer.
	 */
	bool concurrent;
	const struct rh_gang *gang; /**< the gang scheduler; NULL: none. Its PodGroups are watched */
	/** Called with every plan that is carried out, for logs and tests; may be NULL. */
	void (*observe)(void *arg, const struct rh_job *job, const struct rh_plan *plan);
	/** @return whether to serve @p kind; NULL: every kind of the host */
	bool (*serves)(void *arg, const struct rh_kind *kind);
	/** Called with every new version of a job, for metrics; may be NULL. */
	void (*changed)(void *arg, const struct rh_engine_change *change);
	/** Asked before each decision whether the job may run; NULL: each may. @p ret_gate is all zero at the call. */
	void (*gate)(void *arg, const struct rh_job *job, struct rh_gate *ret_gate);
	/**
	 * Called after each decision about a job that has no pod left, while it is suspended, or no pod that runs, when it
	 * has finished; may be NULL.
	 */
	void (*still)(void *arg, const struct rh_job *job);
	/**
	 * Called before each decision with the microseconds that the job was due, and after it with -1, for metrics; may be
	 * NULL.
	 */
	void (*pass)(void *arg, const struct rh_kind *kind, int64_t waited);
	void *arg;
	size_t window; /**< most creates and deletes of one job in flight; 0: 64 */
	/**
	 * Most creates of all jobs in flight: each keeps its body until it is sent; 0: 256. A namespace with few of them
	 * may begin some beyond that, up to a quarter more.
	 */
	size_t creates;
	size_t events; /**< most Events in flight, likewise; 0: 64 */
	/** How long a status write that only changes counts is delayed, so that it covers more; microseconds; 0: not. */
	int64_t patience;
	/**
	 * How long a failure that needs no peer to explain it waits for replicas that run before it ends the job: they may
	 * be about to fail alike; microseconds; 0: not.
	 */
	int64_t peer_patience;
	/**
	 * Local mode: ends of replicas that are known, and not yet in the status of their pods. A failure is not judged
	 * before they are, since one of them may have come first. NULL: none are known. Called before each decision.
	 * @return until when the judgement of a failure of @p job has to wait for them; wall-clock microseconds; 0: for
	 * none
	 */
	int64_t (*awaited)(void *arg, const struct rh_job *job);
	/**
	 * Before a failure is judged, read what its failed containers wrote where their pods do not show it: RH_VERB_LOG of
	 * the store, which a cluster has. Where the right is missing it is asked for again after some minutes.
	 */
	bool reads_logs;
	int64_t backoff_first; /**< per-key retry back-off, microseconds; 0: 5 ms */
	int64_t backoff_max;   /**< 0: 1000 s */
};

/**
 * @return 0, RH_ENOMEM, or what the store's watch returned. Starts the watches; after a failure some may be: as after
 * rh_engine_free().
 */
int rh_engine_new(const struct rh_engine_options *options, struct rh_engine **ret_engine, struct rh_error *err);
/**
 * Free it; its requests are cancelled and its watches end. Pending watch events must not be delivered afterwards: the
 * owner frees or disconnects the store next. NULL is allowed.
 */
void rh_engine_free(struct rh_engine *engine);
RH_DEFINE_CLEANUP(engine);
/**
 * Decide and act for every job that is due. @param now wall-clock microseconds. Never blocks, never fails as a whole:
 * what fails is retried.
 */
void rh_engine_step(struct rh_engine *engine, int64_t now);
/** @return when rh_engine_step() is due without any callback, wall-clock microseconds; RH_NEVER: not at all */
int64_t rh_engine_deadline(const struct rh_engine *engine);
/** The load of an engine, for metrics. */
struct rh_engine_load {
	size_t jobs;     /**< jobs in the cache, finished ones included */
	size_t slowed;   /**< of these, those in which rank 0 of rh_comm has named one that comes last */
	size_t due;      /**< of these, those that are due now */
	size_t requests; /**< in flight or in the store's queue */
	size_t unsynced; /**< watches whose initial list is incomplete */
};
/** Get the load; takes time proportional to the number of jobs. */
void rh_engine_load(const struct rh_engine *engine, struct rh_engine_load *ret_load);
/** The engine has been idle for a while: free all that the next decision can rebuild. */
void rh_engine_rest(struct rh_engine *engine);
/** Decide about a job of @p kind again, because the answer of rh_engine_options.gate may be another one. */
void rh_engine_touch(struct rh_engine *engine, const struct rh_kind *kind, const char *namespace_, const char *name);
/** @return whether the job of that name has this UID. To be believed once rh_engine_is_synced(). */
bool rh_engine_has_job(const struct rh_engine *engine, const struct rh_kind *kind, const char *namespace_,
                       const char *name, const char *uid);
/** @return whether a pod of the job with this UID is there, or its create is in flight, also after the job is gone */
bool rh_engine_has_pods(const struct rh_engine *engine, const struct rh_kind *kind, const char *namespace_,
                        const char *name, const char *uid);
/** @return whether all initial lists are complete */
bool rh_engine_is_synced(const struct rh_engine *engine);
/** @return whether requests are in flight or jobs are due */
bool rh_engine_busy(const struct rh_engine *engine);

#endif
