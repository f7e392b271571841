/* SPDX-License-Identifier: Apache-2.0 */
#include "build/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto/crypto.h"
#include "base/os/random.h"
#include "build/admitted.h"
#include "build/fabric.h"
#include "build/gang.h"
#include "build/ranks.h"
#include "config/config.h"
#include "config/first_fault.h"
#include "host/registry.h"
#include "job/keep.h"
#include "job/values/names.h"
#include "job/values/patterns.h"

/** Parts of bodies that are constant for all replicas of one type; made when the first of them is built. */
struct build_type {
	struct rh_json *pod;
	struct rh_json *service;
};

struct rh_builder {
	const struct rh_snapshot *snapshot;
	struct build_type types[RH_TYPES_MAX]; /**< one for each of job->specs */
	struct rh_pods_ahead *ahead;           /**< what the plugin answered about pods that come next; owned */
};

int rh_builder_new(const struct rh_snapshot *snapshot, struct rh_builder **ret_builder, struct rh_error *err)
{
	struct rh_builder *builder = rh_alloc(sizeof(*builder));

	if (!builder)
		return rh_fail_oom(err);
	builder->snapshot = snapshot;
	*ret_builder = builder;
	return 0;
}

void rh_builder_free(struct rh_builder *builder)
{
	if (!builder)
		return;
	for (size_t i = 0; i < RH_TYPES_MAX; i++) {
		rh_json_free(builder->types[i].pod);
		rh_json_free(builder->types[i].service);
	}
	rh_pods_ahead_free(builder->ahead);
	rh_free(builder);
}

/** Set a member to a copy of a value of @p type; other values are left out. */
static int build_copy_member(struct rh_json *to, const char *key, const struct rh_json *from, enum rh_json_type type)
{
	const struct rh_json *value = rh_json_get(from, key);

	return rh_json_type(value) == type ? rh_json_set(to, key, rh_json_copy(value)) : 0;
}

/** Add the one controller owner reference (v1-behaviour C.1). An object that is not stored has no UID to name. */
int rh_build_owner(const struct rh_job *job, struct rh_json *metadata)
{
	const struct rh_kind *kind = job->kind;
	rh_auto_free char *api_version = rh_asprintf("%s/%s", kind->group, kind->version);
	rh_auto(json) owner = rh_json_new_object();
	struct rh_json *owners = rh_json_ensure_array(metadata, "ownerReferences");

	if (!api_version || !owner || !owners || rh_json_set_string(owner, "apiVersion", api_version) < 0 ||
	    rh_json_set_string(owner, "kind", kind->kind) < 0 || rh_json_set_string(owner, "name", job->name) < 0)
		return RH_ENOMEM;
	if (*job->uid && rh_json_set_string(owner, "uid", job->uid) < 0)
		return RH_ENOMEM;
	if (rh_json_set_bool(owner, "controller", true) < 0 || rh_json_set_bool(owner, "blockOwnerDeletion", true) < 0)
		return RH_ENOMEM;
	return rh_json_append(owners, rh_take(owner));
}

static bool build_is_unindexed(const struct rh_replica_spec *spec)
{
	return spec->known && (spec->known->flags & RH_REPLICA_UNINDEXED);
}

/** The core's labels of a replica; the index is put in its place for each replica. */
static int build_add_labels(const struct rh_job *job, const struct rh_replica_spec *spec, struct rh_json *labels)
{
	const struct rh_kind *kind = job->kind;
	char lower[RH_NAME_SIZE];

	if (!labels || rh_json_set_string(labels, rh_patterns_label(kind, RH_LABEL_OPERATOR), kind->controller) < 0 ||
	    rh_json_set_string(labels, RH_LABEL_JOB, job->name) < 0 ||
	    rh_json_set_string(labels, rh_patterns_label(kind, RH_LABEL_TYPE), rh_name_lower(spec->type, lower)) < 0)
		return RH_ENOMEM;
	return build_is_unindexed(spec) ? 0 : rh_json_set_string(labels, rh_patterns_label(kind, RH_LABEL_INDEX), "");
}

