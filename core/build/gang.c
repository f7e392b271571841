/* SPDX-License-Identifier: Apache-2.0 */
#include "build/gang.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/values/names.h"
#include "job/values/quantity.h"

#define GANG_QUEUE "default"

static const char *gang_template_scheduler(const struct rh_replica_spec *spec)
{
	const char *name = rh_json_string_at(spec->template_, "spec.schedulerName");

	return name ? name : "";
}

bool rh_gang_is_bypassed(const struct rh_gang *gang, const struct rh_replica_spec *spec)
{
	const char *name = gang_template_scheduler(spec);

	return rh_gang_is_on(gang) && *name && strcmp(name, gang->scheduler) != 0;
}

static int gang_set_meta(struct rh_json *pod, const char *member, const char *key, const char *value)
{
	struct rh_json *metadata = rh_json_ensure_object(pod, "metadata");
	struct rh_json *map = metadata ? rh_json_ensure_object(metadata, member) : NULL;

	return map ? rh_json_set_string(map, key, value) : RH_ENOMEM;
}

const struct rh_gang *rh_gang_of_kind(const struct rh_gang *gang, const struct rh_kind *kind)
{
	return kind->flags & RH_KIND_OWN_GANG ? NULL : gang;
}

int rh_gang_decorate(const struct rh_gang *gang, const struct rh_job *job, const struct rh_replica_spec *spec,
                     struct rh_json *pod)
{
	char lower[RH_NAME_SIZE];
	struct rh_json *pod_spec = rh_json_get(pod, "spec");

	if (!rh_gang_is_on(gang))
		return 0;
	if (!*gang_template_scheduler(spec) && rh_json_set_string(pod_spec, "schedulerName", gang->scheduler) < 0)
		return RH_ENOMEM;
	if (gang->kind == RH_GANG_SCHEDULER_PLUGINS)
		return gang_set_meta(pod, "labels", "scheduling.x-k8s.io/pod-group", job->name);
	if (gang_set_meta(pod, "annotations", "scheduling.k8s.io/group-name", job->name) < 0)
		return RH_ENOMEM;
	return gang_set_meta(pod, "annotations", "volcano.sh/task-spec", rh_name_lower(spec->type, lower));
}

/* Frees quantities by resource, in the order in which they were met. */
static void gang_free_sums(struct rh_map **sums)
{
	size_t cursor = 0;
	void *value;

	while (*sums && rh_map_next(*sums, &cursor, NULL, &value))
		rh_free(value);
	rh_map_free(*sums);
}

#define gang_auto_sums __attribute__((cleanup(gang_free_sums))) struct rh_map *

/* @return the sum of @p name, made when it is missing; NULL when memory is out */
static struct rh_quantity *gang_sum_of(struct rh_map *sums, const char *name)
{
	struct rh_quantity *sum = rh_map_get(sums, name);

	if (sum)
		return sum;
	sum = rh_alloc(sizeof(*sum));
	if (sum && rh_map_set(sums, name, sum, NULL) == 0)
		return sum;
	rh_free(sum);
	return NULL;
}

static int gang_add(struct rh_map *sums, const struct rh_map *from, int64_t times)
{
	size_t cursor = 0;
	const char *name;
	void *value;

	while (rh_map_next(from, &cursor, &name, &value)) {
		struct rh_quantity *sum = gang_sum_of(sums, name);

		if (!sum)
			return RH_ENOMEM;
		rh_quantity_add(sum, value, times);
	}
	return 0;
}

/* Raise each sum to what @p from has of it, together with what @p base (NULL: nothing) has. */
static int gang_raise(struct rh_map *sums, const struct rh_map *base, const struct rh_map *from)
{
	size_t cursor = 0;
	const char *name;
	void *value;

	while (rh_map_next(from, &cursor, &name, &value)) {
		const struct rh_quantity *before = base ? rh_map_get(base, name) : NULL;
		struct rh_quantity *sum = gang_sum_of(sums, name);
		struct rh_quantity least = {0};

		if (!sum)
			return RH_ENOMEM;
		if (before)
			rh_quantity_add(&least, before, 1);
		rh_quantity_add(&least, value, 1);
		if (sum->milli < least.milli)
			*sum = least;
	}
	return 0;
}

