/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/client.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm/core/bootstrap/client_handshake.h"
#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"

/* Room for frames to the server: how a rank ends is reported also when memory is out, or its peers would wait for it.
 */
#define CLIENT_ROOM 4096

/* Somebody waits for a value. Lives on the waiter's stack, in the list while it waits. */
struct client_wish {
	struct client_wish *next;
	uint64_t number;
	void *value;
	size_t room;
	int64_t length; /* -1: not there yet */
};

struct rh_comm_client {
	int fd;
	int wake;
	int32_t rank;
	struct rh_comm_buffer in; /* of the service thread */
	pthread_mutex_t lock;     /* over what follows */
	pthread_cond_t changed;
	struct rh_comm_buffer out;
	struct client_wish *gets;
	uint64_t get_count;
	struct rh_comm_error end;
	bool all_left;
	int64_t last_received;      /* when the server's latest frame arrived */
	int32_t unanswered;         /* heartbeats since then */
	struct rh_comm_query query; /* what it asked last */
	_Atomic bool asked;
	_Atomic int32_t over; /* code of `end`, which is complete before this is set */
};

int32_t rh_comm_client_new(const struct rh_comm_env *env, int64_t deadline, struct rh_comm_client **ret_client,
                           struct rh_comm_error *err)
{
	struct rh_comm_client *client = calloc(1, sizeof(*client));
	pthread_condattr_t monotonic;
	int32_t r;

	if (!client)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	client->fd = -1;
	client->rank = env->rank;
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&client->changed, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	(void)pthread_mutex_init(&client->lock, NULL);
	client->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (client->wake < 0)
		r = rh_comm_fail_os(err, errno, "rh_comm");
	else if (rh_comm_buffer_reserve(&client->out, CLIENT_ROOM) < 0)
		r = rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	else
		r = rh_comm_client_connect(env, deadline, &client->fd, &client->in, err);
	if (r < 0) {
		rh_comm_client_free(client);
		return r;
	}
	*ret_client = client;
	return 0;
}

int32_t rh_comm_client_address(const struct rh_comm_client *client, char *text, size_t room)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);

	if (getsockname(client->fd, (struct sockaddr *)&address, &length) < 0 ||
	    getnameinfo((struct sockaddr *)&address, length, text, (socklen_t)room, NULL, 0, NI_NUMERICHOST) != 0)
		return RH_COMM_EIO;
	return 0;
}

void rh_comm_client_free(struct rh_comm_client *client)
{
	if (!client)
		return;
	if (client->fd >= 0)
		(void)close(client->fd);
	if (client->wake >= 0)
		(void)close(client->wake);
	(void)pthread_mutex_destroy(&client->lock);
	(void)pthread_cond_destroy(&client->changed);
	rh_comm_buffer_deinit(&client->in);
	rh_comm_buffer_deinit(&client->out);
	free(client);
}

/* The first end stays. Called with the lock held. */
static void client_set_end(struct rh_comm_client *client, int32_t code, int32_t rank, const char *text)
{
	if (atomic_load_explicit(&client->over, memory_order_relaxed) != 0)
		return;
	(void)rh_comm_fail(&client->end, code, rank, "%s", text);
	atomic_store_explicit(&client->over, code, memory_order_release);
	(void)pthread_cond_broadcast(&client->changed);
}

void rh_comm_client_fork_prepare(struct rh_comm_client *client)
{
	(void)pthread_mutex_lock(&client->lock);
}

void rh_comm_client_fork_parent(struct rh_comm_client *client)
{
	(void)pthread_mutex_unlock(&client->lock);
}

void rh_comm_client_fork_child(struct rh_comm_client *client)
{
	if (client->fd >= 0)
		(void)close(client->fd);
	(void)close(client->wake);
	client->fd = -1;
	client->wake = -1;
	/* no thread is woken: a child has no other thread, and those that wait are the parent's */
	if (atomic_load(&client->over) != 0)
		return;
	atomic_store(&client->over, rh_comm_fail(&client->end, RH_COMM_EINVAL, client->rank,
	                                         "this process was forked from rank %d, and is not a rank itself: call "
	                                         "rh_comm_init() in it, after fork()",
	                                         (int)client->rank));
}

int32_t rh_comm_client_check(const struct rh_comm_client *client, struct rh_comm_error *err)
{
	int32_t code = atomic_load_explicit(&client->over, memory_order_acquire);

	if (code != 0 && err)
		*err = client->end;
	return code;
}

