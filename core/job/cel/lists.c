/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cel/arithmetic.h"
#include "job/cel/functions.h"

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
			return rh_cel_error("no such overload");
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
			return rh_cel_error("no such overload");
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
	{NULL, NULL, 0, false, NULL},
};
