/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap that the engine's cache takes for jobs, pods and Services, in bytes each. Usage: bench_cache PLUGIN.so
 * The store only delivers the events that it is given; it answers no request.
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/yaml.h"
#include "build/build.h"
#include "engine/engine.h"
#include "host/host.h"
#include "host/operations.h"

#define WATCHES_MAX 8

struct bench_watch {
	char kind[64];
	rh_watch_fn *fn;
	void *arg;
};

struct bench_store {
	struct rh_store face;
	struct bench_watch watches[WATCHES_MAX];
	size_t count;
	uint64_t revision;
};

static uint64_t bench_watch(struct rh_store *store, const struct rh_resource *resource, const char *label,
                            rh_watch_fn *fn, void *arg)
{
	struct bench_store *bench = (struct bench_store *)store;
	struct bench_watch *watch = &bench->watches[bench->count++];

	(void)label;
	rh_copy(watch->kind, sizeof(watch->kind), resource->kind);
	watch->fn = fn;
	watch->arg = arg;
	return bench->count;
}

static void bench_unwatch(struct rh_store *store, uint64_t id)
{
	(void)store;
	(void)id;
}

static int bench_submit(struct rh_store *store, struct rh_request *request, rh_done_fn *done, void *arg,
                        uint64_t *ret_id, struct rh_error *err)
{
	(void)store;
	(void)done;
	(void)arg;
	(void)err;
	rh_json_free(request->body);
	if (ret_id)
		*ret_id = 1;
	return 0;
}

static void bench_cancel(struct rh_store *store, uint64_t id)
{
	(void)store;
	(void)id;
}

static void bench_send(const struct bench_store *store, const char *kind, enum rh_watch_event event,
                       const struct rh_json *object)
{
	for (size_t i = 0; i < store->count; i++) {
		if (strcmp(store->watches[i].kind, kind) == 0)
			store->watches[i].fn(store->watches[i].arg, event, object);
	}
}

static size_t bench_heap(void)
{
	return mallinfo2().uordblks;
}

static struct rh_json *bench_job(int number, int workers, const char *status)
{
	rh_auto_free char *text = rh_asprintf(
		"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n"
		"metadata: {name: bench-%05d, namespace: default, uid: 0d9ad2f8-0000-4000-8000-%012d, resourceVersion: '%d',\n"
		"  generation: 1, creationTimestamp: '2026-01-01T00:00:00Z'}\n"
		"spec:\n  runPolicy: {cleanPodPolicy: None, suspend: false}\n  pytorchReplicaSpecs:\n"
		"    Worker: {replicas: %d, restartPolicy: OnFailure, template: {spec: {containers: [{name: pytorch,\n"
		"      image: 'docker.io/org/image:tag', command: [python, train.py, --epochs, '3'],\n"
		"      resources: {limits: {cpu: '4', memory: 16Gi}}, ports: [{name: pytorchjob-port, containerPort: "
		"23456}]}]}}}\n"
		"status: %s\n",
		number, number, 1000 + number, workers, status);
	rh_auto(json) documents = NULL;

	if (rh_yaml_parse(text, strlen(text), &documents, NULL) < 0)
		return NULL;
	return rh_json_detach_item(documents, 0);
}

static const char bench_running[] =
	"{startTime: '2026-01-01T00:00:01Z', replicaStatuses: {Worker: {active: 4, selector: 'a=b,c=d,e=f'}}, conditions: ["
	"{type: Created, status: 'True', reason: PyTorchJobCreated, message: PyTorchJob bench is created., "
	"lastUpdateTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z'}, "
	"{type: Running, status: 'True', reason: PyTorchJobRunning, message: PyTorchJob default/bench is running., "
	"lastUpdateTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z'}]}";

static const char bench_finished[] =
	"{startTime: '2026-01-01T00:00:01Z', completionTime: '2026-01-01T01:00:01Z', replicaStatuses: {Worker: {succeeded: "
	"4, selector: 'training.kubeflow.org/job-name=bench,training.kubeflow.org/operator-name=pytorchjob-controller,"
	"training.kubeflow.org/replica-type=worker'}}, conditions: [{type: Succeeded, status: 'True', reason: "
	"PyTorchJobSucceeded, message: done, lastUpdateTime: '2026-01-01T00:00:00Z', lastTransitionTime: "
	"'2026-01-01T00:00:00Z'}]}";

static int bench_stamp(struct bench_store *store, struct rh_json *object)
{
	struct rh_json *metadata = rh_json_get(object, "metadata");
	rh_auto_free char *uid = rh_asprintf("9f0ad2f8-1111-4111-8111-%012llx", (unsigned long long)++store->revision);
	rh_auto_free char *version = rh_asprintf("%llu", (unsigned long long)store->revision + 100000);

	if (rh_json_set_string(metadata, "uid", uid) < 0 || rh_json_set_string(metadata, "resourceVersion", version) < 0 ||
	    rh_json_set_string(metadata, "creationTimestamp", "2026-01-01T00:00:00Z") < 0)
		return RH_ENOMEM;
	return 0;
}

