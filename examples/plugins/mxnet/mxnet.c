/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MXJob (kubeflow.org/v1) in its mode MXTrain, which the training operator served up to its version 1.8: a scheduler,
 * servers that hold the parameters, and workers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "roundhouse/plugin.h"

static const struct rh_replica_type mxnet_scheduler = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Scheduler",
	.default_replicas = 1,
	.min_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_REQUIRED,
};

/* It was servers, not the scheduler, to which the operator gave the master role. */
static const struct rh_replica_type mxnet_server = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Server",
	.default_replicas = 1,
	.flags = RH_REPLICA_LEADER,
};

static const struct rh_replica_type mxnet_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 1,
	.flags = RH_REPLICA_RANKED,
};

static const struct rh_replica_type *const mxnet_types[] = {&mxnet_scheduler, &mxnet_server, &mxnet_worker, NULL};

static const char mxnet_contract[] =
	"[{\"what\":\"env\",\"name\":\"DMLC_PS_ROOT_PORT\",\"value\":\"the Scheduler's port\","
	"\"source\":\"spec.mxReplicaSpecs[Scheduler].template.spec.containers[].ports\"},"
	"{\"what\":\"env\",\"name\":\"DMLC_PS_ROOT_URI\",\"value\":\"where the Scheduler is reached\"},"
	"{\"what\":\"env\",\"name\":\"DMLC_NUM_SERVER\",\"value\":\"how many Servers there are\"},"
	"{\"what\":\"env\",\"name\":\"DMLC_NUM_WORKER\",\"value\":\"how many Workers there are\"},"
	"{\"what\":\"env\",\"name\":\"DMLC_ROLE\",\"value\":\"scheduler, server or worker\"},"
	"{\"what\":\"env\",\"name\":\"DMLC_USE_KUBERNETES\",\"value\":\"1\"},"
	"{\"what\":\"env\",\"name\":\"DMLC_WORKER_ID\",\"value\":\"the replica's index\",\"types\":[\"Worker\"]},"
	"{\"what\":\"env\",\"name\":\"DMLC_NODE_HOST\",\"value\":\"where the replica itself is reached\","
	"\"when\":\"the job runs on one machine\"}]";

/* Schedulers listen on every interface, so each job of a machine needs a port of its own (RH_KIND_BINDS_ALL). */
static const struct rh_kind mxnet_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "MXJob",
	.plural = "mxjobs",
	.singular = "mxjob",
	.framework = "mxnet",
	.controller = "mxjob-controller",
	.replicas_field = "mxReplicaSpecs",
	.types = mxnet_types,
	.container = "mxnet",
	.port_name = "mxjob-port",
	.port = 9091,
	.restart_policy = "Never",
	.spec_schema = "{\"jobMode\":{\"type\":\"string\"}}",
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_ANY_CASE | RH_KIND_BINDS_ALL,
	.contract = mxnet_contract,
};

static int32_t mxnet_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)reply;
	*ret_self = (void *)(uintptr_t)services;
	return RH_OK;
}

static const struct rh_kind *mxnet_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &mxnet_kind : NULL;
}

static int32_t mxnet_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	const char *mode = host->json(view, "spec.jobMode");
	char detail[256];

	if (!mode || strcmp(mode, "\"MXTrain\"") == 0)
		return RH_OK;
	snprintf(detail, sizeof(detail), "Unsupported value: %.100s: supported values: \"MXTrain\"", mode);
	return host->refuse(reply, "spec.jobMode", detail);
}

static int32_t mxnet_env_number(const struct rh_services *host, struct rh_reply *reply, const char *name,
                                int32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRId32, number > 0 ? number : 0);
	return host->env(reply, NULL, name, text);
}

static const char *mxnet_role(const struct rh_replica *me)
{
	if (strcmp(me->type, "Scheduler") == 0)
		return "scheduler";
	return strcmp(me->type, "Server") == 0 ? "server" : "worker";
}

/* The operator's order: where the scheduler is, how many there are, what this one is. */
static int32_t mxnet_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	int32_t r = mxnet_env_number(host, reply, "DMLC_PS_ROOT_PORT", host->port(view, "Scheduler", 0));

	if (r == RH_OK)
		r = host->env(reply, NULL, "DMLC_PS_ROOT_URI", host->host(view, "Scheduler", 0));
	if (r == RH_OK)
		r = mxnet_env_number(host, reply, "DMLC_NUM_SERVER", host->replicas(view, "Server"));
	if (r == RH_OK)
		r = mxnet_env_number(host, reply, "DMLC_NUM_WORKER", host->replicas(view, "Worker"));
	if (r == RH_OK)
		r = host->env(reply, NULL, "DMLC_ROLE", mxnet_role(me));
	if (r == RH_OK)
		r = host->env(reply, NULL, "DMLC_USE_KUBERNETES", "1");
	if (r == RH_OK && strcmp(me->type, "Worker") == 0)
		r = mxnet_env_number(host, reply, "DMLC_WORKER_ID", me->index);
	/* on one machine a process cannot find its own address by its interfaces */
	if (r == RH_OK && (host->state(view) & RH_STATE_LOCAL))
		r = host->env(reply, NULL, "DMLC_NODE_HOST", host->host(view, me->type, me->index));
	return r;
}

/* The scheduler ends when all others have, so it decides. */
static int32_t mxnet_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	struct rh_counts scheduler = {.head = RH_HEAD(struct rh_counts)};
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts)};
	const char *failed = NULL, *restarting = NULL;
	const char *type;
	int32_t r = RH_OK;

	if (host->counts(view, "Scheduler", &scheduler) && scheduler.succeeded >= scheduler.desired)
		return host->verdict(reply, RH_VERDICT_SUCCEEDED, NULL, NULL);
	for (uint32_t i = 0; (type = host->type(view, i)); i++) {
		if (!host->counts(view, type, &counts))
			continue;
		failed = !failed && counts.failed > 0 ? type : failed;
		restarting = !restarting && counts.restarting > 0 ? type : restarting;
	}
	if (restarting && !failed)
		return host->verdict(reply, RH_VERDICT_RESTARTING, restarting, NULL);
	if (scheduler.active > 0)
		r = host->verdict(reply, RH_VERDICT_RUNNING, NULL, NULL);
	return r == RH_OK && failed ? host->verdict(reply, RH_VERDICT_FAILED, failed, NULL) : r;
}

static const struct rh_plugin mxnet_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "mxnet",
	.release = "0.1.0",
	.init = mxnet_init,
	.describe = mxnet_describe,
	.validate = mxnet_validate,
	.pod = mxnet_pod,
	.judge = mxnet_judge,
	.settings = "{}",
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &mxnet_plugin;
}
