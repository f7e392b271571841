/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/preflight.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/keys.h"
#include "config/values.h"
#include "local/pod/images.h"
#include "local/pod/volumes.h"
#include "local/preflight/machine.h"
#include "local/preflight/pods.h"
#include "local/runtime_spec.h"

static int preflight_no_folder(const char *option, const char *folder, struct rh_error *err)
{
	return rh_fail(err, RH_EINVAL, "option %s: there is no folder \"%s\"; make it, or name another one", option,
	               folder);
}

/* What stands for an image is read as a line of [images]. Relative folders start where the user is, here and below. */
static int preflight_image_folders(const char *option, const char *value, char **ret_folders, struct rh_error *err)
{
	rh_auto_free char *folders = NULL;
	char here[PATH_MAX];

	if (!getcwd(here, sizeof(here)))
		return preflight_no_folder(option, ".", err);
	if (rh_config_image_folders(value, here, &folders) < 0)
		return rh_fail_oom(err);
	for (const char *at = folders; *at; at += *at == ':' ? 1 : 0) {
		size_t length = strcspn(at, ":");
		rh_auto_free char *folder = rh_strndup(at, length);

		if (!folder)
			return rh_fail_oom(err);
		if (access(folder, F_OK) < 0)
			return preflight_no_folder(option, folder, err);
		at += length;
	}
	*ret_folders = rh_take(folders);
	return 0;
}

static int preflight_volume_folder(const char *option, const char *value, char **ret_folder, struct rh_error *err)
{
	char *real = realpath(value, NULL);

	if (!real)
		return preflight_no_folder(option, value, err);
	*ret_folder = rh_strdup(real);
	free(real); /* realpath() has it from malloc() */
	return *ret_folder ? 0 : rh_fail_oom(err);
}

/* An option NAME=FOLDER that comes before a section of the configuration. */
struct preflight_option {
	const char *name;
	const char *section;
	int (*read)(const char *option, const char *value, char **ret_folders, struct rh_error *err);
};

static int preflight_map(struct rh_session *session, const struct preflight_option *option, const char *value,
                         struct rh_error *err)
{
	const char *equal = strchr(value, '=');
	rh_auto_free char *name = equal ? rh_strndup(value, (size_t)(equal - value)) : NULL;
	rh_auto_free char *origin = rh_asprintf("--%s", option->name);
	rh_auto_free char *folders = NULL;
	int r;

	if (!equal || equal == value || !equal[1])
		return rh_fail(err, RH_EINVAL, "option --%s: \"%s\" is not of the form NAME=FOLDER", option->name, value);
	if (!name || !origin)
		return rh_fail_oom(err);
	r = option->read(origin, equal + 1, &folders, err);
	if (r == 0 && rh_config_set(session->config, option->section, name, folders, origin) < 0)
		r = rh_fail_oom(err);
	return r;
}

int rh_run_mappings(const struct rh_cli *cli, struct rh_session *session, struct rh_error *err)
{
	static const struct preflight_option options[] = {
		{"image", RH_CONFIG_IMAGES_SECTION, preflight_image_folders},
		{"volume", RH_VOLUMES_SECTION, preflight_volume_folder},
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const char *value;
		size_t cursor = 0;

		while (r == 0 && (value = rh_cli_each(cli, options[i].name, &cursor)))
			r = preflight_map(session, &options[i], value, err);
	}
	return r;
}

static void preflight_print(const struct rh_findings *findings, const char *source, const struct rh_job *job)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct rh_finding *finding = &findings->items[i];

		fprintf(stderr, "%s: %s %s: %s%s%s%s\n", source, job->kind->kind, job->name,
		        finding->severity == RH_FINDING_ERROR ? "" : "warning: ", finding->path, *finding->path ? ": " : "",
		        finding->detail);
	}
}

static int preflight_jobs(const struct rh_preflight *all, const struct rh_session *session, const struct rh_jobs *jobs,
                          size_t *errors, struct rh_error *err)
{
	for (size_t i = 0; i < jobs->count; i++) {
		rh_auto_findings findings = {0};
		int r = rh_preflight_check_job(all, session->host, jobs->items[i], jobs->sources[i], &findings, err);

		if (r < 0)
			return r;
		preflight_print(&findings, jobs->sources[i], jobs->items[i]);
		*errors += rh_findings_errors(&findings);
	}
	return 0;
}

/* The question costs a process, so it is asked only where the answer counts. */
static bool preflight_has_volumes(const struct rh_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		for (size_t k = 0; k < jobs->items[i]->spec_count; k++) {
			if (rh_json_size(rh_json_at(jobs->items[i]->specs[k].template_, "spec.volumes")) > 0)
				return true;
		}
	}
	return false;
}

int rh_run_preflight(const struct rh_session *session, const struct rh_jobs *jobs, const char *log_dir,
                     struct rh_error *err)
{
	struct rh_preflight all = {.config = session->config, .manifest = &jobs->manifest, .log_dir = log_dir};
	rh_auto_findings call = {0};
	size_t errors = 0;
	int r;