void rh_comm_client_wake(struct rh_comm_client *client)
{
	static const uint64_t one = 1;

	/* when it cannot be written it is so full that it wakes anyway */
	(void)!write(client->wake, &one, sizeof(one));
}

/* Queue a frame and let the service thread send it. */
static int32_t client_queue(struct rh_comm_client *client, uint32_t kind, const void *head, size_t head_length,
                            const void *data, size_t length)
{
	int32_t r;

	(void)pthread_mutex_lock(&client->lock);
	r = rh_comm_frame_add(&client->out, kind, head, head_length, data, length);
	(void)pthread_mutex_unlock(&client->lock);
	rh_comm_client_wake(client);
	return r;
}

int32_t rh_comm_client_put(struct rh_comm_client *client, const char *key, const void *value, size_t length)
{
	int32_t r = rh_comm_client_check(client, NULL);

	if (r != 0)
		return r;
	if (strlen(key) + 1 + length > RH_COMM_PUT_MAX)
		return RH_COMM_EINVAL;
	return client_queue(client, RH_COMM_FRAME_PUT, key, strlen(key) + 1, value, length);
}

static struct timespec client_time(int64_t time)
{
	return (struct timespec){time / RH_COMM_SECOND, time % RH_COMM_SECOND * 1000};
}

static void client_forget_wish(struct rh_comm_client *client, const struct client_wish *wish)
{
	struct client_wish **at = &client->gets;

	while (*at && *at != wish)
		at = &(*at)->next;
	if (*at)
		*at = wish->next;
}

/* With the lock held. */
static int32_t client_await_wish(struct rh_comm_client *client, const struct client_wish *wish, int64_t deadline)
{
	struct timespec until =
		client_time(deadline == RH_COMM_NEVER ? rh_comm_now() + RH_COMM_SECOND * 1000000 : deadline);
	int r = 0;

	while (wish->length < 0 && rh_comm_client_check(client, NULL) == 0 && r == 0)
		r = pthread_cond_timedwait(&client->changed, &client->lock, &until);
	return wish->length >= 0 ? 0 : rh_comm_client_check(client, NULL);
}

int64_t rh_comm_client_get(struct rh_comm_client *client, const char *key, void *value, size_t room, int64_t deadline,
                           struct rh_comm_error *err)
{
	struct client_wish wish = {.value = value, .room = room, .length = -1};
	int32_t r;

	(void)pthread_mutex_lock(&client->lock);
	wish.number = ++client->get_count;
	wish.next = client->gets;
	/* cppcheck-suppress autoVariables ; it is taken out below, before it goes */
	client->gets = &wish;
	r = rh_comm_frame_add(&client->out, RH_COMM_FRAME_GET, &wish.number, sizeof(wish.number), key, strlen(key));
	rh_comm_client_wake(client);
	if (r == 0)
		r = client_await_wish(client, &wish, deadline);
	client_forget_wish(client, &wish);
	(void)pthread_mutex_unlock(&client->lock);
	if (r == RH_COMM_ENOMEM)
		return rh_comm_fail(err, r, RH_COMM_NO_RANK, "out of memory");
	if (r < 0)
		return rh_comm_client_check(client, err);
	if (wish.length < 0)
		return rh_comm_fail(err, RH_COMM_ETIME, RH_COMM_NO_RANK, "no rank published \"%s\" in time", key);
	if ((size_t)wish.length > room)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "\"%s\" has %lld bytes, more than %zu", key,
		                    (long long)wish.length, room);
	return wish.length;
}

void rh_comm_client_beat(struct rh_comm_client *client, const struct rh_comm_beat *beat)
{
	(void)pthread_mutex_lock(&client->lock);
	client->unanswered++;
	(void)pthread_mutex_unlock(&client->lock);
	(void)client_queue(client, RH_COMM_FRAME_BEAT, beat, sizeof(*beat), NULL, 0);
}

void rh_comm_client_pace(struct rh_comm_client *client, const struct rh_comm_pace_mark *marks, size_t count)
{
	if (count > 0)
		(void)client_queue(client, RH_COMM_FRAME_PACE, marks, count * sizeof(*marks), NULL, 0);
}

int32_t rh_comm_client_unanswered(struct rh_comm_client *client)
{
	int32_t count;

	(void)pthread_mutex_lock(&client->lock);
	count = client->unanswered;
	(void)pthread_mutex_unlock(&client->lock);
	return count;
}

void rh_comm_client_answer(struct rh_comm_client *client, const struct rh_comm_answer *answer)
{
	(void)client_queue(client, RH_COMM_FRAME_ANSWER, answer, sizeof(*answer), NULL, 0);
}

