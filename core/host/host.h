/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/host.h
 * @brief Plugins: found, checked, loaded, and asked.
 *
 * A plugin that is refused or fails never takes another one down: its state and the reason are kept and shown. Plugins
 * are never unloaded before rh_host_free() (a shared object that is gone leaves dangling pointers in everything it ever
 * returned). One thread uses a host.
 */
#ifndef RH_HOST_HOST_H
#define RH_HOST_HOST_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "config/config.h"
#include "config/gang.h"
#include "job/addresses.h"
#include "job/job.h"
#include "job/lookups.h"
#include "job/manifest.h"
#include "job/pod.h"
#include "job/rules/findings.h"
#include "job/version.h"
#include "roundhouse/plugin.h"

/** Opaque host. */
struct rh_host;

/** How far a plugin came. */
enum rh_plugin_state {
	RH_PLUGIN_REFUSED,  /**< not loaded or not fit: no entry symbol, other version, short struct, other vendor, bad
	                       description */
	RH_PLUGIN_DISABLED, /**< not on the allow-list: its file was not opened */
	RH_PLUGIN_BROKEN,   /**< it crashed, hung or ended the process when it was tried in one of its own */
	RH_PLUGIN_FAILED,   /**< fit, but init() failed */
	RH_PLUGIN_READY     /**< its kinds are available */
};

/** One plugin file, for `plugins list`. Borrowed from the host. */
struct rh_plugin_info {
	const char *path;
	const char *name;    /**< the plugin's own name; the file's where it could not be asked */
	const char *release; /**< "" when unknown */
	enum rh_plugin_state state;
	const char *reason;                 /**< why it is not ready, naming both sides; "" when it is */
	const struct rh_kind *const *kinds; /**< NULL-terminated; empty when not ready */
	const char *settings;               /**< rh_plugin.settings; NULL: it does not describe them, or is not ready */
};

/** @param config borrowed for the life of the host. @return 0 or RH_ENOMEM */
int rh_host_new(const struct rh_config *config, struct rh_host **ret_host, struct rh_error *err);
/** Call every fini() and free the host. NULL is nothing. */
void rh_host_free(struct rh_host *host);
RH_DEFINE_CLEANUP(host);
/**
 * Load every *.so of the configured folders, by name within a folder: each into a process of its own
 * (host/worker/worker.h), or, where [plugins] isolation allows it, into this one after it was tried in another
 * (host/containment/probe.h). A missing folder is skipped. Two plugins with one name, or for one kind: the first stays,
 * the second is refused by naming both files. Must be called while the process has one thread.
 * @return 0, RH_ENOMEM or RH_EIO; a refused plugin is no error here
 */
int rh_host_load_all(struct rh_host *host, struct rh_error *err);
/**
 * For the host of a controller, which asks again: that a plugin fails in a process of its own is RH_EAGAIN, the third
 * time at one job RH_EIO, and the process is started again with back-off. Else each failure is RH_EPLUGIN, and the
 * process is started again at once.
 */
void rh_host_set_retry(struct rh_host *host, bool retry);
/**
 * For the host of a command that serves a cluster, or prints what one needs, before plugins are loaded: a plugin with a
 * kind that has RH_KIND_OPT_IN is disabled unless the allow-list names it.
 */
void rh_host_set_cluster(struct rh_host *host);
/** rh_host_load_all() of one file. @return 0 when it is ready, RH_EPLUGIN with the reason when not, RH_ENOMEM, RH_EIO
 */
int rh_host_try_file(struct rh_host *host, const char *path, struct rh_error *err);
/**
 * Load one file at once, without trying it. @return 0 when it is ready, RH_EPLUGIN with the reason when not, RH_ENOMEM
 */
int rh_host_load_file(struct rh_host *host, const char *path, struct rh_error *err);
/** Register a plugin that is linked in, for tests. @p path names it in messages. @return as rh_host_load_file() */
int rh_host_add(struct rh_host *host, const char *path, const struct rh_plugin *plugin, struct rh_error *err);
/** @return number of plugin files seen, whatever their state */
size_t rh_host_plugin_count(const struct rh_host *host);
/** Look at plugin file @p index. */
void rh_host_plugin(const struct rh_host *host, size_t index, struct rh_plugin_info *ret_info);

/**
 * Find the kind of an object. @return borrowed, or NULL: then @p err says what is known ("no plugin serves kind
 * "PyTorchjob" of kubeflow.org/v1; did you mean PyTorchJob?", or that the plugin that serves it was refused, and why)
 */
const struct rh_kind *rh_host_kind(const struct rh_host *host, const char *api_version, const char *kind,
                                   struct rh_error *err);
