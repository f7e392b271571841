/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/parts.h
 * @brief What the files of the engine share; for core/engine/carry alone.
 *
 * engine.c owns the loop's face, watch.c what is told, cache.c jobs, children.c and index.c what belongs to them,
 * work.c the decisions, carry.c writes to the job, flight.c writes to children, landing.c their answers, taken.c names
 * that are another's, holds.c and refusals.c what was refused, objects.c the further objects, events.c Events.
 */
#ifndef RH_ENGINE_CARRY_PARTS_H
#define RH_ENGINE_CARRY_PARTS_H

#include "base/map.h"
#include "base/str.h"
#include "build/build.h"
#include "engine/carry/index.h"
#include "engine/carry/queue.h"
#include "engine/engine.h"
#include "engine/world.h"

/** Jobs that keep their trees, beside those that are in use. */
#define RH_ENGINE_TREES 64
/** Bytes of all trees, those that are in use included: a job waits until its own has room, or is the only one. */
#define RH_ENGINE_TREE_BYTES ((size_t)8 << 20)
/** A tree of more bytes is not kept as text either: the job is read again when something happens to it. */
#define RH_ENGINE_TEXT_WEIGHT ((size_t)128 << 10)
/** Bytes of all texts; jobs beyond that are read again, too. */
#define RH_ENGINE_TEXT_BYTES ((size_t)24 << 20)

/** A kind that is watched. */
struct rh_engine_kind {
	const struct rh_kind *kind;
	struct rh_resource resource;
	char *api_version; /**< of the resource; owned */
	bool synced;       /**< all its jobs that existed have been told: before that none is decided about */
};

/** What a watch tells of. */
enum rh_engine_watched { RH_WATCHED_JOBS, RH_WATCHED_PODS, RH_WATCHED_SERVICES, RH_WATCHED_GROUPS };

/** One watch; what its callback gets. */
struct rh_engine_watch {
	struct rh_engine_watch *next;
	struct rh_engine *engine;
	struct rh_engine_kind *kind; /**< of a watch of jobs, else NULL */
	enum rh_engine_watched what;
	uint64_t id; /**< of the store's watch */
	bool synced;
};

/** What the jobs of one namespace share; there while one of them is known. */
struct rh_engine_share {
	size_t entries;                      /**< of the namespace */
	size_t creating;                     /**< its creates of children in flight */
	struct rh_queue_flow due;            /**< its turns in engine->queue */
	struct rh_queue_flow throttled;      /**< in engine->starved */
	struct rh_queue_flow tree_queue;     /**< in engine->crowded */
	struct rh_queue_flow pending_events; /**< in engine->pending_events */
	char namespace_[];
};

/** The engine. */
struct rh_engine {
	struct rh_engine_options options;
	struct rh_queue queue;
	struct rh_queue throttled;      /**< entries whose creates wait until others are answered */
	struct rh_queue pending_events; /**< Events that wait until others are answered */
	size_t creating;                /**< creates of children in flight */
	size_t creating_bytes;          /**< what their bodies take, parsed */
	struct rh_map *shares;          /**< namespace to struct rh_engine_share */
	size_t events_in_flight;        /**< Events in flight */
	struct rh_map *entries;         /**< "controller/namespace/name" to struct rh_engine_entry */
	struct rh_index index;          /**< watched pods, Services and PodGroups of all entries */
	struct rh_map *resources;       /**< "apiVersion/kind" to struct rh_resource of further objects; owned */
	struct rh_engine_kind *kinds;
	size_t kind_count;
	struct rh_engine_watch *watches;
	size_t unsynced;                      /**< watches that have not told all that exists */
	size_t shared_unsynced;               /**< of these, the ones that concern jobs of every kind */
	size_t requests;                      /**< in flight */
	uint64_t events;                      /**< Events named so far */
	struct rh_engine_entry *least_recent; /**< of the entries with a job, the one that was not looked at for longest */
	struct rh_engine_entry *most_recent;
	size_t tree_count;
	size_t tree_bytes;          /**< weights of all trees, and of those that are being read again */
	size_t text_bytes;          /**< lengths of all texts */
	struct rh_queue tree_queue; /**< entries whose trees wait for room */
	int64_t now;
	/** there was no memory for something that a watch told: everything is to be listed again */
	bool lost;
};

