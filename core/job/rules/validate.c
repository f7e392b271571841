/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rules/validate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "job/fields.h"
#include "job/kind.h"
#include "job/rules/template.h"
#include "job/values/names.h"
#include "job/values/patterns.h"
#include "job/values/quantity.h"

/* Most replicas of a type: far beyond any cluster, and small enough that no sum of them overflows. */
#define VALIDATE_REPLICAS_MAX 10000000

/* apimachinery's words for names, as V1 joins them (v1-behaviour A.5-1). */
#define VALIDATE_DNS1035                                                                                               \
	"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, " \
	"and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "             \
	"'[a-z]([-a-z0-9]*[a-z0-9])?')"
#define VALIDATE_SUBDOMAIN                                                                                           \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " \
	"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "                      \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define VALIDATE_LABEL                                                                                              \
	"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " \
	"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "                  \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

static void validate_error(struct rh_findings *findings, const struct rh_place *place, const char *detail)
{
	(void)rh_findings_at(findings, RH_FINDING_ERROR, place, "%s", detail);
}

static void validate_unsupported(struct rh_findings *findings, const struct rh_place *place, const char *value,
                                 const char *supported)
{
	(void)rh_findings_at(findings, RH_FINDING_ERROR, place, "Unsupported value: \"%s\": supported values: %s", value,
	                     supported);
}

static const struct rh_json *validate_member(const struct rh_job *job, const char *top, const char *key)
{
	return rh_json_get(rh_json_get(job->object, top), key);
}

static void validate_dns1035(const char *name, const struct rh_place *place, struct rh_findings *findings)
{
	size_t length = strlen(name);
	bool well_formed = length > 0 && name[0] >= 'a' && name[0] <= 'z' && name[length - 1] != '-' &&
	                   strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
	const char *too_long = length > RH_LABEL_MAX ? "must be no more than 63 characters" : "";

	if (well_formed && !*too_long)
		return;
	(void)rh_findings_at(findings, RH_FINDING_ERROR, place, "Invalid value: \"%s\": should match: %s%s%s", name,
	                     too_long, *too_long && !well_formed ? "," : "", well_formed ? "" : VALIDATE_DNS1035);
}

static void validate_names(const struct rh_job *job, struct rh_findings *findings)
{
	struct rh_place metadata = rh_place_member(NULL, "metadata");
	struct rh_place name = rh_place_member(&metadata, "name");
	struct rh_place namespace_ = rh_place_member(&metadata, "namespace");

	if (job->kind->flags & RH_KIND_DNS_NAME)
		validate_dns1035(job->name, &name, findings);
	else if (!rh_name_is_dns1123(job->name))
		(void)rh_findings_at(findings, RH_FINDING_ERROR, &name, "Invalid value: \"%s\": %s", job->name,
		                     VALIDATE_SUBDOMAIN);
	if (!rh_name_is_label(job->namespace_))
		(void)rh_findings_at(findings, RH_FINDING_ERROR, &namespace_, "Invalid value: \"%s\": %s", job->namespace_,
		                     VALIDATE_LABEL);
}

static void validate_managed_by(const struct rh_job *job, struct rh_findings *findings)
{
	struct rh_kind_path policy;
	struct rh_place place;
	rh_auto_str supported = {0};
	const char *value = job->policy.managed_by;

	rh_kind_policy_path(job->kind, &policy);
	place = rh_place_member(rh_kind_path_place(&policy), "managedBy");
	if (!value || rh_kind_may_manage(job->kind, value, &supported))
		return;
	validate_unsupported(findings, &place, value, rh_str_text(&supported));
	findings->failed = findings->failed || supported.failed;
}

static void validate_not_negative(const struct rh_json *object, const char *key, const struct rh_place *up,
                                  struct rh_findings *findings)
{
	struct rh_place place = rh_place_member(up, key);
	int64_t value;

	if (rh_json_integer(rh_json_get(object, key), &value) && value < 0)
		(void)rh_findings_at(findings, RH_FINDING_ERROR, &place,
		                     "Invalid value: %" PRId64 ": must be greater than or equal to 0", value);
}

