/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cel/check.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "job/cel/functions/arithmetic.h"
#include "job/cel/functions/functions.h"
#include "job/cel/regex/regex.h"

/* A type. Of a list, map or optional, item is that of what is in it; NULL: any. */
struct check_type {
	enum rh_cel_kind kind;
	enum rh_cel_kind key;
	const struct check_type *item;
	const struct rh_json *schema; /* of an object, or of what JSON has in it */
};

/* Variables of macros, the innermost first. */
struct check_variable {
	const struct check_variable *up;
	const char *name;
	struct check_type type;
};

struct check {
	struct rh_cel_scope *scope;
	const struct check_variable *variables;
};

static const struct check_type check_dyn = {.kind = RH_CEL_DYN};

static int check_node(struct check *check, struct rh_cel_node *node, struct check_type *ret_type);

static struct check_type check_type_of_schema(const struct check *check, const struct rh_json *schema)
{
	const struct rh_json *resolved = rh_cel_schema(check->scope->definitions, schema);

	return (struct check_type){.kind = rh_cel_kind_of_schema(resolved), .key = RH_CEL_STRING, .schema = resolved};
}

static struct check_type check_item(const struct check *check, const struct check_type *type)
{
	if (type->item)
		return *type->item;
	if (type->schema && type->kind == RH_CEL_LIST)
		return check_type_of_schema(check, rh_json_get(type->schema, "items"));
	if (type->schema && type->kind == RH_CEL_MAP)
		return check_type_of_schema(check, rh_json_get(type->schema, "additionalProperties"));
	return check_dyn;
}

/* @return a type whose items are @p item; RH_CEL_ERROR when memory is out */
static struct check_type check_of(const struct check *check, enum rh_cel_kind kind, enum rh_cel_kind key,
                                  struct check_type item)
{
	struct check_type *copy = rh_cel_room_take(check->scope->room, sizeof(*copy));

	if (copy)
		*copy = item;
	return (struct check_type){.kind = copy ? kind : RH_CEL_DYN, .key = key, .item = copy};
}

static bool check_fits(const struct check *check, const struct check_type *a, const struct check_type *b, int depth)
{
	struct check_type x, y;

	if (a->kind == RH_CEL_DYN || b->kind == RH_CEL_DYN || depth == 0)
		return true;
	if (a->kind != b->kind)
		return false;
	if (a->kind == RH_CEL_OBJECT)
		return a->schema == b->schema || rh_json_equal(a->schema, b->schema);
	if (a->kind != RH_CEL_LIST && a->kind != RH_CEL_MAP && a->kind != RH_CEL_OPTIONAL)
		return true;
	x = check_item(check, a);
	y = check_item(check, b);
	return check_fits(check, &x, &y, depth - 1);
}

static bool check_same(const struct check *check, const struct check_type *a, const struct check_type *b)
{
	return check_fits(check, a, b, 20);
}

static int check_refuse(const struct check *check, const struct rh_cel_node *node, const char *what)
{
	return rh_cel_refuse(check->scope->err, check->scope->text, node->at, "%s", what);
}

static int check_mismatch(const struct check *check, const struct rh_cel_node *node, const char *name,
                          const struct check_type *types, size_t count)
{
	rh_auto_str shown = {0};

	for (size_t i = 0; i < count; i++)
		rh_str_appendf(&shown, "%s%s", i ? ", " : "", rh_cel_kind_name(types[i].kind));
	return rh_cel_refuse(check->scope->err, check->scope->text, node->at, "%s cannot be applied to (%s)", name,
	                     rh_str_text(&shown));
}

static int check_name(struct check *check, const struct rh_cel_node *node, struct check_type *ret_type)
{
	struct rh_cel_scope *scope = check->scope;
	bool old = strcmp(node->name, "oldSelf") == 0;

	for (const struct check_variable *at = check->variables; at; at = at->up) {
		if (strcmp(at->name, node->name) != 0)
			continue;
		*ret_type = at->type;
		return 0;
	}
	for (enum rh_cel_kind kind = RH_CEL_NULL; kind <= RH_CEL_TYPE; kind++) {
		*ret_type = (struct check_type){.kind = RH_CEL_TYPE};
		if (strcmp(node->name, rh_cel_kind_name(kind)) == 0 && kind != RH_CEL_OBJECT)
			return 0;
	}
	if (!old && strcmp(node->name, "self") != 0)
		return rh_cel_refuse(scope->err, scope->text, node->at, "the name %s is not known", node->name);
	scope->uses_old = scope->uses_old || old;
	*ret_type = check_type_of_schema(check, scope->schema);
	if (old && scope->optional_old)
		*ret_type = check_of(check, RH_CEL_OPTIONAL, RH_CEL_DYN, *ret_type);
	return 0;
}