/** One observed pod, Service or further object. */
struct rh_cached {
	struct rh_pod *pod;            /**< a pod, owned; else NULL */
	struct rh_child *child;        /**< anything else, owned */
	struct rh_engine_entry *entry; /**< whose it is, of one that is in the engine's index; else NULL */
	struct rh_cached *chain;       /**< the next one there */
	bool stopping;                 /**< its deletion is under way, or done and not yet observed */
};

/** A write to a child that is under way. */
struct rh_inflight {
	struct rh_inflight *next;
	struct rh_inflight **link; /**< what points here */
	struct rh_engine_entry *entry;
	enum rh_action_verb verb;
	const struct rh_resource *resource;
	char *name;
	char *uid; /**< of what is deleted or updated; "" for a create */
	char *job_uid;
	char *node;               /**< where a pod was that is deleted by force; NULL: it is not */
	int32_t index;            /**< of the replica */
	struct rh_pod *pod;       /**< the pod that is to come; owned */
	struct rh_child *child;   /**< likewise anything else; owned */
	struct rh_json *body;     /**< of a further object as it is wanted; owned */
	uint64_t hash;            /**< its hash, as decisions compare it */
	struct rh_str tombstones; /**< UIDs, each in slashes, of objects of this name that were observed to go meanwhile */
	uint64_t id;              /**< of the request */
	size_t weight;            /**< of a create: what its body takes, parsed, bytes */
	bool asking;              /**< the request reads, which settles what the write came to */
	bool checking;            /**< it only asks: the look at a further object after a start */
	bool unknown;             /**< the write was not answered */
	bool probe;               /**< it was sent although one of its kind had been refused */
	bool old;                 /**< its job is gone: it concerns nobody any more */
	bool taken;               /**< the name of what it was to create is another's, which is said in V1's words */
};

/** What a refused write waits for. */
struct rh_backoff {
	int64_t until;
	uint32_t failures;
};

/** One Event and how often it happened. */
struct rh_engine_event {
	struct rh_queue_item item; /**< first, so that an item of the untold is its Event */
	struct rh_engine_event *next;
	struct rh_engine_entry *entry;
	char *message; /**< owned */
	char *reason;  /**< behind the name */
	char *uid;     /**< of the job; behind the reason */
	int64_t first; /**< microseconds */
	int64_t last;
	int64_t count;
	int64_t sent; /**< when it was written last */
	uint32_t writes;
	uint64_t id; /**< of the request in flight; 0: none */
	bool warning;
	bool combined; /**< stands for all further ones of its reason */
	bool written;  /**< the object exists */
	bool dirty;    /**< it happened again since it was sent */
	char name[];   /**< of the Event object */
};

/** How far the carrying out of a plan has come. Only one write to the job is under way at a time. */
enum rh_engine_stage { RH_STAGE_IDLE, RH_STAGE_LEDGER, RH_STAGE_STATUS, RH_STAGE_REFRESH };

/** One job with all that is known about it. There is also one while only children of a job are there. */
struct rh_engine_entry {
	struct rh_queue_item item;       /**< first, so that a queue's item is its entry */
	struct rh_queue_item throttled;  /**< among those whose creates wait */
	struct rh_queue_item tree_queue; /**< among those whose trees wait for room */
	struct rh_engine *engine;
	const struct rh_engine_kind *kind;
	char *key;
	char *namespace_;
	char *name;
	struct rh_engine_share *share; /**< of its namespace */

	char *uid;          /**< of the job; NULL: there is none */
	uint64_t revision;  /**< its resourceVersion; 0: not known as a number */
	struct rh_job *job; /**< NULL: there is none, it cannot be understood, it has finished for good, or see text */
	struct rh_ledger *ledger; /**< of the job, owned; NULL without one */
	char *text;    /**< the job's object: in place of the job while nobody looks at it; owned; NULL: not printed yet */
	size_t weight; /**< what the job's tree takes, or took last, bytes */
	size_t reserved;    /**< of engine->tree_bytes: what counts there for this entry */
	uint64_t spec_hash; /**< of a job that is unread: tells whether its spec was changed meanwhile */
	bool unread;        /**< without a tree it has no text either, for that is large: it is read again when it is due */
	struct rh_engine_entry
		*used_after; /**< among those with a job: the one that was looked at next, and the one before */
	struct rh_engine_entry *used_before; /**< likewise */
	bool has_tree;                       /**< it stands among them */
	struct rh_engine_unfit *unfit;       /**< the job cannot be read; owned; NULL: it can */
	bool refresh;                        /**< it is to be read again before anything is decided */
	bool statusless; /**< the store knew no status to write; whether it knows the job is asked now */
	uint32_t flags;  /**< of the engine's owner, see struct rh_engine_change */

