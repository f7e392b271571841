/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/jobs.h
 * @brief The jobs of the manifests that a command line names.
 */
#ifndef RH_CLI_JOBS_H
#define RH_CLI_JOBS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cli/session.h"
#include "job/manifest.h"

/** Jobs of the files that the operands name, parsed and checked. All zero is empty. */
struct rh_jobs {
	struct rh_manifest manifest;
	struct rh_job **items;       /**< jobs in the order of the files; owned */
	const char **sources;        /**< file and position of each; borrowed from the manifest */
	struct rh_lookups **lookups; /**< other objects that each names; NULL where its kind looks up none; owned */
	size_t count;
};

/** Read every operand as a manifest, as rh_manifest_read(). Blocks for the files. */
int rh_jobs_read(const struct rh_cli *cli, struct rh_manifest *manifest, struct rh_error *err);
/**
 * Apply the options of cli/override/override.h to the manifest of @p jobs, and parse its jobs. What plugins install for
 * them is appended (cli/objects.h). Findings are printed on standard error, each as "FILE: KIND NAME: path: detail".
 * @param from names the files of the manifest in messages
 * @param[in,out] jobs filled; closed by the caller, also after a failure
 * @return 0 when there is at least one job and no error; RH_EINVAL when there were errors, which have been printed (@p
 * err has their number), or no job
 */
int rh_jobs_open(const struct rh_cli *cli, const struct rh_session *session, const char *from, struct rh_jobs *jobs,
                 struct rh_error *err);
/** rh_jobs_open() without the options. */
int rh_jobs_check(const struct rh_session *session, struct rh_jobs *jobs, const char *from, struct rh_error *err);
/**
 * @return whether an object of a file is, or was meant to be, a job: its kind is served by a plugin, in any group; or
 * its group is kubeflow.org; or its API is easily mistaken for V1's (rh_foreign_api())
 */
bool rh_jobs_is_job(const struct rh_session *session, const struct rh_json *object);
/** Free what @p jobs owns and make it empty. */
void rh_jobs_close(struct rh_jobs *jobs);

/** Jobs that are freed when they go out of scope. */
#define rh_auto_jobs __attribute__((cleanup(rh_jobs_close))) struct rh_jobs

#endif
