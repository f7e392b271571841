/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "job/expansion.h"
#include "job/fields.h"
#include "job/kind.h"
#include "job/status/shown.h"
#include "job/values/names.h"

/* Under scope job nothing starts again before all pods are gone, so the wait needs a bound (docs/internals/engine.md).
 */
#define JOB_TERMINATING_TIMEOUT (60 * RH_SECOND)

static const struct rh_replica_type *job_known_type(const struct rh_kind *kind, const char *key)
{
	bool any_case = kind->flags & RH_KIND_ANY_CASE;

	for (const struct rh_replica_type *const *type = kind->types; *type; type++) {
		if (rh_kind_own_path(*type))
			continue;
		if (any_case ? strcasecmp((*type)->name, key) == 0 : strcmp((*type)->name, key) == 0)
			return *type;
	}
	return NULL;
}

static size_t job_type_order(const struct rh_kind *kind, const struct rh_replica_type *known)
{
	size_t order = 0;

	while (kind->types[order] && kind->types[order] != known)
		order++;
	return order;
}

static bool job_spec_is_before(const struct rh_kind *kind, const struct rh_replica_spec *a,
                               const struct rh_replica_spec *b)
{
	size_t order_a = job_type_order(kind, a->known);
	size_t order_b = job_type_order(kind, b->known);

	return order_a != order_b ? order_a < order_b : strcmp(a->type, b->type) < 0;
}

static int job_read_spec(const struct rh_kind *kind, const struct rh_fields *fields, struct rh_replica_spec *spec)
{
	const char *policy = NULL;
	int r;

	spec->replicas = spec->known ? spec->known->default_replicas : 1;
	r = rh_fields_count(fields, "replicas", &spec->replicas);
	if (r == 0)
		r = rh_fields_text(fields, "restartPolicy", &policy);
	if (r == 0)
		r = rh_fields_object(fields, "template", &spec->template_);
	spec->policy = rh_restart_policy_parse(policy && *policy ? policy : rh_kind_restart_policy(kind, spec->known));
	return r;
}

static int job_refuse_types(const struct rh_place *place, struct rh_error *err)
{
	rh_auto_str path = {0};

	rh_place_print(place, false, &path);
	return rh_fail(err, RH_EINVAL, "%s: Too many: at most %d replica types are allowed", rh_str_text(&path),
	               RH_TYPES_MAX);
}

/* Of "Worker" and "worker" the one that is not canonical counts (v1-behaviour A.3-2). */
static int job_place_spec(struct rh_job *job, const struct rh_replica_spec *spec, const struct rh_place *place,
                          struct rh_error *err)
{
	size_t at = job->spec_count;

	for (size_t i = 0; i < job->spec_count; i++) {
		if (strcmp(job->specs[i].type, spec->type) != 0)
			continue;
		if (strcmp(spec->key, spec->type) != 0)
			job->specs[i] = *spec;
		return 0;
	}
	if (job->spec_count == RH_TYPES_MAX)
		return job_refuse_types(place, err);
	for (; at > 0 && job_spec_is_before(job->kind, spec, &job->specs[at - 1]); at--)
		job->specs[at] = job->specs[at - 1];
	job->specs[at] = *spec;
	job->spec_count++;
	return 0;
}

/* The types of the map. */
static int job_read_map(struct rh_job *job, struct rh_error *err)
{
	struct rh_kind_path path;
	const struct rh_json *map = NULL;
	int r;

	rh_kind_replicas_path(job->kind, &path);
	r = rh_kind_path_read(&path, job->object, &map, err);
	for (struct rh_json *entry = rh_json_first(map); entry && r == 0; entry = rh_json_next(entry)) {
		const char *key = rh_json_key(entry);
		struct rh_place place = rh_place_key(rh_kind_path_place(&path), key);
		struct rh_fields fields = {entry, &place, err};
		const struct rh_replica_type *known = job_known_type(job->kind, key);
		struct rh_replica_spec made = {.type = known ? known->name : key, .key = key, .known = known, .entry = entry};

		if (rh_json_type(entry) != RH_JSON_OBJECT)
			return rh_fields_refuse_type(err, &place, "object", entry);
		r = job_read_spec(job->kind, &fields, &made);
		if (r == 0)
			r = job_place_spec(job, &made, rh_kind_path_place(&path), err);
	}
	return r;
}

