/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/places.h
 * @brief Where a container finds its volumes.
 *
 * With a mount namespace they appear at their mountPath. Without one they stay where they are: a variable whose value
 * is such a path becomes the real one, so that $(VAR) hands it on; a path that is written out elsewhere cannot be
 * honoured and is refused.
 */
#ifndef RH_LOCAL_POD_PLACES_H
#define RH_LOCAL_POD_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "local/pod/environment.h"
#include "local/pod/volumes.h"

/** One volumeMount. Texts are owned. */
struct rh_place {
	const char *volume; /**< borrowed from the pod */
	char *from;         /**< where it is */
	char *to;           /**< mountPath, without a slash at its end */
	bool read_only;
};

/** The places of one container, shorter paths first. All zero is none. */
struct rh_places {
	struct rh_place *items;
	size_t count;
};

/** Free what @p places holds. */
void rh_places_deinit(struct rh_places *places);
/**
 * Find where a container's volumes go; folders that subPath names are made.
 * @param environment for subPathExpr
 * @param places must be empty
 * @return 0, RH_EINVAL, RH_EIO or RH_ENOMEM
 */
int rh_places_make(const struct rh_volumes *volumes, const struct rh_json *container,
                   const struct rh_environment *environment, struct rh_places *places, struct rh_error *err);
/**
 * Where there is no mount namespace: drop the places that need nothing, since the machine has the same, or an empty
 * folder that may be written, there.
 */
void rh_places_drop_same(struct rh_places *places, const struct rh_volumes *volumes);
/**
 * @return a copy of @p text, with the mountPath at its start replaced by the real place; owned by the caller; NULL:
 * out of memory
 */
char *rh_places_translate(const struct rh_places *places, const char *text) __attribute__((warn_unused_result));
/** @return the place whose mountPath is written somewhere in @p text, or NULL */
const struct rh_place *rh_places_named(const struct rh_places *places, const char *text);
/** @return whether a volume covers @p path, an absolute one: below its mountPath the machine's own files are not seen
 */
bool rh_places_cover(const struct rh_places *places, const char *path);
/** @return ["from", "to", "readOnly"] for the plan, owned by the caller; NULL: out of memory */
struct rh_json *rh_places_json(const struct rh_places *places) __attribute__((warn_unused_result));

/** Local places that are freed when they go out of scope. */
#define rh_auto_places __attribute__((cleanup(rh_places_deinit))) struct rh_places

#endif
