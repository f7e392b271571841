/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/cel/functions/functions.h
 * @brief The functions of CEL that are known, with their types.
 *
 * Types are letters: b bool, i int, u uint, d double, s string, y bytes, D duration, T timestamp, q quantity, I IP
 * address, C CIDR, U URL, t type, * any; l any list, L list of strings, S a list like the first argument, e an item of
 * that, m a map; o an optional, v its value, O as a result an optional of the first argument, M as a result a map of
 * lists of strings. A name with a dot is that of a function of a namespace, which is called as a member is.
 */
#ifndef RH_JOB_CEL_FUNCTIONS_FUNCTIONS_H
#define RH_JOB_CEL_FUNCTIONS_FUNCTIONS_H

#include <stddef.h>

#include <stdbool.h>

#include "job/cel/value.h"

/** Carry out a call: @p args has as many values as the function takes, of its kinds, none of them an error. */
typedef struct rh_cel_value rh_cel_call(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count);

/** A function, one of several types. Those of one name stand together. */
struct rh_cel_function {
	const char *name; /**< NULL ends a table */
	const char *args; /**< of a member function: the first stands before the dot */
	char result;
	bool member;
	rh_cel_call *call;
};

/** Strings. */
extern const struct rh_cel_function rh_cel_text_functions[];
/** Lists, maps and optionals. */
extern const struct rh_cel_function rh_cel_list_functions[];
/** Conversions, times and quantities. */
extern const struct rh_cel_function rh_cel_convert_functions[];
/** IP addresses and CIDRs. */
extern const struct rh_cel_function rh_cel_net_functions[];
/** URLs. */
extern const struct rh_cel_function rh_cel_url_functions[];

/** @return the first function of that name and way to call, or NULL */
const struct rh_cel_function *rh_cel_function_find(const char *name, bool member);
/** @return the next one of the same name and way to call, or NULL */
const struct rh_cel_function *rh_cel_function_next(const struct rh_cel_function *function);
/** @return the kind of a letter; RH_CEL_DYN for those that are more than a kind */
enum rh_cel_kind rh_cel_kind_of_letter(char letter);

#endif
