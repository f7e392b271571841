/* SPDX-License-Identifier: Apache-2.0 */
/* Part of roundhouse-controller: `roundhouse convert --cluster`, which reads jobs and runtimes from an API server. */
#include <string.h>
#include <strings.h>

#include "base/os/clock.h"
#include "base/os/loop.h"
#include "cli/commands.h"
#include "cli/commands/convert.h"
#include "job/values/names.h"
#include "kube/http/http.h"
#include "kube/kubeconfig/hint.h"
#include "kube/kubeconfig/kubeconfig.h"
#include "kube/store/outcome.h"
#include "kube/store/path.h"

/* Longest answer. */
#define CLUSTER_TIMEOUT (60 * RH_SECOND)
/* Objects of one page of a list. */
#define CLUSTER_PAGE "500"
/* Longest KIND of a command line, and longest version. */
#define CLUSTER_WORD_SIZE 128

/* The API server, and the answer to the last request. */
struct cluster {
	const struct rh_cli *cli;
	enum rh_convert_target target;
	struct rh_manifest *manifest;
	struct rh_kubeconfig *config;
	struct rh_loop *loop;
	struct rh_http *http;
	const char *namespace_;
	struct rh_json *apis;   /* {"group/version": [resources]}, what the server has; owned */
	struct rh_json *answer; /* owned; NULL: there is none */
	int32_t status;
	struct rh_error *err;
	int result;
};

static void cluster_done(void *arg, const struct rh_http_response *response)
{
	struct cluster *cluster = arg;
	char message[512];
	rh_auto_str hint = {0};

	cluster->status = response->status;
	cluster->result = 0;
	if (response->status == 200)
		cluster->result = rh_json_parse(response->body, response->body_length, &cluster->answer, cluster->err);
	else if (response->status == 0)
		cluster->result = rh_fail(cluster->err, RH_EIO, "%s", response->message);
	else if (response->status != 404) {
		(void)rh_kube_outcome_message(response->status, response->body, message, sizeof(message));
		rh_kube_hint(cluster->config, response->status, message, &hint);
		cluster->result = rh_fail(cluster->err, RH_EIO, "the server answers with %d: %s%s%s", response->status, message,
		                          hint.length ? "; " : "", rh_str_text(&hint));
	}
	rh_loop_stop(cluster->loop);
}

/* Ask and wait. cluster->answer is NULL where the server has no such thing (404). @return 0 or a negative rh_status */
static int cluster_get(struct cluster *cluster, const char *path, struct rh_error *err)
{
	const struct rh_http_request request = {.method = "GET", .path = path, .timeout = CLUSTER_TIMEOUT};
	int r;

	rh_json_free(rh_take(cluster->answer));
	cluster->err = err;
	r = rh_http_send(cluster->http, &request, cluster_done, cluster, NULL, err);
	if (r < 0)
		return r;
	rh_loop_run(cluster->loop);
	return cluster->result < 0 ? rh_wrap(err, cluster->result, "%s%s", cluster->config->server, path) : 0;
}

/* --- What the server has */

/* @return the resources of an API, borrowed, perhaps an empty list; NULL after a failure */
static const struct rh_json *cluster_resources(struct cluster *cluster, const char *api_version, struct rh_error *err)
{
	const struct rh_json *known = rh_json_get(cluster->apis, api_version);
	rh_auto_str path = {0};
	struct rh_json *resources;

	if (known)
		return known;
	rh_str_appendf(&path, "/apis/%s", api_version);
	if (path.failed) {
		(void)rh_fail_oom(err);
		return NULL;
	}
	if (cluster_get(cluster, rh_str_text(&path), err) < 0)
		return NULL;
	resources = cluster->answer ? rh_json_detach(cluster->answer, "resources") : NULL;
	if (rh_json_set(cluster->apis, api_version, resources ? resources : rh_json_new_array()) < 0) {
		(void)rh_fail_oom(err);
		return NULL;
	}
	return rh_json_get(cluster->apis, api_version);
}

