/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "job/cel/ast.h"
#include "job/cel/lexer.h"

/* Most arguments of a call, items of a list, or parts of a chain of && that a rule can have. */
#define PARSE_ARGS_MAX 512

struct parse {
	struct rh_cel_lexer lexer;
	struct rh_cel_token token; /* what comes next */
	size_t depth;
};

/* What grows while the arguments of a node are read. */
struct parse_args {
	struct rh_cel_node **items;
	size_t count, room;
};

struct parse_binary {
	const char *sign;
	enum rh_cel_op op;
	int level; /* what binds stronger has more */
};

struct parse_macro {
	const char *name;
	enum rh_cel_op op;
	size_t least, most; /* arguments */
};

static const struct parse_binary parse_binaries[] = {
	{"==", RH_CEL_OP_EQUAL, 1},      {"!=", RH_CEL_OP_UNEQUAL, 1}, {"<=", RH_CEL_OP_LESS_EQUAL, 1},
	{">=", RH_CEL_OP_MORE_EQUAL, 1}, {"<", RH_CEL_OP_LESS, 1},     {">", RH_CEL_OP_MORE, 1},
	{"in", RH_CEL_OP_IN, 1},         {"+", RH_CEL_OP_ADD, 2},      {"-", RH_CEL_OP_SUBTRACT, 2},
	{"*", RH_CEL_OP_MULTIPLY, 3},    {"/", RH_CEL_OP_DIVIDE, 3},   {"%", RH_CEL_OP_REMAINDER, 3},
};

static const struct parse_macro parse_macros[] = {
	{"all", RH_CEL_OP_ALL, 2, 2},
	{"exists", RH_CEL_OP_EXISTS, 2, 2},
	{"exists_one", RH_CEL_OP_EXISTS_ONE, 2, 2},
	{"filter", RH_CEL_OP_FILTER, 2, 2},
	{"map", RH_CEL_OP_TRANSFORM, 2, 3},
	{"optMap", RH_CEL_OP_OPT_MAP, 2, 2},
	{"optFlatMap", RH_CEL_OP_OPT_FLAT_MAP, 2, 2},
};

static int parse_expression(struct parse *parse, struct rh_cel_node **ret_node);

static int parse_refuse(const struct parse *parse, const char *what)
{
	return rh_cel_refuse(parse->lexer.err, parse->lexer.text, parse->token.at, "%s", what);
}

/* A room that is full is a rule that is too large. */
static int parse_no_room(const struct parse *parse)
{
	return parse->lexer.room->failed ? rh_fail_oom(parse->lexer.err)
	                                 : parse_refuse(parse, "the expression is too large");
}

static int parse_advance(struct parse *parse)
{
	int r = rh_cel_lexer_next(&parse->lexer, &parse->token);

	return r == RH_ENOMEM ? parse_no_room(parse) : r;
}

static bool parse_is(const struct parse *parse, const char *sign)
{
	const struct rh_cel_token *token = &parse->token;

	return (token->kind == RH_CEL_TOKEN_SIGN || token->kind == RH_CEL_TOKEN_NAME) && strlen(sign) == token->length &&
	       memcmp(parse->lexer.text + token->at, sign, token->length) == 0;
}

static int parse_expect(struct parse *parse, const char *sign)
{
	if (!parse_is(parse, sign))
		return rh_cel_refuse(parse->lexer.err, parse->lexer.text, parse->token.at, "\"%s\" is expected", sign);
	return parse_advance(parse);
}

static int parse_add(struct parse *parse, struct parse_args *args, struct rh_cel_node *node)
{
	if (args->count == PARSE_ARGS_MAX)
		return parse_refuse(parse, "there are more than 512 parts");
	if (args->count == args->room) {
		size_t room = args->room ? 2 * args->room : 4;
		struct rh_cel_node **items = rh_cel_room_take(parse->lexer.room, room * sizeof(struct rh_cel_node *));

		if (!items)
			return parse_no_room(parse);
		if (args->count)
			memcpy(items, args->items, args->count * sizeof(struct rh_cel_node *));
		args->items = items;
		args->room = room;
	}
	args->items[args->count++] = node;
	return 0;
}

static int parse_make(struct parse *parse, struct rh_cel_node node, const struct parse_args *args,
                      struct rh_cel_node **ret_node)
{
	struct rh_cel_node *made = rh_cel_room_take(parse->lexer.room, sizeof(*made));