	struct rh_map *pods;     /**< name to struct rh_cached */
	struct rh_map *services; /**< likewise */
	struct rh_map *objects;  /**< "apiVersion/kind/name" to struct rh_cached */
	struct rh_inflight *inflight_list;
	size_t inflight_count;
	struct rh_map *backoffs;     /**< "verb/name" to struct rh_backoff */
	struct rh_refusal *refusals; /**< oldest first; owned */
	size_t refusal_count;
	char *breach; /**< how the plugin broke its contract, see rh_engine_blame(); owned; NULL: it did not */

	enum rh_engine_stage stage;
	uint64_t write_id;
	struct rh_plan *plan; /**< that is being carried out; NULL when none is */

	struct rh_addresses addresses;
	int32_t addresses_attempt; /**< -1: there are none */
	struct rh_snapshot snapshot;
	struct rh_builder *builder; /**< of the snapshot; NULL until something is built */
	struct rh_json *desired;    /**< further objects that the job needs; NULL: not known */
	int desired_state;          /**< for which state of the job */
	bool desired_from_pods;     /**< they follow from single pods, too */
	uint64_t desired_pods_hash; /**< then: of which phases of which pods */
	bool checked;               /**< which of them exist is known */
	bool barred;                /**< not known is only what may not be read: the rest of the job goes on */
	size_t checks;              /**< requests under way to know it */
	bool stale;                 /**< of those that serve pods it is to be known anew */
	int64_t looked_at;          /**< when it was asked last; microseconds */
	int64_t check_at;           /**< when to look again, if it is not known; microseconds */
	uint32_t check_failures;    /**< how often it could not be known */
	uint64_t said;              /**< of the last plan that was carried out */
	int64_t held_since;         /**< likewise */
	struct rh_job_status *held; /**< likewise; owned; NULL when none is, or memory is out */

	struct rh_engine_event *events;
	size_t event_count;
	size_t events_in_flight;
};

/** What is to be told as an Event. */
struct rh_event_spec {
	const char *uid; /**< of the job */
	bool warning;
	const char *reason;
	const char *message;
};

/** Submit; counted in engine->requests, which the callback takes one off. @return as rh_store.submit */
int rh_engine_submit(struct rh_engine *engine, struct rh_request *request, rh_done_fn *done, void *arg,
                     uint64_t *ret_id);
/** Cancel a request of the engine. */
void rh_engine_cancel(struct rh_engine *engine, uint64_t id);

/** @name cache.c @{ */
/** @return the text at @p member and @p key of @p object, borrowed; "" when it is none */
const char *rh_object_text(const struct rh_json *object, const char *member, const char *key);
/** @return a label of @p object, borrowed; "" when it has none */
const char *rh_object_label(const struct rh_json *object, const char *label);
/**
 * @return a resourceVersion as a number; 0 where it is none, and then nothing is older. Versions are opaque, but every
 * API server counts them up
 */
uint64_t rh_engine_revision(const char *text);
/**
 * @return the entry of a job, made when it is missing and @p add is set; NULL when it is missing, or memory is out:
 * then the engine is lost
 */
struct rh_engine_entry *rh_engine_entry_of(struct rh_engine *engine, const struct rh_engine_kind *kind,
                                           const char *namespace_, const char *name, bool add);
/** Have the job decided about soon, if there is one. */
void rh_engine_touch(struct rh_engine_entry *entry);
/** Take the job as it is now, unless a newer one is known. @return 0 or RH_ENOMEM */
int rh_engine_take_job(struct rh_engine_entry *entry, const struct rh_json *object);
/** The job is gone, or is another one now: forget all that was the old one's. */
void rh_engine_forget_job(struct rh_engine_entry *entry);
/** The job has finished for good: keep only what a later change of it needs. */
void rh_engine_forget_finished(struct rh_engine_entry *entry);
/** Free the entry if nothing holds it any more. */
void rh_engine_reap(struct rh_engine_entry *entry);
/** Free an entry whatever holds it. */
void rh_engine_entry_free(struct rh_engine_entry *entry);
/** @} */

