/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/watch/writers.h"

#include "base/mem.h"

/* @return 0 or RH_ENOMEM */
static int writers_keep(struct rh_json *list, const struct rh_json *entry)
{
	static const char *const texts[] = {"apiVersion", "time"};
	rh_auto(json) kept = rh_json_new_object();
	struct rh_json *fields = kept ? rh_json_ensure_object(kept, "fieldsV1") : NULL;

	if (!fields || !rh_json_ensure_object(fields, "f:spec"))
		return RH_ENOMEM;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = rh_json_string(rh_json_get(entry, texts[i]));

		if (text && rh_json_set_string(kept, texts[i], text) < 0)
			return RH_ENOMEM;
	}
	return rh_json_append(list, rh_take(kept));
}

int rh_writers_trim(struct rh_json *object)
{
	struct rh_json *metadata = rh_json_get(object, "metadata");
	rh_auto(json) list = NULL;

	if (rh_json_type(metadata) != RH_JSON_OBJECT)
		return 0;
	list = rh_json_new_array();
	for (const struct rh_json *entry = rh_json_first(rh_json_get(metadata, "managedFields")); entry && list;
	     entry = rh_json_next(entry)) {
		if (rh_json_get(rh_json_get(entry, "fieldsV1"), "f:spec") && writers_keep(list, entry) < 0)
			return RH_ENOMEM;
	}
	return rh_json_set(metadata, "managedFields", rh_take(list));
}
