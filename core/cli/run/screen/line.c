/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/screen/line.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/os/clock.h"
#include "cli/run/screen/screen.h"

/* Foreground colours that are readable on light and dark backgrounds; red is reserved for failures. */
static const char *const line_colours[] = {"\033[36m", "\033[32m", "\033[35m", "\033[34m",
                                           "\033[33m", "\033[96m", "\033[92m", "\033[95m"};

const char *rh_line_colour(const char *replica)
{
	return line_colours[rh_hash(replica, strlen(replica)) % (sizeof(line_colours) / sizeof(*line_colours))];
}

/* @return the names of the containers of a replica, or NULL */
static const struct rh_json *line_containers(const struct rh_json *jobs, const char *job, const char *replica)
{
	const struct rh_json *row = rh_json_first(jobs);
	const struct rh_json *type;
	const char *dash = strrchr(replica, '-');
	size_t length = dash ? (size_t)(dash - replica) : strlen(replica);

	while (row && !rh_text_equal(rh_json_string(rh_json_get(row, "logs")), job))
		row = rh_json_next(row);
	type = rh_json_first(rh_json_get(row, "containers"));
	while (type && (strlen(rh_json_key(type)) != length || strncasecmp(rh_json_key(type), replica, length) != 0))
		type = rh_json_next(type);
	return type;
}

static bool line_names_container(const struct rh_line_style *style, const struct rh_output_line *line)
{
	const struct rh_json *names = style->jobs ? line_containers(style->jobs, line->job, line->replica) : NULL;

	return names && (rh_json_size(names) != 1 || !rh_text_equal(rh_json_string(rh_json_first(names)), line->container));
}

void rh_line_append_name(const struct rh_line_style *style, const struct rh_output_line *line, struct rh_str *out)
{
	rh_str_appendf(out, "%s%s%s", style->multiple ? line->job : "", style->multiple ? "/" : "", line->replica);
	if (line_names_container(style, line))
		rh_str_appendf(out, "/%s", line->container);
}

bool rh_line_has_several(const struct rh_json *jobs, const char *word)
{
	const char *dash = strrchr(word, '-');

	for (const struct rh_json *row = rh_json_first(jobs); row; row = rh_json_next(row)) {
		const char *job = rh_json_string(rh_json_get(row, "logs"));
		const struct rh_json *type = rh_json_first(rh_json_get(row, "containers"));

		for (; type && job; type = rh_json_next(type)) {
			rh_auto_free char *replica = rh_asprintf("%s%s", rh_json_key(type), dash ? dash : "");

			if (rh_json_size(type) > 1 && replica && rh_output_is_replica(word, job, replica))
				return true;
		}
	}
	return false;
}

const char *rh_line_last_state(const char *text, size_t *length)
{
	size_t end = *length;
	size_t start;

	while (end > 0 && text[end - 1] == '\r')
		end--;
	for (start = end; start > 0 && text[start - 1] != '\r';)
		start--;
	*length = end - start;
	return text + start;
}

static void line_print_text(const struct rh_line_style *style, const char *text, size_t length)
{
	rh_auto_str clean = {0};

	if (!style->terminal) {
		(void)fwrite(text, 1, length, stdout);
		return;
	}
	text = rh_line_last_state(text, &length);
	rh_screen_clean(text, length, &clean);
	(void)fwrite(rh_str_text(&clean), 1, clean.length, stdout);
}

void rh_line_print(const struct rh_line_style *style, const struct rh_output_line *line)
{
	char at[RH_TIME_SIZE];

	if (style->prefix) {
		rh_auto_str name = {0};

		rh_line_append_name(style, line, &name);
		printf("%s%-8s |%s ", style->colour ? rh_line_colour(line->replica) : "", rh_str_text(&name),
		       style->colour ? "\033[0m" : "");
	}
	if (style->times)
		printf("%s ", line->at ? rh_time_format_micro(line->at, at) : "-");
	line_print_text(style, line->text, line->length);
	putchar('\n');
}
