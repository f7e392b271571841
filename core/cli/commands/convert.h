/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/convert.h
 * @brief The two programs behind `roundhouse convert`: only the one that contacts a cluster needs the HTTP libraries.
 */
#ifndef RH_CLI_COMMANDS_CONVERT_H
#define RH_CLI_COMMANDS_CONVERT_H

#include "base/error.h"
#include "cli/cli.h"
#include "convert/convert.h"
#include "job/manifest.h"

/** argv[0] of roundhouse-controller when it runs as `roundhouse convert`. */
#define RH_CONVERT_PROGRAM "roundhouse-convert"

/** Get the objects that a command line names, for a conversion to @p target. @param manifest filled; empty before */
typedef int rh_convert_fetch_fn(const struct rh_cli *cli, enum rh_convert_target target, struct rh_manifest *manifest,
                                struct rh_error *err);

/** Convert what @p fetch gets, and print it. @return the exit status */
int rh_convert_main(const struct rh_cli *cli, rh_convert_fetch_fn *fetch);
/** `roundhouse convert --cluster`, in the program that can contact a cluster. @return the exit status */
int rh_convert_cluster_main(int argc, char **argv);

#endif
