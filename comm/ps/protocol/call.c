/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/protocol/call.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "comm/core/error.h"

/* How long the other end may take to send its memory. */
#define ATTACH_TIMEOUT (2 * RH_COMM_SECOND)

int32_t rh_ps_call_fail(const struct rh_ps_call *call, const char *what)
{
	return rh_comm_fail(call->err, RH_COMM_EIO, RH_COMM_NO_RANK, "%s: %s", call->whom, what);
}

int32_t rh_ps_call_send(const struct rh_ps_call *call, uint32_t kind, uint64_t key, const void *payload, size_t length)
{
	struct rh_ps_head head = {.kind = kind, .length = (uint32_t)length, .key = key};
	uint8_t *at = rh_ps_wire_add(call->wire, &head);

	if (!at)
		return rh_comm_fail(call->err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	if (length > 0)
		memcpy(at, payload, length);
	return rh_ps_wire_flush(call->wire) < 0 ? rh_ps_call_fail(call, "the connection closed") : 0;
}

int32_t rh_ps_call_receive(const struct rh_ps_call *call, uint32_t kind, void *ret_payload, size_t length)
{
	struct pollfd set = {.fd = rh_ps_wire_fd(call->wire), .events = POLLIN};
	const uint8_t *payload = NULL;
	struct rh_ps_head head;
	int32_t r;

	while ((r = rh_ps_wire_next(call->wire, &head, &payload)) == 0) {
		int64_t left = call->deadline - rh_comm_now();

		if (left <= 0 || poll(&set, 1, (int)(left / 1000) + 1) == 0)
			return rh_ps_call_fail(call, "it does not answer");
		if (rh_ps_wire_fill(call->wire) < 0 && rh_ps_wire_next(call->wire, &head, &payload) == 0)
			return rh_ps_call_fail(call, "the connection closed");
	}
	if (r > 0 && head.kind == RH_PS_REC_REFUSED && head.length > 0 && payload[head.length - 1] == '\0')
		return rh_comm_fail(call->err, head.status < 0 ? head.status : RH_COMM_EINVAL, head.worker, "%s", payload);
	if (r < 0 || head.kind != kind || head.length != length)
		return rh_comm_fail(call->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "%s: what listens there is nothing of a parameter server of this version", call->whom);
	if (length > 0)
		memcpy(ret_payload, payload, length);
	rh_ps_wire_drop(call->wire);
	return 0;
}

/* Send a hello, and prove to know the secret as the other end does. */
static int32_t call_prove(const struct rh_ps_call *call, const struct rh_ps_head *pattern, struct rh_ps_hello *hello,
                          const char *secret)
{
	struct rh_ps_challenge challenge;
	uint8_t proof[RH_COMM_DIGEST];
	int32_t r;

	hello->protocol = RH_PS_PROTOCOL;
	rh_ps_random(hello->nonce, sizeof(hello->nonce));
	r = rh_ps_call_send(call, pattern->kind, pattern->key, hello, sizeof(*hello));
	if (r == 0)
		r = rh_ps_call_receive(call, RH_PS_REC_CHALLENGE, &challenge, sizeof(challenge));
	if (r < 0)
		return r;
	rh_ps_prove(secret, "server", hello->nonce, hello, proof);
	if (!rh_comm_digest_equal(proof, challenge.proof))
		return rh_comm_fail(call->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "%s has another secret: set RH_COMM_SECRET to the same everywhere", call->whom);
	rh_ps_prove(secret, "worker", challenge.nonce, hello, proof);
	return rh_ps_call_send(call, RH_PS_REC_PROOF, 0, proof, sizeof(proof));
}

int32_t rh_ps_call_greet(const struct rh_ps_call *call, struct rh_ps_hello *hello, const char *secret)
{
	const struct rh_ps_head pattern = {.kind = RH_PS_REC_HELLO};

	return call_prove(call, &pattern, hello, secret);
}

int32_t rh_ps_call_attach(const struct rh_ps_call *call, const struct rh_ps_call_proof *proof)
{
	const struct rh_ps_head pattern = {.kind = RH_PS_REC_ATTACH, .key = proof->ticket};
	struct rh_ps_hello hello = *proof->hello;

	return call_prove(call, &pattern, &hello, proof->secret);
}

int32_t rh_ps_call_attach_near(struct rh_ps_call *call, int fd, const struct rh_ps_call_proof *proof)
{
	struct rh_ps_call local = *call;
	int memory = -1;
	bool shared = false;
	int32_t r;

	local.wire = rh_ps_wire_new(fd);
	if (!local.wire) {
		(void)close(fd);
		return rh_ps_call_fail(call, "out of memory");
	}
	/* from here on the other end may use the new transport: the old one cannot be used again */
	r = rh_ps_call_attach(&local, proof);
	if (r == 0)
		memory = rh_ps_wire_receive_fd(fd, ATTACH_TIMEOUT);
	if (memory >= 0) {
		shared = rh_ps_wire_share(local.wire, memory, false) == 0;
		(void)close(memory);
	}
	if (!shared) {
		rh_ps_wire_free(local.wire);
		if (r < 0)
			return r;
		return rh_ps_call_fail(call, "cannot share memory with it; set RH_PS_SHM=off to do without it");
	}
	rh_ps_wire_free(call->wire);
	call->wire = local.wire;
	return 0;
}
