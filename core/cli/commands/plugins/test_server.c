/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of roundhouse-controller: `plugins test --kubeconfig`. Definitions, rights, jobs and their pods are sent to an
 * API server as dry runs, so that it compiles rules and checks fields, and keeps nothing.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/os/loop.h"
#include "build/build.h"
#include "cli/commands.h"
#include "cli/commands/plugins/plugins.h"
#include "job/manifest.h"
#include "kube/http/http.h"
#include "kube/kubeconfig/hint.h"
#include "kube/kubeconfig/kubeconfig.h"
#include "kube/store/outcome.h"
#include "kube/store/path.h"
#include "schema/crd.h"

/* Longest answer; the server compiles rules meanwhile. */
#define SERVER_TIMEOUT (60 * RH_SECOND)
/* Who applies. */
#define SERVER_MANAGER "roundhouse-plugins-test"
/* An owner has to have a UID; that of a job which is only tried is nobody's. */
#define SERVER_UID "00000000-0000-4000-8000-000000000000"

/* The API server, and the request in progress. */
struct server {
	struct rh_kubeconfig *config;
	struct rh_loop *loop;
	struct rh_http *http;
	struct rh_report *report;
	int32_t status;     /* of the last answer; 0: none came */
	char message[1024]; /* what the server answered, or why no answer came */
};

static const struct rh_resource server_definitions = {"apiextensions.k8s.io/v1", "CustomResourceDefinition",
                                                      "customresourcedefinitions"};
static const struct rh_resource server_roles = {"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles"};

static void server_on_answer(void *arg, const struct rh_http_response *response)
{
	struct server *server = arg;

	server->status = response->status;
	if (response->status == 0)
		rh_copy(server->message, sizeof(server->message), response->message);
	else
		(void)rh_kube_outcome_message(response->status, response->body, server->message, sizeof(server->message));
	rh_loop_stop(server->loop);
}

/* Send a dry run and wait. @return 0, also when the server refuses it; or RH_EIO (no answer, no valid account) */
static int server_send(struct server *server, const struct rh_kube_target *target, const struct rh_json *body,
                       struct rh_error *err)
{
	rh_auto_free char *text = rh_json_text(body);
	rh_auto_str path = {0}, query = {0}, hint = {0};
	struct rh_http_request request = {.method = "POST", .content_type = "application/json", .timeout = SERVER_TIMEOUT};
	int r;

	rh_kube_path_append(&path, target);
	rh_kube_query_add(&query, "dryRun", "All");
	rh_kube_query_add(&query, "fieldManager", SERVER_MANAGER);
	if (target->name) {
		rh_kube_query_add(&query, "force", "true");
		request.method = "PATCH";
		request.content_type = "application/apply-patch+yaml"; /* JSON is YAML */
	}
	rh_kube_path_query(&path, &query);
	if (!text || path.failed)
		return rh_fail_oom(err);
	request.path = rh_str_text(&path);
	request.body = text;
	request.body_length = strlen(text);
	r = rh_http_send(server->http, &request, server_on_answer, server, NULL, err);
	if (r < 0)
		return r;
	rh_loop_run(server->loop);
	if (server->status != 0 && server->status != 401)
		return 0;
	rh_kube_hint(server->config, server->status, server->message, &hint);
	return rh_fail(err, RH_EIO, "%s: %s%s%s", server->config->server, server->message, hint.length ? "; " : "",
	               rh_str_text(&hint));
}

/* Add what the server answered, if it refused. A right that the account lacks, and a kind that the server does not
 * have, are not the plugin's fault. */
static int server_note(const struct server *server, const char *where, struct rh_error *err)
{
	bool missing = server->status == 404, warning = missing || server->status == 403;
	rh_auto_free char *what = NULL;

	if (server->status >= 200 && server->status < 300)
		return 0;
	what = rh_asprintf(
		"%s%s", server->message,
		missing ? "; make the namespace, and apply what `roundhouse crds` prints: a dry run keeps neither" : "");
	if (!what || rh_report_add(server->report, RH_CHECK_SERVER, warning, where, what) < 0)
		return rh_fail_oom(err);
	return 0;
}

