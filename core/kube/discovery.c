/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/discovery.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define DISCOVERY_TIMEOUT (30 * RH_SECOND)

/* One GET, for all wants of one group and version. */
struct discovery_query {
	struct rh_discovery *discovery;
	const char *api_version;
	uint64_t id;     /* 0: answered */
	char words[256]; /* why there is no answer; "" when there is one */
};

struct rh_discovery {
	struct rh_discovery_options options;
	struct discovery_query *queries;
	enum rh_discovery_state *states;
	size_t query_count;
	size_t open;
};

static const struct rh_json *discovery_find(const struct rh_json *list, const char *plural, const char *part)
{
	const struct rh_json *item = rh_json_first(rh_json_get(list, "resources"));
	size_t length = strlen(plural);

	for (; item; item = rh_json_next(item)) {
		const char *name = rh_json_string(rh_json_get(item, "name"));

		if (name && strncmp(name, plural, length) == 0 && strcmp(name + length, part) == 0)
			return item;
	}
	return NULL;
}

static bool discovery_has_verbs(const struct rh_json *resource, const char *const *verbs)
{
	for (; *verbs; verbs++) {
		const struct rh_json *verb = rh_json_first(rh_json_get(resource, "verbs"));

		while (verb && !rh_text_equal(rh_json_string(verb), *verbs))
			verb = rh_json_next(verb);
		if (!verb)
			return false;
	}
	return true;
}

enum rh_discovery_state rh_discovery_judge(const struct rh_discovery_want *want, const struct rh_json *list)
{
	static const char *const used[] = {"create", "delete", "get", "list", "patch", "watch", NULL};
	static const char *const patched[] = {"patch", NULL};
	const struct rh_json *resource = discovery_find(list, want->plural, "");

	if (!resource)
		return RH_DISCOVERY_MISSING;
	if (!discovery_has_verbs(resource, used))
		return RH_DISCOVERY_OLDER;
	if (want->status && !discovery_has_verbs(discovery_find(list, want->plural, "/status"), patched))
		return RH_DISCOVERY_OLDER;
	return RH_DISCOVERY_THERE;
}

static void discovery_learn(const struct discovery_query *query, const struct rh_json *list)
{
	struct rh_discovery *discovery = query->discovery;

	for (size_t i = 0; i < discovery->options.count; i++) {
		const struct rh_discovery_want *want = &discovery->options.wants[i];

		if (strcmp(want->api_version, query->api_version) == 0)
			discovery->states[i] = rh_discovery_judge(want, list);
	}
}

static void discovery_on_done(void *arg, const struct rh_http_response *response)
{
	struct discovery_query *query = arg;
	struct rh_discovery *discovery = query->discovery;
	rh_auto(json) list = NULL;

	query->id = 0;
	query->words[0] = '\0';
	if (response->status == 404)
		discovery_learn(query, NULL);
	else if (response->status == 0)
		rh_copy(query->words, sizeof(query->words), response->words);
	else if (response->status != 200)
		(void)snprintf(query->words, sizeof(query->words), "status %" PRId32, response->status);
	else if (rh_json_parse(response->body, response->body_length, &list, NULL) == 0)
		discovery_learn(query, list);
	else
		rh_copy(query->words, sizeof(query->words), "the answer is no JSON");
	if (--discovery->open == 0)
		discovery->options.done(discovery->options.arg);
}

static bool discovery_is_asked(const struct rh_discovery *discovery, const char *api_version)
{
	for (size_t i = 0; i < discovery->query_count; i++) {
		if (strcmp(discovery->queries[i].api_version, api_version) == 0)
			return true;
	}
	return false;
}

static int discovery_ask(struct rh_discovery *discovery, const char *api_version, struct rh_error *err)
{
	struct discovery_query *query = &discovery->queries[discovery->query_count++];
	rh_auto_free char *path = rh_asprintf("/%s/%s", strchr(api_version, '/') ? "apis" : "api", api_version);
	struct rh_http_request request = {.method = "GET", .path = path, .timeout = DISCOVERY_TIMEOUT};
	int r;

	if (!path)
		return rh_fail_oom(err);
	*query = (struct discovery_query){.discovery = discovery, .api_version = api_version};
	rh_copy(query->words, sizeof(query->words), "not answered yet");
	r = rh_http_send(discovery->options.http, &request, discovery_on_done, query, &query->id, err);
	if (r == 0)
		discovery->open++;
	return r;
}

int rh_discovery_new(const struct rh_discovery_options *options, struct rh_discovery **ret_discovery,
                     struct rh_error *err)
{
	rh_auto(discovery) discovery = rh_alloc(sizeof(*discovery));
	int r = 0;

	if (!discovery)
		return rh_fail_oom(err);
	discovery->options = *options;
	discovery->queries = rh_alloc_array(options->count, sizeof(*discovery->queries));
	discovery->states = rh_alloc_array(options->count, sizeof(*discovery->states));
	if (!discovery->queries || !discovery->states)
		return rh_fail_oom(err);
	for (size_t i = 0; i < options->count && r == 0; i++) {
		if (!discovery_is_asked(discovery, options->wants[i].api_version))
			r = discovery_ask(discovery, options->wants[i].api_version, err);
	}
	if (r == 0)
		*ret_discovery = rh_take(discovery);
	return r;
}

void rh_discovery_free(struct rh_discovery *discovery)
{
	if (!discovery)
		return;
	for (size_t i = 0; i < discovery->query_count; i++) {
		if (discovery->queries[i].id)
			rh_http_cancel(discovery->options.http, discovery->queries[i].id);
	}
	rh_free(discovery->queries);
	rh_free(discovery->states);
	rh_free(discovery);
}

enum rh_discovery_state rh_discovery_state(const struct rh_discovery *discovery, size_t index)
{
	return discovery->states[index];
}

static const char *discovery_words(const struct rh_discovery *discovery, const char *api_version)
{
	for (size_t i = 0; i < discovery->query_count; i++) {
		if (strcmp(discovery->queries[i].api_version, api_version) == 0)
			return discovery->queries[i].words;
	}
	return "";
}

void rh_discovery_explain(const struct rh_discovery *discovery, size_t index, struct rh_str *out)
{
	const struct rh_discovery_want *want = &discovery->options.wants[index];
	const char *slash = strchr(want->api_version, '/');
	int length = slash ? (int)(slash - want->api_version) : 0;
	const char *version = slash ? slash + 1 : want->api_version;

	switch (discovery->states[index]) {
	case RH_DISCOVERY_THERE:
		return;
	case RH_DISCOVERY_UNKNOWN:
		rh_str_appendf(out, "whether the API server has %s%s%.*s (%s) is not known: %s", want->plural, slash ? "." : "",
		               length, want->api_version, version, discovery_words(discovery, want->api_version));
		return;
	case RH_DISCOVERY_MISSING:
		rh_str_append(out, "the API server does not have ");
		break;
	case RH_DISCOVERY_OLDER:
		rh_str_append(out, "the API server has an older definition, without a status subresource or a verb, of ");
		break;
	}
	rh_str_appendf(out, "%s%s%.*s (%s)", want->plural, slash ? "." : "", length, want->api_version, version);
	if (want->cure)
		rh_str_appendf(out, "; install it: %s", want->cure);
}
