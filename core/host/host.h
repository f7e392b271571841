/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/host.h
 * @brief Plugins: found, checked and loaded, and the kinds that they serve; host/operations.h asks them.
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
#include "base/os/loop.h"
#include "config/config.h"
#include "job/job.h"
#include "job/manifest.h"
#include "job/values/version.h"
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
	RH_PLUGIN_UNNEEDED, /**< rh_host_load_for() found that nothing needs it: its file was not opened */
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
 * rh_host_load_all(), but for plugins of this release that no object of @p manifest needs: they stay
 * RH_PLUGIN_UNNEEDED. A plugin that serves another version of a job's kind is needed. All are where the files are not
 * understood, so that messages name what there is.
 */
int rh_host_load_for(struct rh_host *host, const struct rh_manifest *manifest, struct rh_error *err);
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

/** Opaque: the worker processes of a host as sources of a loop. */
struct rh_host_attachment;
/**
 * Register the worker processes of the plugins that are loaded with a loop: each takes answers when they come, ends its
 * process when that is late or unused for long, and calls who waits for an answer. From then on an operation does not
 * wait for a slow plugin (struct rh_snapshot).
 * @param order of the sources, see struct rh_loop_source
 * @param[out] ret_attachment owned by the caller, who frees it before the host and the loop
 * @return 0, RH_EIO or RH_ENOMEM
 */
int rh_host_attach(struct rh_host *host, struct rh_loop *loop, int order, struct rh_host_attachment **ret_attachment,
                   struct rh_error *err);
/** End the sources. NULL is ignored. */
void rh_host_attachment_free(struct rh_host_attachment *attachment);
RH_DEFINE_CLEANUP(host_attachment);

#endif
