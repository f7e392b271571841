/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V1's webhook rules (v1-behaviour A.5) and those of job/rules/validate.c, as CEL. Two things shape them. Messages are
 * fixed texts: an expression over keys without a longest length is beyond CEL's cost limit. And the API server asks a
 * rule again when the value that it stands at changes, so it stands as deep as it can; one that stands higher looks at
 * the value before (optionalOldSelf): those about the whole object, which each update of the status changes, and those
 * whose message names a replica type, which stand at spec. A rule at the map would be printed as spec.map.[Type], for
 * the API server puts a dot between where a rule stands and what it is about.
 */
#include "schema/crd_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "job/kind.h"
#include "job/values/names.h"
#include "job/values/patterns.h"

/* Not with optional values: a list from orValue() has no longest length for the cost estimate. */
#define RULES_HAS_CONTAINERS "has(self.template) && has(self.template.spec) && has(self.template.spec.containers)"

/* One rule. Texts are borrowed. */
struct crd_rule {
	const char *rule;
	const char *message;
	const char *reason; /* NULL: FieldValueInvalid */
	const char *path;   /* fieldPath; NULL: the node of the rule */
	bool with_old;      /* optionalOldSelf */
};

/* Parts of a rule of one replica type. */
struct crd_type {
	const struct rh_kind *kind;
	const struct rh_replica_type *type;
	const char *map; /* name of the map */
	char lower[RH_NAME_SIZE];
};

static int rules_add(struct rh_json *schema, const struct crd_rule *rule)
{
	struct rh_json *rules = rh_json_ensure_array(schema, "x-kubernetes-validations");
	rh_auto(json) row = rh_json_new_object();

	if (!rules || !row || rh_json_set_string(row, "rule", rule->rule) < 0 ||
	    rh_json_set_string(row, "message", rule->message) < 0)
		return RH_ENOMEM;
	if ((rule->reason && rh_json_set_string(row, "reason", rule->reason) < 0) ||
	    (rule->path && rh_json_set_string(row, "fieldPath", rule->path) < 0) ||
	    (rule->with_old && rh_json_set_bool(row, "optionalOldSelf", true) < 0))
		return RH_ENOMEM;
	return rh_json_append(rules, rh_take(row));
}

/* A job's name never changes: only a new job can have a bad one. The message is V1's. */
static int rules_add_name(const struct rh_kind *kind, struct rh_json *job)
{
	static const struct crd_rule letters = {
		.rule = "oldSelf.hasValue() || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
		.message =
			"should match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
			"alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used "
			"for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
		.path = ".metadata.name",
		.with_old = true,
	};
	static const struct crd_rule length = {
		.rule = "oldSelf.hasValue() || size(self.metadata.name) <= 63",
		.message = "must be no more than 63 characters, because it is a label of its pods",
		.path = ".metadata.name",
		.with_old = true,
	};
	int r = rules_add(job, &length);

	return r == 0 && (kind->flags & RH_KIND_DNS_NAME) ? rules_add(job, &letters) : r;
}

/* Names of Services are DNS labels. A job with too long ones may still change in other ways. */
static int rules_add_children(const struct rh_kind *kind, struct rh_json *job)
{
	struct rh_kind_path path;
	rh_auto_str map = {0};
	rh_auto_str old = {0};
	rh_auto_str text = {0};
	rh_auto_str message = {0};
	char names[RH_NAME_SIZE];
	struct crd_rule rule = {.path = ".metadata.name", .with_old = true};

	rh_str_appendf(&message, "must be shorter: the names of the job's Services, which are %s, can have 63 characters",
	               rh_patterns_describe(kind, names));
	rule.message = rh_str_text(&message);
	rh_kind_replicas_path(kind, &path);
	if (!(kind->flags & RH_KIND_SERVICES) || path.count == 0)
		return 0;
	rh_str_append(&text, "!has(self.spec) || ");
	for (size_t i = 1; i < path.count; i++) {
		rh_str_appendf(&map, "%s%s", i > 1 ? "." : "", path.steps[i].name);
		rh_str_appendf(&old, ".?%s", path.steps[i].name);
		if (path.count > 2 || rh_kind_spec_required(kind))
			rh_str_appendf(&text, "!has(self.spec.%s) || ", rh_str_text(&map));
	}
	rh_str_appendf(
		&text,
		"self.spec.%s.all(t, size(self.metadata.name) + size(t) + "
		"size(string(self.spec.%s[t].?replicas.orValue(1) > 1 ? self.spec.%s[t].replicas - 1 : 0)) <= %zu || "
		"oldSelf.hasValue() && oldSelf.?spec%s[?t].?replicas == self.spec.%s[t].?replicas)",
		rh_str_text(&map), rh_str_text(&map), rh_str_text(&map), RH_LABEL_MAX - rh_patterns_fixed(kind),
		rh_str_text(&old), rh_str_text(&map));
	rule.rule = rh_str_text(&text);
	return message.failed || text.failed || map.failed || old.failed ? RH_ENOMEM : rules_add(job, &rule);
}