static int server_try_definition(struct server *server, const struct rh_kind *kind, struct rh_error *err)
{
	rh_auto(json) crd = NULL;
	rh_auto_free char *where = rh_asprintf("the definition of %s", kind->kind);
	struct rh_kube_target target = {.resource = &server_definitions};
	int r = where ? rh_crd_build(kind, NULL, &crd, NULL) : rh_fail_oom(err);

	if (r == RH_EPLUGIN)
		return 0; /* the check of definitions has it */
	if (r < 0)
		return r;
	target.name = rh_json_string_at(crd, "metadata.name");
	r = server_send(server, &target, crd, err);
	return r < 0 ? r : server_note(server, where, err);
}

/* A role that the kind's rules make. */
static int server_make_role(const struct rh_kind *kind, struct rh_json **ret_role, struct rh_error *err)
{
	static const char text[] = "{\"apiVersion\": \"rbac.authorization.k8s.io/v1\", \"kind\": \"ClusterRole\", "
							   "\"metadata\": {\"name\": \"" SERVER_MANAGER "\"}}";
	rh_auto(json) role = NULL;
	struct rh_json *rules = NULL;
	int r = rh_json_parse(text, sizeof(text) - 1, &role, err);

	if (r == 0)
		r = rh_json_parse(kind->rbac_rules, strlen(kind->rbac_rules), &rules, err);
	if (r == 0 && rh_json_set(role, "rules", rules) < 0)
		r = rh_fail_oom(err);
	if (r == 0)
		*ret_role = rh_take(role);
	return r;
}

static int server_try_rights(struct server *server, const struct rh_kind *kind, struct rh_error *err)
{
	const struct rh_kube_target target = {.resource = &server_roles, .name = SERVER_MANAGER};
	rh_auto_free char *where = rh_asprintf("rbac_rules of %s", kind->kind);
	rh_auto(json) role = NULL;
	int r;

	if (!where)
		return rh_fail_oom(err);
	if (!kind->rbac_rules)
		return 0;
	r = server_make_role(kind, &role, err);
	if (r == 0)
		r = server_send(server, &target, role, err);
	return r < 0 ? r : server_note(server, where, err);
}

static int server_try_object(struct server *server, const struct rh_resource *resource, const struct rh_json *object,
                             const char *source, struct rh_error *err)
{
	const char *namespace_ = rh_json_string_at(object, "metadata.namespace");
	const char *name = rh_json_string_at(object, "metadata.name");
	const struct rh_kube_target target = {.resource = resource, .namespace_ = namespace_ ? namespace_ : "default"};
	rh_auto_free char *where = rh_asprintf("%s \"%s\" of %s", resource->kind, name ? name : "", source);
	int r = where ? server_send(server, &target, object, err) : rh_fail_oom(err);

	return r < 0 ? r : server_note(server, where, err);
}

/* The first replica of each type, which stands for the others, and its Service. */
static int server_try_replicas(struct server *server, const struct rh_snapshot *snapshot, const char *source,
                               struct rh_error *err)
{
	const struct rh_job *job = snapshot->job;
	rh_auto(builder) builder = NULL;
	int r = rh_builder_new(snapshot, &builder, err);

	for (size_t i = 0; r == 0 && i < job->spec_count; i++) {
		rh_auto(json) pod = NULL;
		rh_auto(json) service = NULL;

		if (job->specs[i].replicas <= 0)
			continue;
		r = rh_build_pod(builder, job->specs[i].type, 0, &pod, err);
		if (r == 0)
			r = server_try_object(server, &rh_resource_pods, pod, source, err);
		if (r == 0 && (job->kind->flags & RH_KIND_SERVICES))
			r = rh_build_service(builder, job->specs[i].type, 0, &service, err);
		if (r == 0 && service)
			r = server_try_object(server, &rh_resource_services, service, source, err);
	}
	return r;
}

static int server_try_job(struct server *server, const struct rh_kind *kind, const struct rh_manifest_object *from,
                          struct rh_error *err)
{
	rh_auto_free char *api_version = rh_asprintf("%s/%s", kind->group, kind->version);
	const struct rh_resource resource = {api_version, kind->kind, kind->plural};

	return api_version ? server_try_object(server, &resource, from->object, from->source, err) : rh_fail_oom(err);
}

