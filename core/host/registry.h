/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/registry.h
 * @brief What the host keeps of each plugin. Private to the host.
 */
#ifndef RH_HOST_REGISTRY_H
#define RH_HOST_REGISTRY_H

#include <stddef.h>

#include "base/error.h"
#include "host/allow.h"
#include "host/host.h"

/** Most kinds of one plugin. */
#define RH_PLUGIN_KINDS_MAX 32

/** One plugin file, whatever its state. Texts are owned. */
struct rh_slot {
	char *path;
	char *name;    /**< NULL until the plugin was asked */
	char *release; /**< NULL until the plugin was asked */
	char *section; /**< of the configuration: "plugin NAME"; NULL until the plugin was asked */
	enum rh_plugin_state state;
	struct rh_error reason;         /**< why it is not ready */
	void *handle;                   /**< of rh_loader_open(); NULL when it is linked in */
	const struct rh_plugin *plugin; /**< NULL until it was checked */
	void *self;
	const struct rh_kind *kinds[RH_PLUGIN_KINDS_MAX + 1]; /**< NULL-terminated; empty when not ready */
	size_t kind_count;
	const struct rh_kind *idle[RH_PLUGIN_KINDS_MAX]; /**< kinds that it would serve, were it started */
	size_t idle_count;
};

/** The host. */
struct rh_host {
	const struct rh_config *config;
	struct rh_slot **slots; /**< in the order of loading; owned */
	size_t slot_count;
};

/**
 * Open a plugin file and fetch its table. Nobody else may be able to change the file, or a library that it brings along
 * (base/os/library.h). With a pin, what is checked and loaded is a copy in memory, which nobody at all can change; its
 * $ORIGIN is the folder of the file for the libraries that it needs. Runs the constructors of the file.
 * @param[out] ret_handle for rh_library_close()
 * @return 0, or RH_EPLUGIN with the reason
 */
int rh_loader_open(const char *path, const struct rh_pin *pin, void **ret_handle, const struct rh_plugin **ret_plugin,
                   struct rh_error *err);
/**
 * Check that a table is of this host's ABI and complete. Reads nothing behind a check that fails.
 * @return 0 or RH_EPLUGIN with both sides named
 */
int rh_abi_check_plugin(const struct rh_plugin *plugin, struct rh_error *err);
/** Check a kind in the same way. @return 0 or RH_EPLUGIN */
int rh_abi_check_kind(const struct rh_kind *kind, struct rh_error *err);
/** @return the plugin that serves @p kind, borrowed, or NULL */
const struct rh_slot *rh_host_slot(const struct rh_host *host, const struct rh_kind *kind);

#endif
