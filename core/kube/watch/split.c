/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/watch/split.h"

#include <string.h>

/* A buffer that a large object enlarged beyond this is freed. */
#define SPLIT_KEEP (256u * 1024)
/* Longest key that a path to drop can name, its end included. */
#define SPLIT_KEY_ROOM 16

/* Role of the scanned value. */
enum split_role { SPLIT_SKIPPED, SPLIT_KEY, SPLIT_METADATA, SPLIT_OBJECT };

/* Expected token outside of values. */
enum split_at {
	SPLIT_START,
	SPLIT_FIRST_KEY, /* or } */
	SPLIT_NEXT_KEY,
	SPLIT_COLON,
	SPLIT_MEMBER,
	SPLIT_AFTER_MEMBER,
	SPLIT_FIRST_ITEM, /* or ] */
	SPLIT_NEXT_ITEM,
	SPLIT_AFTER_ITEM,
	SPLIT_DONE,
	SPLIT_INSIDE /* a value */
};

/* State of the scan of one value. The scan finds its end; the parser checks its syntax. */
struct split_value {
	unsigned char arrays[RH_JSON_DEPTH_MAX / 8 + 1]; /* a bit for each level: is it an array? */
	size_t depth;
	size_t beyond;  /* open levels below the deepest kept one */
	size_t path;    /* matched steps of the path to drop */
	size_t keyed;   /* bytes of the current key */
	bool bare;      /* a number or literal: it ends before the next token */
	bool in_string; /* between quotes */
	bool escaped;   /* after a backslash */
	bool wants_key; /* the next string is a key */
	bool is_key;    /* this string is one */
	bool dropping;  /* the value is dropped */
	bool done;
	char key[SPLIT_KEY_ROOM];
};

struct rh_split {
	enum rh_split_form form;
	size_t limit;
	rh_split_fn *fn;
	void *arg;
	enum split_at at;
	enum split_role role; /* of the scanned value, or of the value after the last key */
	bool items_next;      /* the last key is "items" */
	bool items_seen;
	bool keep_managed; /* nothing is dropped */
	struct split_value value;
	struct rh_str text; /* kept part of the value */
	const char *run;    /* bytes of the current piece to keep; NULL: none */
	size_t run_length;
	struct rh_json *metadata;
};

static const char *const split_item_path[] = {"metadata", "managedFields", NULL};
static const char *const split_event_path[] = {"object", "metadata", "managedFields", NULL};

struct rh_split *rh_split_new(enum rh_split_form form, size_t limit, rh_split_fn *fn, void *arg)
{
	struct rh_split *split = rh_alloc(sizeof(*split));

	if (!split)
		return NULL;
	split->form = form;
	split->limit = limit ? limit : RH_SPLIT_LIMIT;
	split->fn = fn;
	split->arg = arg;
	return split;
}

void rh_split_keep_managed(struct rh_split *split)
{
	split->keep_managed = true;
}

void rh_split_free(struct rh_split *split)
{
	if (!split)
		return;
	rh_str_deinit(&split->text);
	rh_json_free(split->metadata);
	rh_free(split);
}

const struct rh_json *rh_split_metadata(const struct rh_split *split)
{
	return split->metadata;
}

static const char *const *split_path(const struct rh_split *split)
{
	return split->form == RH_SPLIT_LIST ? split_item_path : split_event_path;
}

static bool split_is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Does a number or literal end before @p c? */
static bool split_ends_bare(char c)
{
	switch (c) {
	case '{':
	case '}':
	case '[':
	case ']':
	case ',':
	case ':':
	case '"':
	case '\0':
		return true;
	default:
		return split_is_space(c);
	}
}

static bool split_in_array(const struct split_value *value)
{
	return (value->arrays[value->depth / 8] >> value->depth % 8 & 1) != 0;
}

/* Append the current run to the kept text. */
static int split_flush(struct rh_split *split, struct rh_error *err)
{
	const char *run = rh_take(split->run);

	if (!run)
		return 0;
	rh_str_append_bytes(&split->text, run, split->run_length);
	return split->text.failed ? rh_fail_oom(err) : 0;
}