static bool cluster_is_called(const struct rh_json *resource, const char *word)
{
	static const char *const names[] = {"kind", "name", "singularName"};
	bool found = false;

	if (strchr(rh_json_string_at(resource, "name") ? rh_json_string_at(resource, "name") : "/", '/'))
		return false; /* a subresource */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++) {
		const char *name = rh_json_string_at(resource, names[i]);

		found = name && strcasecmp(name, word) == 0;
	}
	return found;
}

/* @return the resource of an API that users call @p word; NULL: there is none, or a failure, which @p err has */
static const struct rh_json *cluster_find(struct cluster *cluster, const char *api_version, const char *word, int *ret,
                                          struct rh_error *err)
{
	const struct rh_json *resources = cluster_resources(cluster, api_version, err);

	*ret = resources ? 0 : err->code;
	for (const struct rh_json *at = rh_json_first(resources); at; at = rh_json_next(at))
		if (cluster_is_called(at, word))
			return at;
	return NULL;
}

/* --- What is read */

/* An object without what the server has added to it. */
static void cluster_clean(struct rh_json *object)
{
	static const char *const metadata[] = {"creationTimestamp", "deletionGracePeriodSeconds",
	                                       "deletionTimestamp", "finalizers",
	                                       "generation",        "managedFields",
	                                       "ownerReferences",   "resourceVersion",
	                                       "selfLink",          "uid"};
	static const char *const annotations[] = {"kubectl.kubernetes.io/last-applied-configuration", RH_ANNOTATION_LEDGER,
	                                          RH_ANNOTATION_STATUS, RH_ANNOTATION_ADMITTED};
	struct rh_json *meta = rh_json_get(object, "metadata");
	struct rh_json *notes = rh_json_get(meta, "annotations");

	for (size_t i = 0; meta && i < sizeof(metadata) / sizeof(metadata[0]); i++)
		rh_json_remove(meta, metadata[i]);
	for (size_t i = 0; notes && i < sizeof(annotations) / sizeof(annotations[0]); i++)
		rh_json_remove(notes, annotations[i]);
	if (notes && rh_json_size(notes) == 0)
		rh_json_remove(meta, "annotations");
	rh_json_remove(object, "status");
}

/* Add an object to the manifest, under the name that users know it by. @param object taken */
static int cluster_add(struct cluster *cluster, struct rh_json *object, struct rh_error *err)
{
	rh_auto(json) owned = object;
	const char *name = rh_json_string_at(object, "metadata.name");
	const char *kind = rh_json_string_at(object, "kind");
	rh_auto_free char *source = rh_asprintf("%s/%s", kind ? kind : "", name ? name : "");
	rh_auto_free char *text = NULL;

	cluster_clean(owned);
	text = rh_json_text(owned);
	if (!source || !text)
		return rh_fail_oom(err);
	return rh_manifest_parse(cluster->manifest, source, text, strlen(text), err);
}

/* A server shows every object in all versions of its resource: the one in which its spec was written is its own. */
static bool cluster_is_own_version(struct cluster *cluster, const struct rh_json *object)
{
	const struct rh_json *fields = rh_json_first(rh_json_at(object, "metadata.managedFields"));
	const char *kind = rh_json_string_at(object, "kind");
	const char *shown = rh_json_string_at(object, "apiVersion"), *written = NULL;
	struct rh_error err = {0};
	int r;

	for (; fields && !written; fields = rh_json_next(fields))
		if (rh_json_at(fields, "fieldsV1[\"f:spec\"]"))
			written = rh_json_string_at(fields, "apiVersion");
	if (!written || !shown || !kind || strcmp(written, shown) == 0)
		return true;
	return !cluster_find(cluster, written, kind, &r, &err);
}

/* @param item taken */
static int cluster_add_job(struct cluster *cluster, struct rh_json *item, const char *api_version, const char *kind,
                           struct rh_error *err)
{
	rh_auto(json) owned = item;

	/* items of a list have neither */
	if (!owned || rh_json_set_string(owned, "apiVersion", api_version) < 0 ||
	    rh_json_set_string(owned, "kind", kind) < 0)
		return rh_fail_oom(err);
	if (!rh_convert_is_due(owned, cluster->target) || !cluster_is_own_version(cluster, owned))
		return 0;
	return cluster_add(cluster, rh_take(owned), err);
}

