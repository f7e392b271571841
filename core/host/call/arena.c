/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/arena.h"

#include <string.h>

#include "base/mem.h"

struct rh_arena_text {
	struct rh_arena_text *before;
	char text[];
};

void rh_arena_deinit(struct rh_arena *arena)
{
	while (arena->last) {
		struct rh_arena_text *text = arena->last;

		arena->last = text->before;
		if (arena->secret)
			explicit_bzero(text->text, strlen(text->text));
		rh_free(text);
	}
}

const char *rh_arena_copy(struct rh_arena *arena, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	struct rh_arena_text *copy = text ? rh_alloc(sizeof(*copy) + size) : NULL;

	if (!copy) {
		arena->failed = true;
		return NULL;
	}
	memcpy(copy->text, text, size);
	copy->before = arena->last;
	arena->last = copy;
	return copy->text;
}
