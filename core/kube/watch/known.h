/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/watch/known.h
 * @brief The objects that a watch has reported, to compute the difference after a gap.
 *
 * Each object takes one small block with UID and version. The listener finds the owner by the UID, so the content of an
 * object can neither enlarge this set nor evict an entry.
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

/** @return an empty set, owned by the caller; NULL: out of memory */
struct rh_known *rh_known_new(const struct rh_resource *resource) __attribute__((warn_unused_result));
/** Free @p known. NULL is ignored. */
void rh_known_free(struct rh_known *known);
RH_DEFINE_CLEANUP(known);
/** @return number of objects */
size_t rh_known_size(const struct rh_known *known);

/** Difference between an object and the entry of its name. */
enum rh_known_change {
	RH_KNOWN_NEW,     /**< there is no entry */
	RH_KNOWN_OTHER,   /**< the entry has another UID */
	RH_KNOWN_CHANGED, /**< same UID, another or an unknown version */
	RH_KNOWN_SAME     /**< same UID and version */
};

/** Compare. @param[out] ret_known the entry, borrowed until the next change; NULL: none */
enum rh_known_change rh_known_compare(const struct rh_known *known, const struct rh_json *object,
                                      struct rh_known_object **ret_known);
/**
 * Set the entry of the name of @p object, which was seen in the listing with number @p listing (1 or more).
 * @return 0, or RH_ENOMEM: nothing changed
 */
int rh_known_put(struct rh_known *known, const struct rh_json *object, uint32_t listing);
/** Record that an object was seen in the listing with number @p listing. */
void rh_known_seen(struct rh_known_object *object, uint32_t listing);
/** Remove the entry of the name of @p object. */
void rh_known_remove(struct rh_known *known, const struct rh_json *object);
/** Called with the identity of an object: kind, name, namespace, UID and version. Borrowed. */
typedef void rh_known_fn(void *arg, const struct rh_json *identity);
/** Call @p fn with the entry of the name of @p object. @return 0, or RH_ENOMEM: @p fn was not called */
int rh_known_emit(const struct rh_known *known, const struct rh_json *object, rh_known_fn *fn, void *arg);
/**
 * Add @p object, of any kind, from a response that arrived before the watch showed it. The listener may know the
 * object, so a later listing without it removes it as usual; @p fn is called for an older object of the same name,
 * which is gone. rh_known_compare() still returns RH_KNOWN_NEW for it. Best effort: does nothing when memory is out.
 */
void rh_known_learn(struct rh_known *known, const struct rh_json *object, rh_known_fn *fn, void *arg);
/**
 * Remove each entry that was not seen in the listing with number @p listing, whose resource version is @p version, and
 * call @p fn for each. @return 0, or RH_ENOMEM: call again
 */
int rh_known_sweep(struct rh_known *known, uint32_t listing, const char *version, rh_known_fn *fn, void *arg);

#endif
