/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/allow.h
 * @brief Which plugin files may be loaded: the allow-list of the configuration.
 */
#ifndef RH_HOST_ALLOW_H
#define RH_HOST_ALLOW_H

#include "base/error.h"
#include "config/config.h"
#include "host/files.h"
#include "host/host.h"

/** How the file of a signature is called: that of the plugin, and this. */
#define RH_SIGNATURE_ENDING ".minisig"
/** Largest plugin file that is hashed, in bytes. */
#define RH_PLUGIN_FILE_MAX ((size_t)512 * 1024 * 1024)

/** What the content of a plugin file must be. All borrowed; all zero: anything. */
struct rh_pin {
	const char *sha256;     /**< 64 small hexadecimal digits; NULL or "": any */
	const char *origin;     /**< FILE:LINE of the hash */
	const char *public_key; /**< of minisign; NULL: no signature is needed */
};

/** Check that plugin @p name may be loaded. @return 0, or RH_EPLUGIN with how to allow it */
int rh_allow_check(const struct rh_config *config, const char *name, struct rh_error *err);
/** @return what the file of plugin @p name must be; borrowed from @p config */
struct rh_pin rh_allow_pin(const struct rh_config *config, const char *name);
/** Get ready to check what the list pins, before the plugins are tried in a fork of this process. */
void rh_allow_prepare(const struct rh_config *config);
/**
 * Check each name of the list once the folders were searched: one without a file is a mistake, or a plugin that is
 * missed. @return 0, RH_ENOMEM, or RH_EINVAL with file, line and the nearest name
 */
int rh_host_check_allow(const struct rh_host *host, struct rh_error *err);

#endif
