/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/override/override.h"

#include <string.h>

#include "base/str.h"
#include "cli/override/path.h"
#include "cli/override/set.h"
#include "cli/override/types.h"
#include "job/rules/schema/schema.h"

/* What is needed to change one job. Borrowed, but for the schema. */
struct override_job {
	const struct rh_kind *kind;
	struct rh_json *object;
	struct rh_json *schema; /* NULL: no option needs it so far */
	size_t count;           /* of jobs that get the option */
};

/* Change one job as the value of an option demands. */
typedef int override_fn(struct override_job *job, const char *text, struct rh_error *err);

static int override_read_schema(struct override_job *job, struct rh_error *err)
{
	return job->schema ? 0 : rh_schema_of_kind_here(job->kind, &job->schema, err);
}

/* What makes the object another one is not a field of the job. */
static int override_check_path(const struct override_job *job, const char *path, struct rh_error *err)
{
	size_t first = strcspn(path, ".[");

	if (!rh_words_have("spec|metadata", '|', path, first))
		return rh_fail(err, RH_EINVAL, "\"%s\" is not a field of metadata or spec", path);
	if (job->count > 1 && (strcmp(path, "metadata.name") == 0 || strcmp(path, "metadata.generateName") == 0))
		return rh_fail(err, RH_EINVAL, "the files have %zu jobs, which cannot have one name", job->count);
	return 0;
}

static int override_set(struct override_job *job, const char *text, struct rh_error *err)
{
	rh_auto_free char *path = NULL;
	const char *value = NULL;
	int r = rh_field_split(text, &path, &value, err);

	if (r == 0)
		r = override_check_path(job, path, err);
	if (r == 0)
		r = override_read_schema(job, err);
	return r < 0 ? r : rh_field_set(job->schema, job->object, path, value, err);
}

static int override_env(struct override_job *job, const char *text, struct rh_error *err)
{
	return rh_types_set_env(job->kind, job->object, text, err);
}

static int override_replicas(struct override_job *job, const char *text, struct rh_error *err)
{
	return rh_types_set_replicas(job->kind, job->object, text, err);
}

static int override_args(struct override_job *job, const char *text, struct rh_error *err)
{
	return rh_types_set_args(job->kind, job->object, text, err);
}

static int override_cpu(struct override_job *job, const char *text, struct rh_error *err)
{
	(void)text;
	rh_types_remove_gpus(job->kind, job->object);
	return rh_types_set_env(job->kind, job->object, "CUDA_VISIBLE_DEVICES=", err);
}

static override_fn *override_find(const char *option)
{
	static const struct {
		const char *name;
		override_fn *fn;
	} rows[] = {{"set", override_set},
	            {"env", override_env},
	            {"replicas", override_replicas},
	            {"cpu", override_cpu},
	            {"args", override_args}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, option) == 0)
			return rows[i].fn;
	}
	return NULL;
}

static int override_job(const struct rh_cli *cli, struct override_job *job, struct rh_error *err)
{
	int r = 0;

	for (size_t i = 0; i < cli->given_count && r == 0; i++) {
		const struct rh_given *given = &cli->given[i];
		override_fn *fn = override_find(given->option->name);

		r = fn ? fn(job, given->value, err) : 0;
		if (r < 0)
			r = rh_wrap(err, r, "option --%s: %s %s", given->option->name, job->kind->kind,
			            rh_json_string_at(job->object, "metadata.name"));
	}
	return r;
}

int rh_override_job(const struct rh_kind *kind, struct rh_json *object, const char *option, const char *text,
                    struct rh_error *err)
{
	struct override_job job = {.kind = kind, .object = object, .count = 1};
	override_fn *fn = override_find(option);
	int r = fn ? fn(&job, text, err) : rh_fail(err, RH_EINVAL, "there is no option --%s", option);

	rh_json_free(job.schema);
	return r;
}

static const struct rh_kind *override_kind(const struct rh_host *host, const struct rh_json *object)
{
	return rh_host_kind(host, rh_json_string_at(object, "apiVersion"), rh_json_string_at(object, "kind"), NULL);
}

static size_t override_count(const struct rh_host *host, const struct rh_manifest *manifest)
{
	size_t count = 0;

	for (size_t i = 0; i < manifest->count; i++)
		count += override_kind(host, manifest->items[i].object) ? 1 : 0;
	return count;
}

static bool override_is_given(const struct rh_cli *cli)
{
	for (size_t i = 0; i < cli->given_count; i++) {
		if (override_find(cli->given[i].option->name))
			return true;
	}
	return false;
}

int rh_override(const struct rh_cli *cli, const struct rh_host *host, struct rh_manifest *manifest,
                struct rh_error *err)
{
	size_t count = override_is_given(cli) ? override_count(host, manifest) : 0;
	int r = 0;

	for (size_t i = 0; i < manifest->count && count > 0 && r == 0; i++) {
		struct rh_json *object = manifest->items[i].object;
		struct override_job job = {.kind = override_kind(host, object), .object = object, .count = count};

		if (job.kind)
			r = override_job(cli, &job, err);
		rh_json_free(job.schema);
	}
	return r;
}
