/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/line.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm/core/bootstrap/socket.h"
#include "comm/core/error.h"

/* Pause between two attempts to connect: short at first, then longer. */
#define LINE_PAUSE_FIRST 20000
#define LINE_PAUSE_MAX 500000

/* Somebody waits for a value. Lives on the waiter's stack, in the list while it waits. */
struct line_wish {
	struct line_wish *next;
	uint64_t number;
	void *value;
	size_t room;
	int64_t length; /* -1: not there yet */
};

struct rh_comm_line {
	int fd;
	int wake;
	int32_t rank;
	struct rh_comm_buffer in; /* of the service thread */
	pthread_mutex_t lock;     /* over what follows */
	pthread_cond_t news;
	struct rh_comm_buffer out;
	struct line_wish *wishes;
	uint64_t wish_count;
	struct rh_comm_error end;
	bool all_left;
	int64_t heard;          /* when the hub said something last */
	int32_t unanswered;     /* heartbeats since then */
	struct rh_comm_ask ask; /* what it asked last */
	_Atomic bool asked;
	_Atomic int32_t over; /* code of `end`, which is complete before this is set */
};

/* Wait until the frame is there. @return 1, or a negative status with errno as words */
static int32_t line_await(int fd, struct rh_comm_buffer *in, int64_t deadline, uint32_t *ret_kind,
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

static int32_t line_send_now(int fd, uint32_t kind, const void *data, size_t length)
{
	struct rh_comm_buffer out = {0};
	int32_t r = rh_comm_frame_add(&out, kind, data, length, NULL, 0);

	/* a few hundred bytes on a fresh connection always fit */
	if (r == 0 && (rh_comm_buffer_write(&out, fd) < 0 || out.length > 0))
		r = RH_COMM_EIO;
	rh_comm_buffer_deinit(&out);
	return r;
}

static int32_t line_fail_hello(struct rh_comm_error *err, int32_t code)
{
	if (code == RH_COMM_ENOMEM)
		return rh_comm_fail(err, code, RH_COMM_NO_RANK, "out of memory");
	if (code == RH_COMM_EINVAL)
		return rh_comm_fail(err, RH_COMM_EIO, 0, "what listens there is no rh_comm");
	return rh_comm_fail(err, RH_COMM_EIO, 0, "rank 0 does not answer");
}

static int32_t line_refused(struct rh_comm_error *err, const uint8_t *text, size_t length)
{
	return rh_comm_fail(err, RH_COMM_EINVAL, 0, "rank 0 refuses this rank: %.*s", (int)(length < 200 ? length : 200),
	                    (const char *)text);
}

/* Take the hub's challenge and answer it. */
static int32_t line_prove(int fd, const struct rh_comm_env *env, const struct rh_comm_hello *hello,
                          const uint8_t *payload, struct rh_comm_error *err)
{
	struct rh_comm_challenge challenge;
	uint8_t proof[RH_COMM_DIGEST];

	memcpy(&challenge, payload, sizeof(challenge));
	rh_comm_prove(env->secret, "hub", hello->nonce, hello, proof);
	if (!rh_comm_digest_equal(proof, challenge.proof))
		return rh_comm_fail(err, RH_COMM_EINVAL, 0,
		                    "what listens at rank 0's address does not know the secret (RH_COMM_SECRET)");
	rh_comm_prove(env->secret, "rank", challenge.nonce, hello, proof);
	return line_send_now(fd, RH_COMM_FRAME_PROOF, proof, sizeof(proof)) < 0 ? line_fail_hello(err, RH_COMM_EIO) : 0;
}

static int32_t line_make_hello(const struct rh_comm_env *env, struct rh_comm_hello *hello, struct rh_comm_error *err)
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

/* Both prove themselves. What comes behind WELCOME stays in `in`. */
static int32_t line_greet(int fd, const struct rh_comm_env *env, int64_t deadline, struct rh_comm_buffer *in,
                          struct rh_comm_error *err)
{
	struct rh_comm_hello hello;
	const uint8_t *payload;
	uint32_t kind = 0;
	size_t length;
	int32_t r = line_make_hello(env, &hello, err);

	if (r < 0)
		return r;
	if (line_send_now(fd, RH_COMM_FRAME_HELLO, &hello, sizeof(hello)) < 0)
		return line_fail_hello(err, RH_COMM_EIO);
	for (;;) {
		r = line_await(fd, in, deadline, &kind, &payload, &length);
		if (r < 0)
			return line_fail_hello(err, r);
		if (kind == RH_COMM_FRAME_REFUSED)
			return line_refused(err, payload, length);
		if (kind == RH_COMM_FRAME_CHALLENGE && length == sizeof(struct rh_comm_challenge))
			r = line_prove(fd, env, &hello, payload, err);
		else if (kind != RH_COMM_FRAME_WELCOME)
			r = line_fail_hello(err, RH_COMM_EINVAL);
		rh_comm_frame_drop(in);
		if (r < 0 || kind == RH_COMM_FRAME_WELCOME)
			return r < 0 ? r : 0;
	}
}

static int32_t line_connect_once(struct rh_comm_line *line, const struct rh_comm_env *env, int64_t deadline,
                                 struct rh_comm_error *err)
{
	int32_t r = rh_comm_socket_connect(env->host, env->port, deadline, &line->fd, err);

	if (r < 0)
		return r;
	rh_comm_socket_watch_peer(line->fd, env->death_timeout);
	line->in.length = 0;
	r = line_greet(line->fd, env, deadline, &line->in, err);
	if (r < 0) {
		(void)close(line->fd);
		line->fd = -1;
	}
	return r;
}

static void line_pause(int64_t time)
{
	struct timespec left = {time / RH_COMM_SECOND, time % RH_COMM_SECOND * 1000};

	(void)nanosleep(&left, NULL);
}

static int32_t line_connect(struct rh_comm_line *line, const struct rh_comm_env *env, int64_t deadline,
                            struct rh_comm_error *err)
{
	struct rh_comm_error last = {.text = "nobody listens"};
	int64_t pause = LINE_PAUSE_FIRST;

	for (;;) {
		int32_t r = line_connect_once(line, env, deadline, &last);

		if (r != RH_COMM_EIO) {
			if (err && r < 0)
				*err = last;
			return r;
		}
		if (rh_comm_now() + pause >= deadline)
			return rh_comm_fail(err, RH_COMM_ETIME, 0, "rank 0 at %s port %d was not reached in time: %s", env->host,
			                    (int)env->port, last.text);
		line_pause(pause);
		pause = pause * 2 < LINE_PAUSE_MAX ? pause * 2 : LINE_PAUSE_MAX;
	}
}

int32_t rh_comm_line_new(const struct rh_comm_env *env, int64_t deadline, struct rh_comm_line **ret_line,
                         struct rh_comm_error *err)
{
	struct rh_comm_line *line = calloc(1, sizeof(*line));
	pthread_condattr_t monotonic;
	int32_t r;

	if (!line)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	line->fd = -1;
	line->rank = env->rank;
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&line->news, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	(void)pthread_mutex_init(&line->lock, NULL);
	line->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = line->wake < 0 ? rh_comm_fail_os(err, errno, "rh_comm") : line_connect(line, env, deadline, err);
	if (r < 0) {
		rh_comm_line_free(line);
		return r;
	}
	*ret_line = line;
	return 0;
}

int32_t rh_comm_line_address(const struct rh_comm_line *line, char *text, size_t room)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);

	if (getsockname(line->fd, (struct sockaddr *)&address, &length) < 0 ||
	    getnameinfo((struct sockaddr *)&address, length, text, (socklen_t)room, NULL, 0, NI_NUMERICHOST) != 0)
		return RH_COMM_EIO;
	return 0;
}

