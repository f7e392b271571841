/* SPDX-License-Identifier: Apache-2.0 */
#include "kueue/pods/reclaim.h"

#include "base/mem.h"
#include "job/status/conditions.h"
#include "job/values/names.h"

static int reclaim_add(const struct rh_replica_status *replica, struct rh_json *list)
{
	rh_auto(json) set = rh_json_new_object();
	char lower[RH_NAME_SIZE];

	if (!set || rh_json_set_string(set, "name", rh_name_lower(replica->type, lower)) < 0 ||
	    rh_json_set_integer(set, "count", replica->succeeded) < 0)
		return RH_ENOMEM;
	return rh_json_append(list, rh_take(set));
}

int rh_kueue_reclaim_read(const struct rh_job *job, struct rh_json **ret_list)
{
	bool none = job->scope == RH_SCOPE_JOB || rh_job_status_is(&job->status, RH_CONDITION_SUSPENDED);
	rh_auto(json) list = rh_json_new_array();

	if (!list)
		return RH_ENOMEM;
	for (size_t i = 0; i < job->status.replica_count && !none; i++) {
		if (job->status.replicas[i].succeeded > 0 && reclaim_add(&job->status.replicas[i], list) < 0)
			return RH_ENOMEM;
	}
	*ret_list = rh_take(list);
	return 0;
}

static int64_t reclaim_count(const struct rh_json *list, const char *name)
{
	int64_t count = 0;

	(void)rh_json_integer(rh_json_get(rh_json_find(list, "name", name), "count"), &count);
	return count;
}

bool rh_kueue_reclaim_exceeds(const struct rh_json *list, const struct rh_json *other)
{
	const struct rh_json *set = rh_json_first(list);

	while (set) {
		const char *name = rh_json_string_at(set, "name");

		if (reclaim_count(list, name) > reclaim_count(other, name))
			break;
		set = rh_json_next(set);
	}
	return set;
}
