/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/call/arena.h
 * @brief Texts that live as long as one call of a plugin.
 */
#ifndef RH_HOST_CALL_ARENA_H
#define RH_HOST_CALL_ARENA_H

#include <stddef.h>

#include <stdbool.h>

/** One text. */
struct rh_arena_text;

/** Texts that are freed together. All zero is empty. */
struct rh_arena {
	struct rh_arena_text *last; /**< newest text; owned */
	bool secret;                /**< texts are overwritten before they are freed */
	bool failed;                /**< some text got no memory; sticky, because a plugin takes NULL for "absent" */
};

/** Free all texts. */
void rh_arena_deinit(struct rh_arena *arena);
/**
 * @return a copy of @p text that lives as long as @p arena, or NULL when memory is out, also for a NULL @p text, which
 * ran out of it before
 */
const char *rh_arena_copy(struct rh_arena *arena, const char *text);

#endif
