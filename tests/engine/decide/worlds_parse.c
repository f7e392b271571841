/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/decide/worlds.h"
#include "engine/decide/worlds_parse.h"
#include "job/values/names.h"

#define WORLDS_TEMPLATE "{\"spec\":{%s\"containers\":[{\"name\":\"pytorch\",\"image\":\"i\"}]}}"

/* A kind without Services, selectors and judge(), and with a type that may be scaled to nothing. */
static const struct rh_replica_type worlds_toy_type = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};
static const struct rh_replica_type worlds_chief = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Chief", .default_replicas = 1};
static const struct rh_replica_type *const worlds_toy_types[] = {&worlds_toy_type, &worlds_chief, NULL};
static const struct rh_kind worlds_toy = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "ToyJob",
	.plural = "toyjobs",
	.singular = "toyjob",
	.framework = "toy",
	.controller = "toyjob-controller",
	.replicas_field = "toyReplicaSpecs",
	.types = worlds_toy_types,
	.container = "pytorch",
	.restart_policy = "Never",
};

/* A kind whose launcher is run by an object of the plugin, which has the limits of the run policy, too. */
static const struct rh_replica_type worlds_launcher = {.head = RH_HEAD(struct rh_replica_type),
                                                       .name = "Launcher",
                                                       .default_replicas = 1,
                                                       .flags = RH_REPLICA_LEADER | RH_REPLICA_OUTSIDE};
static const struct rh_replica_type *const worlds_outer_types[] = {&worlds_launcher, &worlds_toy_type, NULL};
static const struct rh_kind worlds_outer = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "OuterJob",
	.plural = "outerjobs",
	.singular = "outerjob",
	.framework = "toy",
	.controller = "outerjob-controller",
	.replicas_field = "outerReplicaSpecs",
	.types = worlds_outer_types,
	.container = "pytorch",
	.restart_policy = "Never",
	.flags = RH_KIND_OWN_LIMITS,
};

static const struct rh_kind *worlds_describe(void *self, uint32_t index)
{
	static const struct rh_kind *const kinds[] = {&worlds_toy, &worlds_outer};

	(void)self;
	return index < 2 ? kinds[index] : NULL;
}

static int32_t worlds_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)reply;
	*ret_self = (void *)(uintptr_t)services;
	return services ? 0 : RH_EINVAL;
}

/* "Worker/1@token!" as an answer: of "all" or of a type, an index, a token, and "!" for one that is free. */
static int32_t worlds_restart(const struct rh_services *services, struct rh_reply *reply, const char *text)
{
	char type[64] = "", token[64] = "";
	int index = -1;
	size_t rest = strcspn(text, "/@!");

	assert_true(rest < sizeof(type));
	memcpy(type, text, rest);
	text += rest;
	if (*text == '/')
		index = (int)strtol(text + 1, (char **)(uintptr_t)&text, 10);
	if (*text == '@') {
		rest = strcspn(text + 1, "!");
		assert_true(rest < sizeof(token));
		memcpy(token, text + 1, rest);
		text += 1 + rest;
	}
	return services->restart(reply, strcmp(type, "all") == 0 ? NULL : type, index, *text == '!' ? RH_RESTART_FREE : 0,
	                         *token ? token : NULL, NULL);
}

/* Says nothing as a plugin that takes no failure for the end, but what the annotation "again" asks for. */
static int32_t worlds_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *services = self;
	const char *text = services->text(view, "metadata.annotations.again");
	int32_t r = 0;

	for (char word[64]; text && *text && r == 0; text += *text == '+') {
		size_t length = strcspn(text, "+");

		assert_true(length < sizeof(word));
		memcpy(word, text, length);
		word[length] = '\0';
		text += length;
		r = worlds_restart(services, reply, word);
	}
	return r;
}

const struct rh_plugin worlds_toy_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "toy",
	.release = "0",
	.init = worlds_init,
	.describe = worlds_describe,
	.judge = worlds_judge,
};

/* Copies the next word of *text, and moves on. @return false at the end */
bool worlds_word(const char **text, char word[WORLDS_TEXT])
{
	size_t length;

	*text += strspn(*text, " \t");
	length = strcspn(*text, " \t");
	assert_true(length < WORLDS_TEXT);
	memcpy(word, *text, length);
	word[length] = '\0';
	*text += length;
	return length > 0;
}