/* Who runs the job cannot change. */
static int rules_add_manager(const struct rh_kind *kind, const struct rh_crd_schema *schema)
{
	rh_auto_str text = {0};
	rh_auto_str at = {0};
	struct crd_rule rule = {.message = "field is immutable"};
	struct rh_kind_path path;
	const char *name;
	struct rh_json *holder = schema->spec;

	rh_kind_policy_path(kind, &path);
	if (!rh_kind_has_policy(kind, "managedBy"))
		return 0;
	name = rh_kind_path_name(&path);
	if (path.count == 1) {
		rh_str_append(&text, "has(self.managedBy) == has(oldSelf.managedBy) && "
		                     "(!has(self.managedBy) || self.managedBy == oldSelf.managedBy)");
		rh_str_append(&at, ".managedBy");
	} else {
		holder = rh_kind_path_ensure_schema(&path, schema->job);
		rh_str_appendf(&text,
		               "(has(self.%s) && has(self.%s.managedBy)) == (has(oldSelf.%s) && has(oldSelf.%s.managedBy)) && "
		               "(!has(self.%s) || !has(self.%s.managedBy) || self.%s.managedBy == oldSelf.%s.managedBy)",
		               name, name, name, name, name, name, name, name);
		rh_str_appendf(&at, ".%s.managedBy", name);
	}
	rule.rule = rh_str_text(&text);
	rule.path = rh_str_text(&at);
	return text.failed || at.failed || !holder ? RH_ENOMEM : rules_add(holder, &rule);
}

/* V1's webhook refused a missing map; its CRDs accepted a job without a spec. */
static int rules_add_spec(const struct rh_kind *kind, const struct rh_crd_schema *schema)
{
	rh_auto_str path = {0};
	struct rh_kind_path map;
	struct crd_rule there = {
		.rule = "oldSelf.hasValue() || has(self.spec)",
		.message = "must be required",
		.reason = "FieldValueRequired",
		.with_old = true,
	};
	int r;

	rh_kind_replicas_path(kind, &map);
	rh_str_appendf(&path, ".%s", map.count > 0 ? map.text : "spec");
	there.path = rh_str_text(&path);
	r = path.failed ? RH_ENOMEM : rules_add(schema->job, &there);
	return r == 0 ? rules_add_manager(kind, schema) : r;
}

static void rules_list_types(const struct rh_kind *kind, const char *quote, bool lower, struct rh_str *out)
{
	char buffer[RH_NAME_SIZE];

	for (const struct rh_replica_type *const *type = kind->types; *type; type++) {
		const char *name = lower ? rh_name_lower((*type)->name, buffer) : (*type)->name;

		if (rh_kind_own_path(*type))
			continue;
		rh_str_appendf(out, "%s%s%s%s", out->length ? ", " : "", quote, name, quote);
	}
}

/* Types that the kind does not know, where it lets none in. */
static int rules_add_known(const struct rh_kind *kind, struct rh_json *map)
{
	rh_auto_str names = {0};
	rh_auto_str lower = {0};
	rh_auto_str text = {0};
	rh_auto_str message = {0};
	struct crd_rule rule = {0};

	rules_list_types(kind, "\"", false, &names);
	rules_list_types(kind, "'", true, &lower);
	rh_str_appendf(&text, "self.all(t, t.lowerAscii() in [%s])", rh_str_text(&lower));
	rh_str_appendf(&message, "unsupported replica type: supported values: %s", rh_str_text(&names));
	rule.rule = rh_str_text(&text);
	rule.message = rh_str_text(&message);
	return names.failed || lower.failed || text.failed || message.failed ? RH_ENOMEM : rules_add(map, &rule);
}

