/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of JSON. The host has checked its texts before, so the parser is brief, but it trusts none of them. */
#include "tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Deepest nesting; the host's limit is the same. */
#define TREE_DEPTH 100

struct tree_room {
	struct tree_room *next;
	_Alignas(max_align_t) char data[];
};

/** A text on the way. */
struct tree_reader {
	struct tree *tree;
	const char *at;
	int depth;
};

void tree_deinit(struct tree *tree)
{
	while (tree->rooms) {
		struct tree_room *room = tree->rooms;

		tree->rooms = room->next;
		free(room);
	}
}

static void *tree_alloc(struct tree *tree, size_t size)
{
	struct tree_room *room = calloc(1, sizeof(*room) + size);

	if (!room) {
		tree->failed = true;
		return NULL;
	}
	room->next = tree->rooms;
	tree->rooms = room;
	return room->data;
}

static char *tree_keep(struct tree *tree, const char *text, size_t length)
{
	char *copy = tree_alloc(tree, length + 1);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

static struct tree_node *tree_new(struct tree *tree, enum tree_type type, const char *raw)
{
	struct tree_node *node = type != TREE_SCALAR || raw ? tree_alloc(tree, sizeof(*node)) : NULL;

	if (node) {
		node->type = type;
		node->raw = raw;
	}
	return node;
}

struct tree_node *tree_new_map(struct tree *tree)
{
	return tree_new(tree, TREE_MAP, NULL);
}

struct tree_node *tree_new_list(struct tree *tree)
{
	return tree_new(tree, TREE_LIST, NULL);
}

char *tree_printf(struct tree *tree, const char *format, ...)
{
	char *made = NULL, *kept;
	va_list list;
	int length;

	va_start(list, format);
	length = vasprintf(&made, format, list);
	va_end(list);
	if (length < 0) {
		tree->failed = true;
		return NULL;
	}
	kept = tree_keep(tree, made, (size_t)length);
	free(made);
	return kept;
}

struct tree_node *tree_new_text(struct tree *tree, const char *text)
{
	char *raw = text ? tree_alloc(tree, 6 * strlen(text) + 3) : NULL;
	char *at = raw;

	if (!raw)
		return NULL;
	*at++ = '"';
	for (const char *c = text; *c; c++) {
		if (*c == '"' || *c == '\\')
			*at++ = '\\';
		if ((unsigned char)*c < ' ')
			at += snprintf(at, 7, "\\u%04x", (unsigned)*c);
		else
			*at++ = *c;
	}
	*at = '"';
	return tree_new(tree, TREE_SCALAR, raw);
}

struct tree_node *tree_new_number(struct tree *tree, int64_t number)
{
	return tree_new(tree, TREE_SCALAR, tree_printf(tree, "%lld", (long long)number));
}

static void tree_skip(struct tree_reader *reader)
{
	reader->at += strspn(reader->at, " \t\r\n");
}

/** @return whether @p c comes next; then it is read */
static bool tree_eat(struct tree_reader *reader, char c)
{
	tree_skip(reader);
	if (*reader->at != c)
		return false;
	reader->at++;
	return true;
}

/** @return where a string that begins here ends, behind its quote; NULL: nowhere */
static const char *tree_string_end(const char *at)
{
	if (*at != '"')
		return NULL;
	for (at++; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1])
			at++;
	}
	return *at ? at + 1 : NULL;
}

static struct tree_node *tree_read(struct tree_reader *reader);

static struct tree_node *tree_read_scalar(struct tree_reader *reader)
{
	const char *start = reader->at;
	const char *end = *start == '"' ? tree_string_end(start) : start + strcspn(start, ",:]}[{\" \t\r\n");
	char *raw = end && end > start ? tree_keep(reader->tree, start, (size_t)(end - start)) : NULL;

	if (raw)
		reader->at = end;
	return tree_new(reader->tree, TREE_SCALAR, raw);
}

static bool tree_is_null(const struct tree_node *node)
{
	return node->type == TREE_SCALAR && strcmp(node->raw, "null") == 0;
}

/** Read one member or item. @return whether it was one */
static bool tree_read_item(struct tree_reader *reader, struct tree_node *into)
{
	char *key = NULL;
	struct tree_node *node;

	if (into->type == TREE_MAP) {
		const char *end;

		tree_skip(reader);
		end = tree_string_end(reader->at);
		key = end ? tree_keep(reader->tree, reader->at + 1, (size_t)(end - reader->at) - 2) : NULL;
		if (!key)
			return false;
		reader->at = end;
		if (!tree_eat(reader, ':'))
			return false;
	}
	node = tree_read(reader);
	if (!node)
		return false;
	node->key = key;
	if (!key || !tree_is_null(node))
		tree_append(into, node);
	return true;
}

static struct tree_node *tree_read_many(struct tree_reader *reader, enum tree_type type)
{
	const char close = type == TREE_MAP ? '}' : ']';
	struct tree_node *node = tree_new(reader->tree, type, NULL);

	if (!node || ++reader->depth > TREE_DEPTH)
		return NULL;
	reader->at++;
	if (!tree_eat(reader, close)) {
		do {
			if (!tree_read_item(reader, node))
				return NULL;
		} while (tree_eat(reader, ','));
		if (!tree_eat(reader, close))
			return NULL;
	}
	reader->depth--;
	return node;
}

