/* SPDX-License-Identifier: Apache-2.0 */
#include "kueue/pods/part.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "job/kind.h"
#include "job/values/names.h"

/* In the note of an admission. */
#define PART_MEMBER "part"
#define PART_TYPE "Worker"

void rh_kueue_part_deinit(struct rh_kueue_part *part)
{
	rh_free(part->path);
	rh_free(part->set);
	*part = (struct rh_kueue_part){0};
}

static char *part_path(const struct rh_job *job, const struct rh_replica_spec *spec)
{
	rh_auto_str text = {0};
	struct rh_kind_path path;

	rh_kind_type_path(job->kind, spec->known, spec->key, &path);
	for (size_t i = 0; i < path.count; i++)
		rh_str_appendf(&text, "%s%s", i > 0 ? "." : "", path.steps[i].name);
	return text.failed ? NULL : rh_strdup(text.data);
}

/* How many there would be, if the job were not admitted with fewer. A number that the note does not have is the user's.
 */
static int part_read_note(const struct rh_json *annotations, struct rh_kueue_part *part)
{
	const char *text = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_ADMITTED));
	rh_auto(json) note = NULL;
	const struct rh_json *noted;
	int64_t asked = 0, now = 0;

	if (!text)
		return 0;
	if (rh_json_parse(text, strlen(text), &note, NULL) == RH_ENOMEM)
		return RH_ENOMEM;
	noted = rh_json_get(note, PART_MEMBER);
	if (rh_json_integer(rh_json_get(noted, "asked"), &asked) && rh_json_integer(rh_json_get(noted, "now"), &now) &&
	    now == part->now && asked > now && asked <= INT32_MAX)
		part->asked = (int32_t)asked;
	return 0;
}

int rh_kueue_part_read(const struct rh_job *job, struct rh_kueue_part *ret_part)
{
	const struct rh_json *annotations = rh_json_at(job->object, "metadata.annotations");
	const char *least = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_QUEUE_LEAST));
	const struct rh_replica_spec *spec = job->spec_count == 1 ? &job->specs[0] : rh_job_spec(job, PART_TYPE);
	char lower[RH_NAME_SIZE];

	if (!spec || (!least && !rh_json_get(annotations, RH_ANNOTATION_ADMITTED)))
		return 0;
	ret_part->path = part_path(job, spec);
	ret_part->set = rh_strdup(rh_name_lower(spec->type, lower));
	ret_part->asked = ret_part->now = spec->replicas;
	if (least) {
		char *end;
		long number = strtol(least, &end, 10);

		/* of what is no number, or too large, the server says so */
		ret_part->least = *least && !*end && number > 0 && number < INT32_MAX ? (int32_t)number : -1;
	}
	return ret_part->path && ret_part->set ? part_read_note(annotations, ret_part) : RH_ENOMEM;
}

int32_t rh_kueue_part_admitted(const struct rh_kueue_part *part, const struct rh_json *workload)
{
	const struct rh_json *assignment =
		rh_json_find(rh_json_at(workload, "status.admission.podSetAssignments"), "name", part->set);
	int64_t count = 0;

	if (!rh_json_integer(rh_json_get(assignment, "count"), &count) || count <= 0 || count > part->asked)
		return part->asked;
	return (int32_t)count;
}

int rh_kueue_part_note(const struct rh_kueue_part *part, int32_t count, struct rh_json *note)
{
	struct rh_json *noted = rh_json_ensure_object(note, PART_MEMBER);

	if (!noted || rh_json_set_integer(noted, "asked", part->asked) < 0)
		return RH_ENOMEM;
	return rh_json_set_integer(noted, "now", count);
}
