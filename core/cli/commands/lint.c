/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "build/shadow.h"
#include "build/validate.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/jobs.h"
#include "cli/objects.h"
#include "cli/output.h"
#include "cli/override/override.h"
#include "cli/run/preflight.h"
#include "cli/session.h"
#include "job/rules/schema/schema.h"
#include "local/check.h"
#include "local/preflight/machine.h"
#include "local/preflight/pods.h"

/* Results of one lint of all files. */
struct lint {
	const struct rh_session *session;
	const struct rh_cli *cli;
	struct rh_json *pod_schema;
	struct rh_json *report; /* for -o json: an array of findings; NULL for text */
	struct rh_runtime_spec_machine machine;
	bool local;                         /* what `run` checks before it starts is checked, too */
	struct rh_preflight preflight;      /* used where it is */
	struct rh_manifest files;           /* the objects of all files; empty where one is standard input */
	const struct rh_manifest *manifest; /* of the file under work */
	size_t errors;
	size_t warnings;
	size_t jobs;
	size_t others; /* objects of definitions that plugins bring beside their kinds */
	bool strict;   /* warnings are errors, and what no plugin serves is one */
};

/* The name, or what the user gave instead of one. */
static const char *lint_name(const struct rh_manifest_object *item)
{
	return rh_json_string_at(item->object, item->named ? "metadata.generateName" : "metadata.name");
}

/* @param item NULL: the finding is about a file in which no object was found */
static int lint_add_row(struct lint *lint, const char *source, const struct rh_manifest_object *item,
                        const struct rh_finding *finding)
{
	rh_auto(json) row = rh_json_new_object();
	const char *kind = item ? rh_json_string_at(item->object, "kind") : "";
	const char *name = item ? lint_name(item) : "";

	if (!row || rh_json_set_string(row, "source", source) < 0 || rh_json_set_string(row, "kind", kind) < 0 ||
	    rh_json_set_string(row, "name", name) < 0 ||
	    rh_json_set_string(row, "severity",
	                       lint->strict || finding->severity == RH_FINDING_ERROR ? "error" : "warning") < 0 ||
	    rh_json_set_string(row, "path", finding->path) < 0 || rh_json_set_string(row, "detail", finding->detail) < 0)
		return RH_ENOMEM;
	return rh_json_append(lint->report, rh_take(row));
}

static int lint_report(struct lint *lint, const struct rh_manifest_object *item, const struct rh_findings *findings)
{
	const char *kind = rh_json_string_at(item->object, "kind");
	int r = 0;

	for (size_t i = 0; i < findings->count && r == 0; i++) {
		const struct rh_finding *finding = &findings->items[i];
		bool error = lint->strict || finding->severity == RH_FINDING_ERROR;

		*(error ? &lint->errors : &lint->warnings) += 1;
		if (lint->report)
			r = lint_add_row(lint, item->source, item, finding);
		else
			printf("%s: %s %s: %s: %s%s%s\n", item->source, kind, lint_name(item), error ? "error" : "warning",
			       finding->path, *finding->path ? ": " : "", finding->detail);
	}
	return r;
}

/* What was read from standard input is read once, so what its jobs name is looked for only there. */
static const struct rh_manifest *lint_objects(const struct lint *lint)
{
	return lint->files.count > 0 ? &lint->files : lint->manifest;
}

static int lint_preflight(const struct lint *lint, const struct rh_manifest_object *item, const struct rh_job *job,
                          struct rh_findings *findings, struct rh_error *err)
{
	struct rh_preflight preflight = lint->preflight;

	preflight.manifest = lint_objects(lint);
	return rh_preflight_check_job(&preflight, lint->session->host, job, item->source, findings, err);
}

/* Rules need a job that can be parsed; if it cannot, the schema has usually reported why. */
static int lint_rules(const struct lint *lint, const struct rh_manifest_object *item, struct rh_findings *findings,
                      struct rh_error *err)
{
	rh_auto(job) job = NULL;
	rh_auto(lookups) lookups = NULL;
	struct rh_json *copy = rh_json_copy(item->object);
	struct rh_snapshot snapshot = {.host = lint->session->host};
	int r;