/* Pods are named after types. */
static int rules_add_open(struct rh_json *map)
{
	static const struct crd_rule rule = {
		.rule = "self.all(t, size(t) <= 63 && t.matches('^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$'))",
		.message =
			"a replica type must consist of at most 63 letters, digits or '-', and start and end with a letter or "
			"digit, because pods are named after it",
	};

	return rules_add(map, &rule);
}

/* The rule of one type in another case than the canonical one, where case counts. */
static int rules_add_case(const struct crd_type *one, struct rh_json *map)
{
	rh_auto_str text = {0};
	rh_auto_str message = {0};
	struct crd_rule rule = {0};

	rh_str_appendf(&text, "self.all(t, t == '%s' || t.lowerAscii() != '%s')", one->type->name, one->lower);
	rh_str_appendf(&message, "unsupported replica type: upper and lower case count: it is \"%s\"", one->type->name);
	rule.rule = rh_str_text(&text);
	rule.message = rh_str_text(&message);
	return text.failed || message.failed ? RH_ENOMEM : rules_add(map, &rule);
}

/* The path of a type, or of a field of it, below spec. */
static void rules_name_type(const struct crd_type *one, const char *field, struct rh_str *out)
{
	rh_str_appendf(out, strchr(one->type->name, '-') ? ".%s['%s']%s" : ".%s.%s%s", one->map, one->type->name, field);
}

/* A stored job that lacks the type may go on without it. */
static int rules_add_required(const struct crd_type *one, struct rh_json *spec)
{
	const char *map = one->map;
	rh_auto_str text = {0};
	rh_auto_str path = {0};
	struct crd_rule rule = {.message = "must be present", .reason = "FieldValueRequired", .with_old = true};

	if (one->kind->flags & RH_KIND_ANY_CASE)
		rh_str_appendf(&text,
		               "self.%s.exists(t, t.lowerAscii() == '%s') || oldSelf.hasValue() && "
		               "!(has(oldSelf.value().%s) && oldSelf.value().%s.exists(t, t.lowerAscii() == '%s'))",
		               map, one->lower, map, map, one->lower);
	else
		rh_str_appendf(&text, "'%s' in self.%s || oldSelf.hasValue() && !oldSelf.?%s[?'%s'].hasValue()",
		               one->type->name, map, map, one->type->name);
	rules_name_type(one, "", &path);
	rule.rule = rh_str_text(&text);
	rule.path = rh_str_text(&path);
	return text.failed || path.failed ? RH_ENOMEM : rules_add(spec, &rule);
}

/* Append that the type with key @p t ("'Master'") has a number of replicas that fits @p compares, or the number that it
 * had before. */
static void rules_compare(const struct crd_type *one, const char *t, const char *compares, struct rh_str *out)
{
	const char *map = one->map;
	int32_t absent = one->type->flags & RH_REPLICA_EXPLICIT ? -1 : one->type->default_replicas;

	rh_str_appendf(out,
	               "self.%s[%s].?replicas.orValue(%" PRId32 ") %s || oldSelf.?%s[?%s].hasValue() && "
	               "oldSelf.?%s[?%s].?replicas == self.%s[%s].?replicas",
	               map, t, absent, compares, map, t, map, t, map, t);
}

/* Add that the number of replicas @p compares ("== 1"). */
static int rules_add_bound(const struct crd_type *one, const char *compares, const char *message, struct rh_json *spec)
{
	const char *map = one->map;
	char quoted[RH_NAME_SIZE + 2];
	rh_auto_str text = {0};
	rh_auto_str path = {0};
	struct crd_rule rule = {.message = message, .reason = "FieldValueForbidden", .with_old = true};

	if (one->kind->flags & RH_KIND_ANY_CASE) {
		rh_str_appendf(&text, "self.%s.all(t, t.lowerAscii() != '%s' || ", map, one->lower);
		rules_compare(one, "t", compares, &text);
		rh_str_append(&text, ")");
	} else {
		(void)snprintf(quoted, sizeof(quoted), "'%s'", one->type->name);
		rh_str_appendf(&text, "!(%s in self.%s) || ", quoted, map);
		rules_compare(one, quoted, compares, &text);
	}
	rules_name_type(one, ".replicas", &path);
	rule.rule = rh_str_text(&text);
	rule.path = rh_str_text(&path);
	return text.failed || path.failed ? RH_ENOMEM : rules_add(spec, &rule);
}

