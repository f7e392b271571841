/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/crds.h"
#include "cli/commands.h"
#include "cli/commands/crds_installed.h"
#include "cli/output.h"
#include "cli/session.h"

#include <stdio.h>
#include <string.h>

#include "base/os/file.h"
#include "schema/crd.h"

/* Of an API server: the schema of pods. */
#define CRDS_SCHEMA_PATH "/openapi/v3/api/v1"
/* Longest OpenAPI document; that of Kubernetes 1.34 has 2 MiB. */
#define CRDS_SCHEMA_MAX (64u * 1024 * 1024)

static int crds_read_file(const char *path, struct rh_json **ret_document, struct rh_error *err)
{
	rh_auto_free char *text = NULL;
	size_t length;
	int r = rh_file_read(path, CRDS_SCHEMA_MAX, &text, &length, err);

	if (r < 0)
		return r;
	r = rh_json_parse(text, length, ret_document, err);
	return r < 0 ? rh_wrap(err, r, "%s", path) : 0;
}

static int crds_fetch_schema(const struct rh_cli *cli, rh_crds_fetch_fn *fetch, struct rh_json **ret_document,
                             struct rh_error *err)
{
	rh_auto_free char *path = rh_strdup(CRDS_SCHEMA_PATH);
	struct rh_crds_question question = {.path = path};
	int r = path ? fetch(cli, &question, 1, err) : rh_fail_oom(err);

	*ret_document = question.document;
	return r;
}

/* @return whether the option has the word that stands for a cluster, and not the name of a file */
static bool crds_names_cluster(const struct rh_cli *cli, const char *option)
{
	const char *source = rh_cli_option(cli, option);

	return source && strcmp(source, "cluster") == 0;
}

/* @param ret_template owned by the caller; NULL where the small schema will do */
static int crds_read_template(const struct rh_cli *cli, rh_crds_fetch_fn *fetch, struct rh_json **ret_template,
                              struct rh_error *err)
{
	const char *source = rh_cli_option(cli, "pod-schema");
	rh_auto(json) document = NULL;
	int r;

	if (!source)
		return 0;
	if (fetch && crds_names_cluster(cli, "pod-schema"))
		r = crds_fetch_schema(cli, fetch, &document, err);
	else
		r = crds_read_file(source, &document, err);
	if (r < 0)
		return r;
	r = rh_crd_pod_template(document, ret_template, err);
	return r < 0 ? rh_wrap(err, r, "%s", source) : 0;
}

/* Definitions that plugins bring beside their kinds, or the one that is called @name. */
static int crds_collect_resources(const struct rh_session *session, const char *name, struct rh_json *items,
                                  struct rh_error *err)
{
	const struct rh_json *resource;
	int r = 0;

	for (size_t i = 0; r == 0 && (resource = rh_host_resource(session->host, i)); i++) {
		const char *rest = name ? rh_resource_skip_name(resource, name) : "";
		struct rh_json *crd = NULL;

		if (!rest || *rest)
			continue;
		r = rh_crd_build_resource(resource, &crd, err);
		if (r == 0 && rh_json_append(items, crd) < 0)
			r = rh_fail_oom(err);
	}
	return r;
}

/* CRDs of the kinds that are ready, or of the one that is called @name, in the order of the plugins; one for all
 * versions of a kind. */
static int crds_collect(const struct rh_session *session, const char *name, const struct rh_json *pod_template,
                        struct rh_json *items, struct rh_error *err)
{
	int r = 0;

	for (size_t i = 0; i < rh_host_plugin_count(session->host) && r == 0; i++) {
		struct rh_plugin_info info = {0};

		rh_host_plugin(session->host, i, &info);
		for (size_t k = 0; info.kinds && info.kinds[k] && r == 0; k++) {
			struct rh_json *crd = NULL;
			struct rh_versions versions;

			rh_host_versions(session->host, info.kinds[k], &versions);
			if (versions.first != info.kinds[k] || (name && !rh_kind_is_called(info.kinds[k], name)))
				continue;
			r = rh_crd_build_versions(&versions, pod_template, &crd, err);
			if (r == 0 && rh_json_append(items, crd) < 0)
				r = rh_fail_oom(err);
		}
	}
	if (r == 0)
		r = crds_collect_resources(session, name, items, err);
	if (r < 0 || rh_json_size(items) > 0)
		return r;
	return rh_fail(err, RH_EINVAL,
	               name ? "no plugin serves the kind \"%s\": see `roundhouse plugins list`"
	                    : "no plugin is ready%s: see `roundhouse plugins list`",
	               name ? name : "");
}