	rh_preflight_machine_read(preflight_has_volumes(jobs) && rh_runtime_spec_can_mount(), &all.machine);
	if (rh_preflight_check_call(&all, &call) < 0)
		return rh_fail_oom(err);
	for (size_t i = 0; i < call.count; i++)
		fprintf(stderr, "%s%s\n", call.items[i].severity == RH_FINDING_ERROR ? "" : "warning: ", call.items[i].detail);
	errors = rh_findings_errors(&call);
	r = preflight_jobs(&all, session, jobs, &errors, err);
	if (r < 0 || errors == 0)
		return r;
	return rh_fail(err, RH_EINVAL, "%zu problem%s on this machine; nothing was started", errors,
	               errors == 1 ? "" : "s");
}

static bool preflight_is_mapped(const struct rh_config *config, const struct rh_json *list)
{
	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		const char *image = rh_json_string(rh_json_get(item, "image"));

		if (image && !rh_images_find(config, image))
			return false;
	}
	return true;
}

void rh_run_note_environment(const struct rh_session *session, const struct rh_jobs *jobs)
{
	const char *active = rh_images_active();
	bool mapped = true;

	for (size_t i = 0; active && i < jobs->count; i++) {
		for (size_t k = 0; k < jobs->items[i]->spec_count; k++)
			mapped = mapped && preflight_is_mapped(session->config,
			                                       rh_json_at(jobs->items[i]->specs[k].template_, "spec.containers"));
	}
	if (active && !mapped)
		fprintf(stderr, "note: images that are not mapped use the active virtual environment %s\n", active);
}

/* @return the text of a member, "" where it is absent */
static const char *plan_text(const struct rh_json *json, const char *member)
{
	const char *text = rh_json_string(rh_json_get(json, member));

	return text ? text : "";
}

static int plan_words(const struct rh_json *container, const char *member, struct rh_json *words)
{
	const struct rh_json *word = rh_json_first(rh_json_get(container, member));
	int r = 0;

	for (; word && r == 0; word = rh_json_next(word))
		r = rh_json_append(words, rh_json_copy(word));
	return r;
}

/* The plugin's own containers are shown, too: they run. */
static int plan_containers(const struct rh_config *config, const struct rh_json *list, bool init,
                           struct rh_json *containers)
{
	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		const char *image = plan_text(item, "image");
		const struct rh_setting *line = rh_images_find(config, image);
		struct rh_json *row = rh_json_new_object();
		struct rh_json *words;

		if (rh_json_append(containers, row) < 0)
			return RH_ENOMEM;
		words = rh_json_ensure_array(row, "command");
		if (!words || plan_words(item, "command", words) < 0 || plan_words(item, "args", words) < 0 ||
		    rh_json_set_string(row, "name", plan_text(item, "name")) < 0 || rh_json_set_bool(row, "init", init) < 0 ||
		    rh_json_set_string(row, "image", image) < 0 ||
		    (line && rh_json_set_string(row, "environment", line->value) < 0) ||
		    (line && rh_json_set_string(row, "from", line->origin) < 0))
			return RH_ENOMEM;
	}
	return 0;
}

static int plan_replicas(const struct rh_session *session, const struct rh_jobs *jobs, const struct rh_job *job,
                         struct rh_json *replicas, struct rh_error *err)
{
	rh_auto_preflight_pods pods = {{NULL}};
	int r = rh_preflight_pods_make(session->host, job, &jobs->manifest, &pods, err);

	for (size_t i = 0; i < job->spec_count && r == 0; i++) {
		const struct rh_json *spec = rh_json_get(pods.items[i], "spec");
		struct rh_json *row = rh_json_new_object();
		struct rh_json *containers;

		if (rh_json_append(replicas, row) < 0)
			return rh_fail_oom(err);
		containers = rh_json_ensure_array(row, "containers");
		if (!containers || rh_json_set_string(row, "type", job->specs[i].type) < 0 ||
		    rh_json_set_integer(row, "replicas", job->specs[i].replicas) < 0 ||
		    plan_containers(session->config, rh_json_get(spec, "initContainers"), true, containers) < 0 ||
		    plan_containers(session->config, rh_json_get(spec, "containers"), false, containers) < 0)
			return rh_fail_oom(err);
	}
	return r;
}

/* A claim without "folder" gets a new one. */
static int plan_add_claim(const struct rh_session *session, const char *name, struct rh_json *claims)
{
	const char *folder = rh_volumes_claim(session->config, name);
	struct rh_json *row = rh_json_new_object();

	if (rh_json_append(claims, row) < 0 || rh_json_set_string(row, "name", name) < 0 ||
	    (folder && rh_json_set_string(row, "folder", folder) < 0))
		return RH_ENOMEM;
	return 0;
}