static int build_add_attempt(const struct rh_snapshot *snapshot, struct rh_json *metadata)
{
	struct rh_json *annotations;
	char attempt[16];

	if (snapshot->attempt <= 0)
		return 0;
	annotations = rh_json_ensure_object(metadata, "annotations");
	snprintf(attempt, sizeof(attempt), "%" PRId32, snapshot->attempt);
	return annotations ? rh_json_set_string(annotations, RH_ANNOTATION_ATTEMPT, attempt) : RH_ENOMEM;
}

/**
 * An object with apiVersion, kind, and metadata with room for a name.
 * @return owned by the caller, or NULL when memory is out
 */
static struct rh_json *build_object(const struct rh_job *job, const char *kind, struct rh_json **ret_metadata)
{
	rh_auto(json) object = rh_json_new_object();
	struct rh_json *metadata = NULL;

	if (object && rh_json_set_string(object, "apiVersion", "v1") == 0 && rh_json_set_string(object, "kind", kind) == 0)
		metadata = rh_json_ensure_object(object, "metadata");
	if (!metadata || rh_json_set_string(metadata, "name", "") < 0 ||
	    rh_json_set_string(metadata, "namespace", job->namespace_) < 0)
		return NULL;
	*ret_metadata = metadata;
	return rh_take(object);
}

/** A pod's metadata: parts of the template's, and the core's (v1-behaviour C.1). */
static int build_pod_metadata(const struct rh_snapshot *snapshot, const struct rh_replica_spec *spec,
                              struct rh_json *metadata)
{
	const struct rh_json *from = rh_json_get(spec->template_, "metadata");

	if (build_copy_member(metadata, "labels", from, RH_JSON_OBJECT) < 0 ||
	    build_add_labels(snapshot->job, spec, rh_json_ensure_object(metadata, "labels")) < 0)
		return RH_ENOMEM;
	if (build_copy_member(metadata, "annotations", from, RH_JSON_OBJECT) < 0 ||
	    build_add_attempt(snapshot, metadata) < 0 || build_copy_member(metadata, "finalizers", from, RH_JSON_ARRAY) < 0)
		return RH_ENOMEM;
	return rh_build_owner(snapshot->job, metadata);
}

static bool build_has_port(const struct rh_json *container, const char *name)
{
	const struct rh_json *port = rh_json_first(rh_json_get(container, "ports"));

	while (port && !rh_text_equal(rh_json_string(rh_json_get(port, "name")), name))
		port = rh_json_next(port);
	return port;
}

/** Add the kind's port to the main container where no port has its name (v1-behaviour A.3-5). */
static int build_add_port(const struct rh_kind *kind, struct rh_json *container)
{
	rh_auto(json) port = NULL;
	struct rh_json *ports;

	if (!kind->port_name || build_has_port(container, kind->port_name))
		return 0;
	port = rh_json_new_object();
	ports = rh_json_ensure_array(container, "ports");
	if (!port || !ports || rh_json_set_string(port, "name", kind->port_name) < 0 ||
	    rh_json_set_integer(port, "containerPort", kind->port) < 0)
		return RH_ENOMEM;
	return rh_json_append(ports, rh_take(port));
}

/**
 * The replica's policy takes the place of the template's; a pod knows no ExitCode (v1-behaviour C.2). Where one failure
 * restarts the whole job, no container may be restarted in its place: the failure would not be reported, and the other
 * ranks would wait for one that has begun anew.
 */
static int build_set_policy(const struct rh_job *job, const struct rh_replica_spec *spec, struct rh_json *pod_spec)
{
	bool known =
		job->scope == RH_SCOPE_REPLICA && (spec->policy == RH_RESTART_ALWAYS || spec->policy == RH_RESTART_ON_FAILURE);

	return rh_json_set_string(pod_spec, "restartPolicy", known ? rh_restart_policy_name(spec->policy) : "Never");
}

