/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/watch/split.h
 * @brief Splits the response to a list, or the stream of a watch, into objects while it arrives.
 *
 * Each object is parsed, passed on and freed alone, so a list of any length needs the memory of its largest item.
 * metadata.managedFields, often half of an object and mostly unused here, is dropped before parsing. Input is
 * untrusted: the size of one object is limited, values nested deeper than RH_JSON_DEPTH_MAX become null, and the result
 * does not depend on how the body is cut into pieces.
 */
#ifndef RH_KUBE_WATCH_SPLIT_H
#define RH_KUBE_WATCH_SPLIT_H

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"

/** Opaque splitter of one body. */
struct rh_split;

/** Form of a body. */
enum rh_split_form {
	RH_SPLIT_LIST,  /**< one object with "metadata" and "items": each item is passed on */
	RH_SPLIT_EVENTS /**< a sequence of {"type": …, "object": …}: each is passed on whole */
};

/**
 * Default limit of the text of one object, in bytes. A server stores up to 1.5 MiB of an object, and escapes some
 * characters, such as <, as six bytes.
 */
#define RH_SPLIT_LIMIT (16u * 1024 * 1024)

/** Receives one object, borrowed; it may be modified. @return 0, or a negative status that stops the splitter */
typedef int rh_split_fn(void *arg, struct rh_json *object, struct rh_error *err);

/** @param limit most bytes of one object; 0: RH_SPLIT_LIMIT. @return owned by the caller; NULL: out of memory */
struct rh_split *rh_split_new(enum rh_split_form form, size_t limit, rh_split_fn *fn, void *arg)
	__attribute__((warn_unused_result));
/** Keep metadata.managedFields of the objects. Must be called before the first piece. */
void rh_split_keep_managed(struct rh_split *split);
/** Free @p split. NULL is ignored. */
void rh_split_free(struct rh_split *split);
RH_DEFINE_CLEANUP(split);
/**
 * Process the next piece of the body and pass on every complete object.
 * @return 0, RH_EINVAL (wrong form, too deep, too large), RH_ENOMEM or the status of the function; after a failure this
 * must not be called again
 */
int rh_split_feed(struct rh_split *split, const char *data, size_t length, struct rh_error *err);
/** Check the end of the body. @return 0 when it is complete, or RH_EINVAL */
int rh_split_end(const struct rh_split *split, struct rh_error *err);
/** @return the "metadata" of a list, borrowed for the life of @p split; NULL before it arrived */
const struct rh_json *rh_split_metadata(const struct rh_split *split);

#endif