/* a.b of an object, a map or anything; through an optional it is one again */
static int check_field(struct check *check, const struct rh_cel_node *node, struct check_type type,
                       struct check_type *ret_type)
{
	const char *name = rh_cel_unescape(check->scope->room, node->name);
	const struct rh_json *field = rh_json_get(rh_json_get(type.schema, "properties"), name);

	*ret_type = check_dyn;
	if (type.kind == RH_CEL_DYN)
		return 0;
	if (type.kind == RH_CEL_MAP) {
		*ret_type = check_item(check, &type);
		return 0;
	}
	if (type.kind != RH_CEL_OBJECT)
		return rh_cel_refuse(check->scope->err, check->scope->text, node->at, "type %s has no field %s",
		                     rh_cel_kind_name(type.kind), node->name);
	if (!field)
		return rh_cel_refuse(check->scope->err, check->scope->text, node->at, "the schema has no field %s", node->name);
	*ret_type = check_type_of_schema(check, field);
	return 0;
}

static int check_select(struct check *check, struct rh_cel_node *node, struct check_type *ret_type)
{
	struct check_type type;
	int r = check_node(check, node->args[0], &type);
	bool optional = r == 0 && type.kind == RH_CEL_OPTIONAL;

	if (r < 0)
		return r;
	if (optional)
		type = check_item(check, &type);
	r = check_field(check, node, type, ret_type);
	if (r == 0 && node->op == RH_CEL_OP_HAS)
		*ret_type = (struct check_type){.kind = RH_CEL_BOOL};
	else if (r == 0 && (optional || node->op == RH_CEL_OP_TRY))
		*ret_type = check_of(check, RH_CEL_OPTIONAL, RH_CEL_DYN, *ret_type);
	return r;
}

static int check_index(struct check *check, struct rh_cel_node *node, struct check_type *ret_type)
{
	struct check_type types[2] = {check_dyn, check_dyn};
	int r = check_node(check, node->args[0], &types[0]);
	bool optional = r == 0 && types[0].kind == RH_CEL_OPTIONAL;

	if (r == 0)
		r = check_node(check, node->args[1], &types[1]);
	if (r < 0)
		return r;
	if (optional)
		types[0] = check_item(check, &types[0]);
	if (types[0].kind != RH_CEL_DYN && types[1].kind != RH_CEL_DYN &&
	    !(types[0].kind == RH_CEL_LIST && types[1].kind == RH_CEL_INT) &&
	    !(types[0].kind == RH_CEL_MAP && (types[1].kind == types[0].key || types[0].key == RH_CEL_DYN)))
		return check_mismatch(check, node, "[ ]", types, 2);
	*ret_type = check_item(check, &types[0]);
	if (optional || node->op == RH_CEL_OP_TRY_INDEX)
		*ret_type = check_of(check, RH_CEL_OPTIONAL, RH_CEL_DYN, *ret_type);
	return 0;
}

static bool check_argument(const struct check *check, char letter, const struct check_type *types, size_t i)
{
	static const struct check_type string = {.kind = RH_CEL_STRING};
	enum rh_cel_kind kind = rh_cel_kind_of_letter(letter);
	struct check_type item = check_item(check, &types[i]);

	if (letter == 'e' || letter == 'v') {
		item = check_item(check, &types[0]);
		return check_same(check, &item, &types[i]);
	}
	if (kind != RH_CEL_DYN && types[i].kind != RH_CEL_DYN && kind != types[i].kind)
		return false;
	if (letter == 'S')
		return check_same(check, &types[0], &types[i]);
	return letter != 'L' || check_same(check, &item, &string);
}

static bool check_overload(const struct check *check, const struct rh_cel_function *function,
                           const struct check_type *types, size_t count)
{
	if (strlen(function->args) != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!check_argument(check, function->args[i], types, i))
			return false;
	}
	return true;
}

