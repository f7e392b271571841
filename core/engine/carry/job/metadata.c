/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/job/metadata.h"

#include <errno.h>
#include <stdlib.h>

const char *rh_object_text(const struct rh_json *object, const char *member, const char *key)
{
	const char *text = rh_json_string(rh_json_get(rh_json_get(object, member), key));

	return text ? text : "";
}

const char *rh_object_label(const struct rh_json *object, const char *label)
{
	const char *text = rh_json_string(rh_json_get(rh_json_get(rh_json_get(object, "metadata"), "labels"), label));

	return text ? text : "";
}

uint64_t rh_object_revision(const char *text)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	return end != text && !*end && errno == 0 ? value : 0;
}