/** @name children.c @{ */
/** Free a cached thing; the engine's index forgets it. NULL is nothing. */
void rh_cached_free(struct rh_cached *cached);
RH_DEFINE_CLEANUP(cached);
/** @return its UID; "" while that is unknown */
const char *rh_cached_uid(const struct rh_cached *cached);
/** Trim a Service or further object of a job of the kind. @return 0 or RH_ENOMEM */
int rh_child_parse(const struct rh_kind *kind, const struct rh_json *object, struct rh_child **ret_child);
/** Free a child. NULL is nothing. */
void rh_child_free(struct rh_child *child);
RH_DEFINE_CLEANUP(child);
/** Say that a delete of @p cached is under way, or that it came to nothing. */
void rh_cached_set_stopping(struct rh_cached *cached, bool stopping);
/** @return whether the labels of a pod or Service in the job's namespace say that it belongs to the job */
bool rh_engine_is_labelled(const struct rh_engine_entry *entry, const struct rh_json *object);
/** Enter @p cached, which is among what @p entry knows, into the engine's index. */
void rh_engine_own_child(struct rh_engine_entry *entry, struct rh_cached *cached);
/**
 * Something that is in the index is gone, or no longer its job's: free it, and have the job decided about. The entry
 * may be freed.
 */
void rh_engine_drop_child(struct rh_cached *cached);
/**
 * A watched object belongs to @p entry now (NULL: to no job): whatever other job had it loses it. @return false when a
 * newer state of the object is known: this one is to be ignored
 */
bool rh_engine_unroute(struct rh_engine *engine, const struct rh_engine_entry *entry, const struct rh_json *object);
/**
 * The pod, Service or PodGroup @p name is gone, or not the job's any more: a create or read that is answered later must
 * not bring it back, and what waits for the name need not wait. @param verb what creates such an object
 */
void rh_engine_add_tombstone(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *name,
                             const char *uid);
/** @return whether rh_engine_add_tombstone() was called for this UID while the flight was under way */
bool rh_inflight_has_tombstone(const struct rh_inflight *inflight, const char *uid);
/** Put an object that a create or get returned into the cache, unless that knows better. @return 0 or RH_ENOMEM */
int rh_engine_take_child(struct rh_inflight *inflight, const struct rh_json *object);
/**
 * Put a pod or Service of the job as it was seen into the cache; another job that had it loses it. @return 1, 0 when
 * nothing about it is new, or RH_ENOMEM
 */
int rh_engine_see_child(struct rh_engine_entry *entry, bool service, const struct rh_json *object);
/** Free all that @p map, of an entry, holds. */
void rh_engine_clear_map(struct rh_map *map);
/** @} */

/** @name watch.c @{ */
/** Callback of all watches; @p arg is a struct rh_engine_watch. */
void rh_engine_on_watch(void *arg, enum rh_watch_event event, const struct rh_json *object);
/** Forget everything that was observed. */
void rh_engine_forget_all(struct rh_engine *engine);
/** @} */

/** @return whether the job is one that may have something to do: it is there, understood, and not over for good */
static inline bool rh_engine_is_kept(const struct rh_engine_entry *entry)
{
	return entry->job || entry->text || entry->unread;
}

/** @name heat.c @{ */
/** The job has been looked at: it keeps its tree, and others may lose theirs. */
void rh_engine_mark_used(struct rh_engine_entry *entry);
/** Of the trees that were looked at longest ago keep no more than @p most, but for those that are in use. */
void rh_engine_evict(struct rh_engine *engine, size_t most);
/** Have the tree of a job that is kept as text. @return 0 or RH_ENOMEM */
int rh_engine_hydrate(struct rh_engine_entry *entry);
/**
 * @return whether the tree of a job that has none, of @p weight bytes, has room; others lose theirs for it where they
 * can
 */
