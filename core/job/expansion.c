/* SPDX-License-Identifier: Apache-2.0 */
#include "job/expansion.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "job/fields.h"
#include "job/kind.h"
#include "job/policy.h"
#include "job/values/names.h"

struct rh_expansion {
	char *text;
	struct rh_json *tree; /* of the text */
	struct rh_replica_spec specs[RH_TYPES_MAX];
	struct rh_replica_type types[RH_TYPES_MAX]; /* those of specs that the kind does not describe */
	size_t count;
	size_t weight;               /* of the tree */
	struct rh_run_policy before; /* the job's own, once it has the expansion */
};

/* A word of "flags", and what it means. */
struct expansion_flag {
	const char *word;
	uint32_t flag;
};

static const struct expansion_flag expansion_flags[] = {
	{"ranked", RH_REPLICA_RANKED},
	{"leader", RH_REPLICA_LEADER},
	{"unindexed", RH_REPLICA_UNINDEXED},
};

#define EXPANSION_FLAGS (sizeof(expansion_flags) / sizeof(expansion_flags[0]))

/* Refuse the value at @p place in the words of @p what. */
static int expansion_refuse(struct rh_error *err, const struct rh_place *place, const char *what)
{
	rh_auto_str path = {0};

	rh_place_print(place, false, &path);
	return rh_fail(err, RH_EINVAL, "%s: %s", rh_str_text(&path), what);
}

/* Refuse members that nobody reads. @param known separated by '|' */
static int expansion_check_members(const struct rh_fields *fields, const char *known)
{
	for (const struct rh_json *item = rh_json_first(fields->object); item; item = rh_json_next(item)) {
		const char *key = rh_json_key(item);
		struct rh_place place = rh_place_member(fields->place, key);
		size_t length = strlen(key);
		bool found = false;

		for (const char *word = known; *word && !found; word += strcspn(word, "|") + (strchr(word, '|') != NULL))
			found = strcspn(word, "|") == length && strncmp(word, key, length) == 0;
		if (!found) {
			rh_auto_free char *what = rh_asprintf("it is unknown, and must be one of %s", known);

			return what ? expansion_refuse(fields->err, &place, what) : RH_ENOMEM;
		}
	}
	return 0;
}

/* [A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])? */
static bool expansion_is_name(const char *name)
{
	size_t length = 0;

	while (isalnum((unsigned char)name[length]) || name[length] == '-')
		length++;
	return length > 0 && length <= RH_LABEL_MAX && !name[length] && isalpha((unsigned char)*name) &&
	       name[length - 1] != '-';
}

static const struct rh_replica_type *expansion_known(const struct rh_kind *kind, const char *name)
{
	const struct rh_replica_type *const *type = kind->types;

	while (type && *type && strcmp((*type)->name, name) != 0)
		type++;
	return type ? *type : NULL;
}

static int expansion_read_name(const struct rh_expansion *expansion, const struct rh_fields *fields,
                               const char **ret_name)
{
	struct rh_place place = rh_place_member(fields->place, "name");
	const char *name = NULL;
	int r = rh_fields_text(fields, "name", &name);

	if (r < 0)
		return r;
	if (!name)
		return expansion_refuse(fields->err, &place, "it is missing");
	if (!expansion_is_name(name))
		return expansion_refuse(fields->err, &place,
		                        "it must have at most 63 letters, digits and '-', a letter first, and no '-' last");
	for (size_t i = 0; i < expansion->count; i++) {
		if (strcasecmp(expansion->specs[i].type, name) == 0)
			return expansion_refuse(fields->err, &place, "another type has this name");
	}
	*ret_name = name;
	return 0;
}

static int expansion_read_flag(const struct rh_json *item, const struct rh_place *place, uint32_t *flags,
                               struct rh_error *err)
{
	for (size_t i = 0; i < EXPANSION_FLAGS; i++) {
		if (rh_text_equal(rh_json_string(item), expansion_flags[i].word)) {
			*flags |= expansion_flags[i].flag;
			return 0;
		}
	}
	return expansion_refuse(err, place, "it must be one of ranked|leader|unindexed");
}

