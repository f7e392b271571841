/* SPDX-License-Identifier: Apache-2.0 */
#include "job/status/conditions.h"

#include <string.h>

#include "base/mem.h"

/* Longest type and reason; a Kubernetes condition may have 316 and 1024. */
#define CONDITIONS_WORD_MAX 128

#define CONDITIONS_INVALID "Invalid"

/* What may be reported, and the member of rh_kind.conditions about it. */
static const struct {
	const char *word;
	const char *key;
	const char *v1; /* the end of V1's reason */
} conditions_words[] = {
	{RH_CONDITION_CREATED, RH_CONDITION_CREATED, RH_CONDITION_CREATED},
	{RH_CONDITION_RUNNING, RH_CONDITION_RUNNING, RH_CONDITION_RUNNING},
	{RH_CONDITION_RESTARTING, RH_CONDITION_RESTARTING, RH_CONDITION_RESTARTING},
	{RH_CONDITION_SUSPENDED, RH_CONDITION_SUSPENDED, RH_CONDITION_SUSPENDED},
	{RH_WORD_RESUMED, RH_CONDITION_SUSPENDED, RH_WORD_RESUMED},
	{RH_CONDITION_SUCCEEDED, RH_CONDITION_SUCCEEDED, RH_CONDITION_SUCCEEDED},
	{RH_CONDITION_FAILED, RH_CONDITION_FAILED, RH_CONDITION_FAILED},
	{RH_WORD_DEADLINE, RH_WORD_DEADLINE, RH_CONDITION_FAILED},
	{RH_WORD_BACKOFF, RH_WORD_BACKOFF, RH_CONDITION_FAILED},
	{RH_WORD_INVALID, CONDITIONS_INVALID, RH_WORD_INVALID},
};

/* Types that a kind may rename. */
static const char *const conditions_types[] = {RH_CONDITION_CREATED,   RH_CONDITION_RUNNING,   RH_CONDITION_RESTARTING,
                                               RH_CONDITION_SUSPENDED, RH_CONDITION_SUCCEEDED, RH_CONDITION_FAILED};

#define CONDITIONS_TYPES (sizeof(conditions_types) / sizeof(conditions_types[0]))
#define CONDITIONS_WORDS (sizeof(conditions_words) / sizeof(conditions_words[0]))

static bool conditions_is_type(const char *key)
{
	for (size_t i = 0; i < CONDITIONS_TYPES; i++) {
		if (strcmp(conditions_types[i], key) == 0)
			return true;
	}
	return false;
}

const char *rh_conditions_text(const struct rh_kind *kind)
{
	return RH_HAS(kind, struct rh_kind, conditions) ? kind->conditions : NULL;
}

/* The loader has checked it. */
struct rh_json *rh_conditions_parse(const struct rh_kind *kind)
{
	const char *text = rh_conditions_text(kind);
	struct rh_json *conditions = NULL;

	return text && rh_json_parse(text, strlen(text), &conditions, NULL) == 0 ? conditions : NULL;
}

const char *rh_conditions_shown(const struct rh_json *conditions, const char *type)
{
	const struct rh_json *entry = rh_json_get(conditions, type);
	const char *shown = rh_json_string(rh_json_get(entry, "type"));

	if (!conditions_is_type(type) || !entry)
		return type;
	if (rh_json_type(entry) == RH_JSON_NULL)
		return NULL;
	return shown ? shown : type;
}

const char *rh_conditions_type(const struct rh_json *conditions, const char *shown)
{
	for (size_t i = 0; i < CONDITIONS_TYPES; i++) {
		if (rh_text_equal(rh_conditions_shown(conditions, conditions_types[i]), shown))
			return conditions_types[i];
	}
	return conditions_is_type(shown) ? NULL : shown;
}

/* The number of a word; CONDITIONS_WORDS: it is one that kinds have no words for. */
static size_t conditions_find(const char *word)
{
	size_t i = 0;

	while (i < CONDITIONS_WORDS && strcmp(conditions_words[i].word, word) != 0)
		i++;
	return i;
}

