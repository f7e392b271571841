/* SPDX-License-Identifier: Apache-2.0 */
/* A first list of 20,000 pods, split, parsed and remembered: megabytes a second, and what it takes of memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "kube/watch/watch.h"

#define PODS 20000
#define PIECE 16384

/* About what an API server says of a running pod. */
static const char pod_text[] =
	"{\"metadata\":{\"name\":\"job-%d-worker-%d\",\"namespace\":\"default\",\"uid\":\"%08x-0000-4000-8000-"
	"000000000000\","
	"\"resourceVersion\":\"%d\",\"creationTimestamp\":\"2026-11-21T15:20:55Z\",\"labels\":{\"training.kubeflow.org/"
	"job-name\":\"job-%d\",\"training.kubeflow.org/operator-name\":\"pytorchjob-controller\",\"training.kubeflow.org/"
	"replica-index\":\"%d\",\"training.kubeflow.org/replica-type\":\"worker\"},\"ownerReferences\":[{\"apiVersion\":"
	"\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"name\":\"job\",\"uid\":\"u\",\"controller\":true,"
	"\"blockOwnerDeletion\":true}],\"managedFields\":[{\"manager\":\"roundhouse\",\"operation\":\"Update\","
	"\"apiVersion\":"
	"\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:a\":{},\"f:b\":{}}},"
	"\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"pytorch\\\"}\":{\".\":{},\"f:command\":{},\"f:env\":{\".\":{},"
	"\"k:{\\\"name\\\":\\\"RANK\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}}},\"f:image\":{},\"f:name\":{}}}}}},"
	"{\"manager\":\"kubelet\",\"operation\":\"Update\",\"fieldsV1\":{\"f:status\":{\"f:conditions\":{\"k:{\\\"type\\\":"
	"\\\"Ready\\\"}\":{\".\":{},\"f:type\":{}}},\"f:phase\":{},\"f:podIP\":{}}},\"subresource\":\"status\"}]},\"spec\":"
	"{\"containers\":[{\"name\":\"pytorch\",\"image\":\"registry.example.com/team/train:1\",\"command\":[\"python\","
	"\"train.py\"],\"env\":[{\"name\":\"PYTHONUNBUFFERED\",\"value\":\"1\"},{\"name\":\"MASTER_ADDR\",\"value\":"
	"\"job-master-0\"},{\"name\":\"MASTER_PORT\",\"value\":\"23456\"},{\"name\":\"WORLD_SIZE\",\"value\":\"80\"},{"
	"\"name\":"
	"\"RANK\",\"value\":\"7\"}],\"resources\":{\"limits\":{\"cpu\":\"4\",\"memory\":\"16Gi\"}},\"imagePullPolicy\":"
	"\"Always\"}],\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\","
	"\"nodeName\":\"node-17\",\"securityContext\":{},\"schedulerName\":\"default-scheduler\",\"tolerations\":[{\"key\":"
	"\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}]},"
	"\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":"
	"\"2026-11-21T15:20:56Z\"}],\"hostIP\":\"10.0.0.1\",\"podIP\":\"10.1.2.3\",\"startTime\":\"2026-11-21T15:20:55Z\","
	"\"containerStatuses\":[{\"name\":\"pytorch\",\"state\":{\"running\":{\"startedAt\":\"2026-11-21T15:20:56Z\"}},"
	"\"ready\":true,\"restartCount\":0,\"image\":\"registry.example.com/team/train:1\"}]}}";

/* @return a line of /proc/self/status in KiB */
static long bench_memory(const char *key)
{
	char line[256];
	long value = -1;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && value < 0 && fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0)
			value = strtol(line + strlen(key), NULL, 10);
	if (file)
		(void)fclose(file);
	return value;
}

static void bench_count(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	(void)object;
	*(size_t *)arg += event == RH_WATCH_ADDED;
}

/* The list comes in pieces as from a socket, so it is never in memory as a whole. @return bytes, or -1 */
static long bench_feed(struct rh_kube_watch *watch, int64_t *ret_took)
{
	static const char head[] =
		"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[";
	rh_auto_str text = {0};
	long bytes = 0;

	*ret_took = 0;
	rh_str_append(&text, head);
	for (int i = 0; i < PODS; i++) {
		rh_str_append(&text, i ? "," : "");
		rh_str_appendf(&text, pod_text, i / 80, i % 80, (unsigned)i, i + 1, i / 80, i % 80);
		if (text.length < PIECE && i + 1 < PODS)
			continue;
		rh_str_append(&text, i + 1 == PODS ? "]}" : "");
		*ret_took -= rh_clock_monotonic();
		if (rh_kube_watch_feed(watch, text.data, text.length, 0) < 0)
			return -1;
		*ret_took += rh_clock_monotonic();
		bytes += (long)text.length;
		rh_str_clear(&text);
	}
	return bytes;
}

int main(void)
{
	size_t events = 0;
	struct rh_kube_watch_options options = {
		.resource = &rh_resource_pods, .label = "training.kubeflow.org/job-name", .fn = bench_count, .arg = &events};
	rh_auto(kube_watch) watch = rh_kube_watch_new(&options);
	rh_auto_str path = {0};
	struct rh_http_request request;
	struct rh_http_response response = {.status = 200, .message = "", .body = ""};
	long before = bench_memory("RssAnon:");
	int64_t took;
	long bytes;

	if (!watch || rh_kube_watch_begin(watch, 0, &path, &request) < 0)
		return 1;
	bytes = bench_feed(watch, &took);
	rh_kube_watch_end(watch, &response, 0);
	if (bytes < 0 || events != PODS)
		return 1;
	printf("first list of %d pods, %.1f MB: %.2f s, %.0f MB/s; it keeps %.1f MiB, peak of the program %.1f MiB\n", PODS,
	       (double)bytes / 1e6, (double)took / 1e6, (double)bytes / (double)took,
	       (double)(bench_memory("RssAnon:") - before) / 1024, (double)bench_memory("VmHWM:") / 1024);
	return 0;
}
