/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin with names and a status of its own, as TrainJob has: no condition says that a job was created or runs, its
 * end is called Complete, and status has counts of one kind alone. A job with spec.refused is not valid; annotations
 * name one member more of status, for tests.
 */
#include <inttypes.h>
#include <stdio.h>

#include "roundhouse/plugin.h"

static const struct rh_replica_type conditions_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 2,
};

static const struct rh_replica_type *const conditions_types[] = {&conditions_worker, 0};

static const struct rh_kind conditions_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "WordsJob",
	.plural = "wordsjobs",
	.singular = "wordsjob",
	.framework = "words",
	.controller = "wordsjob-controller",
	.replicas_field = "wordsReplicaSpecs",
	.types = conditions_types,
	.restart_policy = "Never",
	.flags = RH_KIND_OWN_STATUS,
	.spec_schema = "{\"refused\":{\"type\":\"boolean\"}}",
	.conditions =
		"{\"Created\":null,\"Running\":null,\"Restarting\":null,"
		"\"Suspended\":{\"reason\":\"Suspended\",\"message\":\"{job} is suspended\",\"falseReason\":\"Resumed\","
		"\"falseMessage\":\"{job} is resumed\",\"event\":\"none\"},"
		"\"Succeeded\":{\"type\":\"Complete\",\"reason\":\"AllJobsCompleted\",\"message\":\"all completed\","
		"\"event\":\"none\"},"
		"\"Failed\":{\"reason\":\"FailedJobs\",\"message\":\"{namespace}/{job} failed\",\"event\":\"Warning\"},"
		"\"Deadline\":{\"reason\":\"DeadlineExceeded\",\"message\":\"{kind} exceeded its active deadline\"},"
		"\"Invalid\":{\"reason\":\"ValidationError\",\"message\":\"Found validation errors: {findings}\","
		"\"final\":false}}",
	.status_schema =
		"{\"jobsStatus\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
		"\"name\":{\"type\":\"string\"},\"active\":{\"type\":\"integer\"},\"ready\":{\"type\":\"integer\"},"
		"\"succeeded\":{\"type\":\"integer\"},\"failed\":{\"type\":\"integer\"},"
		"\"suspended\":{\"type\":\"integer\"}}}},"
		"\"trainerStatus\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}",
};

static int32_t conditions_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, status))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	*ret_self = (void *)services;
	return RH_OK;
}

static const struct rh_kind *conditions_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &conditions_kind : 0;
}

static int32_t conditions_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *services = self;

	return services->boolean(view, "spec.refused")
	           ? services->refuse(reply, "spec.refused", "Forbidden: must not be set")
	           : RH_OK;
}

static int32_t conditions_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *services = self;
	const char *field = services->text(view, "metadata.annotations.field");
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts), .ready = -1};
	char text[256];
	int32_t r;

	if (!services->counts(view, "Worker", &counts))
		return RH_DEFAULT;
	(void)snprintf(text, sizeof(text),
	               "[{\"name\":\"worker\",\"active\":%" PRId32 ",\"ready\":%" PRId32 ",\"succeeded\":%" PRId32
	               ",\"failed\":%" PRId32 ",\"suspended\":%d}]",
	               counts.active, counts.ready, counts.succeeded, counts.failed,
	               (services->state(view) & RH_STATE_SUSPENDED) != 0);
	r = services->status(reply, "jobsStatus", text);
	if (r == 0 && field)
		r = services->status(reply, field, services->text(view, "metadata.annotations.value"));
	return r < 0 ? r : RH_DEFAULT;
}

static const struct rh_plugin conditions_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "words",
	.release = "1",
	.init = conditions_init,
	.describe = conditions_describe,
	.validate = conditions_validate,
	.judge = conditions_judge,
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &conditions_plugin;
}