/* Keep bytes of the value unless they are dropped. They must stay valid until they are flushed. */
static int split_keep(struct rh_split *split, const char *data, size_t length, struct rh_error *err)
{
	int r = 0;

	if (split->role == SPLIT_SKIPPED || split->value.dropping || split->value.beyond > 0)
		return 0;
	if (length > split->limit - split->text.length - (split->run ? split->run_length : 0))
		return rh_fail(err, RH_EINVAL, "an object of the server's answer has more than %zu bytes", split->limit);
	if (split->run && split->run + split->run_length == data) {
		split->run_length += length;
		return 0;
	}
	r = split_flush(split, err);
	split->run = data;
	split->run_length = length;
	return r;
}

/* A member ended: leave its step of the path. */
static int split_leave_member(struct rh_split *split, struct rh_error *err)
{
	struct split_value *value = &split->value;

	if (value->path == 0 || value->path != value->depth)
		return 0;
	value->path--;
	if (!value->dropping)
		return 0;
	value->dropping = false;
	return split_keep(split, "null", 4, err);
}

/* A key ended: is it the next step of the path to drop? */
static int split_enter_member(struct rh_split *split, const char *at, struct rh_error *err)
{
	struct split_value *value = &split->value;
	const char *step = split_path(split)[value->path];
	int r = split_keep(split, at, 1, err);

	value->wants_key = false;
	if (r < 0 || value->beyond > 0 || split->role != SPLIT_OBJECT || value->dropping || split->keep_managed ||
	    value->depth != value->path + 1 || value->keyed != strlen(step) || memcmp(value->key, step, value->keyed) != 0)
		return r;
	value->path++;
	value->dropping = !split_path(split)[value->path];
	return 0;
}

/*
 * Values nested too deeply become null. No field of Kubernetes is that deep, but a template without a schema may hold
 * anything, and must not block the objects of other users.
 */
static int split_open_beyond(struct rh_split *split, struct rh_error *err)
{
	int r = split_keep(split, "null", 4, err);

	split->value.beyond++;
	return r;
}

static int split_open(struct rh_split *split, const char *at, struct rh_error *err)
{
	struct split_value *value = &split->value;
	unsigned char bit;

	if (value->depth == RH_JSON_DEPTH_MAX)
		return split_open_beyond(split, err);
	value->depth++;
	bit = (unsigned char)(1u << value->depth % 8);
	if (*at == '[')
		value->arrays[value->depth / 8] |= bit;
	else
		value->arrays[value->depth / 8] &= (unsigned char)~bit;
	value->wants_key = *at == '{';
	return split_keep(split, at, 1, err);
}

static int split_close(struct rh_split *split, const char *at, struct rh_error *err)
{
	struct split_value *value = &split->value;
	int r;

	if (value->beyond > 0) {
		value->beyond--;
		return 0;
	}
	if (value->depth == 0 || split_in_array(value) != (*at == ']'))
		return rh_fail(err, RH_EINVAL, "the server's answer is not JSON: a bracket does not match");
	r = split_leave_member(split, err);
	if (r == 0)
		r = split_keep(split, at, 1, err);
	value->depth--;
	value->wants_key = false;
	value->done = value->depth == 0;
	return r;
}

static int split_comma(struct rh_split *split, const char *at, struct rh_error *err)
{
	struct split_value *value = &split->value;
	int r = value->beyond > 0 ? 0 : split_leave_member(split, err);

	value->wants_key = !split_in_array(value);
	return r == 0 ? split_keep(split, at, 1, err) : r;
}

static int split_quote(struct rh_split *split, const char *at, struct rh_error *err)
{
	struct split_value *value = &split->value;

	value->in_string = true;
	value->is_key = value->wants_key && value->depth > 0;
	value->keyed = 0;
	return split_keep(split, at, 1, err);
}

/* @return how many bytes belong to the open string; closes it when its end is among them */
static size_t split_measure_string(struct split_value *value, const char *data, size_t length)
{
	size_t i = 0;

	for (; i < length && value->in_string; i++) {
		if (value->escaped)
			value->escaped = false;
		else if (data[i] == '\\')
			value->escaped = true;
		else if (data[i] == '"')
			value->in_string = false;
	}
	return i;
}

/* Store the text of a key; one that is too long only has to differ from every step. */
static void split_note_key(struct split_value *value, const char *data, size_t length)
{
	size_t room = SPLIT_KEY_ROOM - value->keyed;
	size_t taken = length < room ? length : room;

	memcpy(value->key + value->keyed, data, taken);
	value->keyed += taken;
}