	if (!made)
		return parse_no_room(parse);
	*made = node;
	if (args) {
		made->args = args->items;
		made->count = args->count;
	}
	for (size_t i = 0; i < made->count; i++)
		made->depth = made->args[i]->depth > made->depth ? made->args[i]->depth : made->depth;
	if (++made->depth > RH_CEL_DEPTH_MAX)
		return parse_refuse(parse, "the expression is too deep");
	*ret_node = made;
	return 0;
}

static int parse_make_one(struct parse *parse, struct rh_cel_node node, struct rh_cel_node *arg,
                          struct rh_cel_node **ret_node)
{
	struct parse_args args = {0};
	int r = parse_add(parse, &args, arg);

	return r < 0 ? r : parse_make(parse, node, &args, ret_node);
}

static int parse_name(struct parse *parse, const char **ret_name)
{
	struct rh_cel_value copy;

	if (parse->token.kind != RH_CEL_TOKEN_NAME || parse_is(parse, "in"))
		return parse_refuse(parse, "a name is expected");
	copy = rh_cel_string(parse->lexer.room, parse->lexer.text + parse->token.at, parse->token.length);
	if (copy.kind == RH_CEL_ERROR)
		return parse_no_room(parse);
	*ret_name = copy.text.data;
	return parse_advance(parse);
}

/* Up to, and behind, the sign that closes them. */
static int parse_list(struct parse *parse, const char *close, bool pairs, struct parse_args *args)
{
	int r = 0;

	while (r == 0 && !parse_is(parse, close)) {
		struct rh_cel_node *node = NULL;

		r = parse_expression(parse, &node);
		if (r == 0)
			r = parse_add(parse, args, node);
		if (r == 0 && pairs && args->count % 2 == 1)
			r = parse_expect(parse, ":");
		else if (r == 0 && !parse_is(parse, close))
			r = parse_expect(parse, parse_is(parse, ",") ? "," : close);
	}
	return r < 0 ? r : parse_advance(parse);
}

static const struct parse_macro *parse_find_macro(const char *name, size_t count)
{
	for (size_t i = 0; i < sizeof(parse_macros) / sizeof(*parse_macros); i++) {
		const struct parse_macro *macro = &parse_macros[i];

		if (strcmp(macro->name, name) == 0 && count > macro->least - 1 && count <= macro->most)
			return macro;
	}
	return NULL;
}

/* a.all(x, ...): x becomes the name of the node. */
static int parse_member_call(struct parse *parse, struct rh_cel_node node, struct rh_cel_node **at)
{
	struct parse_args args = {0};
	const struct parse_macro *macro;
	int r = parse_add(parse, &args, *at);

	if (r == 0)
		r = parse_list(parse, ")", false, &args);
	if (r < 0)
		return r;
	macro = parse_find_macro(node.name, args.count - 1);
	node.op = macro ? macro->op : RH_CEL_OP_MEMBER;
	if (macro) {
		if (args.items[1]->op != RH_CEL_OP_NAME)
			return rh_cel_refuse(parse->lexer.err, parse->lexer.text, args.items[1]->at,
			                     "%s() needs the name of a variable first", node.name);
		node.name = args.items[1]->name;
		args.items[1] = args.items[0];
		args.items++;
		args.count--;
	}
	return parse_make(parse, node, &args, at);
}

static int parse_index(struct parse *parse, struct rh_cel_node node, struct rh_cel_node **at)
{
	struct parse_args args = {0};
	struct rh_cel_node *index = NULL;
	int r = 0;

	node.op = RH_CEL_OP_INDEX;
	if (parse_is(parse, "?")) {
		node.op = RH_CEL_OP_TRY_INDEX;
		r = parse_advance(parse);
	}
	if (r == 0)
		r = parse_expression(parse, &index);
	if (r == 0)
		r = parse_expect(parse, "]");
	if (r == 0)
		r = parse_add(parse, &args, *at);
	if (r == 0)
		r = parse_add(parse, &args, index);
	return r < 0 ? r : parse_make(parse, node, &args, at);
}

static int parse_dot(struct parse *parse, struct rh_cel_node node, struct rh_cel_node **at)
{
	bool optional = parse_is(parse, "?");
	int r = optional ? parse_advance(parse) : 0;

	node.op = optional ? RH_CEL_OP_TRY : RH_CEL_OP_SELECT;
	if (r == 0)
		r = parse_name(parse, &node.name);
	if (r == 0 && !optional && parse_is(parse, "(")) {
		r = parse_advance(parse);
		return r < 0 ? r : parse_member_call(parse, node, at);
	}
	return r < 0 ? r : parse_make_one(parse, node, *at, at);
}

