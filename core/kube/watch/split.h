/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/watch/split.h
 * @brief Cut the answer to a list, or the stream of a watch, into objects while it arrives.
 *
 * One object at a time becomes a tree, is handed over and freed, so a list of any length needs the memory of its
 * largest item. metadata.managedFields, often half of an object and of no use here, is dropped before it is parsed.
 * Input is hostile: the size of one object is bounded, what is nested deeper than RH_JSON_DEPTH_MAX becomes null, and
 * any cut into pieces gives the same result.
 */
#ifndef RH_KUBE_WATCH_SPLIT_H
#define RH_KUBE_WATCH_SPLIT_H

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"

/** Opaque state of one body. */
struct rh_split;

/** What a body is. */
enum rh_split_form {
	RH_SPLIT_LIST,  /**< one object with "metadata" and "items": each item is handed over */
	RH_SPLIT_EVENTS /**< objects one after the other, each {"type": …, "object": …}: each is handed over whole */
};

/**
 * Longest text of one object when no limit is given, in bytes. A server keeps 1.5 MiB of an object, and tells some
 * characters, such as <, with six.
 */
#define RH_SPLIT_LIMIT (16u * 1024 * 1024)

/** Gets one object, borrowed and free to be changed until it returns. @return 0, or a negative status that ends it */
typedef int rh_split_fn(void *arg, struct rh_json *object, struct rh_error *err);

/** @param limit most bytes of one object; 0: RH_SPLIT_LIMIT. @return owned by the caller, or NULL when memory is out */
struct rh_split *rh_split_new(enum rh_split_form form, size_t limit, rh_split_fn *fn, void *arg)
	__attribute__((warn_unused_result));
/** Free it. NULL is nothing. */
void rh_split_free(struct rh_split *split);
RH_DEFINE_CLEANUP(split);
/**
 * Take the next piece of the body; every object that is complete is handed over.
 * @return 0, RH_EINVAL (it is not what the form says, too deep, too large), RH_ENOMEM or what the function returned;
 * after a failure nothing more may be fed
 */
int rh_split_feed(struct rh_split *split, const char *data, size_t length, struct rh_error *err);
/** Say that the body is over. @return 0 when it may end here, or RH_EINVAL when something is missing */
int rh_split_end(const struct rh_split *split, struct rh_error *err);
/** @return the "metadata" of a list, borrowed for the life of @p split; NULL while it has not come */
const struct rh_json *rh_split_metadata(const struct rh_split *split);

#endif
