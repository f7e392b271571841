/* SPDX-License-Identifier: Apache-2.0 */
#include "job/policy.h"

#include <string.h>

#include "base/str.h"
#include "job/kind.h"

/* 30 000 years: any time of this epoch plus so many seconds still is a number of microseconds. */
#define POLICY_SECONDS_MAX INT64_C(1000000000000)

struct policy_word {
	const char *word;
	enum rh_restart_policy policy;
};

static const struct policy_word policy_restarts[] = {
	{"Always", RH_RESTART_ALWAYS},
	{"OnFailure", RH_RESTART_ON_FAILURE},
	{"Never", RH_RESTART_NEVER},
	{"ExitCode", RH_RESTART_EXIT_CODE},
};

#define POLICY_RESTARTS (sizeof(policy_restarts) / sizeof(policy_restarts[0]))

enum rh_restart_policy rh_restart_policy_parse(const char *word)
{
	for (size_t i = 0; i < POLICY_RESTARTS; i++) {
		if (rh_text_equal(word, policy_restarts[i].word))
			return policy_restarts[i].policy;
	}
	return RH_RESTART_UNKNOWN;
}

const char *rh_restart_policy_name(enum rh_restart_policy policy)
{
	for (size_t i = 0; i < POLICY_RESTARTS; i++) {
		if (policy_restarts[i].policy == policy)
			return policy_restarts[i].word;
	}
	return "Never";
}

/* v1-behaviour B.1: every word that is not None or Running deletes all pods. */
static enum rh_clean_policy policy_clean(const char *word)
{
	if (!word || strcmp(word, "None") == 0)
		return RH_CLEAN_NONE;
	return strcmp(word, "Running") == 0 ? RH_CLEAN_RUNNING : RH_CLEAN_ALL;
}

/* -1 means unset inside; what is negative in the object acts as 0, as it does in V1, and validation refuses it. */
static int64_t policy_clamp_seconds(int64_t seconds)
{
	if (seconds < 0)
		return 0;
	return seconds > POLICY_SECONDS_MAX ? POLICY_SECONDS_MAX : seconds;
}

static int policy_read_seconds(const struct rh_fields *fields, const char *key, int64_t *ret_seconds)
{
	int64_t seconds;
	int r;

	if (!rh_fields_present(rh_json_get(fields->object, key)))
		return 0;
	r = rh_fields_int64(fields, key, &seconds);
	if (r == 0)
		*ret_seconds = policy_clamp_seconds(seconds);
	return r;
}

/* As rh_fields_count(), for a limit that may be unset. */
static int policy_read_limit(const struct rh_fields *fields, const char *key, int64_t *ret_limit)
{
	int32_t count = -1;
	int r = rh_fields_count(fields, key, &count);

	if (r == 0 && count >= 0)
		*ret_limit = count;
	return r;
}

static int policy_read_scheduling(struct rh_scheduling_policy *policy, const struct rh_fields *run_policy)
{
	struct rh_place place = rh_place_member(run_policy->place, "schedulingPolicy");
	struct rh_fields fields = {NULL, &place, run_policy->err};
	int r = rh_fields_object(run_policy, "schedulingPolicy", &fields.object);

	if (r != 0 || !fields.object)
		return r;
	policy->present = true;
	if ((r = rh_fields_count(&fields, "minAvailable", &policy->min_available)) != 0 ||
	    (r = rh_fields_count(&fields, "scheduleTimeoutSeconds", &policy->timeout_seconds)) != 0 ||
	    (r = rh_fields_text(&fields, "queue", &policy->queue)) != 0 ||
	    (r = rh_fields_text(&fields, "priorityClass", &policy->priority_class)) != 0)
		return r;
	return rh_fields_object(&fields, "minResources", &policy->min_resources);
}

/* MPI has a second cleanPodPolicy on the top of its spec; the other kinds' schemas prune it (v1-behaviour A.3-1). */
static const char *policy_top_clean(const struct rh_kind *kind, const struct rh_json *spec)
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
struct policy_source {
	struct rh_fields fields;
	const struct rh_kind *kind; /* which of the members are there; NULL: all */
};