static struct check_type check_result(const struct check *check, const struct rh_cel_function *function,
                                      const struct check_type *types)
{
	struct check_type strings = check_dyn;

	if (function->result == 'e' || function->result == 'v')
		return check_item(check, &types[0]);
	if (function->result == 'o')
		return types[0];
	if (function->result == 'O')
		return check_of(check, RH_CEL_OPTIONAL, RH_CEL_DYN, types[0]);
	if (function->result == 'L' || function->result == 'M')
		strings = check_of(check, RH_CEL_LIST, RH_CEL_DYN, (struct check_type){.kind = RH_CEL_STRING});
	if (function->result == 'M')
		return check_of(check, RH_CEL_MAP, RH_CEL_STRING, strings);
	if (function->result == 'L')
		return strings;
	return (struct check_type){.kind = rh_cel_kind_of_letter(function->result)};
}

/* A pattern that is written down is compiled now. */
static int check_pattern(const struct check *check, const struct rh_cel_node *node)
{
	bool compares =
		strcmp(node->name, "matches") == 0 || strcmp(node->name, "find") == 0 || strcmp(node->name, "findAll") == 0;
	const struct rh_cel_node *pattern = compares && node->count >= 2 ? node->args[1] : NULL;
	rh_auto(regex) regex = NULL;
	struct rh_error why = {0};
	int r;

	if (!pattern || pattern->op != RH_CEL_OP_LITERAL || pattern->literal.kind != RH_CEL_STRING)
		return 0;
	r = rh_regex_compile(pattern->literal.text.data, pattern->literal.text.length, &regex, &why);
	return r == RH_EINVAL ? check_refuse(check, pattern, why.message) : r;
}

/* ip.isCanonical(x) is no member of ip, where there is a function of that whole name. */
static void check_qualify(const struct check *check, struct rh_cel_node *node)
{
	const struct rh_cel_node *space = node->op == RH_CEL_OP_MEMBER ? node->args[0] : NULL;
	struct rh_cel_value name;
	char text[64];
	int length;

	if (!space || space->op != RH_CEL_OP_NAME)
		return;
	length = snprintf(text, sizeof(text), "%s.%s", space->name, node->name);
	if (length < 0 || (size_t)length >= sizeof(text) || !rh_cel_function_find(text, false))
		return;
	name = rh_cel_string(check->scope->room, text, strlen(text));
	if (name.kind != RH_CEL_STRING)
		return;
	node->op = RH_CEL_OP_CALL;
	node->name = name.text.data;
	node->args++;
	node->count--;
}

static int check_call(struct check *check, struct rh_cel_node *node, struct check_type *ret_type)
{
	struct check_type types[8] = {{0}};
	bool member;
	int r = 0;

	check_qualify(check, node);
	member = node->op == RH_CEL_OP_MEMBER;
	node->function = rh_cel_function_find(node->name, member);
	if (!node->function || node->count > 8)
		return rh_cel_refuse(check->scope->err, check->scope->text, node->at, "function %s() is not known", node->name);
	for (size_t i = 0; i < node->count && r == 0; i++)
		r = check_node(check, node->args[i], &types[i]);
	if (r == 0)
		r = check_pattern(check, node);
	if (r < 0)
		return r;
	for (const struct rh_cel_function *at = node->function; at; at = rh_cel_function_next(at)) {
		bool unclear = false;

		for (size_t i = 0; i < node->count; i++)
			unclear = unclear || types[i].kind == RH_CEL_DYN;
		if (!check_overload(check, at, types, node->count))
			continue;
		/* the result of a call with any value is any, where several functions take it */
		*ret_type = unclear && rh_cel_function_next(at) && rh_cel_function_next(at)->result != at->result
		                ? check_dyn
		                : check_result(check, at, types);
		return 0;
	}
	return check_mismatch(check, node, node->name, types, node->count);
}

static int check_all_of(struct check *check, struct rh_cel_node *node, enum rh_cel_kind kind,
                        struct check_type *ret_type)
{
	for (size_t i = 0; i < node->count; i++) {
		int r = check_node(check, node->args[i], ret_type);

		if (r < 0)
			return r;
		if (ret_type->kind != kind && ret_type->kind != RH_CEL_DYN)
			return check_mismatch(check, node, node->name ? node->name : "!", ret_type, 1);
	}
	ret_type->kind = kind;
	return 0;
}

static bool check_is_number(enum rh_cel_kind kind)
{
	return kind == RH_CEL_INT || kind == RH_CEL_UINT || kind == RH_CEL_DOUBLE;
}

static bool check_is_ordered(enum rh_cel_kind kind)
{
	return check_is_number(kind) || kind == RH_CEL_BOOL || kind == RH_CEL_STRING || kind == RH_CEL_BYTES ||
	       kind == RH_CEL_DURATION || kind == RH_CEL_TIMESTAMP || kind == RH_CEL_DYN;
}

