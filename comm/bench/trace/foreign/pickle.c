/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of a pickle (Lib/pickletools.py of CPython describes them), as far as they only put data together.
 * torch writes protocol 2; what Python itself writes of such data, up to protocol 5, is read, too.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comm/bench/trace/foreign/value.h"

/* A place for a value that is used again may be so far beyond what the rest of the pickle could fill. */
#define MEMO_GAP 4096

/* A table of what the pickle may use again; it grows. */
struct memo {
	struct rh_value **items;
	size_t room;
	size_t count;
};

/* What is being decoded. */
struct pickle {
	struct rh_values *values;
	const unsigned char *at;
	const unsigned char *end;
	struct memo stack;
	struct memo memo;
	char *why;
	size_t why_room;
	bool failed;
};

static bool pickle_fail(struct pickle *pickle, const char *why)
{
	if (!pickle->failed)
		(void)snprintf(pickle->why, pickle->why_room, "%s", why);
	pickle->failed = true;
	return false;
}

static bool memo_put(struct pickle *pickle, struct memo *memo, size_t index, struct rh_value *value)
{
	if (index >= memo->room) {
		size_t room = memo->room > 0 ? memo->room : 64;
		struct rh_value **items;

		/* an index that no pickle of this length reaches */
		if (index > (size_t)(pickle->end - pickle->at) + memo->count + MEMO_GAP)
			return pickle_fail(pickle, "it has a place that cannot be");
		while (room <= index)
			room *= 2;
		items = rh_values_take(pickle->values, room * sizeof(struct rh_value *));
		if (!items)
			return pickle_fail(pickle, "it holds too much");
		if (memo->count > 0)
			memcpy(items, memo->items, memo->count * sizeof(struct rh_value *));
		memo->items = items;
		memo->room = room;
	}
	memo->items[index] = value;
	memo->count = index >= memo->count ? index + 1 : memo->count;
	return true;
}

static bool pickle_push(struct pickle *pickle, struct rh_value *value)
{
	if (!value)
		return pickle_fail(pickle, "it holds too much");
	return memo_put(pickle, &pickle->stack, pickle->stack.count, value);
}

static bool pickle_push_number(struct pickle *pickle, enum rh_value_kind kind, int64_t integer)
{
	struct rh_value *value = rh_value_new(pickle->values, kind);

	if (value)
		value->integer = integer;
	return pickle_push(pickle, value);
}

/* @return the value on top, which stays; NULL: there is none */
static struct rh_value *pickle_top(struct pickle *pickle)
{
	struct rh_value *top = pickle->stack.count > 0 ? pickle->stack.items[pickle->stack.count - 1] : NULL;

	if (!top || top->kind == RH_VALUE_MARK)
		(void)pickle_fail(pickle, "it takes a value where there is none");
	return top && top->kind != RH_VALUE_MARK ? top : NULL;
}