static void validate_clean_policy(const struct rh_json *object, const struct rh_place *up, struct rh_findings *findings)
{
	struct rh_place place = rh_place_member(up, "cleanPodPolicy");
	const char *word = rh_json_string(rh_json_get(object, "cleanPodPolicy"));

	if (word && strcmp(word, "All") != 0 && strcmp(word, "None") != 0 && strcmp(word, "Running") != 0)
		validate_unsupported(findings, &place, word, "\"All\", \"None\", \"Running\"");
}

static void validate_min_resources(const struct rh_json *resources, const struct rh_place *up,
                                   struct rh_findings *findings)
{
	struct rh_place map_place = rh_place_member(up, "minResources");

	for (const struct rh_json *item = rh_json_first(resources); item; item = rh_json_next(item)) {
		struct rh_place place = rh_place_key(&map_place, rh_json_key(item));
		struct rh_error why = {0};
		int64_t milli, whole;

		if (rh_json_type(item) == RH_JSON_NUMBER && !rh_json_integer(item, &whole))
			validate_error(findings, &place, "Invalid value: \"number\": must be of type integer or string");
		else if (rh_quantity_from_json(item, &milli, &why) != 0)
			(void)rh_findings_at(findings, RH_FINDING_ERROR, &place, "Invalid value: %s", why.message);
	}
}

/* A kind may have the field in spec itself, beside a run policy: V1's TFJob of old did. */
static bool validate_has_own_clean_policy(const struct rh_kind *kind)
{
	rh_auto(json) fields = NULL;
	const char *schema = kind->spec_schema;

	return schema && rh_json_parse(schema, strlen(schema), &fields, NULL) == 0 && rh_json_get(fields, "cleanPodPolicy");
}

static void validate_run_policy(const struct rh_job *job, struct rh_findings *findings)
{
	static const char *const counts[] = {"ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"};
	static const char *const gang_counts[] = {"minAvailable", "scheduleTimeoutSeconds"};
	struct rh_place spec = rh_place_member(NULL, "spec");
	struct rh_kind_path path;
	const struct rh_place *place;
	struct rh_place gang_place;
	const struct rh_json *policy;
	const struct rh_json *gang;

	rh_kind_policy_path(job->kind, &path);
	place = rh_kind_path_place(&path);
	gang_place = rh_place_member(place, "schedulingPolicy");
	policy = rh_kind_path_find(&path, job->object);
	gang = rh_kind_has_policy(job->kind, "schedulingPolicy") ? rh_json_get(policy, "schedulingPolicy") : NULL;
	if (rh_kind_has_policy(job->kind, "cleanPodPolicy"))
		validate_clean_policy(policy, place, findings);
	if (path.count != 1 && rh_json_at(job->object, "spec.cleanPodPolicy") && validate_has_own_clean_policy(job->kind))
		validate_clean_policy(rh_json_get(job->object, "spec"), &spec, findings);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (rh_kind_has_policy(job->kind, counts[i]))
			validate_not_negative(policy, counts[i], place, findings);
	}
	for (size_t i = 0; i < sizeof(gang_counts) / sizeof(gang_counts[0]); i++)
		validate_not_negative(gang, gang_counts[i], &gang_place, findings);
	validate_min_resources(job->policy.scheduling.min_resources, &gang_place, findings);
}

/* Other people's annotations are their own business; one of ours that nothing reads is a typing error. */
static void validate_own_annotation(struct rh_findings *findings, const struct rh_place *place, const char *key)
{
	static const char *const known[] = {
		RH_ANNOTATION_LEDGER, RH_ANNOTATION_ADMITTED, RH_ANNOTATION_RESTART,      RH_ANNOTATION_TERMINATING_TIMEOUT,
		RH_ANNOTATION_COMM,   RH_ANNOTATION_STALLS,   RH_ANNOTATION_STALLS_AFTER, RH_ANNOTATION_STALLS_LIMIT};
	size_t count = sizeof(known) / sizeof(*known);
	const char *nearest = rh_nearest(key, known, count);

	if (!rh_starts_with(key, RH_ANNOTATION_PREFIX))
		return;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(key, known[i]) == 0)
			return;
	}
	(void)rh_findings_at(findings, RH_FINDING_WARNING, place, "unknown annotation, nothing reads it%s%s%s",
	                     nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
}

