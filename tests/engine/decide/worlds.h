/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/**
 * @file engine/decide/worlds.h
 * @brief Worlds for tests of decide(), written as short texts. A failure in here fails the test that calls.
 *
 * A job is a list of words: "Master=OnFailure Worker=ExitCode*2 clean=Running backoff=3 deadline=60 ttl=5 suspend
 * scope=job timeout=30s stalls=evict after=60s limit=3 managedBy=x template=Always scheduler=x" (the last two before
 * the types); without a replica type it has "Master=OnFailure Worker=OnFailure*2". "kind=ToyJob" and "kind=OuterJob"
 * take kinds made for tests; of these "again=all@token!+Worker/1" is what their judge() restarts: a token and ! for
 * one that is free may be left out.
 *
 * A world is a list of statements, separated by ";" or line ends:
 *     conditions Created Running=False/Suspended      True, and the type as the reason, unless given
 *     started -100, completed -5                      seconds from now
 *     counts Worker 2/0/0                             replicaStatuses: active/succeeded/failed
 *     all Running                                     a pod in that phase, and a Service, for each replica
 *     pod worker-1 Failed code=137 at=-3 …            one pod; replaces one of "all"; see worlds.c for the words
 *     gone worker-1                                   removes a pod
 *     service worker-5 uid=x owner=y deleting         one Service
 *     object Kind name [rbac|batch] hash=… owner=y coming   another child; hash=same is that of the desired one
 *     wants [{…}]                                     world.objects, ' stands for "
 *     gang volcano                                    the gang scheduler; its PodGroup is "object PodGroup j [idle]"
 *     set -90 60                                      90 s before now the clock was set forward by 60 s
 *     refused Pod j-worker-1 until=5 single message=no what=create   a refusal (or read, update, delete, name)
 *     held -1, patience 2, unwritten Worker 1/0/0     since when a status is held back, how long it may be, its counts
 *     peers 1                                         how long the end by a cause waits for replicas that run
 *     stalled PyTorchJob j cannot …                   last message of the condition Stalled
 *     stalls TIME [rank=1 at=10.0.0.1 since=-90 seen=0 tried=-30 by=UID refusal=x] TEXT   the log of rank 0
 *                                                     is read then; a report
 *     ledger {…}                                      the ledger's annotation without its uid, ' stands for "
 */
/* clang-format on */
#ifndef RH_TEST_ENGINE_DECIDE_WORLDS_H
#define RH_TEST_ENGINE_DECIDE_WORLDS_H

/* cmocka.h needs the headers before it. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "engine/decide.h"

/** Now, in every world: 2026-01-01T00:00:00Z, microseconds. */
#define WORLDS_NOW (INT64_C(1767225600) * 1000000)
/** A running job of one Master and two Workers that needs no action. */
#define WORLDS_RUNNING "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 2/0/0; all Running"
/** Most refusals of one world. */
#define WORLDS_REFUSALS_MAX 8
/** UID of every job. */
#define WORLDS_JOB_UID "job-uid"

/** A world that can be changed. All owned. */
struct worlds {
	struct rh_config *config;
	struct rh_host *host;
	struct rh_job *job;
	struct rh_ledger ledger;
	struct rh_pod **pods;
	size_t pod_count;
	struct rh_child **children;
	size_t child_count;
	struct rh_json *objects;
	struct rh_gang gang;
	struct rh_refusal refusals[WORLDS_REFUSALS_MAX];
	size_t refusal_count;
	uint64_t stalled_hash;
	bool reads_stalls;
	int64_t stalls_due;
	char *stalls;
	char *stalls_address;
	char *stalls_reporter;
	char *stalls_refusal;
	struct rh_missing missing;
	int64_t held_since;
	struct rh_job_status held;
	int64_t patience;
	int64_t peer_patience;
	int64_t awaited;
	struct rh_clock_steps steps;
	int64_t now;
};

/** One row of a table: a world and its expected plan. */
struct worlds_row {
	const char *name;
	const char *job;
	const char *world;
	const char *plan; /**< what rh_plan_print() says */
};

/** Make a world. @return owned by the caller */
struct worlds *worlds_new(const char *job, const char *world);
/** Free it. NULL is allowed. */
void worlds_free(struct worlds *worlds);
/** Change it by statements. */
void worlds_change(struct worlds *worlds, const char *statements);
/** Replace the job by one of the given words; status and ledger stay. */
void worlds_edit(struct worlds *worlds, const char *job);
/** Make the world that decide() takes; borrowed from @p worlds until it changes. */
struct rh_world worlds_view(const struct worlds *worlds);
/** Decide. @p ret_plan is the caller's to free; a failure fails the test. */
void worlds_decide(const struct worlds *worlds, struct rh_plan *ret_plan);
/** @return what decide() plans, as text owned by the caller */
char *worlds_plan(const struct worlds *worlds);
/** Decide in the world of each row, and compare. */
void worlds_check(const struct worlds_row *rows, size_t count);
/** @return the pod "worker-1", or NULL */
struct rh_pod *worlds_pod(const struct worlds *worlds, const char *name);
/** Add a pending pod, as after its creation. @return it, borrowed */
struct rh_pod *worlds_add_pod(struct worlds *worlds, const char *type, int32_t index, const char *uid);
/** Add a Service of the job. */
void worlds_add_service(struct worlds *worlds, const char *type, int32_t index);
/** Remove the pod with @p uid. */
void worlds_remove_pod(struct worlds *worlds, const char *uid);
/** Remove the child with @p uid. */
void worlds_remove_child(struct worlds *worlds, const char *uid);

#endif
