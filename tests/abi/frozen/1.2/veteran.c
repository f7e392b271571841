/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of ABI 1.2, as somebody may have it for years: it uses everything that 1.2 has, and is built against the
 * headers beside it alone. VeteranJob has a map of replica types; VeteranSetJob gets its types from a VeteranRuntime.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "roundhouse/plugin.h"

/** Room for a number or a line. */
#define VETERAN_TEXT_SIZE 256

static const struct rh_replica_type veteran_chief = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Chief",
	.default_replicas = 1,
	.min_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_LEADER | RH_REPLICA_REQUIRED | RH_REPLICA_RANKED,
};

static const struct rh_replica_type veteran_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 2,
	.restart_policy = "ExitCode",
};

/** Beside the map; a job need not have it. */
static const struct rh_replica_type veteran_head = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Head",
	.default_replicas = 1,
	.path = "spec.head",
};

static const struct rh_replica_type *const veteran_types[] = {&veteran_chief, &veteran_worker, &veteran_head, NULL};

static const struct rh_kind veteran_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "VeteranJob",
	.plural = "veteranjobs",
	.singular = "veteranjob",
	.framework = "veteran",
	.controller = "veteranjob-controller",
	.replicas_field = "veteranReplicaSpecs",
	.types = veteran_types,
	.leader_fallback = "Worker",
	.container = "main",
	.port_name = "veteran-port",
	.restart_policy = "OnFailure",
	.scale_type = "Worker",
	.port = 4242,
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR,
	.spec_schema = "{\"word\":{\"type\":\"string\"},\"count\":{\"type\":\"integer\"},\"flag\":{\"type\":\"boolean\"}}",
	.columns = "[{\"name\":\"Age\",\"type\":\"date\",\"jsonPath\":\".metadata.creationTimestamp\"}]",
	.rbac_rules = "[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"verbs\":[\"get\"]}]",
	.cel_rules =
		"[{\"at\":\"spec\",\"rule\":\"!has(self.word) || self.word != 'bad'\",\"message\":\"must not be bad\"}]",
	.contract = "[{\"what\":\"env\",\"name\":\"READ\",\"value\":\"what was read\"}]",
	.replicas_path = "spec.veteranReplicaSpecs",
	.run_policy_path = "spec.runPolicy",
	.run_policy = "{\"cleanPodPolicy\":\"All\"}",
	.managers = "[\"example.org/veteran\"]",
	.spec_required = "[\"veteranReplicaSpecs\"]",
	.conditions = "{\"Running\":{\"reason\":\"VeteranRuns\"},\"Succeeded\":{\"type\":\"Complete\"}}",
	.status_schema = "{\"rounds\":{\"type\":\"integer\"}}",
};

/** Made by an object of the plugin on a cluster. */
static const struct rh_replica_type veteran_launcher = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "launcher",
	.default_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_OUTSIDE | RH_REPLICA_LEADER,
};

static const struct rh_replica_type *const veteran_set_types[] = {&veteran_launcher, NULL};

static const struct rh_kind veteran_set_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "VeteranSetJob",
	.plural = "veteransetjobs",
	.singular = "veteransetjob",
	.framework = "veteran",
	.controller = "veteransetjob-controller",
	.types = veteran_set_types,
	.container = "main",
	.restart_policy = "Never",
	.flags = RH_KIND_OWN_LABELS | RH_KIND_OWN_STATUS | RH_KIND_OWN_GANG | RH_KIND_STORAGE | RH_KIND_FALLBACK |
             RH_KIND_EXPANDED | RH_KIND_OPT_IN | RH_KIND_OWN_LIMITS,
	.run_policy_path = "",
	.spec_schema = "{\"runtime\":{\"type\":\"string\"}}",
	.pod_name = "{job}-{type}-0-{index}-{suffix}",
	.host_name = "{job}-{type}-0-{index}.{job}.{namespace}.svc{domain}",
	.lookups = "[{\"name\":\"runtime\",\"apiVersion\":\"example.org/v1alpha1\",\"kinds\":[{\"kind\":"
			   "\"VeteranRuntime\",\"plural\":\"veteranruntimes\",\"scope\":\"Namespaced\"}],"
			   "\"object\":{\"from\":\"spec.runtime\"}}]",
};

static int32_t veteran_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, restart))
		return services->fail(reply, RH_EPLUGIN, "this host is older than ABI 1.2");
	*ret_self = (void *)(uintptr_t)services;
	return services->note(reply, RH_NOTE_DEBUG, "loaded");
}