void rh_comm_line_free(struct rh_comm_line *line)
{
	if (!line)
		return;
	if (line->fd >= 0)
		(void)close(line->fd);
	if (line->wake >= 0)
		(void)close(line->wake);
	(void)pthread_mutex_destroy(&line->lock);
	(void)pthread_cond_destroy(&line->news);
	rh_comm_buffer_deinit(&line->in);
	rh_comm_buffer_deinit(&line->out);
	free(line);
}

/* The first end stays. Called with the lock held. */
static void line_set_end(struct rh_comm_line *line, int32_t code, int32_t rank, const char *text)
{
	if (atomic_load_explicit(&line->over, memory_order_relaxed) != 0)
		return;
	(void)rh_comm_fail(&line->end, code, rank, "%s", text);
	atomic_store_explicit(&line->over, code, memory_order_release);
	(void)pthread_cond_broadcast(&line->news);
}

void rh_comm_line_hold(struct rh_comm_line *line)
{
	(void)pthread_mutex_lock(&line->lock);
}

void rh_comm_line_let_go(struct rh_comm_line *line)
{
	(void)pthread_mutex_unlock(&line->lock);
}

void rh_comm_line_forget(struct rh_comm_line *line)
{
	if (line->fd >= 0)
		(void)close(line->fd);
	(void)close(line->wake);
	line->fd = -1;
	line->wake = -1;
	/* nobody is woken: there is no other thread here, and those that wait are the parent's */
	if (atomic_load(&line->over) != 0)
		return;
	atomic_store(&line->over, rh_comm_fail(&line->end, RH_COMM_EINVAL, line->rank,
	                                       "this process was forked from rank %d, and is none itself: call "
	                                       "rh_comm_init() in it, after fork()",
	                                       (int)line->rank));
}

