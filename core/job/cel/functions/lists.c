/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cel/functions/arithmetic.h"
#include "job/cel/functions/functions.h"

static struct rh_cel_value lists_size(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)room;
	(void)count;
	return rh_cel_integer(RH_CEL_INT, rh_cel_size(&args[0]));
}

static struct rh_cel_value lists_is_sorted(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	int order;

	(void)room;
	(void)count;
	for (size_t i = 1; i < args[0].count; i++) {
		if (!rh_cel_order(&args[0].items[i - 1], &args[0].items[i], &order))
			return rh_cel_no_overload();
		if (order > 0)
			return rh_cel_bool(false);
	}
	return rh_cel_bool(true);
}

static struct rh_cel_value lists_sum(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	struct rh_cel_value sum = args[0].count ? args[0].items[0] : rh_cel_integer(RH_CEL_INT, 0);

	(void)count;
	for (size_t i = 1; i < args[0].count && sum.kind != RH_CEL_ERROR; i++)
		sum = rh_cel_arithmetic(room, '+', &sum, &args[0].items[i]);
	return sum;
}

static struct rh_cel_value lists_extreme(const struct rh_cel_value *list, int side, const char *what)
{
	struct rh_cel_value best = list->count ? list->items[0] : rh_cel_error(what);
	int order;

	for (size_t i = 1; i < list->count; i++) {
		if (!rh_cel_order(&list->items[i], &best, &order))
			return rh_cel_no_overload();
		if (order * side > 0)
			best = list->items[i];
	}
	return best;
}

static struct rh_cel_value lists_min(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)room;
	(void)count;
	return lists_extreme(&args[0], -1, "min called on empty list");
}

static struct rh_cel_value lists_max(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)room;
	(void)count;
	return lists_extreme(&args[0], 1, "max called on empty list");
}

static struct rh_cel_value lists_index(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)count;
	for (size_t i = 0; i < args[0].count; i++) {
		if (rh_cel_equal(room, &args[0].items[i], &args[1]))
			return rh_cel_integer(RH_CEL_INT, (int64_t)i);
	}
	return rh_cel_integer(RH_CEL_INT, -1);
}

static struct rh_cel_value lists_last_index(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)count;
	for (size_t i = args[0].count; i-- > 0;) {
		if (rh_cel_equal(room, &args[0].items[i], &args[1]))
			return rh_cel_integer(RH_CEL_INT, (int64_t)i);
	}
	return rh_cel_integer(RH_CEL_INT, -1);
}

static struct rh_cel_value lists_has_value(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)room;
	(void)count;
	return rh_cel_bool(args[0].count > 0);
}

static struct rh_cel_value lists_value(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)room;
	(void)count;
	return args[0].count ? args[0].items[0] : rh_cel_error("optional.none() dereference");
}

static struct rh_cel_value lists_or_value(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)room;
	(void)count;
	return args[0].count ? args[0].items[0] : args[1];
}

static struct rh_cel_value lists_or(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)room;
	(void)count;
	return args[0].count ? args[0] : args[1];
}

static struct rh_cel_value lists_of(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)count;
	return rh_cel_optional(room, &args[0]);
}

static struct rh_cel_value lists_none(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)args;
	(void)count;
	return rh_cel_optional(room, NULL);
}

/* @return whether it is what CEL takes for no value: 0, false, null, what is empty, but for lists and maps of an object
 */
static bool lists_is_zero(const struct rh_cel_value *value)
{
	switch ((int)value->kind) {
	case RH_CEL_NULL:
		return true;
	case RH_CEL_BOOL:
		return !value->flag;
	case RH_CEL_INT:
	case RH_CEL_UINT:
	case RH_CEL_DURATION:
		return value->integer == 0;
	case RH_CEL_DOUBLE:
		return value->number == 0;
	case RH_CEL_OPTIONAL:
		return value->count == 0;
	case RH_CEL_LIST:
	case RH_CEL_MAP:
		return !value->json && value->count == 0;
	default:
		return rh_cel_size(value) == 0;
	}
}

static struct rh_cel_value lists_of_non_zero(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)count;
	return rh_cel_optional(room, lists_is_zero(&args[0]) ? NULL : &args[0]);
}

/* Most comparisons of one call. */
#define LISTS_COMPARISONS_MAX (1u << 22)

static bool lists_has(struct rh_cel_room *room, const struct rh_cel_value *list, const struct rh_cel_value *item)
{
	for (size_t i = 0; i < list->count; i++) {
		if (rh_cel_equal(room, &list->items[i], item))
			return true;
	}
	return false;
}

static bool lists_has_all(struct rh_cel_room *room, const struct rh_cel_value *list, const struct rh_cel_value *items)
{
	for (size_t i = 0; i < items->count; i++) {
		if (!lists_has(room, list, &items->items[i]))
			return false;
	}
	return true;
}

static bool lists_is_too_much(const struct rh_cel_value *args)
{
	return args[1].count > 0 && args[0].count > LISTS_COMPARISONS_MAX / args[1].count;
}

static struct rh_cel_value lists_contains(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)count;
	if (lists_is_too_much(args))
		return rh_cel_error("operation cancelled: actual cost limit exceeded");
	return rh_cel_bool(lists_has_all(room, &args[0], &args[1]));
}

static struct rh_cel_value lists_equivalent(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)count;
	if (lists_is_too_much(args))
		return rh_cel_error("operation cancelled: actual cost limit exceeded");
	return rh_cel_bool(lists_has_all(room, &args[0], &args[1]) && lists_has_all(room, &args[1], &args[0]));
}

static struct rh_cel_value lists_intersects(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)count;
	if (lists_is_too_much(args))
		return rh_cel_error("operation cancelled: actual cost limit exceeded");
	for (size_t i = 0; i < args[0].count; i++) {
		if (lists_has(room, &args[1], &args[0].items[i]))
			return rh_cel_bool(true);
	}
	return rh_cel_bool(false);
}

const struct rh_cel_function rh_cel_list_functions[] = {
	{"size", "l", 'i', false, lists_size},
	{"size", "l", 'i', true, lists_size},
	{"size", "m", 'i', false, lists_size},
	{"size", "m", 'i', true, lists_size},
	{"isSorted", "l", 'b', true, lists_is_sorted},
	{"sum", "l", 'e', true, lists_sum},
	{"min", "l", 'e', true, lists_min},
	{"max", "l", 'e', true, lists_max},
	{"indexOf", "le", 'i', true, lists_index},
	{"lastIndexOf", "le", 'i', true, lists_last_index},
	{"hasValue", "o", 'b', true, lists_has_value},
	{"value", "o", 'v', true, lists_value},
	{"orValue", "ov", 'v', true, lists_or_value},
	{"or", "oo", 'o', true, lists_or},
	{"sets.contains", "lS", 'b', false, lists_contains},
	{"sets.equivalent", "lS", 'b', false, lists_equivalent},
	{"sets.intersects", "lS", 'b', false, lists_intersects},
	{"optional.of", "*", 'O', false, lists_of},
	{"optional.none", "", 'O', false, lists_none},
	{"optional.ofNonZeroValue", "*", 'O', false, lists_of_non_zero},
	{NULL, NULL, 0, false, NULL},
};