/* A type that stands outside of the map. */
static int job_read_own(struct rh_job *job, const struct rh_replica_type *known, struct rh_error *err)
{
	struct rh_replica_spec made = {.type = known->name, .key = known->name, .known = known};
	struct rh_kind_path path;
	struct rh_fields fields = {NULL, NULL, err};
	int r;

	rh_kind_type_path(job->kind, known, known->name, &path);
	r = rh_kind_path_read(&path, job->object, &made.entry, err);
	if (r < 0 || !made.entry)
		return r;
	fields.object = made.entry;
	fields.place = rh_kind_path_place(&path);
	r = job_read_spec(job->kind, &fields, &made);
	return r == 0 ? job_place_spec(job, &made, fields.place, err) : r;
}

static int job_read_specs(struct rh_job *job, struct rh_error *err)
{
	int r = 0;

	if (rh_kind_expands(job->kind))
		return 0; /* job/expansion.h */
	r = job_read_map(job, err);
	for (const struct rh_replica_type *const *type = job->kind->types; *type && r == 0; type++) {
		if (rh_kind_own_path(*type))
			r = job_read_own(job, *type, err);
	}
	return r;
}

/* Values that are wrong take the defaults here; validation refuses them. */
static void job_read_annotations(struct rh_job *job, const struct rh_json *annotations)
{
	const char *scope = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_RESTART));
	const char *timeout = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_TERMINATING_TIMEOUT));

	rh_stall_policy_read(annotations, &job->stalls);
	job->scope = rh_text_equal(scope, "job") ? RH_SCOPE_JOB : RH_SCOPE_REPLICA;
	job->terminating_timeout = job->scope == RH_SCOPE_JOB ? JOB_TERMINATING_TIMEOUT : RH_NEVER;
	if (timeout)
		(void)rh_duration_parse(timeout, &job->terminating_timeout, NULL);
}

static int job_read_metadata(struct rh_job *job, struct rh_error *err)
{
	struct rh_fields root = {job->object, NULL, err};
	struct rh_place place = rh_place_member(NULL, "metadata");
	struct rh_fields fields = {NULL, &place, err};
	const struct rh_json *annotations = NULL;
	int r = rh_fields_object(&root, "metadata", &fields.object);

	if (r != 0 || (r = rh_fields_text(&fields, "name", &job->name)) != 0 ||
	    (r = rh_fields_text(&fields, "namespace", &job->namespace_)) != 0 ||
	    (r = rh_fields_text(&fields, "uid", &job->uid)) != 0 ||
	    (r = rh_fields_text(&fields, "resourceVersion", &job->resource_version)) != 0 ||
	    (r = rh_fields_object(&fields, "annotations", &annotations)) != 0)
		return r;
	if (!*job->name)
		return rh_fail(err, RH_EINVAL, "metadata.name: Required value: name is required");
	if (!*job->namespace_)
		job->namespace_ = "default";
	job->created_at = rh_fields_time_or_zero(fields.object, "creationTimestamp");
	job->deleting = rh_fields_present(rh_json_get(fields.object, "deletionTimestamp")) != NULL;
	job_read_annotations(job, annotations);
	return 0;
}

static int job_read_all(struct rh_job *job, struct rh_error *err)
{
	struct rh_fields root = {job->object, NULL, err};
	struct rh_place place = rh_place_member(NULL, "spec");
	struct rh_fields spec = {NULL, &place, err};
	int r = job_read_metadata(job, err);

	if (r != 0 || (r = rh_fields_object(&root, "spec", &spec.object)) != 0)
		return r;
	if (!spec.object)
		return rh_fail(err, RH_EINVAL, "spec: Required value");
	if ((r = rh_run_policy_read(job->kind, job->object, &job->policy, err)) != 0 || (r = job_read_specs(job, err)) != 0)
		return r;
	r = rh_shown_read(job->kind, job->object, &job->status);
	return r == RH_ENOMEM ? rh_fail_oom(err) : r;
}

static struct rh_job *job_new(const struct rh_kind *kind, struct rh_json *object)
{
	struct rh_job *job = rh_alloc(sizeof(*job));

	if (!job)
		return NULL;
	job->kind = kind;
	job->object = object;
	job->weight = rh_json_weight(object);
	rh_json_drop_nulls(object);
	job->name = "";
	job->namespace_ = "";
	job->uid = "";
	job->resource_version = "";
	return job;
}

int rh_job_parse(const struct rh_kind *kind, struct rh_json *object, struct rh_job **ret_job, struct rh_error *err)
{
	struct rh_place place = rh_place_member(NULL, "object");
	rh_auto(job) job = job_new(kind, object);
	int r;

	if (!job) {
		rh_json_free(object);
		return rh_fail_oom(err);
	}
	if (rh_json_type(object) != RH_JSON_OBJECT)
		return rh_fields_refuse_type(err, &place, "object", object);
	r = job_read_all(job, err);
	if (r != 0)
		return r;
	*ret_job = rh_take(job);
	return 0;
}