bool rh_engine_has_room(struct rh_engine *engine, size_t weight);
/** Let the job, which has no tree, wait until one has room. */
void rh_engine_await_room(struct rh_engine_entry *entry);
/** Have the jobs looked at whose trees may have room now. */
void rh_engine_admit_trees(struct rh_engine *engine);
/** @return whether trees may have room that wait for it */
bool rh_engine_may_admit_trees(const struct rh_engine *engine);
/** Count @p bytes in engine->tree_bytes for the entry, in place of what counted before. */
void rh_engine_reserve(struct rh_engine_entry *entry, size_t bytes);
/** @return what a store is to be told of the size of the answer to a request about the job, see rh_request */
size_t rh_engine_answer_size(const struct rh_engine_entry *entry);
/**
 * rh_job_parse() of @p object (taken), and its ledger. @return 0, RH_EINVAL (then @p err has the reason) or RH_ENOMEM
 */
int rh_engine_parse_job(const struct rh_kind *kind, struct rh_json *object, struct rh_job **ret_job,
                        struct rh_ledger *ret_ledger, struct rh_error *err);
/** Forget the text, if there is one. */
void rh_engine_forget_text(struct rh_engine_entry *entry);
/** The entry has no tree any more. */
void rh_engine_forget_tree(struct rh_engine_entry *entry);
/** Set the ledger (taken; may be NULL); the one before is freed. */
void rh_engine_set_ledger(struct rh_engine_entry *entry, struct rh_ledger *ledger);
/** @} */

/** @name large.c @{ */
/**
 * @param weight of @p object. @return what is kept of a job: all, or, if it is too large to be run, who it is and what
 * has become of it; owned by the caller; NULL when memory is out
 */
struct rh_json *rh_engine_copy_job(const struct rh_json *object, size_t weight);
/** @return whether the job, of which nothing is in memory, is large, and its tree has no room now */
bool rh_engine_must_put_off(struct rh_engine_entry *entry, const struct rh_json *object);
/** Keep nothing of the job: it is read when it has room. */
void rh_engine_put_off(struct rh_engine_entry *entry);
/** @} */

/** @name work.c @{ */
/** Decide for one job that is due, and begin to carry the plan out. */
void rh_engine_work(struct rh_engine_entry *entry);
/** @return the builder of the job as it is; NULL: then @p err tells, and *@p ret_status is the status */
struct rh_builder *rh_engine_builder(struct rh_engine_entry *entry, int *ret_status, struct rh_error *err);
/**
 * An operation of the plugin failed with @p status, in the words of @p err. Plugins answer from what they are shown, so
 * to ask again is in vain: the job fails for it, in the next step. Not so where it has pods on a cluster: they are not
 * to end because a plugin was replaced by a worse one.
 * @return whether it is so; else the caller tries again
 */
bool rh_engine_blame(struct rh_engine_entry *entry, int status, const struct rh_error *err);
/** Something about the job failed: tell it, if it is the user's to know, and try again with back-off. */
void rh_engine_retry(struct rh_engine_entry *entry, int status, const struct rh_error *err);
/** @} */

/** @name carry.c @{ */
/** Carry out entry->plan. */
void rh_engine_carry(struct rh_engine_entry *entry);
/** Read the job again. */
void rh_engine_refresh(struct rh_engine_entry *entry);
/**
 * @param before the status as the store has it, @param status as it is to be. @return the merge patch of the job, {}
 * when they are alike; owned by the caller; NULL when memory is out
 */
struct rh_json *rh_engine_status_patch(const struct rh_json *before, const struct rh_job_status *status);
/** Write the status of a job. @param patch see rh_engine_status_patch(); taken. @return 0 or RH_ENOMEM */
int rh_engine_write_status(struct rh_engine_entry *entry, struct rh_json *patch);
/** Forget the status that is held back. */
void rh_engine_forget_held(struct rh_engine_entry *entry);
/** Drop the plan and the write under way. */
void rh_engine_stop_carrying(struct rh_engine_entry *entry);
/**
 * @return a merge patch that makes @p from into @p to, {} when they are alike; owned by the caller; NULL when memory is
 * out
 */
struct rh_json *rh_engine_diff(const struct rh_json *from, const struct rh_json *to);
/** @} */

/** @return whether @p verb creates */
static inline bool rh_verb_creates(enum rh_action_verb verb)
{
	return verb == RH_CREATE_POD || verb == RH_CREATE_SERVICE || verb == RH_CREATE_OBJECT;
}

/** @return whether it deletes */
static inline bool rh_verb_deletes(enum rh_action_verb verb)
{
	return verb == RH_DELETE_POD || verb == RH_DELETE_SERVICE || verb == RH_DELETE_OBJECT || verb == RH_DELETE_JOB;
}