/* @param[out] ret_flags RH_REPLICA_* */
static int expansion_read_flags(const struct rh_fields *fields, bool described, uint32_t *ret_flags)
{
	struct rh_place place = rh_place_member(fields->place, "flags");
	const struct rh_json *list = rh_json_get(fields->object, "flags");
	size_t index = 0;
	int r = 0;

	if (!list)
		return 0;
	if (rh_json_type(list) != RH_JSON_ARRAY)
		return rh_fields_refuse_type(fields->err, &place, "array", list);
	if (described)
		return expansion_refuse(fields->err, &place, "the kind describes this type, so it has its flags from there");
	for (const struct rh_json *item = rh_json_first(list); item && r == 0; item = rh_json_next(item)) {
		struct rh_place at = rh_place_item(&place, index++);

		r = expansion_read_flag(item, &at, ret_flags, fields->err);
	}
	return r;
}

/* What validation is to find in the template needs one. */
static int expansion_read_template(const struct rh_fields *fields, struct rh_replica_spec *spec)
{
	struct rh_place place = rh_place_member(fields->place, "template");
	struct rh_fields inner = {NULL, &place, fields->err};
	const struct rh_json *part = NULL;
	int r = rh_fields_object(fields, "template", &spec->template_);

	if (r == 0 && !spec->template_)
		return expansion_refuse(fields->err, &place, "it is missing");
	inner.object = spec->template_;
	if (r == 0)
		r = expansion_check_members(&inner, "metadata|spec");
	if (r == 0)
		r = rh_fields_object(&inner, "metadata", &part);
	return r == 0 ? rh_fields_object(&inner, "spec", &part) : r;
}

static int expansion_read_replicas(const struct rh_fields *fields, struct rh_replica_spec *spec)
{
	struct rh_place place = rh_place_member(fields->place, "replicas");
	int r = rh_fields_int32(fields, "replicas", &spec->replicas);

	if (r < 0)
		return r;
	if (spec->replicas < 0)
		return expansion_refuse(fields->err, &place, "it is negative");
	if ((spec->known->flags & RH_REPLICA_UNINDEXED) && spec->replicas > 1)
		return expansion_refuse(fields->err, &place, "it is more than 1, and the type is unindexed");
	return 0;
}

static int expansion_read_restart(const struct rh_kind *kind, const struct rh_fields *fields,
                                  struct rh_replica_spec *spec)
{
	struct rh_place place = rh_place_member(fields->place, "restartPolicy");
	const char *word = NULL;
	int r = rh_fields_text(fields, "restartPolicy", &word);

	spec->policy = rh_restart_policy_parse(word ? word : rh_kind_restart_policy(kind, spec->known));
	if (r == 0 && spec->policy == RH_RESTART_UNKNOWN)
		return expansion_refuse(fields->err, &place, "it must be one of Always|OnFailure|Never|ExitCode");
	return r;
}

static int expansion_read_type(const struct rh_kind *kind, struct rh_expansion *expansion,
                               const struct rh_fields *fields)
{
	struct rh_replica_spec *spec = &expansion->specs[expansion->count];
	struct rh_replica_type *own = &expansion->types[expansion->count];
	const struct rh_replica_type *known;
	int r = expansion_check_members(fields, "name|replicas|restartPolicy|template|flags");

	if (r == 0)
		r = expansion_read_name(expansion, fields, &spec->type);
	if (r < 0)
		return r;
	known = expansion_known(kind, spec->type);
	*own = (struct rh_replica_type){.head = RH_HEAD(struct rh_replica_type), .name = spec->type, .default_replicas = 1};
	r = expansion_read_flags(fields, known != NULL, &own->flags);
	own->max_replicas = own->flags & RH_REPLICA_UNINDEXED ? 1 : 0;
	spec->known = known ? known : own;
	spec->key = spec->type;
	spec->entry = fields->object;
	spec->replicas = spec->known->default_replicas;
	if (r == 0)
		r = expansion_read_replicas(fields, spec);
	if (r == 0)
		r = expansion_read_restart(kind, fields, spec);
	if (r == 0)
		r = expansion_read_template(fields, spec);
	expansion->count++;
	return r;
}

