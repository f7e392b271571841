/* SPDX-License-Identifier: Apache-2.0 */
/* Gang scheduling: when pods may be created (v1-behaviour B.8). The PodGroup itself is one of the further objects. */
#include <string.h>

#include "build/gang.h"
#include "engine/decide/children/children.h"

static const struct rh_child *gang_group(const struct rh_decision *decision)
{
	const struct rh_world *world = decision->world;

	for (size_t i = 0; i < world->child_count; i++) {
		const struct rh_child *child = world->children[i];

		if (strcmp(child->kind, RH_GANG_OBJECT) == 0 && strcmp(child->name, decision->job->name) == 0 &&
		    strcmp(child->owner_uid, decision->job->uid) == 0)
			return child;
	}
	return NULL;
}

bool rh_decide_gang_is_open(const struct rh_decision *decision)
{
	const struct rh_gang *gang = rh_gang_of_kind(decision->world->gang, decision->job->kind);
	const struct rh_child *group;

	if (!rh_gang_is_on(gang))
		return true;
	group = gang_group(decision);
	return group && *group->uid && !group->deleting && !(rh_gang_queues(gang) && group->idle);
}

int rh_decide_gang_wait(struct rh_decision *decision)
{
	struct rh_job_status *status = &decision->plan->status;

	/* V1 writes the time again in each pass; one write is enough. */
	if (status->reconciled_at == 0)
		status->reconciled_at = decision->world->now;
	return rh_decide_objects(decision);
}
