/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/protocol/handshake.h
 * @brief Handshake of a worker and a server.
 *
 * HELLO, CHALLENGE, PROOF, WELCOME over TCP. Then, if the server's local socket can be reached, which needs the
 * same network namespace, ATTACH there: the answer is the memory that carries all records from then on. Else
 * ATTACH over a second TCP connection, which carries all records: it may stall for as long as an end is stopped,
 * while the first one, idle, detects the death of the other end's host. Both ends prove on the second connection, too,
 * that they know the secret: ATTACH is a hello, answered by CHALLENGE and PROOF with nonces of their own. Or, with a
 * backend of rh_comm, CONNECT (fabric.h). A primary connects to its backup in the same way, but stays on its TCP
 * connection when the local socket cannot be reached.
 */
#ifndef RH_COMM_PS_PROTOCOL_HANDSHAKE_H
#define RH_COMM_PS_PROTOCOL_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/core/bootstrap/protocol/sha256.h"
#include "comm/ps/protocol/fabric.h"

/** Raised when records or their meaning change. */
#define RH_PS_PROTOCOL 4
/** Bytes of a nonce. */
#define RH_PS_NONCE 16
/** Room for the name of a local socket. */
#define RH_PS_LOCAL_NAME 48

/** Role of the connecting process (rh_ps_hello.role). */
enum rh_ps_role {
	RH_PS_ROLE_WORKS,  /**< a worker, to a server */
	RH_PS_ROLE_JOINS,  /**< a worker, to a scheduler */
	RH_PS_ROLE_SERVES, /**< a server, to a scheduler */
	RH_PS_ROLE_COPIES, /**< a primary, to its backup */
};

/** The connecting process. */
struct rh_ps_hello {
	uint32_t protocol;
	int32_t worker;
	int32_t workers;
	int32_t server;   /**< the server that it expects */
	int32_t servers;  /**< how many servers it knows */
	uint32_t role;    /**< RH_PS_ROLE_WORKS … */
	uint64_t session; /**< random number of the process */
	uint64_t epoch;   /**< epoch of the state that it has used; 0: it is new */
	uint8_t nonce[RH_PS_NONCE];
	uint8_t job[RH_COMM_DIGEST]; /**< SHA-256 of the job id */
	char backend[RH_PS_BACKEND_MAX];
};

/** The server proves that it knows the secret, and challenges the worker to do the same. */
struct rh_ps_challenge {
	uint8_t nonce[RH_PS_NONCE];
	uint8_t proof[RH_COMM_DIGEST];
};

/** The worker is admitted. */
struct rh_ps_welcome {
	uint64_t epoch;
	uint64_t last;                /**< number of its last request that counted */
	uint64_t ticket;              /**< for ATTACH */
	int32_t durable;              /**< the server has a folder */
	int32_t mode;                 /**< RH_PS_SYNC … */
	char local[RH_PS_LOCAL_NAME]; /**< name of the local socket; "": there is none */
};

/** Fill with random bytes. */
void rh_ps_random(void *data, size_t length);
/** @return a unique random number, not 0 */
uint64_t rh_ps_random_number(void);
/** Hash a job id. @param[out] ret_digest RH_COMM_DIGEST bytes */
void rh_ps_job_digest(const char *job, uint8_t *ret_digest);
/**
 * Read a hello, of this protocol or another one, of which only the protocol and the numbers that follow it may be
 * used. @return false: @p length is not that of a hello
 */
bool rh_ps_hello_read(struct rh_ps_hello *ret_hello, const void *payload, size_t length);
/** Prove to know @p secret: HMAC over @p who, the nonce and the hello. @param[out] ret_digest RH_COMM_DIGEST bytes */
void rh_ps_prove(const char *secret, const char *who, const uint8_t *nonce, const struct rh_ps_hello *hello,
                 uint8_t *ret_digest);
/** Listen on a local socket of a new random name. @return the descriptor, or -1 with errno */
int rh_ps_local_listen(char *ret_name);
/** Connect to one. @return the descriptor, or -1: it cannot be reached from here */
int rh_ps_local_connect(const char *name);

#endif
