/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin of ABI 1 must look like, whatever its minor version. A later major gets a file of its own beside this
 * one, which turns its structs into what the host works with.
 */
#include <stddef.h>
#include <stdint.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "host/plugin/kind_json.h"
#include "host/plugin/settings.h"
#include "host/registry.h"
#include "job/kind.h"
#include "job/values/names.h"

/** Bytes of the head, the same for ever: it is read before anything is known of a plugin. */
#define ABI_HEAD_SIZE 24

_Static_assert(sizeof(struct rh_head) == ABI_HEAD_SIZE, "the head never changes");

/**
 * @name Bytes of the structs of 1.0, the least that a plugin gives. A field that came later is read through RH_HAS()
 * alone. @{
 */
#define ABI_PLUGIN_SIZE (offsetof(struct rh_plugin, judge) + sizeof(((struct rh_plugin *)NULL)->judge))
#define ABI_KIND_SIZE (offsetof(struct rh_kind, contract) + sizeof(((struct rh_kind *)NULL)->contract))
#define ABI_TYPE_SIZE (offsetof(struct rh_replica_type, flags) + sizeof(((struct rh_replica_type *)NULL)->flags))
/** @} */

/** What restart_policy must be, for messages. */
#define ABI_POLICIES "Always, OnFailure, Never or ExitCode"

/** A required text of a struct. */
struct abi_text {
	const char *field;
	const char *value;
	bool (*fits)(const char *value);
	const char *rule;
};

/** Write the vendor for a message: it comes from a foreign file and may hold anything. */
static void abi_vendor(const struct rh_head *head, char out[sizeof(head->vendor) + 1])
{
	size_t i;

	for (i = 0; i < sizeof(head->vendor) && head->vendor[i]; i++)
		out[i] = isprint((unsigned char)head->vendor[i]) ? head->vendor[i] : '?';
	out[i] = '\0';
}

static int abi_check_head(const struct rh_head *head, const char *what, size_t size, struct rh_error *err)
{
	const char vendor[sizeof(head->vendor)] = RH_ABI_VENDOR;
	char theirs[sizeof(head->vendor) + 1];

	if (head->size < sizeof(*head))
		return rh_fail(err, RH_EPLUGIN, "its %s has %u bytes, this host wants at least %zu", what, (unsigned)head->size,
		               size);
	if (memcmp(head->vendor, vendor, sizeof(vendor)) != 0) {
		abi_vendor(head, theirs);
		return rh_fail(err, RH_EPLUGIN, "its %s is of the ABI of \"%s\", this host has that of \"%s\"", what, theirs,
		               RH_ABI_VENDOR);
	}
	if (head->major != RH_ABI_MAJOR)
		return rh_fail(err, RH_EPLUGIN, "its %s is of plugin ABI %u.%u, this host has %d.%d; rebuild one of them", what,
		               (unsigned)head->major, (unsigned)head->minor, RH_ABI_MAJOR, RH_ABI_MINOR);
	if (head->size < size)
		return rh_fail(err, RH_EPLUGIN, "its %s has %u bytes, this host wants at least %zu", what, (unsigned)head->size,
		               size);
	return 0;
}

static bool abi_is_name(const char *value)
{
	size_t length = strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return length > 0 && length <= RH_LABEL_MAX && !value[length];
}

static bool abi_is_word(const char *value)
{
	size_t length = 0;

	while (isalnum((unsigned char)value[length]))
		length++;
	return length > 0 && length <= RH_LABEL_MAX && !value[length] && isalpha((unsigned char)value[0]);
}

static bool abi_is_text(const char *value)
{
	return *value != '\0';
}

static bool abi_is_policy(const char *value)
{
	static const char *const policies[] = {"Always", "OnFailure", "Never", "ExitCode"};

	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		if (strcmp(value, policies[i]) == 0)
			return true;
	}
	return false;
}

static int abi_check_texts(const char *what, const struct abi_text *texts, size_t count, struct rh_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct abi_text *text = &texts[i];

		if (!text->value)
			return rh_fail(err, RH_EPLUGIN, "%s: %s is NULL", what, text->field);
		if (!text->fits(text->value))
			return rh_fail(err, RH_EPLUGIN, "%s: %s is \"%.64s\", it must be %s", what, text->field, text->value,
			               text->rule);
	}
	return 0;
}