static int expansion_read_types(const struct rh_kind *kind, struct rh_expansion *expansion, struct rh_error *err)
{
	struct rh_place place = rh_place_member(NULL, "types");
	const struct rh_json *list = rh_json_get(expansion->tree, "types");
	size_t index = 0;
	int r = 0;

	if (rh_json_type(list) != RH_JSON_ARRAY || rh_json_size(list) < 1 || rh_json_size(list) > RH_TYPES_MAX)
		return expansion_refuse(err, &place, "it must be a list of 1 to 16 replica types");
	for (const struct rh_json *item = rh_json_first(list); item && r == 0; item = rh_json_next(item)) {
		struct rh_place at = rh_place_item(&place, index++);
		struct rh_fields fields = {item, &at, err};

		r = rh_json_type(item) == RH_JSON_OBJECT ? expansion_read_type(kind, expansion, &fields)
		                                         : rh_fields_refuse_type(err, &at, "object", item);
	}
	return r;
}

static int expansion_check_policy(const struct rh_fields *fields)
{
	struct rh_place word_place = rh_place_member(fields->place, "cleanPodPolicy");
	const char *word = rh_json_string(rh_json_get(fields->object, "cleanPodPolicy"));
	struct rh_run_policy scratch = {0};
	int r =
		expansion_check_members(fields, "activeDeadlineSeconds|backoffLimit|cleanPodPolicy|ttlSecondsAfterFinished");

	if (r == 0)
		r = rh_run_policy_override(&scratch, fields);
	if (r == 0 && word && strcmp(word, "None") != 0 && strcmp(word, "Running") != 0 && strcmp(word, "All") != 0)
		return expansion_refuse(fields->err, &word_place, "it must be one of None|Running|All");
	for (const struct rh_json *item = rh_json_first(fields->object); item && r == 0; item = rh_json_next(item)) {
		struct rh_place place = rh_place_member(fields->place, rh_json_key(item));
		int64_t number = 0;

		if (rh_json_integer(item, &number) && number < 0)
			return expansion_refuse(fields->err, &place, "it is negative");
	}
	return r;
}

static int expansion_read_policy(const struct rh_expansion *expansion, struct rh_fields *ret_policy)
{
	struct rh_fields root = {expansion->tree, NULL, ret_policy->err};

	return rh_fields_object(&root, "runPolicy", &ret_policy->object);
}

static int expansion_read(const struct rh_kind *kind, struct rh_expansion *expansion, struct rh_error *err)
{
	struct rh_place place = rh_place_member(NULL, "runPolicy");
	struct rh_fields root = {expansion->tree, NULL, err};
	struct rh_fields policy = {NULL, &place, err};
	int r = expansion_check_members(&root, "types|runPolicy");

	if (r == 0)
		r = expansion_read_types(kind, expansion, err);
	if (r == 0)
		r = expansion_read_policy(expansion, &policy);
	return r == 0 ? expansion_check_policy(&policy) : r;
}

int rh_expansion_parse(const struct rh_kind *kind, const char *text, struct rh_expansion **ret_expansion,
                       struct rh_error *err)
{
	struct rh_expansion *made = rh_alloc(sizeof(*made));
	int r;

