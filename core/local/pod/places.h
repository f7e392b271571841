/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/places.h
 * @brief Paths of volumes in a container.
 *
 * With a mount namespace volumes appear at their mountPath. Without one they keep their real paths: a variable whose
 * value is a mountPath gets the real path, so $(VAR) works; a mountPath that is written elsewhere cannot work and is
 * refused.
 */
#ifndef RH_LOCAL_POD_PLACES_H
#define RH_LOCAL_POD_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "local/pod/environment.h"
#include "local/pod/volumes.h"

/** One volumeMount. Strings are owned. */
struct rh_place {
	const char *volume; /**< borrowed from the pod */
	char *from;         /**< real path */
	char *to;           /**< mountPath, without a slash at its end */
	bool read_only;
};

/** The volumeMounts of one container, shorter paths first. All zero is empty. */
struct rh_places {
	struct rh_place *items;
	size_t count;
};

/** Free what @p places owns. */
void rh_places_deinit(struct rh_places *places);
/**
 * Find the paths of a container's volumes, and create the folders of subPath.
 * @param environment for subPathExpr
 * @param places must be empty
 * @return 0, RH_EINVAL, RH_EIO or RH_ENOMEM
 */
int rh_places_make(const struct rh_volumes *volumes, const struct rh_json *container,
                   const struct rh_environment *environment, struct rh_places *places, struct rh_error *err);
/**
 * Without a mount namespace: drop the places that need no mount, because the machine has the same content, or an empty
 * writable folder, at that path.
 */
void rh_places_drop_same(struct rh_places *places, const struct rh_volumes *volumes);
/**
 * @return a copy of @p text, with a leading mountPath replaced by the real path; owned by the caller; NULL:
 * out of memory
 */
char *rh_places_translate(const struct rh_places *places, const char *text) __attribute__((warn_unused_result));
/** @return the place whose mountPath occurs in @p text, borrowed, or NULL */
const struct rh_place *rh_places_named(const struct rh_places *places, const char *text);
/** @return whether a volume hides the machine's own file at the absolute @p path
 */
bool rh_places_cover(const struct rh_places *places, const char *path);
/** @return ["from", "to", "readOnly"] for the plan, owned by the caller; NULL: out of memory */
struct rh_json *rh_places_json(const struct rh_places *places) __attribute__((warn_unused_result));

/** Local places that are freed when they go out of scope. */
#define rh_auto_places __attribute__((cleanup(rh_places_deinit))) struct rh_places

#endif