	if (!copy)
		return rh_fail_oom(err);
	/* An API server takes no status from whoever creates an object. */
	rh_json_remove(copy, "status");
	r = rh_host_parse(lint->session->host, copy, &job, err);
	if (r == RH_EINVAL)
		return rh_findings_errors(findings) ? 0 : rh_findings_add(findings, RH_FINDING_ERROR, "", "%s", err->message);
	if (r < 0)
		return r;
	if (rh_objects_look_up(lint->session, job, lint_objects(lint), &lookups, findings) < 0)
		return rh_fail_oom(err);
	snapshot.job = job;
	snapshot.lookups = lookups;
	r = rh_host_expand(&snapshot, job, err);
	if (r == 0)
		r = rh_build_validate(&snapshot, findings, err);
	if (r == 0)
		r = rh_build_find_shadowed(&snapshot, findings, err);
	if (r == 0 && rh_local_check(job, &lint->machine, findings) < 0)
		r = rh_fail_oom(err);
	return r == 0 && lint->local ? lint_preflight(lint, item, job, findings, err) : r;
}

/* The plugin's own words come before those of the limits and rules in its schema. */
static int lint_object(const struct lint *lint, const struct rh_kind *kind, const struct rh_manifest_object *item,
                       struct rh_findings *findings, struct rh_error *err)
{
	const struct rh_json *object = item->object;
	rh_auto(json) schema = NULL;
	int r = rh_schema_of_kind(kind, lint->pod_schema, &schema, err);

	if (r == 0)
		r = rh_schema_add_rules(kind, schema, err);
	if (r == 0 && rh_schema_check(schema, object, RH_SCHEMA_FIELDS, findings) < 0)
		r = rh_fail_oom(err);
	if (r == 0)
		r = lint_rules(lint, item, findings, err);
	if (r == 0 && rh_schema_check(schema, object, RH_SCHEMA_LIMITS | RH_SCHEMA_RULES, findings) < 0)
		r = rh_fail_oom(err);
	return r;
}

static int lint_job(struct lint *lint, const struct rh_manifest_object *item, struct rh_error *err)
{
	rh_auto_findings findings = {0};
	const struct rh_json *object = item->object;
	const struct rh_kind *kind = rh_host_kind(lint->session->host, rh_json_string_at(object, "apiVersion"),
	                                          rh_json_string_at(object, "kind"), err);
	int r;

	lint->jobs++;
	if (!kind)
		r = rh_findings_add(&findings, RH_FINDING_ERROR, "kind", "%s", err->message);
	else
		r = lint_object(lint, kind, item, &findings, err);
	return r < 0 ? r : lint_report(lint, item, &findings);
}

/* An object of a definition that a plugin brings, held against its schema. */
static int lint_resource(struct lint *lint, const struct rh_json *resource, const struct rh_manifest_object *item,
                         struct rh_error *err)
{
	rh_auto_findings findings = {0};
	rh_auto(json) schema = NULL;
	int r = rh_schema_of_resource(resource, lint->pod_schema, &schema, err);

	lint->others++;
	if (r < 0)
		return r;
	if (rh_schema_check(schema, item->object, RH_SCHEMA_FIELDS | RH_SCHEMA_LIMITS | RH_SCHEMA_RULES, &findings) < 0 ||
	    lint_report(lint, item, &findings) < 0)
		return rh_fail_oom(err);
	return 0;
}

static int lint_unreadable(struct lint *lint, const char *path, char *message, struct rh_error *err)
{
	char whole[] = ""; /* the path of the field: the finding is about all of the file */
	const struct rh_finding finding = {.severity = RH_FINDING_ERROR, .path = whole, .detail = message};

	lint->errors++;
	if (lint->report)
		return lint_add_row(lint, path, NULL, &finding) < 0 ? rh_fail_oom(err) : 0;
	fprintf(stderr, "roundhouse lint: %s\n", message);
	return 0;
}

/* What stands beside jobs; everything else that no plugin serves was mostly meant to be a job. */
static bool lint_is_of_kubernetes(const struct rh_json *object)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");
	size_t group = strcspn(api_version, "/");
	static const char own[] = ".k8s.io";
	size_t length = sizeof(own) - 1;

	return !memchr(api_version, '.', group) ||
	       (group > length && strncmp(api_version + group - length, own, length) == 0);
}

