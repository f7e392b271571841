/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"

/* Longest message; longer ones are cut with "...". */
#define LOG_MESSAGE_SIZE 4096

/* Options of rh_log_setup(). */
struct log_config {
	atomic_int level;
	atomic_bool json;
};

static struct log_config *log_config(void)
{
	static struct log_config config = {.level = RH_LOG_INFO, .json = false};

	return &config;
}

static const char *log_level_name(enum rh_log_level level)
{
	static const char *const names[] = {"debug", "info", "warn", "error"};

	return names[level];
}

void rh_log_setup(enum rh_log_level level, bool json)
{
	atomic_store(&log_config()->level, (int)level);
	atomic_store(&log_config()->json, json);
}

bool rh_log_enabled(enum rh_log_level level)
{
	return (int)level >= atomic_load_explicit(&log_config()->level, memory_order_relaxed);
}

int rh_log_level_parse(const char *text, enum rh_log_level *ret_level)
{
	for (int level = RH_LOG_DEBUG; level <= RH_LOG_ERROR; level++)
		if (strcmp(text, log_level_name((enum rh_log_level)level)) == 0) {
			*ret_level = (enum rh_log_level)level;
			return 0;
		}
	return RH_EINVAL;
}

/* Control characters are written as escapes: a name or message from outside cannot forge a line or steer a terminal. */
static void log_append_clean(struct rh_str *line, const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '\n')
			rh_str_append(line, "\\n");
		else if ((c < 0x20 && c != '\t') || c == 0x7F)
			rh_str_appendf(line, "\\x%02x", c);
		else
			rh_str_append_bytes(line, text, 1);
	}
}

/* Subject of a line: one text, an object, or none. */
struct log_subject {
	const char *text;
	const struct rh_log_object *object;
};

static void log_text_subject(struct rh_str *line, const struct log_subject *subject)
{
	if (subject->text) {
		log_append_clean(line, subject->text);
		rh_str_append(line, ": ");
	}
	if (!subject->object)
		return;
	log_append_clean(line, subject->object->kind);
	rh_str_append(line, " ");
	log_append_clean(line, subject->object->namespace_);
	rh_str_append(line, "/");
	log_append_clean(line, subject->object->name);
	if (*subject->object->uid) {
		rh_str_append(line, " (");
		log_append_clean(line, subject->object->uid);
		rh_str_append(line, ")");
	}
	rh_str_append(line, ": ");
}

static void log_json_member(struct rh_str *line, const char *key, const char *value)
{
	if (!*value)
		return;
	rh_str_appendf(line, ",\"%s\":", key);
	rh_json_quote(value, line);
}

static void log_json_subject(struct rh_str *line, const struct log_subject *subject)
{
	if (subject->text)
		log_json_member(line, "object", subject->text);
	if (!subject->object)
		return;
	log_json_member(line, "kind", subject->object->kind);
	log_json_member(line, "namespace", subject->object->namespace_);
	log_json_member(line, "name", subject->object->name);
	log_json_member(line, "uid", subject->object->uid);
}

static void log_text_line(struct rh_str *line, enum rh_log_level level, const struct log_subject *subject,
                          const char *message)
{
	char time[RH_TIME_SIZE];

	rh_str_appendf(line, "%s %-5s ", rh_time_format_micro(rh_clock_wall(), time), log_level_name(level));
	log_text_subject(line, subject);
	log_append_clean(line, message);
	rh_str_append(line, "\n");
}

static void log_json_line(struct rh_str *line, enum rh_log_level level, const struct log_subject *subject,
                          const char *message)
{
	char time[RH_TIME_SIZE];

	rh_str_appendf(line, "{\"time\":\"%s\",\"level\":\"%s\"", rh_time_format_micro(rh_clock_wall(), time),
	               log_level_name(level));
	log_json_subject(line, subject);
	rh_str_append(line, ",\"message\":");
	rh_json_quote(message, line);
	rh_str_append(line, "}\n");
}

static void log_write(enum rh_log_level level, const struct log_subject *subject, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

static void log_write(enum rh_log_level level, const struct log_subject *subject, const char *fmt, va_list args)
{
	char message[LOG_MESSAGE_SIZE];
	rh_auto_str line = {0};
	int length = vsnprintf(message, sizeof(message), fmt, args);

	if (length < 0)
		rh_copy(message, sizeof(message), fmt);
	else if ((size_t)length >= sizeof(message))
		rh_mark_cut(message, sizeof(message));
	if (atomic_load(&log_config()->json))
		log_json_line(&line, level, subject, message);
	else
		log_text_line(&line, level, subject, message);
	/*
	 * One write a line keeps lines of several threads and processes whole. A log that cannot be written is nobody's
	 * error.
	 */
	if (!line.failed)
		(void)rh_fd_write_all(STDERR_FILENO, line.data, line.length, NULL);
	else
		(void)rh_fd_write_all(STDERR_FILENO, "out of memory for a log line\n", 29, NULL);
}

void rh_log(enum rh_log_level level, const char *object, const char *fmt, ...)
{
	const struct log_subject subject = {.text = object};
	va_list args;

	if (!rh_log_enabled(level))
		return;
	va_start(args, fmt);
	log_write(level, &subject, fmt, args);
	va_end(args);
}

void rh_log_about(enum rh_log_level level, const struct rh_log_object *object, const char *fmt, ...)
{
	const struct log_subject subject = {.object = object};
	va_list args;

	if (!rh_log_enabled(level))
		return;
	va_start(args, fmt);
	log_write(level, &subject, fmt, args);
	va_end(args);
}
