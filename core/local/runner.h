/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/runner.h
 * @brief The kubelet of one machine: pods of a store become processes, and what becomes of those becomes the pods'
 * status.
 *
 * Each pod gets a shim (local/shim.h). The runner makes the caller's process a child subreaper while it lives: what a
 * killed shim leaves is found as a child of this process and killed. So the process must have no other children.
 */
#ifndef RH_LOCAL_RUNNER_H
#define RH_LOCAL_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/os/loop.h"
#include "base/str.h"
#include "config/config.h"
#include "local/locks.h"
#include "local/shim.h"
#include "store/store.h"

/** Opaque runner. */
struct rh_runner;

/** What a runner asks and tells. Called on the loop's thread, from rh_runner_turn() or the store's pump; texts are
 * borrowed during the call. Only the first three must be there. */
struct rh_runner_hooks {
	/** @return the ConfigMap or Secret of that name, borrowed for the call that asks, or NULL */
	const struct rh_json *(*find)(void *arg, const char *kind, const char *namespace_, const char *name);
	/** @return the pod's address, borrowed for the call that asks, or NULL when it has none */
	const char *(*address)(void *arg, const struct rh_json *pod);
	/** @return the folder that relative paths of the pod's job are relative to; borrowed */
	const char *(*folder)(void *arg, const struct rh_json *pod);
	/** Append lines of /etc/hosts for the pods of a namespace. */
	void (*hosts)(void *arg, const char *namespace_, struct rh_str *out);
	/** One line of output, without its newline. */
	void (*line)(void *arg, const char *job, const char *replica, const char *container, const char *text,
	             size_t length);
	/** Something that the user should know; told once for each text. */
	void (*note)(void *arg, const char *text);
	/** A fault of this machine that makes the run's result incomplete: a log could not be written. */
	void (*fault)(void *arg, const char *text);
	/** The pod cannot be started here, now or ever; it stays Pending, its containers waiting for @p reason. */
	void (*refused)(void *arg, const struct rh_json *pod, const char *reason, const char *message);
	/** A container ended badly, and nobody had asked its pod to end. Not told of sidecars. @p uid is the pod's */
	void (*failed)(void *arg, const char *uid, const struct rh_shim_report *report);
	/** Memory was short and what the store told is lost: every pod is to be shown again with rh_runner_see(). */
	void (*lost)(void *arg);
	void *arg;
};

/** What the owner of a runner gives it. All borrowed for its life. */
struct rh_runner_options {
	struct rh_store *store;
	struct rh_loop *loop;
	const struct rh_config *config;
	struct rh_locks *locks; /**< GPUs are held in it */
	const char *dir;        /**< absolute; pods' folders are made below it */
	const char *log_dir;    /**< absolute; logs are JOB/REPLICA/CONTAINER.log below it */
	bool qualify;           /**< JOB is NAMESPACE.JOB: jobs of one name are in several namespaces */
	struct rh_runner_hooks hooks;
};

/** Watch the pods of the store. @return 0, RH_EIO or RH_ENOMEM */
int rh_runner_new(const struct rh_runner_options *options, struct rh_runner **ret_runner, struct rh_error *err);
/** Kill what still lives, wait for its end (bounded: a few seconds), and free the runner. NULL is nothing. */
void rh_runner_free(struct rh_runner *runner);
RH_DEFINE_CLEANUP(runner);
/**
 * Do what is due: start pods, follow logs, write status, end what is to end. To be called after store and descriptors
 * had their say.
 * @param now wall-clock microseconds
 * @return microseconds until it is to be called again though nothing happens; 0: at once; RH_NEVER
 */
int64_t rh_runner_turn(struct rh_runner *runner, int64_t now);
/** Look at a pod of the store, as if it had been told of a change of it. */
void rh_runner_see(struct rh_runner *runner, const struct rh_json *object);
/** Kill every process of every pod now. Does not wait for their end. */
void rh_runner_kill(struct rh_runner *runner);
/** @return number of pods whose processes live, or whose last status is not written yet */
size_t rh_runner_alive(const struct rh_runner *runner);
/** Write the path of a container's log below @p log_dir. @return owned by the caller; NULL: out of memory */
char *rh_runner_log_path(const char *log_dir, const char *job, const char *replica, const char *container)
	__attribute__((warn_unused_result));
/** Write what a pod's replica is called: its name without that of its job, "worker-1". @return borrowed from @p pod;
 * never NULL */
const char *rh_runner_replica(const struct rh_json *pod);

#endif
