/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cel/eval.h"

#include <string.h>

#include "job/cel/functions/arithmetic.h"
#include "job/cel/functions/functions.h"

/* Variables of macros, the innermost first. */
struct eval_variable {
	const struct eval_variable *up;
	const char *name;
	struct rh_cel_value value;
};

struct eval {
	const struct rh_cel_input *input;
	struct rh_cel_room *room;
	const struct eval_variable *variables;
	long steps;
};

static struct rh_cel_value eval_node(struct eval *eval, const struct rh_cel_node *node);

static struct rh_cel_value eval_too_much(void)
{
	return rh_cel_error("operation cancelled: actual cost limit exceeded");
}

static struct rh_cel_value eval_no_key(struct eval *eval, const struct rh_cel_value *key)
{
	static const char what[] = "no such key";

	if (key->kind == RH_CEL_STRING)
		return rh_cel_error_about(eval->room, what, key->text.data);
	return rh_cel_error_number(eval->room, what, key->integer);
}

static struct rh_cel_value eval_name(struct eval *eval, const struct rh_cel_node *node)
{
	for (const struct eval_variable *at = eval->variables; at; at = at->up) {
		if (strcmp(at->name, node->name) == 0)
			return at->value;
	}
	if (strcmp(node->name, "self") == 0)
		return eval->input->self;
	if (strcmp(node->name, "oldSelf") == 0)
		return eval->input->old_self;
	return (struct rh_cel_value){.kind = RH_CEL_TYPE, .text = {node->name, strlen(node->name)}};
}

/* a.b, has(a.b) and a.?b; of an optional what it has */
static struct rh_cel_value eval_select(struct eval *eval, const struct rh_cel_node *node)
{
	struct rh_cel_value map = eval_node(eval, node->args[0]), value;
	const char *name = node->name;
	bool optional = map.kind == RH_CEL_OPTIONAL || node->op == RH_CEL_OP_TRY, found = false;
	struct rh_cel_value key;

	if (map.kind == RH_CEL_ERROR)
		return map;
	if (map.kind == RH_CEL_OPTIONAL)
		map = map.count ? map.items[0] : (struct rh_cel_value){.kind = RH_CEL_MAP};
	if (map.kind != RH_CEL_MAP)
		return rh_cel_no_overload();
	if (map.json && !rh_json_get(map.schema, "additionalProperties"))
		name = rh_cel_unescape(eval->room, name);
	key = (struct rh_cel_value){.kind = RH_CEL_STRING, .text = {name, strlen(name)}};
	found = rh_cel_map_get(eval->room, &map, &key, &value);
	if (node->op == RH_CEL_OP_HAS)
		return rh_cel_bool(found);
	if (optional)
		return rh_cel_optional(eval->room, found ? &value : NULL);
	return found ? value : eval_no_key(eval, &key);
}

/* @return whether it is there; else why not */
static bool eval_at(struct eval *eval, const struct rh_cel_value *from, const struct rh_cel_value *index,
                    struct rh_cel_value *ret_value)
{
	if (from->kind == RH_CEL_LIST && (index->kind == RH_CEL_INT || index->kind == RH_CEL_UINT)) {
		if (index->natural < from->count) {
			*ret_value = from->items[index->natural];
			return true;
		}
		*ret_value = rh_cel_error_number(eval->room, "index out of bounds", index->integer);
	} else if (from->kind == RH_CEL_MAP) {
		if (rh_cel_map_get(eval->room, from, index, ret_value))
			return true;
		*ret_value = eval_no_key(eval, index);
	} else {
		*ret_value = rh_cel_no_overload();
	}
	return false;
}

static struct rh_cel_value eval_index(struct eval *eval, const struct rh_cel_node *node)
{
	struct rh_cel_value from = eval_node(eval, node->args[0]), index = eval_node(eval, node->args[1]), value;
	bool optional = from.kind == RH_CEL_OPTIONAL || node->op == RH_CEL_OP_TRY_INDEX, found;

