/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/crds.h
 * @brief The two programs behind `roundhouse crds`: only the one that contacts a cluster needs the HTTP libraries.
 */
#ifndef RH_CLI_COMMANDS_CRDS_H
#define RH_CLI_COMMANDS_CRDS_H

#include "base/error.h"
#include "base/json.h"
#include "cli/cli.h"

/** argv[0] of roundhouse-controller when it runs as `roundhouse crds`. */
#define RH_CRDS_PROGRAM "roundhouse-crds"

/** Get the OpenAPI document of --pod-schema cluster. @param[out] ret_document owned by the caller */
typedef int rh_crds_fetch_fn(const struct rh_cli *cli, struct rh_json **ret_document, struct rh_error *err);

/** Print the definitions. @param fetch NULL: --pod-schema names a file. @return the exit status */
int rh_crds_print(const struct rh_cli *cli, rh_crds_fetch_fn *fetch);
/** `roundhouse crds --pod-schema cluster`, in the program that can contact a cluster. @return the exit status */
int rh_crds_cluster_main(int argc, char **argv);

#endif
