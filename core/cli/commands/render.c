/* SPDX-License-Identifier: Apache-2.0 */
#include "build/build.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/jobs.h"
#include "cli/output.h"
#include "cli/override/override.h"
#include "cli/session.h"
#include "job/keep.h"
#include "job/values/names.h"

/* One replica type's pods, then its Services, as a controller creates them (v1-behaviour D.2). */
static int render_type(struct rh_builder *builder, const struct rh_kind *kind, const struct rh_replica_spec *spec,
                       struct rh_json *items, struct rh_error *err)
{
	struct rh_json *object;
	int r = 0;

	bool outside = spec->known && (spec->known->flags & RH_REPLICA_OUTSIDE);

	for (int32_t i = 0; r == 0 && i < spec->replicas && !outside; i++) {
		r = rh_build_pod(builder, spec->type, i, &object, err);
		if (r == 0 && rh_json_append(items, object) < 0)
			r = rh_fail_oom(err);
	}
	for (int32_t i = 0; r == 0 && i < spec->replicas && (kind->flags & RH_KIND_SERVICES); i++) {
		r = rh_build_service(builder, spec->type, i, &object, err);
		if (r == 0 && rh_json_append(items, object) < 0)
			r = rh_fail_oom(err);
	}
	return r;
}

/* Put words in place of the values of a part of an object that is made of random bytes. */
static int render_hide(struct rh_json *object, const char *part)
{
	struct rh_json *members = rh_json_detach(object, part);
	rh_auto(json) hidden = members ? rh_json_new_object() : NULL;
	int r = !members || hidden ? 0 : RH_ENOMEM;

	for (const struct rh_json *member = rh_json_first(members); member && r == 0; member = rh_json_next(member))
		r = rh_json_add(hidden, rh_json_key(member), rh_json_new_string("(made by the controller)"));
	rh_json_free_secret(members);
	return r == 0 && hidden ? rh_json_set(object, part, rh_take(hidden)) : r;
}

/* Such an object as a controller makes it, without its content. */
static int render_made(const struct rh_snapshot *snapshot, const struct rh_json *object, struct rh_json *items,
                       struct rh_error *err)
{
	struct rh_json *made = NULL;
	int r = rh_build_made(snapshot, object, &made, err);

	if (r < 0)
		return r;
	if (render_hide(made, "data") < 0 || render_hide(made, "stringData") < 0) {
		rh_json_free_secret(made);
		return rh_fail_oom(err);
	}
	return rh_json_append(items, made) < 0 ? rh_fail_oom(err) : 0;
}

/* What the plugin adds comes first: pods may mount it. */
static int render_objects(const struct rh_snapshot *snapshot, struct rh_builder *builder, struct rh_json *items,
                          struct rh_error *err)
{
	rh_auto(json) objects = NULL;
	int r = rh_build_objects(builder, &objects, err);

	while (r == 0 && rh_json_size(objects) > 0) {
		rh_auto(json) object = rh_json_detach_item(objects, 0);

		if (rh_keep_read(object).random > 0)
			r = render_made(snapshot, object, items, err);
		else if (rh_json_append(items, rh_take(object)) < 0)
			r = rh_fail_oom(err);
	}
	return r;
}

/* A controller makes nothing for a job that is suspended or another's. */
static bool render_is_due(const struct rh_job *job)
{
	return rh_job_is_ours(job) && !job->policy.suspend;
}

static int render_job(const struct rh_session *session, const struct rh_jobs *jobs, size_t place, struct rh_json *items,
                      struct rh_error *err)
{
	const struct rh_job *job = jobs->items[place];
	const struct rh_snapshot snapshot = {
		.host = session->host, .job = job, .gang = &session->config->gang, .lookups = jobs->lookups[place]};
	rh_auto(builder) builder = NULL;
	int r;

	if (!render_is_due(job))
		return 0;
	r = rh_builder_new(&snapshot, &builder, err);
	if (r == 0)
		r = render_objects(&snapshot, builder, items, err);
	for (size_t i = 0; r == 0 && i < job->spec_count; i++)
		r = render_type(builder, job->kind, &job->specs[i], items, err);
	return r;
}

static int render_jobs(const struct rh_session *session, const struct rh_jobs *jobs, struct rh_json **ret_list,
                       struct rh_error *err)
{
	rh_auto(json) items = rh_json_new_array();
	int r = items ? 0 : rh_fail_oom(err);

	for (size_t i = 0; r == 0 && i < jobs->count; i++)
		r = render_job(session, jobs, i, items, err);
	if (r < 0)
		return r;
	*ret_list = rh_cli_list(rh_take(items));
	return *ret_list ? 0 : rh_fail_oom(err);
}

static int render_run(const struct rh_cli *cli)
{
	rh_auto_session session = {0};
	rh_auto_jobs jobs = {0};
	rh_auto(json) list = NULL;
	struct rh_error err = {0};
	const char *gang = rh_cli_option(cli, "gang-scheduler");
	int r = rh_session_open(cli, &session, &err);

	if (r == 0)
		r = rh_session_take_variables(&session, &err);
	if (r == 0 && gang)
		r = rh_gang_parse(gang, &session.config->gang, &err);
	if (r == 0)
		r = rh_jobs_read(cli, &jobs.manifest, &err);
	if (r == 0)
		r = rh_jobs_open(cli, &session, cli->operands[0], &jobs, &err);
	if (r == 0)
		r = render_jobs(&session, &jobs, &list, &err);
	if (r == 0 && rh_cli_put_out(list, rh_cli_wants_json(cli)) < 0)
		r = rh_fail_oom(&err);
	return rh_cli_end(cli, r, &err);
}

static const struct rh_option render_options[] = {
	{"output", 'o', "FORMAT", "yaml|json", "how to print the objects (default: yaml)"},
	{"gang-scheduler", 0, "NAME", NULL,
     "with the PodGroup of this gang scheduler: none, volcano, scheduler-plugins[:SCHEDULER] (default: as configured)"},
	RH_OVERRIDE_OPTIONS,
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_render = {
	.name = "render",
	.synopsis = "FILE...",
	.summary = "print the objects that a controller would create for jobs now",
	.details =
		"Prints one List of pods, Services and what else the jobs need, with the names, labels and environment of a\n"
		"cluster. A job that is suspended or managed by another controller has none.\n"
		"CUSTOM_CLUSTER_DOMAIN counts as it does for the controller. The status of a job counts for nothing, and of\n"
		"metadata.generateName the same name is made each time: bbbbb, bbbbc, ... are put behind it.\n"
		"ConfigMaps, Secrets and what else jobs name are read, not printed. FILE may be - for standard input.\n\n"
		"Exit status: 0 printed, 1 it could not be done, 2 wrong arguments or files, or a job that is not valid.",
	.options = render_options,
	.operands_min = 1,
	.operands_max = 1000,
	.run = render_run,
};