static bool check_compares(const struct check *check, enum rh_cel_op op, const struct check_type *types)
{
	struct check_type item;

	if (op == RH_CEL_OP_IN && types[1].kind == RH_CEL_DYN)
		return true;
	if (op == RH_CEL_OP_IN && types[1].kind == RH_CEL_LIST) {
		item = check_item(check, &types[1]);
		return check_same(check, &types[0], &item);
	}
	if (op == RH_CEL_OP_IN)
		return types[1].kind == RH_CEL_MAP &&
		       (types[0].kind == types[1].key || types[0].kind == RH_CEL_DYN || types[1].key == RH_CEL_DYN);
	if (op == RH_CEL_OP_EQUAL || op == RH_CEL_OP_UNEQUAL)
		return check_same(check, &types[0], &types[1]);
	if (check_is_number(types[0].kind) && check_is_number(types[1].kind))
		return true;
	return check_same(check, &types[0], &types[1]) && check_is_ordered(types[0].kind) &&
	       check_is_ordered(types[1].kind);
}

static int check_binary(struct check *check, struct rh_cel_node *node, struct check_type *ret_type)
{
	struct check_type types[2] = {check_dyn, check_dyn};
	int r = check_node(check, node->args[0], &types[0]);

	if (r == 0)
		r = check_node(check, node->args[1], &types[1]);
	if (r < 0)
		return r;
	if (node->op < RH_CEL_OP_ADD) {
		*ret_type = (struct check_type){.kind = RH_CEL_BOOL};
		return check_compares(check, node->op, types) ? 0 : check_mismatch(check, node, node->name, types, 2);
	}
	*ret_type = (struct check_type){.kind = rh_cel_arithmetic_kind(node->name[0], types[0].kind, types[1].kind)};
	if (ret_type->kind == RH_CEL_LIST)
		*ret_type = types[0];
	if (ret_type->kind == RH_CEL_ERROR || (ret_type->kind == RH_CEL_LIST && !check_same(check, &types[0], &types[1])))
		return check_mismatch(check, node, node->name, types, 2);
	return 0;
}

static int check_if(struct check *check, struct rh_cel_node *node, struct check_type *ret_type)
{
	struct check_type types[3] = {check_dyn, check_dyn, check_dyn};
	int r = 0;

	for (size_t i = 0; i < 3 && r == 0; i++)
		r = check_node(check, node->args[i], &types[i]);
	if (r < 0)
		return r;
	if ((types[0].kind != RH_CEL_BOOL && types[0].kind != RH_CEL_DYN) || !check_same(check, &types[1], &types[2]))
		return check_mismatch(check, node, "?:", types, 3);
	*ret_type = types[1].kind == RH_CEL_DYN || types[2].kind == RH_CEL_DYN ? check_dyn : types[1];
	return 0;
}

/* Items, or keys and values, of one type. */
static int check_literal_of_many(struct check *check, struct rh_cel_node *node, struct check_type *ret_type)
{
	size_t step = node->op == RH_CEL_OP_MAP ? 2 : 1;
	struct check_type first[2] = {check_dyn, check_dyn}, type;
	int r;

	for (size_t i = 0; i < node->count; i++) {
		struct check_type *other = &first[i % step];

		r = check_node(check, node->args[i], &type);
		if (r < 0)
			return r;
		if (i >= step && !check_same(check, other, &type))
			return check_refuse(check, node->args[i], "its type is not that of the items before it");
		if (i < step)
			*other = type;
	}
	*ret_type = check_of(check, step == 2 ? RH_CEL_MAP : RH_CEL_LIST, first[0].kind, first[step - 1]);
	return 0;
}

/* What a macro is over: items of a list, keys of a map, the value of an optional. */
static int check_range(struct check *check, struct rh_cel_node *node, struct check_type *ret_range,
                       struct check_type *ret_item)
{
	bool optional = node->op == RH_CEL_OP_OPT_MAP || node->op == RH_CEL_OP_OPT_FLAT_MAP;
	int r = check_node(check, node->args[0], ret_range);

	if (r < 0)
		return r;
	*ret_item =
		ret_range->kind == RH_CEL_MAP ? (struct check_type){.kind = ret_range->key} : check_item(check, ret_range);
	if (ret_range->kind != RH_CEL_DYN && optional != (ret_range->kind == RH_CEL_OPTIONAL))
		return check_mismatch(check, node, "this macro", ret_range, 1);
	if (!optional && ret_range->kind != RH_CEL_LIST && ret_range->kind != RH_CEL_MAP && ret_range->kind != RH_CEL_DYN)
		return check_mismatch(check, node, "this macro", ret_range, 1);
	return 0;
}

