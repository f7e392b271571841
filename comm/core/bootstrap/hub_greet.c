/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "comm/core/bootstrap/hub_parts.h"
#include "comm/core/error.h"

static void hub_refuse(struct hub_peer *peer, const char *why)
{
	peer->stage = HUB_REFUSED;
	rh_comm_hub_send(peer, RH_COMM_FRAME_REFUSED, why, strlen(why), NULL, 0);
}

/* @return NULL when the hello is fine; else what is wrong, written to `text` */
static const char *hub_check_hello(const struct rh_comm_hub *hub, const struct rh_comm_hello *hello, char *text,
                                   size_t room)
{
	const struct hub_peer *other;

	if (hello->protocol != RH_COMM_PROTOCOL) {
		(void)snprintf(text, room, "rank 0 speaks protocol %d and this rank %u: use one version of rh_comm everywhere",
		               RH_COMM_PROTOCOL, hello->protocol);
		return text;
	}
	if (!rh_comm_digest_equal(hello->job, hub->job))
		return "rank 0 belongs to another job or attempt (RH_COMM_JOB differs)";
	if (hello->world != hub->world || hello->rank < 0 || hello->rank >= hub->world) {
		(void)snprintf(text, room, "rank 0 has a world of %d, and this is rank %d of %d", (int)hub->world,
		               (int)hello->rank, (int)hello->world);
		return text;
	}
	other = rh_comm_hub_find(hub, hello->rank);
	if (other) {
		(void)snprintf(text, room, "there is a rank %d already, at %s", (int)hello->rank, other->address);
		return text;
	}
	return NULL;
}

static void hub_on_hello(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	struct rh_comm_challenge challenge;
	char text[200];
	const char *why;

	if (length < sizeof(peer->hello)) {
		hub_refuse(peer, "the hello is too short");
		return;
	}
	memcpy(&peer->hello, payload, sizeof(peer->hello));
	why = hub_check_hello(hub, &peer->hello, text, sizeof(text));
	if (!why && getrandom(peer->nonce, sizeof(peer->nonce), 0) != sizeof(peer->nonce))
		why = "rank 0 has no random numbers";
	if (why) {
		hub_refuse(peer, why);
		return;
	}
	memcpy(challenge.nonce, peer->nonce, sizeof(challenge.nonce));
	rh_comm_prove(hub->secret, "hub", peer->hello.nonce, &peer->hello, challenge.proof);
	peer->stage = HUB_PROOF;
	rh_comm_hub_send(peer, RH_COMM_FRAME_CHALLENGE, &challenge, sizeof(challenge), NULL, 0);
}

static void hub_on_proof(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	uint8_t proof[RH_COMM_DIGEST];

	rh_comm_prove(hub->secret, "rank", peer->nonce, &peer->hello, proof);
	if (length != RH_COMM_DIGEST || !rh_comm_digest_equal(proof, payload)) {
		hub_refuse(peer, "the secret (RH_COMM_SECRET) is not rank 0's");
		return;
	}
	/* another one may have taken the place meanwhile */
	if (rh_comm_hub_find(hub, peer->hello.rank)) {
		hub_refuse(peer, "there is such a rank already");
		return;
	}
	peer->stage = HUB_MEMBER;
	peer->since = rh_comm_now();
	rh_comm_hub_send(peer, RH_COMM_FRAME_WELCOME, NULL, 0, NULL, 0);
}

void rh_comm_hub_greet(struct rh_comm_hub *hub, struct hub_peer *peer, uint32_t kind, const uint8_t *payload,
                       size_t length)
{
	if (peer->stage == HUB_HELLO && kind == RH_COMM_FRAME_HELLO)
		hub_on_hello(hub, peer, payload, length);
	else if (peer->stage == HUB_PROOF && kind == RH_COMM_FRAME_PROOF)
		hub_on_proof(hub, peer, payload, length);
	else if (peer->stage < HUB_MEMBER)
		hub_refuse(peer, "this is no rank of rh_comm");
}