int32_t rh_comm_line_check(const struct rh_comm_line *line, struct rh_comm_error *err)
{
	int32_t code = atomic_load_explicit(&line->over, memory_order_acquire);

	if (code != 0 && err)
		*err = line->end;
	return code;
}

void rh_comm_line_wake(struct rh_comm_line *line)
{
	static const uint64_t one = 1;

	/* when it cannot be written it is so full that it wakes anyway */
	(void)!write(line->wake, &one, sizeof(one));
}

/* Queue a frame and let the service thread send it. */
static int32_t line_queue(struct rh_comm_line *line, uint32_t kind, const void *head, size_t head_length,
                          const void *data, size_t length)
{
	int32_t r;

	(void)pthread_mutex_lock(&line->lock);
	r = rh_comm_frame_add(&line->out, kind, head, head_length, data, length);
	(void)pthread_mutex_unlock(&line->lock);
	rh_comm_line_wake(line);
	return r;
}

int32_t rh_comm_line_put(struct rh_comm_line *line, const char *key, const void *value, size_t length)
{
	int32_t r = rh_comm_line_check(line, NULL);

	if (r != 0)
		return r;
	if (strlen(key) + 1 + length > RH_COMM_PUT_MAX)
		return RH_COMM_EINVAL;
	return line_queue(line, RH_COMM_FRAME_PUT, key, strlen(key) + 1, value, length);
}

static struct timespec line_time(int64_t time)
{
	return (struct timespec){time / RH_COMM_SECOND, time % RH_COMM_SECOND * 1000};
}

static void line_forget_wish(struct rh_comm_line *line, const struct line_wish *wish)
{
	struct line_wish **at = &line->wishes;

	while (*at && *at != wish)
		at = &(*at)->next;
	if (*at)
		*at = wish->next;
}

/* With the lock held. */
static int32_t line_await_wish(struct rh_comm_line *line, const struct line_wish *wish, int64_t deadline)
{
	struct timespec until = line_time(deadline == RH_COMM_NEVER ? rh_comm_now() + RH_COMM_SECOND * 1000000 : deadline);
	int r = 0;

	while (wish->length < 0 && rh_comm_line_check(line, NULL) == 0 && r == 0)
		r = pthread_cond_timedwait(&line->news, &line->lock, &until);
	return wish->length >= 0 ? 0 : rh_comm_line_check(line, NULL);
}

int64_t rh_comm_line_get(struct rh_comm_line *line, const char *key, void *value, size_t room, int64_t deadline,
                         struct rh_comm_error *err)
{
	struct line_wish wish = {.value = value, .room = room, .length = -1};
	int32_t r;

	(void)pthread_mutex_lock(&line->lock);
	wish.number = ++line->wish_count;
	wish.next = line->wishes;
	/* cppcheck-suppress autoVariables ; it is taken out below, before it goes */
	line->wishes = &wish;
	r = rh_comm_frame_add(&line->out, RH_COMM_FRAME_GET, &wish.number, sizeof(wish.number), key, strlen(key));
	rh_comm_line_wake(line);
	if (r == 0)
		r = line_await_wish(line, &wish, deadline);
	line_forget_wish(line, &wish);
	(void)pthread_mutex_unlock(&line->lock);
	if (r == RH_COMM_ENOMEM)
		return rh_comm_fail(err, r, RH_COMM_NO_RANK, "out of memory");
	if (r < 0)
		return rh_comm_line_check(line, err);
	if (wish.length < 0)
		return rh_comm_fail(err, RH_COMM_ETIME, RH_COMM_NO_RANK, "no rank said \"%s\" in time", key);
	if ((size_t)wish.length > room)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "\"%s\" has %lld bytes, more than %zu", key,
		                    (long long)wish.length, room);
	return wish.length;
}