/* The controller cannot see what the job's images hold, so a backend that is not ours is a warning. */
static void validate_comm(const struct rh_json *annotations, const struct rh_place *map, struct rh_findings *findings)
{
	struct rh_place place = rh_place_key(map, RH_ANNOTATION_COMM);
	const char *word = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_COMM));

	if (!word || strcmp(word, "none") == 0 || rh_name_is_backend(word))
		return;
	if (rh_name_may_be_backend(word))
		(void)rh_findings_at(findings, RH_FINDING_WARNING, &place,
		                     "\"%s\" is none of Roundhouse's own backends (" RH_BACKENDS
		                     ", none), so the image of every replica must have librhcomm_%s.so",
		                     word, word);
	else
		validate_unsupported(
			findings, &place, word,
			"\"auto\", \"native\", \"ucx\", \"mpi\", \"nccl\", \"none\", or the name of another backend");
}

static void validate_stalls(const struct rh_json *annotations, const struct rh_place *map, struct rh_findings *findings)
{
	struct rh_place place = rh_place_key(map, RH_ANNOTATION_STALLS);
	struct rh_place after_place = rh_place_key(map, RH_ANNOTATION_STALLS_AFTER);
	struct rh_place limit_place = rh_place_key(map, RH_ANNOTATION_STALLS_LIMIT);
	const char *word = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_STALLS));
	const char *after = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_STALLS_AFTER));
	const char *limit = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_STALLS_LIMIT));
	enum rh_stall_action action = RH_STALL_IGNORE;
	int64_t duration;
	int32_t count;

	if (word && !rh_stall_action_parse(word, &action))
		validate_unsupported(findings, &place, word, "\"report\", \"restart\", \"evict\"");
	else if ((after || limit) && action < RH_STALL_RESTART)
		(void)rh_findings_at(findings, RH_FINDING_WARNING, after ? &after_place : &limit_place,
		                     "has no effect without " RH_ANNOTATION_STALLS ": restart, or evict");
	if (after && rh_duration_parse(after, &duration, NULL) != 0)
		(void)rh_findings_at(findings, RH_FINDING_ERROR, &after_place,
		                     "Invalid value: \"%s\": must be a duration such as 30s or 2m", after);
	if (limit && !rh_stall_limit_parse(limit, &count))
		(void)rh_findings_at(findings, RH_FINDING_ERROR, &limit_place,
		                     "Invalid value: \"%s\": must be a whole number from 0 to %d, such as 3", limit, INT32_MAX);
}

static void validate_annotations(const struct rh_job *job, struct rh_findings *findings)
{
	struct rh_place metadata = rh_place_member(NULL, "metadata");
	struct rh_place map = rh_place_member(&metadata, "annotations");
	struct rh_place restart_place = rh_place_key(&map, RH_ANNOTATION_RESTART);
	struct rh_place timeout_place = rh_place_key(&map, RH_ANNOTATION_TERMINATING_TIMEOUT);
	const struct rh_json *annotations = validate_member(job, "metadata", "annotations");
	const char *restart = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_RESTART));
	const char *timeout = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_TERMINATING_TIMEOUT));
	int64_t duration;

	for (const struct rh_json *item = rh_json_first(annotations); item; item = rh_json_next(item)) {
		struct rh_place place = rh_place_key(&map, rh_json_key(item));

		validate_own_annotation(findings, &place, rh_json_key(item));
		if (!rh_json_string(item))
			rh_findings_type(findings, &place, "string", item);
	}
	if (restart && strcmp(restart, "job") != 0 && strcmp(restart, "replica") != 0)
		validate_unsupported(findings, &restart_place, restart, "\"job\", \"replica\"");
	if (timeout && rh_duration_parse(timeout, &duration, NULL) != 0)
		(void)rh_findings_at(findings, RH_FINDING_ERROR, &timeout_place,
		                     "Invalid value: \"%s\": must be a duration such as 30s or 2m", timeout);
	validate_comm(annotations, &map, findings);
	validate_stalls(annotations, &map, findings);
}