void rh_job_free(struct rh_job *job)
{
	if (!job)
		return;
	rh_expansion_free(job->expansion);
	rh_job_set_refusals(job, NULL);
	rh_job_status_deinit(&job->status);
	rh_json_free(job->object);
	rh_free(job);
}

const struct rh_replica_spec *rh_job_spec(const struct rh_job *job, const char *type)
{
	for (size_t i = 0; i < job->spec_count; i++) {
		if (strcmp(job->specs[i].type, type) == 0)
			return &job->specs[i];
	}
	return NULL;
}

const struct rh_replica_spec *rh_job_spec_of_label(const struct rh_job *job, const char *label)
{
	for (size_t i = 0; i < job->spec_count; i++) {
		if (strcasecmp(job->specs[i].type, label) == 0)
			return &job->specs[i];
	}
	return NULL;
}

void rh_job_print_spec(const struct rh_job *job, const struct rh_replica_spec *spec, struct rh_str *out)
{
	struct rh_kind_path path;

	rh_kind_type_path(job->kind, spec->known, spec->key, &path);
	rh_kind_path_print(&path, out);
}

int64_t rh_job_total_replicas(const struct rh_job *job)
{
	int64_t total = 0;

	for (size_t i = 0; i < job->spec_count; i++)
		total += job->specs[i].replicas;
	return total;
}

bool rh_job_is_leader(const struct rh_job *job, const char *type, int32_t index)
{
	bool any = false;

	for (size_t i = 0; i < job->spec_count; i++) {
		const struct rh_replica_spec *spec = &job->specs[i];
		bool leads = spec->known && (spec->known->flags & RH_REPLICA_LEADER);

		if (leads && strcmp(spec->type, type) == 0)
			return true;
		any = any || leads;
	}
	return !any && index == 0 && job->kind->leader_fallback && strcmp(job->kind->leader_fallback, type) == 0;
}

int32_t rh_job_rank(const struct rh_job *job, const char *type, int32_t index)
{
	int64_t rank = index;

	for (size_t i = 0; i < job->spec_count && strcmp(job->specs[i].type, type) != 0; i++)
		rank += job->specs[i].replicas;
	return rank > INT32_MAX ? INT32_MAX : (int32_t)rank;
}

struct rh_pattern_replica rh_job_pattern_replica(const struct rh_job *job, const char *type, int32_t index)
{
	const struct rh_replica_spec *spec = rh_job_spec(job, type);
	bool unindexed = spec && spec->known && (spec->known->flags & RH_REPLICA_UNINDEXED);

	return (struct rh_pattern_replica){job->name, job->namespace_, job->uid, type, unindexed ? -1 : index};
}

const char *rh_job_replica_name(const struct rh_job *job, const char *type, int32_t index, char buffer[RH_NAME_SIZE])
{
	const struct rh_pattern_replica replica = rh_job_pattern_replica(job, type, index);

	return rh_patterns_pod(job->kind, &replica, buffer);
}

const char *rh_job_replica_own_name(const struct rh_job *job, const char *type, int32_t index,
                                    char buffer[RH_NAME_SIZE])
{
	const struct rh_pattern_replica replica = rh_job_pattern_replica(job, type, index);

	return rh_patterns_replica(job->kind, &replica, buffer);
}

bool rh_job_is_ours(const struct rh_job *job)
{
	return rh_kind_is_ours(job->kind, job->policy.managed_by);
}

struct rh_json *rh_job_main_container(const struct rh_kind *kind, const struct rh_json *pod_spec)
{
	struct rh_json *first = rh_fields_first(pod_spec, "containers");

	for (struct rh_json *item = first; item && kind->container; item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string(rh_json_get(item, "name")), kind->container))
			return item;
	}
	return first;
}

int32_t rh_job_own_port(const struct rh_job *job, const struct rh_replica_spec *spec)
{
	const char *port_name = job->kind->port_name;
	const struct rh_json *container = rh_job_main_container(job->kind, rh_json_get(spec->template_, "spec"));
	const struct rh_json *item;
	int64_t number;

	for (item = rh_fields_first(container, "ports"); item && port_name; item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string(rh_json_get(item, "name")), port_name) &&
		    rh_json_integer(rh_json_get(item, "containerPort"), &number) && number > 0 && number <= UINT16_MAX)
			return (int32_t)number;
	}
	return 0;
}

int32_t rh_job_port(const struct rh_job *job, const char *type)
{
	const struct rh_replica_spec *spec = rh_job_spec(job, type);
	int32_t own = spec ? rh_job_own_port(job, spec) : -1;

	return own != 0 ? own : job->kind->port;
}