/** @return whether it makes what has no owner the job's */
static inline bool rh_verb_adopts(enum rh_action_verb verb)
{
	return verb == RH_ADOPT_POD || verb == RH_ADOPT_SERVICE;
}

/** @return whether it is about a pod */
static inline bool rh_verb_of_pod(enum rh_action_verb verb)
{
	return verb == RH_CREATE_POD || verb == RH_DELETE_POD || verb == RH_ADOPT_POD;
}

/** @return whether it is about a Service */
static inline bool rh_verb_of_service(enum rh_action_verb verb)
{
	return verb == RH_CREATE_SERVICE || verb == RH_DELETE_SERVICE || verb == RH_ADOPT_SERVICE;
}

/** @return whether it is about a further object */
static inline bool rh_verb_of_object(enum rh_action_verb verb)
{
	return verb == RH_CREATE_OBJECT || verb == RH_UPDATE_OBJECT || verb == RH_DELETE_OBJECT;
}

/** @return what the store refuses when it refuses the request of @p flight that is under way */
static inline enum rh_refused rh_inflight_refused(const struct rh_inflight *inflight)
{
	if (inflight->taken)
		return RH_REFUSED_NAME;
	if (rh_verb_of_object(inflight->verb) && (inflight->asking || inflight->checking))
		return RH_REFUSED_READ;
	if (rh_verb_creates(inflight->verb))
		return RH_REFUSED_CREATE;
	return rh_verb_deletes(inflight->verb) ? RH_REFUSED_DELETE : RH_REFUSED_UPDATE;
}

/**
 * @return how what @p flight is about is read. Further objects are many kinds, of which V1's role grants to list and
 * not to get
 */
static inline enum rh_verb rh_inflight_reads(const struct rh_inflight *inflight)
{
	return rh_verb_of_object(inflight->verb) ? RH_VERB_FIND : RH_VERB_GET;
}

/** @name share.c @{ */
/** Bytes that the bodies of creates in flight may take, parsed; the one that goes beyond still goes. */
#define RH_ENGINE_CREATE_BYTES ((size_t)8 << 20)
/** @return the share of a namespace, which the caller holds until it is released; NULL when memory is out */
struct rh_engine_share *rh_engine_share_of(struct rh_engine *engine, const char *namespace_);
/** Release a share. NULL is nothing. */
void rh_engine_share_release(struct rh_engine *engine, struct rh_engine_share *share);
/** @return whether the namespace may have one more create in flight now */
bool rh_engine_may_create(const struct rh_engine *engine, const struct rh_engine_share *share);
/** @} */

/** @name flight.c @{ */
/**
 * Begin one action of the plan. @return 0, also when it waits for something; RH_EAGAIN when a window is full: the job
 * is due again when it is open; RH_ENOMEM
 */
int rh_engine_act(struct rh_engine_entry *entry, const struct rh_action *action);
/** @return whether creates that wait for others' answers may go on */
bool rh_engine_may_admit_creates(const struct rh_engine *engine);
/** Have the jobs decided about whose creates may go on. */
void rh_engine_admit_creates(struct rh_engine *engine);
/** Free a flight; what is under way is cancelled. NULL is nothing. */
void rh_inflight_free(struct rh_inflight *inflight);
/** Send a request of the flight: resource and names are filled in, its body is taken. @return 0 or RH_ENOMEM */
int rh_inflight_send(struct rh_inflight *inflight, struct rh_request *request);
/** @return what the flight deletes or updates, if it is still what is known under its name; else NULL */
struct rh_cached *rh_inflight_target(const struct rh_inflight *inflight);
/** Tell how it went; @p detail is what went wrong. */
void rh_inflight_report(const struct rh_inflight *inflight, bool failed, const char *detail);
/** Look whether a further object exists. @return 0 or RH_ENOMEM */
int rh_engine_check_object(struct rh_engine_entry *entry, const struct rh_json *object);
/** @} */

/** Callback of the requests of flights (landing.c); @p arg is a struct rh_inflight. */
void rh_inflight_on_done(void *arg, const struct rh_outcome *outcome);

/** @name taken.c @{ */
/**
 * @return whether V1 has words of its own for a name that is taken: of what its MPIJob made beside pods, and of its
 * pods
 */
bool rh_inflight_has_v1_message(const struct rh_inflight *inflight);
/**
 * The name of what was to be made is taken by @p object: tell whose it is, and let the create wait. @param astray it is
 * the job's, but not the replica of that name
 */