void rh_comm_line_beat(struct rh_comm_line *line, const struct rh_comm_beat *beat)
{
	(void)pthread_mutex_lock(&line->lock);
	line->unanswered++;
	(void)pthread_mutex_unlock(&line->lock);
	(void)line_queue(line, RH_COMM_FRAME_BEAT, beat, sizeof(*beat), NULL, 0);
}

int32_t rh_comm_line_unanswered(struct rh_comm_line *line)
{
	int32_t count;

	(void)pthread_mutex_lock(&line->lock);
	count = line->unanswered;
	(void)pthread_mutex_unlock(&line->lock);
	return count;
}

void rh_comm_line_answer(struct rh_comm_line *line, const struct rh_comm_answer *answer)
{
	(void)line_queue(line, RH_COMM_FRAME_ANSWER, answer, sizeof(*answer), NULL, 0);
}

void rh_comm_line_gone(struct rh_comm_line *line, const struct rh_comm_gone *gone)
{
	(void)line_queue(line, RH_COMM_FRAME_GONE, gone, sizeof(*gone), NULL, 0);
}

void rh_comm_line_end(struct rh_comm_line *line, const struct rh_comm_error *reason, const struct rh_comm_case *about)
{
	struct rh_comm_end end = {.code = reason->code, .rank = reason->rank};
	size_t count = about && about->ranks ? (size_t)about->count : 0;

	if (about)
		end.ask = about->ask;
	memcpy(end.text, reason->text, strnlen(reason->text, sizeof(end.text) - 1));
	(void)line_queue(line, RH_COMM_FRAME_END, &end, sizeof(end), count > 0 ? about->ranks : NULL,
	                 count * sizeof(int32_t));
}

bool rh_comm_line_await_verdict(struct rh_comm_line *line, int64_t since, int64_t silence, int64_t deadline)
{
	int64_t now = since;

	(void)pthread_mutex_lock(&line->lock);
	while (rh_comm_line_check(line, NULL) == 0) {
		int64_t until = line->heard >= since || since + silence > deadline ? deadline : since + silence;
		struct timespec time = line_time(until);

		if (now >= until)
			break;
		(void)pthread_cond_timedwait(&line->news, &line->lock, &time);
		now = rh_comm_now();
	}
	(void)pthread_mutex_unlock(&line->lock);
	return rh_comm_line_check(line, NULL) != 0;
}

void rh_comm_line_close(struct rh_comm_line *line, const struct rh_comm_error *reason)
{
	(void)pthread_mutex_lock(&line->lock);
	line_set_end(line, reason->code, reason->rank, reason->text);
	(void)pthread_mutex_unlock(&line->lock);
}

void rh_comm_line_await_end(struct rh_comm_line *line, int64_t deadline, const struct rh_comm_error *reason)
{
	struct timespec until = line_time(deadline);
	int r = 0;

	(void)pthread_mutex_lock(&line->lock);
	while (rh_comm_line_check(line, NULL) == 0 && r == 0)
		r = pthread_cond_timedwait(&line->news, &line->lock, &until);
	line_set_end(line, reason->code, reason->rank, reason->text);
	(void)pthread_mutex_unlock(&line->lock);
}

bool rh_comm_line_is_asked(struct rh_comm_line *line, struct rh_comm_ask *ret_ask)
{
	if (!atomic_load_explicit(&line->asked, memory_order_relaxed))
		return false;
	(void)pthread_mutex_lock(&line->lock);
	*ret_ask = line->ask;
	atomic_store(&line->asked, false);
	(void)pthread_mutex_unlock(&line->lock);
	return true;
}

void rh_comm_line_leave(struct rh_comm_line *line, const struct rh_comm_beat *last, int64_t deadline)
{
	struct timespec until = line_time(deadline);
	int r = 0;

	(void)line_queue(line, RH_COMM_FRAME_LEAVE, last, sizeof(*last), NULL, 0);
	(void)pthread_mutex_lock(&line->lock);
	while (!line->all_left && atomic_load(&line->over) == 0 && r == 0)
		r = pthread_cond_timedwait(&line->news, &line->lock, &until);
	(void)pthread_mutex_unlock(&line->lock);
}