static int rules_add_bounds(const struct crd_type *one, struct rh_json *spec)
{
	static const struct {
		const char *compares, *message;
	} words[] = {{"==", "must be"}, {">=", "must be at least"}, {"<=", "must be at most"}};
	const struct rh_replica_type *type = one->type;
	bool exact = type->min_replicas == type->max_replicas && type->max_replicas > 0;
	const bool present[] = {exact, !exact && type->min_replicas > 0, !exact && type->max_replicas > 0};
	const int32_t numbers[] = {type->max_replicas, type->min_replicas, type->max_replicas};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(words) / sizeof(words[0]); i++) {
		rh_auto_str compares = {0};
		rh_auto_str message = {0};

		if (!present[i])
			continue;
		rh_str_appendf(&compares, "%s %" PRId32, words[i].compares, numbers[i]);
		rh_str_appendf(&message, "%s %" PRId32, words[i].message, numbers[i]);
		r = compares.failed || message.failed
		        ? RH_ENOMEM
		        : rules_add_bound(one, rh_str_text(&compares), rh_str_text(&message), spec);
	}
	return r;
}

static int rules_add_type(const struct crd_type *one, const struct rh_crd_schema *schema)
{
	int r = 0;

	if (one->type->flags & RH_REPLICA_REQUIRED)
		r = rules_add_required(one, schema->holder);
	if (r == 0 && !(one->kind->flags & RH_KIND_ANY_CASE))
		r = rules_add_case(one, schema->replicas);
	return r == 0 ? rules_add_bounds(one, schema->holder) : r;
}

/* Rules of the map. */
static int rules_add_types(const struct rh_kind *kind, const struct rh_crd_schema *schema)
{
	static const struct crd_rule some = {
		.rule = "size(self) > 0",
		.message = "must have at least one replica type",
		.reason = "FieldValueRequired",
	};
	bool needless = false;
	struct rh_kind_path path;
	int r;

	if (!schema->replicas)
		return 0;
	rh_kind_replicas_path(kind, &path);
	r = kind->flags & RH_KIND_OPEN_TYPES ? rules_add_open(schema->replicas) : rules_add_known(kind, schema->replicas);
	for (const struct rh_replica_type *const *type = kind->types; r == 0 && *type; type++) {
		struct crd_type one = {.kind = kind, .type = *type, .map = rh_kind_path_name(&path)};

		needless = needless || ((*type)->flags & RH_REPLICA_REQUIRED) || rh_kind_own_path(*type);
		if (rh_kind_own_path(*type))
			continue;
		(void)rh_name_lower((*type)->name, one.lower);
		r = rules_add_type(&one, schema);
	}
	return r == 0 && !needless ? rules_add(schema->replicas, &some) : r;
}

/* A type that is not in the map: the rule stands at the type itself, which the definition requires where it must be. */
static int rules_add_own_bounds(const struct rh_replica_type *type, struct rh_json *replica)
{
	rh_auto_str text = {0};
	rh_auto_str message = {0};
	struct crd_rule rule = {.reason = "FieldValueForbidden", .path = ".replicas", .with_old = true};
	int32_t absent = type->flags & RH_REPLICA_EXPLICIT ? -1 : type->default_replicas;
	int32_t most = type->max_replicas > 0 ? type->max_replicas : INT32_MAX;

	if (type->min_replicas == 0 && type->max_replicas == 0)
		return 0;
	rh_str_appendf(&text,
	               "self.?replicas.orValue(%" PRId32 ") >= %" PRId32 " && self.?replicas.orValue(%" PRId32
	               ") <= %" PRId32 " || oldSelf.hasValue() && oldSelf.?replicas == self.?replicas",
	               absent, type->min_replicas, absent, most);
	if (type->min_replicas == type->max_replicas)
		rh_str_appendf(&message, "must be %" PRId32, type->max_replicas);
	else if (type->max_replicas > 0)
		rh_str_appendf(&message, "must be %" PRId32 " to %" PRId32, type->min_replicas, most);
	else
		rh_str_appendf(&message, "must be at least %" PRId32, type->min_replicas);
	rule.rule = rh_str_text(&text);
	rule.message = rh_str_text(&message);
	return text.failed || message.failed ? RH_ENOMEM : rules_add(replica, &rule);
}

static int rules_add_container_name(const struct rh_kind *kind, struct rh_json *replica)
{
	rh_auto_str text = {0};
	rh_auto_str message = {0};
	struct crd_rule rule = {.reason = "FieldValueRequired", .path = ".template.spec.containers"};

	if (!kind->container)
		return 0;
	rh_str_appendf(&text, RULES_HAS_CONTAINERS " && self.template.spec.containers.exists(c, c.name == '%s')",
	               kind->container);
	rh_str_appendf(&message, "must have at least one container with name %s", kind->container);
	rule.rule = rh_str_text(&text);
	rule.message = rh_str_text(&message);
	return text.failed || message.failed ? RH_ENOMEM : rules_add(replica, &rule);
}

