/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/runner.h
 * @brief The kubelet of one machine: runs the pods of a store as processes and writes their status.
 *
 * A pod is started with the object that the watch of the store delivered; it is not read again. Each pod gets a shim
 * (local/shim.h). While it exists, the runner makes this process a child subreaper: orphans of a killed shim become
 * children of this process and are killed. So the process must have no other children.
 */
#ifndef RH_LOCAL_RUNNER_H
#define RH_LOCAL_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/os/loop.h"
#include "base/str.h"
#include "config/config.h"
#include "job/values/names.h"
#include "local/locks.h"
#include "local/shim.h"
#include "store/store.h"

/** Opaque runner. */
struct rh_runner;

/** Callbacks of a runner. Called on the loop's thread, from rh_runner_step(), rh_runner_start_queued() or the
 * store's pump; strings are borrowed during the call. Only the first four are required. */
struct rh_runner_hooks {
	/** @return the ConfigMap, Secret or PersistentVolumeClaim of that name, borrowed for the call that asks, or NULL */
	const struct rh_json *(*find)(void *arg, const char *kind, const char *namespace_, const char *name);
	/** @return the pod's address, borrowed for the call that asks, or NULL when it has none */
	const char *(*address)(void *arg, const struct rh_json *pod);
	/** @return the folder that relative paths of the pod's job are relative to; borrowed */
	const char *(*folder)(void *arg, const struct rh_json *pod);
	/** Write the name of the pod's replica: "worker-1". @return @p buffer */
	const char *(*replica)(void *arg, const struct rh_json *pod, char buffer[RH_NAME_SIZE]);
	/** Append lines of /etc/hosts for the pods of a namespace. */
	void (*hosts)(void *arg, const char *namespace_, struct rh_str *out);
	/** @return variables that the containers of the pod get unless it sets them, as "NAME=value", NULL-terminated,
	 * borrowed for the call that asks; NULL: none. May be NULL. */
	const char *const *(*variables)(void *arg, const struct rh_json *pod);
	/** One line of output, without its newline. */
	void (*line)(void *arg, const char *job, const char *replica, const char *container, const char *text,
	             size_t length);
	/** The start of a line that waits for its end, as in struct rh_run_hooks. May be NULL. */
	void (*partial)(void *arg, const char *job, const char *replica, const char *container, const char *text,
	                size_t length);
	/** A log has more bytes, from byte @p from on. May be NULL. */
	void (*grown)(void *arg, const char *job, const char *replica, const char *container, int64_t from);
	/** A note for the user; called once for each text. */
	void (*note)(void *arg, const char *text);
	/** A fault of this machine that makes the result incomplete: a log could not be written. */
	void (*fault)(void *arg, const char *text);
	/** The pod can never start here; it stays Pending, its containers waiting with @p reason. */
	void (*refused)(void *arg, const struct rh_json *pod, const char *reason, const char *message);
	/** A container failed while its pod was not being stopped. Not called for sidecars. @p uid is the pod's */
	void (*failed)(void *arg, const char *uid, const struct rh_shim_report *report);
	/** Memory was short and an event of the store was lost: call rh_runner_see() for every pod. */
	void (*lost)(void *arg);
	void *arg;
};

/** The container that gets a pseudo-terminal. Strings are borrowed. */
struct rh_runner_terminal {
	int fd;          /**< its master, which does not block */
	const char *job; /**< name in the folders of logs; NULL: no container gets one */
	const char *replica;
	const char *container;
};

/** Options of a runner. All borrowed for its life. */
struct rh_runner_options {
	struct rh_store *store;
	struct rh_loop *loop;
	const struct rh_config *config;
	struct rh_locks *locks; /**< for GPUs */
	const char *dir;        /**< absolute; parent of the pods' folders */
	const char *log_dir;    /**< absolute; logs are JOB/REPLICA/CONTAINER.log below it */
	const char *claims_dir; /**< absolute; folder of the claims of the files, NAMESPACE.CLAIM; NULL: they have none */
	bool qualify;           /**< JOB is NAMESPACE.JOB: jobs of one name are in several namespaces */
	struct rh_runner_terminal terminal;
	struct rh_runner_hooks hooks;
};

/** Create a runner that watches the pods of the store. @param[out] ret_runner owned by the caller. @return 0, RH_EIO or
 * RH_ENOMEM */
int rh_runner_new(const struct rh_runner_options *options, struct rh_runner **ret_runner, struct rh_error *err);
/** Kill all remaining processes, wait a few seconds at most for their end, and free the runner. NULL is ignored. */
void rh_runner_free(struct rh_runner *runner);
RH_DEFINE_CLEANUP(runner);
/**
 * Start pods that wait, a few in each call, as a step of the loop: after the store's events, and before who deletes
 * pods, so that a pod whose deletion was requested is not started. @param now wall-clock microseconds
 */
void rh_runner_start_queued(struct rh_runner *runner, int64_t now);
/** @return the latest time of the next rh_runner_start_queued(), monotonic microseconds; RH_NEVER */
int64_t rh_runner_start_deadline(const struct rh_runner *runner);
/** Do what else is due, as a step of the loop after the engine's. @param now wall-clock microseconds */
void rh_runner_step(struct rh_runner *runner, int64_t now);
/** @return the latest time of the next rh_runner_step(), monotonic microseconds, as the last one found it; RH_NEVER */
int64_t rh_runner_deadline(const struct rh_runner *runner);
/** Process the present state of a pod, as if a watch event had come for it. */
void rh_runner_see(struct rh_runner *runner, const struct rh_json *object);
/** Kill every process of the pods of a job now, without waiting for their end. @param job its name in the folders of
 * logs; NULL: of all jobs */
void rh_runner_kill(struct rh_runner *runner, const char *job);
/** @return number of pods that have processes, or whose last status is not written yet */
size_t rh_runner_alive(const struct rh_runner *runner);
/** A pod that has a shim. Strings are borrowed until the next step of the runner. */
struct rh_runner_shim {
	pid_t pid;           /**< of the shim */
	const char *job;     /**< its name in the folders of logs */
	const char *replica; /**< "worker-1" */
};
/** Write the pods whose shims run to @p shims, at most @p most. @return how many */
size_t rh_runner_shims(const struct rh_runner *runner, struct rh_runner_shim *shims, size_t most);
/** @return until when shims of @p job, as in rh_runner_kill(), may report ends of processes that have ended, or their
 * first start; monotonic microseconds; 0: all have. Pods that are being stopped do not count. */
int64_t rh_runner_awaited(const struct rh_runner *runner, const char *job);
/** @return whether a container runs; @p job as in struct rh_runner_terminal */
bool rh_runner_runs(const struct rh_runner *runner, const char *job, const char *replica, const char *container);
/** Build the path of a container's log below @p log_dir. @return owned by the caller; NULL: out of memory */
char *rh_runner_log_path(const char *log_dir, const char *job, const char *replica, const char *container)
	__attribute__((warn_unused_result));

#endif
