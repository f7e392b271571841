/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of ABI 1.1, as somebody may have it for years: it uses everything that 1.1 has, and is built against the
 * headers beside it alone.
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
};

static const struct rh_replica_type *const veteran_types[] = {&veteran_chief, &veteran_worker, NULL};

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
};

static int32_t veteran_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, verdict))
		return services->fail(reply, RH_EPLUGIN, "this host is older than ABI 1.1");
	*ret_self = (void *)(uintptr_t)services;
	return services->note(reply, RH_NOTE_DEBUG, "loaded");
}

static void veteran_fini(void *self)
{
	(void)self;
}

static const struct rh_kind *veteran_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &veteran_kind : NULL;
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

static int32_t veteran_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	char text[VETERAN_TEXT_SIZE];
	int32_t r;

	veteran_read(host, view, text, sizeof(text));
	r = host->env(reply, NULL, "READ", text);
	veteran_look(host, view, text, sizeof(text));
	if (r == 0)
		r = host->env(reply, "main", "LOOKED", text);
	snprintf(text, sizeof(text), "%s %" PRId32 " %" PRId32, me->type, me->index, me->rank);
	return r == 0 ? host->edit(reply, "metadata.annotations[\"example.org/me\"]", host->quote(view, text)) : r;
}

static int32_t veteran_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	char text[VETERAN_TEXT_SIZE];

	if (host->state(view) & (RH_STATE_SUSPENDED | RH_STATE_FINISHED))
		return RH_OK;
	snprintf(text, sizeof(text), "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":%s}}",
	         host->json(view, "metadata.name"));
	return host->object(reply, text);
}

static int32_t veteran_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts)};
	struct rh_replica_state state = {.head = RH_HEAD(struct rh_replica_state)};
	char text[VETERAN_TEXT_SIZE];

	if (!host->counts(view, "Worker", &counts) || !host->replica(view, "Chief", 0, &state))
		return RH_DEFAULT;
	snprintf(text, sizeof(text),
	         "%" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 ", %" PRId32 " %" PRId32 ", %" PRId32,
	         counts.desired, counts.active, counts.succeeded, counts.failed, counts.restarting, state.phase,
	         state.exit_code, host->condition(view, "Running"));
	return host->verdict(reply, RH_VERDICT_RUNNING, NULL, text);
}

static const struct rh_plugin veteran_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "veteran",
	.release = "1.1.0",
	.init = veteran_init,
	.fini = veteran_fini,
	.describe = veteran_describe,
	.validate = veteran_validate,
	.pod = veteran_pod,
	.objects = veteran_objects,
	.judge = veteran_judge,
	.settings = "{\"greeting\":{\"type\":\"string\"}}",
};

const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &veteran_plugin;
}
