/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/protocol/frame.h
 * @brief Frames between a rank and the rendezvous server: a kind, a length, and that many bytes. Numbers are
 * little-endian.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_PROTOCOL_FRAME_H
#define RH_COMM_CORE_BOOTSTRAP_PROTOCOL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/core/bootstrap/protocol/progress.h"
#include "comm/core/bootstrap/protocol/sha256.h"

/** Version of the protocol; both sides must have the same one. */
#define RH_COMM_PROTOCOL 8
/** Longest payload, bytes: a key and a value. */
#define RH_COMM_FRAME_MAX (1024 * 1024)
/** Longest payload of a PUT: a VALUE has a number before it. */
#define RH_COMM_PUT_MAX (RH_COMM_FRAME_MAX - sizeof(uint64_t))
/** Bytes of a nonce. */
#define RH_COMM_NONCE 16
/** Bytes before the payload. */
#define RH_COMM_FRAME_HEAD 8

/** Roles in proofs (rh_comm_prove()); part of the protocol. */
#define RH_COMM_ROLE_SERVER "hub"
#define RH_COMM_ROLE_RANK "rank"

/** Kinds of frames. */
enum rh_comm_frame_kind {
	RH_COMM_FRAME_HELLO = 1, /**< rank to server: struct rh_comm_hello */
	RH_COMM_FRAME_CHALLENGE, /**< server to rank: struct rh_comm_challenge */
	RH_COMM_FRAME_PROOF,     /**< rank to server: digest */
	RH_COMM_FRAME_WELCOME,   /**< server to rank: empty */
	RH_COMM_FRAME_REFUSED,   /**< server to rank: the reason, as text */
	RH_COMM_FRAME_PUT,       /**< rank to server: key, NUL, value */
	RH_COMM_FRAME_GET,       /**< rank to server: number (8), key */
	RH_COMM_FRAME_VALUE,     /**< server to rank: number (8), value */
	RH_COMM_FRAME_BEAT,      /**< rank to server: struct rh_comm_beat */
	RH_COMM_FRAME_END,       /**< both ways: struct rh_comm_end; from a rank, followed by int32_t: the ranks to query */
	RH_COMM_FRAME_LEAVE,     /**< rank to server: it leaves; its last struct rh_comm_beat */
	RH_COMM_FRAME_ALL_LEFT,  /**< server to rank: all ranks have sent LEAVE */
	RH_COMM_FRAME_QUERY,     /**< server to rank: struct rh_comm_query: send an ANSWER now */
	RH_COMM_FRAME_GONE,      /**< rank to server: struct rh_comm_gone */
	RH_COMM_FRAME_ANSWER,    /**< rank to server: struct rh_comm_answer */
	RH_COMM_FRAME_PULSE,     /**< server to rank: a BEAT was received */
	RH_COMM_FRAME_STALLED,   /**< rank to server: as END, but nothing ends: report who is waited for */
	RH_COMM_FRAME_PACE       /**< rank to server: struct rh_comm_pace_mark, RH_COMM_PACE_MARKS at most */
};

/** The connecting rank. */
struct rh_comm_hello {
	uint32_t protocol;
	int32_t rank;
	int32_t world;
	uint32_t reserved;
	uint8_t nonce[RH_COMM_NONCE];
	uint8_t job[RH_COMM_DIGEST]; /**< SHA-256 of the job id */
};

/** The server proves that it knows the secret, and challenges the rank to do the same. */
struct rh_comm_challenge {
	uint8_t nonce[RH_COMM_NONCE];
	uint8_t proof[RH_COMM_DIGEST];
};

/** Reason for the end of the world. */
struct rh_comm_end {
	int32_t code;
	int32_t rank;
	struct rh_comm_query query; /**< needed is not 0: find first the ranks that are behind or have diverged */
	char text[504];
};

/** Bytes that come in or go out, as they arrive or can be sent. All zero is empty. */
struct rh_comm_buffer {
	uint8_t *data;
	size_t length;
	size_t room;
};

/** Free what it holds and make it empty. */
void rh_comm_buffer_deinit(struct rh_comm_buffer *buffer);
/** Make room for @p more bytes, so that they can be appended without memory. @return 0 or RH_COMM_ENOMEM */
int32_t rh_comm_buffer_reserve(struct rh_comm_buffer *buffer, size_t more);
/** Append. @return 0 or RH_COMM_ENOMEM */
int32_t rh_comm_buffer_add(struct rh_comm_buffer *buffer, const void *data, size_t length);
/** Remove the first @p length bytes. */
void rh_comm_buffer_drop(struct rh_comm_buffer *buffer, size_t length);
/** Append a frame whose payload is @p head, then @p data. @return 0 or RH_COMM_ENOMEM */
int32_t rh_comm_frame_add(struct rh_comm_buffer *buffer, uint32_t kind, const void *head, size_t head_length,
                          const void *data, size_t length);
/**
 * Look at the first frame.
 * @return 1: it is complete; 0: not yet; RH_COMM_EINVAL: malformed
 */
int32_t rh_comm_frame_look(const struct rh_comm_buffer *buffer, uint32_t *ret_kind, const uint8_t **ret_payload,
                           size_t *ret_length);
/** Remove the first frame, which is complete. */
void rh_comm_frame_drop(struct rh_comm_buffer *buffer);
/**
 * Read what is available. @return bytes; 0: nothing now; RH_COMM_EPEER: the other end is closed or lost, see errno (0:
 * closed); RH_COMM_ENOMEM
 */
int64_t rh_comm_buffer_read(struct rh_comm_buffer *buffer, int fd);
/** Send as much as possible now. @return 0, also when not all was sent; RH_COMM_EPEER, see errno */
int32_t rh_comm_buffer_write(struct rh_comm_buffer *buffer, int fd);
/** Prove to know @p secret: HMAC over @p who, the nonce and the hello. */
void rh_comm_prove(const char *secret, const char *who, const uint8_t *nonce, const struct rh_comm_hello *hello,
                   uint8_t *ret_digest);

#endif