void rh_comm_client_gone(struct rh_comm_client *client, const struct rh_comm_gone *gone)
{
	(void)client_queue(client, RH_COMM_FRAME_GONE, gone, sizeof(*gone), NULL, 0);
}

static void client_queue_end(struct rh_comm_client *client, uint32_t kind, const struct rh_comm_error *reason,
                             const struct rh_comm_case *about)
{
	struct rh_comm_end end = {.code = reason->code, .rank = reason->rank};
	size_t count = about && about->ranks ? (size_t)about->count : 0;

	if (about)
		end.query = about->query;
	memcpy(end.text, reason->text, strnlen(reason->text, sizeof(end.text) - 1));
	(void)client_queue(client, kind, &end, sizeof(end), count > 0 ? about->ranks : NULL, count * sizeof(int32_t));
}

void rh_comm_client_end(struct rh_comm_client *client, const struct rh_comm_error *reason,
                        const struct rh_comm_case *about)
{
	client_queue_end(client, RH_COMM_FRAME_END, reason, about);
}

void rh_comm_client_report_stall(struct rh_comm_client *client, const char *text, const struct rh_comm_case *about)
{
	struct rh_comm_error reason;

	(void)rh_comm_fail(&reason, 0, RH_COMM_NO_RANK, "%s", text);
	client_queue_end(client, RH_COMM_FRAME_STALLED, &reason, about);
}

/* With the lock held. A server from which something came lately may only lack a processor. @return until when to wait
 * for it */
static int64_t client_patience(const struct rh_comm_client *client, int64_t since, int64_t silent, int64_t deadline)
{
	int64_t until = client->last_received + RH_COMM_SILENT;

	if (client->last_received >= since)
		return deadline;
	until = until > silent ? until : silent;
	return until < deadline ? until : deadline;
}

bool rh_comm_client_await_verdict(struct rh_comm_client *client, int64_t since, int64_t silence, int64_t deadline)
{
	int64_t now = since;

	(void)pthread_mutex_lock(&client->lock);
	while (rh_comm_client_check(client, NULL) == 0) {
		int64_t until = client_patience(client, since, since + silence, deadline);
		struct timespec time = client_time(until);

		if (now >= until)
			break;
		(void)pthread_cond_timedwait(&client->changed, &client->lock, &time);
		now = rh_comm_now();
	}
	(void)pthread_mutex_unlock(&client->lock);
	return rh_comm_client_check(client, NULL) != 0;
}

void rh_comm_client_close(struct rh_comm_client *client, const struct rh_comm_error *reason)
{
	(void)pthread_mutex_lock(&client->lock);
	client_set_end(client, reason->code, reason->rank, reason->text);
	(void)pthread_mutex_unlock(&client->lock);
}

/* No verdict came: rank 0 is to blame where it was silent since @p since, else whom the caller names. Called locked.
 */
static void client_give_up(struct rh_comm_client *client, int64_t since, const struct rh_comm_error *reason)
{
	struct rh_comm_error silent;

	if (reason->code == RH_COMM_EPEER && client->last_received < since) {
		(void)rh_comm_fail(&silent, RH_COMM_EPEER, 0, "rank 0 does not answer; %.400s", reason->text);
		reason = &silent;
	}
	client_set_end(client, reason->code, reason->rank, reason->text);
}

void rh_comm_client_await_end(struct rh_comm_client *client, int64_t deadline, const struct rh_comm_error *reason)
{
	struct timespec until = client_time(deadline);
	int64_t since = rh_comm_now();
	int r = 0;

	(void)pthread_mutex_lock(&client->lock);
	while (rh_comm_client_check(client, NULL) == 0 && r == 0)
		r = pthread_cond_timedwait(&client->changed, &client->lock, &until);
	client_give_up(client, since, reason);
	(void)pthread_mutex_unlock(&client->lock);
}

bool rh_comm_client_has_query(struct rh_comm_client *client, struct rh_comm_query *ret_query)
{
	if (!atomic_load_explicit(&client->asked, memory_order_relaxed))
		return false;
	(void)pthread_mutex_lock(&client->lock);
	*ret_query = client->query;
	atomic_store(&client->asked, false);
	(void)pthread_mutex_unlock(&client->lock);
	return true;
}

void rh_comm_client_leave(struct rh_comm_client *client, const struct rh_comm_beat *last, int64_t deadline)
{
	struct timespec until = client_time(deadline);
	int r = 0;

	(void)client_queue(client, RH_COMM_FRAME_LEAVE, last, sizeof(*last), NULL, 0);
	(void)pthread_mutex_lock(&client->lock);
	while (!client->all_left && atomic_load(&client->over) == 0 && r == 0)
		r = pthread_cond_timedwait(&client->changed, &client->lock, &until);
	(void)pthread_mutex_unlock(&client->lock);
}

