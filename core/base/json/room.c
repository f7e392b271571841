/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/room.h"

#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

/* Addresses from rh_alloc() are multiples of this; values have a stride of twice as much, so they keep their place in
 * it.
 */
#define ROOM_GRAIN 16
#define ROOM_STRIDE (2 * ROOM_GRAIN)
/* Offset of values after a multiple of the stride. */
#define ROOM_ROOT 8
#define ROOM_VALUE 24
/* Texts lie at no multiple of this. */
#define ROOM_NO_TEXT 8

_Static_assert(_Alignof(max_align_t) >= ROOM_GRAIN, "an address shows whose it is");

/* The room of this thread; cJSON's hooks have no argument for it. */
static struct rh_json_room **room_of_thread(void)
{
	static _Thread_local struct rh_json_room *room;

	return &room;
}

static size_t room_stride(size_t value_size)
{
	return (value_size + ROOM_STRIDE - 1) / ROOM_STRIDE * ROOM_STRIDE;
}

static size_t room_phase(const void *memory, size_t period)
{
	return (uintptr_t)memory % period;
}

void rh_json_need_text(struct rh_json_need *need, size_t size, size_t value_size)
{
	/* one as large as a value goes where values go; to others, one byte may be lost */
	if (size == value_size)
		need->values++;
	else
		need->texts += size + 1;
}

size_t rh_json_need_bytes(const struct rh_json_need *need, size_t value_size)
{
	/* before the root lies its block's address, between it and the next value what makes them different */
	return ROOM_VALUE + (ROOM_VALUE - ROOM_ROOT) + need->values * room_stride(value_size) + need->texts;
}

int rh_json_room_open(struct rh_json_room *room, const struct rh_json_need *need, size_t value_size)
{
	size_t bytes = rh_json_need_bytes(need, value_size), stride = room_stride(value_size);
	char *block = rh_realloc_array(NULL, bytes, 1); /* not zeroed: all of it is written at once */

	if (!block)
		return RH_ENOMEM;
	room->block = block;
	room->size = value_size;
	room->value = block + (room_phase(block, ROOM_STRIDE) == 0 ? ROOM_ROOT : ROOM_GRAIN + ROOM_ROOT);
	room->values_end = room->value + (ROOM_VALUE - ROOM_ROOT) + need->values * stride;
	room->text = room->last = room->values_end;
	room->texts_end = block + bytes;
	*room_of_thread() = room;
	return 0;
}

void rh_json_room_close(struct rh_json_room *room)
{
	*room_of_thread() = NULL;
	if (room_phase(room->value, ROOM_STRIDE) == ROOM_ROOT)
		rh_free(room->block);
}

/* @return memory of its own, whose address shows it */
static void *room_take_alone(size_t size)
{
	/* some allocators align what is smaller to less */
	void *memory = rh_realloc_array(NULL, size < ROOM_GRAIN ? ROOM_GRAIN : size, 1);

	if (room_phase(memory, ROOM_GRAIN) == 0)
		return memory;
	rh_free(memory);
	return NULL;
}

static void *room_take_value(struct rh_json_room *room)
{
	char *value = room->value;

	room->value += room_stride(room->size);
	if (room_phase(value, ROOM_STRIDE) == ROOM_ROOT) {
		((void **)(void *)value)[-1] = room->block;
		room->value += ROOM_VALUE - ROOM_ROOT;
	}
	return value;
}

void *rh_json_room_take(size_t size)
{
	struct rh_json_room *room = *room_of_thread();
	char *text;

	if (!room)
		return room_take_alone(size);
	if (size == room->size)
		return room->value < room->values_end ? room_take_value(room) : room_take_alone(size);
	text = room->text + (room_phase(room->text, ROOM_NO_TEXT) == 0);
	if (text > room->texts_end || size > (size_t)(room->texts_end - text))
		return room_take_alone(size);
	room->last = text;
	room->text = text + size;
	return text;
}

void rh_json_room_release(void *memory)
{
	struct rh_json_room *room = *room_of_thread();

	if (room_phase(memory, ROOM_GRAIN) == 0)
		rh_free(memory);
	else if (room_phase(memory, ROOM_STRIDE) == ROOM_ROOT)
		rh_free(((void **)memory)[-1]);
	else if (room && memory == room->last)
		room->text = room->last;
}

bool rh_json_room_holds(const void *value)
{
	return room_phase(value, ROOM_STRIDE) == ROOM_VALUE;
}