/* The names of the kind's types in the order of the alphabet, as V1 lists them. */
static void validate_list_types(const struct rh_kind *kind, struct rh_str *out)
{
	const char *last = "";

	for (;;) {
		const char *next = NULL;

		for (const struct rh_replica_type *const *type = kind->types; *type; type++) {
			const char *name = (*type)->name;

			if (!rh_kind_own_path(*type) && strcmp(name, last) > 0 && (!next || strcmp(name, next) < 0))
				next = name;
		}
		if (!next)
			return;
		rh_str_appendf(out, "%s\"%s\"", out->length ? ", " : "", next);
		last = next;
	}
}

/* Say which type was meant, behind V1's words; most often it is one in another case. */
static void validate_append_nearest(const struct rh_kind *kind, const char *key, struct rh_str *out)
{
	const char *names[RH_TYPES_MAX];
	const char *nearest;
	size_t count = 0;

	for (size_t i = 0; i < RH_TYPES_MAX && kind->types[i]; i++) {
		if (!rh_kind_own_path(kind->types[i]))
			names[count++] = kind->types[i]->name;
	}
	nearest = rh_nearest(key, names, count);
	if (nearest)
		rh_str_appendf(out, "; did you mean \"%s\"?", nearest);
}

static void validate_type(const struct rh_job *job, const struct rh_replica_spec *spec, const struct rh_place *place,
                          struct rh_findings *findings)
{
	char lower[RH_NAME_SIZE];
	rh_auto_str supported = {0};

	if (!spec->known && !(job->kind->flags & RH_KIND_OPEN_TYPES)) {
		validate_list_types(job->kind, &supported);
		validate_append_nearest(job->kind, spec->key, &supported);
		validate_unsupported(findings, place, spec->key, rh_str_text(&supported));
		findings->failed = findings->failed || supported.failed;
	} else if (!rh_name_is_label(rh_name_lower(spec->type, lower))) {
		(void)rh_findings_at(
			findings, RH_FINDING_ERROR, place,
			"Invalid value: \"%s\": a replica type must consist of at most 63 letters, digits or '-', and "
			"start and end with a letter or digit, because pods are named after it",
			spec->key);
	}
}

static void validate_bounds(const struct rh_replica_type *known, int64_t value, const struct rh_place *place,
                            struct rh_findings *findings)
{
	if (known->min_replicas == known->max_replicas && value != known->max_replicas)
		(void)rh_findings_at(findings, RH_FINDING_ERROR, place, "Forbidden: must be %" PRId32, known->max_replicas);
	else if (value < known->min_replicas)
		(void)rh_findings_at(findings, RH_FINDING_ERROR, place, "Forbidden: must be at least %" PRId32,
		                     known->min_replicas);
	else if (known->max_replicas && value > known->max_replicas)
		(void)rh_findings_at(findings, RH_FINDING_ERROR, place, "Forbidden: must be at most %" PRId32,
		                     known->max_replicas);
}

static void validate_replicas(const struct rh_replica_spec *spec, const struct rh_json *object,
                              const struct rh_place *up, struct rh_findings *findings)
{
	struct rh_place place = rh_place_member(up, "replicas");
	const struct rh_replica_type *known = spec->known;
	int64_t value = spec->replicas;
	bool written = rh_json_integer(rh_json_get(object, "replicas"), &value);
	bool bounded = known && (known->min_replicas > 0 || known->max_replicas > 0);

	if (value > VALIDATE_REPLICAS_MAX)
		(void)rh_findings_at(findings, RH_FINDING_ERROR, &place,
		                     "Invalid value: %" PRId64 ": must be less than or equal to %d", value,
		                     VALIDATE_REPLICAS_MAX);
	else if (!written && known && (known->flags & RH_REPLICA_EXPLICIT))
		validate_bounds(known, INT64_C(-1), &place, findings);
	else if (bounded)
		validate_bounds(known, value, &place, findings);
	else if (value < 0)
		(void)rh_findings_at(findings, RH_FINDING_ERROR, &place,
		                     "Invalid value: %" PRId64 ": must be greater than or equal to 0", value);
}

