/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/screen/live.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/screen/screen.h"

/* Most starts of lines that are shown at a time; of more replicas the first ones are. */
#define LIVE_PARTS_MAX 8

size_t rh_live_width(void)
{
	size_t width = rh_screen_width(STDERR_FILENO);

	return width < 8 ? 72 : width - 3;
}

void rh_live_wipe(struct rh_live *live)
{
	if (live->rows > 0)
		fputs("\r\033[K", stderr);
	for (; live->rows > 1; live->rows--)
		fputs("\033[A\033[K", stderr);
	live->rows = 0;
}

static void live_show_part(const struct rh_live_part *part, size_t width)
{
	rh_auto_str row = {0};
	size_t used = strlen(part->name) > 8 ? strlen(part->name) : 8;

	rh_screen_fit(rh_str_text(&part->text), part->text.length, width > used + 3 ? width - used - 3 : 0, &row);
	fprintf(stderr, "%s%-8s |\033[0m %s", part->colour, part->name, rh_str_text(&row));
}

void rh_live_show(struct rh_live *live)
{
	size_t width = rh_live_width();

	rh_live_wipe(live);
	if (!live->on || (live->count == 0 && live->status.length == 0))
		return;
	(void)fflush(stdout);
	for (size_t i = 0; i < live->count && i < LIVE_PARTS_MAX; i++) {
		fputs(live->rows++ > 0 ? "\n" : "", stderr);
		live_show_part(&live->parts[i], width);
	}
	if (live->status.length > 0)
		fprintf(stderr, "%s\033[7m %.*s \033[0m", live->rows++ > 0 ? "\n" : "", (int)width, rh_str_text(&live->status));
	(void)fflush(stderr);
}

static struct rh_live_part *live_find(struct rh_live *live, const char *name)
{
	for (size_t i = 0; i < live->count; i++) {
		if (strcmp(live->parts[i].name, name) == 0)
			return &live->parts[i];
	}
	return NULL;
}

static struct rh_live_part *live_add(struct rh_live *live, const char *name, const char *colour)
{
	struct rh_live_part *grown = rh_realloc_array(live->parts, live->count + 1, sizeof(*grown));
	char *copy = grown ? rh_strdup(name) : NULL;

	if (grown)
		live->parts = grown;
	if (!copy)
		return NULL;
	grown[live->count] = (struct rh_live_part){.name = copy, .colour = colour};
	return &grown[live->count++];
}

void rh_live_start(struct rh_live *live, const struct rh_line_style *style, const struct rh_output_line *line)
{
	rh_auto_str name = {0};
	size_t length = line->length;
	const char *text = rh_line_last_state(line->text, &length);
	struct rh_live_part *part;

	rh_line_append_name(style, line, &name);
	part = live_find(live, rh_str_text(&name));
	part = part ? part : live_add(live, rh_str_text(&name), rh_line_colour(line->replica));
	if (!part)
		return;
	rh_str_clear(&part->text);
	rh_str_append_bytes(&part->text, text, length);
	rh_live_show(live);
}

static void live_remove(struct rh_live *live, struct rh_live_part *part)
{
	rh_free(part->name);
	rh_str_deinit(&part->text);
	live->count--;
	memmove(part, part + 1, (size_t)(&live->parts[live->count] - part) * sizeof(*part));
}

void rh_live_print(struct rh_live *live, const struct rh_line_style *style, const struct rh_output_line *line)
{
	rh_live_wipe(live);
	if (live->count > 0) {
		rh_auto_str name = {0};
		struct rh_live_part *part;

		rh_line_append_name(style, line, &name);
		part = live_find(live, rh_str_text(&name));
		if (part)
			live_remove(live, part);
	}
	rh_line_print(style, line);
	rh_live_show(live);
}

void rh_live_deinit(struct rh_live *live)
{
	while (live->count > 0)
		live_remove(live, &live->parts[0]);
	rh_free(live->parts);
	rh_str_deinit(&live->status);
	*live = (struct rh_live){0};
}
