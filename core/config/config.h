/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config/config.h
 * @brief The configuration: what roundhouse.ini says, with defaults.
 *
 * One immutable struct that everything above reads. config/keys.h has the table of all keys. Files of plugins.d beside
 * roundhouse.ini are read after it. A user and a project may have a file each, which commands read after it
 * (rh_config_find_own()).
 */
#ifndef RH_CONFIG_CONFIG_H
#define RH_CONFIG_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "config/allow.h"
#include "config/fabric.h"
#include "config/gang.h"
#include "config/isolation.h"

/** Where a setting comes from. A later one has precedence. */
enum rh_config_layer {
	RH_LAYER_SYSTEM,  /**< the file of --config or $ROUNDHOUSE_CONFIG, else that of the installation */
	RH_LAYER_USER,    /**< roundhouse/roundhouse.ini in $XDG_CONFIG_HOME or ~/.config */
	RH_LAYER_PROJECT, /**< roundhouse.ini in the working directory */
	RH_LAYER_CALL     /**< the command line, or an environment variable */
};

/** One "key = value" of a file, a flag or a variable. Strings are owned. */
struct rh_setting {
	enum rh_config_layer layer;
	char *section; /**< "plugin pytorch", "images", "local" */
	char *key;
	char *value;
	char *origin;  /**< source of the setting, for messages: "FILE:LINE" or "--flag" */
	char *folder;  /**< of the file that has it: relative paths start there; NULL: it is of a flag or a variable */
	char *content; /**< of the file that value names, for the plugin that asks; NULL: value is all there is */
};

/** The configuration. */
struct rh_config {
	char **plugin_dirs; /**< folders that are searched for *.so, in order; owned */
	size_t plugin_dir_count;
	char *file;                   /**< that counts, without those of plugins.d; NULL: there is none; owned */
	bool plugin_dirs_fixed;       /**< $ROUNDHOUSE_PLUGIN_PATH gave them: files do not change them */
	struct rh_allow plugin_allow; /**< [plugins] allow: which plugins may be loaded */
	char *plugin_public_key;      /**< [plugins] public-key: of minisign; NULL: no signature is needed; owned */
	int64_t plugin_time_limit; /**< [plugins] time-limit: longest that one operation of a plugin may take; microseconds,
	                              default 10 s */
	enum rh_isolation plugin_isolation; /**< [plugins] isolation; default foreign */
	char *plugin_worker; /**< program that runs a plugin: ../libexec/roundhouse/roundhouse-plugin-worker; NULL when the
	                        folder of the running program is unknown; owned */
	struct rh_setting *settings; /**< all settings, in the order of the files; owned */
	size_t setting_count;
	int64_t restart_backoff; /**< [local] restart-backoff: first wait before a container is restarted in place;
	                            microseconds, default 1 s */
	int64_t keep_runs;       /**< [local] keep-runs: how many runs are kept; 0: none */
	int64_t keep_mebibytes;  /**< [local] keep-mebibytes: how large they may be together; 0: any size */
	int64_t max_restarts; /**< [local] max-restarts: how often in a row a replica that fails fast, and each time in the
	                         same way, is restarted in a job without backoffLimit; 0: for ever; default 6 */
	bool progress;        /**< [local] progress: whether replicas may report their progress to `run`; default true */
	int64_t restart_backoff_max; /**< [local] restart-backoff-max; default 5 min */
	int64_t grace_period; /**< [local] grace-period: SIGTERM to SIGKILL where the pod says nothing; default 30 s */
	char *state_dir;      /**< [local] state-dir: where lock files live; default $XDG_RUNTIME_DIR/roundhouse or
	                         /tmp/roundhouse-UID; owned */
	bool state_dir_named; /**< a file names state-dir: the folder is the user's, it is never removed */
	int32_t port_first;   /**< [local] ports = 20000-29999: range that replicas' ports come from, outside the ephemeral
	                         range */
	int32_t port_last;
	struct rh_gang gang; /**< [controller] gang-scheduler: none, volcano or scheduler-plugins[:NAME]; default none */
};

/** Read a count, as "6", of a setting or an option. @return 0, or RH_EINVAL with a message that has @p text */
int rh_config_count(const char *text, int64_t *ret_count, struct rh_error *err);

/**
 * @return a configuration with every default, owned by the caller, or NULL when memory is out. Reads the environment
 * once (RH plugin path, XDG_RUNTIME_DIR).
 */
struct rh_config *rh_config_new(void) __attribute__((warn_unused_result));
/** Free it. NULL is ignored. */
void rh_config_free(struct rh_config *config);
RH_DEFINE_CLEANUP(config);
/**
 * Read one file over what @p config has, and then those of plugins.d beside it (*.ini, in the order of their names):
 * the last value of a key counts, but lists of [plugins] allow add up. A file that others can change is refused
 * (base/library/trust.h). Unknown sections and keys, and values out of range, are refused with file, line and the fix.
 * @return 0, RH_EINVAL, RH_ENOENT, RH_EIO or RH_ENOMEM
 */
int rh_config_read(struct rh_config *config, const char *path, struct rh_error *err);
/** rh_config_read() of a text in memory, without plugins.d. */
int rh_config_parse(struct rh_config *config, const char *name, const char *text, size_t length, struct rh_error *err);
/**
 * Set a key of a free section ("plugin tensorflow") over what the files say, as an environment variable of V1's does.
 * @param origin who says it: "--flag" or "$VARIABLE"
 * @return 0 or RH_ENOMEM
 */
int rh_config_set(struct rh_config *config, const char *section, const char *key, const char *value,
                  const char *origin);
/** @return the last value of @p key in @p section, borrowed, or NULL */
const char *rh_config_setting(const struct rh_config *config, const char *section, const char *key);
/** @return the last setting of @p key in @p section, borrowed, or NULL */
const struct rh_setting *rh_config_find_setting(const struct rh_config *config, const char *section, const char *key);
/**
 * Find and read the file that counts: @p path when it is not NULL, else $ROUNDHOUSE_CONFIG, else conf/roundhouse.ini
 * beside the program (../conf, or ../../../conf where that is a build tree), else /etc/roundhouse/roundhouse.ini, else
 * that of the installation (../etc); it is not an error when none of the latter exists. @return as rh_config_read()
 */
int rh_config_find(struct rh_config *config, const char *path, struct rh_error *err);
/**
 * Read over what rh_config_find() read without a path: roundhouse/roundhouse.ini in $XDG_CONFIG_HOME or ~/.config with
 * its plugins.d, then roundhouse.ini in the working directory. Files that do not exist are left out, and so is
 * everything where $ROUNDHOUSE_CONFIG is set, even if it is empty. The file of the working directory may come with a
 * project of somebody else, so [plugins], which names code to load, is refused there. config->file stays as it is.
 * @return as rh_config_read()
 */
int rh_config_find_own(struct rh_config *config, struct rh_error *err);

#endif