static struct rh_fields policy_field(const struct policy_source *source, const char *key)
{
	struct rh_fields fields = source->fields;

	if (source->kind && !rh_kind_has_policy(source->kind, key))
		fields.object = NULL;
	return fields;
}

/* What a job and the defaults of its kind can set; what is absent stays. @param[in,out] clean cleanPodPolicy's word */
static int policy_read_members(struct rh_run_policy *policy, const struct policy_source *source, const char **clean)
{
	struct rh_fields word = policy_field(source, "cleanPodPolicy");
	struct rh_fields suspend = policy_field(source, "suspend");
	struct rh_fields ttl = policy_field(source, "ttlSecondsAfterFinished");
	struct rh_fields deadline = policy_field(source, "activeDeadlineSeconds");
	struct rh_fields limit = policy_field(source, "backoffLimit");
	int r;

	if ((r = rh_fields_text(&word, "cleanPodPolicy", clean)) != 0 ||
	    (r = rh_fields_bool(&suspend, "suspend", &policy->suspend)) != 0 ||
	    (r = policy_read_limit(&ttl, "ttlSecondsAfterFinished", &policy->ttl_seconds)) != 0 ||
	    (r = policy_read_seconds(&deadline, "activeDeadlineSeconds", &policy->deadline_seconds)) != 0)
		return r;
	return policy_read_limit(&limit, "backoffLimit", &policy->backoff_limit);
}

int rh_run_policy_override(struct rh_run_policy *policy, const struct rh_fields *fields)
{
	const struct policy_source source = {*fields, NULL};
	const char *clean = NULL;
	int r = policy_read_members(policy, &source, &clean);

	if (clean)
		policy->clean = policy_clean(clean);
	return r;
}

/* The loader has checked them (host/plugin/kind_json.c). */
static int policy_read_defaults(const struct rh_kind *kind, struct rh_run_policy *policy, struct rh_error *err)
{
	const char *text = rh_kind_run_policy(kind);
	rh_auto(json) defaults = NULL;
	struct policy_source source = {{NULL, NULL, err}, NULL};
	const char *clean = NULL;
	int r = text ? rh_json_parse(text, strlen(text), &defaults, err) : 0;

	source.fields.object = defaults;
	if (r == 0 && defaults)
		r = policy_read_members(policy, &source, &clean);
	if (r == 0)
		policy->clean = policy_clean(clean);
	return r;
}

int rh_run_policy_read(const struct rh_kind *kind, const struct rh_json *object, struct rh_run_policy *ret_policy,
                       struct rh_error *err)
{
	struct rh_kind_path path;
	struct policy_source source = {{NULL, NULL, err}, NULL};
	struct rh_fields fields;
	const char *clean = NULL;
	int r;

	*ret_policy = (struct rh_run_policy){.ttl_seconds = -1,
	                                     .deadline_seconds = -1,
	                                     .backoff_limit = -1,
	                                     .scheduling = {false, -1, -1, NULL, NULL, NULL}};
	r = policy_read_defaults(kind, ret_policy, err);
	rh_kind_policy_path(kind, &path);
	source.fields.place = rh_kind_path_place(&path);
	source.kind = path.count == 1 ? kind : NULL;
	if (r != 0 || (r = rh_kind_path_read(&path, object, &source.fields.object, err)) != 0 ||
	    (r = policy_read_members(ret_policy, &source, &clean)) != 0)
		return r;
	fields = policy_field(&source, "managedBy");
	r = rh_fields_text(&fields, "managedBy", &ret_policy->managed_by);
	if (!clean)
		clean = policy_top_clean(kind, rh_json_get(object, "spec"));
	if (clean)
		ret_policy->clean = policy_clean(clean);
	fields = policy_field(&source, "schedulingPolicy");
	return r == 0 ? policy_read_scheduling(&ret_policy->scheduling, &fields) : r;
}