/** Collect the versions of the resource of @p kind, itself among them, of all plugins that are ready. */
void rh_host_versions(const struct rh_host *host, const struct rh_kind *kind, struct rh_versions *ret_versions);
/**
 * Find the kind that a user calls @p name: its kind, plural or singular name in any case, alone or with the group, or
 * version and group, as kubectl takes them: mpijob, mpijobs.kubeflow.org, mpijob.v2beta1.kubeflow.org. Without a
 * version it is the storage version.
 * @param[out] ret_rest what follows the name: "" or the path of a field; may be NULL where nothing may follow
 * @return borrowed, or NULL
 */
const struct rh_kind *rh_host_find_called(const struct rh_host *host, const char *name, const char **ret_rest);
/**
 * List the definitions of plugins that are no kinds of jobs (rh_plugin.resources), each checked when it was loaded.
 * @return number @p place (0 ...), borrowed; NULL after the last
 */
const struct rh_json *rh_host_resource(const struct rh_host *host, size_t place);
/** @return that of an object, borrowed; NULL when no plugin brings it */
const struct rh_json *rh_host_find_resource(const struct rh_host *host, const char *api_version, const char *kind);
/** @return what follows the name of the definition at the start of @p name, as of rh_host_find_called(), or NULL */
const char *rh_resource_skip_name(const struct rh_json *resource, const char *name);
/** @return whether a user may call the kind so: its kind, plural or singular name, without regard to case */
bool rh_kind_is_called(const struct rh_kind *kind, const char *name);
/**
 * rh_host_kind() and rh_job_parse() of one object (taken, also on error).
 * @return 0, RH_ENOENT (no such kind), RH_EINVAL or RH_ENOMEM
 */
int rh_host_parse(const struct rh_host *host, struct rh_json *object, struct rh_job **ret_job, struct rh_error *err);

/**
 * Opaque: what a plugin in a process of its own answered about one job. With it an operation does not wait until the
 * plugin answers: after a moment it ends with RH_EAGAIN, and rh_answers_are_awaited(). The caller goes on with other
 * jobs, and repeats what it did for this one when it is called: the repeated operation gets the answer. Operations
 * about other jobs of the plugin end so, too, and are called in turn.
 */
struct rh_answers;
/** An answer is there, or it is the turn of the job. Asks nothing itself. */
typedef void rh_answers_ready_fn(void *arg);
/** @return empty ones, owned by the caller; NULL when memory is out */
struct rh_answers *rh_answers_new(rh_answers_ready_fn *ready, void *arg);
/** Free them; an operation in progress goes on, and its answer is dropped. Before rh_host_free(). NULL is nothing. */
void rh_answers_free(struct rh_answers *answers);
/** Forget the answers, and wait for none: what the caller did for the job has come to its end. NULL is nothing. */
void rh_answers_clear(struct rh_answers *answers);
/** @return whether rh_answers_ready_fn is to be called */
bool rh_answers_are_awaited(const struct rh_answers *answers);
/**
 * For an event loop: rh_host_step() is due when this descriptor can be read. @param[out] ret_fd borrowed from the host
 * @return 0 or RH_EIO
 */
int rh_host_descriptor(struct rh_host *host, int *ret_fd, struct rh_error *err);
/** Take answers, end processes that are late or unused for long, and call who waits. @param now monotonic */
void rh_host_step(struct rh_host *host, int64_t now);
/** @return when rh_host_step() is due though no descriptor can be read, monotonic microseconds */
int64_t rh_host_deadline(const struct rh_host *host);

/** What a plugin is shown: one job and its state at one moment. All borrowed; the caller fills it. */
struct rh_snapshot {
	const struct rh_host *host;
	const struct rh_job *job;
	const struct rh_addresses *addresses; /**< NULL or empty: a cluster's */
	const struct rh_counts *counts;       /**< one for each of job->specs; NULL outside judge() */
	const struct rh_pod *const
		*pods;             /**< pods by spec and index: slot offsets[s] + i; NULL where absent; NULL outside judge() */
	const size_t *offsets; /**< for each of job->specs where its slots start in pods */
	const struct rh_gang *gang; /**< NULL: there is no gang scheduler */
	struct rh_answers *answers; /**< NULL: operations wait until the plugin answers */
	bool *looked; /**< set when the plugin looked at single replicas, so that its answer follows them; may be NULL */
	bool stored;  /**< the job is as a store delivered it, so that UID and resourceVersion identify its content */
	const int32_t *held; /**< for each of job->specs: replicas that the last judge() held back; NULL: none */
	const struct rh_lookups *lookups; /**< other objects that the job names; NULL: none were looked up */
	int32_t attempt;
	bool suspended; /**< the job is, or is to be, suspended */
	bool finished;
};