int rh_abi_check_plugin(const struct rh_plugin *plugin, struct rh_error *err)
{
	int r = abi_check_head(&plugin->head, "struct rh_plugin", ABI_PLUGIN_SIZE, err);

	if (r < 0)
		return r;
	const struct abi_text texts[] = {
		{"name", plugin->name, abi_is_name, "lower-case letters, digits and \"-\", at most 63"},
		{"release", plugin->release, abi_is_text, "a version"},
	};

	r = abi_check_texts("struct rh_plugin", texts, sizeof(texts) / sizeof(texts[0]), err);
	if (r < 0)
		return r;
	if (!plugin->describe)
		return rh_fail(err, RH_EPLUGIN, "it has no describe(), so it has no kind");
	return RH_HAS(plugin, struct rh_plugin, settings) ? rh_plugin_settings_check_schema(plugin->settings, err) : 0;
}

static int abi_check_range(const struct rh_replica_type *type, struct rh_error *err)
{
	if (type->default_replicas < 0 || type->min_replicas < 0 || type->max_replicas < 0)
		return rh_fail(err, RH_EPLUGIN, "replica type %s: default_replicas, min_replicas or max_replicas is negative",
		               type->name);
	if (type->max_replicas != 0 && type->max_replicas < type->min_replicas)
		return rh_fail(err, RH_EPLUGIN, "replica type %s: max_replicas is less than min_replicas", type->name);
	if ((type->flags & RH_REPLICA_UNINDEXED) && type->max_replicas != 1)
		return rh_fail(err, RH_EPLUGIN, "replica type %s: max_replicas is %" PRId32 ", without an index it must be 1",
		               type->name, type->max_replicas);
	return 0;
}

static int abi_check_type(const struct rh_kind *kind, size_t index, struct rh_error *err)
{
	const struct rh_replica_type *type = kind->types[index];
	int r = abi_check_head(&type->head, "struct rh_replica_type", ABI_TYPE_SIZE, err);
	const struct abi_text text = {"name", r == 0 ? type->name : NULL, abi_is_word,
	                              "letters and digits, a letter first"};

	if (r < 0)
		return r;
	r = abi_check_texts("struct rh_replica_type", &text, 1, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < index; i++) {
		if (strcasecmp(kind->types[i]->name, type->name) == 0)
			return rh_fail(err, RH_EPLUGIN, "kind %s: replica type %s is there twice", kind->kind, type->name);
	}
	if (RH_HAS(type, struct rh_replica_type, restart_policy) && !abi_is_policy(type->restart_policy))
		return rh_fail(err, RH_EPLUGIN,
		               "kind %s: replica type %s: restart_policy is \"%.64s\", it must be " ABI_POLICIES, kind->kind,
		               type->name, type->restart_policy);
	return abi_check_range(type, err);
}

/** @return whether @p name is NULL or one of the kind's replica types */
static bool abi_has_type(const struct rh_kind *kind, const char *name)
{
	for (size_t i = 0; name && kind->types[i]; i++) {
		if (strcmp(kind->types[i]->name, name) == 0)
			return true;
	}
	return !name;
}

static int abi_check_types(const struct rh_kind *kind, struct rh_error *err)
{
	size_t count = 0;

	while (kind->types && kind->types[count]) {
		int r = count < RH_TYPES_MAX
		            ? abi_check_type(kind, count, err)
		            : rh_fail(err, RH_EPLUGIN, "kind %s: more than %d replica types", kind->kind, RH_TYPES_MAX);

		if (r < 0)
			return r;
		count++;
	}
	if (count == 0 && !(kind->types && rh_kind_expands(kind)))
		return rh_fail(err, RH_EPLUGIN, "kind %s: no replica type", kind->kind);
	if (!abi_has_type(kind, kind->leader_fallback))
		return rh_fail(err, RH_EPLUGIN, "kind %s: leader_fallback \"%.64s\" is not a replica type", kind->kind,
		               kind->leader_fallback);
	if (!abi_has_type(kind, kind->scale_type))
		return rh_fail(err, RH_EPLUGIN, "kind %s: scale_type \"%.64s\" is not a replica type", kind->kind,
		               kind->scale_type);
	return 0;
}

static int abi_check_container(const struct rh_kind *kind, struct rh_error *err)
{
	if (kind->container && !abi_is_name(kind->container))
		return rh_fail(err, RH_EPLUGIN, "kind %s: container \"%.64s\" is not the name of a container", kind->kind,
		               kind->container);
	return 0;
}

static int abi_check_port(const struct rh_kind *kind, struct rh_error *err)
{
	if (!kind->port_name)
		return 0;
	if (!abi_is_name(kind->port_name))
		return rh_fail(err, RH_EPLUGIN, "kind %s: port_name \"%.64s\" is not the name of a port", kind->kind,
		               kind->port_name);
	if (kind->port < 1 || kind->port > UINT16_MAX)
		return rh_fail(err, RH_EPLUGIN, "kind %s: port %d is not in 1 to 65535", kind->kind, (int)kind->port);
	return 0;
}

