/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/inflight_state.h
 * @brief One request for a child that is in flight, and its states; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_INFLIGHT_STATE_H
#define RH_ENGINE_CARRY_REQUEST_INFLIGHT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/carry/fair/queue.h"
#include "engine/plan.h"
#include "engine/world.h"
#include "store/store.h"

struct rh_entry;

/** What the current request of an action does. completion.c has the transitions. */
enum rh_inflight_state {
	RH_INFLIGHT_SENT,        /**< the write is sent */
	RH_INFLIGHT_READING,     /**< update and adoption: reads the object that is written next */
	RH_INFLIGHT_VERIFYING,   /**< reads the object, because the result of the write is unknown */
	RH_INFLIGHT_IDENTIFYING, /**< create: reads the object that already has the name */
	RH_INFLIGHT_CHECKING,    /**< reads only: whether a further object exists */
	RH_INFLIGHT_STATES
};

/** One action on a child that is in flight. */
struct rh_inflight {
	struct rh_inflight *next;
	struct rh_inflight **link; /**< what points here; NULL: not listed */
	struct rh_entry *entry;
	enum rh_action_verb verb;
	enum rh_inflight_state state;
	const struct rh_resource *resource;
	char *name;
	char *uid; /**< of the object to delete or update; "" for a create */
	char *job_uid;
	char *node;             /**< node of a pod that is deleted by force; NULL: not by force */
	int32_t index;          /**< of the replica; -1: none */
	struct rh_pod *pod;     /**< the pod to create; owned */
	struct rh_child *child; /**< likewise any other object; owned */
	struct rh_json *body;   /**< of a further object: its desired content; owned */
	uint64_t hash;          /**< of body, as decisions compare it */
	bool once;              /**< of a further object that is made once: no content of it is read */
	char **tombstones;      /**< UIDs of objects of this name whose deletion was observed meanwhile; owned */
	size_t tombstone_count;
	rh_done_fn *done; /**< takes the responses to its requests; set before the first one is sent */
	uint64_t id;      /**< of the request; 0: none is in flight */
	size_t weight;    /**< of a create: bytes of its body, parsed */
	/** Fixed when it is sent: its kind was refused, so that a success lifts the refusal of the whole kind. */
	bool probe;
	/**
	 * The job was deleted or replaced: the response is ignored. A flag beside the state, because the delete of a job
	 * goes through its states although its own job is gone.
	 */
	bool abandoned;
};

/** The actions of one job that are in flight. */
struct rh_entry_inflight {
	struct rh_inflight *list;
	size_t count;
	struct rh_queue_item throttled; /**< in engine->creates.throttled */
};

#endif
