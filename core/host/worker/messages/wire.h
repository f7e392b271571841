/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/messages/wire.h
 * @brief The bytes of messages between the host and the worker process of a plugin.
 *
 * Both ends are processes of one build on one machine, so integers have the machine's byte order. The host trusts
 * nothing that it reads: every read is bounded, and a reader that met something malformed stays malformed.
 */
#ifndef RH_HOST_WORKER_MESSAGES_WIRE_H
#define RH_HOST_WORKER_MESSAGES_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/str.h"

/** What is left of a message that is being read. Borrows the bytes. */
struct rh_wire {
	const char *at; /**< next byte */
	size_t left;    /**< bytes from there on */
	bool malformed; /**< sticky: a value was cut short or not valid */
};

/** Append one byte. */
void rh_wire_put_byte(struct rh_str *out, uint8_t value);
/** Append a 32-bit integer. */
void rh_wire_put_int(struct rh_str *out, int32_t value);
/** Append the number of elements that follow, or a size. */
void rh_wire_put_size(struct rh_str *out, uint32_t value);
/** Append what stands before a text of @p length bytes that follows with its final zero. */
void rh_wire_put_text_head(struct rh_str *out, size_t length);
/** Append a text or NULL. */
void rh_wire_put_text(struct rh_str *out, const char *text);

/** @return a reader of @p length bytes */
struct rh_wire rh_wire_read(const char *bytes, size_t length);
/** @return the next byte; 0 when the message is malformed */
uint8_t rh_wire_byte(struct rh_wire *wire);
/** @return the next 32-bit integer; 0 when the message is malformed */
int32_t rh_wire_int(struct rh_wire *wire);
/**
 * Read a number of elements. @param most more than this is malformed; so are more elements than bytes that are left
 * @return it; 0 when the message is malformed
 */
uint32_t rh_wire_size(struct rh_wire *wire, uint32_t most);
/** @return the next text, borrowed from the message; NULL for NULL and when the message is malformed */
const char *rh_wire_text(struct rh_wire *wire);
/** rh_wire_text() of a text that must be there: NULL is malformed. @return it, or "" when the message is malformed */
const char *rh_wire_text_required(struct rh_wire *wire);
/** @return whether all of the message was read and nothing was malformed */
bool rh_wire_is_complete(const struct rh_wire *wire);

#endif
