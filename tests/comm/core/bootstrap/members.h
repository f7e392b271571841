/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/core/bootstrap/members.h
 *  @brief Ranks of a rendezvous server in one process, each with a thread that serves its connection. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "comm/core/bootstrap/client.h"
#include "comm/core/bootstrap/server.h"
#include "comm/core/error.h"

#define MEMBER_PATIENCE (60 * RH_COMM_SECOND)

/** A rank of a test: its connection, and the thread that serves it. */
struct member {
	struct rh_comm_client *client;
	pthread_t thread;
	_Atomic bool stop;
	_Atomic uint64_t reached; /**< what the thread answers to queries; 0: nothing */
};

/** @return what a rank of a world on this host has in its environment */
struct rh_comm_env member_env(int32_t rank, int32_t world);

/** Start a server for a world on a port that the system chooses. */
struct rh_comm_server *members_server(int32_t world, int32_t *ret_port);

/** Connect a rank to the server, and serve it in a thread until member_part(). */
void member_join(struct member *member, int32_t rank, int32_t world, int32_t port);

/** Close the connection of a rank, without announcing it, and end its thread. */
void member_part(struct member *member);

/** Wait for the end of the world. @return RH_COMM_E*, with the server's reason in @p err; 0: it did not end */
int32_t member_await_end(struct member *member, struct rh_comm_error *err);
