/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/scaffold/scaffold.h"

#define EXPAND_EACH "@each@\n"
#define EXPAND_END "@end@\n"

/* Names in the forms that sources need. */
enum expand_form { EXPAND_LOWER, EXPAND_UPPER, EXPAND_IDENT, EXPAND_CAMEL };

static void expand_form(const char *from, enum expand_form form, char *to, size_t size)
{
	size_t at = 0;
	bool capital = false;

	for (; *from && at + 1 < size; from++) {
		if (*from == '-' && form == EXPAND_CAMEL) {
			capital = true;
			continue;
		}
		to[at] = *from == '-' ? '_' : *from;
		if (form == EXPAND_UPPER || capital)
			to[at] = (char)toupper((unsigned char)to[at]);
		else if (form == EXPAND_LOWER)
			to[at] = (char)tolower((unsigned char)to[at]);
		capital = false;
		at++;
	}
	to[at] = '\0';
}

/* The first of several types leads: there is one, and with it the job ends. */
static void expand_flags(const struct rh_scaffold *scaffold, size_t type, char *out, size_t size)
{
	bool leads = type == 0 && scaffold->type_count > 1;

	rh_copy(out, size, leads ? "RH_REPLICA_LEADER | RH_REPLICA_REQUIRED" : type == 0 ? "RH_REPLICA_REQUIRED" : "0");
}

static bool expand_type_word(const struct rh_scaffold *scaffold, size_t type, const char *word, char *out, size_t size)
{
	if (strcmp(word, "TYPE") == 0)
		rh_copy(out, size, scaffold->types[type]);
	else if (strcmp(word, "LOWER") == 0)
		expand_form(scaffold->types[type], EXPAND_LOWER, out, size);
	else if (strcmp(word, "FLAGS") == 0)
		expand_flags(scaffold, type, out, size);
	else if (strcmp(word, "MIN") == 0)
		rh_copy(out, size, type == 0 ? "1" : "0");
	else if (strcmp(word, "MAX") == 0)
		rh_copy(out, size, type == 0 && scaffold->type_count > 1 ? "1" : "0");
	else
		return false;
	return true;
}

static bool expand_made_word(const struct rh_scaffold *scaffold, const char *word, char *out, size_t size)
{
	char made[RH_SCAFFOLD_WORD];

	expand_form(scaffold->kind, EXPAND_LOWER, made, sizeof(made));
	if (strcmp(word, "SINGULAR") == 0)
		rh_copy(out, size, made);
	else if (strcmp(word, "PLURAL") == 0)
		(void)snprintf(out, size, "%ss", made);
	else if (strcmp(word, "IDENT") == 0)
		expand_form(scaffold->name, EXPAND_IDENT, out, size);
	else if (strcmp(word, "ENV") == 0)
		expand_form(scaffold->name, EXPAND_UPPER, out, size);
	else if (strcmp(word, "FIELD") == 0) {
		expand_form(scaffold->name, EXPAND_CAMEL, made, sizeof(made));
		(void)snprintf(out, size, "%sReplicaSpecs", made);
	} else
		return false;
	return true;
}

static const char *expand_plain_word(const struct rh_scaffold *scaffold, const char *word)
{
	bool c = strcmp(scaffold->lang, "c") == 0;
	const struct {
		const char *word;
		const char *value;
	} words[] = {
		{"NAME", scaffold->name},
		{"KIND", scaffold->kind},
		{"GROUP", scaffold->group},
		{"FIRST", scaffold->types[0]},
		{"PREFIX", scaffold->prefix},
		{"LANGUAGE", c ? "C" : "CXX"},
		{"SOURCE", c ? "plugin.c" : "plugin.cpp"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i].word) == 0)
			return words[i].value;
	}
	return NULL;
}

/** @return the length of the word between "@" at @p at and the next, or 0: it is an "@" like any other */
static size_t expand_word_length(const char *at)
{
	size_t length = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return at[1 + length] == '@' && length < RH_SCAFFOLD_WORD ? length : 0;
}

/* type_count as type: outside "@each@" */
static int expand_word(const struct rh_scaffold *scaffold, size_t type, const char *word, struct rh_str *out,
                       struct rh_error *err)
{
	char made[RH_SCAFFOLD_WORD * 2];
	const char *plain = expand_plain_word(scaffold, word);

	if (plain)
		rh_str_append(out, plain);
	else if (expand_made_word(scaffold, word, made, sizeof(made)) ||
	         (type < scaffold->type_count && expand_type_word(scaffold, type, word, made, sizeof(made))))
		rh_str_append(out, made);
	else
		return rh_fail(err, RH_EINVAL, "a template has @%s@, which stands for nothing there", word);
	return 0;
}

static int expand_part(const struct rh_scaffold *scaffold, size_t type, const char *text, size_t length,
                       struct rh_str *out, struct rh_error *err)
{
	const char *end = text + length;
	int r = 0;

	while (text < end && r == 0) {
		char word[RH_SCAFFOLD_WORD] = "";
		size_t plain = strcspn(text, "@");
		size_t found = 0;

		plain = plain < (size_t)(end - text) ? plain : (size_t)(end - text);
		rh_str_append_bytes(out, text, plain);
		text += plain;
		if (text == end)
			break;
		found = expand_word_length(text);
		if (found > 0) {
			memcpy(word, text + 1, found);
			r = expand_word(scaffold, type, word, out, err);
			text += found + 2;
		} else {
			rh_str_append_bytes(out, text++, 1);
		}
	}
	return r;
}

int rh_scaffold_expand(const struct rh_scaffold *scaffold, const char *text, struct rh_str *out, struct rh_error *err)
{
	int r = 0;

	while (*text && r == 0) {
		const char *each = strstr(text, EXPAND_EACH);
		const char *end = each ? strstr(each, EXPAND_END) : NULL;
		size_t plain = end ? (size_t)(each - text) : strlen(text);

		r = expand_part(scaffold, scaffold->type_count, text, plain, out, err);
		text += plain;
		if (!end)
			continue;
		each += strlen(EXPAND_EACH);
		for (size_t type = 0; type < scaffold->type_count && r == 0; type++)
			r = expand_part(scaffold, type, each, (size_t)(end - each), out, err);
		text = end + strlen(EXPAND_END);
	}
	return r;
}

bool rh_scaffold_has(const struct rh_scaffold *scaffold, const struct rh_template *template_, char **ret_path)
{
	const char *slash = strchr(template_->path, '/');
	size_t folder = (size_t)(slash - template_->path);
	/* C and C++ share what CMake needs */
	const char *folders = strcmp(scaffold->lang, "c") == 0     ? "common|cmake|c"
	                      : strcmp(scaffold->lang, "cpp") == 0 ? "common|cmake|cpp"
	                                                           : "common|rust";

	if (!rh_words_have(folders, '|', template_->path, folder))
		return false;
	*ret_path = rh_asprintf("%.*s", (int)(strlen(slash + 1) - strlen(".in")), slash + 1);
	return true;
}
