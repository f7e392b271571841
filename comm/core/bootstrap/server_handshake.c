/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "comm/core/bootstrap/server_handshake.h"
#include "comm/core/error.h"

static void server_refuse(struct server_peer *peer, const char *why)
{
	peer->stage = SERVER_REFUSED;
	rh_comm_server_send(peer, RH_COMM_FRAME_REFUSED, why, strlen(why), NULL, 0);
}

/* @return NULL when the hello is fine; else what is wrong, written to `text` */
static const char *server_check_hello(const struct rh_comm_server *server, const struct rh_comm_hello *hello,
                                      char *text, size_t room)
{
	const struct server_peer *other;

	if (hello->protocol != RH_COMM_PROTOCOL) {
		(void)snprintf(text, room, "rank 0 uses protocol %d and this rank %u: use one version of rh_comm everywhere",
		               RH_COMM_PROTOCOL, hello->protocol);
		return text;
	}
	if (!rh_comm_digest_equal(hello->job, server->job))
		return "rank 0 belongs to another job or attempt (RH_COMM_JOB differs)";
	if (hello->world != server->world || hello->rank < 0 || hello->rank >= server->world) {
		(void)snprintf(text, room, "rank 0 has a world of %d, and this is rank %d of %d", (int)server->world,
		               (int)hello->rank, (int)hello->world);
		return text;
	}
	other = rh_comm_server_find(server, hello->rank);
	if (other) {
		(void)snprintf(text, room, "there is a rank %d already, at %s", (int)hello->rank, other->address);
		return text;
	}
	return NULL;
}

static void server_on_hello(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                            size_t length)
{
	struct rh_comm_challenge challenge;
	char text[200];
	const char *why;

	if (length < sizeof(peer->hello)) {
		server_refuse(peer, "the hello is too short");
		return;
	}
	memcpy(&peer->hello, payload, sizeof(peer->hello));
	why = server_check_hello(server, &peer->hello, text, sizeof(text));
	if (!why && getrandom(peer->nonce, sizeof(peer->nonce), 0) != sizeof(peer->nonce))
		why = "rank 0 has no random numbers";
	if (why) {
		server_refuse(peer, why);
		return;
	}
	memcpy(challenge.nonce, peer->nonce, sizeof(challenge.nonce));
	rh_comm_prove(server->secret, RH_COMM_ROLE_SERVER, peer->hello.nonce, &peer->hello, challenge.proof);
	peer->stage = SERVER_PROOF;
	rh_comm_server_send(peer, RH_COMM_FRAME_CHALLENGE, &challenge, sizeof(challenge), NULL, 0);
}

static void server_on_proof(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                            size_t length)
{
	uint8_t proof[RH_COMM_DIGEST];

	rh_comm_prove(server->secret, RH_COMM_ROLE_RANK, peer->nonce, &peer->hello, proof);
	if (length != RH_COMM_DIGEST || !rh_comm_digest_equal(proof, payload)) {
		server_refuse(peer, "the secret (RH_COMM_SECRET) is not rank 0's");
		return;
	}
	/* another one may have taken the place meanwhile */
	if (rh_comm_server_find(server, peer->hello.rank)) {
		server_refuse(peer, "there is such a rank already");
		return;
	}
	peer->stage = SERVER_MEMBER;
	peer->since = rh_comm_now();
	rh_comm_server_send(peer, RH_COMM_FRAME_WELCOME, NULL, 0, NULL, 0);
}

void rh_comm_server_handshake(struct rh_comm_server *server, struct server_peer *peer, uint32_t kind,
                              const uint8_t *payload, size_t length)
{
	if (peer->stage == SERVER_HELLO && kind == RH_COMM_FRAME_HELLO)
		server_on_hello(server, peer, payload, length);
	else if (peer->stage == SERVER_PROOF && kind == RH_COMM_FRAME_PROOF)
		server_on_proof(server, peer, payload, length);
	else if (peer->stage < SERVER_MEMBER)
		server_refuse(peer, "this is not a rank of rh_comm");
}
