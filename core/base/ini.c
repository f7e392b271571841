/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ini.h"

#include <ini.h>
#include <stdbool.h>
#include <string.h>

#include "base/str.h"

/*
 * inih cuts section names at 50 bytes and lines at 200, as the distributions build it, and ends a key at its first ':',
 * which names of images have. So this module splits the text into lines, keeps key and value, hands inih a mark in
 * their place, and refuses names that inih would cut.
 */
#define INI_SECTION_MAX 49
#define INI_KEY_MAX 150
/* What inih sees of a setting. */
#define INI_MARK "k=\n"

/* A text on its way through inih. */
struct ini_read {
	const char *name;
	const char *at, *end;
	rh_ini_fn *fn;
	void *arg;
	struct rh_error *err;
	struct rh_str key;
	struct rh_str value;
	int line;
	int status; /* the first failure; ends the read */
};

static bool ini_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void ini_trim(const char **from, const char **to)
{
	while (*from < *to && ini_is_space(**from))
		(*from)++;
	while (*from < *to && ini_is_space((*to)[-1]))
		(*to)--;
}

/* Take the next line without white space around it and without a comment. @return false at the end */
static bool ini_next_line(struct ini_read *read, const char **ret_from, const char **ret_to)
{
	const char *from = read->at, *to;

	if (from >= read->end)
		return false;
	to = memchr(from, '\n', (size_t)(read->end - from));
	read->at = to ? to + 1 : read->end;
	if (!to)
		to = read->end;
	read->line++;
	for (const char *c = from; c < to; c++)
		if ((*c == ';' || *c == '#') && (c == from || ini_is_space(c[-1]))) {
			to = c;
			break;
		}
	ini_trim(&from, &to);
	*ret_from = from;
	*ret_to = to;
	return true;
}

static int ini_fail(struct ini_read *read, const char *what)
{
	return rh_fail(read->err, RH_EINVAL, "%s:%d: %s", read->name, read->line, what);
}

/* @return the first '=', or where there is none the first ':'; else `to` */
static const char *ini_key_end(const char *from, const char *to)
{
	const char *end = memchr(from, '=', (size_t)(to - from));

	if (!end)
		end = memchr(from, ':', (size_t)(to - from));
	return end ? end : to;
}

static int ini_check_section(struct ini_read *read, const char *from, const char *to)
{
	if (memchr(from, ']', (size_t)(to - from)) != to - 1)
		return ini_fail(read, "a section has the form [name]");
	if (to - from - 2 > INI_SECTION_MAX)
		return ini_fail(read, "a section's name has at most 49 bytes");
	return 0;
}

/* Check a setting's line and keep what it says. */
static int ini_check_setting(struct ini_read *read, const char *from, const char *to)
{
	const char *key_end = ini_key_end(from, to);
	const char *value = key_end + 1;

	if (key_end == to || key_end == from)
		return ini_fail(read, "expected \"key = value\", a [section] or a comment");
	if (key_end - from > INI_KEY_MAX)
		return ini_fail(read, "a key has at most 150 bytes");
	ini_trim(&value, &to);
	ini_trim(&from, &key_end);
	rh_str_clear(&read->key);
	rh_str_append_bytes(&read->key, from, (size_t)(key_end - from));
	rh_str_clear(&read->value);
	rh_str_append_bytes(&read->value, value, (size_t)(to - value));
	return read->key.failed || read->value.failed ? rh_fail_oom(read->err) : 0;
}

/* Write a section's line, which may be the first one: a space in front keeps inih from taking a second byte order mark
 * away. Before a later line it would mean that the last value goes on. */
static void ini_write_section(const struct ini_read *read, const char *from, const char *to, char *buffer, size_t size)
{
	if (read->line == 1) {
		*buffer++ = ' ';
		size--;
	}
	memcpy(buffer, from, (size_t)(to - from));
	rh_copy(buffer + (to - from), size - (size_t)(to - from), "\n");
}

/* inih's reader, in place of fgets(). */
static char *ini_feed(char *buffer, int size, void *stream)
{
	struct ini_read *read = stream;
	const char *from, *to;

	if (read->status < 0 || !ini_next_line(read, &from, &to))
		return NULL;
	if (from == to) {
		rh_copy(buffer, (size_t)size, "\n");
		return buffer;
	}
	read->status = *from == '[' ? ini_check_section(read, from, to) : ini_check_setting(read, from, to);
	if (read->status < 0)
		return NULL;
	if (*from == '[')
		ini_write_section(read, from, to, buffer, (size_t)size);
	else
		rh_copy(buffer, (size_t)size, INI_MARK);
	return buffer;
}

static int ini_handle(void *user, const char *section, const char *key, const char *value)
{
	struct ini_read *read = user;

	(void)key;
	(void)value;
	read->status =
		read->fn(read->arg, section, rh_str_text(&read->key), rh_str_text(&read->value), read->line, read->err);
	if (read->status < 0)
		rh_wrap(read->err, read->status, "%s:%d", read->name, read->line);
	return read->status >= 0;
}

int rh_ini_parse(const char *name, const char *text, size_t length, rh_ini_fn *fn, void *arg, struct rh_error *err)
{
	struct ini_read read = {.name = name, .at = text, .end = text + length, .fn = fn, .arg = arg, .err = err};
	int r;

	if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
		read.at += 3;
	if (memchr(text, '\0', length))
		return rh_fail(err, RH_EINVAL, "%s: a zero byte; this is not a text file", name);
	r = ini_parse_stream(ini_feed, &read, ini_handle, &read);
	rh_str_deinit(&read.key);
	rh_str_deinit(&read.value);
	if (read.status < 0)
		return read.status;
	if (r > 0)
		return rh_fail(err, RH_EINVAL, "%s:%d: expected \"key = value\", a [section] or a comment", name, r);
	return r < 0 ? rh_fail(err, RH_ENOMEM, "%s: out of memory", name) : 0;
}
