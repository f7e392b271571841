/* SPDX-License-Identifier: Apache-2.0 */
#include "job/values/patterns.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* Longest pattern. */
#define PATTERNS_MAX 128

/* How each pattern of names of pods begins. */
#define PATTERNS_JOB "{job}-"
/* The pattern of V1's names. */
#define PATTERNS_V1 PATTERNS_JOB "{type}-{index}"

/* What a name in braces stands for. */
struct patterns_value {
	const char *name;
	const char *text;
};

bool rh_patterns_has_pod(const struct rh_kind *kind)
{
	return RH_HAS(kind, struct rh_kind, pod_name);
}

bool rh_patterns_has_host(const struct rh_kind *kind)
{
	return RH_HAS(kind, struct rh_kind, host_name);
}

static const char *patterns_pod_text(const struct rh_kind *kind)
{
	return rh_patterns_has_pod(kind) ? kind->pod_name : PATTERNS_V1;
}

/* @return the value that @p at begins with the name of; NULL: none of them */
static const struct patterns_value *patterns_find(const struct patterns_value *values, const char *at)
{
	while (values->name && strncmp(values->name, at, strlen(values->name)) != 0)
		values++;
	return values->name ? values : NULL;
}

/* What the loader has checked: each brace begins a name of @p values. An empty index goes with the "-" before it. */
static void patterns_print(const char *pattern, const struct patterns_value *values, struct rh_str *out)
{
	for (const char *at = pattern; *at;) {
		const struct patterns_value *value = patterns_find(values, *at == '-' && at[1] == '{' ? at + 1 : at);

		if (value && *at == '-' && strcmp(value->name, "{index}") != 0)
			value = NULL;
		if (!value) {
			rh_str_append_bytes(out, at++, 1);
			continue;
		}
		if (*at == '-' && *value->text)
			rh_str_append(out, "-");
		at += *at == '-';
		rh_str_append(out, value->text);
		at += strlen(value->name);
	}
}

/* Five characters as of metadata.generateName; the same for each pod of the replica. */
static void patterns_suffix(const struct rh_pattern_replica *replica, char buffer[RH_NAME_SIZE])
{
	char type[RH_NAME_SIZE];
	rh_auto_str text = {0};

	rh_str_appendf(&text, "%s/%s/%" PRId32, replica->uid, rh_name_lower(replica->type, type), replica->index);
	(void)rh_name_generate("", (uint32_t)(rh_hash(rh_str_text(&text), text.length) % RH_NAME_SUFFIXES), buffer);
}

static const char *patterns_type(const char *type, char buffer[RH_NAME_SIZE])
{
	(void)rh_name_lower(type, buffer);
	for (char *c = buffer; *c; c++)
		*c = *c == '/' ? '-' : *c;
	return buffer;
}

static const char *patterns_fill(const char *pattern, const struct rh_pattern_replica *replica,
                                 char buffer[RH_NAME_SIZE])
{
	char type[RH_NAME_SIZE], suffix[RH_NAME_SIZE], index[16] = "";
	rh_auto_str text = {0};

	patterns_suffix(replica, suffix);
	if (replica->index >= 0)
		(void)snprintf(index, sizeof(index), "%" PRId32, replica->index);
	const struct patterns_value values[] = {{"{job}", replica->job},
	                                        {"{type}", patterns_type(replica->type, type)},
	                                        {"{index}", index},
	                                        {"{suffix}", suffix},
	                                        {NULL, NULL}};

	patterns_print(pattern, values, &text);
	rh_copy(buffer, RH_NAME_SIZE, rh_str_text(&text));
	return buffer;
}

const char *rh_patterns_pod(const struct rh_kind *kind, const struct rh_pattern_replica *replica,
                            char buffer[RH_NAME_SIZE])
{
	if (!rh_patterns_has_pod(kind))
		return rh_name_replica(replica->job, replica->type, replica->index, buffer);
	return patterns_fill(kind->pod_name, replica, buffer);
}

const char *rh_patterns_replica(const struct rh_kind *kind, const struct rh_pattern_replica *replica,
                                char buffer[RH_NAME_SIZE])
{
	return patterns_fill(patterns_pod_text(kind) + strlen(PATTERNS_JOB), replica, buffer);
}

void rh_patterns_host(const struct rh_kind *kind, const struct rh_pattern_replica *replica, const char *domain,
                      struct rh_str *out)
{
	char pod[RH_NAME_SIZE], type[RH_NAME_SIZE], index[16] = "";
	rh_auto_str dotted = {0};

	(void)rh_patterns_pod(kind, replica, pod);
	if (!rh_patterns_has_host(kind)) {
		rh_str_append(out, pod);
		return;
	}
	if (domain && *domain)
		rh_str_appendf(&dotted, ".%s", domain);
	if (replica->index >= 0)
		(void)snprintf(index, sizeof(index), "%" PRId32, replica->index);
	const struct patterns_value values[] = {{"{pod}", pod},
	                                        {"{job}", replica->job},
	                                        {"{namespace}", replica->namespace_},
	                                        {"{type}", patterns_type(replica->type, type)},
	                                        {"{index}", index},
	                                        {"{domain}", rh_str_text(&dotted)},
	                                        {NULL, NULL}};

	patterns_print(kind->host_name, values, out);
	out->failed = out->failed || dotted.failed;
}

