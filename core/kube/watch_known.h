/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/watch_known.h
 * @brief What a watch remembers of the objects that it has told, so that it can tell a difference after a gap.
 *
 * Of each object that is one small block: UID, version, and the labels that share the prefix of the watch's own label,
 * because by them the listener finds whose object it was. Names of labels are kept once for all.
 */
#ifndef RH_KUBE_WATCH_KNOWN_H
#define RH_KUBE_WATCH_KNOWN_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "engine/store.h"

/** Opaque set. */
struct rh_known;
/** One object; borrowed from its set. */
struct rh_known_object;

/** @param label key of the watch's label; NULL: no labels are kept. @return an empty set, or NULL: memory is out */
struct rh_known *rh_known_new(const struct rh_resource *resource, const char *label)
	__attribute__((warn_unused_result));
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
/** Remember @p object in place of what was known under its name. @return 0 or RH_ENOMEM, then unchanged */
int rh_known_put(struct rh_known *known, const struct rh_json *object, uint32_t mark);
/** Say that an object was seen in the listing @p mark. */
void rh_known_mark(struct rh_known_object *object, uint32_t mark);
/** Forget the object that has this one's name. */
void rh_known_remove(struct rh_known *known, const struct rh_json *object);
/** Called with the identity of an object: kind, name, namespace, UID, version and the kept labels. Borrowed. */
typedef void rh_known_fn(void *arg, const struct rh_json *identity);
/** Tell @p fn what is left of one object. @return 0 or RH_ENOMEM, then @p fn was not called */
int rh_known_tell(const struct rh_known *known, const struct rh_json *object, rh_known_fn *fn, void *arg);
/** Forget each object that was not seen in the listing @p mark, and tell @p fn. @return 0 or RH_ENOMEM: call again */
int rh_known_sweep(struct rh_known *known, uint32_t mark, rh_known_fn *fn, void *arg);

#endif
