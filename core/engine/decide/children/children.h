/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/decide/children/children.h
 * @brief Which pods, Services and further objects are created, adopted and deleted; for core/engine/decide.
 */
#ifndef RH_ENGINE_DECIDE_CHILDREN_CHILDREN_H
#define RH_ENGINE_DECIDE_CHILDREN_CHILDREN_H

#include "engine/decide/decision.h"

/** Stop one pod: delete it, or force it when it has been terminating for too long. @return 0 or RH_ENOMEM */
int rh_decide_stop(struct rh_decision *decision, const struct rh_pod *pod);
/** Stop every pod of the job. @return 0 or RH_ENOMEM */
int rh_decide_stop_all(struct rh_decision *decision);
/** Delete every Service of the job. @return 0 or RH_ENOMEM */
int rh_decide_drop_services(struct rh_decision *decision);
/** Delete a Service of the job, unless its delete is in flight. @return 0 or RH_ENOMEM */
int rh_decide_drop_service(struct rh_decision *decision, const struct rh_child *service);

/** Create missing pods and Services, adopt those without an owner, delete surplus ones.
 * @return 0 or RH_ENOMEM */
int rh_decide_children(struct rh_decision *decision);
/** Create, update and delete further objects, and find out whether pods may be created. @return 0 or RH_ENOMEM */
int rh_decide_objects(struct rh_decision *decision);
/** Delete the further objects that are not desired. @return 0 or RH_ENOMEM */
int rh_decide_drop_objects(struct rh_decision *decision);

/** @return whether the gang scheduler permits to create pods */
bool rh_decide_gang_is_open(const struct rh_decision *decision);
/** The job waits for its gang scheduler. @return 0 or RH_ENOMEM */
int rh_decide_gang_wait(struct rh_decision *decision);

/** @return how many more creates of @p verb (of pods or Services) the plan may have; SIZE_MAX: no limit */
size_t rh_decide_creates_allowed(struct rh_decision *decision, enum rh_action_verb verb);

#endif
