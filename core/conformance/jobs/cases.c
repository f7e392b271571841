/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/jobs/cases.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "conformance/jobs/fill.h"
#include "job/kind.h"
#include "job/status/status.h"
#include "job/values/names.h"

/** Most replica types of which every set is a case; of kinds with more, single types and all of them. */
#define CASES_SETS_MAX 5
/** Most fields of a schema, two levels deep, that are cases of their own. */
#define CASES_FIELDS_MAX 64
/** Room for the path of a field. */
#define CASES_PATH_SIZE 256

/** What the jobs of a kind are made from. */
struct cases_kind {
	struct rh_cases *cases;
	const struct rh_kind *kind;
	const struct rh_json *pod;
	struct rh_json *schema;    /**< {"type": "object", "properties": rh_kind.spec_schema} */
	struct rh_json *template_; /**< the smallest pod template */
	size_t types;
	size_t fields; /**< cases of single fields so far */
};

/** A pod template with what usual ones have, of which names and numbers do not matter. */
static const char cases_rich[] =
	"{\"metadata\": {\"labels\": {\"team\": \"a\"}, \"annotations\": {\"note\": \"\\\"x\\\"\\n\"}}, \"spec\": {"
	"\"nodeSelector\": {\"disk\": \"ssd\"}, \"serviceAccountName\": \"trainer\", \"hostNetwork\": true,"
	"\"schedulerName\": \"volcano\", \"terminationGracePeriodSeconds\": 5, \"tolerations\": [{\"operator\": "
	"\"Exists\"}],"
	"\"volumes\": [{\"name\": \"data\", \"emptyDir\": {}}],"
	"\"initContainers\": [{\"name\": \"fetch\", \"image\": \"example/fetch:1\"}],"
	"\"containers\": [{\"name\": \"@\", \"image\": \"example/image:1\", \"command\": [\"python\"], \"args\": "
	"[\"x.py\"],"
	"\"env\": [{\"name\": \"USER_VARIABLE\", \"value\": \"1\"}, {\"name\": \"FROM\", \"valueFrom\": {\"fieldRef\":"
	"{\"fieldPath\": \"metadata.name\"}}}], \"ports\": [{\"name\": \"metrics\", \"containerPort\": 9100}],"
	"\"volumeMounts\": [{\"name\": \"data\", \"mountPath\": \"/data\"}],"
	"\"resources\": {\"limits\": {\"nvidia.com/gpu\": 8, \"cpu\": \"4\", \"memory\": \"1Gi\"}}},"
	"{\"name\": \"sidecar\", \"image\": \"example/sidecar:1\"}]}}";

int rh_cases_add(struct rh_cases *cases, const struct rh_kind *kind, const char *label, struct rh_json *object)
{
	rh_auto(json) owned = object;
	rh_auto_free char *copy = rh_strdup(label);

	if (!owned || !copy)
		return RH_ENOMEM;
	if (cases->count == cases->capacity) {
		size_t capacity = cases->capacity * 2 + 64;
		struct rh_case *grown = rh_realloc_array(cases->items, capacity, sizeof(*grown));

		if (!grown)
			return RH_ENOMEM;
		cases->items = grown;
		cases->capacity = capacity;
	}
	cases->items[cases->count++] = (struct rh_case){.kind = kind, .label = rh_take(copy), .object = rh_take(owned)};
	return 0;
}

void rh_cases_deinit(struct rh_cases *cases)
{
	for (size_t i = 0; i < cases->count; i++) {
		rh_free(cases->items[i].label);
		rh_json_free(cases->items[i].object);
		rh_json_free(cases->items[i].twin);
	}
	rh_free(cases->items);
	*cases = (struct rh_cases){0};
}