static void validate_spec(const struct rh_job *job, const struct rh_replica_spec *spec, struct rh_findings *findings)
{
	struct rh_kind_path path;
	const struct rh_place *place;
	struct rh_place template_place;
	struct rh_place policy_place;
	const char *policy = rh_json_string(rh_json_get(spec->entry, "restartPolicy"));

	rh_kind_type_path(job->kind, spec->known, spec->key, &path);
	place = rh_kind_path_place(&path);
	template_place = rh_place_member(place, "template");
	policy_place = rh_place_member(place, "restartPolicy");
	validate_type(job, spec, place, findings);
	rh_template_check_containers(job->kind, spec->template_, &template_place, findings);
	validate_replicas(spec, spec->entry, place, findings);
	if (spec->policy == RH_RESTART_UNKNOWN && policy)
		validate_unsupported(findings, &policy_place, policy, "\"Always\", \"ExitCode\", \"Never\", \"OnFailure\"");
	rh_template_check_fields(job->kind, spec->template_, &template_place, findings);
}

/* A key in another case displaces the canonical one without a word (v1-behaviour A.3-2), but not the checks of its
 * containers. */
static void validate_displaced(const struct rh_job *job, const struct rh_kind_path *map, struct rh_findings *findings)
{
	for (const struct rh_json *entry = rh_json_first(rh_kind_path_find(map, job->object)); entry;
	     entry = rh_json_next(entry)) {
		struct rh_place place = rh_place_key(rh_kind_path_place(map), rh_json_key(entry));
		struct rh_place template_place = rh_place_member(&place, "template");
		bool counts = false;

		for (size_t i = 0; i < job->spec_count; i++)
			counts = counts || job->specs[i].entry == entry;
		if (counts)
			continue;
		rh_template_check_containers(job->kind, rh_json_get(entry, "template"), &template_place, findings);
		(void)rh_findings_at(findings, RH_FINDING_WARNING, &place,
		                     "it has no effect: the same type is there in another spelling");
	}
}

/* @return whether required types are missing */
static bool validate_required_types(const struct rh_job *job, struct rh_findings *findings)
{
	bool missing = false;

	for (const struct rh_replica_type *const *type = job->kind->types; *type; type++) {
		struct rh_kind_path path;

		if (!((*type)->flags & RH_REPLICA_REQUIRED) || rh_job_spec(job, (*type)->name))
			continue;
		rh_kind_type_path(job->kind, *type, (*type)->name, &path);
		missing = true;
		validate_error(findings, rh_kind_path_place(&path), "Required value: must be present");
	}
	return missing;
}

/* The words of the plugin about a job that it does not expand. */
static void validate_refusals(const struct rh_job *job, struct rh_findings *findings)
{
	for (size_t i = 0; job->refusals && i < job->refusals->count; i++) {
		const struct rh_finding *item = &job->refusals->items[i];

		(void)rh_findings_add(findings, item->severity, item->path, "%s", item->detail);
	}
}

/* Replica types that a plugin gave are checked as those of a map; of a job without them there is nothing to check. */
static void validate_expansion(const struct rh_job *job, struct rh_findings *findings)
{
	validate_refusals(job, findings);
	if (!job->expansion || job->refusals)
		return;
	for (size_t i = 0; i < job->spec_count; i++)
		validate_spec(job, &job->specs[i], findings);
	(void)validate_required_types(job, findings);
}

static void validate_specs(const struct rh_job *job, struct rh_findings *findings)
{
	struct rh_place spec = rh_place_member(NULL, "spec");
	struct rh_kind_path map;
	const struct rh_json *object;

	if (rh_kind_expands(job->kind)) {
		validate_expansion(job, findings);
		return;
	}
	rh_kind_replicas_path(job->kind, &map);
	object = rh_kind_path_find(&map, job->object);
	if (map.count > 0 && !rh_kind_spec_required(job->kind) && rh_json_type(object) != RH_JSON_OBJECT) {
		validate_error(findings, rh_kind_path_place(&map), "Required value: must be required");
		return;
	}
	for (size_t i = 0; i < job->spec_count; i++)
		validate_spec(job, &job->specs[i], findings);
	if (!validate_required_types(job, findings) && job->spec_count == 0)
		validate_error(findings, map.count > 0 ? rh_kind_path_place(&map) : &spec,
		               "Required value: must have at least one replica type");
	validate_displaced(job, &map, findings);
}

