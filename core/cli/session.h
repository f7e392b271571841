/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/session.h
 * @brief Configuration and plugins of one command.
 */
#ifndef RH_CLI_SESSION_H
#define RH_CLI_SESSION_H

#include "base/error.h"
#include "cli/cli.h"
#include "config/config.h"
#include "host/host.h"

/** Configuration and plugins. All zero is empty. */
struct rh_session {
	struct rh_config *config; /**< owned */
	struct rh_host *host;     /**< owned */
};

/**
 * Read the configuration from @p file, or find it when that is NULL, and add the folder of --plugins; load nothing.
 * @return as rh_session_load()
 */
int rh_session_configure(const struct rh_cli *cli, const char *file, struct rh_session *session, struct rh_error *err);
/**
 * rh_session_load() with the configuration @p file in place of --config; NULL: it is found.
 * @param manifest what the plugins are for; NULL: anything
 */
int rh_session_load_file(const struct rh_cli *cli, const char *file, const struct rh_manifest *manifest,
                         struct rh_session *session, struct rh_error *err);
/**
 * Read the configuration (--config) and load the plugins; --plugins DIR adds a folder that is searched first. Blocks
 * for the files. @param[out] session filled; closed by the caller, also after a failure
 * @return 0 or a negative status
 */
int rh_session_load(const struct rh_cli *cli, struct rh_session *session, struct rh_error *err);
/** Like rh_session_load(), and warn of each plugin that could not be loaded without being disabled. */
int rh_session_open(const struct rh_cli *cli, struct rh_session *session, struct rh_error *err);
/** rh_session_open() for the objects of files: plugins that none of them needs may be left out (host/host.h). */
int rh_session_open_for(const struct rh_cli *cli, const struct rh_manifest *manifest, struct rh_session *session,
                        struct rh_error *err);
/**
 * Apply V1's environment variables that are settings of plugins (CUSTOM_CLUSTER_DOMAIN), for output that is meant for a
 * cluster. The configuration takes precedence over them.
 * @return 0; RH_EINVAL: a value is not valid; or RH_ENOMEM
 */
int rh_session_take_variables(struct rh_session *session, struct rh_error *err);
/** Free what @p session owns and make it empty. */
void rh_session_close(struct rh_session *session);

/** A session that is closed when it goes out of scope. */
#define rh_auto_session __attribute__((cleanup(rh_session_close))) struct rh_session

#endif
