/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cel/functions/functions.h"

#include <string.h>

static const struct rh_cel_function *functions_from(const struct rh_cel_function *at, const char *name, bool member)
{
	while (at->name && (at->member != member || strcmp(at->name, name) != 0))
		at++;
	return at->name ? at : NULL;
}

/* One name can be in several tables: size() of strings and of lists. */
static const struct rh_cel_function *const functions_tables[] = {
	rh_cel_text_functions, rh_cel_list_functions, rh_cel_convert_functions, rh_cel_net_functions, rh_cel_url_functions};

#define FUNCTIONS_TABLES (sizeof(functions_tables) / sizeof(*functions_tables))

static const struct rh_cel_function *functions_in(size_t table, const char *name, bool member)
{
	const struct rh_cel_function *found = NULL;

	for (; !found && table < FUNCTIONS_TABLES; table++)
		found = functions_from(functions_tables[table], name, member);
	return found;
}

const struct rh_cel_function *rh_cel_function_find(const char *name, bool member)
{
	return functions_in(0, name, member);
}

static bool functions_is_of(const struct rh_cel_function *table, const struct rh_cel_function *function)
{
	while (table->name && table != function)
		table++;
	return table->name != NULL;
}

const struct rh_cel_function *rh_cel_function_next(const struct rh_cel_function *function)
{
	const struct rh_cel_function *next = functions_from(function + 1, function->name, function->member);
	size_t table = 0;

	while (!next && table < FUNCTIONS_TABLES && !functions_is_of(functions_tables[table], function))
		table++;
	return next ? next : functions_in(table + 1, function->name, function->member);
}

enum rh_cel_kind rh_cel_kind_of_letter(char letter)
{
	static const char letters[] = "biudsyDTqICUlLSmovt";
	static const enum rh_cel_kind kinds[] = {
		RH_CEL_BOOL,      RH_CEL_INT,      RH_CEL_UINT,     RH_CEL_DOUBLE, RH_CEL_STRING, RH_CEL_BYTES, RH_CEL_DURATION,
		RH_CEL_TIMESTAMP, RH_CEL_QUANTITY, RH_CEL_IP,       RH_CEL_CIDR,   RH_CEL_URL,    RH_CEL_LIST,  RH_CEL_LIST,
		RH_CEL_LIST,      RH_CEL_MAP,      RH_CEL_OPTIONAL, RH_CEL_DYN,    RH_CEL_TYPE};
	const char *at = strchr(letters, letter);

	return at && letter ? kinds[at - letters] : RH_CEL_DYN;
}