static int gang_add_list(struct rh_map *sums, const struct rh_json *list, const struct rh_json *but,
                         struct rh_error *err)
{
	rh_auto(map) index = rh_json_index(but);

	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		struct rh_quantity quantity;
		struct rh_quantity *sum;

		if (rh_json_get_by(but, index, rh_json_key(item)))
			continue;
		if (rh_quantity_read(item, &quantity, err) < 0)
			return rh_wrap(err, RH_EINVAL, "resources.%s", rh_json_key(item));
		sum = gang_sum_of(sums, rh_json_key(item));
		if (!sum)
			return rh_fail_oom(err);
		rh_quantity_add(sum, &quantity, 1);
	}
	return 0;
}

/* Request of a container; without one its limit is its request, as for the API server. */
static int gang_add_container(struct rh_map *sums, const struct rh_json *container, struct rh_error *err)
{
	const struct rh_json *resources = rh_json_get(container, "resources");
	const struct rh_json *requests = rh_json_get(resources, "requests");
	int r = gang_add_list(sums, requests, NULL, err);

	return r < 0 ? r : gang_add_list(sums, rh_json_get(resources, "limits"), requests, err);
}

/*
 * Init containers run one after the other, beside those that go on running (restartPolicy Always).
 * @p sums gets those that go on, @p peak the most that is needed before the pod's containers start.
 */