void rh_inflight_back_off_taken(struct rh_inflight *inflight, const struct rh_json *object, bool astray);
/** @} */

/** @name holds.c @{ */
/** Let the write of @p flight wait: for @p delay microseconds, or, when that is negative, longer each time. */
void rh_engine_back_off(const struct rh_inflight *inflight, int64_t delay);
/** Forget that it was refused. */
void rh_engine_clear_backoff(const struct rh_inflight *inflight);
/** @return whether such a write waits; then the job is due when it has waited */
bool rh_engine_is_backing_off(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *kind,
                              const char *name);
/** Forget that a create of the pod, Service or PodGroup @p name was refused: what stood in its way is gone. */
void rh_engine_clear_child_backoff(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *name);
/** Forget all refusals: the job has changed. */
void rh_engine_clear_backoffs(struct rh_engine_entry *entry);
/** @} */

/** @name refusals.c @{ */
/**
 * Remember that the request of @p flight was refused for good, in @p words. @param alone it is about this name only.
 * What there is no memory for is not remembered.
 */
void rh_engine_refuse(const struct rh_inflight *inflight, bool alone, const char *words);
/** @return whether creates of @p kind are refused */
bool rh_engine_is_refused(const struct rh_engine_entry *entry, const char *kind);
/** Forget what was refused of @p kind: all of it when @p name is NULL, else what is about that name. */
void rh_engine_forget_refusal(struct rh_engine_entry *entry, const char *kind, const char *name);
/** Forget all of it, and what the plugin did. */
void rh_engine_forget_refusals(struct rh_engine_entry *entry);
/** @} */

/** @name objects.c @{ */
/**
 * Know what further objects the job wants, and which exist. @return 0; 1 when that is being found out; or a negative
 * status
 */
int rh_engine_desire_objects(struct rh_engine_entry *entry, struct rh_error *err);
/** Know what further objects a job wants that has finished. @return 0 or a negative status */
int rh_engine_desire_last_objects(struct rh_engine_entry *entry, struct rh_error *err);
/**
 * @return whether entry->plan is not to be carried out: it makes pods, or grants rights, by what was known of further
 * objects long ago. Then they are looked at again
 */
bool rh_engine_must_look(struct rh_engine_entry *entry);
/** @return whether the job wants further objects that serve its pods */
bool rh_engine_equips_pods(const struct rh_engine_entry *entry);
/** @return whether objects as @p api_version and @p kind are watched: nobody has to ask for them */
bool rh_engine_watches_object(const struct rh_engine *engine, const char *api_version, const char *kind);
/** @return the resource of an object, borrowed from the engine, or NULL when memory is out */
const struct rh_resource *rh_engine_resource(struct rh_engine *engine, const char *api_version, const char *kind);
/** Free what rh_engine_resource() made. */
void rh_engine_free_resources(struct rh_engine *engine);
/** @return whether @p actual has all that @p wanted says; what a server fills in does not count */
bool rh_engine_covers(const struct rh_json *actual, const struct rh_json *desired);
/**
 * Put a further object, or what is known of it, into entry->objects, unless a newer state is known. @p hash is what was
 * written. @return 0 or RH_ENOMEM
 */
int rh_engine_keep_object(struct rh_engine_entry *entry, const struct rh_json *object, uint64_t hash);
/** Print the key of a further object for entry->objects. @return owned by the caller; NULL: memory is out */
char *rh_engine_object_key(const char *api_version, const char *kind, const char *name);
/** @} */

/** @name events.c @{ */
/** Forget the Events of the entry that are neither under way nor wait to be. */
void rh_engine_trim_events(struct rh_engine_entry *entry);
/** Likewise, but only those of what went well: a failure that happens again is to be counted up. */
void rh_engine_trim_good_events(struct rh_engine_entry *entry);
/** Send Events that have waited for others to be answered. */
void rh_engine_emit_pending(struct rh_engine *engine);
/** Tell an Event about the job. It is best effort: what there is no memory for is not told. */
void rh_engine_emit(struct rh_engine_entry *entry, const struct rh_event_spec *news);
/** Forget all Events of the entry; what is under way is cancelled. */
void rh_engine_forget_events(struct rh_engine_entry *entry);
/** @} */

#endif
