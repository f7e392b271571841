/* SPDX-License-Identifier: Apache-2.0 */
/* Gang scheduling: the PodGroup that podGroupPolicy of the runtime asks for, whatever the scheduler is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../trainer.h"
#include "../values/quantity.h"

/** Most resources that are summed. */
#define GANG_RESOURCES 32
#define GANG_PODS TRAINER_JOBS "[%" PRId32 "].template.spec.template.spec"

/** What all pods ask for. */
struct gang_sum {
	struct {
		const char *name;
		struct quantity quantity;
	} items[GANG_RESOURCES];
	size_t count;
};

/** The resources of one container: of several that say something of one resource, the first counts. */
struct gang_container {
	const struct trainer_call *call;
	struct gang_sum *sum;
	int64_t pods;
	const char *seen[GANG_RESOURCES];
	size_t count;
};

static void gang_add(struct gang_sum *sum, const char *name, const char *text, int64_t times)
{
	struct quantity quantity;
	size_t i = 0;

	if (!text || !quantity_read(text, &quantity) || __builtin_mul_overflow(quantity.milli, times, &quantity.milli))
		return;
	while (i < sum->count && strcmp(sum->items[i].name, name) != 0)
		i++;
	if (i < sum->count) {
		(void)__builtin_add_overflow(sum->items[i].quantity.milli, quantity.milli, &sum->items[i].quantity.milli);
	} else if (i < GANG_RESOURCES) {
		sum->items[i].name = name;
		sum->items[i].quantity = quantity;
		sum->count++;
	}
}

/** Add what stands in the list @p path of requests or limits. */
static void gang_add_list(struct gang_container *container, const char *path)
{
	const struct trainer_call *call = container->call;
	const char *key;

	for (uint32_t i = 0; (key = call->host->key(call->view, path, i)); i++) {
		const char *member = call->host->member(call->view, path, key);
		size_t k = 0;

		while (k < container->count && strcmp(container->seen[k], key) != 0)
			k++;
		if (k < container->count || k == GANG_RESOURCES || !member)
			continue;
		container->seen[container->count++] = key;
		gang_add(container->sum, key, call->host->text(call->view, member), container->pods);
	}
}

/** Requests count, and limits of what is not requested, as for an API server; what the job says goes before. */
static void gang_add_container(const struct trainer_call *call, struct gang_sum *sum, int32_t job, int32_t place)
{
	static const char *const lists[] = {"requests", "limits"};
	struct gang_container container = {.call = call, .sum = sum, .pods = trainer_pods(call, job)};
	const char *type = trainer_job_name(call, job);
	const char *name = trainer_text(call, GANG_PODS ".containers[%" PRId32 "].name", job, place);
	char path[TRAINER_TEXT];

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		snprintf(path, sizeof(path), "spec.trainer.resourcesPerNode.%s", lists[i]);
		if (type && name && trainer_is_ancestor(call, type) && strcmp(name, TRAINER_NODE) == 0)
			gang_add_list(&container, path);
		gang_add_list(&container, trainer_path(call, path, GANG_PODS ".containers[%" PRId32 "].resources.%s", job,
		                                       place, lists[i]));
	}
}

/** @return whether the job starts when others are ready or done */
static bool gang_waits(const struct trainer_call *call, int32_t job)
{
	return trainer_size(call, TRAINER_JOBS "[%" PRId32 "].dependsOn", job) > 0;
}

static void gang_write_resources(struct trainer_call *call, FILE *out)
{
	struct gang_sum sum = {.count = 0};
	const int32_t jobs = trainer_size(call, TRAINER_JOBS);

	for (int32_t i = 0; i < jobs; i++) {
		const int32_t containers = gang_waits(call, i) ? 0 : trainer_size(call, GANG_PODS ".containers", i);

		for (int32_t k = 0; k < containers; k++)
			gang_add_container(call, &sum, i, k);
	}
	fputs("{", out);
	for (size_t i = 0; i < sum.count; i++) {
		char text[QUANTITY_TEXT];
		const char *name = trainer_quote(call, "%s", sum.items[i].name);

		quantity_print(&sum.items[i].quantity, text);
		if (name)
			fprintf(out, "%s%s:\"%s\"", i > 0 ? "," : "", name, text);
	}
	fputs("}", out);
}

/** Pods that must come at once: those of jobs that wait for others are not among them, or nothing would ever start. */
static int64_t gang_members(const struct trainer_call *call)
{
	const int32_t jobs = trainer_size(call, TRAINER_JOBS);
	int64_t members = 0;

	for (int32_t i = 0; i < jobs; i++) {
		if (!gang_waits(call, i))
			members += trainer_pods(call, i);
	}
	return members;
}

static void gang_write_volcano(struct trainer_call *call, FILE *out)
{
	const char *queue = trainer_text(call, "template.metadata.annotations[\"scheduling.volcano.sh/queue-name\"]");
	const char *priority = NULL;
	char path[TRAINER_TEXT];
	const char *topology =
		call->host->json(call->view, trainer_path(call, path, "podGroupPolicy.volcano.networkTopology"));
	const int32_t jobs = trainer_size(call, TRAINER_JOBS);

	for (int32_t i = 0; i < jobs && !priority; i++)
		priority = trainer_text(call, GANG_PODS ".priorityClassName", i);
	if (queue)
		fprintf(out, ",\"queue\":%s", trainer_quote(call, "%s", queue));
	if (priority)
		fprintf(out, ",\"priorityClassName\":%s", trainer_quote(call, "%s", priority));
	if (topology)
		fprintf(out, ",\"networkTopology\":%s", topology);
}

static void gang_write(struct trainer_call *call, FILE *out, bool volcano)
{
	fprintf(out,
	        "{\"apiVersion\":\"%s\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":%s},\"spec\":{\"minMember\":%" PRId64
	        ",\"minResources\":",
	        volcano ? "scheduling.volcano.sh/v1beta1" : "scheduling.x-k8s.io/v1alpha1",
	        trainer_quote(call, "%s", trainer_name(call)), gang_members(call));
	gang_write_resources(call, out);
	if (volcano)
		gang_write_volcano(call, out);
	else
		fprintf(out, ",\"scheduleTimeoutSeconds\":%" PRId64,
		        trainer_number(call, 60, "podGroupPolicy.coscheduling.scheduleTimeoutSeconds"));
	fputs("}}", out);
}

void trainer_add_gang(struct trainer_call *call)
{
	const bool volcano = trainer_size(call, "podGroupPolicy.volcano") >= 0;
	char *json = NULL;
	size_t length;
	FILE *out;

	if (!volcano && trainer_size(call, "podGroupPolicy.coscheduling") < 0)
		return;
	out = open_memstream(&json, &length);
	if (out)
		gang_write(call, out, volcano);
	if (!out || fclose(out) != 0)
		trainer_fail_memory(call);
	else if (call->status == 0)
		call->status = call->host->object(call->reply, json);
	free(json);
}

void trainer_join_gang(struct trainer_call *call)
{
	const char *name = trainer_quote(call, "%s", trainer_name(call));

	if (trainer_size(call, "podGroupPolicy.volcano") >= 0)
		trainer_edit(call, name, "metadata.annotations[\"scheduling.k8s.io/group-name\"]");
	else if (trainer_size(call, "podGroupPolicy.coscheduling") >= 0)
		trainer_edit(call, name, "metadata.labels[\"scheduling.x-k8s.io/pod-group\"]");
}