/* Text @p field of the kind's entry for @p word, borrowed from @p conditions; NULL: it has none. */
static const char *conditions_entry(const struct rh_json *conditions, const char *word, const char *field)
{
	size_t i = conditions_find(word);

	return i < CONDITIONS_WORDS ? rh_json_string(rh_json_get(rh_json_get(conditions, conditions_words[i].key), field))
	                            : NULL;
}

char *rh_conditions_reason(const struct rh_kind *kind, const char *word)
{
	bool resumed = strcmp(word, RH_WORD_RESUMED) == 0;
	rh_auto(json) conditions = rh_conditions_parse(kind);
	const char *own = conditions_entry(conditions, word, resumed ? "falseReason" : "reason");
	size_t i = conditions_find(word);

	return own ? rh_strdup(own) : rh_asprintf("%s%s", kind->kind, i < CONDITIONS_WORDS ? conditions_words[i].v1 : word);
}

/* The value of the name that @p name begins with, "{job}"; NULL: there is no such name. */
static const char *conditions_value(const struct rh_job *job, const char *findings, const char *name, size_t length)
{
	const struct {
		const char *name;
		const char *value;
	} names[] = {{"{kind}", job->kind->kind},
	             {"{job}", job->name},
	             {"{namespace}", job->namespace_},
	             {"{findings}", findings ? findings : ""}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i].name) == length && strncmp(names[i].name, name, length) == 0)
			return names[i].value;
	}
	return NULL;
}

/* @return how long the name in braces at @p text is; 0: there is none */
static size_t conditions_name(const char *text)
{
	size_t length = strcspn(text, "}");

	return *text == '{' && text[length] ? length + 1 : 0;
}

bool rh_conditions_message(const struct rh_job *job, const char *word, const char *findings, struct rh_str *out)
{
	bool resumed = strcmp(word, RH_WORD_RESUMED) == 0;
	rh_auto(json) conditions = rh_conditions_parse(job->kind);
	const char *own = conditions_entry(conditions, word, resumed ? "falseMessage" : "message");

	for (const char *at = own; at && *at;) {
		size_t plain = strcspn(at, "{");
		size_t name;

		rh_str_append_bytes(out, at, plain);
		at += plain;
		name = conditions_name(at);
		if (name > 0)
			rh_str_append(out, conditions_value(job, findings, at, name));
		at += name;
	}
	return own;
}

enum rh_report_event rh_conditions_event(const struct rh_kind *kind, const char *word)
{
	rh_auto(json) conditions = rh_conditions_parse(kind);
	const char *event = conditions_entry(conditions, word, "event");

	if (!event)
		return RH_REPORT_USUAL;
	if (strcmp(event, "none") == 0)
		return RH_REPORT_NONE;
	return strcmp(event, "Warning") == 0 ? RH_REPORT_WARNING : RH_REPORT_NORMAL;
}

bool rh_conditions_invalid_fails(const struct rh_kind *kind)
{
	rh_auto(json) conditions = rh_conditions_parse(kind);

	return rh_json_bool(rh_json_get(rh_json_get(conditions, CONDITIONS_INVALID), "final"), true);
}

static bool conditions_is_word(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	return *text >= 'A' && *text <= 'Z' && !text[strspn(text, letters)] && strlen(text) <= CONDITIONS_WORD_MAX;
}

static bool conditions_has_key(const char *key)
{
	for (size_t i = 0; i < CONDITIONS_WORDS; i++) {
		if (strcmp(conditions_words[i].key, key) == 0)
			return true;
	}
	return false;
}

static int conditions_refuse(const char *key, const char *member, const char *flaw, struct rh_error *err)
{
	return rh_fail(err, RH_EPLUGIN, "conditions.%.64s%s%s %s", key, *member ? "." : "", member, flaw);
}

