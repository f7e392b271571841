/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/registry.h
 * @brief What the host keeps of each plugin. Private to the host.
 */
#ifndef RH_HOST_REGISTRY_H
#define RH_HOST_REGISTRY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "host/allow.h"
#include "host/host.h"
#include "host/operations.h"

struct rh_hello;
struct rh_worker;

/** Sections of the configuration that are for a plugin begin so; its name follows. */
#define RH_PLUGIN_SECTION "plugin "
/** Most kinds of one plugin. */
#define RH_PLUGIN_KINDS_MAX 32

/** One plugin file, whatever its state. Texts are owned. */
struct rh_slot {
	char *path;
	char *name;    /**< NULL until the plugin was asked */
	char *release; /**< NULL until the plugin was asked */
	char *section; /**< of the configuration: "plugin NAME"; NULL until the plugin was asked */
	enum rh_plugin_state state;
	bool own;                       /**< of this release, whose tests have checked its texts */
	struct rh_error reason;         /**< why it is not ready */
	void *handle;                   /**< of rh_loader_open(); NULL when it is linked in */
	const struct rh_plugin *plugin; /**< NULL until it was checked */
	void *self;
	struct rh_worker *worker;                             /**< the process that runs it; NULL: this one; owned */
	const struct rh_hello *hello;                         /**< what the process says of it; borrowed from worker */
	const struct rh_kind *kinds[RH_PLUGIN_KINDS_MAX + 1]; /**< NULL-terminated; empty when not ready */
	size_t kind_count;
	struct rh_json *resources;                       /**< rh_plugin.resources; NULL: none, or not ready; owned */
	const struct rh_kind *idle[RH_PLUGIN_KINDS_MAX]; /**< kinds that it would serve, were it started */
	size_t idle_count;
};

/** The host. */
struct rh_host {
	const struct rh_config *config;
	struct rh_slot **slots; /**< in the order of loading; owned */
	size_t slot_count;
	const struct rh_services *services; /**< what init() gets */
	struct rh_str *notes;               /**< of a worker: rh_reply.notes; borrowed */
	bool retries;                       /**< see rh_host_set_retry() */
	bool on_cluster;                    /**< see rh_host_set_cluster() */
	int64_t
		patience; /**< microseconds that an operation with struct rh_answers waits; RH_WORKER_PATIENCE but in tests */
	int events;   /**< epoll descriptor that can be read when a worker has answered, see rh_host_attach(); -1: none */
};

/** A plugin file whose content was checked. */
struct rh_loadable {
	char real[PATH_MAX]; /**< its path without links */
	int fd;              /**< of the file or the copy, open to read; owned; -1: none */
	bool is_copy;        /**< fd is a copy in memory (base/library/sealed.h) */
};

/**
 * Open a plugin file and check it: nobody else may be able to change it. With a pin, what is checked and to be loaded
 * is a copy in memory, which nobody at all can change; its $ORIGIN is the folder of the file for the libraries that it
 * needs.
 * @return 0, or RH_EPLUGIN with the reason
 */
int rh_loader_check(const char *path, const struct rh_pin *pin, struct rh_loadable *ret_loadable, struct rh_error *err);
/** Close its descriptor. */
void rh_loadable_deinit(struct rh_loadable *loadable);
/**
 * Load it and fetch its table. Nobody else may be able to change a library that it brings along
 * (base/library/library.h). Runs the constructors of the file. @param[out] ret_handle for rh_library_close()
 * @return 0, or RH_EPLUGIN with the reason
 */
int rh_loader_load(struct rh_loadable *loadable, void **ret_handle, const struct rh_plugin **ret_plugin,
                   struct rh_error *err);
/**
 * rh_host_load_file() of a file that another process checked, for a worker. @param copy descriptor of the copy of the
 * file; taken, also on error
 */
int rh_host_load_copy(struct rh_host *host, const char *real, int copy, struct rh_error *err);
/**
 * Check that a table is of this host's ABI and complete. Reads nothing behind a check that fails.
 * @return 0 or RH_EPLUGIN with both sides named
 */
int rh_abi_check_plugin(const struct rh_plugin *plugin, struct rh_error *err);
/** Check a kind in the same way, but for what its JSON texts say. @return 0 or RH_EPLUGIN */
int rh_abi_check_kind_form(const struct rh_kind *kind, struct rh_error *err);
/** rh_abi_check_kind_form(), and the JSON texts: most of the cost of a start. @return 0, RH_EPLUGIN or RH_ENOMEM */
int rh_abi_check_kind(const struct rh_kind *kind, struct rh_error *err);
/** @return the plugin that serves @p kind, borrowed, or NULL */
const struct rh_slot *rh_host_slot(const struct rh_host *host, const struct rh_kind *kind);

#endif