static int gang_add_init(struct rh_map *sums, struct rh_map *peak, const struct rh_json *pod_spec, struct rh_error *err)
{
	for (const struct rh_json *container = rh_json_first(rh_json_get(pod_spec, "initContainers")); container;
	     container = rh_json_next(container)) {
		bool stays = rh_text_equal(rh_json_string_at(container, "restartPolicy"), "Always");
		gang_auto_sums own = stays ? NULL : rh_map_new();
		int r = stays || own ? gang_add_container(stays ? sums : own, container, err) : RH_ENOMEM;

		if (r == 0 && own)
			r = gang_raise(peak, sums, own);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Request of one pod, as the scheduler counts it. */
static int gang_add_pod(struct rh_map *total, const struct rh_json *pod_spec, int64_t times, struct rh_error *err)
{
	gang_auto_sums sums = rh_map_new();
	gang_auto_sums peak = rh_map_new();
	int r = sums && peak ? gang_add_init(sums, peak, pod_spec, err) : RH_ENOMEM;

	for (const struct rh_json *container = rh_json_first(rh_json_get(pod_spec, "containers")); container && r == 0;
	     container = rh_json_next(container))
		r = gang_add_container(sums, container, err);
	if (r < 0)
		return r;
	return gang_raise(sums, NULL, peak) < 0 || gang_add(total, sums, times) < 0 ? RH_ENOMEM : 0;
}

/* V1 takes types in random order when not all pods are counted; here it is the kind's order, leaders first. */
static int gang_sum_job(struct rh_map *total, const struct rh_job *job, const int32_t *held, int64_t members,
                        struct rh_error *err)
{
	for (size_t i = 0; i < job->spec_count && members > 0; i++) {
		int64_t replicas = job->specs[i].replicas - (held ? held[i] : 0);
		int64_t count = replicas < members ? replicas : members;
		int r = 0;

		if (count > 0)
			r = gang_add_pod(total, rh_json_get(job->specs[i].template_, "spec"), count, err);
		if (r < 0)
			return r;
		members -= count > 0 ? count : 0;
	}
	return 0;
}

static int gang_put_sums(const struct rh_map *sums, struct rh_json *spec)
{
	rh_auto(json) resources = rh_json_new_object();
	char text[RH_QUANTITY_SIZE];
	size_t cursor = 0;
	const char *name;
	void *sum;

	if (rh_map_size(sums) == 0)
		return 0;
	while (rh_map_next(sums, &cursor, &name, &sum)) {
		if (rh_json_add(resources, name, rh_json_new_string(rh_quantity_print(sum, text))) < 0)
			return RH_ENOMEM;
	}
	return rh_json_set(spec, "minResources", rh_take(resources));
}

static int gang_put_resources(const struct rh_job *job, const int32_t *held, int64_t members, struct rh_json *spec,
                              struct rh_error *err)
{
	const struct rh_json *given = job->policy.scheduling.min_resources;
	gang_auto_sums sums = rh_map_new();
	int r;

	if (!sums)
		return rh_fail_oom(err);
	r = given ? gang_add_list(sums, given, NULL, err) : gang_sum_job(sums, job, held, members, err);
	if (r == RH_EINVAL)
		return rh_wrap(err, r, "minResources of the PodGroup of %s %s/%s", job->kind->kind, job->namespace_, job->name);
	return r < 0 || gang_put_sums(sums, spec) < 0 ? rh_fail_oom(err) : 0;
}

static int gang_put_policy(const struct rh_gang *gang, const struct rh_scheduling_policy *policy, struct rh_json *spec)
{
	if (gang->kind == RH_GANG_SCHEDULER_PLUGINS)
		return policy->timeout_seconds < 0
		           ? 0
		           : rh_json_set_integer(spec, "scheduleTimeoutSeconds", policy->timeout_seconds);
	if (policy->priority_class && *policy->priority_class &&
	    rh_json_set_string(spec, "priorityClassName", policy->priority_class) < 0)
		return RH_ENOMEM;
	return rh_json_set_string(spec, "queue", policy->queue && *policy->queue ? policy->queue : GANG_QUEUE);
}

/* As in V1, a PodGroup has the job's annotations: schedulers read their queue from them. The ledger is left out. */
static int gang_put_metadata(const struct rh_job *job, struct rh_json *metadata)
{
	const struct rh_json *annotations = rh_json_at(job->object, "metadata.annotations");
	struct rh_json *labels = rh_json_ensure_object(metadata, "labels");

	if (rh_json_set_string(metadata, "name", job->name) < 0 || !labels ||
	    rh_json_set_string(labels, RH_LABEL_JOB, job->name) < 0)
		return RH_ENOMEM;
	if (rh_json_size(annotations) == 0)
		return 0;
	if (rh_json_set(metadata, "annotations", rh_json_copy(annotations)) < 0)
		return RH_ENOMEM;
	rh_json_remove(rh_json_get(metadata, "annotations"), RH_ANNOTATION_LEDGER);
	rh_json_remove(rh_json_get(metadata, "annotations"), RH_ANNOTATION_KEEP);
	rh_json_remove(rh_json_get(metadata, "annotations"), RH_ANNOTATION_ADMITTED);
	return 0;
}

/* @return how many pods must be placed together: as many as the job says, but none that are not there yet */
static int64_t gang_members(const struct rh_job *job, const int32_t *held)
{
	int64_t minimum = job->policy.scheduling.min_available;
	int64_t most = rh_job_total_replicas(job);

	for (size_t i = 0; held && i < job->spec_count; i++)
		most -= held[i];
	return minimum < 0 || (held && most < minimum && most < rh_job_total_replicas(job)) ? most : minimum;
}

int rh_gang_pod_group(const struct rh_gang *gang, const struct rh_job *job, const int32_t *held,
                      struct rh_json **ret_group, struct rh_error *err)
{
	int64_t members = gang_members(job, held);
	rh_auto(json) group = rh_json_new_object();
	struct rh_json *metadata, *spec;
	int r;

	if (!group || rh_json_set_string(group, "apiVersion", rh_gang_api_version(gang)) < 0 ||
	    rh_json_set_string(group, "kind", RH_GANG_OBJECT) < 0)
		return rh_fail_oom(err);
	metadata = rh_json_ensure_object(group, "metadata");
	spec = rh_json_ensure_object(group, "spec");
	if (!metadata || !spec || gang_put_metadata(job, metadata) < 0 ||
	    rh_json_set_integer(spec, "minMember", members) < 0 || gang_put_policy(gang, &job->policy.scheduling, spec) < 0)
		return rh_fail_oom(err);
	r = gang_put_resources(job, held, members, spec, err);
	if (r == 0)
		*ret_group = rh_take(group);
	return r;
}