static bool build_has_number(const struct rh_json *map)
{
	const struct rh_json *item = rh_json_first(map);

	while (item && rh_json_type(item) != RH_JSON_NUMBER)
		item = rh_json_next(item);
	return item != NULL;
}

static struct rh_json *build_print_number(const struct rh_json *item)
{
	rh_auto_free char *text = NULL;

	if (rh_json_type(item) != RH_JSON_NUMBER)
		return rh_json_copy(item);
	text = rh_json_text(item);
	return text ? rh_json_new_string(text) : NULL;
}

/** The list is made anew: there may be as many resources as a job has room for. */
static int build_print_numbers(struct rh_json *resources, const char *list)
{
	const struct rh_json *map = rh_json_get(resources, list);
	rh_auto(json) texts = rh_json_new_object();

	if (!build_has_number(map))
		return 0;
	for (const struct rh_json *item = rh_json_first(map); item; item = rh_json_next(item)) {
		if (rh_json_add(texts, rh_json_key(item), build_print_number(item)) < 0)
			return RH_ENOMEM;
	}
	return rh_json_set(resources, list, rh_take(texts));
}

/** Quantities are texts; the API server takes numbers for them, too, and what it gives back are texts. */
static int build_print_quantities(const struct rh_json *pod_spec)
{
	static const char *const lists[] = {"containers", "initContainers"};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (const struct rh_json *item = rh_json_first(rh_json_get(pod_spec, lists[i])); item;
		     item = rh_json_next(item)) {
			struct rh_json *resources = rh_json_get(item, "resources");

			if (build_print_numbers(resources, "limits") < 0 || build_print_numbers(resources, "requests") < 0)
				return RH_ENOMEM;
		}
	}
	return 0;
}

/** The backend of the job's processes, where it uses rh_comm. */
static int build_add_fabric(const struct rh_snapshot *snapshot, const struct rh_replica_spec *spec, struct rh_json *pod)
{
	const struct rh_fabric_place place = {
		.local = snapshot->addresses && snapshot->addresses->count > 0,
		.attempt = snapshot->attempt,
	};

	return rh_fabric_decorate(snapshot->host ? snapshot->host->config : NULL, snapshot->job, spec, &place, pod);
}

/** Have the kubelet put the end of the output into the pod's status, where the job does not say what goes there. */
static int build_add_messages(const struct rh_snapshot *snapshot, const struct rh_json *pod_spec)
{
	static const char *const lists[] = {"containers", "initContainers"};
	static const char key[] = "terminationMessagePolicy";
	bool local = snapshot->addresses && snapshot->addresses->count > 0;

	if (local || !snapshot->host || rh_config_fault_source(snapshot->host->config) != RH_FAULT_MESSAGES)
		return 0;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct rh_json *item = rh_json_first(rh_json_get(pod_spec, lists[i]));

		for (; item; item = rh_json_next(item)) {
			if (rh_json_type(item) == RH_JSON_OBJECT && !rh_json_get(item, key) &&
			    rh_json_set_string(item, key, "FallbackToLogsOnError") < 0)
				return RH_ENOMEM;
		}
	}
	return 0;
}

static int build_refuse_template(const struct rh_job *job, const struct rh_replica_spec *spec, struct rh_error *err)
{
	rh_auto_str path = {0};

	rh_job_print_spec(job, spec, &path);
	return rh_fail(err, RH_EINVAL, "%s %s/%s: %s.template.spec.containers: Required value: must be specified",
	               job->kind->kind, job->namespace_, job->name, rh_str_text(&path));
}

