/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/client_handshake.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"

/* Pause between two attempts to connect: short at first, then longer. */
#define CLIENT_PAUSE_FIRST 20000
#define CLIENT_PAUSE_MAX 500000

/* Wait until the frame has arrived. @return 1, or a negative status with the text of errno */
static int32_t client_await(int fd, struct rh_comm_buffer *in, int64_t deadline, uint32_t *ret_kind,
                            const uint8_t **ret_payload, size_t *ret_length)
{
	int32_t r;

	while ((r = rh_comm_frame_look(in, ret_kind, ret_payload, ret_length)) == 0) {
		struct pollfd set = {.fd = fd, .events = POLLIN};
		int64_t left = deadline - rh_comm_now();
		int64_t n;

		if (left <= 0 || poll(&set, 1, (int)(left / 1000) + 1) <= 0) {
			errno = ETIMEDOUT;
			return RH_COMM_EIO;
		}
		n = rh_comm_buffer_read(in, fd);
		if (n < 0)
			return n == RH_COMM_ENOMEM ? RH_COMM_ENOMEM : RH_COMM_EIO;
	}
	return r;
}

static int32_t client_send_now(int fd, uint32_t kind, const void *data, size_t length)
{
	struct rh_comm_buffer out = {0};
	int32_t r = rh_comm_frame_add(&out, kind, data, length, NULL, 0);

	/* a few hundred bytes on a fresh connection always fit */
	if (r == 0 && (rh_comm_buffer_write(&out, fd) < 0 || out.length > 0))
		r = RH_COMM_EIO;
	rh_comm_buffer_deinit(&out);
	return r;
}

static int32_t client_fail_hello(struct rh_comm_error *err, int32_t code)
{
	if (code == RH_COMM_ENOMEM)
		return rh_comm_fail(err, code, RH_COMM_NO_RANK, "out of memory");
	if (code == RH_COMM_EINVAL)
		return rh_comm_fail(err, RH_COMM_EIO, 0, "the server there is not rh_comm");
	return rh_comm_fail(err, RH_COMM_EIO, 0, "rank 0 does not answer");
}

static int32_t client_refused(struct rh_comm_error *err, const uint8_t *text, size_t length)
{
	return rh_comm_fail(err, RH_COMM_EINVAL, 0, "rank 0 refuses this rank: %.*s", (int)(length < 200 ? length : 200),
	                    (const char *)text);
}

/* Receive the server's challenge and answer it. */
static int32_t client_prove(int fd, const struct rh_comm_env *env, const struct rh_comm_hello *hello,
                            const uint8_t *payload, struct rh_comm_error *err)
{
	struct rh_comm_challenge challenge;
	uint8_t proof[RH_COMM_DIGEST];

	memcpy(&challenge, payload, sizeof(challenge));
	rh_comm_prove(env->secret, RH_COMM_ROLE_SERVER, hello->nonce, hello, proof);
	if (!rh_comm_digest_equal(proof, challenge.proof))
		return rh_comm_fail(err, RH_COMM_EINVAL, 0,
		                    "what listens at rank 0's address does not know the secret (RH_COMM_SECRET)");
	rh_comm_prove(env->secret, RH_COMM_ROLE_RANK, challenge.nonce, hello, proof);
	return client_send_now(fd, RH_COMM_FRAME_PROOF, proof, sizeof(proof)) < 0 ? client_fail_hello(err, RH_COMM_EIO) : 0;
}

static int32_t client_make_hello(const struct rh_comm_env *env, struct rh_comm_hello *hello, struct rh_comm_error *err)
{
	struct rh_comm_sha256 hash;

	*hello = (struct rh_comm_hello){.protocol = RH_COMM_PROTOCOL, .rank = env->rank, .world = env->world};
	rh_comm_sha256_init(&hash);
	rh_comm_sha256_add(&hash, env->job, strlen(env->job));
	rh_comm_sha256_end(&hash, hello->job);
	if (getrandom(hello->nonce, sizeof(hello->nonce), 0) != sizeof(hello->nonce))
		return rh_comm_fail_os(err, errno, "random numbers");
	return 0;
}

/* Both ends prove that they know the secret. Frames after WELCOME stay in `in`. */
static int32_t client_greet(int fd, const struct rh_comm_env *env, int64_t deadline, struct rh_comm_buffer *in,
                            struct rh_comm_error *err)
{
	struct rh_comm_hello hello;
	const uint8_t *payload;
	uint32_t kind = 0;
	size_t length;
	int32_t r = client_make_hello(env, &hello, err);

	if (r < 0)
		return r;
	if (client_send_now(fd, RH_COMM_FRAME_HELLO, &hello, sizeof(hello)) < 0)
		return client_fail_hello(err, RH_COMM_EIO);
	for (;;) {
		r = client_await(fd, in, deadline, &kind, &payload, &length);
		if (r < 0)
			return client_fail_hello(err, r);
		if (kind == RH_COMM_FRAME_REFUSED)
			return client_refused(err, payload, length);
		if (kind == RH_COMM_FRAME_CHALLENGE && length == sizeof(struct rh_comm_challenge))
			r = client_prove(fd, env, &hello, payload, err);
		else if (kind != RH_COMM_FRAME_WELCOME)
			r = client_fail_hello(err, RH_COMM_EINVAL);
		rh_comm_frame_drop(in);
		if (r < 0 || kind == RH_COMM_FRAME_WELCOME)
			return r < 0 ? r : 0;
	}
}

static int32_t client_connect_once(const struct rh_comm_env *env, int64_t deadline, int *ret_fd,
                                   struct rh_comm_buffer *in, struct rh_comm_error *err)
{
	int32_t r = rh_comm_socket_connect(env->host, env->port, deadline, ret_fd, err);

	if (r < 0)
		return r;
	rh_comm_socket_watch_peer(*ret_fd, env->death_timeout);
	in->length = 0;
	r = client_greet(*ret_fd, env, deadline, in, err);
	if (r < 0) {
		(void)close(*ret_fd);
		*ret_fd = -1;
	}
	return r;
}

static void client_pause(int64_t time)
{
	struct timespec left = {time / RH_COMM_SECOND, time % RH_COMM_SECOND * 1000};

	(void)nanosleep(&left, NULL);
}

int32_t rh_comm_client_connect(const struct rh_comm_env *env, int64_t deadline, int *ret_fd, struct rh_comm_buffer *in,
                               struct rh_comm_error *err)
{
	struct rh_comm_error last = {.text = "no connection yet"};
	int64_t pause = CLIENT_PAUSE_FIRST;

	for (;;) {
		int32_t r = client_connect_once(env, deadline, ret_fd, in, &last);

		if (r != RH_COMM_EIO) {
			if (err && r < 0)
				*err = last;
			return r;
		}
		if (rh_comm_now() + pause >= deadline)
			return rh_comm_fail(err, RH_COMM_ETIME, 0,
			                    "rank 0 at %s port %d was not reached in time, it has not started or has ended: %s",
			                    env->host, (int)env->port, last.text);
		client_pause(pause);
		pause = pause * 2 < CLIENT_PAUSE_MAX ? pause * 2 : CLIENT_PAUSE_MAX;
	}
}