	if (from.kind == RH_CEL_ERROR || index.kind == RH_CEL_ERROR)
		return from.kind == RH_CEL_ERROR ? from : index;
	if (from.kind == RH_CEL_OPTIONAL && from.count == 0)
		return from;
	if (from.kind == RH_CEL_OPTIONAL)
		from = from.items[0];
	found = eval_at(eval, &from, &index, &value);
	return optional ? rh_cel_optional(eval->room, found ? &value : NULL) : value;
}

static bool eval_takes(const struct rh_cel_function *function, const struct rh_cel_value *args, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum rh_cel_kind kind = function->args[i] ? rh_cel_kind_of_letter(function->args[i]) : RH_CEL_ERROR;

		if (kind != RH_CEL_DYN && kind != args[i].kind)
			return false;
	}
	return function->args[count] == '\0';
}

static struct rh_cel_value eval_call(struct eval *eval, const struct rh_cel_node *node)
{
	struct rh_cel_value args[8];

	for (size_t i = 0; i < node->count && i < 8; i++) {
		args[i] = eval_node(eval, node->args[i]);
		if (args[i].kind == RH_CEL_ERROR)
			return args[i];
	}
	for (const struct rh_cel_function *at = node->function; at; at = rh_cel_function_next(at)) {
		if (eval_takes(at, args, node->count))
			return at->call(eval->room, args, node->count);
	}
	return rh_cel_no_overload();
}

static struct rh_cel_value eval_many(struct eval *eval, const struct rh_cel_node *node)
{
	struct rh_cel_value *items = rh_cel_room_take(eval->room, (node->count + 1) * sizeof(*items));

	if (!items)
		return rh_cel_error("out of memory");
	for (size_t i = 0; i < node->count; i++) {
		items[i] = eval_node(eval, node->args[i]);
		if (items[i].kind == RH_CEL_ERROR)
			return items[i];
	}
	if (node->op == RH_CEL_OP_LIST)
		return rh_cel_list(items, node->count);
	return (struct rh_cel_value){.kind = RH_CEL_MAP, .items = items, .count = node->count / 2};
}

/* One that decides makes up for errors of the others. */
static struct rh_cel_value eval_chain(struct eval *eval, const struct rh_cel_node *node)
{
	bool decides = node->op == RH_CEL_OP_OR;
	struct rh_cel_value result = rh_cel_bool(!decides);

	for (size_t i = 0; i < node->count; i++) {
		struct rh_cel_value value = eval_node(eval, node->args[i]);

		if (value.kind == RH_CEL_BOOL && value.flag == decides)
			return value;
		if (result.kind != RH_CEL_ERROR && value.kind != RH_CEL_BOOL)
			result = value.kind == RH_CEL_ERROR ? value : rh_cel_no_overload();
	}
	return result;
}

static struct rh_cel_value eval_in(struct eval *eval, const struct rh_cel_value *value,
                                   const struct rh_cel_value *among)
{
	struct rh_cel_value found;

	if (among->kind == RH_CEL_MAP)
		return rh_cel_bool(rh_cel_map_get(eval->room, among, value, &found));
	if (among->kind != RH_CEL_LIST)
		return rh_cel_no_overload();
	eval->steps += (long)among->count;
	for (size_t i = 0; i < among->count; i++) {
		if (rh_cel_equal(eval->room, &among->items[i], value))
			return rh_cel_bool(true);
	}
	return rh_cel_bool(false);
}

static struct rh_cel_value eval_compare(enum rh_cel_op op, const struct rh_cel_value *a, const struct rh_cel_value *b)
{
	int order;

	if (!rh_cel_order(a, b, &order))
		return a->kind == RH_CEL_DOUBLE || b->kind == RH_CEL_DOUBLE ? rh_cel_bool(false) : rh_cel_no_overload();
	switch ((int)op) {
	case RH_CEL_OP_LESS:
		return rh_cel_bool(order < 0);
	case RH_CEL_OP_LESS_EQUAL:
		return rh_cel_bool(order <= 0);
	case RH_CEL_OP_MORE:
		return rh_cel_bool(order > 0);
	default:
		return rh_cel_bool(order >= 0);
	}
}

static struct rh_cel_value eval_binary(struct eval *eval, const struct rh_cel_node *node)
{
	struct rh_cel_value a = eval_node(eval, node->args[0]), b = eval_node(eval, node->args[1]);

