/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config/allow.h
 * @brief The list of plugins that may be loaded.
 */
#ifndef RH_CONFIG_ALLOW_H
#define RH_CONFIG_ALLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/crypto/crypto.h"
#include "base/error.h"

/** One plugin that may be loaded. Texts are owned. */
struct rh_allowed {
	char *name;
	char *origin;                    /**< FILE:LINE, for messages */
	bool additional;                 /**< the file is one of plugins.d */
	char sha256[RH_SHA256_HEX_SIZE]; /**< of the file, small letters; "": any content */
};

/** The list. All zero is none: everything may be loaded. */
struct rh_allow {
	struct rh_allowed *items;
	size_t count;
	bool closed; /**< what is not on the list may not be loaded */
};

/** Free it and make it empty. */
void rh_allow_deinit(struct rh_allow *allow);
/**
 * Add the plugins of @p text, "NAME, NAME@sha256:HASH". @param origin FILE:LINE @param additional of plugins.d
 * @return 0, RH_ENOMEM, or RH_EINVAL: what is malformed, or named twice
 */
int rh_allow_add(struct rh_allow *allow, const char *text, const char *origin, bool additional, struct rh_error *err);
/** @return the row of plugin @p name, borrowed, or NULL */
const struct rh_allowed *rh_allow_find(const struct rh_allow *allow, const char *name);

#endif
