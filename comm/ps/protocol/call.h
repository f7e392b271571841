/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/protocol/call.h
 * @brief Handshake over a new connection, from the connecting side. Blocks.
 */
#ifndef RH_COMM_PS_PROTOCOL_CALL_H
#define RH_COMM_PS_PROTOCOL_CALL_H

#include "comm/ps/protocol/handshake.h"
#include "comm/ps/protocol/wire.h"

/** Room for the description of the other end. */
#define RH_PS_WHOM 320

/** A connection during the handshake. */
struct rh_ps_call {
	struct rh_ps_wire *wire;
	const char *whom; /**< "server 0 at ps-0 port 2222", for errors */
	int64_t deadline;
	struct rh_comm_error *err;
};

/** Report a failure after which the connection may be retried. @return RH_COMM_EIO */
int32_t rh_ps_call_fail(const struct rh_ps_call *call, const char *what);
/** Send a record. @return 0, RH_COMM_EIO or RH_COMM_ENOMEM */
int32_t rh_ps_call_send(const struct rh_ps_call *call, uint32_t kind, uint64_t key, const void *payload, size_t length);
/**
 * Wait for a record of @p kind with @p length bytes.
 * @return 0; RH_COMM_EIO; the reason of a refusal; RH_COMM_EINVAL: another protocol
 */
int32_t rh_ps_call_receive(const struct rh_ps_call *call, uint32_t kind, void *ret_payload, size_t length);
/**
 * HELLO, CHALLENGE, PROOF: both prove to know @p secret. The answer to the proof is not received yet.
 * @param hello complete but for protocol and nonce. @return as rh_ps_call_receive()
 */
int32_t rh_ps_call_greet(const struct rh_ps_call *call, struct rh_ps_hello *hello, const char *secret);
/** What a second connection proves, and to which first one it belongs. */
struct rh_ps_call_proof {
	const struct rh_ps_hello *hello; /**< of the first connection */
	const char *secret;
	uint64_t ticket; /**< of WELCOME */
};

/**
 * ATTACH, CHALLENGE, PROOF over a second connection: both prove to know the secret, with new nonces. The answer to the
 * proof is not received yet. @return as rh_ps_call_receive()
 */
int32_t rh_ps_call_attach(const struct rh_ps_call *call, const struct rh_ps_call_proof *proof);
/**
 * Continue through memory, over the local socket @p fd of the other end, which is owned from then on, as
 * rh_ps_call_attach(). After a failure the connection is of no use any more. @return 0; RH_COMM_E*
 */
int32_t rh_ps_call_attach_near(struct rh_ps_call *call, int fd, const struct rh_ps_call_proof *proof);

#endif
