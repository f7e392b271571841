/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/watch/known.h
 * @brief What a watch remembers of the objects that it has told, so that it can tell a difference after a gap.
 *
 * Of each object that is one small block: UID and version. Whose object it was the listener knows by its UID, so
 * nothing that a user writes into an object can make this larger, or anything be forgotten.
 */
#ifndef RH_KUBE_WATCH_KNOWN_H
#define RH_KUBE_WATCH_KNOWN_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "store/store.h"

/** Opaque set. */
struct rh_known;
/** One object; borrowed from its set. */
struct rh_known_object;

/** @return an empty set, or NULL: memory is out */
struct rh_known *rh_known_new(const struct rh_resource *resource) __attribute__((warn_unused_result));
/** Free it. NULL is nothing. */
void rh_known_free(struct rh_known *known);
RH_DEFINE_CLEANUP(known);
/** @return how many objects it holds */
size_t rh_known_size(const struct rh_known *known);

/** How an object compares with what is known under its name. */
enum rh_known_change {
	RH_KNOWN_NEW,     /**< there was none */
	RH_KNOWN_OTHER,   /**< there was one with another UID */
	RH_KNOWN_CHANGED, /**< it is that one, in another version, or versions do not tell */
	RH_KNOWN_SAME     /**< it is that one as it was */
};

/** Compare. @param[out] ret_known what is known; NULL for RH_KNOWN_NEW */
enum rh_known_change rh_known_compare(const struct rh_known *known, const struct rh_json *object,
                                      struct rh_known_object **ret_known);
/**
 * Remember @p object, of the listing @p mark, in place of what was known under its name. @return 0 or RH_ENOMEM, then
 * unchanged
 */
int rh_known_put(struct rh_known *known, const struct rh_json *object, uint32_t mark);
/** Say that an object was seen in the listing @p mark. */
void rh_known_mark(struct rh_known_object *object, uint32_t mark);
/** Forget the object that has this one's name. */
void rh_known_remove(struct rh_known *known, const struct rh_json *object);
/** Called with the identity of an object: kind, name, namespace, UID and version. Borrowed. */
typedef void rh_known_fn(void *arg, const struct rh_json *identity);
/** Tell @p fn what is left of one object. @return 0 or RH_ENOMEM, then @p fn was not called */
int rh_known_emit(const struct rh_known *known, const struct rh_json *object, rh_known_fn *fn, void *arg);
/**
 * Remember that an answer of the server showed @p object, of whatever kind, before the watch did: the listener may know
 * it, so it is swept as others are, and @p fn is told of an older one of its name, which is gone. What the watch tells
 * of it later is RH_KNOWN_NEW. Best effort: what there is no memory for is not remembered.
 */
void rh_known_learn(struct rh_known *known, const struct rh_json *object, rh_known_fn *fn, void *arg);
/**
 * Forget each object that was not seen in the listing @p mark (1 or more), which showed what was there at @p version,
 * and tell @p fn. @return 0 or RH_ENOMEM: call again
 */
int rh_known_sweep(struct rh_known *known, uint32_t mark, const char *version, rh_known_fn *fn, void *arg);

#endif
