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
#include "job/names.h"
#include "job/shown.h"

/* 30 000 years: any time of this epoch plus so many seconds still is a number of microseconds. */
#define JOB_SECONDS_MAX INT64_C(1000000000000)

/* Under scope job nothing starts again before all pods are gone, so the wait needs a bound (docs/internals/engine.md).
 */
#define JOB_TERMINATING_TIMEOUT (60 * RH_SECOND)

struct job_policy_word {
	const char *word;
	enum rh_restart_policy policy;
};

static const struct job_policy_word job_restart_policies[] = {
	{"Always", RH_RESTART_ALWAYS},
	{"OnFailure", RH_RESTART_ON_FAILURE},
	{"Never", RH_RESTART_NEVER},
	{"ExitCode", RH_RESTART_EXIT_CODE},
};

#define JOB_RESTART_POLICIES (sizeof(job_restart_policies) / sizeof(job_restart_policies[0]))

enum rh_restart_policy rh_restart_policy_parse(const char *word)
{
	for (size_t i = 0; i < JOB_RESTART_POLICIES; i++) {
		if (rh_text_equal(word, job_restart_policies[i].word))
			return job_restart_policies[i].policy;
	}
	return RH_RESTART_UNKNOWN;
}

const char *rh_restart_policy_name(enum rh_restart_policy policy)
{
	for (size_t i = 0; i < JOB_RESTART_POLICIES; i++) {
		if (job_restart_policies[i].policy == policy)
			return job_restart_policies[i].word;
	}
	return "Never";
}

/* v1-behaviour B.1: every word that is not None or Running deletes all pods. */
static enum rh_clean_policy job_clean_policy(const char *word)
{
	if (!word || strcmp(word, "None") == 0)
		return RH_CLEAN_NONE;
	return strcmp(word, "Running") == 0 ? RH_CLEAN_RUNNING : RH_CLEAN_ALL;
}

/* -1 means unset inside; what is negative in the object acts as 0, as it does in V1, and validation refuses it. */
static int64_t job_clamp_seconds(int64_t seconds)
{
	if (seconds < 0)
		return 0;
	return seconds > JOB_SECONDS_MAX ? JOB_SECONDS_MAX : seconds;
}

static int job_read_seconds(const struct rh_fields *fields, const char *key, int64_t *ret_seconds)
{
	int64_t seconds;
	int r;

	if (!rh_fields_present(rh_json_get(fields->object, key)))
		return 0;
	r = rh_fields_int64(fields, key, &seconds);
	if (r == 0)
		*ret_seconds = job_clamp_seconds(seconds);
	return r;
}

static int job_read_count(const struct rh_fields *fields, const char *key, int32_t *ret_count)
{
	int32_t count = 0;
	int r;

	if (!rh_fields_present(rh_json_get(fields->object, key)))
		return 0;
	r = rh_fields_int32(fields, key, &count);
	if (r == 0)
		*ret_count = count < 0 ? 0 : count;
	return r;
}

/* As job_read_count(), for a limit that may be unset. */
static int job_read_limit(const struct rh_fields *fields, const char *key, int64_t *ret_limit)
{
	int32_t count = -1;
	int r = job_read_count(fields, key, &count);

	if (r == 0 && count >= 0)
		*ret_limit = count;
	return r;
}

static int job_read_scheduling(struct rh_scheduling_policy *policy, const struct rh_fields *run_policy)
{
	struct rh_place place = rh_place_member(run_policy->place, "schedulingPolicy");
	struct rh_fields fields = {NULL, &place, run_policy->err};
	int r = rh_fields_object(run_policy, "schedulingPolicy", &fields.object);

	if (r != 0 || !fields.object)
		return r;
	policy->present = true;
	if ((r = job_read_count(&fields, "minAvailable", &policy->min_available)) != 0 ||
	    (r = job_read_count(&fields, "scheduleTimeoutSeconds", &policy->timeout_seconds)) != 0 ||
	    (r = rh_fields_text(&fields, "queue", &policy->queue)) != 0 ||
	    (r = rh_fields_text(&fields, "priorityClass", &policy->priority_class)) != 0)
		return r;
	return rh_fields_object(&fields, "minResources", &policy->min_resources);
}

/* MPI has a second cleanPodPolicy on the top of its spec; the other kinds' schemas prune it (v1-behaviour A.3-1). */
static const char *job_top_clean_policy(const struct rh_kind *kind, const struct rh_json *spec)
{
	const char *word = rh_json_string(rh_json_get(spec, "cleanPodPolicy"));
	rh_auto(json) schema = NULL;

	if (!word || !kind->spec_schema)
		return NULL;
	if (rh_json_parse(kind->spec_schema, strlen(kind->spec_schema), &schema, NULL) != 0)
		return NULL;
	return rh_json_get(schema, "cleanPodPolicy") ? word : NULL;
}

