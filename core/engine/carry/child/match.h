/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/child/match.h
 * @brief Comparing an object of the store with the one that a request in flight writes; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_CHILD_MATCH_H
#define RH_ENGINE_CARRY_CHILD_MATCH_H

#include "base/json.h"
#include "engine/carry/request/inflight.h"

/**
 * The owner of an object. RH_MATCH_MISPLACED: the job owns it, but by its labels, which anybody may edit, it is another
 * replica, or belongs to another job.
 */
enum rh_match { RH_MATCH_FOREIGN, RH_MATCH_MISPLACED, RH_MATCH_OURS };

/** @return whose @p object is; FOREIGN, too, when memory is out */
enum rh_match rh_match_owner(const struct rh_inflight *inflight, const struct rh_json *object);
/** @return whether the labels name the job; true for further objects: a PodGroup is found by its owner */
bool rh_match_is_labelled(const struct rh_inflight *inflight, const struct rh_json *object);
/** @return whether the cache has the pod or Service that the create makes: then what the create read is older */
bool rh_match_is_cached(const struct rh_inflight *inflight);
/**
 * Whether a further object has the desired content. Of a PodGroup only spec and labels count, and its queue becomes the
 * desired one. @return 1 when it has, 0 or RH_ENOMEM
 */
int rh_match_is_current(const struct rh_inflight *inflight, const struct rh_json *actual);
/** @return whether @p actual has all of @p desired; further members, which a server adds, do not count */
bool rh_match_covers(const struct rh_json *actual, const struct rh_json *desired);
/** @return the update that gives @p actual its desired content; owned by the caller; NULL when memory is out */
struct rh_json *rh_match_replacement(const struct rh_json *actual, const struct rh_json *desired);
/** @return whether the pod or Service that was read may be adopted: same UID, no controller, not being deleted */
bool rh_match_may_adopt(const struct rh_inflight *inflight, const struct rh_json *actual);
/** @return the patch that adds the job to the owners of @p actual; owned by the caller; NULL when memory is out */
struct rh_json *rh_match_adoption(const struct rh_inflight *inflight, const struct rh_json *actual);

#endif