/* Send events of the pods or the Services of one job. */
static int bench_children(struct bench_store *store, struct rh_builder *builder, bool pods, int count)
{
	for (int i = 0; i < count; i++) {
		rh_auto(json) object = NULL;
		struct rh_json *status;
		int r = pods ? rh_build_pod(builder, "Worker", i, &object, NULL)
		             : rh_build_service(builder, "Worker", i, &object, NULL);

		if (r < 0 || bench_stamp(store, object) < 0)
			return RH_ENOMEM;
		status = pods ? rh_json_ensure_object(object, "status") : NULL;
		if (pods && (rh_json_set_string(status, "phase", "Running") < 0 ||
		             rh_json_set_string(rh_json_get(object, "spec"), "nodeName", "node-17.example") < 0))
			return RH_ENOMEM;
		bench_send(store, pods ? "Pod" : "Service", RH_WATCH_ADDED, object);
	}
	return 0;
}

static int bench_all_children(struct bench_store *store, const struct rh_host *host, int jobs, int workers, bool pods)
{
	for (int i = 0; i < jobs; i++) {
		rh_auto(builder) builder = NULL;
		rh_auto(job) job = NULL;
		struct rh_snapshot snapshot = {.host = host};

		if (rh_host_parse(host, bench_job(i, workers, bench_running), &job, NULL) < 0)
			return RH_ENOMEM;
		snapshot.job = job;
		if (rh_builder_new(&snapshot, &builder, NULL) < 0 || bench_children(store, builder, pods, workers) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

static size_t bench_send_jobs(struct bench_store *store, int jobs, int workers, const char *status,
                              enum rh_watch_event event)
{
	size_t before = bench_heap();

	for (int i = 0; i < jobs; i++) {
		rh_auto(json) job = bench_job(i, workers, status);
		rh_auto_free char *version = rh_asprintf("%d", event == RH_WATCH_ADDED ? 1000 + i : 500000 + i);

		(void)rh_json_set_string(rh_json_get(job, "metadata"), "resourceVersion", version);
		bench_send(store, "PyTorchJob", event, job);
	}
	return bench_heap() - before;
}

static int bench_run(const struct rh_host *host, int jobs, int workers)
{
	struct bench_store store = {
		.face = {.watch = bench_watch, .unwatch = bench_unwatch, .submit = bench_submit, .cancel = bench_cancel}};
	struct rh_engine_options options = {.host = host, .store = &store.face};
	rh_auto(engine) engine = NULL;
	size_t of_jobs, of_pods, of_services, before;
	double pods = (double)jobs * workers;

	if (rh_engine_new(&options, &engine, NULL) < 0)
		return RH_ENOMEM;
	of_jobs = bench_send_jobs(&store, jobs, workers, bench_running, RH_WATCH_ADDED);
	before = bench_heap();
	if (bench_all_children(&store, host, jobs, workers, true) < 0)
		return RH_ENOMEM;
	of_pods = bench_heap() - before;
	before = bench_heap();
	if (bench_all_children(&store, host, jobs, workers, false) < 0)
		return RH_ENOMEM;
	of_services = bench_heap() - before;
	printf("%6d jobs x %4d pods: %6.0f B a job, %5.0f B a pod, %5.0f B a Service\n", jobs, workers,
	       (double)of_jobs / jobs, (double)of_pods / pods, (double)of_services / pods);
	return 0;
}

/* Jobs that had finished before the engine began. */
static int bench_finish(const struct rh_host *host, int jobs)
{
	struct bench_store store = {
		.face = {.watch = bench_watch, .unwatch = bench_unwatch, .submit = bench_submit, .cancel = bench_cancel}};
	struct rh_engine_options options = {.host = host, .store = &store.face};
	rh_auto(engine) engine = NULL;
	size_t before = bench_heap();

	if (rh_engine_new(&options, &engine, NULL) < 0)
		return RH_ENOMEM;
	(void)bench_send_jobs(&store, jobs, 1, bench_finished, RH_WATCH_ADDED);
	for (size_t i = 0; i < store.count; i++)
		store.watches[i].fn(store.watches[i].arg, RH_WATCH_SYNCED, NULL);
	rh_engine_step(engine, INT64_C(1767225600) * RH_SECOND);
	printf("%6d jobs that have finished: %6.0f B a job\n", jobs, (double)(bench_heap() - before) / jobs);
	return 0;
}

int main(int argc, char **argv)
{
	rh_auto(config) config = rh_config_new();
	rh_auto(host) host = NULL;
	struct rh_error err = {0};

	if (argc != 2 || !config || rh_host_new(config, &host, &err) < 0 || rh_host_load_file(host, argv[1], &err) < 0) {
		fprintf(stderr, "usage: bench_cache PLUGIN.so %s\n", err.message);
		return 2;
	}
	if (bench_run(host, 250, 4) < 0 || bench_run(host, 1, 1000) < 0 || bench_run(host, 20, 1000) < 0 ||
	    bench_run(host, 5000, 4) < 0 || bench_run(host, 10000, 1) < 0 || bench_finish(host, 10000) < 0)
		return 1;
	return 0;
}