/* Reasons and types are words. */
static int conditions_check_words(const char *key, const struct rh_json *entry, struct rh_error *err)
{
	static const char *const members[] = {"type", "reason", "falseReason"};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const char *text = rh_json_string(rh_json_get(entry, members[i]));

		if (text && !conditions_is_word(text))
			return conditions_refuse(key, members[i], "must be a word that begins with a capital letter", err);
	}
	return 0;
}

/* Members that one condition alone has. */
static int conditions_check_place(const char *key, const struct rh_json *entry, struct rh_error *err)
{
	bool suspended = strcmp(key, RH_CONDITION_SUSPENDED) == 0;

	if (rh_json_get(entry, "type") && !conditions_is_type(key))
		return conditions_refuse(key, "type", "is that of Failed", err);
	if (!suspended && (rh_json_get(entry, "falseReason") || rh_json_get(entry, "falseMessage")))
		return conditions_refuse(key, "", "has falseReason or falseMessage, which Suspended alone has", err);
	if (rh_json_get(entry, "final") && strcmp(key, CONDITIONS_INVALID) != 0)
		return conditions_refuse(key, "final", "is a member of Invalid alone", err);
	return 0;
}

static int conditions_check_message(const char *key, const struct rh_json *entry, const char *member,
                                    struct rh_error *err)
{
	static const struct rh_kind kind = {.kind = ""};
	static const struct rh_job job = {.kind = &kind, .name = "", .namespace_ = ""};
	bool invalid = strcmp(key, CONDITIONS_INVALID) == 0;

	for (const char *at = rh_json_string(rh_json_get(entry, member)); at && (at = strchr(at, '{')); at++) {
		size_t name = conditions_name(at);

		if (name == 0 || !conditions_value(&job, NULL, at, name) || (!invalid && strncmp(at, "{findings}", name) == 0))
			return conditions_refuse(key, member,
			                         invalid ? "may have {kind}, {job}, {namespace} and {findings} in braces"
			                                 : "may have {kind}, {job} and {namespace} in braces",
			                         err);
	}
	return 0;
}

static int conditions_check_entry(const struct rh_json *entry, struct rh_error *err)
{
	const char *key = rh_json_key(entry);
	int r;

	if (!conditions_has_key(key))
		return conditions_refuse(key, "", "is not a known member", err);
	if (rh_json_type(entry) == RH_JSON_NULL) {
		if (!conditions_is_type(key) || strcmp(key, RH_CONDITION_SUCCEEDED) == 0 ||
		    strcmp(key, RH_CONDITION_FAILED) == 0)
			return conditions_refuse(key, "", "must be an object: every kind has Succeeded and Failed", err);
		return 0;
	}
	r = conditions_check_words(key, entry, err);
	if (r == 0)
		r = conditions_check_place(key, entry, err);
	if (r == 0)
		r = conditions_check_message(key, entry, "message", err);
	return r == 0 ? conditions_check_message(key, entry, "falseMessage", err) : r;
}

/* Two conditions of one type could not be read back. */
static int conditions_check_types(const struct rh_json *conditions, struct rh_error *err)
{
	for (size_t i = 0; i < CONDITIONS_TYPES; i++) {
		const char *shown = rh_conditions_shown(conditions, conditions_types[i]);

		if (rh_text_equal(shown, RH_CONDITION_STALLED))
			return conditions_refuse(conditions_types[i], "type", "is Stalled, which is the core's", err);
		for (size_t k = 0; k < i && shown; k++) {
			if (rh_text_equal(shown, rh_conditions_shown(conditions, conditions_types[k])))
				return conditions_refuse(conditions_types[i], "type", "is that of another condition", err);
		}
	}
	return 0;
}

int rh_conditions_check(const struct rh_json *conditions, struct rh_error *err)
{
	int r = 0;

	for (const struct rh_json *entry = rh_json_first(conditions); entry && r == 0; entry = rh_json_next(entry))
		r = conditions_check_entry(entry, err);
	return r == 0 ? conditions_check_types(conditions, err) : r;
}
