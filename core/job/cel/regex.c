/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thompson's construction: the program is a list of instructions, and a text is compared with all ways through it at
 * once, one character after the other.
 */
#include "job/cel/regex.h"

#include <ctype.h>
#include <string.h>

#include "job/cel/regex_program.h"

/* Most instructions that one comparison looks at. */
#define REGEX_STEPS_MAX 100000000u

/* What an instruction does. */
enum regex_do { REGEX_DO_SET, REGEX_DO_ASSERT, REGEX_DO_JUMP, REGEX_DO_SPLIT, REGEX_DO_MATCH };

struct regex_code {
	enum regex_do what;
	int node; /* of the tree */
	int to, other;
};

struct rh_regex {
	struct rh_regex_tree tree;
	struct regex_code *code;
	int count, room;
};

/* The instructions that are reached at one place of the text. */
struct regex_set {
	int *members; /* in any order */
	int *places;  /* of an instruction among them */
	int count;
};

struct regex_run {
	const struct rh_regex *regex;
	struct regex_set now, next;
	int *stack;
	uint32_t before, after; /* letters around the place; 0 is none */
	bool start, end;
};

static int regex_emit(struct rh_regex *regex, int index);

static int regex_push(struct rh_regex *regex, struct regex_code code)
{
	if (regex->count == regex->room) {
		struct regex_code *grown = rh_realloc_array(regex->code, (size_t)regex->room * 2 + 16, sizeof(code));

		if (!grown || regex->room > RH_REGEX_CODE_MAX) {
			regex->code = grown ? grown : regex->code;
			return grown ? RH_EINVAL : RH_ENOMEM;
		}
		regex->code = grown;
		regex->room = regex->room * 2 + 16;
	}
	regex->code[regex->count++] = code;
	return 0;
}

/* Some of it without need: (x)?, or x* */
static int regex_emit_optional(struct rh_regex *regex, int node, bool again)
{
	int split = regex->count;
	int r = regex_push(regex, (struct regex_code){.what = REGEX_DO_SPLIT, .to = split + 1});

	if (r == 0)
		r = regex_emit(regex, node);
	if (r == 0 && again)
		r = regex_push(regex, (struct regex_code){.what = REGEX_DO_JUMP, .to = split});
	if (r == 0)
		regex->code[split].other = regex->count;
	return r;
}

static int regex_emit_repeat(struct rh_regex *regex, const struct rh_regex_node *node)
{
	int r = 0;

	for (int i = 0; r == 0 && i < node->least; i++)
		r = regex_emit(regex, node->left);
	if (r == 0 && node->most < 0)
		return regex_emit_optional(regex, node->left, true);
	for (int i = node->least; r == 0 && i < node->most; i++)
		r = regex_emit_optional(regex, node->left, false);
	return r;
}

static int regex_emit_alternatives(struct rh_regex *regex, const struct rh_regex_node *node)
{
	int split = regex->count, jump;
	int r = regex_push(regex, (struct regex_code){.what = REGEX_DO_SPLIT, .to = split + 1});

	if (r == 0)
		r = regex_emit(regex, node->left);
	jump = regex->count;
	if (r == 0)
		r = regex_push(regex, (struct regex_code){.what = REGEX_DO_JUMP});
	if (r < 0)
		return r;
	regex->code[split].other = regex->count;
	r = regex_emit(regex, node->right);
	regex->code[jump].to = regex->count;
	return r;
}

/* How deep it goes is bounded: a sequence goes down to its left alone, as long as it has nodes. */
static int regex_emit(struct rh_regex *regex, int index)
{
	const struct rh_regex_node *node = &regex->tree.nodes[index];
	int r;

	switch (node->op) {
	case RH_REGEX_EMPTY:
		return 0;
	case RH_REGEX_SET:
		return regex_push(regex, (struct regex_code){.what = REGEX_DO_SET, .node = index});
	case RH_REGEX_ASSERT:
		return regex_push(regex, (struct regex_code){.what = REGEX_DO_ASSERT, .node = index});
	case RH_REGEX_CAT:
		r = regex_emit(regex, node->left);
		return r < 0 ? r : regex_emit(regex, node->right);
	case RH_REGEX_ALT:
		return regex_emit_alternatives(regex, node);
	case RH_REGEX_REPEAT:
		return regex_emit_repeat(regex, node);
	}
	return RH_EINVAL;
}

