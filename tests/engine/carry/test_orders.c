/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small scenarios in every order of events, and with a kill between any two of them (orders.h). An argument
 * multiplies the random runs.
 */
#include "engine/carry/orders.h"

#include <stdlib.h>

#define SCOPE_JOB "{'roundhouse.dev/restart':'job'}"
#define SUSPEND "{'spec':{'runPolicy':{'suspend':true}}}"
#define RESUME "{'spec':{'runPolicy':{'suspend':false}}}"
#define SCALE(n) "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':" #n "}}}}"
#define BOTH_RUN "master-0 Running, worker-0 Running"

static const struct scenario scenarios[] = {
	{
		.name = "success",
		.replicas = "Master=Never Worker=Never",
		.fates = {{"master-0", {FATE_WAITS}, 1}, {"worker-0", {0}, 1}},
		.ends = {"Created Succeeded | master-0 Succeeded, worker-0 Succeeded"},
	},
	{
		.name = "a worker fails for good",
		.replicas = "Master=Never Worker=Never",
		.fates = {{"worker-0", {1}, 1}},
		.ends = {"Created Failed | master-0 Running, worker-0 Failed"},
	},
	{
		.name = "a worker is restarted",
		.replicas = "Master=ExitCode Worker=ExitCode",
		.fates = {{"master-0", {FATE_WAITS}, 1}, {"worker-0", {137, 0}, 2}},
		.ends = {"Created Succeeded | master-0 Succeeded, worker-0 Succeeded",
                 "Created Restarting Succeeded | master-0 Succeeded, worker-0 Succeeded"},
		.restarts = 1,
	},
	{
		.name = "a worker is restarted under a kubelet",
		.replicas = "Master=ExitCode Worker=ExitCode",
		.graceful = true,
		.fates = {{"master-0", {FATE_WAITS}, 1}, {"worker-0", {137, 143, 0}, 3}},
		.ends = {"Created Succeeded | master-0 Succeeded, worker-0 Succeeded",
                 "Created Restarting Succeeded | master-0 Succeeded, worker-0 Succeeded"},
		.restarts = 2,
	},
	{
		.name = "a plugin restarts a worker",
		.replicas = "Leader=Never Worker=Never",
		.scope = "replica",
		.graceful = true,
		.fates = {{"leader-0", {FATE_WAITS}, 1}, {"worker-0", {1, 2, 0}, 3}},
		.ends = {"Created Succeeded | leader-0 Succeeded, worker-0 Succeeded",
                 "Created Restarting Succeeded | leader-0 Succeeded, worker-0 Succeeded"},
		.restarts = 2,
	},
	{
		.name = "a plugin restarts all workers",
		.replicas = "Leader=Never Worker=Never*2",
		.scope = "type",
		.graceful = true,
		.fates = {{"leader-0", {FATE_WAITS}, 1}, {"worker-0", {1, 0}, 2}, {"worker-1", {0}, 1}},
		.ends = {"Created Succeeded | leader-0 Succeeded, worker-0 Succeeded, worker-1 Succeeded",
                 "Created Restarting Succeeded | leader-0 Succeeded, worker-0 Succeeded, worker-1 Succeeded"},
		.restarts = 1,
		.again = true,
	},
	{
		.name = "a plugin restarts all for nothing",
		.replicas = "Leader=Never Worker=Never",
		.policy = "{'backoffLimit':0}",
		.scope = "all",
		.graceful = true,
		.fates = {{"leader-0", {FATE_WAITS}, 1}, {"worker-0", {1, 2, 0}, 3}},
		.ends = {"Created Succeeded | leader-0 Succeeded, worker-0 Succeeded",
                 "Created Restarting Succeeded | leader-0 Succeeded, worker-0 Succeeded"},
		.restarts = 0,
		.attempt = 2,
		.again = true,
	},
	{
		.name = "restarts of a plugin are limited",
		.replicas = "Leader=Never Worker=Never",
		.policy = "{'backoffLimit':1}",
		.scope = "type",
		.fates = {{"worker-0", {1}, 1}},
		.ends = {"Created Failed | ", "Created Restarting Failed | "},
		.restarts = 1,
	},
	{
		.name = "restarts are limited",
		.replicas = "Master=ExitCode Worker=ExitCode",
		.policy = "{'backoffLimit':1}",
		.fates = {{"worker-0", {137}, 1}},
		.ends = {"Created Failed | ", "Created Restarting Failed | "},
		.restarts = 1,
	},
	{
		.name = "the whole job is restarted",
		.replicas = "Master=ExitCode Worker=ExitCode",
		.annotations = SCOPE_JOB,
		.graceful = true,
		.fates = {{"master-0", {FATE_WAITS}, 1}, {"worker-0", {137, 0}, 2}},
		.ends = {"Created Succeeded | master-0 Succeeded, worker-0 Succeeded",
                 "Created Restarting Succeeded | master-0 Succeeded, worker-0 Succeeded"},
		.restarts = 1,
		.attempt = 1,
		.again = true,
	},
	{
		.name = "the whole job is restarted when two fail",
		.replicas = "Worker=ExitCode*2",
		.annotations = SCOPE_JOB,
		.graceful = true,
		.fates = {{"worker-0", {137, 0}, 2}, {"worker-1", {137, 0}, 2}},
		.ends = {"Created Succeeded | worker-0 Succeeded, worker-1 Succeeded",
                 "Created Restarting Succeeded | worker-0 Succeeded, worker-1 Succeeded"},
		.restarts = -1, /* two when the second pod had not even started when the first failed */
		.attempt = -1,
		.again = true,
	},
	{
		.name = "suspended and resumed",
		.replicas = "Master=Never Worker=Never",
		.graceful = true,
		.fates = {{"master-0", {FATE_RUNS, FATE_WAITS}, 2}, {"worker-0", {FATE_RUNS, 0}, 2}},
		.acts = {{.when = BOTH_RUN, .patch = SUSPEND}, {.when = "Suspended | ", .patch = RESUME}},
		.ends = {"Created Succeeded | master-0 Succeeded, worker-0 Succeeded"},
		.restarts = 0,
	},
	{
		.name = "scaled up and down",
		.replicas = "Worker=OnFailure",
		.graceful = true,
		.acts = {{.when = "Running | worker-0 Running", .patch = SCALE(2)},
                 {.when = "worker-0 Running, worker-1 Running", .patch = SCALE(1)}},
		.ends = {"Created Running | worker-0 Running"},
		.restarts = 0,
	},
	{
		.name = "a pod is deleted by somebody",
		.replicas = "Master=OnFailure Worker=OnFailure",
		/* no restart: a pod that was never observed to run is not a loss */
		.acts = {{.when = "Running | " BOTH_RUN, .quiet = true, .pod = "worker-0"}},
		.ends = {"Created Running | " BOTH_RUN},
		.restarts = 1,
	},
	{
		.name = "the job is deleted",
		.replicas = "Master=OnFailure Worker=ExitCode",
		.graceful = true,
		.fates = {{"worker-0", {137, FATE_RUNS}, 2}},
		.acts = {{.when = "Running", .remove = true}},
		.ends = {"gone | "},
	},
	{
		.name = "cleaned up when done, and gone when its time is over",
		.replicas = "Master=Never Worker=Never",
		.policy = "{'cleanPodPolicy':'All','ttlSecondsAfterFinished':60}",
		.graceful = true,
		.fates = {{"master-0", {0}, 1}},
		.ends = {"gone | "},
	},
};

static void test_orders__every_order_ends_well(void **state)
{
	const struct effort *effort = *state;

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		orders_explore(&scenarios[i], effort);
}

/* Sanitizers take ten times as long: fewer runs. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RANDOM_RUNS 20
#define STRIDE 5
#else
#define RANDOM_RUNS 100
#define STRIDE 1
#endif

int main(int argc, char **argv)
{
	struct effort effort = {.random = RANDOM_RUNS * (argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1), .stride = STRIDE};
	const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_orders__every_order_ends_well, &effort)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