static int build_pod_base(const struct rh_snapshot *snapshot, const struct rh_replica_spec *spec,
                          struct rh_json **ret_pod, struct rh_error *err)
{
	const struct rh_job *job = snapshot->job;
	const struct rh_json *template_spec = rh_json_get(spec->template_, "spec");
	struct rh_json *metadata, *pod_spec, *container;
	rh_auto(json) pod = build_object(job, "Pod", &metadata);

	if (!rh_job_main_container(job->kind, template_spec))
		return build_refuse_template(job, spec, err);
	if (!pod || build_pod_metadata(snapshot, spec, metadata) < 0 ||
	    rh_json_set(pod, "spec", rh_json_copy(template_spec)) < 0)
		return rh_fail_oom(err);
	pod_spec = rh_json_get(pod, "spec");
	container = rh_job_main_container(job->kind, pod_spec);
	if (build_add_port(job->kind, container) < 0 || build_set_policy(job, spec, pod_spec) < 0 ||
	    build_print_quantities(pod_spec) < 0 || build_add_messages(snapshot, pod_spec) < 0 ||
	    rh_gang_decorate(rh_gang_of_kind(snapshot->gang, job->kind), job, spec, pod) < 0 ||
	    rh_admitted_decorate(job, spec, pod) < 0 || build_add_fabric(snapshot, spec, pod) < 0)
		return rh_fail_oom(err);
	*ret_pod = rh_take(pod);
	return 0;
}

/** Set the port @p name of a Service, which is there once: a later one of that name wins, as in V1. */
static int build_set_service_port(struct rh_json *ports, const char *name, int64_t number)
{
	struct rh_json *port = rh_json_first(ports);
	rh_auto(json) fresh = NULL;

	while (port && !rh_text_equal(rh_json_string(rh_json_get(port, "name")), name))
		port = rh_json_next(port);
	if (port)
		return rh_json_set_integer(port, "port", number);
	fresh = rh_json_new_object();
	if (!fresh || (name && rh_json_set_string(fresh, "name", name) < 0) ||
	    rh_json_set_integer(fresh, "port", number) < 0)
		return RH_ENOMEM;
	return rh_json_append(ports, rh_take(fresh));
}

/**
 * The ports of a Service, in the order of the container's. Unnamed ones are left out beside a named one: the API server
 * refuses a Service with several ports of which one has no name, so V1 never got it created.
 */
static int build_service_ports(const struct rh_json *container, struct rh_json *ports)
{
	const struct rh_json *from = rh_json_get(container, "ports");
	bool named = false;
	int r = 0;

	for (const struct rh_json *port = rh_json_first(from); port; port = rh_json_next(port))
		named = named || rh_json_string_at(port, "name");
	for (const struct rh_json *port = rh_json_first(from); port && r == 0; port = rh_json_next(port)) {
		const char *name = rh_json_string_at(port, "name");
		int64_t number;

		if (rh_json_integer(rh_json_get(port, "containerPort"), &number) && (name || !named))
			r = build_set_service_port(ports, name, number);
	}
	return r;
}

static int build_service_spec(const struct rh_json *container, struct rh_json *spec)
{
	struct rh_json *ports = spec ? rh_json_ensure_array(spec, "ports") : NULL;

	if (!ports || build_service_ports(container, ports) < 0)
		return RH_ENOMEM;
	return rh_json_set_string(spec, "clusterIP", "None");
}

/** The Service of a type (v1-behaviour D.1), but for the selector, which is each one's labels. */
static int build_service_base(const struct rh_snapshot *snapshot, const struct rh_replica_spec *spec,
                              struct rh_json **ret_service, struct rh_error *err)
{
	const struct rh_job *job = snapshot->job;
	struct rh_json *metadata;
	const struct rh_json *main_container = rh_job_main_container(job->kind, rh_json_get(spec->template_, "spec"));
	rh_auto(json) container = main_container ? rh_json_copy(main_container) : rh_json_new_object();
	rh_auto(json) service = build_object(job, "Service", &metadata);

