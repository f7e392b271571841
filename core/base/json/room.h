/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json/room.h
 * @brief The memory of JSON trees; for core/base/json*.c alone.
 *
 * cJSON allocates each value, key and text, and frees each alone. A tree that is parsed or copied
 * lies in a room instead: one block, as large as the tree needs, that its root owns. So most trees cost one allocation
 * and leave no holes. A value that is added to a tree later has memory of its own.
 *
 * cJSON's hook has the address alone, so the address shows what is there: rh_alloc() gives multiples of 16; the
 * root of a room lies 8 bytes after a multiple of 32, its other values 24 bytes, and its texts at no multiple of 8.
 */
#ifndef RH_BASE_JSON_ROOM_H
#define RH_BASE_JSON_ROOM_H

#include <stddef.h>

#include <stdbool.h>

/** Memory that a tree needs. */
struct rh_json_need {
	size_t values; /**< values */
	size_t texts;  /**< bytes for keys and texts */
};

/** A room while its tree is being made. */
struct rh_json_room {
	void *block;      /**< what rh_free() gets */
	size_t size;      /**< of a value, bytes */
	char *value;      /**< where the next value goes */
	char *values_end; /**< first byte after the values */
	char *text;       /**< where the next text goes */
	char *last;       /**< the text that was taken last */
	char *texts_end;  /**< first byte after the texts */
};

/** Add a text of @p size bytes, its zero included, to @p need; a value takes @p value_size bytes. */
void rh_json_need_text(struct rh_json_need *need, size_t size, size_t value_size);
/** @return bytes of the block of a tree that takes @p need */
size_t rh_json_need_bytes(const struct rh_json_need *need, size_t value_size);

/**
 * Let rh_json_room_take() of this thread take from a new room until rh_json_room_close(): first of all its root. A
 * @p need that is too small costs further allocations, and that is all.
 * @return 0 or RH_ENOMEM
 */
int rh_json_room_open(struct rh_json_room *room, const struct rh_json_need *need, size_t value_size);
/** End what rh_json_room_open() began. A room in which nothing was made is freed. */
void rh_json_room_close(struct rh_json_room *room);

/** cJSON's malloc. @return bytes that are not zeroed, of this thread's room where one is open; NULL when memory is out
 */
void *rh_json_room_take(size_t size);
/**
 * cJSON's free: memory in a room stays until its root is freed, except the text that was taken last: cJSON has one
 * for each number while it reads it. NULL is allowed.
 */
void rh_json_room_release(void *memory);
/** @return whether @p value is in a room and is not its root: then it must not outlive the root */
bool rh_json_room_holds(const void *value);

#endif