static int cluster_list_page(struct cluster *cluster, const struct rh_resource *resource, const char *page,
                             struct rh_error *err)
{
	const struct rh_kube_target target = {.resource = resource, .namespace_ = cluster->namespace_};
	rh_auto_str path = {0}, query = {0};

	rh_kube_path_append(&path, &target);
	rh_kube_query_add(&query, "limit", CLUSTER_PAGE);
	if (page && *page)
		rh_kube_query_add(&query, "continue", page);
	rh_kube_path_query(&path, &query);
	return path.failed ? rh_fail_oom(err) : cluster_get(cluster, rh_str_text(&path), err);
}

/* All objects of one resource. */
static int cluster_list(struct cluster *cluster, const struct rh_resource *resource, struct rh_error *err)
{
	rh_auto_free char *page = NULL;
	int r;

	do {
		rh_auto(json) items = NULL;

		r = cluster_list_page(cluster, resource, page, err);
		rh_free(rh_take(page));
		page = rh_strdup(rh_json_string_at(cluster->answer, "metadata.continue"));
		items = cluster->answer ? rh_json_detach(cluster->answer, "items") : NULL;
		for (const struct rh_json *at = rh_json_first(items); r == 0 && at; at = rh_json_next(at))
			r = cluster_add_job(cluster, rh_json_copy(at), resource->api_version, resource->kind, err);
	} while (r == 0 && page && *page);
	return r;
}

/* Take one object. @param job it is one, and not a runtime. @return 0, also where there is none; cluster->status has it
 */
static int cluster_take(struct cluster *cluster, const struct rh_kube_target *target, bool job, struct rh_error *err)
{
	rh_auto_str path = {0};
	struct rh_json *object;
	int r;

	rh_kube_path_append(&path, target);
	r = path.failed ? rh_fail_oom(err) : cluster_get(cluster, rh_str_text(&path), err);
	if (r < 0 || !cluster->answer)
		return r;
	object = rh_take(cluster->answer);
	return job ? cluster_add_job(cluster, object, target->resource->api_version, target->resource->kind, err)
	           : cluster_add(cluster, object, err);
}

/* --- What a command line names */

/* A word of the command line, and what became of it. */
struct cluster_search {
	struct cluster *cluster;
	char kind[CLUSTER_WORD_SIZE]; /* "" with --all */
	const char *name;
	bool known; /* the server has such a kind */
	bool found;
};

/* One kind of the table of conversions, if the server has it. */
static int cluster_source(void *arg, const char *api_version, const char *kind, struct rh_error *err)
{
	struct cluster_search *search = arg;
	struct cluster *cluster = search->cluster;
	int r;
	const struct rh_json *found = cluster_find(cluster, api_version, kind, &r, err);
	const struct rh_resource resource = {api_version, kind, rh_json_string_at(found, "name")};
	const struct rh_kube_target target = {
		.resource = &resource, .namespace_ = cluster->namespace_, .name = search->name};

	if (!found || (search->name && !cluster_is_called(found, search->kind)))
		return r;
	search->known = true;
	if (!search->name)
		return cluster_list(cluster, &resource, err);
	r = cluster_take(cluster, &target, true, err);
	search->found |= r == 0 && cluster->status == 200;
	return r;
}

static int cluster_word(struct cluster *cluster, const char *word, struct rh_error *err)
{
	struct cluster_search search = {.cluster = cluster};
	const char *slash = strchr(word, '/');
	int r;

	if (!slash || slash == word || !slash[1] || (size_t)(slash - word) >= sizeof(search.kind))
		return rh_fail(err, RH_EINVAL, "\"%s\": must be KIND/NAME, as pytorchjob/mnist", word);
	rh_copy(search.kind, (size_t)(slash - word) + 1, word);
	search.name = slash + 1;
	r = rh_convert_each_source(cluster->target, cluster_source, &search, err);
	if (r < 0 || search.found)
		return r;
	if (!search.known)
		return rh_fail(err, RH_EINVAL, "\"%s\": the server has no kind %s that is converted", word, search.kind);
	return rh_fail(err, RH_EINVAL, "\"%s\": there is no such job in the namespace %s", word, cluster->namespace_);
}

