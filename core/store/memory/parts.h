/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file store/memory/parts.h
 * @brief Shared declarations of the memory store; for core/store/memory.
 */
#ifndef RH_STORE_MEMORY_PARTS_H
#define RH_STORE_MEMORY_PARTS_H

#include "store/memory.h"
#include "store/memory/objects.h"

/** Most texts that a request has. */
#define RH_MEMORY_TEXTS_MAX 9

/** Kind of a pending item. A request that was applied becomes its outcome. */
enum rh_memory_item_kind { RH_MEMORY_REQUEST, RH_MEMORY_OUTCOME, RH_MEMORY_EVENT };

/** One pending item; the first member of a request or event. */
struct rh_memory_item {
	struct rh_memory_item *previous;
	struct rh_memory_item *next;
	enum rh_memory_item_kind kind;
};

struct rh_memory_event;

/** One watch. */
struct rh_memory_watch {
	struct rh_memory_watch *next;
	uint64_t id;
	char *prefix; /**< of the keys of its objects: "v1/Pod/"; owned */
	char *label;  /**< NULL: all; owned */
	rh_watch_fn *fn;
	void *arg;
	struct rh_memory_event *first; /**< its oldest pending event: the only one that may be delivered */
	struct rh_memory_event *last;
};

/** One undelivered event of a watch. */
struct rh_memory_event {
	struct rh_memory_item item;
	struct rh_memory_watch *watch;
	struct rh_memory_event *next; /**< of the same watch */
	enum rh_watch_event event;
	struct rh_memory_version *version; /**< NULL for RH_WATCH_SYNCED */
};

/** One request, and its answer once it has been applied. */
struct rh_memory_request {
	struct rh_memory_item item;
	struct rh_request request;        /**< its body is owned */
	struct rh_resource resource;      /**< what request.resource points to */
	struct rh_log_query log;          /**< what request.log points to */
	char *texts[RH_MEMORY_TEXTS_MAX]; /**< all texts of the two; owned */
	size_t text_count;
	uint64_t id;
	rh_done_fn *done; /**< NULL once cancelled */
	void *arg;
	enum rh_outcome_code code;
	char *message; /**< owned; NULL when there was no memory for it */
	int64_t retry_after;
	bool forbidden;
	bool budget;
	char *text; /**< of a log; owned; NULL: none */
	struct rh_memory_version *version;
};

/** The store. */
struct rh_memory_store {
	struct rh_store face; /**< first, so that the face is the store */
	struct rh_memory_objects objects;
	struct rh_memory_watch *watches;
	struct rh_memory_watch **watches_end;
	struct rh_memory_item *first; /**< oldest */
	struct rh_memory_item *last;
	size_t heads; /**< items that may be pumped now */
	uint64_t ids; /**< of requests and watches, given out so far */
	int64_t now;
	bool graceful;
	bool collects;
	rh_memory_gate_fn *gate;
	void *gate_arg;
	rh_memory_log_fn *logs;
	void *logs_arg;
	void (*ready)(void *arg);
	void *arg;
};

/** Print the key of an object, or of all objects of a resource where @p namespace_ is NULL. @return whether it fits */
bool rh_memory_key(const struct rh_resource *resource, const char *namespace_, const char *name,
                   char buffer[RH_MEMORY_KEY_SIZE]);
/** @return whether the watch is one of objects as @p object, and of those with the labels of @p tree */
bool rh_memory_selects(const struct rh_memory_watch *watch, const struct rh_memory_object *object,
                       const struct rh_json *tree);
/** Make an event for later rh_memory_emit(). @return it, or NULL when memory is out */
struct rh_memory_event *rh_memory_event_new(struct rh_memory_watch *watch, enum rh_watch_event event,
                                            struct rh_memory_version *version);
/** Free an event that is not in the queue. NULL is allowed. */
void rh_memory_event_free(struct rh_memory_event *event);
/** Append @p item (taken) to the queue. */
void rh_memory_push(struct rh_memory_store *store, struct rh_memory_item *item);
/** Take @p item, which is then the caller's, out of the queue. */
void rh_memory_unlink(struct rh_memory_store *store, struct rh_memory_item *item);
/** Put an event (taken) into the queue. */
void rh_memory_emit(struct rh_memory_store *store, struct rh_memory_event *event);
/**
 * Apply a request: change the objects, queue watch events, and fill in the outcome. Never fails: an error becomes the
 * outcome.
 */
void rh_memory_apply(struct rh_memory_store *store, struct rh_memory_request *request);
/** Remove from @p metadata (may be NULL) the members that only a server sets: name, UID, version and so on. */
void rh_memory_strip(struct rh_json *metadata);
/**
 * Build the new version of @p before after a PATCH, PATCH_STATUS or REPLACE, whose body may be consumed. @param[out]
 * ret_tree owned by the caller. @return 0 or RH_ENOMEM
 */
int rh_memory_changed(struct rh_memory_request *request, const struct rh_json *before, struct rh_json **ret_tree);

#endif
