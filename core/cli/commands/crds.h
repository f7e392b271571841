/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/crds.h
 * @brief The two programs behind `roundhouse crds`: only the one that contacts a cluster needs the HTTP libraries.
 */
#ifndef RH_CLI_COMMANDS_CRDS_H
#define RH_CLI_COMMANDS_CRDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "cli/cli.h"

/** argv[0] of roundhouse-controller when it runs as `roundhouse crds`. */
#define RH_CRDS_PROGRAM "roundhouse-crds"

/** A question to the API server. */
struct rh_crds_question {
	char *path;               /**< owned by the caller */
	bool optional;            /**< the server may not have it */
	struct rh_json *document; /**< the answer, owned by the caller; NULL: the server has none */
};

/** Ask the server of the command line. @return 0, RH_EIO, RH_ENOMEM, or RH_EINVAL of its kubeconfig */
typedef int rh_crds_fetch_fn(const struct rh_cli *cli, struct rh_crds_question *questions, size_t count,
                             struct rh_error *err);

/** Print the definitions. @param fetch NULL: the command line names files alone. @return the exit status */
int rh_crds_print(const struct rh_cli *cli, rh_crds_fetch_fn *fetch);
/** `roundhouse crds` with the word cluster in an option, in the program that can contact a cluster. @return the exit
 * status */
int rh_crds_cluster_main(int argc, char **argv);

#endif
