/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/decide/children/children.h"

#include "base/os/clock.h"

int rh_decide_stop(struct rh_decision *decision, const struct rh_pod *pod)
{
	int64_t timeout = decision->job->terminating_timeout;
	int64_t deleted_at = rh_decide_time(decision, pod->deleted_at);

	decision->left = true;
	if (!pod->deleting)
		return rh_plan_delete(decision->plan, RH_DELETE_POD, pod->name, pod->uid, false);
	if (pod->deleted_at == 0 || timeout >= RH_NEVER - deleted_at)
		return 0;
	if (decision->world->now >= deleted_at + timeout)
		return rh_plan_delete(decision->plan, RH_DELETE_POD, pod->name, pod->uid, true);
	rh_decision_wake(decision, deleted_at + timeout);
	return 0;
}

int rh_decide_stop_all(struct rh_decision *decision)
{
	for (size_t i = 0; i < decision->owned_count; i++) {
		if (rh_decide_stop(decision, decision->owned[i]) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

int rh_decide_drop_service(struct rh_decision *decision, const struct rh_child *service)
{
	decision->left = true;
	if (service->deleting)
		return 0;
	return rh_plan_delete(decision->plan, RH_DELETE_SERVICE, service->name, service->uid, false);
}

int rh_decide_drop_services(struct rh_decision *decision)
{
	for (size_t i = 0; i < decision->world->child_count; i++) {
		const struct rh_child *child = decision->world->children[i];

		if (rh_decide_is_service(decision, child) && rh_decide_drop_service(decision, child) < 0)
			return RH_ENOMEM;
	}
	return 0;
}
