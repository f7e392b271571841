/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/keep.h
 * @brief How a further object of a job is kept, where that is not as usual.
 *
 * It stands in an annotation of the object (RH_ANNOTATION_KEEP): whoever looks at the object sees it, too.
 */
#ifndef RH_JOB_KEEP_H
#define RH_JOB_KEEP_H

#include <stdint.h>

#include <stdbool.h>

#include "base/json.h"

/** Most random bytes of an object that is made once. */
#define RH_KEEP_RANDOM_MAX 256

/** How an object is kept. All zero: written when it differs, owned by its job. */
struct rh_keep {
	bool once;       /**< created when it is missing; its content is never read or written */
	bool retain;     /**< no owner, and never deleted */
	uint32_t random; /**< of once: bytes from which the plugin makes it; 0: it is created as it is */
	bool pair;       /**< of random: the bytes are a pair of keys */
};

/** @return how @p object is kept */
struct rh_keep rh_keep_read(const struct rh_json *object);
/** Remove the annotation, which only the core sets: it may have been copied from the job. */
void rh_keep_clear(struct rh_json *object);
/** Set how @p object, which has metadata, is kept. @return 0 or RH_ENOMEM */
int rh_keep_write(struct rh_json *object, const struct rh_keep *keep);

#endif
