/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "job/cel/regex/program.h"

#define PARSE_DEPTH_MAX 100
#define PARSE_REPEAT_MAX 1000
#define PARSE_LETTER_MAX 0x10FFFFu

/* Flags that hold up to the end of a group. */
struct parse_flags {
	bool fold, lines, dot_all, lazy;
};

struct parse {
	const char *pattern;
	size_t length, at, depth;
	struct parse_flags flags;
	struct rh_regex_tree *tree;
	struct rh_error *err;
};

struct parse_class {
	const char *name;
	struct rh_regex_range ranges[4];
};

static const struct parse_class parse_classes[] = {
	{"d", {{'0', '9'}}},
	{"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}},
	{"w", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
	{"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
	{"alpha", {{'A', 'Z'}, {'a', 'z'}}},
	{"ascii", {{1, 0x7F}}},
	{"blank", {{'\t', '\t'}, {' ', ' '}}},
	{"cntrl", {{1, 0x1F}, {0x7F, 0x7F}}},
	{"digit", {{'0', '9'}}},
	{"graph", {{'!', '~'}}},
	{"lower", {{'a', 'z'}}},
	{"print", {{' ', '~'}}},
	{"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
	{"space", {{'\t', '\r'}, {' ', ' '}}},
	{"upper", {{'A', 'Z'}}},
	{"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
	{"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};

static int parse_alternatives(struct parse *parse, int *ret_node);

static int parse_refuse(const struct parse *parse, const char *what)
{
	return rh_fail(parse->err, RH_EINVAL, "regular expression: %s at character %zu", what, parse->at + 1);
}

static bool parse_next_is(const struct parse *parse, const char *text)
{
	size_t length = strlen(text);

	return parse->length - parse->at >= length && memcmp(parse->pattern + parse->at, text, length) == 0;
}

static bool parse_skip(struct parse *parse, const char *text)
{
	if (!parse_next_is(parse, text))
		return false;
	parse->at += strlen(text);
	return true;
}

static int parse_node(struct parse *parse, struct rh_regex_node node, int *ret_node)
{
	struct rh_regex_tree *tree = parse->tree;

	if (tree->node_count == tree->room)
		return parse_refuse(parse, "it is too long");
	*ret_node = (int)tree->node_count;
	tree->nodes[tree->node_count++] = node;
	return 0;
}

static int parse_range(struct parse *parse, uint32_t low, uint32_t high)
{
	struct rh_regex_tree *tree = parse->tree;

	if (tree->range_count == tree->room)
		return parse_refuse(parse, "it is too long");
	tree->ranges[tree->range_count++] = (struct rh_regex_range){low, high};
	return 0;
}

/* The ranges of a class, or those between them. */
static int parse_add_class(struct parse *parse, const struct parse_class *class_, bool inverse)
{
	uint32_t next = 0;
	int r = 0;

	for (size_t i = 0; i < 4 && class_->ranges[i].high && r == 0; i++) {
		const struct rh_regex_range *range = &class_->ranges[i];

		if (!inverse)
			r = parse_range(parse, range->low, range->high);
		else if (range->low > next)
			r = parse_range(parse, next, range->low - 1);
		next = range->high + 1;
	}
	return r == 0 && inverse ? parse_range(parse, next, PARSE_LETTER_MAX) : r;
}

static const struct parse_class *parse_find_class(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(parse_classes) / sizeof(*parse_classes); i++) {
		if (strlen(parse_classes[i].name) == length && memcmp(parse_classes[i].name, name, length) == 0)
			return &parse_classes[i];
	}
	return NULL;
}

static int parse_hex(struct parse *parse, uint32_t *ret_letter)
{
	bool braces = parse_skip(parse, "{");
	size_t start = parse->at, most = braces ? 6 : 2;

	*ret_letter = 0;
	for (; parse->at < parse->length && parse->at - start < most; parse->at++) {
		char digit = parse->pattern[parse->at];

		if (!isxdigit((unsigned char)digit))
			break;
		*ret_letter =
			*ret_letter * 16 + (uint32_t)(isdigit((unsigned char)digit) ? digit - '0' : (digit | 32) - 'a' + 10);
	}
	if (*ret_letter > PARSE_LETTER_MAX ||
	    (braces ? parse->at == start || !parse_skip(parse, "}") : parse->at - start != 2))
		return parse_refuse(parse, "an escape is not complete");
	return 0;
}

/* Behind a backslash, what stands for one character. */
static int parse_escape(struct parse *parse, uint32_t *ret_letter)
{
	static const char names[] = "anrtfv", letters[] = "\a\n\r\t\f\v";
	char letter = parse->at < parse->length ? parse->pattern[parse->at] : '\0';
	const char *named = letter ? strchr(names, letter) : NULL;

	if (!letter)
		return parse_refuse(parse, "an escape is not complete");
	if (isalnum((unsigned char)letter) && letter != 'x' && !named) {
		return rh_fail(parse->err, RH_EINVAL, "regular expression: the escape \\%c is not known at character %zu",
		               letter, parse->at);
	}
	if ((unsigned char)letter >= 0x80)
		return parse_refuse(parse, "an escape is not known");
	parse->at++;
	if (letter == 'x')
		return parse_hex(parse, ret_letter);
	*ret_letter = (unsigned char)(named ? letters[named - names] : letter);
	return 0;
}

/* \d and its like. @return whether it is one; then it is behind it */
static bool parse_perl(struct parse *parse, const struct parse_class **ret_class, bool *ret_inverse)
{
	char name;

	if (!parse_next_is(parse, "\\") || parse->at + 1 == parse->length)
		return false;
	name = (char)tolower((unsigned char)parse->pattern[parse->at + 1]);
	if (!strchr("dsw", name))
		return false;
	*ret_class = parse_find_class(&name, 1);
	*ret_inverse = isupper((unsigned char)parse->pattern[parse->at + 1]);
	parse->at += 2;
	return true;
}

static int parse_letter(struct parse *parse, uint32_t *ret_letter)
{
	if (parse_skip(parse, "\\"))
		return parse_escape(parse, ret_letter);
	parse->at += rh_regex_letter(parse->pattern + parse->at, parse->length - parse->at, ret_letter);
	return 0;
}

static int parse_named_class(struct parse *parse)
{
	bool inverse;
	const struct parse_class *class_;
	size_t start;

	parse->at += 2;
	inverse = parse_skip(parse, "^");
	start = parse->at;
	while (parse->at < parse->length && islower((unsigned char)parse->pattern[parse->at]))
		parse->at++;
	class_ = parse_find_class(parse->pattern + start, parse->at - start);
	if (!class_ || !parse_skip(parse, ":]"))
		return parse_refuse(parse, "the class in [: :] is not known");
	return parse_add_class(parse, class_, inverse);
}

static int parse_set_item(struct parse *parse)
{
	const struct parse_class *class_;
	uint32_t low = 0, high;
	bool inverse;
	int r;

	if (parse_next_is(parse, "[:"))
		return parse_named_class(parse);
	if (parse_perl(parse, &class_, &inverse))
		return parse_add_class(parse, class_, inverse);
	r = parse_letter(parse, &low);
	high = low;
	if (r == 0 && parse_next_is(parse, "-") && !parse_next_is(parse, "-]") && parse->at + 1 < parse->length) {
		parse->at++;
		r = parse_letter(parse, &high);
	}
	if (r == 0 && high < low)
		return parse_refuse(parse, "a range in [ ] is the wrong way round");
	return r < 0 ? r : parse_range(parse, low, high);
}

/* Behind [. */
static int parse_set(struct parse *parse, int *ret_node)
{
	struct rh_regex_node node = {.op = RH_REGEX_SET, .first = parse->tree->range_count, .fold = parse->flags.fold};
	bool first = true;
	int r = 0;

	node.inverse = parse_skip(parse, "^");
	for (; r == 0 && (first || !parse_next_is(parse, "]")); first = false) {
		if (parse->at == parse->length)
			return parse_refuse(parse, "a [ is not closed");
		r = parse_set_item(parse);
	}
	parse->at++;
	node.count = parse->tree->range_count - node.first;
	return r < 0 ? r : parse_node(parse, node, ret_node);
}

/* @return 0; 1 where the group has flags alone, and is over */
static int parse_group_head(struct parse *parse)
{
	bool set = true;

	if (!parse_skip(parse, "?"))
		return 0;
	if (parse_next_is(parse, "P<") ||
	    (parse_next_is(parse, "<") && !parse_next_is(parse, "<=") && !parse_next_is(parse, "<!"))) {
		size_t start = parse->at + (parse_next_is(parse, "P<") ? 2 : 1);

		for (parse->at = start; parse->at < parse->length; parse->at++)
			if (!isalnum((unsigned char)parse->pattern[parse->at]) && parse->pattern[parse->at] != '_')
				break;
		return parse->at > start && parse_skip(parse, ">") ? 0
		                                                   : parse_refuse(parse, "the name of a group is not complete");
	}
	for (;; parse->at++) {
		char flag = parse->at < parse->length ? parse->pattern[parse->at] : '\0';

		switch (flag) {
		case '-':
			set = false;
			break;
		case 'i':
			parse->flags.fold = set;
			break;
		case 'm':
			parse->flags.lines = set;
			break;
		case 's':
			parse->flags.dot_all = set;
			break;
		case 'U':
			parse->flags.lazy = set;
			break;
		case ':':
			parse->at++;
			return 0;
		case ')':
			parse->at++;
			return 1;
		default:
			return parse_refuse(parse, "RE2 does not know this kind of group");
		}
	}
}

/* Behind (. */
static int parse_group(struct parse *parse, int *ret_node)
{
	struct parse_flags outer = parse->flags;
	int r = parse_group_head(parse);

	if (r < 0)
		return r;
	if (r == 1)
		return parse_node(parse, (struct rh_regex_node){.op = RH_REGEX_EMPTY}, ret_node);
	if (++parse->depth > PARSE_DEPTH_MAX)
		return parse_refuse(parse, "its groups are too deep");
	r = parse_alternatives(parse, ret_node);
	parse->depth--;
	parse->flags = outer;
	if (r == 0 && !parse_skip(parse, ")"))
		return parse_refuse(parse, "a ( is not closed");
	return r;
}

static int parse_assertion(struct parse *parse, char assertion, size_t skip, int *ret_node)
{
	parse->at += skip;
	return parse_node(parse, (struct rh_regex_node){.op = RH_REGEX_ASSERT, .assertion = assertion}, ret_node);
}

static int parse_class_atom(struct parse *parse, const struct parse_class *class_, bool inverse, int *ret_node)
{
	struct rh_regex_node node = {.op = RH_REGEX_SET, .first = parse->tree->range_count};
	int r = parse_add_class(parse, class_, inverse);

	node.count = parse->tree->range_count - node.first;
	return r < 0 ? r : parse_node(parse, node, ret_node);
}

static int parse_one_letter(struct parse *parse, int *ret_node)
{
	struct rh_regex_node node = {
		.op = RH_REGEX_SET, .first = parse->tree->range_count, .count = 1, .fold = parse->flags.fold};
	bool any = parse_skip(parse, ".");
	uint32_t letter = '\n';
	int r = any ? 0 : parse_letter(parse, &letter);

	node.inverse = any && !parse->flags.dot_all;
	if (r == 0)
		r = parse_range(parse, node.inverse || !any ? letter : 0, node.inverse || !any ? letter : PARSE_LETTER_MAX);
	return r < 0 ? r : parse_node(parse, node, ret_node);
}

static int parse_atom(struct parse *parse, int *ret_node)
{
	const struct parse_class *class_;
	bool inverse;

	if (parse_skip(parse, "("))
		return parse_group(parse, ret_node);
	if (parse_skip(parse, "["))
		return parse_set(parse, ret_node);
	if (parse_next_is(parse, "^"))
		return parse_assertion(parse, parse->flags.lines ? '^' : 'A', 1, ret_node);
	if (parse_next_is(parse, "$"))
		return parse_assertion(parse, parse->flags.lines ? '$' : 'z', 1, ret_node);
	if (parse_next_is(parse, "\\A") || parse_next_is(parse, "\\z") || parse_next_is(parse, "\\b") ||
	    parse_next_is(parse, "\\B"))
		return parse_assertion(parse, parse->pattern[parse->at + 1], 2, ret_node);
	if (parse_perl(parse, &class_, &inverse))
		return parse_class_atom(parse, class_, inverse, ret_node);
	if (strchr("*+?", parse->pattern[parse->at]))
		return parse_refuse(parse, "a repetition has nothing before it");
	return parse_one_letter(parse, ret_node);
}

static bool parse_count(struct parse *parse, int *ret_count)
{
	size_t start = parse->at;

	*ret_count = 0;
	for (; parse->at < parse->length && isdigit((unsigned char)parse->pattern[parse->at]); parse->at++)
		*ret_count = *ret_count > PARSE_REPEAT_MAX ? *ret_count : *ret_count * 10 + (parse->pattern[parse->at] - '0');
	return parse->at > start;
}

/* @return whether a repetition stands here; then it is behind it */
static bool parse_repetition(struct parse *parse, int *ret_least, int *ret_most)
{
	size_t start = parse->at;

	*ret_least = parse_next_is(parse, "+") ? 1 : 0;
	*ret_most = parse_next_is(parse, "?") ? 1 : -1;
	if (parse_skip(parse, "*") || parse_skip(parse, "+") || parse_skip(parse, "?"))
		return true;
	if (parse_skip(parse, "{") && parse_count(parse, ret_least)) {
		*ret_most = *ret_least;
		if (parse_skip(parse, ",") && !parse_count(parse, ret_most))
			*ret_most = -1;
		if (parse_skip(parse, "}"))
			return true;
	}
	parse->at = start;
	return false;
}

static int parse_repeated(struct parse *parse, int *ret_node)
{
	struct rh_regex_node node = {.op = RH_REGEX_REPEAT};
	int least, most;
	int r = parse_atom(parse, ret_node);

	if (r < 0 || parse->at == parse->length || !parse_repetition(parse, &node.least, &node.most))
		return r;
	node.lazy = parse_skip(parse, "?") != parse->flags.lazy;
	if (node.least > PARSE_REPEAT_MAX || node.most > PARSE_REPEAT_MAX || (node.most >= 0 && node.most < node.least))
		return parse_refuse(parse, "a repetition is more than 1000 times, or the wrong way round");
	if (parse->at < parse->length && parse_repetition(parse, &least, &most))
		return parse_refuse(parse, "a repetition follows a repetition");
	node.left = *ret_node;
	return parse_node(parse, node, ret_node);
}

static int parse_sequence(struct parse *parse, int *ret_node)
{
	struct rh_regex_node node = {.op = RH_REGEX_EMPTY};
	int r = parse_node(parse, node, ret_node);

	node.op = RH_REGEX_CAT;
	while (r == 0 && parse->at < parse->length && !parse_next_is(parse, "|") && !parse_next_is(parse, ")")) {
		node.left = *ret_node;
		r = parse_repeated(parse, &node.right);
		if (r == 0)
			r = parse_node(parse, node, ret_node);
	}
	return r;
}

static int parse_alternatives(struct parse *parse, int *ret_node)
{
	struct rh_regex_node node = {.op = RH_REGEX_ALT};
	int r = parse_sequence(parse, ret_node);

	while (r == 0 && parse_skip(parse, "|")) {
		node.left = *ret_node;
		r = parse_sequence(parse, &node.right);
		if (r == 0)
			r = parse_node(parse, node, ret_node);
	}
	return r;
}

int rh_regex_tree_parse(const char *pattern, size_t length, struct rh_regex_tree *tree, struct rh_error *err)
{
	struct parse parse = {.pattern = pattern, .length = length, .tree = tree, .err = err};
	int r;

	/* a letter takes three nodes at most, and a class of two letters five ranges */
	tree->room = length < RH_REGEX_NODES_MAX / 4 ? 4 * length + 16 : RH_REGEX_NODES_MAX;
	tree->nodes = rh_alloc_array(tree->room, sizeof(*tree->nodes));
	tree->ranges = rh_alloc_array(tree->room, sizeof(*tree->ranges));
	if (!tree->nodes || !tree->ranges)
		return rh_fail_oom(err);
	if (memchr(pattern, '\0', length))
		return rh_fail(err, RH_EINVAL, "regular expression: it has a zero byte");
	r = parse_alternatives(&parse, &tree->root);
	return r == 0 && parse.at < length ? parse_refuse(&parse, "a ) closes nothing") : r;
}

void rh_regex_tree_deinit(struct rh_regex_tree *tree)
{
	rh_free(tree->nodes);
	rh_free(tree->ranges);
	*tree = (struct rh_regex_tree){0};
}

static bool parse_in_ranges(const struct rh_regex_tree *tree, const struct rh_regex_node *node, uint32_t letter)
{
	for (size_t i = node->first; i < node->first + node->count; i++) {
		if (letter >= tree->ranges[i].low && letter <= tree->ranges[i].high)
			return true;
	}
	return false;
}

bool rh_regex_set_has(const struct rh_regex_tree *tree, const struct rh_regex_node *node, uint32_t letter)
{
	bool found = parse_in_ranges(tree, node, letter);

	if (node->fold && letter < 0x80 && isalpha((int)letter))
		found = found || parse_in_ranges(tree, node, letter ^ 0x20u);
	return found != node->inverse;
}

size_t rh_regex_letter(const char *text, size_t length, uint32_t *ret_letter)
{
	static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
	size_t bytes = rh_utf8_length(text, length);

	if (bytes == 0) {
		*ret_letter = 0xFFFD;
		return 1;
	}
	*ret_letter = (unsigned char)text[0] & masks[bytes];
	for (size_t i = 1; i < bytes; i++)
		*ret_letter = *ret_letter << 6 | ((unsigned char)text[i] & 0x3F);
	return bytes;
}