/* has(a.b) asks for b. */
static int parse_has(struct parse *parse, struct rh_cel_node node, const struct parse_args *args,
                     struct rh_cel_node **ret_node)
{
	struct rh_cel_node *field = args->count == 1 ? args->items[0] : NULL;

	if (!field || field->op != RH_CEL_OP_SELECT)
		return rh_cel_refuse(parse->lexer.err, parse->lexer.text, node.at, "has() needs a field, as in has(self.name)");
	node.op = RH_CEL_OP_HAS;
	node.name = field->name;
	return parse_make_one(parse, node, field->args[0], ret_node);
}

static int parse_word(struct parse *parse, struct rh_cel_node **ret_node)
{
	struct rh_cel_node node = {.op = RH_CEL_OP_NAME, .at = parse->token.at};
	struct parse_args args = {0};
	int r = parse_name(parse, &node.name);

	if (r < 0)
		return r;
	if (strcmp(node.name, "true") == 0 || strcmp(node.name, "false") == 0 || strcmp(node.name, "null") == 0) {
		node.op = RH_CEL_OP_LITERAL;
		node.literal =
			node.name[0] == 'n' ? (struct rh_cel_value){.kind = RH_CEL_NULL} : rh_cel_bool(node.name[0] == 't');
	}
	if (node.op == RH_CEL_OP_LITERAL || !parse_is(parse, "("))
		return parse_make(parse, node, NULL, ret_node);
	node.op = RH_CEL_OP_CALL;
	r = parse_advance(parse);
	if (r == 0)
		r = parse_list(parse, ")", false, &args);
	if (r == 0 && strcmp(node.name, "has") == 0)
		return parse_has(parse, node, &args, ret_node);
	return r < 0 ? r : parse_make(parse, node, &args, ret_node);
}

static int parse_primary(struct parse *parse, struct rh_cel_node **ret_node)
{
	struct rh_cel_node node = {.op = RH_CEL_OP_LITERAL, .at = parse->token.at, .literal = parse->token.literal};
	struct parse_args args = {0};
	bool map = parse_is(parse, "{");
	int r;

	if (parse->token.kind == RH_CEL_TOKEN_LITERAL) {
		if (node.literal.kind == RH_CEL_INT && node.literal.natural > INT64_MAX)
			return parse_refuse(parse, "an integer is beyond 64 bits");
		r = parse_advance(parse);
		return r < 0 ? r : parse_make(parse, node, NULL, ret_node);
	}
	if (parse_is(parse, "(")) {
		r = parse_advance(parse);
		if (r == 0)
			r = parse_expression(parse, ret_node);
		return r < 0 ? r : parse_expect(parse, ")");
	}
	if (!map && !parse_is(parse, "["))
		return parse->token.kind == RH_CEL_TOKEN_NAME ? parse_word(parse, ret_node)
		                                              : parse_refuse(parse, "a value is expected");
	node.op = map ? RH_CEL_OP_MAP : RH_CEL_OP_LIST;
	r = parse_advance(parse);
	if (r == 0)
		r = parse_list(parse, map ? "}" : "]", map, &args);
	return r < 0 ? r : parse_make(parse, node, &args, ret_node);
}

static int parse_members(struct parse *parse, struct rh_cel_node **ret_node)
{
	int r = parse_primary(parse, ret_node);

	while (r == 0 && (parse_is(parse, ".") || parse_is(parse, "["))) {
		struct rh_cel_node node = {.at = parse->token.at};
		bool dot = parse_is(parse, ".");

		r = parse_advance(parse);
		if (r == 0)
			r = dot ? parse_dot(parse, node, ret_node) : parse_index(parse, node, ret_node);
	}
	return r;
}

/* -5 is one literal, so that the smallest integer is one, too. */
static bool parse_negative(struct parse *parse)
{
	struct rh_cel_value *literal = &parse->token.literal;

	if (parse->token.kind != RH_CEL_TOKEN_LITERAL || (literal->kind != RH_CEL_INT && literal->kind != RH_CEL_DOUBLE))
		return false;
	if (literal->kind == RH_CEL_DOUBLE)
		literal->number = -literal->number;
	else
		literal->natural = 0 - literal->natural;
	return true;
}