static void client_on_value(struct rh_comm_client *client, const uint8_t *payload, size_t length)
{
	uint64_t number;

	if (length < sizeof(number))
		return;
	memcpy(&number, payload, sizeof(number));
	for (struct client_wish *wish = client->gets; wish; wish = wish->next) {
		if (wish->number != number)
			continue;
		wish->length = (int64_t)(length - sizeof(number));
		if (length - sizeof(number) <= wish->room)
			memcpy(wish->value, payload + sizeof(number), length - sizeof(number));
		(void)pthread_cond_broadcast(&client->changed);
	}
}

static void client_on_end(struct rh_comm_client *client, const uint8_t *payload, size_t length)
{
	struct rh_comm_end end;

	if (length != sizeof(end))
		return;
	memcpy(&end, payload, sizeof(end));
	end.text[sizeof(end.text) - 1] = '\0';
	client_set_end(client, end.code < 0 ? end.code : RH_COMM_EPEER, end.rank, end.text);
}

static void client_on_frame(struct rh_comm_client *client, uint32_t kind, const uint8_t *payload, size_t length)
{
	if (kind == RH_COMM_FRAME_VALUE) {
		client_on_value(client, payload, length);
	} else if (kind == RH_COMM_FRAME_END) {
		client_on_end(client, payload, length);
	} else if (kind == RH_COMM_FRAME_ALL_LEFT) {
		client->all_left = true;
		(void)pthread_cond_broadcast(&client->changed);
	} else if (kind == RH_COMM_FRAME_QUERY && length == sizeof(client->query)) {
		memcpy(&client->query, payload, sizeof(client->query));
		atomic_store(&client->asked, true);
	}
}

static void client_lose(struct rh_comm_client *client, int number)
{
	char words[100];
	char text[200];
	struct rh_comm_error reason;

	if (number == 0 || number == ECONNRESET)
		(void)rh_comm_fail(&reason, RH_COMM_EPEER, 0, "rank 0 died: its connection closed");
	else
		(void)rh_comm_fail(&reason, RH_COMM_EPEER, 0, "rank 0 is cut off: %s",
		                   strerror_r(number, words, sizeof(words)));
	memcpy(text, reason.text, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	client_set_end(client, RH_COMM_EPEER, 0, text);
	(void)close(client->fd);
	client->fd = -1;
}

/* With the lock held. */
static void client_deliver(struct rh_comm_client *client)
{
	const uint8_t *payload;
	uint32_t kind;
	size_t length;
	int32_t r;
	int64_t n = rh_comm_buffer_read(&client->in, client->fd);
	int number = errno;

	if (n > 0) {
		client->last_received = rh_comm_now();
		client->unanswered = 0;
		(void)pthread_cond_broadcast(&client->changed);
	}
	while ((r = rh_comm_frame_look(&client->in, &kind, &payload, &length)) > 0) {
		client_on_frame(client, kind, payload, length);
		rh_comm_frame_drop(&client->in);
	}
	if (n < 0 || r < 0)
		client_lose(client, n < 0 ? number : 0);
}

bool rh_comm_client_serve(struct rh_comm_client *client, int64_t timeout)
{
	struct pollfd set[2] = {{.fd = client->wake, .events = POLLIN}, {.fd = client->fd, .events = POLLIN}};
	uint64_t count;

	(void)pthread_mutex_lock(&client->lock);
	if (client->fd >= 0 && client->out.length > 0 && rh_comm_buffer_write(&client->out, client->fd) < 0)
		client_lose(client, errno);
	if (client->out.length > 0)
		set[1].events |= POLLOUT;
	set[1].fd = client->fd;
	(void)pthread_mutex_unlock(&client->lock);
	if (poll(set, 2, timeout > 0 ? (int)((timeout + 999) / 1000) : 0) <= 0)
		return set[1].fd >= 0;
	if (set[0].revents)
		(void)!read(client->wake, &count, sizeof(count));
	(void)pthread_mutex_lock(&client->lock);
	if (set[1].revents && client->fd >= 0)
		client_deliver(client);
	if (client->fd >= 0 && client->out.length > 0 && rh_comm_buffer_write(&client->out, client->fd) < 0)
		client_lose(client, errno);
	(void)pthread_mutex_unlock(&client->lock);
	return client->fd >= 0;
}