/** One verdict of judge(). */
struct rh_verdict {
	int32_t verdict; /**< RH_VERDICT_* */
	char *type;      /**< owned; NULL when none */
	char *reason;    /**< of the condition; owned; NULL: the core's */
	char *message;   /**< owned; never NULL: the core's words where the plugin has none */
};

/** Most verdicts of one judge() call. */
#define RH_VERDICTS_MAX 16

/** Replicas of which judge() wants no pod yet. */
struct rh_hold {
	const char *type; /**< canonical type; borrowed from the job */
	int32_t index;    /**< -1: all of the type */
};

/** Replicas that judge() wants restarted. */
struct rh_restart {
	const char *type; /**< canonical type; borrowed from the job; NULL: all of the job */
	int32_t index;    /**< -1: all of the type */
	uint32_t flags;   /**< RH_RESTART_* */
	char *token;      /**< owned; NULL: none */
	char *message;    /**< owned; NULL: the core's words */
};

/** What one judge() call says. All zero: nothing. */
struct rh_judgement {
	struct rh_verdict items[RH_VERDICTS_MAX];
	size_t count;
	struct rh_hold *holds; /**< owned */
	size_t hold_count;
	struct rh_restart *restarts; /**< owned */
	size_t restart_count;
	struct rh_json *status; /**< members of status to set, an object; null removes; owned; NULL: none */
	size_t status_bytes;    /**< of their JSON */
};

/** Free it and make it empty. */
void rh_judgement_deinit(struct rh_judgement *judgement);

/**
 * Let the plugin of a kind with RH_KIND_EXPANDED give @p job its replica types, or refuse it (rh_job.refusals); a job
 * that is refused keeps those that it has. Nothing happens for other kinds, before the objects that the job names are
 * there, and for a job that is too large. To be called before any other operation.
 * @param snapshot host, answers and lookups count alone
 * @return as rh_host_pod()
 */
int rh_host_expand(const struct rh_snapshot *snapshot, struct rh_job *job, struct rh_error *err);
/** rh_host_expand() with the objects that the job names taken from @p files; NULL: there are none. */
int rh_host_expand_files(const struct rh_host *host, struct rh_job *job, const struct rh_manifest *files,
                         struct rh_error *err);
/**
 * Rules of the core (rh_job_validate), and of the job's plugin once the objects that it reads are there
 * (rh_lookups_are_complete()) and it is expanded (rh_host_expand()). @return 0, RH_ENOMEM or RH_EPLUGIN
 */
int rh_host_validate(const struct rh_snapshot *snapshot, struct rh_findings *findings, struct rh_error *err);
/**
 * Let the plugin edit @p pod, the body of replica @p index of @p type, which has template, labels, owner and ports
 * already.
 * @return 0, RH_EPLUGIN, RH_EINVAL (the plugin's words), RH_ENOMEM, RH_EIO, or RH_EAGAIN (see rh_host_set_retry())
 */
int rh_host_pod(const struct rh_snapshot *snapshot, const char *type, int32_t index, struct rh_json *pod,
                struct rh_error *err);
/** Append by what name a replica of the snapshot's job is reached on a cluster (rh_kind.host_name). */
void rh_host_reach(const struct rh_snapshot *snapshot, const char *type, int32_t index, struct rh_str *out);
/** Opaque: answers of a plugin about pods that were not asked for yet. */
struct rh_pods_ahead;
/** Free them. NULL is nothing. */
void rh_pods_ahead_free(struct rh_pods_ahead *ahead);
/**
 * rh_host_pod() for a caller that asks for one pod after another of the same snapshot: a plugin in a process of its own
 * is asked for many at once. @param ahead keeps the answers between calls; starts as NULL, freed by the caller
 */
int rh_host_next_pod(const struct rh_snapshot *snapshot, struct rh_pods_ahead **ahead, const char *type, int32_t index,
                     struct rh_json *pod, struct rh_error *err);
/**
 * Collect the further objects that the job needs now. @param[out] ret_objects an array, owned by the caller.
 * @return as rh_host_pod()
 */
int rh_host_objects(const struct rh_snapshot *snapshot, struct rh_json **ret_objects, struct rh_error *err);
/**
 * Let the plugin make an object that objects() named with random bytes. @param[out] ret_object with the apiVersion,
 * kind and name of @p made; owned by the caller, who frees it by rh_json_free_secret()
 * @return as rh_host_pod()
 */
int rh_host_make(const struct rh_snapshot *snapshot, const struct rh_made *made, struct rh_json **ret_object,
                 struct rh_error *err);
/**
 * Ask what the counts mean; the core's default where the plugin has no judge(). @p judgement must be empty.
 * @return as rh_host_pod()
 */
int rh_host_judge(const struct rh_snapshot *snapshot, struct rh_judgement *judgement, struct rh_error *err);

#endif
