/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/snapshot.h
 * @brief What an engine knows, copied for tests; a failure in here fails the test that calls.
 *
 * Of all tests snapshot.c alone reads the private structures of core/engine/carry; tools/measure.py holds the others to
 * it. What it returns is a copy: it stays as it is when the engine goes on.
 */
#ifndef RH_TEST_ENGINE_CARRY_SNAPSHOT_H
#define RH_TEST_ENGINE_CARRY_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rh_engine;

/** Room for a name, key, UID or version. */
#define SNAPSHOT_TEXT_SIZE 128

/** The totals of an engine. */
struct snapshot_engine {
	size_t jobs;           /**< with those of which only children are known */
	size_t namespaces;     /**< that have some of them */
	size_t children;       /**< pods, Services and PodGroups in the index by UID */
	size_t queue_members;  /**< jobs that the queue of due jobs has room for */
	size_t queue_capacity; /**< of its heap */
	size_t requests;       /**< in flight */
	size_t creates;        /**< of children, in flight */
	size_t create_bytes;   /**< of their bodies, parsed */
	size_t throttled;      /**< jobs whose creates wait until others complete */
	size_t events;         /**< writes of Events, in flight */
	size_t pending_events; /**< jobs with Events that wait until others are written */
	size_t trees;          /**< of jobs in the cache */
	size_t tree_bytes;     /**< of these, and of jobs that are being read again */
	size_t tree_spaces;    /**< namespaces that have some of these bytes */
	size_t tree_waiters;   /**< jobs whose trees wait for room */
	size_t text_bytes;     /**< of jobs that have become text */
	size_t lookups;        /**< objects that jobs name */
	size_t lookup_bytes;   /**< of these, parsed */
	size_t awaited;        /**< jobs about which a plugin has been asked and has not answered */
	bool lost;             /**< memory was out for a watch event: everything is listed again in the next step */
};

/** What an engine knows of one job. */
struct snapshot_job {
	char name[SNAPSHOT_TEXT_SIZE];
	char uid[SNAPSHOT_TEXT_SIZE];     /**< "": the job does not exist */
	char version[SNAPSHOT_TEXT_SIZE]; /**< resourceVersion of its tree; "": it has none */
	bool has_tree;
	bool is_cached;      /**< it is in the list of trees */
	bool has_text;       /**< in place of the tree */
	bool has_expansion;  /**< likewise, of the replica types that its plugin gave */
	bool has_ledger;     /**< parsed */
	bool has_builder;    /**< of bodies of pods and Services */
	bool waits_for_room; /**< for its tree */
	bool is_written;     /**< a request about the job itself is in flight */
	size_t requests;     /**< about its children, in flight */
	size_t events;       /**< that are remembered */
};

/** What an engine knows of a pod, Service or PodGroup. */
struct snapshot_child {
	char job[SNAPSHOT_TEXT_SIZE]; /**< "controller/namespace/name" of the job that it belongs to */
	char kind[SNAPSHOT_TEXT_SIZE];
	char name[SNAPSHOT_TEXT_SIZE];
	char uid[SNAPSHOT_TEXT_SIZE];
	char version[SNAPSHOT_TEXT_SIZE]; /**< resourceVersion; of what is no pod a number */
	char owner[SNAPSHOT_TEXT_SIZE];   /**< UID of its controller; "": none */
	char type[SNAPSHOT_TEXT_SIZE];    /**< replica type as labelled, in lower case */
	int32_t index;                    /**< of the replica; -1: none */
	int32_t phase;                    /**< of a pod: RH_PHASE_*; else 0 */
	bool deleting;
};

/** @return the totals of the engine */
struct snapshot_engine snapshot_engine(const struct rh_engine *engine);
/** Copy what is known of all jobs, at most @p room of them. @return how many */
size_t snapshot_jobs(const struct rh_engine *engine, struct snapshot_job *ret_jobs, size_t room);
/** @return what is known of the job @p name, which is known */
struct snapshot_job snapshot_job(const struct rh_engine *engine, const char *name);
/**
 * Copy what is known of pods and Services of all jobs, at most @p room of them. Each is in the index, under its UID.
 * @return how many
 */
size_t snapshot_children(const struct rh_engine *engine, struct snapshot_child *ret_children, size_t room);
/** @return whether the pod @p name of some job is known; if so it is in @p ret_pod */
bool snapshot_pod(const struct rh_engine *engine, const char *name, struct snapshot_child *ret_pod);
/** Have the module of Events emit one about the job @p name, which is known. */
void snapshot_emit(struct rh_engine *engine, const char *name, bool warning, const char *reason, const char *message);

#endif