static int split_string(struct rh_split *split, const char *data, size_t length, size_t *ret_used, struct rh_error *err)
{
	struct split_value *value = &split->value;
	size_t used = split_measure_string(value, data, length);

	if (value->is_key)
		split_note_key(value, data, value->in_string ? used : used - 1);
	value->done = !value->in_string && value->depth == 0;
	*ret_used = used;
	return split_keep(split, data, used, err);
}

/* Numbers and literals, which end at the next token. */
static int split_bare(struct rh_split *split, const char *data, size_t length, size_t *ret_used, struct rh_error *err)
{
	struct split_value *value = &split->value;
	size_t used = 0;

	while (used < length && !split_ends_bare(data[used]))
		used++;
	if (value->depth == 0) {
		value->done = used < length;
		value->bare = true;
	}
	*ret_used = used;
	return split_keep(split, data, used, err);
}

/* One structural byte, or white space. */
static int split_mark(struct rh_split *split, const char *at, struct rh_error *err)
{
	switch (*at) {
	case '"':
		return split_quote(split, at, err);
	case '{':
	case '[':
		return split_open(split, at, err);
	case '}':
	case ']':
		return split_close(split, at, err);
	case ',':
		return split_comma(split, at, err);
	case ':':
		return split_enter_member(split, at, err);
	case '\0':
		return rh_fail(err, RH_EINVAL, "the server's answer is not JSON: it holds a zero byte");
	default:
		return split_keep(split, at, 1, err);
	}
}

/* Scan a value up to its end or the end of the piece. */
static int split_scan(struct rh_split *split, const char *data, size_t length, size_t *ret_used, struct rh_error *err)
{
	struct split_value *value = &split->value;
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < length && !value->done) {
		size_t used = 1;

		if (value->in_string)
			r = split_string(split, data + at, length - at, &used, err);
		else if (value->bare || !split_ends_bare(data[at]))
			r = split_bare(split, data + at, length - at, &used, err);
		else
			r = split_mark(split, data + at, err);
		at += used;
	}
	*ret_used = at;
	return r == 0 ? split_flush(split, err) : r;
}

/* Parse the kept text. */
static int split_parse(struct rh_split *split, struct rh_json **ret_json, struct rh_error *err)
{
	int r = rh_json_parse_lenient(rh_str_text(&split->text), split->text.length, ret_json, err);

	return r < 0 ? rh_wrap(err, r, "the server's answer") : 0;
}

static void split_forget_text(struct rh_split *split)
{
	if (split->text.capacity > SPLIT_KEEP)
		rh_str_deinit(&split->text);
	else
		rh_str_clear(&split->text);
}

static int split_take_key(struct rh_split *split)
{
	const char *key = rh_str_text(&split->text);

	split->items_next = strcmp(key, "\"items\"") == 0;
	split->role = strcmp(key, "\"metadata\"") == 0 ? SPLIT_METADATA : SPLIT_SKIPPED;
	split->at = SPLIT_COLON;
	return 0;
}

static int split_take_metadata(struct rh_split *split, struct rh_error *err)
{
	struct rh_json *metadata = NULL;
	int r = split_parse(split, &metadata, err);

	if (r < 0)
		return r;
	rh_json_free(split->metadata);
	split->metadata = metadata;
	split->at = SPLIT_AFTER_MEMBER;
	return 0;
}

static int split_take_object(struct rh_split *split, struct rh_error *err)
{
	bool list = split->form == RH_SPLIT_LIST;
	rh_auto(json) json = NULL;
	int r = split_parse(split, &json, err);

	if (r < 0)
		return r;
	if (!split->keep_managed)
		rh_json_remove(rh_json_get(list ? json : rh_json_get(json, "object"), "metadata"), "managedFields");
	split->at = list ? SPLIT_AFTER_ITEM : SPLIT_START;
	return split->fn(split->arg, json, err);
}

static int split_take_value(struct rh_split *split, struct rh_error *err)
{
	int r = 0;

	switch (split->role) {
	case SPLIT_KEY:
		r = split_take_key(split);
		break;
	case SPLIT_METADATA:
		r = split_take_metadata(split, err);
		break;
	case SPLIT_OBJECT:
		r = split_take_object(split, err);
		break;
	case SPLIT_SKIPPED:
		split->at = SPLIT_AFTER_MEMBER;
		break;
	}
	split_forget_text(split);
	return r;
}

