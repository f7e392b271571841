/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/expansion.h
 * @brief The replica types that a plugin gives for a job which has no map of them (RH_KIND_EXPANDED).
 *
 * A job is parsed without replica types, and gets them as soon as its plugin was asked (rh_host_expand()). From then on
 * it is a job like any other.
 */
#ifndef RH_JOB_EXPANSION_H
#define RH_JOB_EXPANSION_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "job/job.h"
#include "job/kind.h"
#include "job/rules/findings.h"

/**
 * Read what rh_services.expansion got. @param[out] ret_expansion owned by the caller
 * @return 0, RH_EPLUGIN (the message names the member and what it must be), or RH_ENOMEM
 */
int rh_expansion_parse(const struct rh_kind *kind, const char *text, struct rh_expansion **ret_expansion,
                       struct rh_error *err);
/** Free it. NULL is nothing. */
void rh_expansion_free(struct rh_expansion *expansion);
/** @return what it was read from, borrowed; NULL for NULL */
const char *rh_expansion_text(const struct rh_expansion *expansion);
/**
 * @return what the plugin sees of the job to expand it: what its user writes, without what others write from time to
 * time, so that equal objects have equal expansions; owned by the caller; NULL when memory is out
 */
struct rh_json *rh_expansion_source(const struct rh_job *job);

/** Give the job these replica types in place of those that it has. @param expansion taken */
void rh_job_set_expansion(struct rh_job *job, struct rh_expansion *expansion);
/** Move expansion and refusals of @p from, which is freed next, to another version of the job. */
void rh_job_adopt_expansion(struct rh_job *job, struct rh_job *from);
/** Set why the plugin refuses to expand the job. @param refusals from rh_alloc(); taken; NULL: it does not */
void rh_job_set_refusals(struct rh_job *job, struct rh_findings *refusals);
/** @return whether the replica types of the job are known */
static inline bool rh_job_is_expanded(const struct rh_job *job)
{
	return job->expansion || !rh_kind_expands(job->kind);
}

#endif
