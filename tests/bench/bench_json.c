/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a JSON tree costs: time to parse, copy, compare, print and free it, and its bytes of heap. The documents are a
 * pod of 1 KB, a job of 100 KB, a list of 1000 pods, an object of 10,000 members, a list of 100,000 numbers.
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"

/* Rounds go on for so long, and the shortest counts. */
#define BENCH_SECONDS 0.5

static const char bench_pod[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"bench-worker-%d\",\"namespace\":\"default\","
	"\"uid\":"
	"\"9f0ad2f8-1111-4111-8111-%012d\",\"resourceVersion\":\"%d\",\"labels\":{\"training.kubeflow.org/"
	"job-name\":\"bench\","
	"\"training.kubeflow.org/replica-index\":\"%d\",\"training.kubeflow.org/replica-type\":\"worker\"}},\"spec\":{"
	"\"containers\":[{\"name\":\"pytorch\",\"image\":\"docker.io/org/image:tag\",\"command\":[\"python\",\"train.py\"],"
	"\"env\":[{\"name\":\"MASTER_ADDR\",\"value\":\"bench-master-0\"},{\"name\":\"MASTER_PORT\",\"value\":\"23456\"},{"
	"\"name\":\"WORLD_SIZE\",\"value\":\"4\"}],\"ports\":[{\"name\":\"pytorchjob-port\",\"containerPort\":23456}],"
	"\"resources\":{\"limits\":{\"cpu\":\"4\",\"memory\":\"16Gi\"}}}],\"restartPolicy\":\"Never\"},\"status\":{"
	"\"phase\":"
	"\"Running\",\"hostIP\":\"10.0.0.17\",\"podIP\":\"10.1.2.3\",\"startTime\":\"2026-01-01T00:00:01Z\",\"conditions\":"
	"[{"
	"\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:02Z\"}]}}";

static void bench_write_pod(struct rh_str *out, int n)
{
	rh_str_appendf(out, bench_pod, n, n, 1000 + n, n);
}

static void bench_write_pods(struct rh_str *out, int count)
{
	rh_str_append(out, "{\"kind\":\"PodList\",\"items\":[");
	for (int i = 0; i < count; i++) {
		rh_str_append(out, i > 0 ? "," : "");
		bench_write_pod(out, i);
	}
	rh_str_append(out, "]}");
}

/* A job with a large script and many variables. */
static void bench_write_job(struct rh_str *out, int variables)
{
	rh_str_append(
		out, "{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{\"name\":\"bench\"},\"spec\":{"
			 "\"pytorchReplicaSpecs\":{\"Worker\":{\"replicas\":4,\"template\":{\"spec\":{\"containers\":[{\"name\":"
			 "\"pytorch\",\"image\":\"image:tag\",\"command\":[\"python\",\"-c\",\"");
	for (int i = 0; i < variables; i++)
		rh_str_append(out, "print(\\\"step\\\")\\n");
	rh_str_append(out, "\"],\"env\":[");
	for (int i = 0; i < variables; i++)
		rh_str_appendf(out, "%s{\"name\":\"VARIABLE_%d\",\"value\":\"a value of the variable %d\"}", i > 0 ? "," : "",
		               i, i);
	rh_str_append(out, "]}]}}}}}}");
}

static void bench_write_members(struct rh_str *out, int count)
{
	rh_str_append(out, "{");
	for (int i = 0; i < count; i++)
		rh_str_appendf(out, "%s\"key-%d\":%d", i > 0 ? "," : "", i, i);
	rh_str_append(out, "}");
}

static void bench_write_numbers(struct rh_str *out, int count)
{
	rh_str_append(out, "[");
	for (int i = 0; i < count; i++)
		rh_str_appendf(out, "%s%d", i > 0 ? "," : "", i % 10);
	rh_str_append(out, "]");
}

static double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t bench_heap(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Seconds of each step, and the heap that one tree takes. */
struct bench_costs {
	double parse, copy, equal, print, release;
	size_t heap, copy_heap;
	long allocations;
};

static void bench_least(double *least, double *since)
{
	double now = bench_now();

	if (*least == 0 || now - *since < *least)
		*least = now - *since;
	*since = now;
}

static int bench_round(const struct rh_str *text, int times, struct bench_costs *costs)
{
	struct rh_json *trees[256], *copies[256];
	double at = bench_now();

	for (int i = 0; i < times; i++)
		if (rh_json_parse(text->data, text->length, &trees[i], NULL) < 0)
			return RH_ENOMEM;
	bench_least(&costs->parse, &at);
	for (int i = 0; i < times; i++)
		copies[i] = rh_json_copy(trees[i]);
	bench_least(&costs->copy, &at);
	for (int i = 0; i < times; i++)
		if (!rh_json_equal(trees[i], copies[i]))
			return RH_ENOMEM;
	bench_least(&costs->equal, &at);
	for (int i = 0; i < times; i++)
		rh_free(rh_json_text(trees[i]));
	bench_least(&costs->print, &at);
	for (int i = 0; i < times; i++)
		rh_json_free(trees[i]);
	bench_least(&costs->release, &at);
	for (int i = 0; i < times; i++)
		rh_json_free(copies[i]);
	return 0;
}

static int bench_measure_heap(const struct rh_str *text, struct bench_costs *costs)
{
	rh_auto(json) tree = NULL;
	rh_auto(json) copy = NULL;
	size_t before = bench_heap();

	(void)rh_mem_fail_after(-1);
	if (rh_json_parse(text->data, text->length, &tree, NULL) < 0)
		return RH_ENOMEM;
	costs->allocations = rh_mem_fail_after(-1);
	costs->heap = bench_heap() - before;
	before = bench_heap();
	copy = rh_json_copy(tree);
	costs->copy_heap = bench_heap() - before;
	return copy ? 0 : RH_ENOMEM;
}

static int bench_document(const char *name, struct rh_str *text, int times)
{
	struct bench_costs costs = {0};
	double end = bench_now() + BENCH_SECONDS, micro = 1e6 / times;

	if (text->failed || bench_measure_heap(text, &costs) < 0)
		return RH_ENOMEM;
	while (bench_now() < end)
		if (bench_round(text, times, &costs) < 0)
			return RH_ENOMEM;
	printf("%-16s %8zu B | parse %9.1f copy %9.1f equal %9.1f print %9.1f free %8.1f us | heap %9zu, copy %9zu B, %ld "
	       "allocations\n",
	       name, text->length, costs.parse * micro, costs.copy * micro, costs.equal * micro, costs.print * micro,
	       costs.release * micro, costs.heap, costs.copy_heap, costs.allocations);
	rh_str_clear(text);
	return 0;
}

int main(void)
{
	rh_auto_str text = {0};
	int r;

	bench_write_pod(&text, 7);
	r = bench_document("pod", &text, 256);
	bench_write_job(&text, 1250);
	r = r < 0 ? r : bench_document("job", &text, 16);
	bench_write_pods(&text, 1000);
	r = r < 0 ? r : bench_document("1000 pods", &text, 1);
	bench_write_members(&text, 10000);
	r = r < 0 ? r : bench_document("10,000 members", &text, 4);
	bench_write_numbers(&text, 100000);
	r = r < 0 ? r : bench_document("100,000 numbers", &text, 1);
	return r < 0;
}