static bool plan_has_claim(const struct rh_json *claims, const char *name)
{
	const struct rh_json *row = rh_json_first(claims);

	while (row && !rh_text_equal(plan_text(row, "name"), name))
		row = rh_json_next(row);
	return row != NULL;
}

static int plan_claims(const struct rh_session *session, const struct rh_job *job, struct rh_json *claims)
{
	for (size_t i = 0; i < job->spec_count; i++) {
		const struct rh_json *volume = rh_json_first(rh_json_at(job->specs[i].template_, "spec.volumes"));

		for (; volume; volume = rh_json_next(volume)) {
			const char *name = rh_json_string_at(volume, "persistentVolumeClaim.claimName");

			if (name && !plan_has_claim(claims, name) && plan_add_claim(session, name, claims) < 0)
				return RH_ENOMEM;
		}
	}
	return 0;
}

static int plan_job(const struct rh_session *session, const struct rh_jobs *jobs, size_t place,
                    struct rh_json **ret_plan, struct rh_error *err)
{
	const struct rh_job *job = jobs->items[place];
	const char *source = jobs->sources[place];
	rh_auto(json) plan = rh_json_new_object();
	struct rh_json *replicas;
	int r;

	if (!plan || rh_json_set_string(plan, "kind", job->kind->kind) < 0 ||
	    rh_json_set_string(plan, "namespace", job->namespace_) < 0 || rh_json_set_string(plan, "name", job->name) < 0 ||
	    rh_json_set_string(plan, "source", source) < 0)
		return rh_fail_oom(err);
	replicas = rh_json_ensure_array(plan, "replicas");
	r = replicas ? plan_replicas(session, jobs, job, replicas, err) : rh_fail_oom(err);
	if (r == 0 && plan_claims(session, job, rh_json_ensure_array(plan, "claims")) < 0)
		r = rh_fail_oom(err);
	if (r == 0)
		*ret_plan = rh_take(plan);
	return r;
}

static void plan_print_container(const struct rh_json *container, struct rh_str *out)
{
	const char *environment = rh_json_string(rh_json_get(container, "environment"));
	const struct rh_json *word = rh_json_first(rh_json_get(container, "command"));

	rh_str_appendf(out, "    %s%s:", rh_json_bool(rh_json_get(container, "init"), false) ? "init container " : "",
	               plan_text(container, "name"));
	for (; word; word = rh_json_next(word)) {
		const char *text = rh_json_string(word);

		rh_str_append(out, " ");
		rh_str_append_line(out, text ? text : "", text ? strlen(text) : 0, 200);
	}
	rh_str_appendf(out, "\n      image %s: ", plan_text(container, "image"));
	if (environment)
		rh_str_appendf(out, "%s (%s)\n", environment, plan_text(container, "from"));
	else if (rh_images_active())
		rh_str_appendf(out, "not mapped; the active virtual environment %s\n", rh_images_active());
	else
		rh_str_append(out, "not mapped; the PATH of this shell\n");
}

static void plan_print_claims(const struct rh_json *claims, struct rh_str *out)
{
	const struct rh_json *row = rh_json_first(claims);

	for (; row; row = rh_json_next(row)) {
		const char *folder = rh_json_string(rh_json_get(row, "folder"));

		rh_str_appendf(out, "  claim %s: %s\n", plan_text(row, "name"), folder ? folder : "a new folder of the run");
	}
}

static void plan_print(const struct rh_json *plan, struct rh_str *out)
{
	const struct rh_json *row = rh_json_first(rh_json_get(plan, "replicas"));

	rh_str_appendf(out, "%s %s (%s)\n", plan_text(plan, "kind"), plan_text(plan, "name"), plan_text(plan, "source"));
	for (; row; row = rh_json_next(row)) {
		const struct rh_json *container = rh_json_first(rh_json_get(row, "containers"));
		int64_t count = 0;

		(void)rh_json_integer(rh_json_get(row, "replicas"), &count);
		rh_str_appendf(out, "  %s: %lld replica%s\n", plan_text(row, "type"), (long long)count, count == 1 ? "" : "s");
		for (; container; container = rh_json_next(container))
			plan_print_container(container, out);
	}
	plan_print_claims(rh_json_get(plan, "claims"), out);
}

int rh_run_print_plan(const struct rh_session *session, const struct rh_jobs *jobs, bool json, struct rh_error *err)
{
	rh_auto_str out = {0};

	for (size_t i = 0; i < jobs->count; i++) {
		rh_auto(json) plan = NULL;
		int r = plan_job(session, jobs, i, &plan, err);

		if (r < 0)
			return r;
		if (json) {
			rh_json_print(plan, false, &out);
			rh_str_append(&out, "\n");
		} else {
			plan_print(plan, &out);
		}
	}
	if (!json)
		rh_str_append(&out, "nothing was started\n");
	if (out.failed)
		return rh_fail_oom(err);
	rh_cli_print(&out);
	return 0;
}