static void veteran_fini(void *self)
{
	(void)self;
}

static const struct rh_kind *veteran_describe(void *self, uint32_t index)
{
	static const struct rh_kind *const kinds[] = {&veteran_kind, &veteran_set_kind};

	(void)self;
	return index < sizeof(kinds) / sizeof(kinds[0]) ? kinds[index] : NULL;
}

/** @return whether the view shows a job whose types come from expand() */
static int veteran_is_set(const struct rh_services *host, const struct rh_view *view)
{
	return strcmp(host->text(view, "kind"), "VeteranSetJob") == 0;
}

static int32_t veteran_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	const char *word = host->text(view, "spec.word");
	int32_t r = 0;

	if (word && strcmp(word, "odd") == 0)
		r = host->note(reply, RH_NOTE_WARN, "spec.word is odd");
	if (r == 0 && word && strcmp(word, "bad") == 0)
		r = host->refuse(reply, "spec.word", "Forbidden: must not be bad");
	return r;
}

static void veteran_read(const struct rh_services *host, const struct rh_view *view, char *out, size_t size)
{
	const char *word = host->text(view, "spec.word");
	const char *setting = host->setting(view, "greeting");
	const char *list = host->json(view, "spec.list");
	int64_t count = -1;
	int32_t known = host->integer(view, "spec.count", &count);

	snprintf(out, size, "%s %" PRId32 " %" PRId64 " %" PRId32 " %" PRId32 " %s %s %s", word ? word : "-", known, count,
	         host->boolean(view, "spec.flag"), host->size(view, "spec.list"), list ? list : "-",
	         setting ? setting : "-", host->text(view, "metadata.namespace"));
}

static void veteran_look(const struct rh_services *host, const struct rh_view *view, char *out, size_t size)
{
	snprintf(out, size, "%s,%s %" PRId32 " %s %s %s %" PRId32 " %" PRIu32 " %" PRId32, host->type(view, 0),
	         host->type(view, 1), host->replicas(view, "Worker"), host->restart_policy(view, "Worker"),
	         host->pod_name(view, "Worker", 1), host->host(view, "Worker", 1), host->port(view, "Worker", 1),
	         host->state(view), host->attempt(view));
}

/** The first label of the job by its key, and who gangs. */
static void veteran_list(const struct rh_services *host, const struct rh_view *view, char *out, size_t size)
{
	const char *key = host->key(view, "metadata.labels", 0);
	const char *path = key ? host->member(view, "metadata.labels", key) : NULL;
	const char *gang = host->gang(view);

	snprintf(out, size, "%s %s %s", path ? path : "-", path ? host->text(view, path) : "-", gang ? gang : "-");
}

static int32_t veteran_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	char text[VETERAN_TEXT_SIZE];
	int32_t r;

	if (veteran_is_set(host, view))
		return host->env(reply, NULL, "HOST", host->host(view, "node", me->index));
	veteran_read(host, view, text, sizeof(text));
	r = host->env(reply, NULL, "READ", text);
	veteran_look(host, view, text, sizeof(text));
	if (r == 0)
		r = host->env(reply, "main", "LOOKED", text);
	veteran_list(host, view, text, sizeof(text));
	if (r == 0)
		r = host->env(reply, "main", "LISTED", text);
	snprintf(text, sizeof(text), "%s %" PRId32 " %" PRId32, me->type, me->index, me->rank);
	return r == 0 ? host->edit(reply, "metadata.annotations[\"example.org/me\"]", host->quote(view, text)) : r;
}

/** A Secret of random bytes, a pair of keys, and an object that outlives the job. */
static int32_t veteran_keep(const struct rh_services *host, struct rh_reply *reply)
{
	static const struct {
		const char *json;
		struct rh_object_options options;
	} rows[] = {
		{"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"word\"}}",
	     {RH_HEAD(struct rh_object_options), RH_OBJECT_ONCE, 4}},
		{"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"pair\"}}",
	     {RH_HEAD(struct rh_object_options), RH_OBJECT_ONCE | RH_OBJECT_PAIR, RH_PAIR_BYTES}},
		{"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"kept\"}}",
	     {RH_HEAD(struct rh_object_options), RH_OBJECT_RETAIN, 0}},
	};
	int32_t r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(rows) / sizeof(rows[0]); i++)
		r = host->object_with(reply, rows[i].json, &rows[i].options);
	return r;
}