int rh_regex_compile(const char *pattern, size_t length, struct rh_regex **ret_regex, struct rh_error *err)
{
	rh_auto(regex) regex = rh_alloc(sizeof(*regex));
	int r = regex ? rh_regex_tree_parse(pattern, length, &regex->tree, err) : rh_fail_oom(err);

	if (r < 0)
		return r;
	r = regex_emit(regex, regex->tree.root);
	if (r == 0)
		r = regex_push(regex, (struct regex_code){.what = REGEX_DO_MATCH});
	if (r < 0)
		return r == RH_ENOMEM ? rh_fail_oom(err)
		                      : rh_fail(err, RH_EINVAL, "regular expression: it is too large, with its repetitions");
	*ret_regex = rh_take(regex);
	return 0;
}

void rh_regex_free(struct rh_regex *regex)
{
	if (!regex)
		return;
	rh_regex_tree_deinit(&regex->tree);
	rh_free(regex->code);
	rh_free(regex);
}

static bool regex_is_word(uint32_t letter)
{
	return letter < 0x80 && (isalnum((int)letter) || letter == '_');
}

static bool regex_holds(const struct regex_run *run, char assertion)
{
	bool border = regex_is_word(run->before) != regex_is_word(run->after);

	switch (assertion) {
	case 'A':
		return run->start;
	case 'z':
		return run->end;
	case '^':
		return run->start || run->before == '\n';
	case '$':
		return run->end || run->after == '\n';
	case 'b':
		return border;
	default:
		return !border;
	}
}

static bool regex_add(struct regex_set *set, int index)
{
	int place = set->places[index];

	if (place < set->count && set->members[place] == index)
		return false;
	set->places[index] = set->count;
	set->members[set->count++] = index;
	return true;
}

/* Add an instruction, and what it leads to without a character. @return whether the end of the program is among them */
static bool regex_follow(struct regex_run *run, struct regex_set *set, int index)
{
	const struct rh_regex *regex = run->regex;
	int depth = 0;

	run->stack[depth++] = index;
	while (depth > 0) {
		const struct regex_code *code;

		index = run->stack[--depth];
		code = &regex->code[index];
		if (!regex_add(set, index))
			continue;
		if (code->what == REGEX_DO_MATCH)
			return true;
		if (code->what == REGEX_DO_ASSERT && regex_holds(run, regex->tree.nodes[code->node].assertion))
			run->stack[depth++] = index + 1;
		if (code->what == REGEX_DO_SPLIT)
			run->stack[depth++] = code->other;
		if (code->what == REGEX_DO_JUMP || code->what == REGEX_DO_SPLIT)
			run->stack[depth++] = code->to;
	}
	return false;
}

/* @return whether it is matched behind the letter */
static bool regex_step(struct regex_run *run, uint32_t letter)
{
	const struct rh_regex *regex = run->regex;
	struct regex_set old = run->now;

	run->next.count = 0;
	for (int i = 0; i < run->now.count; i++) {
		int index = run->now.members[i];
		const struct regex_code *code = &regex->code[index];

		if (code->what == REGEX_DO_SET && rh_regex_set_has(&regex->tree, &regex->tree.nodes[code->node], letter) &&
		    regex_follow(run, &run->next, index + 1))
			return true;
	}
	run->now = run->next;
	run->next = old;
	return false;
}

static bool regex_search(struct regex_run *run, const char *text, size_t length)
{
	size_t at = 0;
	uint32_t letter = 0;

	for (;;) {
		size_t bytes = at < length ? rh_regex_letter(text + at, length - at, &letter) : 0;

		run->start = at == 0;
		run->end = at == length;
		run->after = bytes ? letter : 0;
		if (regex_follow(run, &run->now, 0))
			return true;
		if (bytes == 0)
			return false;
		run->before = letter;
		at += bytes;
		run->start = false;
		run->end = at == length;
		run->after = 0;
		if (at < length)
			(void)rh_regex_letter(text + at, length - at, &run->after);
		if (regex_step(run, letter))
			return true;
	}
}

int rh_regex_search(const struct rh_regex *regex, const char *text, size_t length, bool *ret_found)
{
	size_t count = (size_t)regex->count;
	rh_auto_free int *room = rh_alloc_array(count * 6 + 2, sizeof(int));
	struct regex_run run = {.regex = regex};

	if (length > REGEX_STEPS_MAX / count)
		return RH_EINVAL;
	if (!room)
		return RH_ENOMEM;
	run.now = (struct regex_set){room, room + count, 0};
	run.next = (struct regex_set){room + 2 * count, room + 3 * count, 0};
	run.stack = room + 4 * count;
	*ret_found = regex_search(&run, text, length);
	return 0;
}