static int parse_unary(struct parse *parse, struct rh_cel_node **ret_node)
{
	struct rh_cel_node node = {.op = parse_is(parse, "!") ? RH_CEL_OP_NOT : RH_CEL_OP_NEGATE, .at = parse->token.at};
	int r;

	if (!parse_is(parse, "!") && !parse_is(parse, "-"))
		return parse_members(parse, ret_node);
	r = parse_advance(parse);
	if (r == 0 && node.op == RH_CEL_OP_NEGATE && parse_negative(parse)) {
		node.op = RH_CEL_OP_LITERAL;
		node.literal = parse->token.literal;
		r = parse_advance(parse);
		return r < 0 ? r : parse_make(parse, node, NULL, ret_node);
	}
	if (r == 0 && ++parse->depth > RH_CEL_DEPTH_MAX)
		return parse_refuse(parse, "the expression is too deep");
	if (r == 0)
		r = parse_unary(parse, ret_node);
	parse->depth--;
	return r < 0 ? r : parse_make_one(parse, node, *ret_node, ret_node);
}

static const struct parse_binary *parse_find_binary(const struct parse *parse, int level)
{
	for (size_t i = 0; i < sizeof(parse_binaries) / sizeof(*parse_binaries); i++) {
		if (parse_binaries[i].level == level && parse_is(parse, parse_binaries[i].sign))
			return &parse_binaries[i];
	}
	return NULL;
}

static int parse_binary(struct parse *parse, int level, struct rh_cel_node **ret_node)
{
	const struct parse_binary *binary;
	int r = level == 3 ? parse_unary(parse, ret_node) : parse_binary(parse, level + 1, ret_node);

	while (r == 0 && (binary = parse_find_binary(parse, level)) != NULL) {
		struct rh_cel_node node = {.op = binary->op, .at = parse->token.at, .name = binary->sign};
		struct rh_cel_node *right = NULL;
		struct parse_args args = {0};

		r = parse_advance(parse);
		if (r == 0)
			r = level == 3 ? parse_unary(parse, &right) : parse_binary(parse, level + 1, &right);
		if (r == 0)
			r = parse_add(parse, &args, *ret_node);
		if (r == 0)
			r = parse_add(parse, &args, right);
		if (r == 0)
			r = parse_make(parse, node, &args, ret_node);
	}
	return r;
}

/* a && b && c is one node. */
static int parse_chain(struct parse *parse, const char *sign, struct rh_cel_node **ret_node)
{
	bool any = sign[0] == '|';
	struct rh_cel_node node = {.op = any ? RH_CEL_OP_OR : RH_CEL_OP_AND, .at = parse->token.at, .name = sign};
	struct parse_args args = {0};
	int r = any ? parse_chain(parse, "&&", ret_node) : parse_binary(parse, 1, ret_node);

	if (r < 0 || !parse_is(parse, sign))
		return r;
	node.at = parse->token.at;
	r = parse_add(parse, &args, *ret_node);
	while (r == 0 && parse_is(parse, sign)) {
		r = parse_advance(parse);
		if (r == 0)
			r = any ? parse_chain(parse, "&&", ret_node) : parse_binary(parse, 1, ret_node);
		if (r == 0)
			r = parse_add(parse, &args, *ret_node);
	}
	return r < 0 ? r : parse_make(parse, node, &args, ret_node);
}

static int parse_condition(struct parse *parse, struct rh_cel_node **ret_node)
{
	struct rh_cel_node node = {.op = RH_CEL_OP_IF};
	struct rh_cel_node *yes = NULL, *no = NULL;
	struct parse_args args = {0};
	int r = parse_chain(parse, "||", ret_node);

	if (r < 0 || !parse_is(parse, "?"))
		return r;
	node.at = parse->token.at;
	r = parse_advance(parse);
	if (r == 0)
		r = parse_chain(parse, "||", &yes);
	if (r == 0)
		r = parse_expect(parse, ":");
	if (r == 0)
		r = parse_expression(parse, &no);
	if (r == 0)
		r = parse_add(parse, &args, *ret_node);
	if (r == 0)
		r = parse_add(parse, &args, yes);
	if (r == 0)
		r = parse_add(parse, &args, no);
	return r < 0 ? r : parse_make(parse, node, &args, ret_node);
}

static int parse_expression(struct parse *parse, struct rh_cel_node **ret_node)
{
	int r;

	if (++parse->depth > RH_CEL_DEPTH_MAX)
		return parse_refuse(parse, "the expression is too deep");
	r = parse_condition(parse, ret_node);
	parse->depth--;
	return r;
}

int rh_cel_parse(const char *text, struct rh_cel_room *room, struct rh_cel_node **ret_node, struct rh_error *err)
{
	struct parse parse = {.lexer = {.text = text, .room = room, .err = err}};
	int r = parse_advance(&parse);

	if (r == 0)
		r = parse_expression(&parse, ret_node);
	if (r == 0 && parse.token.kind != RH_CEL_TOKEN_END)
		return parse_refuse(&parse, "something follows the expression");
	return r;
}