/* @param files what the job names may be in them, too */
static int server_try_file(struct server *server, const struct rh_host *host, const struct rh_manifest *files,
                           const struct rh_manifest_object *from, struct rh_error *err)
{
	const struct rh_kind *kind = rh_host_kind(host, rh_json_string_at(from->object, "apiVersion"),
	                                          rh_json_string_at(from->object, "kind"), NULL);
	struct rh_snapshot snapshot = {.host = host};
	rh_auto(job) job = NULL;
	rh_auto(json) object = kind ? rh_json_copy(from->object) : NULL;
	int r;

	if (!kind)
		return 0;
	r = server_try_job(server, kind, from, err);
	if (r < 0)
		return r;
	if (!object || rh_json_set_string(rh_json_get(object, "metadata"), "uid", SERVER_UID) < 0)
		return rh_fail_oom(err);
	r = rh_host_parse(host, rh_take(object), &job, err);
	if (r == 0)
		r = rh_host_expand_files(host, job, files, err);
	snapshot.job = job;
	if (r == 0)
		r = server_try_replicas(server, &snapshot, from->source, err);
	if (r == RH_EPLUGIN || r == RH_EINVAL) /* the plugin refuses the job */
		r = rh_report_add(server->report, RH_CHECK_SERVER, false, from->source, err->message) < 0 ? rh_fail_oom(err)
		                                                                                          : 0;
	return r;
}

static int server_try_all(struct server *server, const struct rh_host *host, const struct rh_manifest *jobs,
                          struct rh_error *err)
{
	struct rh_plugin_info info;
	int r = 0;

	rh_host_plugin(host, 0, &info);
	for (size_t k = 0; r == 0 && info.kinds[k]; k++) {
		r = server_try_definition(server, info.kinds[k], err);
		if (r == 0)
			r = server_try_rights(server, info.kinds[k], err);
	}
	for (size_t i = 0; r == 0 && i < jobs->count; i++)
		r = server_try_file(server, host, jobs, &jobs->items[i], err);
	return r;
}

static int server_open(struct server *server, const struct rh_cli *cli, struct rh_error *err)
{
	const struct rh_kubeconfig_options where = {.path = rh_cli_option(cli, "kubeconfig"),
	                                            .context = rh_cli_option(cli, "context")};
	struct rh_http_options options = {0};
	struct rh_loop_source source;
	int r = rh_kubeconfig_load(&where, &server->config, err);

	if (r == 0)
		r = rh_loop_new(&server->loop, err);
	if (r < 0)
		return r;
	options.loop = server->loop;
	options.config = server->config;
	r = rh_http_new(&options, &server->http, err);
	if (r < 0)
		return r;
	source = rh_http_source(server->http, 0);
	return rh_loop_add(server->loop, &source, NULL, err);
}

static void server_close(struct server *server)
{
	rh_http_free(server->http);
	rh_loop_free(server->loop);
	rh_kubeconfig_free(server->config);
}

/* The plugin runs in a process of its own: the kit has reported what is wrong with it otherwise. */
static int server_test(const struct rh_cli *cli, struct rh_config *config, struct rh_report *report,
                       struct rh_error *err)
{
	struct server server = {.report = report};
	rh_auto_manifest jobs = {0};
	rh_auto(host) host = NULL;
	int r = server_open(&server, cli, err);

	config->plugin_isolation = RH_ISOLATION_PROCESS;
	for (size_t i = 2; r == 0 && i < cli->operand_count; i++)
		r = rh_manifest_read(&jobs, cli->operands[i], err);
	if (r == 0)
		r = rh_host_new(config, &host, err);
	if (r == 0 && rh_host_try_file(host, cli->operands[1], NULL) == 0) {
		report->skipped[RH_CHECK_SERVER] = 0;
		r = server_try_all(&server, host, &jobs, err);
	}
	server_close(&server);
	return r;
}

int rh_plugins_server_main(int argc, char **argv)
{
	struct rh_cli cli = {.command = &rh_command_plugins};
	struct rh_error err = {0};
	int r = rh_cli_parse(&rh_command_plugins, argc - 1, argv + 1, &cli, &err);

	if (r == 0)
		r = rh_plugins_test_with(&cli, server_test, &err);
	return r < 0 ? rh_cli_end(&cli, r, &err) : r;
}