size_t rh_patterns_fixed(const struct rh_kind *kind)
{
	static const struct patterns_value values[] = {
		{"{job}", ""}, {"{type}", ""}, {"{index}", "i"}, {"{suffix}", "sssss"}, {NULL, NULL}};
	rh_auto_str text = {0};

	patterns_print(patterns_pod_text(kind), values, &text);
	return text.length - 1;
}

const char *rh_patterns_describe(const struct rh_kind *kind, char buffer[RH_NAME_SIZE])
{
	static const struct patterns_value values[] = {
		{"{job}", "NAME"}, {"{type}", "TYPE"}, {"{index}", "INDEX"}, {"{suffix}", "SUFFIX"}, {NULL, NULL}};
	rh_auto_str text = {0};

	patterns_print(patterns_pod_text(kind), values, &text);
	rh_copy(buffer, RH_NAME_SIZE, rh_str_text(&text));
	return buffer;
}

/* Names that a pattern may have, and the characters beside them. */
struct patterns_rule {
	const struct patterns_value *names;
	const char *letters;
	bool once; /* each name */
};

/* @return whether each brace begins a name, each name stands alone, and all else is of the letters */
static bool patterns_is_formed(const char *pattern, const struct patterns_rule *rule)
{
	if (strlen(pattern) > PATTERNS_MAX)
		return false;
	for (const char *at = pattern; *at;) {
		const struct patterns_value *name = patterns_find(rule->names, at);
		size_t length = name ? strlen(name->name) : 1;

		if (!name && !strchr(rule->letters, *at))
			return false;
		if (name && strcmp(name->name, "{domain}") != 0 &&
		    ((at > pattern && !strchr("-.", at[-1])) || (rule->once && strstr(at + length, name->name)) ||
		     isalnum((unsigned char)at[length])))
			return false;
		at += length;
	}
	return true;
}

static int patterns_check_pod(const char *pattern, struct rh_error *err)
{
	static const struct patterns_value names[] = {
		{"{job}", ""}, {"{type}", ""}, {"{index}", ""}, {"{suffix}", ""}, {NULL, NULL}};
	static const struct patterns_rule rule = {names, "abcdefghijklmnopqrstuvwxyz0123456789-", true};
	size_t length = strlen(pattern);

	if (patterns_is_formed(pattern, &rule) && strncmp(pattern, PATTERNS_JOB, strlen(PATTERNS_JOB)) == 0 &&
	    strstr(pattern, "{type}") && strstr(pattern, "-{index}") && pattern[length - 1] != '-' &&
	    !strstr(pattern, "--"))
		return 0;
	return rh_fail(
		err, RH_EPLUGIN,
		"pod_name is \"%.64s\"; it begins with {job}- and has {type} and {index}, each after \"-\", and else "
		"{suffix}, lower-case letters, digits and \"-\"",
		pattern);
}

static int patterns_check_host(const char *pattern, struct rh_error *err)
{
	static const struct patterns_value names[] = {{"{pod}", ""},  {"{job}", ""},   {"{namespace}", ""},
	                                              {"{type}", ""}, {"{index}", ""}, {"{domain}", ""},
	                                              {NULL, NULL}};
	static const struct patterns_rule rule = {names, "abcdefghijklmnopqrstuvwxyz0123456789-.", false};
	const char *domain = strstr(pattern, "{domain}");
	bool one = strstr(pattern, "{pod}") || (strstr(pattern, "{type}") && strstr(pattern, "-{index}"));

	if (patterns_is_formed(pattern, &rule) && one && (!domain || strcmp(domain, "{domain}") == 0))
		return 0;
	return rh_fail(
		err, RH_EPLUGIN,
		"host_name is \"%.64s\"; it has {pod}, or {type} and {index}, and else {job}, {namespace}, lower-case "
		"letters, digits, \"-\", \".\", and {domain} at its end",
		pattern);
}

int rh_patterns_check(const struct rh_kind *kind, struct rh_error *err)
{
	int r = rh_patterns_has_pod(kind) ? patterns_check_pod(kind->pod_name, err) : 0;

	return r == 0 && rh_patterns_has_host(kind) ? patterns_check_host(kind->host_name, err) : r;
}

const char *rh_patterns_label(const struct rh_kind *kind, const char *label)
{
	static const char *const keys[][2] = {{RH_LABEL_OPERATOR, RH_LABEL_OWN_OPERATOR},
	                                      {RH_LABEL_TYPE, RH_LABEL_OWN_TYPE},
	                                      {RH_LABEL_INDEX, RH_LABEL_OWN_INDEX}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && kind->flags & RH_KIND_OWN_LABELS; i++) {
		if (strcmp(keys[i][0], label) == 0)
			return keys[i][1];
	}
	return label;
}

const char *rh_patterns_selector(const struct rh_kind *kind, const char *job, const char *type, char *buffer,
                                 size_t size)
{
	char lower[RH_NAME_SIZE];

	if (!(kind->flags & RH_KIND_OWN_LABELS))
		return rh_name_selector(job, kind->controller, type, buffer, size);
	(void)snprintf(buffer, size, RH_LABEL_OWN_OPERATOR "=%s," RH_LABEL_OWN_TYPE "=%s," RH_LABEL_JOB "=%s",
	               kind->controller, rh_name_lower(type, lower), job);
	return buffer;
}