	if (!container || !service || build_add_port(job->kind, container) < 0 ||
	    build_add_labels(job, spec, rh_json_ensure_object(metadata, "labels")) < 0 || rh_build_owner(job, metadata) < 0)
		return rh_fail_oom(err);
	if (build_service_spec(container, rh_json_ensure_object(service, "spec")) < 0)
		return rh_fail_oom(err);
	*ret_service = rh_take(service);
	return 0;
}

/** Find the spec of @p type; to ask for a replica of another type is a mistake of the caller. */
static int build_find(const struct rh_builder *builder, const char *type, size_t *ret_place, struct rh_error *err)
{
	const struct rh_job *job = builder->snapshot->job;
	const struct rh_replica_spec *spec = rh_job_spec(job, type);

	if (!spec)
		return rh_fail(err, RH_EINVAL, "%s %s/%s: it has no replica type %s", job->kind->kind, job->namespace_,
		               job->name, type);
	*ret_place = (size_t)(spec - job->specs);
	return 0;
}

/** Put name and index into a copy of what is constant. */
static int build_number(const struct rh_builder *builder, struct rh_json *object, const char *type, int32_t index)
{
	const struct rh_job *job = builder->snapshot->job;
	struct rh_json *metadata = rh_json_get(object, "metadata");
	char name[RH_NAME_SIZE], number[16];

	snprintf(number, sizeof(number), "%" PRId32, index);
	if (rh_json_set_string(metadata, "name", rh_job_replica_name(job, type, index, name)) < 0)
		return RH_ENOMEM;
	if (build_is_unindexed(rh_job_spec(job, type)))
		return 0;
	return rh_json_set_string(rh_json_get(metadata, "labels"), rh_patterns_label(job->kind, RH_LABEL_INDEX), number);
}

int rh_build_pod(struct rh_builder *builder, const char *type, int32_t index, struct rh_json **ret_pod,
                 struct rh_error *err)
{
	const struct rh_snapshot *snapshot = builder->snapshot;
	rh_auto(json) pod = NULL;
	size_t place;
	int r = build_find(builder, type, &place, err);

	if (r == 0 && !builder->types[place].pod)
		r = build_pod_base(snapshot, &snapshot->job->specs[place], &builder->types[place].pod, err);
	if (r < 0)
		return r;
	pod = rh_json_copy(builder->types[place].pod);
	if (!pod || build_number(builder, pod, type, index) < 0)
		return rh_fail_oom(err);
	if (rh_job_is_leader(snapshot->job, type, index) && !(snapshot->job->kind->flags & RH_KIND_OWN_LABELS) &&
	    rh_json_set_string(rh_json_at(pod, "metadata.labels"), RH_LABEL_ROLE, "master") < 0)
		return rh_fail_oom(err);
	r = rh_host_next_pod(snapshot, &builder->ahead, type, index, pod, err);
	if (r == 0 && rh_ranks_add(snapshot, type, index, pod) < 0)
		r = rh_fail_oom(err);
	if (r == 0)
		*ret_pod = rh_take(pod);
	return r;
}

int rh_build_service(struct rh_builder *builder, const char *type, int32_t index, struct rh_json **ret_service,
                     struct rh_error *err)
{
	const struct rh_snapshot *snapshot = builder->snapshot;
	rh_auto(json) service = NULL;
	size_t place;
	int r = build_find(builder, type, &place, err);

	if (r == 0 && !builder->types[place].service)
		r = build_service_base(snapshot, &snapshot->job->specs[place], &builder->types[place].service, err);
	if (r < 0)
		return r;
	service = rh_json_copy(builder->types[place].service);
	if (!service || build_number(builder, service, type, index) < 0 ||
	    rh_json_set(rh_json_get(service, "spec"), "selector", rh_json_copy(rh_json_at(service, "metadata.labels"))) < 0)
		return rh_fail_oom(err);
	*ret_service = rh_take(service);
	return 0;
}