/* The value of "key=value", or NULL when the word has another key. */
const char *worlds_value(const char *word, const char *key)
{
	size_t length = strlen(key);

	return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

enum rh_refused worlds_refused(const char *word)
{
	static const char *const words[] = {"create", "read", "update", "delete", "name"};
	size_t what = 0;

	while (strcmp(words[what], word) != 0)
		assert_true(++what < sizeof(words) / sizeof(words[0]));
	return (enum rh_refused)what;
}

/* What the words of a job gather. */
struct worlds_spec {
	const char *kind;
	struct rh_str types;
	struct rh_str policy;
	struct rh_str annotations;
	char template_[WORLDS_TEXT];
};

static void worlds_add_type(struct worlds_spec *spec, const char *word)
{
	const char *policy = strchr(word, '=');
	const char *count = strchr(word, '*');

	assert_non_null(policy);
	rh_str_appendf(&spec->types, "%s\"%.*s\":{\"replicas\":%d,\"restartPolicy\":\"%.*s\",\"template\":%s}",
	               spec->types.length ? "," : "", (int)(policy - word), word,
	               count ? (int)strtol(count + 1, NULL, 10) : 1,
	               count ? (int)(count - policy - 1) : (int)strlen(policy + 1), policy + 1, spec->template_);
}

static bool worlds_add_policy(struct worlds_spec *spec, const char *word)
{
	static const struct {
		const char *word;
		const char *field;
	} numbers[] = {
		{"backoff", "backoffLimit"}, {"deadline", "activeDeadlineSeconds"}, {"ttl", "ttlSecondsAfterFinished"}};
	const char *value;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		value = worlds_value(word, numbers[i].word);
		if (value)
			rh_str_appendf(&spec->policy, "%s\"%s\":%s", spec->policy.length ? "," : "", numbers[i].field, value);
		if (value)
			return true;
	}
	if ((value = worlds_value(word, "clean")) || (value = worlds_value(word, "managedBy"))) {
		rh_str_appendf(&spec->policy, "%s\"%s\":\"%s\"", spec->policy.length ? "," : "",
		               *word == 'c' ? "cleanPodPolicy" : "managedBy", value);
		return true;
	}
	if (strcmp(word, "suspend") != 0)
		return false;
	rh_str_appendf(&spec->policy, "%s\"suspend\":true", spec->policy.length ? "," : "");
	return true;
}

static bool worlds_add_annotation(struct worlds_spec *spec, const char *word)
{
	static const struct {
		const char *word;
		const char *key;
	} annotations[] = {
		{"scope", RH_ANNOTATION_RESTART},      {"timeout", RH_ANNOTATION_TERMINATING_TIMEOUT},
		{"stalls", RH_ANNOTATION_STALLS},      {"after", RH_ANNOTATION_STALLS_AFTER},
		{"limit", RH_ANNOTATION_STALLS_LIMIT}, {"again", "again"},
	};

	for (size_t i = 0; i < sizeof(annotations) / sizeof(*annotations); i++) {
		const char *value = worlds_value(word, annotations[i].word);

		if (value) {
			rh_str_appendf(&spec->annotations, ",\"%s\":\"%s\"", annotations[i].key, value);
			return true;
		}
	}
	return false;
}

static void worlds_set_scheduler(struct worlds_spec *spec, const char *name)
{
	rh_auto_free char *more = rh_asprintf("\"schedulerName\":\"%s\",", name);

	snprintf(spec->template_, sizeof(spec->template_), WORLDS_TEMPLATE, more);
}

static void worlds_add_word(struct worlds_spec *spec, const char *word)
{
	const char *value;

	if (worlds_add_policy(spec, word) || worlds_add_annotation(spec, word))
		return;
	if ((value = worlds_value(word, "template")))
		snprintf(spec->template_, sizeof(spec->template_), WORLDS_TEMPLATE, "\"restartPolicy\":\"Always\",");
	else if ((value = worlds_value(word, "scheduler")))
		worlds_set_scheduler(spec, value);
	else if ((value = worlds_value(word, "kind")))
		spec->kind = *value == 'T' ? "ToyJob" : "OuterJob";
	else
		worlds_add_type(spec, word);
}

struct rh_json *worlds_object(const char *words)
{
	struct worlds_spec spec = {.kind = "PyTorchJob"};
	rh_auto_free char *text = NULL;
	struct rh_json *object = NULL;
	char word[WORLDS_TEXT];
	struct rh_error err = {0};

	snprintf(spec.template_, sizeof(spec.template_), WORLDS_TEMPLATE, "");
	while (worlds_word(&words, word))
		worlds_add_word(&spec, word);
	if (spec.types.length == 0) {
		worlds_add_type(&spec, "Master=OnFailure");
		worlds_add_type(&spec, "Worker=OnFailure*2");
	}
	text = rh_asprintf(
		"{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"j\",\"namespace\":\"default\","
		"\"uid\":\"" WORLDS_JOB_UID "\",\"annotations\":{\"a\":\"b\"%s}},\"spec\":{\"runPolicy\":{%s},"
		"\"%s\":{%s}}}",
		spec.kind, rh_str_text(&spec.annotations), rh_str_text(&spec.policy),
		*spec.kind == 'T'   ? "toyReplicaSpecs"
		: *spec.kind == 'O' ? "outerReplicaSpecs"
							: "pytorchReplicaSpecs",
		rh_str_text(&spec.types));
	rh_str_deinit(&spec.types);
	rh_str_deinit(&spec.policy);
	rh_str_deinit(&spec.annotations);
	if (rh_json_parse(text, strlen(text), &object, &err) < 0)
		fail_msg("%s: %s", err.message, text);
	return object;
}