static int rules_add_replica(const struct rh_kind *kind, struct rh_json *replica)
{
	static const struct crd_rule some = {
		.rule = RULES_HAS_CONTAINERS " && size(self.template.spec.containers) > 0",
		.message = "must be specified",
		.reason = "FieldValueRequired",
		.path = ".template.spec.containers",
	};
	static const struct crd_rule image = {
		.rule = "has(self.image) && self.image != ''",
		.message = "must be required",
		.reason = "FieldValueRequired",
		.path = ".image",
	};
	struct rh_json *containers = rh_json_at(replica, "properties.template.properties.spec.properties.containers");
	struct rh_json *name = rh_json_at(containers, "items.properties.name");
	int r = rules_add(replica, &some);

	if (r == 0)
		r = rules_add_container_name(kind, replica);
	/* lengths that no pod reaches, for the cost estimate */
	if (r == 0)
		r = rh_json_set_integer(containers, "maxItems", RH_CRD_CONTAINERS_MAX);
	if (r == 0 && name)
		r = rh_json_set_integer(name, "maxLength", RH_LABEL_MAX);
	return r == 0 ? rules_add(rh_json_get(containers, "items"), &image) : r;
}

static int rules_add_replicas(const struct rh_kind *kind, const struct rh_crd_schema *schema)
{
	int r = schema->replicas ? rules_add_replica(kind, rh_json_get(schema->replicas, "additionalProperties")) : 0;

	for (const struct rh_replica_type *const *type = kind->types; r == 0 && *type; type++) {
		struct rh_kind_path path;
		struct rh_json *replica;

		if (!rh_kind_own_path(*type))
			continue;
		rh_kind_type_path(kind, *type, "", &path);
		replica = rh_kind_path_schema(&path, schema->job);
		r = rules_add_own_bounds(*type, replica);
		if (r == 0)
			r = rules_add_replica(kind, replica);
	}
	return r;
}

/* One rule of rh_kind.cel_rules; takes "at" out of it. */
static int rules_add_own(const struct rh_kind *kind, const struct rh_crd_schema *schema, struct rh_json *row,
                         struct rh_error *err)
{
	const char *at = rh_json_string(rh_json_get(row, "at"));
	struct rh_json *rules = NULL;
	bool spec = rh_text_equal(at, "spec");

	if (!spec && !rh_text_equal(at, "replicas"))
		return rh_fail(err, RH_EPLUGIN, "kind %s: cel_rules: \"at\" is \"%s\", and must be \"spec\" or \"replicas\"",
		               kind->kind, at ? at : rh_json_type_name(rh_json_get(row, "at")));
	rules = rh_json_ensure_array(spec ? schema->spec : schema->replicas, "x-kubernetes-validations");
	if (!rules || rh_json_append(rules, rh_json_copy(row)) < 0)
		return rh_fail_oom(err);
	rh_json_remove(rh_json_item(rules, rh_json_size(rules) - 1), "at");
	return 0;
}

static int rules_add_owns(const struct rh_kind *kind, const struct rh_crd_schema *schema, struct rh_error *err)
{
	rh_auto(json) rows = NULL;
	int r = kind->cel_rules ? rh_json_parse(kind->cel_rules, strlen(kind->cel_rules), &rows, err) : 0;

	if (r < 0)
		return r == RH_ENOMEM ? r : rh_wrap(err, RH_EPLUGIN, "kind %s: cel_rules", kind->kind);
	for (struct rh_json *row = rh_json_first(rows); row && r == 0; row = rh_json_next(row))
		r = rules_add_own(kind, schema, row, err);
	return r;
}

int rh_crd_add_rules(const struct rh_kind *kind, const struct rh_crd_schema *schema, struct rh_error *err)
{
	int r = rules_add_name(kind, schema->job);

	if (r == 0)
		r = rules_add_children(kind, schema->job);
	if (r == 0)
		r = rules_add_spec(kind, schema);
	if (r == 0)
		r = rules_add_types(kind, schema);
	if (r == 0)
		r = rules_add_replicas(kind, schema);
	return r < 0 ? rh_fail_oom(err) : rules_add_owns(kind, schema, err);
}
