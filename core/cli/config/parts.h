/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/config/parts.h
 * @brief The subcommands of `roundhouse config`. Private to cli/config/.
 */
#ifndef RH_CLI_CONFIG_PARTS_H
#define RH_CLI_CONFIG_PARTS_H

#include "base/error.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/session.h"

/** Print each effective value and its origin. @param json as JSON. @return 0 or RH_ENOMEM */
int rh_config_show(const struct rh_cli *cli, const struct rh_session *session, bool json, struct rh_str *out);
/**
 * Print keys: @p word is a key, SECTION.KEY, or a section; NULL: all. @param json as JSON
 * @return 0, RH_ENOMEM, or RH_ENOENT with the nearest key
 */
int rh_config_explain(const struct rh_session *session, const char *word, bool json, struct rh_str *out,
                      struct rh_error *err);
/** Print the page docs/configuration.md. @return 0 or RH_ENOMEM */
int rh_config_page(const struct rh_session *session, struct rh_str *out);
/** Print a file with every key in a comment: conf/roundhouse.ini. @return 0 or RH_ENOMEM */
int rh_config_ini(const struct rh_session *session, struct rh_str *out);

#endif