static const struct rh_manifest_object *lint_find_foreign(const struct rh_manifest *manifest)
{
	for (size_t i = 0; i < manifest->count; i++) {
		if (!lint_is_of_kubernetes(manifest->items[i].object))
			return &manifest->items[i];
	}
	return NULL;
}

/* Mostly the plugin of its kind is not there; but a file of ConfigMaps alone is as good. */
static int lint_no_job(struct lint *lint, const struct rh_manifest *manifest, struct rh_error *err)
{
	rh_auto_findings findings = {0};
	const struct rh_manifest_object *foreign = lint_find_foreign(manifest);
	const struct rh_manifest_object *item = foreign ? foreign : &manifest->items[0];
	struct rh_error reason = {0};

	(void)rh_host_kind(lint->session->host, rh_json_string_at(item->object, "apiVersion"),
	                   rh_json_string_at(item->object, "kind"), &reason);
	if (rh_findings_add(&findings, foreign ? RH_FINDING_ERROR : RH_FINDING_WARNING, "kind",
	                    "there is no job in the file: %s", reason.message) < 0 ||
	    lint_report(lint, item, &findings) < 0)
		return rh_fail_oom(err);
	return 0;
}

/* Beside jobs, what is of no group of Kubernetes was mostly meant to be one. */
static int lint_unserved(struct lint *lint, const struct rh_manifest_object *item, struct rh_error *err)
{
	rh_auto_findings findings = {0};
	struct rh_error reason = {0};

	(void)rh_host_kind(lint->session->host, rh_json_string_at(item->object, "apiVersion"),
	                   rh_json_string_at(item->object, "kind"), &reason);
	if (rh_findings_add(&findings, RH_FINDING_ERROR, "kind", "%s", reason.message) < 0 ||
	    lint_report(lint, item, &findings) < 0)
		return rh_fail_oom(err);
	lint->jobs++;
	return 0;
}

static int lint_item(struct lint *lint, const struct rh_manifest_object *item, struct rh_error *err)
{
	const struct rh_json *resource = rh_host_find_resource(
		lint->session->host, rh_json_string_at(item->object, "apiVersion"), rh_json_string_at(item->object, "kind"));

	if (resource)
		return lint_resource(lint, resource, item, err);
	if (rh_jobs_is_job(lint->session, item->object))
		return lint_job(lint, item, err);
	if (lint->strict && !lint_is_of_kubernetes(item->object))
		return lint_unserved(lint, item, err);
	return 0;
}

/* A file that cannot be read is one error of the report; the next file is still looked at. */
static int lint_file(struct lint *lint, const char *path, struct rh_error *err)
{
	rh_auto_manifest manifest = {0};
	struct rh_error reason = {0};
	size_t before, count;
	int r = rh_manifest_read(&manifest, path, &reason);

	if (r == RH_ENOMEM)
		return rh_fail_oom(err);
	if (r < 0)
		return lint_unreadable(lint, path, reason.message, err);
	r = rh_override(lint->cli, lint->session->host, &manifest, err);
	if (r < 0)
		return r;
	before = lint->jobs + lint->others;
	lint->manifest = &manifest;
	count = manifest.count;
	if (lint->files.count == 0)
		r = rh_objects_add_installed(lint->session, &manifest, err);
	for (size_t i = 0; i < count && r == 0; i++)
		r = lint_item(lint, &manifest.items[i], err);
	if (r == 0 && lint->jobs + lint->others == before)
		r = lint_no_job(lint, &manifest, err);
	lint->manifest = NULL; /* it ends here */
	return r;
}

/* A file that cannot be read is reported when its turn comes. */
static int lint_read_all(const struct rh_cli *cli, struct lint *lint, struct rh_error *err)
{
	bool files = true;
	int r;

	for (size_t i = 0; i < cli->operand_count; i++)
		files = files && strcmp(cli->operands[i], "-") != 0;
	for (size_t i = 0; files && i < cli->operand_count; i++) {
		if (rh_manifest_read(&lint->files, cli->operands[i], NULL) == RH_ENOMEM)
			return rh_fail_oom(err);
	}
	r = rh_override(cli, lint->session->host, &lint->files, err);
	return r == 0 ? rh_objects_add_installed(lint->session, &lint->files, err) : r;
}