	if (a.kind == RH_CEL_ERROR || b.kind == RH_CEL_ERROR)
		return a.kind == RH_CEL_ERROR ? a : b;
	switch ((int)node->op) {
	case RH_CEL_OP_EQUAL:
	case RH_CEL_OP_UNEQUAL:
		return rh_cel_bool(rh_cel_equal(eval->room, &a, &b) == (node->op == RH_CEL_OP_EQUAL));
	case RH_CEL_OP_IN:
		return eval_in(eval, &a, &b);
	default:
		return node->op < RH_CEL_OP_ADD ? eval_compare(node->op, &a, &b)
		                                : rh_cel_arithmetic(eval->room, node->name[0], &a, &b);
	}
}

static struct rh_cel_value eval_not(const struct rh_cel_value *value)
{
	return value->kind == RH_CEL_BOOL    ? rh_cel_bool(!value->flag)
	       : value->kind == RH_CEL_ERROR ? *value
	                                     : rh_cel_no_overload();
}

static struct rh_cel_value eval_negate(struct eval *eval, const struct rh_cel_value *value)
{
	struct rh_cel_value zero = {.kind = value->kind};

	if (value->kind == RH_CEL_DOUBLE)
		return (struct rh_cel_value){.kind = RH_CEL_DOUBLE, .number = -value->number};
	if (value->kind != RH_CEL_INT)
		return value->kind == RH_CEL_ERROR ? *value : rh_cel_no_overload();
	return rh_cel_arithmetic(eval->room, '-', &zero, value);
}

/* What a macro has found so far. */
struct eval_fold {
	const struct rh_cel_node *node;
	struct rh_cel_value *items; /* of a list that it makes */
	size_t count;
	struct rh_cel_value error;
	bool done;
};

/* One item of filter(), map() and exists_one(); an error ends them. */
static void eval_collect(struct eval *eval, struct eval_fold *fold, const struct rh_cel_value *item)
{
	const struct rh_cel_node *node = fold->node;
	bool transforms = node->op == RH_CEL_OP_TRANSFORM, asks = !transforms || node->count == 3;
	struct rh_cel_value value = asks ? eval_node(eval, node->args[1]) : rh_cel_bool(true);

	if (value.kind != RH_CEL_BOOL) {
		fold->error = value.kind == RH_CEL_ERROR ? value : rh_cel_no_overload();
		fold->done = true;
		return;
	}
	if (!value.flag)
		return;
	value = transforms ? eval_node(eval, node->args[node->count - 1]) : *item;
	if (value.kind == RH_CEL_ERROR) {
		fold->error = value;
		fold->done = true;
	} else {
		fold->items[fold->count++] = value;
	}
}

/* One item of all() and exists(): one that decides makes up for errors of the others. */
static void eval_quantify(struct eval *eval, struct eval_fold *fold)
{
	struct rh_cel_value value = eval_node(eval, fold->node->args[1]);

	if (value.kind == RH_CEL_BOOL && value.flag == (fold->node->op == RH_CEL_OP_EXISTS))
		fold->done = true;
	else if (value.kind != RH_CEL_BOOL && fold->error.kind != RH_CEL_ERROR)
		fold->error = value.kind == RH_CEL_ERROR ? value : rh_cel_no_overload();
}

static struct rh_cel_value eval_fold_result(const struct eval_fold *fold)
{
	bool quantifies = fold->node->op == RH_CEL_OP_ALL || fold->node->op == RH_CEL_OP_EXISTS;

	if (quantifies && fold->done)
		return rh_cel_bool(fold->node->op == RH_CEL_OP_EXISTS);
	if (fold->error.kind == RH_CEL_ERROR)
		return fold->error;
	if (quantifies)
		return rh_cel_bool(fold->node->op == RH_CEL_OP_ALL);
	return fold->node->op == RH_CEL_OP_EXISTS_ONE ? rh_cel_bool(fold->count == 1)
	                                              : rh_cel_list(fold->items, fold->count);
}

static struct rh_cel_value eval_macro(struct eval *eval, const struct rh_cel_node *node)
{
	struct eval_variable variable = {.up = eval->variables, .name = node->name};
	struct eval_fold fold = {.node = node};
	struct rh_cel_value range = eval_node(eval, node->args[0]);