	if (!made || !(made->text = rh_strdup(text))) {
		rh_expansion_free(made);
		return rh_fail_oom(err);
	}
	r = rh_json_parse(text, strlen(text), &made->tree, err);
	if (r == RH_EINVAL)
		(void)rh_wrap(err, r, "no JSON");
	if (r == 0 && rh_json_type(made->tree) != RH_JSON_OBJECT)
		r = rh_fail(err, RH_EINVAL, "it must be an object");
	if (r == 0) {
		made->weight = rh_json_weight(made->tree);
		rh_json_drop_nulls(made->tree);
		r = expansion_read(kind, made, err);
	}
	if (r == 0) {
		*ret_expansion = made;
		return 0;
	}
	rh_expansion_free(made);
	return r == RH_ENOMEM ? rh_fail_oom(err) : RH_EPLUGIN;
}

void rh_expansion_free(struct rh_expansion *expansion)
{
	if (!expansion)
		return;
	rh_json_free(expansion->tree);
	rh_free(expansion->text);
	rh_free(expansion);
}

const char *rh_expansion_text(const struct rh_expansion *expansion)
{
	return expansion ? expansion->text : NULL;
}

/* Labels, or annotations but for our own. */
static int expansion_copy_texts(const struct rh_json *from, const char *part, struct rh_json *metadata)
{
	const struct rh_json *map = rh_json_get(from, part);
	struct rh_json *into = rh_json_size(map) > 0 ? rh_json_ensure_object(metadata, part) : NULL;
	int r = rh_json_size(map) > 0 && !into ? RH_ENOMEM : 0;

	for (const struct rh_json *item = rh_json_first(map); item && r == 0; item = rh_json_next(item)) {
		if (!rh_starts_with(rh_json_key(item), RH_ANNOTATION_PREFIX))
			r = rh_json_add(into, rh_json_key(item), rh_json_copy(item));
	}
	return r;
}

struct rh_json *rh_expansion_source(const struct rh_job *job)
{
	static const char *const parts[] = {"apiVersion", "kind", "spec"};
	static const char *const texts[] = {"name", "namespace", "uid"};
	const struct rh_json *from = rh_json_get(job->object, "metadata");
	rh_auto(json) source = rh_json_new_object();
	struct rh_json *metadata = source ? rh_json_ensure_object(source, "metadata") : NULL;
	int r = metadata ? 0 : RH_ENOMEM;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && r == 0; i++) {
		const char *text = rh_json_string(rh_json_get(from, texts[i]));

		r = text ? rh_json_set_string(metadata, texts[i], text) : 0;
	}
	if (r == 0)
		r = expansion_copy_texts(from, "labels", metadata);
	if (r == 0)
		r = expansion_copy_texts(from, "annotations", metadata);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && r == 0; i++) {
		const struct rh_json *part = rh_json_get(job->object, parts[i]);

		r = part ? rh_json_set(source, parts[i], rh_json_copy(part)) : 0;
	}
	return r == 0 ? rh_take(source) : NULL;
}

void rh_job_set_expansion(struct rh_job *job, struct rh_expansion *expansion)
{
	struct rh_place place = rh_place_member(NULL, "runPolicy");
	struct rh_fields policy = {NULL, &place, NULL};

	if (job->expansion) {
		job->policy = job->expansion->before;
		job->weight -= job->expansion->weight;
		rh_expansion_free(job->expansion);
	}
	job->expansion = expansion;
	job->weight += expansion->weight;
	expansion->before = job->policy;
	memcpy(job->specs, expansion->specs, sizeof(job->specs));
	job->spec_count = expansion->count;
	/* they were read before */
	(void)expansion_read_policy(expansion, &policy);
	(void)rh_run_policy_override(&job->policy, &policy);
}

void rh_job_adopt_expansion(struct rh_job *job, struct rh_job *from)
{
	struct rh_expansion *expansion = rh_take(from->expansion);

	if (expansion) {
		from->spec_count = 0;
		rh_job_set_expansion(job, expansion);
	}
	rh_job_set_refusals(job, rh_take(from->refusals));
}

void rh_job_set_refusals(struct rh_job *job, struct rh_findings *refusals)
{
	if (job->refusals)
		rh_findings_deinit(job->refusals);
	rh_free(job->refusals);
	job->refusals = refusals;
}