/* @return the number that follows, of `bytes` bytes, lowest first */
static uint64_t pickle_number(struct pickle *pickle, size_t bytes)
{
	uint64_t number = 0;

	if ((size_t)(pickle->end - pickle->at) < bytes) {
		(void)pickle_fail(pickle, "it is cut");
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		number |= (uint64_t)*pickle->at++ << (8 * i);
	return number;
}

/* A whole number of up to 8 bytes, with its sign. */
static bool pickle_long(struct pickle *pickle, size_t bytes)
{
	uint64_t number;

	if (bytes > sizeof(number))
		return pickle_fail(pickle, "it has a number beyond 64 bits");
	number = pickle_number(pickle, bytes);
	if (bytes > 0 && bytes < sizeof(number) && number >> (8 * bytes - 1))
		number |= UINT64_MAX << (8 * bytes);
	return !pickle->failed && pickle_push_number(pickle, RH_VALUE_NUMBER, (int64_t)number);
}

static bool pickle_float(struct pickle *pickle)
{
	uint64_t bits = __builtin_bswap64(pickle_number(pickle, sizeof(bits)));
	double value;

	memcpy(&value, &bits, sizeof(value));
	return pickle_push_number(pickle, RH_VALUE_NUMBER, fabs(value) < 9e18 ? (int64_t)value : 0);
}

static bool pickle_text(struct pickle *pickle, uint64_t length)
{
	const char *bytes = (const char *)pickle->at;

	if (pickle->failed || length > (uint64_t)(pickle->end - pickle->at))
		return pickle_fail(pickle, "it is cut");
	pickle->at += length;
	return pickle_push(pickle, rh_value_text(pickle->values, bytes, length));
}

/* @return the place after the latest mark, which is taken off with all that follows; SIZE_MAX: there is none */
static size_t pickle_mark(struct pickle *pickle)
{
	size_t at = pickle->stack.count;

	while (at > 0 && pickle->stack.items[at - 1]->kind != RH_VALUE_MARK)
		at--;
	if (at > 0)
		return at;
	(void)pickle_fail(pickle, "it takes values where there are none");
	return SIZE_MAX;
}

/* Add the values from a place of the stack on to the list or map below them. `mark`: there is one between. */
static bool pickle_add(struct pickle *pickle, enum rh_value_kind kind, size_t first, bool mark)
{
	struct memo *stack = &pickle->stack;
	size_t count = stack->count;
	struct rh_value *whole;

	if (first == SIZE_MAX || first < (mark ? 2U : 1U) || first > count)
		return pickle_fail(pickle, "it takes values where there are none");
	stack->count = mark ? first - 1 : first;
	whole = pickle_top(pickle);
	if (!whole || whole->kind != kind || (kind == RH_VALUE_MAP && (count - first) % 2 != 0))
		return pickle_fail(pickle, "it adds to what is no list");
	for (size_t i = first; i < count; i++) {
		if (stack->items[i]->kind == RH_VALUE_MARK)
			return pickle_fail(pickle, "it takes values where there are none");
		if (!rh_value_append(pickle->values, whole, stack->items[i]))
			return pickle_fail(pickle, "it holds too much");
	}
	return true;
}

/* A tuple of the values from a place of the stack on. */
static bool pickle_tuple(struct pickle *pickle, size_t first, bool mark)
{
	struct rh_value *tuple = rh_value_new(pickle->values, RH_VALUE_LIST);
	struct memo *stack = &pickle->stack;

	if (first > stack->count || !tuple)
		return pickle_fail(pickle, "it takes values where there are none");
	for (size_t i = first; i < stack->count; i++) {
		if (stack->items[i]->kind == RH_VALUE_MARK || !rh_value_append(pickle->values, tuple, stack->items[i]))
			return pickle_fail(pickle, "it takes values where there are none");
	}
	stack->count = mark ? first - 1 : first;
	return pickle_push(pickle, tuple);
}

static bool pickle_recall(struct pickle *pickle, uint64_t index)
{
	struct rh_value *value = index < pickle->memo.count ? pickle->memo.items[index] : NULL;

	return value ? pickle_push(pickle, value) : pickle_fail(pickle, "it uses a value that it has not kept");
}

static bool pickle_keep(struct pickle *pickle, uint64_t index)
{
	struct rh_value *top = pickle_top(pickle);

	return top && memo_put(pickle, &pickle->memo, index, top);
}

/* Instructions that run code, or name it: what makes a pickle dangerous. */
static bool pickle_refuse(struct pickle *pickle, unsigned char code)
{
	static const struct {
		unsigned char code;
		const char *name;
	} names[] = {{'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},      {'b', "BUILD"},
	             {'i', "INST"},      {'o', "OBJ"},           {0x81, "NEWOBJ"},     {0x92, "NEWOBJ_EX"},
	             {0x82, "EXT1"},     {0x83, "EXT2"},         {0x84, "EXT4"},       {'P', "PERSID"},
	             {'Q', "BINPERSID"}, {0x97, "NEXT_BUFFER"},  {0x96, "BYTEARRAY8"}, {0x98, "READONLY_BUFFER"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (names[i].code != code)
			continue;
		if (!pickle->failed)
			(void)snprintf(pickle->why, pickle->why_room,
			               "the pickle has %s, which names or runs code; that of a flight recorder has data alone",
			               names[i].name);
		pickle->failed = true;
		return false;
	}
	if (!pickle->failed)
		(void)snprintf(pickle->why, pickle->why_room, "the pickle has the instruction 0x%02x, which is not read", code);
	pickle->failed = true;
	return false;
}

/* Lists, maps and tuples. */
static bool pickle_run_whole(struct pickle *pickle, unsigned char code)
{
	size_t count = pickle->stack.count;

	switch (code) {
	case ']':
	case ')':
		return pickle_push(pickle, rh_value_new(pickle->values, RH_VALUE_LIST));
	case '}':
		return pickle_push(pickle, rh_value_new(pickle->values, RH_VALUE_MAP));
	case 'a':
		return pickle_add(pickle, RH_VALUE_LIST, count - 1, false);
	case 'e':
		return pickle_add(pickle, RH_VALUE_LIST, pickle_mark(pickle), true);
	case 's':
		return pickle_add(pickle, RH_VALUE_MAP, count - 2, false);
	case 'u':
		return pickle_add(pickle, RH_VALUE_MAP, pickle_mark(pickle), true);
	case 't':
		return pickle_tuple(pickle, pickle_mark(pickle), true);
	case 0x85:
	case 0x86:
	case 0x87:
		return pickle_tuple(pickle, count - (code - 0x84U), false);
	default:
		return pickle_refuse(pickle, code);
	}
}

/* What is kept, and used again. */
static bool pickle_run_memo(struct pickle *pickle, unsigned char code)
{
	switch (code) {
	case 'q':
		return pickle_keep(pickle, pickle_number(pickle, 1));
	case 'r':
		return pickle_keep(pickle, pickle_number(pickle, 4));
	case 0x94:
		return pickle_keep(pickle, pickle->memo.count);
	case 'h':
		return pickle_recall(pickle, pickle_number(pickle, 1));
	case 'j':
		return pickle_recall(pickle, pickle_number(pickle, 4));
	default:
		return pickle_run_whole(pickle, code);
	}
}

/* Single values. */
static bool pickle_run(struct pickle *pickle, unsigned char code)
{
	switch (code) {
	case 0x80: /* PROTO */
		return pickle_number(pickle, 1) <= 5 || pickle_fail(pickle, "its protocol is not known");
	case 0x95: /* FRAME */
		(void)pickle_number(pickle, 8);
		return true;
	case '(':
		return pickle_push_number(pickle, RH_VALUE_MARK, 0);
	case 'N':
		return pickle_push_number(pickle, RH_VALUE_NULL, 0);
	case 0x88:
	case 0x89:
		return pickle_push_number(pickle, RH_VALUE_FLAG, code == 0x88);
	case 'K':
		return pickle_push_number(pickle, RH_VALUE_NUMBER, (int64_t)pickle_number(pickle, 1));
	case 'M':
		return pickle_push_number(pickle, RH_VALUE_NUMBER, (int64_t)pickle_number(pickle, 2));
	case 'J':
		return pickle_long(pickle, 4);
	case 0x8a:
		return pickle_long(pickle, pickle_number(pickle, 1));
	case 'G':
		return pickle_float(pickle);
	case 0x8c:
		return pickle_text(pickle, pickle_number(pickle, 1));
	case 'X':
		return pickle_text(pickle, pickle_number(pickle, 4));
	case 0x8d:
		return pickle_text(pickle, pickle_number(pickle, 8));
	default:
		return pickle_run_memo(pickle, code);
	}
}

struct rh_value *rh_value_parse_pickle(struct rh_values *values, const char *bytes, size_t length, char *why,
                                       size_t room)
{
	struct pickle pickle = {.values = values,
	                        .at = (const unsigned char *)bytes,
	                        .end = (const unsigned char *)bytes + length,
	                        .why = why,
	                        .why_room = room};

	while (!pickle.failed && pickle.at < pickle.end) {
		unsigned char code = *pickle.at++;

		if (code == '.')
			return pickle_top(&pickle);
		(void)pickle_run(&pickle, code);
	}
	(void)pickle_fail(&pickle, "it is cut");
	return NULL;
}
