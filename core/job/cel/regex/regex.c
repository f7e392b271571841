/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thompson's construction: the program is a list of instructions, and a text is compared with all ways through it at
 * once, one character after the other.
 */
#include "job/cel/regex/regex.h"

#include <ctype.h>
#include <string.h>

#include "job/cel/regex/program.h"

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
	int *members;   /* those of the way that is preferred first */
	int *places;    /* of an instruction among them */
	size_t *starts; /* where the way to it begins */
	int count;
};

struct regex_run {
	const struct rh_regex *regex;
	int *room;      /* of the sets and the stack; owned */
	size_t *starts; /* of the sets; owned */
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

/* Go on with what follows at once, or with what stands behind: the former is preferred, but by a lazy repetition. */
static void regex_split(struct rh_regex *regex, int split, int behind, bool lazy)
{
	struct regex_code *code = &regex->code[split];

	code->to = lazy ? behind : split + 1;
	code->other = lazy ? split + 1 : behind;
}

/* Some of it without need: (x)?, or x* */
static int regex_emit_optional(struct rh_regex *regex, const struct rh_regex_node *node, bool again)
{
	int split = regex->count;
	int r = regex_push(regex, (struct regex_code){.what = REGEX_DO_SPLIT});

	if (r == 0)
		r = regex_emit(regex, node->left);
	if (r == 0 && again)
		r = regex_push(regex, (struct regex_code){.what = REGEX_DO_JUMP, .to = split});
	if (r == 0)
		regex_split(regex, split, regex->count, node->lazy);
	return r;
}

/* x+, the whole of it once more without need where @p optional */
static int regex_emit_plus(struct rh_regex *regex, const struct rh_regex_node *node, bool optional)
{
	int split = regex->count, start, back;
	int r = optional ? regex_push(regex, (struct regex_code){.what = REGEX_DO_SPLIT}) : 0;

	start = regex->count;
	if (r == 0)
		r = regex_emit(regex, node->left);
	back = regex->count;
	if (r == 0)
		r = regex_push(regex, (struct regex_code){.what = REGEX_DO_SPLIT});
	if (r < 0)
		return r;
	regex->code[back].to = node->lazy ? back + 1 : start;
	regex->code[back].other = node->lazy ? start : back + 1;
	if (optional)
		regex_split(regex, split, regex->count, node->lazy);
	return 0;
}

/* @return whether it can match without a character */
static bool regex_is_nullable(const struct rh_regex *regex, int index)
{
	const struct rh_regex_node *node = &regex->tree.nodes[index];

	switch (node->op) {
	case RH_REGEX_SET:
		return false;
	case RH_REGEX_CAT:
		return regex_is_nullable(regex, node->right) && regex_is_nullable(regex, node->left);
	case RH_REGEX_ALT:
		return regex_is_nullable(regex, node->right) || regex_is_nullable(regex, node->left);
	case RH_REGEX_REPEAT:
		return node->least == 0 || regex_is_nullable(regex, node->left);
	case RH_REGEX_EMPTY:
	case RH_REGEX_ASSERT:
		return true;
	}
	return true;
}

/* As Go does it: x* of what can be empty is (x+)?, or the order of ways would be another (golang.org/issue/46123). */
static int regex_emit_repeat(struct rh_regex *regex, const struct rh_regex_node *node)
{
	int r = 0;

	if (node->most < 0 && node->least == 0)
		return regex_is_nullable(regex, node->left) ? regex_emit_plus(regex, node, true)
		                                            : regex_emit_optional(regex, node, true);
	for (int i = node->most < 0 ? 1 : 0; r == 0 && i < node->least; i++)
		r = regex_emit(regex, node->left);
	if (r == 0 && node->most < 0)
		return regex_emit_plus(regex, node, false);
	for (int i = node->least; r == 0 && i < node->most; i++)
		r = regex_emit_optional(regex, node, false);
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

static bool regex_add(struct regex_set *set, int index, size_t start)
{
	int place = set->places[index];

	if (place < set->count && set->members[place] == index)
		return false;
	set->places[index] = set->count;
	set->starts[set->count] = start;
	set->members[set->count++] = index;
	return true;
}

/*
 * Add an instruction, and what it leads to without a character, up to the end of the program: what would come behind
 * that is not preferred to it. @return whether the end is among them
 */
static bool regex_follow(struct regex_run *run, struct regex_set *set, int index, size_t start)
{
	const struct rh_regex *regex = run->regex;
	int depth = 0;

	run->stack[depth++] = index;
	while (depth > 0) {
		const struct regex_code *code;

		index = run->stack[--depth];
		code = &regex->code[index];
		if (!regex_add(set, index, start))
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
		    regex_follow(run, &run->next, index + 1, 0))
			return true;
	}
	run->now = run->next;
	run->next = old;
	return false;
}

/* Look at a place of the text. @return bytes of the character there; 0 at the end */
static size_t regex_look(struct regex_run *run, const char *text, size_t length, size_t at)
{
	run->start = at == 0;
	run->end = at == length;
	run->after = 0;
	return at < length ? rh_regex_letter(text + at, length - at, &run->after) : 0;
}

static bool regex_search(struct regex_run *run, const char *text, size_t length)
{
	size_t at = 0;

	for (;;) {
		size_t bytes = regex_look(run, text, length, at);
		uint32_t letter = run->after;

		if (regex_follow(run, &run->now, 0, 0))
			return true;
		if (bytes == 0)
			return false;
		run->before = letter;
		at += bytes;
		(void)regex_look(run, text, length, at);
		if (regex_step(run, letter))
			return true;
	}
}

/*
 * Go on behind a letter, 0 bytes of which are the end of the text; up to where the program ends: all that comes behind
 * it is not preferred to it. @return whether it ends at @p at, before the letter; then where its way begins
 */
static bool regex_go_on(struct regex_run *run, uint32_t letter, size_t bytes, size_t *ret_start)
{
	const struct rh_regex *regex = run->regex;
	struct regex_set old = run->now;
	bool ends = false;

	run->next.count = 0;
	for (int i = 0; i < old.count && !ends; i++) {
		const struct regex_code *code = &regex->code[old.members[i]];

		ends = code->what == REGEX_DO_MATCH;
		if (ends)
			*ret_start = old.starts[i];
		else if (bytes && code->what == REGEX_DO_SET &&
		         rh_regex_set_has(&regex->tree, &regex->tree.nodes[code->node], letter))
			(void)regex_follow(run, &run->next, old.members[i] + 1, old.starts[i]);
	}
	run->now = run->next;
	run->next = old;
	return ends;
}

/* The leftmost match, and of those the one that is preferred. */
static bool regex_find(struct regex_run *run, const char *text, size_t length, struct rh_regex_match *match)
{
	size_t at = match->from;
	bool found = false;

	/* of the letter before it counts only whether it is one of ASCII */
	run->before = at > 0 ? (unsigned char)text[at - 1] : 0;
	for (;;) {
		size_t bytes = regex_look(run, text, length, at);
		uint32_t letter = run->after;

		if (!found)
			(void)regex_follow(run, &run->now, 0, at);
		if (bytes > 0) {
			run->before = letter;
			(void)regex_look(run, text, length, at + bytes);
		}
		if (regex_go_on(run, letter, bytes, &match->start)) {
			found = true;
			match->end = at;
		}
		at += bytes;
		match->read = at - match->from;
		if (bytes == 0 || (found && run->now.count == 0))
			return found;
	}
}

static void regex_run_deinit(struct regex_run *run)
{
	rh_free(run->room);
	rh_free(run->starts);
}

/* A run over one text. */
#define auto_run __attribute__((cleanup(regex_run_deinit))) struct regex_run

/* @return 0, RH_EINVAL (too long) or RH_ENOMEM */
static int regex_prepare(const struct rh_regex *regex, size_t length, struct regex_run *run)
{
	size_t count = (size_t)regex->count;

	if (length > REGEX_STEPS_MAX / count)
		return RH_EINVAL;
	run->room = rh_alloc_array(count * 6 + 2, sizeof(*run->room));
	run->starts = rh_alloc_array(count * 2, sizeof(*run->starts));
	if (!run->room || !run->starts)
		return RH_ENOMEM;
	run->regex = regex;
	run->now = (struct regex_set){run->room, run->room + count, run->starts, 0};
	run->next = (struct regex_set){run->room + 2 * count, run->room + 3 * count, run->starts + count, 0};
	run->stack = run->room + 4 * count;
	return 0;
}

int rh_regex_search(const struct rh_regex *regex, const char *text, size_t length, bool *ret_found)
{
	auto_run run = {0};
	int r = regex_prepare(regex, length, &run);

	if (r == 0)
		*ret_found = regex_search(&run, text, length);
	return r;
}

int rh_regex_find(const struct rh_regex *regex, const char *text, size_t length, struct rh_regex_match *match,
                  bool *ret_found)
{
	auto_run run = {0};
	int r = regex_prepare(regex, length, &run);

	if (r == 0)
		*ret_found = regex_find(&run, text, length, match);
	return r;
}
