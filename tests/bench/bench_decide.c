/* SPDX-License-Identifier: Apache-2.0 */
/* Time of one rh_decide() on a job of 1000 running replicas. Usage: bench_decide PLUGIN.so */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/yaml.h"
#include "engine/decide.h"
#include "host/host.h"

#define WORKERS 999
#define ROUNDS 200

static const char job_text[] =
	"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: big, namespace: default, uid: u-1, "
	"resourceVersion: '7'}\n"
	"spec:\n  pytorchReplicaSpecs:\n"
	"    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: a, command: [sh]}]}}}\n"
	"    Worker: {replicas: 999, template: {spec: {containers: [{name: pytorch, image: a, command: [sh]}]}}}\n";

static struct rh_pod *bench_pod(const char *type, int32_t index)
{
	struct rh_pod *pod = rh_alloc(sizeof(*pod));

	*pod = (struct rh_pod){
		.name = rh_asprintf("big-%s-%d", type, index),
		.uid = rh_asprintf("p-%s-%d", type, index),
		.resource_version = rh_strdup("9"),
		.owner_uid = rh_strdup("u-1"),
		.type = rh_strdup(type),
		.node = rh_strdup(""),
		.reason = rh_strdup(""),
		.waiting_reason = rh_strdup(""),
		.waiting_message = rh_strdup(""),
		.last_lines = rh_strdup(""),
		.failed_container = rh_strdup(""),
		.index = index,
		.phase = RH_PHASE_RUNNING,
		.exit_code = -1,
		.created_at = 1,
		.ready = true,
	};
	return pod;
}

static int bench_rounds(const struct rh_world *world, struct rh_error *err)
{
	int64_t best = RH_NEVER;
	int64_t sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct rh_plan plan;
		int64_t start = rh_clock_monotonic();
		int r = rh_decide(world, &plan, err);
		int64_t took = rh_clock_monotonic() - start;

		if (r < 0)
			return r;
		rh_plan_deinit(&plan);
		sum += took;
		best = took < best ? took : best;
	}
	printf("decide() on %d replicas: best %.3f ms, mean %.3f ms (yardstick: 2 ms)\n", WORKERS + 1, (double)best / 1000,
	       (double)sum / ROUNDS / 1000);
	return 0;
}

static int bench_world(const struct rh_host *host, struct rh_error *err)
{
	static struct rh_pod *pods[WORKERS + 1];
	struct rh_addresses addresses = {0};
	struct rh_ledger ledger = {0};
	struct rh_world world = {
		.host = host, .ledger = &ledger, .addresses = &addresses, .now = INT64_C(1800000000) * RH_SECOND};
	rh_auto(json) documents = NULL;
	rh_auto(job) job = NULL;
	int r = rh_yaml_parse(job_text, strlen(job_text), &documents, err);

	if (r == 0)
		r = rh_host_parse(host, rh_json_detach_item(documents, 0), &job, err);
	if (r < 0)
		return r;
	for (int32_t i = 0; i <= WORKERS; i++)
		pods[i] = i ? bench_pod("worker", i - 1) : bench_pod("master", 0);
	world.job = job;
	world.pods = (const struct rh_pod *const *)pods;
	world.pod_count = WORKERS + 1;
	r = bench_rounds(&world, err);
	for (int32_t i = 0; i <= WORKERS; i++)
		rh_pod_free(pods[i]);
	return r;
}

int main(int argc, char **argv)
{
	rh_auto(config) config = rh_config_new();
	rh_auto(host) host = NULL;
	struct rh_error err = {0};
	int r = argc == 2 && config ? rh_host_new(config, &host, &err)
	                            : rh_fail(&err, RH_EINVAL, "usage: bench_decide PLUGIN.so");

	if (r == 0)
		r = rh_host_load_file(host, argv[1], &err);
	if (r == 0)
		r = bench_world(host, &err);
	if (r < 0)
		fprintf(stderr, "bench_decide: %s\n", err.message);
	return r < 0;
}