/* Where members of a run policy are read from. */
struct job_policy_source {
	struct rh_fields fields;
	const struct rh_kind *kind; /* which of the members are there; NULL: all */
};

static struct rh_fields job_policy_field(const struct job_policy_source *source, const char *key)
{
	struct rh_fields fields = source->fields;

	if (source->kind && !rh_kind_has_policy(source->kind, key))
		fields.object = NULL;
	return fields;
}

/* What a job and the defaults of its kind can set; what is absent stays. @param[in,out] clean cleanPodPolicy's word */
static int job_read_policy_members(struct rh_run_policy *policy, const struct job_policy_source *source,
                                   const char **clean)
{
	struct rh_fields word = job_policy_field(source, "cleanPodPolicy");
	struct rh_fields suspend = job_policy_field(source, "suspend");
	struct rh_fields ttl = job_policy_field(source, "ttlSecondsAfterFinished");
	struct rh_fields deadline = job_policy_field(source, "activeDeadlineSeconds");
	struct rh_fields limit = job_policy_field(source, "backoffLimit");
	int r;

	if ((r = rh_fields_text(&word, "cleanPodPolicy", clean)) != 0 ||
	    (r = rh_fields_bool(&suspend, "suspend", &policy->suspend)) != 0 ||
	    (r = job_read_limit(&ttl, "ttlSecondsAfterFinished", &policy->ttl_seconds)) != 0 ||
	    (r = job_read_seconds(&deadline, "activeDeadlineSeconds", &policy->deadline_seconds)) != 0)
		return r;
	return job_read_limit(&limit, "backoffLimit", &policy->backoff_limit);
}

int rh_job_override_policy(struct rh_run_policy *policy, const struct rh_fields *fields)
{
	const struct job_policy_source source = {*fields, NULL};
	const char *clean = NULL;
	int r = job_read_policy_members(policy, &source, &clean);

	if (clean)
		policy->clean = job_clean_policy(clean);
	return r;
}

/* The loader has checked them (host/plugin/kind_json.c). */
static int job_read_policy_defaults(struct rh_job *job, struct rh_error *err)
{
	const char *text = rh_kind_run_policy(job->kind);
	rh_auto(json) defaults = NULL;
	struct job_policy_source source = {{NULL, NULL, err}, NULL};
	const char *clean = NULL;
	int r = text ? rh_json_parse(text, strlen(text), &defaults, err) : 0;

	source.fields.object = defaults;
	if (r == 0 && defaults)
		r = job_read_policy_members(&job->policy, &source, &clean);
	if (r == 0)
		job->policy.clean = job_clean_policy(clean);
	return r;
}

static int job_read_run_policy(struct rh_job *job, const struct rh_fields *spec)
{
	struct rh_run_policy *policy = &job->policy;
	struct rh_kind_path path;
	struct job_policy_source source = {{NULL, NULL, spec->err}, NULL};
	struct rh_fields fields;
	const char *clean = NULL;
	int r = job_read_policy_defaults(job, spec->err);

	rh_kind_policy_path(job->kind, &path);
	source.fields.place = rh_kind_path_place(&path);
	source.kind = path.count == 1 ? job->kind : NULL;
	if (r != 0 || (r = rh_kind_path_read(&path, job->object, &source.fields.object, spec->err)) != 0 ||
	    (r = job_read_policy_members(policy, &source, &clean)) != 0)
		return r;
	fields = job_policy_field(&source, "managedBy");
	r = rh_fields_text(&fields, "managedBy", &policy->managed_by);
	if (!clean)
		clean = job_top_clean_policy(job->kind, spec->object);
	if (clean)
		policy->clean = job_clean_policy(clean);
	fields = job_policy_field(&source, "schedulingPolicy");
	return r == 0 ? job_read_scheduling(&policy->scheduling, &fields) : r;
}

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
	r = job_read_count(fields, "replicas", &spec->replicas);
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
	if ((r = job_read_run_policy(job, &spec)) != 0 || (r = job_read_specs(job, err)) != 0)
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
	job->policy.ttl_seconds = -1;
	job->policy.deadline_seconds = -1;
	job->policy.backoff_limit = -1;
	job->policy.scheduling.min_available = -1;
	job->policy.scheduling.timeout_seconds = -1;
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
	const char *wanted = job->kind->port_name;
	const struct rh_json *container = rh_job_main_container(job->kind, rh_json_get(spec->template_, "spec"));
	const struct rh_json *item;
	int64_t number;

	for (item = rh_fields_first(container, "ports"); item && wanted; item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string(rh_json_get(item, "name")), wanted) &&
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
