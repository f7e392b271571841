/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page/jobs.h"

#include "base/os/file.h"
#include "base/str.h"
#include "base/yaml.h"
#include "local/keep/place.h"

/* Largest file of jobs that is taken into a page, in bytes. */
#define JOBS_FILE_MAX ((size_t)2 * 1024 * 1024)
/* In place of a value of a Secret. */
#define JOBS_HIDDEN "(a value of a Secret is not shown)"

static int jobs_hide_values(struct rh_json *object, const char *key)
{
	const struct rh_json *values = rh_json_get(object, key);
	rh_auto(json) hidden = rh_json_new_object();

	if (!values)
		return 0;
	for (const struct rh_json *value = rh_json_first(values); hidden && value; value = rh_json_next(value)) {
		const char *name = rh_json_key(value);

		if (name && rh_json_set_string(hidden, name, JOBS_HIDDEN) < 0)
			return RH_ENOMEM;
	}
	return hidden ? rh_json_set(object, key, rh_take(hidden)) : RH_ENOMEM;
}

/* Annotations go as well: kubectl keeps a copy of the whole object in one. */
static int jobs_hide(struct rh_json *object)
{
	struct rh_json *metadata = rh_json_get(object, "metadata");

	if (!rh_text_equal(rh_json_string(rh_json_get(object, "kind")), "Secret"))
		return 0;
	rh_json_remove(metadata, "annotations");
	return jobs_hide_values(object, "data") < 0 || jobs_hide_values(object, "stringData") < 0 ? RH_ENOMEM : 0;
}

struct rh_json *rh_page_jobs(const struct rh_kept *kept)
{
	rh_auto_free char *path = rh_path_join(kept->path, RH_KEEP_JOBS);
	rh_auto_free char *text = NULL;
	rh_auto(json) objects = NULL;
	size_t length = 0;

	if (!path || rh_file_read(path, JOBS_FILE_MAX, &text, &length, NULL) < 0 ||
	    rh_yaml_parse_secret(text, length, &objects, NULL) < 0)
		return NULL;
	for (struct rh_json *object = rh_json_first(objects); object; object = rh_json_next(object)) {
		if (jobs_hide(object) < 0)
			return NULL;
	}
	return rh_take(objects);
}
