/* SPDX-License-Identifier: Apache-2.0 */
#include "local/check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "job/values/names.h"

/* One job under check. */
struct check_job {
	const struct rh_job *job;
	struct rh_findings *findings;
};

/* Characters beside a name that make it another name. A dot after it begins the cluster's domain. */
static bool check_is_part(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* What follows a type's `prefix` at `at` is the index of a replica. @return bytes of the whole name, or 0 */
static size_t check_name_length(const struct rh_replica_spec *spec, const char *at, const char *prefix)
{
	const char *digits = at + strlen(prefix);
	char *end = NULL;
	long index;

	if (!isdigit((unsigned char)*digits))
		return 0;
	index = strtol(digits, &end, 10);
	return index < spec->replicas && !check_is_part(*end) ? (size_t)(end - at) : 0;
}

/* @return where a replica of the type is named in `text`, with its length, or NULL */
static const char *check_find(const struct rh_job *job, const struct rh_replica_spec *spec, const char *text,
                              size_t *ret_length)
{
	char lower[RH_NAME_SIZE];
	rh_auto_free char *prefix = rh_asprintf("%s-%s-", job->name, rh_name_lower(spec->type, lower));

	for (const char *at = prefix ? strstr(text, prefix) : NULL; at; at = strstr(at + 1, prefix)) {
		size_t length = at == text || !check_is_part(at[-1]) ? check_name_length(spec, at, prefix) : 0;

		if (length > 0) {
			*ret_length = length;
			return at;
		}
	}
	return NULL;
}

static int check_text(const struct check_job *check, const char *path, const char *text)
{
	size_t length = 0;
	const char *name = NULL;

	for (size_t i = 0; text && !name && i < check->job->spec_count; i++)
		name = check_find(check->job, &check->job->specs[i], text, &length);
	if (!name)
		return 0;
	return rh_findings_add(check->findings, RH_FINDING_WARNING, path,
	                       "names \"%.*s\": this machine gives pods no /etc/hosts of their own, so `roundhouse run` "
	                       "finds no such name here; take the address from the variables that the job sets",
	                       (int)length, name);
}

static int check_list(const struct check_job *check, const char *path, const struct rh_json *container,
                      const char *member)
{
	size_t index = 0;
	int r = 0;

	for (const struct rh_json *item = rh_json_first(rh_json_get(container, member)); item && r == 0;
	     item = rh_json_next(item), index++) {
		const struct rh_json *value = rh_json_type(item) == RH_JSON_OBJECT ? rh_json_get(item, "value") : item;
		rh_auto_free char *place = rh_asprintf("%s.%s[%zu]", path, member, index);

		r = place ? check_text(check, place, rh_json_string(value)) : RH_ENOMEM;
	}
	return r;
}

static int check_container(const struct check_job *check, const char *path, const struct rh_json *container)
{
	static const char *const members[] = {"command", "args", "env"};
	int r = 0;

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && r == 0; i++)
		r = check_list(check, path, container, members[i]);
	return r;
}

static int check_spec(const struct check_job *check, const struct rh_replica_spec *spec)
{
	static const char *const lists[] = {"initContainers", "containers"};
	int r = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct rh_json *item = rh_json_first(rh_json_get(rh_json_get(spec->template_, "spec"), lists[i]));

		for (size_t k = 0; item && r == 0; item = rh_json_next(item), k++) {
			rh_auto_str path = {0};

			rh_job_print_spec(check->job, spec, &path);
			rh_str_appendf(&path, ".template.spec.%s[%zu]", lists[i], k);
			r = path.failed ? RH_ENOMEM : check_container(check, rh_str_text(&path), item);
		}
	}
	return r;
}

int rh_local_check(const struct rh_job *job, const struct rh_runtime_spec_machine *machine,
                   struct rh_findings *findings)
{
	const struct check_job check = {job, findings};
	int r = 0;

	for (size_t i = 0; !machine->can_mount && i < job->spec_count && r == 0; i++)
		r = check_spec(&check, &job->specs[i]);
	return r;
}