/** Add a job under a label that is put together. @return 0 or RH_ENOMEM */
static int cases_put(const struct cases_kind *made, struct rh_json *job, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int cases_put(const struct cases_kind *made, struct rh_json *job, const char *fmt, ...)
{
	char what[CASES_PATH_SIZE], label[CASES_PATH_SIZE + 64];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	snprintf(label, sizeof(label), "%.60s, %s", made->kind->kind, what);
	return rh_cases_add(made->cases, made->kind, label, job);
}

static const char *cases_container(const struct rh_kind *kind)
{
	return kind->container ? kind->container : "main";
}

/** The count nearest to @p requested that the type allows. */
static int32_t cases_count(const struct rh_replica_type *type, int32_t requested)
{
	if (requested < type->min_replicas)
		requested = type->min_replicas;
	return type->max_replicas > 0 && requested > type->max_replicas ? type->max_replicas : requested;
}

static struct rh_json *cases_replica(const struct cases_kind *made, int32_t count)
{
	rh_auto(json) replica = rh_json_new_object();

	if (!replica || rh_json_set_integer(replica, "replicas", count) < 0 ||
	    rh_json_set_string(replica, "restartPolicy", made->kind->restart_policy) < 0 ||
	    rh_json_set(replica, "template", rh_json_copy(made->template_)) < 0)
		return NULL;
	return rh_take(replica);
}

/** @return the object at a path of a job, made where it is missing; borrowed; NULL when memory is out */
static struct rh_json *cases_ensure(const struct rh_kind_path *path, struct rh_json *job)
{
	for (size_t i = 0; i < path->count && job; i++)
		job = rh_json_ensure_object(job, path->steps[i].name);
	return job;
}

/** A job without replicas. */
static struct rh_json *cases_bare(const struct rh_kind *kind)
{
	rh_auto(json) job = rh_json_new_object();
	rh_auto_free char *version = rh_asprintf("%s/%s", kind->group, kind->version);
	struct rh_kind_path map;
	struct rh_json *metadata = job ? rh_json_ensure_object(job, "metadata") : NULL;
	struct rh_json *spec = job ? rh_json_ensure_object(job, "spec") : NULL;

	rh_kind_replicas_path(kind, &map);
	if (!version || !metadata || !spec || rh_json_set_string(job, "apiVersion", version) < 0 ||
	    rh_json_set_string(job, "kind", kind->kind) < 0 || rh_json_set_string(metadata, "name", "sample") < 0 ||
	    rh_json_set_string(metadata, "namespace", "default") < 0 ||
	    rh_json_set_string(metadata, "uid", "6f6f7a1e-0000-4000-8000-000000000001") < 0 ||
	    (map.count > 0 && !cases_ensure(&map, job)))
		return NULL;
	return rh_take(job);
}

/** @return the replicas of a type of a job, borrowed, or NULL */
static struct rh_json *cases_of_type(const struct rh_kind *kind, const struct rh_replica_type *type,
                                     const struct rh_json *job)
{
	struct rh_kind_path path;

	rh_kind_type_path(kind, type, type->name, &path);
	return rh_kind_path_find(&path, job);
}

/** Put the replicas of a type where the kind has them. @param replica taken */
static int cases_put_replica(const struct rh_kind *kind, const struct rh_replica_type *type, struct rh_json *job,
                             struct rh_json *replica)
{
	struct rh_kind_path path;
	struct rh_json *holder;
	const char *name;

	rh_kind_type_path(kind, type, type->name, &path);
	name = rh_kind_path_name(&path);
	path.count--;
	holder = replica ? cases_ensure(&path, job) : NULL;
	if (!holder)
		rh_json_free(replica);
	return holder ? rh_json_set(holder, name, replica) : RH_ENOMEM;
}

/**
 * A job with the types of the bits of @p set. @param only the type with @p count replicas, the others have one; -1: all
 * have @p count
 */
static struct rh_json *cases_job(const struct cases_kind *made, uint32_t set, int only, int32_t count, bool backwards)
{
	rh_auto(json) job = cases_bare(made->kind);

	for (size_t i = 0; job && i < made->types; i++) {
		size_t place = backwards ? made->types - 1 - i : i;
		const struct rh_replica_type *type = made->kind->types[place];
		int32_t requested = cases_count(type, only < 0 || (size_t)only == place ? count : 1);

		if ((set & (UINT32_C(1) << place)) &&
		    cases_put_replica(made->kind, type, job, cases_replica(made, requested)) < 0)
			return NULL;
	}
	return rh_take(job);
}

static uint32_t cases_all(const struct cases_kind *made)
{
	return (UINT32_C(1) << made->types) - 1;
}

/** The types of a job as most users write it: all but those of which a job has none by default. */
static struct rh_json *cases_usual(const struct cases_kind *made)
{
	return cases_job(made, cases_all(made), -1, 2, false);
}

static int cases_add_sets(const struct cases_kind *made)
{
	int r = 0;

	for (uint32_t set = 0; r == 0 && set <= cases_all(made); set++) {
		rh_auto_str names = {0};

		if (made->types > CASES_SETS_MAX && set != cases_all(made) && (set & (set - 1)) != 0)
			continue;
		for (size_t i = 0; i < made->types; i++) {
			if (set & (UINT32_C(1) << i))
				rh_str_appendf(&names, "%s%s", names.length ? "+" : "", made->kind->types[i]->name);
		}
		r = cases_put(made, cases_job(made, set, -1, 2, false), "types: %s", set ? rh_str_text(&names) : "none");
		if (r == 0 && (set & (set - 1)) != 0) {
			struct rh_case *last = &made->cases->items[made->cases->count - 1];

			last->twin = cases_job(made, set, -1, 2, true);
			r = last->twin ? 0 : RH_ENOMEM;
		}
	}
	return r;
}

static int cases_add_counts(const struct cases_kind *made)
{
	static const int32_t counts[] = {0, 1, 2, 7, 100, 1000, 10000};
	int r = 0;

	for (size_t c = 0; r == 0 && c < sizeof(counts) / sizeof(counts[0]); c++) {
		r = cases_put(made, cases_job(made, cases_all(made), -1, counts[c], false), "replicas: all types %" PRId32,
		              counts[c]);
		for (size_t i = 0; r == 0 && i < made->types && made->types > 1; i++)
			r = cases_put(made, cases_job(made, cases_all(made), (int)i, counts[c], false), "replicas: %s %" PRId32,
			              made->kind->types[i]->name, counts[c]);
	}
	return r;
}

/** Set a field of spec; one that holds replicas as well gets its further members beside them. */
static int cases_set_field(struct rh_json *spec, const char *key, const struct rh_json *value)
{
	struct rh_json *old = rh_json_get(spec, key);

	if (!old)
		return rh_json_set(spec, key, rh_json_copy(value));
	if (rh_json_type(old) != RH_JSON_OBJECT || rh_json_type(value) != RH_JSON_OBJECT)
		return 0;
	for (const struct rh_json *member = rh_json_first(value); member; member = rh_json_next(member)) {
		if (!rh_json_get(old, rh_json_key(member)) && rh_json_set(old, rh_json_key(member), rh_json_copy(member)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/** Put fields into spec, beside replicas. @param fields taken */
static struct rh_json *cases_with(const struct cases_kind *made, struct rh_json *fields)
{
	rh_auto(json) owned = fields;
	rh_auto(json) job = cases_usual(made);
	struct rh_json *spec = rh_json_get(job, "spec");
	const struct rh_json *field;
	struct rh_kind_path map;

	if (!owned || !job)
		return NULL;
	rh_kind_replicas_path(made->kind, &map);
	for (field = rh_json_first(owned); field; field = rh_json_next(field)) {
		if (!(map.count == 2 && strcmp(rh_json_key(field), rh_kind_path_name(&map)) == 0) &&
		    cases_set_field(spec, rh_json_key(field), field) < 0)
			return NULL;
	}
	return rh_take(job);
}

static struct rh_json *cases_schema_of(const struct rh_json *schema, const char *first, const char *second)
{
	struct rh_json *field = rh_json_get(rh_json_get(schema, "properties"), first);

	return second ? rh_json_get(rh_json_get(field, "properties"), second) : field;
}

/** One field (@p value taken), which may lie in another: {first: {second: value}}. */
static struct rh_json *cases_field(const char *first, const char *second, struct rh_json *value)
{
	rh_auto(json) fields = rh_json_new_object();
	struct rh_json *into = fields && second ? rh_json_ensure_object(fields, first) : fields;

	if (!into) {
		rh_json_free(value);
		return NULL;
	}
	return rh_json_set(into, second ? second : first, value) < 0 ? NULL : rh_take(fields);
}

/** All fields but one. */
static struct rh_json *cases_without(const struct cases_kind *made, const char *first, const char *second)
{
	rh_auto(json) fields = rh_fill(made->schema, NULL, RH_FILL_USUAL);
	struct rh_json *from = second ? rh_json_get(fields, first) : fields;

	if (fields)
		rh_json_remove(from, second ? second : first);
	return rh_take(fields);
}

/** A field alone, with each of its words, of a wrong type, and missing among all others. */
static int cases_add_field(struct cases_kind *made, const char *first, const char *second)
{
	const struct rh_json *schema = cases_schema_of(made->schema, first, second);
	char path[CASES_PATH_SIZE];
	const struct rh_json *word = rh_json_first(rh_json_get(schema, "enum"));
	int r;

	if (made->fields++ >= CASES_FIELDS_MAX)
		return 0;
	snprintf(path, sizeof(path), "spec.%.100s%s%.100s", first, second ? "." : "", second ? second : "");
	r = cases_put(made, cases_with(made, cases_field(first, second, rh_fill(schema, NULL, RH_FILL_USUAL))), "only %s",
	              path);
	if (r == 0)
		r = cases_put(made, cases_with(made, cases_field(first, second, rh_fill(schema, NULL, RH_FILL_SMALL))),
		              "only %s, its least value", path);
	if (r == 0)
		r = cases_put(made, cases_with(made, cases_without(made, first, second)), "all fields but %s", path);
	for (; r == 0 && word; word = rh_json_next(word))
		r = cases_put(made, cases_with(made, cases_field(first, second, rh_json_copy(word))), "%s: %.60s", path,
		              rh_json_string(word) ? rh_json_string(word) : "a word");
	return r;
}

static int cases_add_fields(struct cases_kind *made)
{
	const struct rh_json *field = rh_json_first(rh_json_get(made->schema, "properties"));
	int r = 0;

	for (; r == 0 && field; field = rh_json_next(field)) {
		const struct rh_json *inner = rh_json_first(rh_json_get(field, "properties"));

		r = cases_add_field(made, rh_json_key(field), NULL);
		for (; r == 0 && inner; inner = rh_json_next(inner))
			r = cases_add_field(made, rh_json_key(field), rh_json_key(inner));
	}
	return r;
}

static int cases_add_fills(const struct cases_kind *made)
{
	static const struct {
		enum rh_fill how;
		const char *label;
	} fills[] = {
		{RH_FILL_USUAL, "all fields"},
		{RH_FILL_TEXTS, "all fields, hostile texts"},
		{RH_FILL_LONG, "all fields, longest texts"},
		{RH_FILL_LARGE, "all fields, largest numbers"},
		{RH_FILL_SMALL, "all fields, smallest values"},
		{RH_FILL_TYPE, "all fields of wrong types"},
		{RH_FILL_NULL, "all fields null"},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(fills) / sizeof(fills[0]); i++) {
		r = cases_put(made, cases_with(made, rh_fill(made->schema, NULL, fills[i].how)), "%s", fills[i].label);
		if (r == 0 && fills[i].how == RH_FILL_USUAL)
			made->cases->items[made->cases->count - 1].leak_check = true;
	}
	return r;
}

/** Put a template (taken) into each replica of a job with all types. */
static struct rh_json *cases_templated(const struct cases_kind *made, struct rh_json *template_)
{
	rh_auto(json) owned = template_;
	rh_auto(json) job = cases_usual(made);

	for (size_t i = 0; owned && job && i < made->types; i++) {
		struct rh_json *replica = cases_of_type(made->kind, made->kind->types[i], job);

		if (replica && rh_json_set(replica, "template", rh_json_copy(owned)) < 0)
			return NULL;
	}
	if (!owned || !job)
		return NULL;
	return rh_take(job);
}

/** A template that names the kind's container, made of a pod schema. */
static struct rh_json *cases_template(const struct cases_kind *made, enum rh_fill how)
{
	rh_auto(json) reference = rh_json_new_object();
	rh_auto(json) made_of = NULL;
	struct rh_json *container;

	if (!reference || rh_json_set_string(reference, "$ref", rh_json_string_at(made->pod, "root")) < 0)
		return NULL;
	made_of = rh_fill(reference, rh_json_get(made->pod, "definitions"), how);
	container = rh_json_first(rh_json_at(made_of, "spec.containers"));
	if (container && rh_json_type(container) == RH_JSON_OBJECT &&
	    rh_json_set_string(container, "name", cases_container(made->kind)) < 0)
		return NULL;
	return rh_take(made_of);
}

static struct rh_json *cases_parse(const char *text)
{
	struct rh_json *json = NULL;

	return rh_json_parse(text, strlen(text), &json, NULL) < 0 ? NULL : json;
}

static int cases_add_templates(const struct cases_kind *made)
{
	rh_auto(json) rich = cases_parse(cases_rich);
	struct rh_json *main_container = rh_json_first(rh_json_at(rich, "spec.containers"));
	int r = main_container ? rh_json_set_string(main_container, "name", cases_container(made->kind)) : RH_ENOMEM;

	if (r == 0)
		r = cases_put(made, cases_templated(made, rh_json_copy(rich)), "a usual pod template");
	if (r == 0)
		r = cases_put(made, cases_templated(made, cases_template(made, RH_FILL_USUAL)), "a full pod template");
	if (r == 0)
		r = cases_put(made, cases_templated(made, cases_template(made, RH_FILL_TEXTS)),
		              "a full pod template, hostile texts");
	if (r == 0)
		r = cases_put(made, cases_templated(made, cases_template(made, RH_FILL_NULL)), "a pod template of nulls");
	if (r == 0)
		r = cases_put(made, cases_templated(made, cases_parse("{\"spec\": {\"containers\": [{}]}}")),
		              "a container without fields");
	if (r == 0)
		r = cases_put(made, cases_templated(made, cases_parse("{}")), "an empty pod template");
	return r;
}

/** A job of a usual form with one text of its metadata, or a map of texts, replaced (@p value taken). */
static struct rh_json *cases_named(const struct cases_kind *made, const char *key, struct rh_json *value)
{
	rh_auto(json) job = cases_usual(made);

	if (!job || rh_json_set(rh_json_get(job, "metadata"), key, value) < 0)
		return NULL;
	return rh_take(job);
}

static struct rh_json *cases_repeat(size_t length)
{
	rh_auto_str text = {0};

	for (size_t i = 0; i < length; i++)
		rh_str_append(&text, "n");
	return text.failed ? NULL : rh_json_new_string(rh_str_text(&text));
}

/** Longest name of a job whose pods have names that fit. */
static size_t cases_longest_name(const struct rh_kind *kind)
{
	size_t longest = 0;

	for (size_t i = 0; kind->types[i]; i++) {
		size_t length = strlen(kind->types[i]->name);

		longest = length > longest ? length : longest;
	}
	return longest + 3 < RH_LABEL_MAX ? RH_LABEL_MAX - longest - 3 : 1;
}

static int cases_add_names(const struct cases_kind *made)
{
	rh_auto(json) map = rh_json_new_object();
	int r = map ? rh_json_set_string(map, "example.org/a-note", RH_FILL_HOSTILE_TEXT) : RH_ENOMEM;

	if (r == 0)
		r = cases_put(made, cases_named(made, "name", cases_repeat(cases_longest_name(made->kind))),
		              "the longest name of a job");
	if (r == 0)
		r = cases_put(made, cases_named(made, "name", cases_repeat(RH_SUBDOMAIN_MAX)), "a name of 253 characters");
	if (r == 0)
		r = cases_put(made, cases_named(made, "name", rh_json_new_string("a.b.c-1")), "a name with dots");
	if (r == 0)
		r = cases_put(made, cases_named(made, "namespace", cases_repeat(RH_LABEL_MAX)), "the longest namespace");
	if (r == 0)
		r = cases_put(made, cases_named(made, "annotations", rh_json_copy(map)), "hostile texts in annotations");
	return r;
}

static struct rh_json *cases_running(const struct cases_kind *made)
{
	rh_auto(json) job = cases_usual(made);
	struct rh_json *status = cases_parse("{\"conditions\": [{\"type\": \"Created\", \"status\": \"True\"},"
	                                     "{\"type\": \"Running\", \"status\": \"True\"}]}");

	if (!job) {
		rh_json_free(status);
		return NULL;
	}
	return rh_json_set(job, "status", status) < 0 ? NULL : rh_take(job);
}

/** A job with all that a run policy has, where the kind has one; members of spec itself are fields of the plugin. */
static int cases_add_run_policy(const struct cases_kind *made)
{
	rh_auto(json) policy = cases_parse("{\"suspend\": true, \"cleanPodPolicy\": \"All\", \"backoffLimit\": 3,"
	                                   "\"activeDeadlineSeconds\": 60, \"ttlSecondsAfterFinished\": 60,"
	                                   "\"schedulingPolicy\": {\"minAvailable\": 1, \"queue\": \"q\"}}");
	rh_auto(json) job = cases_usual(made);
	struct rh_kind_path path;
	struct rh_json *into;

	rh_kind_policy_path(made->kind, &path);
	if (path.count < 2)
		return 0;
	into = policy && job ? cases_ensure(&path, job) : NULL;
	if (!into || rh_json_merge(into, policy) < 0)
		return RH_ENOMEM;
	return cases_put(made, rh_take(job), "a full runPolicy");
}

/** Policies of replicas and of the run. */
static int cases_add_policies(const struct cases_kind *made)
{
	static const char *const policies[] = {"Always", "OnFailure", "Never", "ExitCode"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(policies) / sizeof(policies[0]); i++) {
		rh_auto(json) job = cases_usual(made);

		for (size_t k = 0; job && k < made->types && r == 0; k++) {
			struct rh_json *replica = cases_of_type(made->kind, made->kind->types[k], job);

			r = replica ? rh_json_set_string(replica, "restartPolicy", policies[i]) : 0;
		}
		if (r == 0)
			r = cases_put(made, rh_take(job), "restartPolicy %s", policies[i]);
	}
	if (r == 0)
		r = cases_add_run_policy(made);
	if (r == 0)
		r = cases_put(made, cases_running(made), "a job that runs");
	return r;
}

static int cases_prepare(struct cases_kind *made, struct rh_error *err)
{
	const char *text = made->kind->spec_schema ? made->kind->spec_schema : "{}";
	rh_auto_free char *schema = rh_asprintf("{\"type\": \"object\", \"properties\": %s}", text);
	rh_auto_free char *template_ =
		rh_asprintf("{\"spec\": {\"containers\": [{\"name\": \"%s\", \"image\": \"example/image:1\"}]}}",
	                cases_container(made->kind));
	int r = schema && template_ ? 0 : rh_fail_oom(err);

	while (made->kind->types[made->types] && made->types < RH_TYPES_MAX)
		made->types++;
	if (r == 0)
		r = rh_json_parse(schema, strlen(schema), &made->schema, err);
	if (r == 0)
		r = rh_json_parse(template_, strlen(template_), &made->template_, err);
	return r == RH_EINVAL ? rh_wrap(err, RH_EPLUGIN, "kind %s", made->kind->kind) : r;
}

static int cases_add_all(struct cases_kind *made)
{
	int r = cases_put(made, cases_bare(made->kind), "an empty job");

	if (r == 0)
		r = cases_put(made, cases_usual(made), "a usual job");
	if (r == 0)
		made->cases->items[made->cases->count - 1].leak_check = true;
	if (r == 0)
		r = cases_add_sets(made);
	if (r == 0)
		r = cases_add_counts(made);
	if (r == 0)
		r = cases_add_fills(made);
	if (r == 0)
		r = cases_add_fields(made);
	if (r == 0)
		r = cases_add_templates(made);
	if (r == 0)
		r = cases_add_names(made);
	return r == 0 ? cases_add_policies(made) : r;
}

int rh_cases_generate(struct rh_cases *cases, const struct rh_kind *kind, const struct rh_json *pod,
                      struct rh_error *err)
{
	struct cases_kind made = {.cases = cases, .kind = kind, .pod = pod};
	int r = cases_prepare(&made, err);

	if (r == 0 && cases_add_all(&made) < 0)
		r = rh_fail_oom(err);
	rh_json_free(made.schema);
	rh_json_free(made.template_);
	return r;
}