static struct tree_node *tree_read(struct tree_reader *reader)
{
	tree_skip(reader);
	if (*reader->at == '{')
		return tree_read_many(reader, TREE_MAP);
	return *reader->at == '[' ? tree_read_many(reader, TREE_LIST) : tree_read_scalar(reader);
}

struct tree_node *tree_parse(struct tree *tree, const char *json)
{
	struct tree_reader reader = {tree, json, 0};
	struct tree_node *node = json ? tree_read(&reader) : NULL;

	if (node)
		tree_skip(&reader);
	if (json && (!node || *reader.at)) {
		tree->failed = true;
		return NULL;
	}
	return node;
}

static void tree_write(const struct tree_node *node, FILE *out)
{
	if (node->type == TREE_SCALAR) {
		fputs(node->raw, out);
		return;
	}
	fputc(node->type == TREE_MAP ? '{' : '[', out);
	for (const struct tree_node *item = node->first; item; item = item->next) {
		if (node->type == TREE_MAP)
			fprintf(out, "\"%s\":", item->key);
		tree_write(item, out);
		if (item->next)
			fputc(',', out);
	}
	fputc(node->type == TREE_MAP ? '}' : ']', out);
}

char *tree_print(const struct tree_node *node)
{
	char *text = NULL;
	size_t length;
	FILE *out = node ? open_memstream(&text, &length) : NULL;

	if (!out)
		return NULL;
	tree_write(node, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

struct tree_node *tree_copy(struct tree *tree, const struct tree_node *node)
{
	struct tree_node *copy = node ? tree_new(tree, node->type, node->raw) : NULL;

	if (!copy)
		return NULL;
	for (const struct tree_node *item = node->first; item; item = item->next) {
		struct tree_node *inner = tree_copy(tree, item);

		if (inner)
			inner->key = item->key;
		tree_append(copy, inner);
	}
	return copy;
}

struct tree_node *tree_get(const struct tree_node *map, const char *key)
{
	struct tree_node *item = map && map->type == TREE_MAP ? map->first : NULL;

	while (item && strcmp(item->key, key) != 0)
		item = item->next;
	return item;
}

struct tree_node *tree_at(const struct tree_node *node, const char *path)
{
	char key[64];
	size_t length = strcspn(path, ".");
	struct tree_node *found;

	if (length >= sizeof(key))
		return NULL;
	memcpy(key, path, length);
	key[length] = '\0';
	found = tree_get(node, key);
	return found && path[length] ? tree_at(found, path + length + 1) : found;
}

bool tree_is(const struct tree_node *node, const char *text)
{
	size_t length = strlen(text);

	return node && node->type == TREE_SCALAR && *node->raw == '"' && strncmp(node->raw + 1, text, length) == 0 &&
	       strcmp(node->raw + 1 + length, "\"") == 0;
}

struct tree_node *tree_find(const struct tree_node *list, const char *key, const char *text)
{
	struct tree_node *item = list && list->type == TREE_LIST ? list->first : NULL;

	while (item && text && !tree_is(tree_get(item, key), text))
		item = item->next;
	return text ? item : NULL;
}

const char *tree_text(struct tree *tree, const struct tree_node *node)
{
	if (!node || node->type != TREE_SCALAR || *node->raw != '"')
		return NULL;
	return tree_keep(tree, node->raw + 1, strlen(node->raw) - 2);
}

bool tree_integer(const struct tree_node *node, int64_t *ret_number)
{
	char *end;

	if (!node || node->type != TREE_SCALAR || *node->raw == '"')
		return false;
	errno = 0;
	*ret_number = strtoll(node->raw, &end, 10);
	return errno == 0 && end != node->raw && *end == '\0';
}

void tree_append(struct tree_node *list, struct tree_node *node)
{
	if (!list || !node)
		return;
	node->next = NULL;
	if (list->last)
		list->last->next = node;
	else
		list->first = node;
	list->last = node;
}

void tree_replace(struct tree_node *into, const struct tree_node *from)
{
	into->type = from->type;
	into->raw = from->raw;
	into->first = from->first;
	into->last = from->last;
}

void tree_set(struct tree *tree, struct tree_node *map, const char *key, struct tree_node *node)
{
	struct tree_node *old = tree_get(map, key);

	if (!map || !node)
		return;
	if (old) {
		tree_replace(old, node);
		return;
	}
	node->key = tree_keep(tree, key, strlen(key));
	if (node->key)
		tree_append(map, node);
}

void tree_remove(struct tree_node *map, const char *key)
{
	struct tree_node *before = NULL;
	struct tree_node *item = map && map->type == TREE_MAP ? map->first : NULL;

	for (; item && strcmp(item->key, key) != 0; item = item->next)
		before = item;
	if (!item)
		return;
	if (before)
		before->next = item->next;
	else
		map->first = item->next;
	if (map->last == item)
		map->last = before;
}

struct tree_node *tree_ensure(struct tree *tree, struct tree_node *map, const char *key, enum tree_type type)
{
	struct tree_node *found = tree_get(map, key);

	if (!found || found->type != type) {
		tree_set(tree, map, key, tree_new(tree, type, NULL));
		found = tree_get(map, key);
	}
	return found;
}