static int abi_check_kind_texts(const struct rh_kind *kind, struct rh_error *err)
{
	const struct abi_text texts[] = {
		{"kind", kind->kind, abi_is_word, "letters and digits, a letter first"},
		{"group", kind->group, rh_name_is_dns1123, "a domain name"},
		{"version", kind->version, abi_is_name, "a version as v1"},
		{"plural", kind->plural, abi_is_name, "lower case"},
		{"singular", kind->singular, abi_is_name, "lower case"},
		{"framework", kind->framework, abi_is_text, "a word"},
		{"controller", kind->controller, abi_is_name, "a label value in lower case"},
		{"restart_policy", kind->restart_policy, abi_is_policy, ABI_POLICIES},
	};

	return abi_check_texts("struct rh_kind", texts, sizeof(texts) / sizeof(texts[0]), err);
}

static int abi_check_path(const struct rh_kind *kind, const char *field, const char *path, bool itself,
                          struct rh_error *err)
{
	if (rh_kind_path_is_valid(path, itself))
		return 0;
	return rh_fail(err, RH_EPLUGIN,
	               "kind %s: %s is \"%.64s\", it must be a path of at most %d members: spec.cluster.size", kind->kind,
	               field, path, RH_KIND_STEPS_MAX);
}

/* The replica types of a job come from one place alone. */
static int abi_check_no_map(const struct rh_kind *kind, struct rh_error *err)
{
	if (kind->replicas_field || RH_HAS(kind, struct rh_kind, replicas_path))
		return rh_fail(err, RH_EPLUGIN, "kind %s: %s is set, and expand() gives the replica types (RH_KIND_EXPANDED)",
		               kind->kind, kind->replicas_field ? "replicas_field" : "replicas_path");
	if (kind->scale_type)
		return rh_fail(err, RH_EPLUGIN, "kind %s: scale_type is set, and expand() gives the replica types", kind->kind);
	for (size_t i = 0; kind->types[i]; i++) {
		if (rh_kind_own_path(kind->types[i]))
			return rh_fail(err, RH_EPLUGIN, "kind %s: replica type %s has a path, and expand() gives the replica types",
			               kind->kind, kind->types[i]->name);
	}
	return 0;
}

/* Whether there is a place for each type. */
static int abi_check_map(const struct rh_kind *kind, struct rh_error *err)
{
	const struct abi_text field = {"replicas_field", kind->replicas_field, abi_is_word,
	                               "letters and digits, a letter first"};
	bool needed = false;

	if (rh_kind_expands(kind))
		return abi_check_no_map(kind, err);
	for (size_t i = 0; kind->types[i]; i++)
		needed = needed || !rh_kind_own_path(kind->types[i]);
	if (RH_HAS(kind, struct rh_kind, replicas_path))
		return abi_check_path(kind, "replicas_path", kind->replicas_path, false, err);
	return needed || kind->replicas_field ? abi_check_texts("struct rh_kind", &field, 1, err) : 0;
}

static int abi_check_paths(const struct rh_kind *kind, struct rh_error *err)
{
	int r = abi_check_map(kind, err);

	if (r == 0 && RH_HAS(kind, struct rh_kind, run_policy_path) && *kind->run_policy_path)
		r = abi_check_path(kind, "run_policy_path", kind->run_policy_path, true, err);
	for (size_t i = 0; kind->types[i] && r == 0; i++) {
		if (rh_kind_own_path(kind->types[i]))
			r = abi_check_path(kind, "path of a replica type", rh_kind_own_path(kind->types[i]), false, err);
	}
	return r;
}

int rh_abi_check_kind_form(const struct rh_kind *kind, struct rh_error *err)
{
	int r = abi_check_head(&kind->head, "struct rh_kind", ABI_KIND_SIZE, err);

	if (r == 0)
		r = abi_check_kind_texts(kind, err);
	if (r == 0)
		r = abi_check_types(kind, err);
	if (r == 0)
		r = abi_check_paths(kind, err);
	if (r == 0)
		r = abi_check_container(kind, err);
	if (r == 0)
		r = abi_check_port(kind, err);
	return r;
}

int rh_abi_check_kind(const struct rh_kind *kind, struct rh_error *err)
{
	int r = rh_abi_check_kind_form(kind, err);

	return r == 0 ? rh_kind_json_check(kind, err) : r;
}