static int check_macro(struct check *check, struct rh_cel_node *node, struct check_type *ret_type)
{
	struct check_variable variable = {check->variables, node->name, check_dyn};
	struct check_type range, type = check_dyn;
	bool makes = node->op == RH_CEL_OP_TRANSFORM || node->op == RH_CEL_OP_OPT_MAP || node->op == RH_CEL_OP_OPT_FLAT_MAP;
	int r = check_range(check, node, &range, &variable.type);

	check->variables = &variable;
	for (size_t i = 1; i < node->count && r == 0; i++) {
		r = check_node(check, node->args[i], &type);
		if (r == 0 && !(makes && i + 1 == node->count) && type.kind != RH_CEL_BOOL && type.kind != RH_CEL_DYN)
			r = check_mismatch(check, node->args[i], "a condition of a macro", &type, 1);
	}
	check->variables = variable.up;
	if (r < 0)
		return r;
	*ret_type = (struct check_type){.kind = RH_CEL_BOOL};
	if (node->op == RH_CEL_OP_FILTER)
		*ret_type = check_of(check, RH_CEL_LIST, RH_CEL_DYN, variable.type);
	if (node->op == RH_CEL_OP_TRANSFORM)
		*ret_type = check_of(check, RH_CEL_LIST, RH_CEL_DYN, type);
	if (node->op == RH_CEL_OP_OPT_MAP)
		*ret_type = check_of(check, RH_CEL_OPTIONAL, RH_CEL_DYN, type);
	if (node->op == RH_CEL_OP_OPT_FLAT_MAP)
		*ret_type = type;
	return 0;
}

static int check_negate(struct check *check, struct rh_cel_node *node, struct check_type *ret_type)
{
	int r = check_node(check, node->args[0], ret_type);

	if (r == 0 && ret_type->kind != RH_CEL_INT && ret_type->kind != RH_CEL_DOUBLE && ret_type->kind != RH_CEL_DYN)
		return check_mismatch(check, node, "-", ret_type, 1);
	return r;
}

static int check_node(struct check *check, struct rh_cel_node *node, struct check_type *ret_type)
{
	*ret_type = check_dyn;
	switch ((int)node->op) {
	case RH_CEL_OP_LITERAL:
		*ret_type = (struct check_type){.kind = node->literal.kind};
		return 0;
	case RH_CEL_OP_NAME:
		return check_name(check, node, ret_type);
	case RH_CEL_OP_SELECT:
	case RH_CEL_OP_TRY:
	case RH_CEL_OP_HAS:
		return check_select(check, node, ret_type);
	case RH_CEL_OP_INDEX:
	case RH_CEL_OP_TRY_INDEX:
		return check_index(check, node, ret_type);
	case RH_CEL_OP_CALL:
	case RH_CEL_OP_MEMBER:
		return check_call(check, node, ret_type);
	case RH_CEL_OP_LIST:
	case RH_CEL_OP_MAP:
		return check_literal_of_many(check, node, ret_type);
	case RH_CEL_OP_NOT:
	case RH_CEL_OP_AND:
	case RH_CEL_OP_OR:
		return check_all_of(check, node, RH_CEL_BOOL, ret_type);
	case RH_CEL_OP_NEGATE:
		return check_negate(check, node, ret_type);
	case RH_CEL_OP_IF:
		return check_if(check, node, ret_type);
	default:
		return node->op >= RH_CEL_OP_ALL ? check_macro(check, node, ret_type) : check_binary(check, node, ret_type);
	}
}

int rh_cel_check(struct rh_cel_scope *scope, struct rh_cel_node *node, enum rh_cel_kind result_kind)
{
	struct check check = {.scope = scope};
	struct check_type type;
	int r = check_node(&check, node, &type);

	if (r < 0)
		return r;
	if (scope->room->failed)
		return rh_fail_oom(scope->err);
	if (scope->room->full)
		return check_refuse(&check, node, "the expression is too large");
	/* also of any type it must not be: the API server refuses that, too */
	if (type.kind != result_kind)
		return rh_cel_refuse(scope->err, scope->text, 0, "it must be of type %s, and is of type %s",
		                     rh_cel_kind_name(result_kind), rh_cel_kind_name(type.kind));
	return 0;
}