static int32_t veteran_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	char text[VETERAN_TEXT_SIZE];
	int32_t r;

	if (host->state(view) & (RH_STATE_SUSPENDED | RH_STATE_FINISHED))
		return RH_OK;
	snprintf(text, sizeof(text), "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":%s}}",
	         host->json(view, "metadata.name"));
	r = host->object(reply, text);
	if (r == 0)
		r = host->edit(reply, "data.word", "\"of old\"");
	return r == 0 ? veteran_keep(host, reply) : r;
}

/** The bytes of a Secret as numbers; of a pair how many there are. */
static int32_t veteran_make(void *self, const struct rh_view *view, const struct rh_made *made, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	char text[VETERAN_TEXT_SIZE];
	char object[2 * VETERAN_TEXT_SIZE];

	(void)view;
	if (made->random_bytes == RH_PAIR_BYTES)
		snprintf(text, sizeof(text), "pair of %" PRIu32, made->random_bytes);
	else
		snprintf(text, sizeof(text), "%d %d", (int)made->random[0], (int)made->random[made->random_bytes - 1]);
	snprintf(object, sizeof(object),
	         "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\"},\"stringData\":{\"text\":\"%s\"}}",
	         made->api_version, made->kind, made->name, text);
	return host->object(reply, object);
}

/** What spec.wish asks for beside the verdict. */
static int32_t veteran_wish(const struct rh_services *host, const struct rh_view *view, struct rh_reply *reply)
{
	const char *wish = host->text(view, "spec.wish");

	if (wish && strcmp(wish, "hold") == 0)
		return host->hold(reply, "Worker", -1, "the chief is not ready");
	if (wish && strcmp(wish, "restart") == 0)
		return host->restart(reply, "Worker", 1, RH_RESTART_FREE, NULL, "once more");
	if (wish && strcmp(wish, "again") == 0)
		return host->restart(reply, NULL, -1, 0, "round-1", NULL);
	return 0;
}

static int32_t veteran_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts), .ready = -1};
	struct rh_replica_state state = {.head = RH_HEAD(struct rh_replica_state), .ready = -1};
	char text[VETERAN_TEXT_SIZE];
	int32_t r;

	if (!host->counts(view, "Worker", &counts) || !host->replica(view, "Chief", 0, &state))
		return RH_DEFAULT;
	snprintf(text, sizeof(text), "%" PRId32, counts.ready * 10 + state.ready);
	r = host->status(reply, "rounds", text);
	if (r == 0)
		r = veteran_wish(host, view, reply);
	snprintf(text, sizeof(text),
	         "%" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 ", %" PRId32 " %" PRId32 ", %" PRId32,
	         counts.desired, counts.active, counts.succeeded, counts.failed, counts.restarting, state.phase,
	         state.exit_code, host->condition(view, "Running"));
	return r == 0 ? host->conclude(reply, RH_VERDICT_RUNNING, NULL, "VeteranSaid", text) : r;
}

static int32_t veteran_expand(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	const char *template = host->json(view, "@runtime.spec.template");
	char text[4 * VETERAN_TEXT_SIZE];

	if (host->lookup(view, "runtime") != RH_LOOKUP_FOUND || !template)
		return host->refuse(reply, "@runtime.spec.template", "Required value: must be a pod template");
	snprintf(
		text, sizeof(text),
		"{\"types\":[{\"name\":\"launcher\",\"template\":%s},{\"name\":\"node\",\"replicas\":2,\"flags\":[\"ranked\"],"
		"\"restartPolicy\":\"OnFailure\",\"template\":%s}],\"runPolicy\":{\"backoffLimit\":2}}",
		template, template);
	return host->expansion(reply, text);
}

static const struct rh_plugin veteran_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "veteran",
	.release = "1.2.0",
	.init = veteran_init,
	.fini = veteran_fini,
	.describe = veteran_describe,
	.validate = veteran_validate,
	.pod = veteran_pod,
	.objects = veteran_objects,
	.judge = veteran_judge,
	.settings = "{\"greeting\":{\"type\":\"string\"}}",
	.resources = "[{\"group\":\"example.org\",\"version\":\"v1alpha1\",\"kind\":\"VeteranRuntime\",\"plural\":"
				 "\"veteranruntimes\",\"singular\":\"veteranruntime\",\"scope\":\"Namespaced\",\"schema\":{\"spec\":{"
				 "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]",
	.make = veteran_make,
	.expand = veteran_expand,
};

const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &veteran_plugin;
}
