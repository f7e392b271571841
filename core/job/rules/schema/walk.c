/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rules/schema/walk.h"

#include <string.h>

const struct rh_json *rh_schema_resolve(const struct rh_schema_walk *walk, const struct rh_json *schema)
{
	const char *ref = rh_json_string(rh_json_get(schema, "$ref"));

	return ref ? rh_json_get(walk->definitions, ref) : schema;
}

bool rh_schema_is_refused(const struct rh_schema_walk *walk)
{
	for (size_t i = 0; i < walk->earlier; i++) {
		const struct rh_finding *finding = &walk->findings->items[i];

		if (finding->severity == RH_FINDING_ERROR && strcmp(finding->path, rh_str_text(&walk->path)) == 0)
			return true;
	}
	return false;
}
