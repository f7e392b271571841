/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of a minor version that does not exist yet: its structs are longer than this host's, and it copes with a
 * host that does not know what is new.
 */
#include "roundhouse/plugin.h"

/** How much later the version is. */
#define GROWN_MINOR (RH_ABI_MINOR + 3)
/** What a host that does not know a field leaves in it. */
#define GROWN_UNTOUCHED (-7)
/** Fills the head of a longer struct. */
#define GROWN_HEAD(T)                                                 \
	{                                                                 \
		(uint32_t)sizeof(T), RH_ABI_MAJOR, GROWN_MINOR, RH_ABI_VENDOR \
	}

struct grown_type {
	struct rh_replica_type type;
	const char *later;
};

struct grown_kind {
	struct rh_kind kind;
	const char *later;
};

struct grown_plugin {
	struct rh_plugin table;
	int32_t (*later)(void *self);
};

struct grown_counts {
	struct rh_counts counts;
	int32_t later;
};

struct grown_services {
	struct rh_services services;
	int32_t (*later)(const struct rh_view *view);
};

static const struct grown_type grown_worker = {
	.type = {.head = GROWN_HEAD(struct grown_type), .name = "Worker", .default_replicas = 1},
	.later = "later",
};

static const struct rh_replica_type *const grown_types[] = {&grown_worker.type, 0};

static const struct grown_kind grown_kind = {
	.kind =
		{
			.head = GROWN_HEAD(struct grown_kind),
			.group = "example.org",
			.version = "v1",
			.kind = "GrownJob",
			.plural = "grownjobs",
			.singular = "grownjob",
			.framework = "grown",
			.controller = "grownjob-controller",
			.replicas_field = "grownReplicaSpecs",
			.types = grown_types,
			.restart_policy = "Never",
			.flags = UINT32_C(1) << 31,
		},
	.later = "later",
};

static int32_t grown_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	const struct grown_services *wanted = (const struct grown_services *)services;

	(void)reply;
	*ret_self = (void *)(uintptr_t)services;
	if (services->head.size >= sizeof(*wanted))
		return services->fail(reply, RH_EPLUGIN, "this host has grown, too: write a longer test");
	return RH_OK;
}

static const struct rh_kind *grown_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &grown_kind.kind : 0;
}

static int32_t grown_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	struct grown_counts counts = {.counts = {.head = GROWN_HEAD(struct grown_counts)}, .later = GROWN_UNTOUCHED};

	if (!host->counts(view, "Worker", &counts.counts))
		return host->fail(reply, RH_EPLUGIN, "no counts");
	return host->verdict(reply, RH_VERDICT_RUNNING, 0,
	                     counts.later == GROWN_UNTOUCHED && counts.counts.desired == 5 ? "well"
	                                                                                   : "a later field was written");
}

static const struct grown_plugin grown_plugin = {
	.table =
		{
			.head = GROWN_HEAD(struct grown_plugin),
			.name = "grown",
			.release = "9",
			.init = grown_init,
			.describe = grown_describe,
			.judge = grown_judge,
		},
};

const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &grown_plugin.table;
}