/** Namespace and owner. What is kept for good has a label in place of the owner, by which it is found again. */
static int build_own(const struct rh_job *job, struct rh_json *object, const struct rh_keep *keep)
{
	struct rh_json *metadata = rh_json_get(object, "metadata");
	struct rh_json *labels;

	rh_json_remove(metadata, "ownerReferences");
	if (rh_json_set_string(metadata, "namespace", job->namespace_) < 0)
		return RH_ENOMEM;
	if (!keep->retain)
		return rh_build_owner(job, metadata);
	labels = rh_json_ensure_object(metadata, "labels");
	return labels ? rh_json_set_string(labels, RH_LABEL_JOB_UID, job->uid) : RH_ENOMEM;
}

/** A job that does not run holds no place in a queue. */
static int build_add_group(const struct rh_snapshot *snapshot, struct rh_json *objects, struct rh_error *err)
{
	const struct rh_gang *gang = rh_gang_of_kind(snapshot->gang, snapshot->job->kind);
	struct rh_json *group;
	int r;

	if (!rh_gang_is_on(gang) || snapshot->suspended || snapshot->finished)
		return 0;
	r = rh_gang_pod_group(gang, snapshot->job, snapshot->held, &group, err);
	if (r == 0 && rh_json_append(objects, group) < 0)
		r = rh_fail_oom(err);
	return r;
}

int rh_build_objects(struct rh_builder *builder, struct rh_json **ret_objects, struct rh_error *err)
{
	const struct rh_snapshot *snapshot = builder->snapshot;
	rh_auto(json) objects = NULL;
	int r = rh_host_objects(snapshot, &objects, err);

	if (r == 0)
		r = build_add_group(snapshot, objects, err);
	if (r < 0)
		return r;
	for (struct rh_json *object = rh_json_first(objects); object; object = rh_json_next(object)) {
		const struct rh_keep keep = rh_keep_read(object);

		if (build_own(snapshot->job, object, &keep) < 0)
			return rh_fail_oom(err);
	}
	*ret_objects = rh_take(objects);
	return 0;
}

/* @return 0, RH_EAGAIN: the kernel has no random bytes yet, or RH_EPLUGIN: libcrypto makes no keys */
static int build_fill(const struct rh_keep *keep, uint8_t bytes[RH_KEEP_RANDOM_MAX], struct rh_error *err)
{
	_Static_assert(RH_PAIR_BYTES == RH_PAIR_SIZE && RH_PAIR_SIZE <= RH_KEEP_RANDOM_MAX, "a pair does not fit");

	if (keep->pair && keep->random == RH_PAIR_BYTES)
		return rh_crypto_pair(bytes, err) < 0 ? RH_EPLUGIN : 0;
	return rh_random_secret(bytes, keep->random) ? 0 : rh_fail(err, RH_EAGAIN, "the kernel has no random bytes yet");
}

int rh_build_made(const struct rh_snapshot *snapshot, const struct rh_json *object, struct rh_json **ret_object,
                  struct rh_error *err)
{
	const struct rh_keep keep = rh_keep_read(object);
	uint8_t random[RH_KEEP_RANDOM_MAX];
	const struct rh_made made = {
		.head = RH_HEAD(struct rh_made),
		.api_version = rh_json_string_at(object, "apiVersion"),
		.kind = rh_json_string_at(object, "kind"),
		.name = rh_json_string_at(object, "metadata.name"),
		.random = random,
		.random_bytes = keep.random,
	};
	struct rh_json *body = NULL;
	int r;

	r = build_fill(&keep, random, err);
	if (r < 0)
		return r;
	r = rh_host_make(snapshot, &made, &body, err);
	explicit_bzero(random, sizeof(random));
	if (r == 0 && (rh_keep_write(body, &keep) < 0 || build_own(snapshot->job, body, &keep) < 0))
		r = rh_fail_oom(err);
	if (r < 0)
		rh_json_free_secret(body);
	else
		*ret_object = body;
	return r;
}