static void line_on_value(struct rh_comm_line *line, const uint8_t *payload, size_t length)
{
	uint64_t number;

	if (length < sizeof(number))
		return;
	memcpy(&number, payload, sizeof(number));
	for (struct line_wish *wish = line->wishes; wish; wish = wish->next) {
		if (wish->number != number)
			continue;
		wish->length = (int64_t)(length - sizeof(number));
		if (length - sizeof(number) <= wish->room)
			memcpy(wish->value, payload + sizeof(number), length - sizeof(number));
		(void)pthread_cond_broadcast(&line->news);
	}
}

static void line_on_end(struct rh_comm_line *line, const uint8_t *payload, size_t length)
{
	struct rh_comm_end end;

	if (length != sizeof(end))
		return;
	memcpy(&end, payload, sizeof(end));
	end.text[sizeof(end.text) - 1] = '\0';
	line_set_end(line, end.code < 0 ? end.code : RH_COMM_EPEER, end.rank, end.text);
}

static void line_on_frame(struct rh_comm_line *line, uint32_t kind, const uint8_t *payload, size_t length)
{
	if (kind == RH_COMM_FRAME_VALUE) {
		line_on_value(line, payload, length);
	} else if (kind == RH_COMM_FRAME_END) {
		line_on_end(line, payload, length);
	} else if (kind == RH_COMM_FRAME_ALL_LEFT) {
		line->all_left = true;
		(void)pthread_cond_broadcast(&line->news);
	} else if (kind == RH_COMM_FRAME_ASK && length == sizeof(line->ask)) {
		memcpy(&line->ask, payload, sizeof(line->ask));
		atomic_store(&line->asked, true);
	}
}

static void line_lose(struct rh_comm_line *line, int number)
{
	char words[100];
	char text[200];
	struct rh_comm_error said;

	if (number == 0 || number == ECONNRESET)
		(void)rh_comm_fail(&said, RH_COMM_EPEER, 0, "rank 0 died: its connection closed");
	else
		(void)rh_comm_fail(&said, RH_COMM_EPEER, 0, "rank 0 is cut off: %s", strerror_r(number, words, sizeof(words)));
	memcpy(text, said.text, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	line_set_end(line, RH_COMM_EPEER, 0, text);
	(void)close(line->fd);
	line->fd = -1;
}

/* With the lock held. */
static void line_deliver(struct rh_comm_line *line)
{
	const uint8_t *payload;
	uint32_t kind;
	size_t length;
	int32_t r;
	int64_t n = rh_comm_buffer_read(&line->in, line->fd);
	int number = errno;

	if (n > 0) {
		line->heard = rh_comm_now();
		line->unanswered = 0;
		(void)pthread_cond_broadcast(&line->news);
	}
	while ((r = rh_comm_frame_look(&line->in, &kind, &payload, &length)) > 0) {
		line_on_frame(line, kind, payload, length);
		rh_comm_frame_drop(&line->in);
	}
	if (n < 0 || r < 0)
		line_lose(line, n < 0 ? number : 0);
}

bool rh_comm_line_serve(struct rh_comm_line *line, int64_t timeout)
{
	struct pollfd set[2] = {{.fd = line->wake, .events = POLLIN}, {.fd = line->fd, .events = POLLIN}};
	uint64_t count;

	(void)pthread_mutex_lock(&line->lock);
	if (line->fd >= 0 && line->out.length > 0 && rh_comm_buffer_write(&line->out, line->fd) < 0)
		line_lose(line, errno);
	if (line->out.length > 0)
		set[1].events |= POLLOUT;
	set[1].fd = line->fd;
	(void)pthread_mutex_unlock(&line->lock);
	if (poll(set, 2, timeout > 0 ? (int)((timeout + 999) / 1000) : 0) <= 0)
		return set[1].fd >= 0;
	if (set[0].revents)
		(void)!read(line->wake, &count, sizeof(count));
	(void)pthread_mutex_lock(&line->lock);
	if (set[1].revents && line->fd >= 0)
		line_deliver(line);
	if (line->fd >= 0 && line->out.length > 0 && rh_comm_buffer_write(&line->out, line->fd) < 0)
		line_lose(line, errno);
	(void)pthread_mutex_unlock(&line->lock);
	return line->fd >= 0;
}
