/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kind with a scheduler that never ends by itself: the job is done when its clients are, and then the scheduler's pod
 * has to go. It needs defaults of its own for the run policy, and another restartPolicy for each type.
 */
#include "roundhouse/plugin.h"

static const struct rh_services *scheduler_host;

static const struct rh_replica_type scheduler_type = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Scheduler",
	.default_replicas = 1,
	.restart_policy = "Always",
};

static const struct rh_replica_type scheduler_client = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Client",
	.default_replicas = 2,
};

static const struct rh_replica_type *const scheduler_types[] = {&scheduler_type, &scheduler_client, 0};

static const struct rh_kind scheduler_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "SchedulerJob",
	.plural = "schedulerjobs",
	.singular = "schedulerjob",
	.framework = "scheduler",
	.controller = "schedulerjob-controller",
	.replicas_field = "schedulerReplicaSpecs",
	.types = scheduler_types,
	.restart_policy = "Never",
	.run_policy = "{\"cleanPodPolicy\":\"All\",\"backoffLimit\":3,\"suspend\":false}",
};

static int32_t scheduler_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)ret_self;
	if (!RH_HAS(services, struct rh_services, member))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	scheduler_host = services;
	return RH_OK;
}

static const struct rh_kind *scheduler_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &scheduler_kind : 0;
}

static int32_t scheduler_pod(void *self, const struct rh_view *view, const struct rh_replica *me,
                             struct rh_reply *reply)
{
	(void)self;
	return scheduler_host->env(reply, 0, "POLICY", scheduler_host->restart_policy(view, me->type));
}

static int32_t scheduler_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts)};

	(void)self;
	if (!scheduler_host->counts(view, "Client", &counts) || counts.succeeded < counts.desired)
		return scheduler_host->verdict(reply, RH_VERDICT_RUNNING, 0, 0);
	return scheduler_host->verdict(reply, RH_VERDICT_SUCCEEDED, 0, 0);
}

static const struct rh_plugin scheduler_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "scheduler",
	.release = "1",
	.init = scheduler_init,
	.describe = scheduler_describe,
	.pod = scheduler_pod,
	.judge = scheduler_judge,
};

const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &scheduler_plugin;
}