	if (range.kind == RH_CEL_MAP)
		range = rh_cel_map_keys(eval->room, &range);
	if (range.kind != RH_CEL_LIST)
		return range.kind == RH_CEL_ERROR ? range : rh_cel_no_overload();
	fold.items = rh_cel_room_take(eval->room, (range.count + 1) * sizeof(*fold.items));
	if (!fold.items)
		return rh_cel_error("out of memory");
	eval->variables = &variable;
	for (size_t i = 0; i < range.count && !fold.done; i++) {
		variable.value = range.items[i];
		if (node->op == RH_CEL_OP_ALL || node->op == RH_CEL_OP_EXISTS)
			eval_quantify(eval, &fold);
		else
			eval_collect(eval, &fold, &range.items[i]);
	}
	eval->variables = variable.up;
	return eval_fold_result(&fold);
}

static struct rh_cel_value eval_optional_macro(struct eval *eval, const struct rh_cel_node *node)
{
	struct eval_variable variable = {.up = eval->variables, .name = node->name};
	struct rh_cel_value from = eval_node(eval, node->args[0]);

	if (from.kind != RH_CEL_OPTIONAL)
		return from.kind == RH_CEL_ERROR ? from : rh_cel_no_overload();
	if (from.count == 0)
		return from;
	variable.value = from.items[0];
	eval->variables = &variable;
	from = eval_node(eval, node->args[1]);
	eval->variables = variable.up;
	return from.kind == RH_CEL_ERROR || node->op == RH_CEL_OP_OPT_FLAT_MAP ? from : rh_cel_optional(eval->room, &from);
}

static struct rh_cel_value eval_if(struct eval *eval, const struct rh_cel_node *node)
{
	struct rh_cel_value value = eval_node(eval, node->args[0]);

	if (value.kind != RH_CEL_BOOL)
		return value.kind == RH_CEL_ERROR ? value : rh_cel_no_overload();
	return eval_node(eval, node->args[value.flag ? 1 : 2]);
}

static struct rh_cel_value eval_unary(struct eval *eval, const struct rh_cel_node *node)
{
	struct rh_cel_value value = eval_node(eval, node->args[0]);

	return node->op == RH_CEL_OP_NOT ? eval_not(&value) : eval_negate(eval, &value);
}

static struct rh_cel_value eval_node(struct eval *eval, const struct rh_cel_node *node)
{
	if (++eval->steps > RH_CEL_STEPS_MAX || eval->room->full || eval->room->failed)
		return eval_too_much();
	switch ((int)node->op) {
	case RH_CEL_OP_LITERAL:
		return node->literal;
	case RH_CEL_OP_NAME:
		return eval_name(eval, node);
	case RH_CEL_OP_SELECT:
	case RH_CEL_OP_TRY:
	case RH_CEL_OP_HAS:
		return eval_select(eval, node);
	case RH_CEL_OP_INDEX:
	case RH_CEL_OP_TRY_INDEX:
		return eval_index(eval, node);
	case RH_CEL_OP_CALL:
	case RH_CEL_OP_MEMBER:
		return eval_call(eval, node);
	case RH_CEL_OP_LIST:
	case RH_CEL_OP_MAP:
		return eval_many(eval, node);
	case RH_CEL_OP_AND:
	case RH_CEL_OP_OR:
		return eval_chain(eval, node);
	case RH_CEL_OP_NOT:
	case RH_CEL_OP_NEGATE:
		return eval_unary(eval, node);
	case RH_CEL_OP_IF:
		return eval_if(eval, node);
	case RH_CEL_OP_OPT_MAP:
	case RH_CEL_OP_OPT_FLAT_MAP:
		return eval_optional_macro(eval, node);
	default:
		return node->op >= RH_CEL_OP_ALL ? eval_macro(eval, node) : eval_binary(eval, node);
	}
}

struct rh_cel_value rh_cel_eval(const struct rh_cel_input *input, const struct rh_cel_node *node)
{
	struct eval eval = {.input = input, .room = input->room};
	struct rh_cel_value value = eval_node(&eval, node);

	return input->room->full ? eval_too_much() : value;
}