/* Start a value at the next byte. */
static void split_begin(struct rh_split *split, enum split_role role)
{
	split->value = (struct split_value){0};
	split->role = role;
	split->at = SPLIT_INSIDE;
}

static int split_fail(const struct rh_split *split, char c, struct rh_error *err)
{
	return rh_fail(err, RH_EINVAL, "the server's answer is not a %s: unexpected byte 0x%02x",
	               split->form == RH_SPLIT_LIST ? "list" : "stream of events", (unsigned char)c);
}

/* Transition table: *@p c must be one of these, then the state is next. */
struct split_step {
	enum split_at at;
	char c;
	enum split_at next;
};

static bool split_follow(struct rh_split *split, char c)
{
	static const struct split_step steps[] = {
		{SPLIT_FIRST_KEY, '}', SPLIT_DONE},          {SPLIT_AFTER_MEMBER, ',', SPLIT_NEXT_KEY},
		{SPLIT_AFTER_MEMBER, '}', SPLIT_DONE},       {SPLIT_COLON, ':', SPLIT_MEMBER},
		{SPLIT_FIRST_ITEM, ']', SPLIT_AFTER_MEMBER}, {SPLIT_AFTER_ITEM, ',', SPLIT_NEXT_ITEM},
		{SPLIT_AFTER_ITEM, ']', SPLIT_AFTER_MEMBER},
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i].at == split->at && steps[i].c == c) {
			split->at = steps[i].next;
			return true;
		}
	}
	return false;
}

/* Start a value if one may begin here. @return whether it does, or the byte was consumed; else the byte is wrong */
static bool split_begin_at(struct rh_split *split, char c, bool *ret_taken)
{
	enum split_at at = split->at;

	*ret_taken = false;
	if (at == SPLIT_START && c == '{' && split->form == RH_SPLIT_LIST) {
		split->at = SPLIT_FIRST_KEY;
		*ret_taken = true;
	} else if ((at == SPLIT_START || at == SPLIT_FIRST_ITEM || at == SPLIT_NEXT_ITEM) && c == '{') {
		split_begin(split, SPLIT_OBJECT);
	} else if ((at == SPLIT_FIRST_KEY || at == SPLIT_NEXT_KEY) && c == '"') {
		split_begin(split, SPLIT_KEY);
	} else if (at == SPLIT_MEMBER && split->items_next) {
		split->items_seen = true;
		*ret_taken = c == '[';
		if (c == '[')
			split->at = SPLIT_FIRST_ITEM;
		else
			split_begin(split, SPLIT_SKIPPED);
		return c == '[' || c == 'n';
	} else if (at == SPLIT_MEMBER) {
		split_begin(split, split->role);
		return !strchr("]},:", c);
	} else {
		return false;
	}
	return true;
}

/* One byte outside of values. @param[out] ret_taken false: a value begins with it */
static int split_envelope(struct rh_split *split, char c, bool *ret_taken, struct rh_error *err)
{
	*ret_taken = true;
	if (split_is_space(c) || split_follow(split, c))
		return 0;
	return split_begin_at(split, c, ret_taken) ? 0 : split_fail(split, c, err);
}

int rh_split_feed(struct rh_split *split, const char *data, size_t length, struct rh_error *err)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < length) {
		size_t used = 0;
		bool taken;

		if (split->at != SPLIT_INSIDE) {
			r = split_envelope(split, data[at], &taken, err);
			at += taken;
			continue;
		}
		r = split_scan(split, data + at, length - at, &used, err);
		at += used;
		if (r == 0 && split->value.done)
			r = split_take_value(split, err);
	}
	return r;
}

int rh_split_end(const struct rh_split *split, struct rh_error *err)
{
	enum split_at end = split->form == RH_SPLIT_LIST ? SPLIT_DONE : SPLIT_START;

	if (split->at != end)
		return rh_fail(err, RH_EINVAL, "the server's answer ends in the middle");
	if (split->form == RH_SPLIT_LIST && !split->items_seen)
		return rh_fail(err, RH_EINVAL, "the server's answer is not a list: it has no items");
	return 0;
}