/* Runtimes of the TrainJobs that were read. */
static int cluster_runtimes(struct cluster *cluster, struct rh_error *err)
{
	const struct rh_manifest *manifest = cluster->manifest;
	size_t jobs = manifest->count;
	int r = 0;

	for (size_t i = 0; r == 0 && i < jobs; i++) {
		const struct rh_json *job = manifest->items[i].object;
		struct rh_convert_reference reference;
		struct rh_resource resource = {.api_version = rh_json_string_at(job, "apiVersion")};
		struct rh_kube_target target = {.resource = &resource};

		if (!rh_convert_needs_runtime(job))
			continue;
		r = rh_convert_runtime_of(job, &reference, err);
		if (r < 0)
			return rh_wrap(err, r, "%s", manifest->items[i].source);
		if (rh_manifest_find(manifest, reference.kind, reference.namespace_ ? reference.namespace_ : "default",
		                     reference.name))
			continue;
		resource.kind = reference.kind;
		resource.plural = reference.namespace_ ? "trainingruntimes" : "clustertrainingruntimes";
		target.namespace_ = reference.namespace_;
		target.name = reference.name;
		r = cluster_take(cluster, &target, false, err);
		if (r == 0 && cluster->status != 200)
			r = rh_fail(err, RH_EINVAL, "%s: spec.runtimeRef: the cluster has no %s \"%s\"", manifest->items[i].source,
			            reference.kind, reference.name);
	}
	return r;
}

static int cluster_read(struct cluster *cluster, struct rh_error *err)
{
	struct cluster_search all = {.cluster = cluster};
	int r = 0;

	if (rh_cli_option(cluster->cli, "all"))
		r = rh_convert_each_source(cluster->target, cluster_source, &all, err);
	for (size_t i = 0; r == 0 && i < cluster->cli->operand_count; i++)
		r = cluster_word(cluster, cluster->cli->operands[i], err);
	return r == 0 ? cluster_runtimes(cluster, err) : r;
}

static int cluster_open(struct cluster *cluster, struct rh_error *err)
{
	const struct rh_kubeconfig_options options = {.path = rh_cli_option(cluster->cli, "kubeconfig"),
	                                              .context = rh_cli_option(cluster->cli, "context")};
	const char *namespace_ = rh_cli_option(cluster->cli, "namespace");
	struct rh_http_options http = {0};
	struct rh_loop_source source;
	int r = rh_kubeconfig_load(&options, &cluster->config, err);

	if (r < 0)
		return r;
	cluster->namespace_ = namespace_                    ? namespace_
	                      : cluster->config->namespace_ ? cluster->config->namespace_
	                                                    : "default";
	r = rh_loop_new(&cluster->loop, err);
	http = (struct rh_http_options){.loop = cluster->loop, .config = cluster->config};
	if (r == 0)
		r = rh_http_new(&http, &cluster->http, err);
	if (r < 0)
		return r;
	source = rh_http_source(cluster->http, 0);
	cluster->apis = rh_json_new_object();
	return cluster->apis ? rh_loop_add(cluster->loop, &source, NULL, err) : rh_fail_oom(err);
}

static int cluster_fetch(const struct rh_cli *cli, enum rh_convert_target target, struct rh_manifest *manifest,
                         struct rh_error *err)
{
	struct cluster cluster = {.cli = cli, .target = target, .manifest = manifest};
	int r = cluster_open(&cluster, err);

	if (r == 0)
		r = cluster_read(&cluster, err);
	rh_json_free(cluster.apis);
	rh_json_free(cluster.answer);
	rh_http_free(cluster.http);
	rh_loop_free(cluster.loop);
	rh_kubeconfig_free(cluster.config);
	return r;
}

int rh_convert_cluster_main(int argc, char **argv)
{
	struct rh_cli cli = {.command = &rh_command_convert};
	struct rh_error err = {0};

	if (rh_cli_parse(&rh_command_convert, argc - 1, argv + 1, &cli, &err) < 0)
		return rh_cli_fail(&cli, RH_EXIT_BAD_INPUT, err.message);
	return rh_convert_main(&cli, cluster_fetch);
}
