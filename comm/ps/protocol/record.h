/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/protocol/record.h
 * @brief Records between workers, servers and the scheduler: a head and a payload.
 */
#ifndef RH_COMM_PS_PROTOCOL_RECORD_H
#define RH_COMM_PS_PROTOCOL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** Heads, payloads and parts start at multiples of this. */
#define RH_PS_ALIGN 64
/** Largest payload of a record, and largest part of a value. */
#define RH_PS_PART_MAX 1048576

/** Kinds of records. */
enum rh_ps_kind {
	RH_PS_REC_HELLO = 1, /**< worker: struct rh_ps_hello */
	RH_PS_REC_CHALLENGE, /**< server: struct rh_ps_challenge */
	RH_PS_REC_PROOF,     /**< worker: a digest */
	RH_PS_REC_WELCOME,   /**< server: struct rh_ps_welcome */
	RH_PS_REC_REFUSED,   /**< server: why, as text */
	/**
	 * worker or primary, on another connection: the hello of the first one with a new nonce, and the ticket in key;
	 * answered by CHALLENGE, then PROOF by a descriptor on a local socket, else by ACK
	 */
	RH_PS_REC_ATTACH,
	RH_PS_REC_SESSION, /**< in logs only: a process became this worker; sequence is its session */
	RH_PS_REC_LEAVE,   /**< worker: it leaves; answered by ACK */
	RH_PS_REC_INIT,
	RH_PS_REC_PUSH,
	RH_PS_REC_PULL,
	RH_PS_REC_PUSH_PULL,
	RH_PS_REC_RATE,      /**< payload: a double */
	RH_PS_REC_ACK,       /**< server: done */
	RH_PS_REC_VALUE,     /**< server: done, and this is the value */
	RH_PS_REC_ERROR,     /**< server: status and worker, and why as text */
	RH_PS_REC_PING,      /**< worker: are you there? sequence 0; answered by ACK */
	RH_PS_REC_CONNECT,   /**< worker: struct rh_ps_fabric_hello: both open the backend now */
	RH_PS_REC_KEY,       /**< while a backend is opened: a key, a zero byte, a value */
	RH_PS_REC_ASSIGN,    /**< scheduler: struct rh_ps_assignment */
	RH_PS_REC_PLACE,     /**< server, to the scheduler: struct rh_ps_place */
	RH_PS_REC_PLACES,    /**< scheduler: a struct rh_ps_place of each server, once all are there, and when one moved */
	RH_PS_REC_CONNECTED, /**< it is open here; nothing but the backend's bytes and announcements follow */
	RH_PS_REC_ROLE,      /**< scheduler: the server is the primary of its values: struct rh_ps_role_note */
	RH_PS_REC_ALONE,     /**< primary, to the scheduler: the backup is lost; sequence is the term */
	RH_PS_REC_SYNCED,    /**< primary, to the scheduler: the backup has all values; sequence is the term */
	RH_PS_REC_BEGIN,     /**< primary, to its backup: struct rh_ps_copy_begin, and the workers */
	RH_PS_REC_PIECE,     /**< primary, to its backup: bytes of an entry */
	RH_PS_REC_COPIED,    /**< primary, to its backup: all entries are there; the workers */
	RH_PS_REC_PUSH_ROWS, /**< worker: rows of a part: their indices, padded, and their elements */
	RH_PS_REC_PULL_ROWS, /**< worker: the indices of rows of a part; answered by VALUE with their elements */
	RH_PS_REC_PUSH_PULL_ROWS, /**< worker: as PUSH_ROWS, and the same rows are pulled */
	RH_PS_REC_END             /**< one more than the last */
};

/** Kinds up to this are read, so that one that this version does not know is refused by name; what is above is damage.
 */
#define RH_PS_KIND_MAX 255

/** flags: the answer is to hold the value. */
#define RH_PS_WANT_VALUE 1U
/** flags of INIT: there is a first value, and it is all zero. */
#define RH_PS_ZEROS 2U
/** flags of PIECE: the entry is complete. */
#define RH_PS_LAST 4U

/** Head of every record, also in a log. Kind and length stay where they are in every protocol. */
struct rh_ps_head {
	uint16_t kind;     /**< RH_PS_REC_HELLO … */
	uint16_t flags;    /**< RH_PS_WANT_VALUE … */
	uint32_t length;   /**< bytes of the payload */
	uint64_t sequence; /**< number of the request, by worker and server; answers repeat it */
	uint64_t key;
	uint32_t part;
	uint32_t bytes; /**< of the part of the value */
	int32_t type;
	uint32_t width; /**< elements of a row of the value; 0: it has no rows */
	union {
		int32_t status; /**< of an answer: RH_COMM_E* */
		uint32_t rows;  /**< of PUSH_ROWS, PULL_ROWS and PUSH_PULL_ROWS: rows in the payload */
	};
	int32_t worker;
	int64_t timeout; /**< microseconds; negative: none */
	uint64_t reserved;
};

_Static_assert(sizeof(struct rh_ps_head) == RH_PS_ALIGN, "a head is one line");
_Static_assert(RH_PS_REC_END <= RH_PS_KIND_MAX + 1, "all kinds are read");

/** @return bytes that a payload of @p length takes */
static inline size_t rh_ps_padded(size_t length)
{
	return (length + RH_PS_ALIGN - 1) / RH_PS_ALIGN * RH_PS_ALIGN;
}

/** @return whether kind and length may be those of a record, of this version or a later one */
static inline bool rh_ps_head_is_sane(const struct rh_ps_head *head)
{
	return head->kind >= RH_PS_REC_HELLO && head->kind <= RH_PS_KIND_MAX && head->length <= RH_PS_PART_MAX;
}

/** @return whether a request of this kind names rows */
static inline bool rh_ps_kind_has_rows(uint32_t kind)
{
	return kind == RH_PS_REC_PUSH_ROWS || kind == RH_PS_REC_PULL_ROWS || kind == RH_PS_REC_PUSH_PULL_ROWS;
}

/** @return where the elements of @p rows rows begin in a payload, after their indices of 32 bits */
static inline size_t rh_ps_rows_offset(size_t rows)
{
	return rh_ps_padded(rows * sizeof(uint32_t));
}

/** @return bytes of the payload of a request that names rows. @param size bytes of an element */
static inline uint64_t rh_ps_rows_length(const struct rh_ps_head *head, size_t size)
{
	if (head->kind == RH_PS_REC_PULL_ROWS)
		return (uint64_t)head->rows * sizeof(uint32_t);
	/* neither fits a record, and the product could overflow */
	if (head->width > RH_PS_PART_MAX || head->rows > RH_PS_PART_MAX)
		return UINT64_MAX;
	return rh_ps_rows_offset(head->rows) + (uint64_t)head->rows * head->width * size;
}

#endif