/* @param one the kind that was asked for is printed, not a List. @param items taken */
static int crds_put(struct rh_json *items, bool one, bool json, struct rh_str *out)
{
	rh_auto(json) guard = items;

	if (one && json)
		return rh_cli_put(rh_json_first(items), true, out);
	return rh_cli_put_objects(rh_take(guard), json, out);
}

static int crds_make(const struct rh_cli *cli, rh_crds_fetch_fn *fetch, struct rh_str *out, struct rh_str *warnings,
                     struct rh_error *err)
{
	rh_auto_session session = {0};
	rh_auto(json) pod_template = NULL;
	rh_auto(json) items = rh_json_new_array();
	const char *name = rh_cli_option(cli, "kind");
	int r = items ? rh_session_open(cli, &session, err) : rh_fail_oom(err);

	if (r == 0)
		r = crds_read_template(cli, fetch, &pod_template, err);
	if (r == 0)
		r = crds_collect(&session, name, pod_template, items, err);
	if (r == 0)
		r = rh_crds_compare(cli, fetch, items, warnings, err);
	if (r < 0)
		return r;
	r = crds_put(rh_take(items), name != NULL, rh_cli_wants_json(cli), out);
	return r < 0 ? rh_fail_oom(err) : 0;
}

int rh_crds_print(const struct rh_cli *cli, rh_crds_fetch_fn *fetch)
{
	rh_auto_str out = {0};
	rh_auto_str warnings = {0};
	struct rh_error err = {0};
	int r = crds_make(cli, fetch, &out, &warnings, &err);

	if (r == 0)
		rh_cli_print(&out);
	if (r == 0)
		fputs(rh_str_text(&warnings), stderr);
	return rh_cli_end(cli, r, &err);
}

static int crds_run(const struct rh_cli *cli)
{
	if (crds_names_cluster(cli, "pod-schema") || crds_names_cluster(cli, "installed"))
		return rh_cli_start_program(cli, RH_CLI_CONTROLLER, RH_CRDS_PROGRAM, cli->words);
	return rh_crds_print(cli, NULL);
}

static const struct rh_option crds_options[] = {
	{"kind", 0, "KIND", NULL, "print the definition of KIND alone (default: of every kind that a plugin serves)"},
	{"output", 'o', "FORMAT", "yaml|json", "how to print them (default: yaml)"},
	{"pod-schema", 0, "FILE|cluster", NULL,
     "put the whole schema of pod templates in, from an OpenAPI document of Kubernetes"},
	{"installed", 0, "FILE|cluster", NULL,
     "warn of versions in which a cluster has stored objects and that no plugin serves, by the definitions that it "
     "has"},
	{"kubeconfig", 0, "FILE", NULL, "which cluster to ask (default: as kubectl)"},
	{"context", 0, "NAME", NULL, "which context of it"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_crds = {
	.name = "crds",
	.synopsis = "",
	.summary = "print the CustomResourceDefinitions of the kinds that the plugins serve",
	.details = "Prints what `kubectl apply -f -` takes: names, columns and subresources of Training Operator V1, and "
			   "its rules, so\n"
			   "that the API server itself refuses a job that is not valid. The definitions are small: of the pod "
			   "template they\n"
			   "name few fields and keep all. With --pod-schema `kubectl explain` knows every field; FILE is what\n"
			   "`kubectl get --raw /openapi/v3/api/v1` prints (or - for standard input), and the result has to be "
			   "applied with\n"
			   "--server-side.\n\n"
			   "With --installed each version in which the cluster may have stored objects, and that the printed "
			   "definition does not\n"
			   "have, is a warning on standard error: the API server refuses such a definition. FILE is what\n"
			   "`kubectl get crds -o json` prints.\n\n"
			   "Exit status: 0 printed, 1 it could not be done, 2 wrong arguments or file, or no such kind.",
	.options = crds_options,
	.operands_max = 0,
	.run = crds_run,
};
