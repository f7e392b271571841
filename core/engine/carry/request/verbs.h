/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/verbs.h
 * @brief Classes of action verbs; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_VERBS_H
#define RH_ENGINE_CARRY_REQUEST_VERBS_H

#include "engine/plan.h"

/** @return whether @p verb creates an object */
static inline bool rh_verb_creates(enum rh_action_verb verb)
{
	return verb == RH_CREATE_POD || verb == RH_CREATE_SERVICE || verb == RH_CREATE_OBJECT || verb == RH_MAKE_OBJECT;
}

/** @return whether it deletes an object */
static inline bool rh_verb_deletes(enum rh_action_verb verb)
{
	return verb == RH_DELETE_POD || verb == RH_DELETE_SERVICE || verb == RH_DELETE_OBJECT || verb == RH_DELETE_JOB;
}

/** @return whether it adopts an object without an owner */
static inline bool rh_verb_adopts(enum rh_action_verb verb)
{
	return verb == RH_ADOPT_POD || verb == RH_ADOPT_SERVICE;
}

/** @return whether its object is a pod */
static inline bool rh_verb_of_pod(enum rh_action_verb verb)
{
	return verb == RH_CREATE_POD || verb == RH_DELETE_POD || verb == RH_ADOPT_POD;
}

/** @return whether its object is a Service */
static inline bool rh_verb_of_service(enum rh_action_verb verb)
{
	return verb == RH_CREATE_SERVICE || verb == RH_DELETE_SERVICE || verb == RH_ADOPT_SERVICE;
}

/** @return whether its object is a further object */
static inline bool rh_verb_of_object(enum rh_action_verb verb)
{
	return verb == RH_CREATE_OBJECT || verb == RH_MAKE_OBJECT || verb == RH_UPDATE_OBJECT || verb == RH_DELETE_OBJECT;
}

#endif