static size_t validate_child_length(const struct rh_job *job, const struct rh_replica_spec *spec)
{
	char number[16];
	int32_t last = spec->replicas > 0 ? spec->replicas - 1 : 0;

	(void)snprintf(number, sizeof(number), "%" PRId32, last);
	return strlen(job->name) + strlen(spec->type) + strlen(number) + rh_patterns_fixed(job->kind);
}

static const char *validate_longest_name(const struct rh_job *job, const struct rh_replica_spec *spec,
                                         char buffer[RH_NAME_SIZE])
{
	int32_t last = spec->replicas > 0 ? spec->replicas - 1 : 0;
	const struct rh_pattern_replica replica = {job->name, job->namespace_, job->uid, spec->type, last};

	return rh_patterns_pod(job->kind, &replica, buffer);
}

/* Names of Services are DNS labels, names of jobs are label values; both end at 63 characters (v1-behaviour D.3). */
static void validate_children(const struct rh_job *job, struct rh_findings *findings)
{
	struct rh_place metadata = rh_place_member(NULL, "metadata");
	struct rh_place place = rh_place_member(&metadata, "name");
	size_t most = job->kind->flags & RH_KIND_SERVICES ? RH_LABEL_MAX : RH_SUBDOMAIN_MAX;
	const struct rh_replica_spec *longest = NULL;
	char child[RH_NAME_SIZE];

	for (size_t i = 0; i < job->spec_count; i++) {
		if (!longest || validate_child_length(job, &job->specs[i]) > validate_child_length(job, longest))
			longest = &job->specs[i];
	}
	if (strlen(job->name) > RH_LABEL_MAX) {
		if (!(job->kind->flags & RH_KIND_DNS_NAME))
			(void)rh_findings_at(
				findings, RH_FINDING_ERROR, &place,
				"Invalid value: \"%s\": must be no more than 63 characters, because it is a label of its pods",
				job->name);
		return;
	}
	if (!longest || validate_child_length(job, longest) <= most)
		return;
	(void)rh_findings_at(
		findings, RH_FINDING_ERROR, &place,
		"Invalid value: \"%s\": the name of its replica \"%s\" has %zu characters and must be no more than "
		"%zu characters: shorten the job's name by %zu",
		job->name, validate_longest_name(job, longest, child), validate_child_length(job, longest), most,
		validate_child_length(job, longest) - most);
}

int rh_job_validate(const struct rh_job *job, struct rh_findings *findings)
{
	validate_names(job, findings);
	validate_managed_by(job, findings);
	validate_specs(job, findings);
	validate_run_policy(job, findings);
	validate_annotations(job, findings);
	validate_children(job, findings);
	return findings->failed ? RH_ENOMEM : 0;
}

int rh_job_validate_update(const struct rh_job *old, const struct rh_job *job, struct rh_findings *findings)
{
	struct rh_kind_path policy;
	struct rh_place managed_by;
	struct rh_place gang;
	struct rh_place queue;
	rh_auto_str text = {0};
	const char *manager = job->policy.managed_by;
	const char *quote = manager ? "\"" : "";

	rh_kind_policy_path(job->kind, &policy);
	managed_by = rh_place_member(rh_kind_path_place(&policy), "managedBy");
	gang = rh_place_member(rh_kind_path_place(&policy), "schedulingPolicy");
	queue = rh_place_member(&gang, "queue");
	rh_place_print(&queue, false, &text);
	if (!rh_text_equal(old->policy.managed_by, manager))
		(void)rh_findings_at(findings, RH_FINDING_ERROR, &managed_by, "Invalid value: %s%s%s: field is immutable",
		                     quote, manager ? manager : "null", quote);
	/* A transition rule of the CRD: it says nothing where either has no queue (v1-behaviour A.7). */
	if (old->policy.scheduling.queue && job->policy.scheduling.queue &&
	    !rh_text_equal(old->policy.scheduling.queue, job->policy.scheduling.queue))
		(void)rh_findings_at(findings, RH_FINDING_ERROR, &queue, "Invalid value: \"string\": %s is immutable",
		                     rh_str_text(&text));
	return findings->failed ? RH_ENOMEM : 0;
}
