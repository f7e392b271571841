/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

bool rh_jobs_is_job(const struct rh_session *session, const struct rh_json *object)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");

	/* A kind of V1's group that nobody serves is a mistake to be told, not an object that stands beside the jobs. */
	return rh_starts_with(api_version, "kubeflow.org/") ||
	       rh_host_kind(session->host, api_version, rh_json_string_at(object, "kind"), NULL);
}

static void jobs_print_findings(const struct rh_findings *findings, const char *source, const struct rh_job *job)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct rh_finding *finding = &findings->items[i];

		fprintf(stderr, "%s: %s %s: %s%s%s%s\n", source, job->kind->kind, job->name,
		        finding->severity == RH_FINDING_ERROR ? "" : "warning: ", finding->path, *finding->path ? ": " : "",
		        finding->detail);
	}
}

static int jobs_validate(const struct rh_session *session, const struct rh_job *job, const char *source, size_t *errors,
                         struct rh_error *err)
{
	rh_auto_findings findings = {0};
	struct rh_snapshot snapshot = {.host = session->host, .job = job};
	int r = rh_host_validate(&snapshot, &findings, err);

	if (r < 0)
		return r;
	jobs_print_findings(&findings, source, job);
	*errors += rh_findings_errors(&findings);
	return 0;
}

/* A job that cannot be parsed is told and counted, so that one run tells everything that is wrong. */
static int jobs_add(const struct rh_session *session, const struct rh_manifest_object *from, struct rh_jobs *jobs,
                    size_t *errors, struct rh_error *err)
{
	struct rh_json *object = rh_json_copy(from->object);
	struct rh_job *job = NULL;
	int r;

	if (!object)
		return rh_fail_oom(err);
	r = rh_host_parse(session->host, object, &job, err);
	if (r == RH_EINVAL || r == RH_ENOENT) {
		fprintf(stderr, "%s: %s\n", from->source, err->message);
		(*errors)++;
		return 0;
	}
	if (r < 0)
		return r;
	jobs->items[jobs->count] = job;
	jobs->sources[jobs->count++] = from->source;
	return jobs_validate(session, job, from->source, errors, err);
}

static int jobs_collect(const struct rh_session *session, struct rh_jobs *jobs, size_t *errors, struct rh_error *err)
{
	const struct rh_manifest *manifest = &jobs->manifest;
	int r = 0;

	jobs->items = rh_alloc_array(manifest->count + 1, sizeof(struct rh_job *));
	jobs->sources = rh_alloc_array(manifest->count + 1, sizeof(char *));
	if (!jobs->items || !jobs->sources)
		return rh_fail_oom(err);
	for (size_t i = 0; i < manifest->count && r == 0; i++)
		if (rh_jobs_is_job(session, manifest->items[i].object))
			r = jobs_add(session, &manifest->items[i], jobs, errors, err);
	return r;
}

int rh_jobs_open(const struct rh_cli *cli, const struct rh_session *session, struct rh_jobs *jobs, struct rh_error *err)
{
	size_t errors = 0;
	int r = 0;

	for (size_t i = 0; i < cli->operand_count && r == 0; i++)
		r = rh_manifest_read(&jobs->manifest, cli->operands[i], err);
	if (r == 0)
		r = jobs_collect(session, jobs, &errors, err);
	if (r < 0)
		return r;
	if (errors > 0)
		return rh_fail(err, RH_EINVAL, "%zu error%s; nothing was done", errors, errors == 1 ? "" : "s");
	if (jobs->count == 0)
		return rh_fail(err, RH_EINVAL, "no job in %s: an object of apiVersion kubeflow.org/v1 is needed",
		               cli->operands[0]);
	return 0;
}

void rh_jobs_close(struct rh_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++)
		rh_job_free(jobs->items[i]);
	rh_free(jobs->items);
	rh_free((void *)jobs->sources);
	rh_manifest_deinit(&jobs->manifest);
	*jobs = (struct rh_jobs){0};
}
