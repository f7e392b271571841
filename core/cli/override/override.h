/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/override/override.h
 * @brief Options that change the jobs of a file before they are checked: --set, --env, --replicas, --cpu,
 * --args.
 */
#ifndef RH_CLI_OVERRIDE_OVERRIDE_H
#define RH_CLI_OVERRIDE_OVERRIDE_H

#include "base/error.h"
#include "cli/cli.h"
#include "host/host.h"
#include "job/manifest.h"

/** Rows of these options, for the table of a command. */
#define RH_OVERRIDE_OPTIONS                                                                                            \
	{"set", 0, "PATH=VALUE", NULL,                                                                                     \
	 "set a field of the jobs, as spec.pytorchReplicaSpecs[Worker].replicas=4, before they are checked; lists and "    \
	 "objects are JSON; may be repeated"},                                                                             \
		{"env", 'e', "NAME=VALUE", NULL, "set a variable in all containers of the jobs; may be repeated"},             \
		{"replicas", 0, "TYPE=N", NULL, "set how many replicas a type has; may be repeated"},                          \
		{"cpu", 0, NULL, NULL, "use no GPUs: containers ask for none, and see none"},                                  \
	{                                                                                                                  \
		"args", 0, "WORDS", NULL,                                                                                      \
			"set the arguments of the training containers: words as of a shell, in one argument, as --args='--lr 0.1'" \
	}

/**
 * Apply these options of @p cli, in their order, to all jobs of @p manifest; objects of kinds that no plugin serves are
 * left alone.
 * @return 0, RH_EINVAL (the message names option, job and field) or RH_ENOMEM; then some objects may have changed
 */
int rh_override(const struct rh_cli *cli, const struct rh_host *host, struct rh_manifest *manifest,
                struct rh_error *err);
/** Apply one of these options to a job of @p kind. @param option "set". @return as rh_override() */
int rh_override_job(const struct rh_kind *kind, struct rh_json *object, const char *option, const char *text,
                    struct rh_error *err);

#endif
