/* SPDX-License-Identifier: Apache-2.0 */
#include "kueue/admission.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "build/admitted.h"
#include "job/values/names.h"
#include "kueue/pods/topology.h"

const struct rh_json *rh_kueue_condition(const struct rh_json *workload, const char *type)
{
	return rh_json_find(rh_json_at(workload, "status.conditions"), "type", type);
}

bool rh_kueue_is(const struct rh_json *workload, const char *type)
{
	return rh_text_equal(rh_json_string_at(rh_kueue_condition(workload, type), "status"), "True");
}

int rh_kueue_admission_id(const struct rh_json *workload, char ret_id[RH_KUEUE_ID_SIZE])
{
	const struct rh_json *admission = rh_json_at(workload, "status.admission");
	rh_auto_str text = {0};

	ret_id[0] = 0;
	if (!admission)
		return 0;
	rh_json_print(admission, false, &text);
	for (const struct rh_json *check = rh_json_first(rh_json_at(workload, "status.admissionChecks")); check;
	     check = rh_json_next(check)) {
		if (rh_json_get(check, "podSetUpdates"))
			rh_json_print(rh_json_get(check, "podSetUpdates"), false, &text);
	}
	if (text.failed)
		return RH_ENOMEM;
	(void)snprintf(ret_id, RH_KUEUE_ID_SIZE, "%016" PRIx64, rh_hash(text.data, text.length));
	return 0;
}

/* Nodes of the flavors, by resource, that the pods of the set use. */
static int admission_add_flavors(const struct rh_json *assignment, const struct rh_map *flavors, struct rh_json *set,
                                 struct rh_error *err)
{
	for (const struct rh_json *name = rh_json_first(rh_json_get(assignment, "flavors")); name;
	     name = rh_json_next(name)) {
		const struct rh_json *flavor = rh_json_string(name) ? rh_map_get(flavors, rh_json_string(name)) : NULL;

		if (!flavor)
			return rh_fail(err, RH_EINVAL, "ResourceFlavor \"%s\" of the admission does not exist",
			               rh_json_string(name) ? rh_json_string(name) : "");
		if (rh_admitted_add_map(rh_json_at(flavor, "spec.nodeLabels"), set, "nodeSelector") < 0 ||
		    rh_admitted_add_tolerations(rh_json_at(flavor, "spec.tolerations"), set) < 0)
			return rh_fail_oom(err);
	}
	return 0;
}

/* What admission checks, such as one for ProvisioningRequests, want of the pods. */
static int admission_add_updates(const struct rh_json *workload, const char *name, struct rh_json *set)
{
	for (const struct rh_json *check = rh_json_first(rh_json_at(workload, "status.admissionChecks")); check;
	     check = rh_json_next(check)) {
		for (const struct rh_json *update = rh_json_first(rh_json_get(check, "podSetUpdates")); update;
		     update = rh_json_next(update)) {
			if (!rh_text_equal(rh_json_string_at(update, "name"), name))
				continue;
			if (rh_admitted_add_map(rh_json_get(update, "labels"), set, "labels") < 0 ||
			    rh_admitted_add_map(rh_json_get(update, "annotations"), set, "annotations") < 0 ||
			    rh_admitted_add_map(rh_json_get(update, "nodeSelector"), set, "nodeSelector") < 0 ||
			    rh_admitted_add_tolerations(rh_json_get(update, "tolerations"), set) < 0)
				return RH_ENOMEM;
		}
	}
	return 0;
}

static int admission_pod_set(const struct rh_json *workload, const struct rh_json *assignment,
                             const struct rh_map *flavors, struct rh_json **ret_set, struct rh_error *err)
{
	const char *name = rh_json_string_at(assignment, "name");
	rh_auto(json) set = rh_json_new_object();
	struct rh_json *labels = set ? rh_json_ensure_object(set, "labels") : NULL;
	int r;

	if (!name || !labels || rh_json_set_string(set, "name", name) < 0 ||
	    rh_json_set_string(labels, RH_LABEL_QUEUE_POD_SET, name) < 0)
		return rh_fail_oom(err);
	r = admission_add_flavors(assignment, flavors, set, err);
	if (r < 0)
		return r;
	if (admission_add_updates(workload, name, set) < 0)
		return rh_fail_oom(err);
	*ret_set = rh_take(set);
	return 0;
}

int rh_kueue_note(const struct rh_json *workload, const struct rh_map *flavors, const struct rh_kueue_wish *wish,
                  char **ret_text, struct rh_error *err)
{
	const struct rh_kueue_part *part = &wish->part;
	rh_auto(json) asked = NULL;
	const char *uid = rh_json_string_at(workload, "metadata.uid");
	rh_auto(json) note = rh_json_new_object();
	char id[RH_KUEUE_ID_SIZE];
	struct rh_json *sets = note ? rh_json_ensure_array(note, "podSets") : NULL;

	if (!sets || !uid || rh_json_parse(wish->pod_sets, strlen(wish->pod_sets), &asked, NULL) < 0 ||
	    rh_kueue_admission_id(workload, id) < 0 || rh_json_set_string(note, "workload", uid) < 0 ||
	    rh_json_set_string(note, "admission", id) < 0)
		return rh_fail_oom(err);
	for (const struct rh_json *assignment = rh_json_first(rh_json_at(workload, "status.admission.podSetAssignments"));
	     assignment; assignment = rh_json_next(assignment)) {
		struct rh_json *set = NULL;
		int r = admission_pod_set(workload, assignment, flavors, &set, err);

		if (r == 0 && rh_kueue_topology_note(workload, assignment, asked, set) < 0)
			r = rh_fail_oom(err);

		if (r < 0)
			return r;
		if (rh_json_append(sets, set) < 0)
			return rh_fail_oom(err);
	}
	if (rh_kueue_part_admitted(part, workload) < part->asked &&
	    rh_kueue_part_note(part, rh_kueue_part_admitted(part, workload), note) < 0)
		return rh_fail_oom(err);
	*ret_text = rh_json_text(note);
	return *ret_text ? 0 : rh_fail_oom(err);
}