static bool lint_looks_up(const struct rh_host *host)
{
	for (size_t i = 0; i < rh_host_plugin_count(host); i++) {
		struct rh_plugin_info info;

		rh_host_plugin(host, i, &info);
		for (const struct rh_kind *const *kind = info.kinds; *kind; kind++) {
			if (rh_lookups_text(*kind))
				return true;
		}
	}
	return false;
}

static int lint_files(const struct rh_cli *cli, struct lint *lint, struct rh_error *err)
{
	size_t length;
	const char *text = rh_schema_pod_text(&length);
	int r = rh_json_parse(text, length, &lint->pod_schema, err);

	if (r == 0 && rh_cli_wants_json(cli)) {
		lint->report = rh_json_new_array();
		r = lint->report ? 0 : rh_fail_oom(err);
	}
	if (lint->local) {
		lint->preflight.config = lint->session->config;
		rh_preflight_machine_read(lint->machine.can_mount, &lint->preflight.machine);
	}
	if (r == 0 && (lint->local || lint_looks_up(lint->session->host)))
		r = lint_read_all(cli, lint, err);
	for (size_t i = 0; i < cli->operand_count && r == 0; i++)
		r = lint_file(lint, cli->operands[i], err);
	return r;
}

static int lint_finish(const struct rh_cli *cli, const struct lint *lint)
{
	if (lint->report) {
		if (rh_cli_put_json(lint->report) < 0)
			return rh_cli_fail(cli, RH_EXIT_FAILED, "out of memory");
	} else if (lint->errors == 0) {
		printf("%zu job%s, no error, %zu warning%s\n", lint->jobs, lint->jobs == 1 ? "" : "s", lint->warnings,
		       lint->warnings == 1 ? "" : "s");
	}
	return lint->errors ? RH_EXIT_BAD_INPUT : RH_EXIT_OK;
}

static int lint_run(const struct rh_cli *cli)
{
	rh_auto_session session = {0};
	struct lint lint = {.session = &session,
	                    .cli = cli,
	                    .strict = rh_cli_option(cli, "strict") != NULL,
	                    .local = rh_cli_option(cli, "local") != NULL,
	                    .machine = {.can_mount = rh_runtime_spec_can_mount()}};
	struct rh_error err = {0};
	int r = rh_session_open(cli, &session, &err);

	if (r == 0)
		r = rh_run_mappings(cli, &session, &err);
	if (r == 0)
		r = lint_files(cli, &lint, &err);
	r = r < 0 ? rh_cli_end(cli, r, &err) : lint_finish(cli, &lint);
	rh_json_free(lint.pod_schema);
	rh_json_free(lint.report);
	rh_manifest_deinit(&lint.files);
	return r;
}

static const struct rh_option lint_options[] = {
	{"local", 0, NULL, NULL, "report, too, what would make `run` fail on this machine"},
	{"image", 0, "IMAGE=FOLDER", NULL, "with --local: as of `run`"},
	{"volume", 0, "CLAIM=FOLDER", NULL, "with --local: as of `run`"},
	RH_OVERRIDE_OPTIONS,
	{"output", 'o', "FORMAT", "text|json", "how to print the findings"},
	{"strict", 0, NULL, NULL, "warnings are errors, and so is an object that no plugin serves"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_lint = {
	.name = "lint",
	.synopsis = "FILE...",
	.summary = "check job files against every rule, without running anything",
	.details =
		"Reports what Training Operator V1 would refuse, in its words, and what it let in and should not have:\n"
		"unknown fields and where they belong, policies that are misspelt, names that are too long for a child\n"
		"of the job. A field of a pod's spec that is not known is a warning, because it is passed on. A file without\n"
		"a job is an error, but for one of Kubernetes' own kinds. FILE may be - for standard input.\n\n"
		"Limits, formats and CEL rules of a kind's schema are checked as an API server does, in its words. With\n"
		"--strict warnings are errors, too.\n\n"
		"Exit status: 0 no error (warnings may be there), 2 errors.",
	.options = lint_options,
	.operands_min = 1,
	.operands_max = 10000,
	.run = lint_run,
};
