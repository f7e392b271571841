/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/arena.h
 * @brief Texts that live as long as one call of a plugin.
 */
#ifndef RH_HOST_ARENA_H
#define RH_HOST_ARENA_H

#include <stddef.h>

/** One text. */
struct rh_arena_text;

/** Texts that are freed together. All zero is empty. */
struct rh_arena {
	struct rh_arena_text *last; /**< newest text; owned */
};

/** Free all texts. */
void rh_arena_deinit(struct rh_arena *arena);
/** @return a copy of the first @p length bytes of @p text that lives as long as @p arena, or NULL when memory is out */
const char *rh_arena_copy(struct rh_arena *arena, const char *text, size_t length);

#endif
