/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/taken.h
 * @brief Creates whose name an object of another owner has; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_TAKEN_H
#define RH_ENGINE_CARRY_REQUEST_TAKEN_H

#include <stdbool.h>

#include "base/json.h"

struct rh_inflight;

/** @return whether V1 has its own message for the conflict: for the objects of an MPIJob that serve pods, and its pods
 */
bool rh_taken_has_v1_message(const struct rh_inflight *inflight);
/**
 * Report that @p object has the name of what was to be created, and back off.
 * @param misplaced the object is the job's, but by its labels not the replica of that name
 */
void rh_taken_back_off(const struct rh_inflight *inflight, const struct rh_json *object, bool misplaced);

#endif
