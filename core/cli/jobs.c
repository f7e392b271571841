/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "build/shadow.h"
#include "build/validate.h"
#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/objects.h"
#include "cli/override/override.h"
#include "cli/session.h"
#include "host/foreign.h"
#include "job/rules/schema/schema.h"

/* One reading of jobs. */
struct jobs_reading {
	const struct rh_session *session;
	struct rh_jobs *jobs;
	struct jobs_schema *schemas; /* of the kinds so far; ends with one that has none; owned */
	size_t errors;
};

/* What the objects of a kind are held against. */
struct jobs_schema {
	const struct rh_kind *kind;
	struct rh_json *document; /* with what the objects so far need */
	bool whole;               /* with all else, too */
};

static bool jobs_has_kind(const struct rh_host *host, const char *kind)
{
	for (size_t i = 0; i < rh_host_plugin_count(host); i++) {
		struct rh_plugin_info plugin;

		rh_host_plugin(host, i, &plugin);
		for (const struct rh_kind *const *at = plugin.kinds; *at; at++) {
			if (strcmp((*at)->kind, kind) == 0)
				return true;
		}
	}
	return false;
}

bool rh_jobs_is_job(const struct rh_session *session, const struct rh_json *object)
{
	/* An unknown kind of V1's group, or a known kind in another group, is a mistake to report, not an additional
	 * object. */
	const char *api_version = rh_json_string_at(object, "apiVersion");
	const char *kind = rh_json_string_at(object, "kind");

	if (rh_host_find_resource(session->host, api_version, kind))
		return false;
	return rh_starts_with(api_version, "kubeflow.org/") || rh_foreign_api(api_version, kind) ||
	       jobs_has_kind(session->host, kind);
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

/* @return 0, RH_EPLUGIN or RH_ENOMEM. @param[out] ret_schema borrowed */
static int jobs_schema_of(const struct jobs_reading *reading, const struct rh_kind *kind,
                          struct jobs_schema **ret_schema, struct rh_error *err)
{
	struct jobs_schema *schema = reading->schemas;
	int r = 0;

	while (schema->kind && schema->kind != kind)
		schema++;
	if (!schema->kind)
		r = rh_schema_of_kind_bare(kind, &schema->document, err);
	if (r < 0)
		return r;
	schema->kind = kind;
	*ret_schema = schema;
	return 0;
}

static int jobs_make_whole(struct jobs_schema *schema, struct rh_error *err)
{
	struct rh_json *document = NULL;
	int r = rh_schema_of_kind_here(schema->kind, &document, err);

	if (r < 0)
		return r;
	rh_json_free(schema->document);
	schema->document = document;
	schema->whole = true;
	return 0;
}

/* Most jobs have nothing to find. What there is, is found again with all fields that Kubernetes has, for the advice. */
static int jobs_check_fields(struct jobs_schema *schema, const struct rh_json *object, struct rh_findings *findings,
                             struct rh_error *err)
{
	rh_auto_findings first = {0};
	int r = schema->whole ? 0 : rh_schema_add_used(schema->document, object, err);

	if (r == 0 && !schema->whole && rh_schema_check(schema->document, object, RH_SCHEMA_FIELDS, &first) < 0)
		r = rh_fail_oom(err);
	if (r == 0 && first.count > 0)
		r = jobs_make_whole(schema, err);
	if (r == 0 && schema->whole && rh_schema_check(schema->document, object, RH_SCHEMA_FIELDS, findings) < 0)
		r = rh_fail_oom(err);
	return r;
}

/* A field that nobody reads is mostly misspelt. An API server drops it with a warning, so the job goes on here, too. */
static int jobs_find_unknown(const struct jobs_reading *reading, const struct rh_job *job, struct rh_findings *findings,
                             struct rh_error *err)
{
	struct jobs_schema *schema = NULL;
	rh_auto_findings all = {0};
	int r = jobs_schema_of(reading, job->kind, &schema, err);

	if (r == 0)
		r = jobs_check_fields(schema, job->object, &all, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < all.count; i++) {
		if (all.items[i].unknown_field)
			(void)rh_findings_add(findings, RH_FINDING_WARNING, all.items[i].path, "%s", all.items[i].detail);
	}
	return findings->failed ? rh_fail_oom(err) : 0;
}

static int jobs_validate(struct jobs_reading *reading, size_t place, struct rh_error *err)
{
	struct rh_jobs *jobs = reading->jobs;
	struct rh_job *job = jobs->items[place];
	rh_auto_findings findings = {0};
	struct rh_snapshot snapshot = {.host = reading->session->host, .job = job};
	int r = jobs_find_unknown(reading, job, &findings, err);

	if (r == 0 && rh_objects_look_up(reading->session, job, &jobs->manifest, &jobs->lookups[place], &findings) < 0)
		r = rh_fail_oom(err);
	snapshot.lookups = jobs->lookups[place];
	if (r == 0)
		r = rh_host_expand(&snapshot, job, err);
	if (r == 0)
		r = rh_build_validate(&snapshot, &findings, err);
	if (r == 0)
		r = rh_build_find_shadowed(&snapshot, &findings, err);
	if (r < 0)
		return r;
	jobs_print_findings(&findings, jobs->sources[place], job);
	reading->errors += rh_findings_errors(&findings);
	return 0;
}

/* A job that cannot be parsed is reported and counted, so that one run reports all errors. */
static int jobs_add(struct jobs_reading *reading, const struct rh_manifest_object *from, struct rh_error *err)
{
	struct rh_jobs *jobs = reading->jobs;
	struct rh_json *object = rh_json_copy(from->object);
	struct rh_job *job = NULL;
	int r;

	if (!object)
		return rh_fail_oom(err);
	/* An API server takes no status from whoever creates an object. */
	rh_json_remove(object, "status");
	r = rh_host_parse(reading->session->host, object, &job, err);
	if (r == RH_EINVAL || r == RH_ENOENT) {
		fprintf(stderr, "%s: %s\n", from->source, err->message);
		reading->errors++;
		return 0;
	}
	if (r < 0)
		return r;
	jobs->items[jobs->count] = job;
	jobs->sources[jobs->count++] = from->source;
	return jobs_validate(reading, jobs->count - 1, err);
}

static int jobs_collect(struct jobs_reading *reading, struct rh_error *err)
{
	struct rh_jobs *jobs = reading->jobs;
	const struct rh_manifest *manifest = &jobs->manifest;
	int r = 0;

	reading->schemas = rh_alloc_array(manifest->count + 1, sizeof(*reading->schemas));
	jobs->items = rh_alloc_array(manifest->count + 1, sizeof(struct rh_job *));
	jobs->sources = rh_alloc_array(manifest->count + 1, sizeof(char *));
	jobs->lookups = rh_alloc_array(manifest->count + 1, sizeof(*jobs->lookups));
	if (!reading->schemas || !jobs->items || !jobs->sources || !jobs->lookups)
		return rh_fail_oom(err);
	for (size_t i = 0; i < manifest->count && r == 0; i++)
		if (rh_jobs_is_job(reading->session, manifest->items[i].object))
			r = jobs_add(reading, &manifest->items[i], err);
	return r;
}

/* Message for a file without jobs: what it contains instead. */
static int jobs_refuse_none(const struct rh_session *session, const struct rh_jobs *jobs, const char *operand,
                            struct rh_error *err)
{
	const struct rh_json *first = jobs->manifest.items[0].object;

	(void)rh_host_kind(session->host, rh_json_string_at(first, "apiVersion"), rh_json_string_at(first, "kind"), err);
	return rh_wrap(err, RH_EINVAL, "no job in %s", operand);
}

int rh_jobs_read(const struct rh_cli *cli, struct rh_manifest *manifest, struct rh_error *err)
{
	int r = 0;

	for (size_t i = 0; i < cli->operand_count && r == 0; i++)
		r = rh_manifest_read(manifest, cli->operands[i], err);
	return r;
}

int rh_jobs_open(const struct rh_cli *cli, const struct rh_session *session, const char *from, struct rh_jobs *jobs,
                 struct rh_error *err)
{
	int r = rh_override(cli, session->host, &jobs->manifest, err);

	return r < 0 ? r : rh_jobs_check(session, jobs, from, err);
}

int rh_jobs_check(const struct rh_session *session, struct rh_jobs *jobs, const char *from, struct rh_error *err)
{
	struct jobs_reading reading = {.session = session, .jobs = jobs};
	int r = rh_objects_add_installed(session, &jobs->manifest, err);

	if (r == 0)
		r = jobs_collect(&reading, err);
	for (struct jobs_schema *schema = reading.schemas; schema && schema->kind; schema++)
		rh_json_free(schema->document);
	rh_free(reading.schemas);
	if (r < 0)
		return r;
	if (reading.errors > 0)
		return rh_fail(err, RH_EINVAL, "%zu error%s; nothing was done", reading.errors, reading.errors == 1 ? "" : "s");
	if (jobs->count == 0)
		return jobs_refuse_none(session, jobs, from, err);
	return 0;
}

void rh_jobs_close(struct rh_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		rh_job_free(jobs->items[i]);
		rh_lookups_free(jobs->lookups[i]);
	}
	rh_free(jobs->items);
	rh_free((void *)jobs->sources);
	rh_free(jobs->lookups);
	rh_manifest_deinit(&jobs->manifest);
	*jobs = (struct rh_jobs){0};
}
