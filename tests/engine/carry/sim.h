/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/sim.h
 * @brief An engine on a memory store under a clock that a test sets. A failure in here fails the test that calls.
 */
#ifndef RH_TEST_ENGINE_CARRY_SIM_H
#define RH_TEST_ENGINE_CARRY_SIM_H

/* cmocka.h needs the headers before it. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdbool.h>

#include "base/str.h"
#include "engine/engine.h"
#include "store/memory.h"

/** When every simulation starts: 2026-01-01T00:00:00Z, microseconds. */
#define SIM_START (INT64_C(1767225600) * 1000000)

/** Watches of an engine, at most. */
#define SIM_WATCHES_MAX 16

/** A watch of the engine. */
struct sim_watch {
	uint64_t id; /**< of the memory store's; 0: no watch is here */
	const struct rh_resource *resource;
	rh_watch_fn *fn;
	void *arg;
};

/** The memory store as an engine sees it: it knows the engine's watches. */
struct sim_store {
	struct rh_store face; /* first */
	struct rh_store *inner;
	struct sim_watch watches[SIM_WATCHES_MAX];
};

/** A simulation. */
struct sim {
	struct rh_config *config;
	struct rh_host *host;
	struct rh_memory_store *store;
	struct sim_store watched; /**< that store, for engines: sim_store() */
	struct rh_engine *engine;
	struct rh_engine_options options; /**< for the next sim_start() */
	struct rh_resource jobs;          /**< PyTorchJobs */
	int64_t now;
	/** Called in each round of a run; NULL: nothing is. @return whether something is to come though nothing is due */
	bool (*turn)(struct sim *sim);
};

/** sim_open() without plugins. */
void sim_open_empty(struct sim *sim, bool graceful);
/** Load the plugins and make an empty store; no engine yet. @param graceful as rh_memory_store_new() */
void sim_open(struct sim *sim, bool graceful);
/** Free everything. */
void sim_close(struct sim *sim);
/** A local simulation that is closed when it goes out of scope. */
#define auto_sim __attribute__((cleanup(sim_close))) struct sim

/** Start an engine. */
void sim_start(struct sim *sim);
/** Kill the engine and its requests in flight. Without an engine nothing happens. */
void sim_kill(struct sim *sim);
/** @return the store that sim_start() gives to an engine, borrowed: its watches get what sim_deliver() delivers */
struct rh_store *sim_store(struct sim *sim);
/** @return how many watches engines have of sim_store() */
size_t sim_watches(const struct sim *sim);
/** Deliver an event to the engine's watch of @p kind ("Pod"), as after a gap, or late. @param object NULL: of none */
void sim_deliver(const struct sim *sim, const char *kind, enum rh_watch_event event, const struct rh_json *object);
/** Run until nothing happens without a second of time passing. */
void sim_settle(struct sim *sim);
/** Let time pass, settling at each timer. */
void sim_wait(struct sim *sim, int64_t seconds);

/**
 * Apply a request of a user or a kubelet at once; its watch events stay pending. @return its outcome
 */
enum rh_outcome_code sim_user(struct sim *sim, struct rh_request request);
/** Create a PyTorchJob. @p job is taken. */
void sim_create(struct sim *sim, struct rh_json *job);
/** Patch job @p name with test JSON, in which ' stands for ". */
void sim_patch(struct sim *sim, const char *name, const char *patch);
/** Delete job @p name. */
void sim_delete(struct sim *sim, const char *name);
/** Set a pod's status as a kubelet does: @p phase with @p code (when it ended) and @p restarts. */
void sim_set_pod(struct sim *sim, const char *name, const char *phase, int code, int restarts);
/** Delete a pod; @p grace -1 is its own, 0 at once. */
void sim_delete_pod(struct sim *sim, const char *name, int64_t grace);

/** @return the tree of JSON text in which ' stands for "; owned by the caller */
struct rh_json *sim_json(const char *text);
/** @return the job as it is, borrowed until the next change; NULL when it is gone */
const struct rh_json *sim_job(const struct sim *sim, const char *name);
/** @return the pod as it is, borrowed until the next change; NULL when it is gone */
const struct rh_json *sim_pod(const struct sim *sim, const char *name);
/**
 * @return the true conditions of a job, and its pods: "Created Running | master-0 Running, worker-0 Pending"; owned by
 * the caller
 */
char *sim_show(const struct sim *sim, const char *name);
/** Compare sim_show() with @p expected. */
void sim_assert(const struct sim *sim, const char *name, const char *expected);
/**
 * @return the Events of all jobs, one a line, sorted: "Normal SuccessfulCreatePod Created pod: x"; owned by the caller
 */
char *sim_events(const struct sim *sim);
/** Make sure that there is an Event whose line starts with @p line. @return its count */
int sim_assert_event(const struct sim *sim, const char *line);
/** Make sure that there is no such Event. */
void sim_assert_no_event(const struct sim *sim, const char *line);

/**
 * @return a PyTorchJob: replicas "Master=OnFailure Worker=ExitCode*2", run policy and annotations as test JSON; owned
 * by the caller
 */
struct rh_json *sim_new_job(const char *name, const char *replicas, const char *policy, const char *annotations);

/** MPIJobs, ConfigMaps and autoscalers. */
extern const struct rh_resource sim_mpi_jobs;
/** @see sim_mpi_jobs */
extern const struct rh_resource sim_config_maps;
/** @see sim_mpi_jobs */
extern const struct rh_resource sim_autoscalers;
/** @return the PyTorchJob "j" of one to three workers, which has an autoscaler; owned by the caller */
struct rh_json *sim_elastic_job(void);
/** @return its autoscaler as it is, borrowed until the next change; NULL when there is none */
const struct rh_json *sim_autoscaler(const struct sim *sim);
/** @return the most replicas that its autoscaler allows; -1 without one */
int64_t sim_max_replicas(const struct sim *sim);
/** Load MPI's plugin, start an engine, and create the MPIJob "m" of a launcher and two workers. */
void sim_start_mpi(struct sim *sim);
/** Compare discover_hosts.sh of the MPIJob "m" with @p expected. */
void sim_assert_hosts(const struct sim *sim, const char *expected);
/** Set the phase of a pod as a kubelet does, and settle. */
void sim_play_pod(struct sim *sim, const char *name, const char *phase);

#endif
