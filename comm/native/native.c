/* SPDX-License-Identifier: Apache-2.0 */
/* The backend that is always available: shared memory between ranks of one host, TCP between hosts. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "comm/native/channel.h"
#include "comm/native/shm.h"
#include "roundhouse/comm_backend.h"

/* The ticket of a sleep: the wakeup's ticket, and whether sockets are waited for. */
#define TICKET_FAR (UINT64_C(1) << 32)
/* Microseconds; a wait for sockets does not see the wakeup of this host. */
#define NEAR_PAUSE 200

/* A context of the backend. */
struct native {
	const struct rh_comm_team *team;
	struct native_segment segment;
	struct native_shm_queue queue;
	struct native_channel *channels; /* by rank */
	int epoll;                       /* over the sockets of all of them; -1: there are none */
	bool listens;                    /* somebody has looked for a message from any rank since the latest arm() */
	_Atomic bool aborted;
};

static int32_t native_probe(int32_t rank, int32_t world, char *why, size_t room)
{
	(void)rank;
	(void)world;
	(void)why;
	(void)room;
	return 0;
}

static void native_close(void *self)
{
	struct native *native = self;

	for (int32_t rank = 0; native->channels && rank < native->team->world; rank++) {
		if (native->channels[rank].stream.fd >= 0)
			(void)close(native->channels[rank].stream.fd);
		native_channel_deinit(&native->channels[rank]);
	}
	if (native->epoll >= 0)
		(void)close(native->epoll);
	native_shm_queue_deinit(&native->queue);
	native_segment_close(&native->segment);
	free(native->channels);
	free(native);
}

/* The ranks of this host, over rings. */
static int32_t native_open_near(struct native *native)
{
	const struct rh_comm_team *team = native->team;
	int32_t local = 0;
	int32_t r;

	if (team->local_world == 1)
		return 0;
	r = native_segment_open(team, true, &native->segment);
	for (int32_t rank = 0; rank < team->world && r == 0; rank++) {
		struct native_stream *stream = &native->channels[rank].stream;

		if (team->hosts[rank] != team->hosts[team->rank])
			continue;
		stream->out = native_segment_ring(&native->segment, team->local_rank, local);
		stream->in = native_segment_ring(&native->segment, local, team->local_rank);
		stream->wakeup = &native_segment_progress(&native->segment, local)->wakeup;
		stream->ring = native->segment.ring;
		local++;
	}
	return r;
}

/* Edge-triggered: bytes that no operation needs yet must not end a sleep. */
static int32_t native_watch(struct native *native)
{
	native->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int32_t rank = 0; rank < native->team->world; rank++) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
		int fd = native->channels[rank].stream.fd;

		if (fd >= 0 && epoll_ctl(native->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
			return native->team->fail(native->team->core, RH_COMM_EIO, RH_COMM_NO_RANK, "epoll does not work");
	}
	return 0;
}

static int32_t native_open_far(struct native *native)
{
	const struct rh_comm_team *team = native->team;
	struct native_stream *streams;
	int32_t r;

	if (team->local_world == team->world)
		return 0;
	streams = malloc((size_t)team->world * sizeof(*streams));
	if (!streams)
		return RH_COMM_ENOMEM;
	for (int32_t rank = 0; rank < team->world; rank++)
		streams[rank] = (struct native_stream){.fd = -1};
	r = native_tcp_open(team, streams);
	for (int32_t rank = 0; rank < team->world; rank++)
		native->channels[rank].stream.fd = streams[rank].fd;
	free(streams);
	return r == 0 ? native_watch(native) : r;
}

static int32_t native_open(const struct rh_comm_team *team, void **ret_self)
{
	struct native *native = calloc(1, sizeof(*native));
	int32_t r;

	if (!native)
		return RH_COMM_ENOMEM;
	native->team = team;
	native->epoll = -1;
	native_shm_queue_init(&native->queue, team, &native->segment);
	native->channels = calloc((size_t)team->world, sizeof(*native->channels));
	for (int32_t rank = 0; native->channels && rank < team->world; rank++)
		native_channel_init(&native->channels[rank], rank);
	r = native->channels ? native_open_near(native) : RH_COMM_ENOMEM;
	if (r == 0)
		r = native_open_far(native);
	if (r < 0) {
		native_close(native);
		return r;
	}
	*ret_self = native;
	return 0;
}

static int32_t native_send(void *self, int32_t peer, uint64_t tag, const void *data, size_t length, void **ret_work)
{
	struct native *native = self;
	struct native_message *message = NULL;
	int32_t r = native_channel_send(&native->channels[peer], tag, data, length, &message);

	*ret_work = message;
	return r;
}

static int32_t native_recv(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work)
{
	struct native *native = self;
	struct native_message *message = NULL;
	int32_t r = native_channel_recv(&native->channels[peer], tag, data, length, &message);

	*ret_work = message;
	return r;
}

static int32_t native_collective(void *self, const struct rh_comm_op *op, uint64_t id, void **ret_work)
{
	struct native *native = self;
	struct native_shm_task *work = NULL;
	int32_t r;

	if (!native_shm_queue_supports(&native->queue, op))
		return RH_COMM_ENOTSUP;
	r = native_shm_queue_post(&native->queue, op, id, &work);
	*ret_work = work;
	return r;
}

static int32_t native_explain(const struct native *native, const struct native_message *message)
{
	const struct native_channel *channel = message->channel;
	const struct rh_comm_team *team = native->team;
	char words[100];
	char text[160];

	if (message->status == RH_COMM_EINVAL)
		return team->fail(team->core, RH_COMM_EINVAL, channel->peer,
		                  "a message has another length than the receiver expects");
	if (message->status != RH_COMM_EPEER)
		return team->fail(team->core, message->status, RH_COMM_NO_RANK, "out of memory");
	(void)snprintf(text, sizeof(text), "the connection is lost: %s",
	               channel->number ? strerror_r(channel->number, words, sizeof(words)) : "closed");
	return team->fail(team->core, RH_COMM_EPEER, channel->peer, text);
}

static int32_t native_test_message(struct native *native, struct native_message *message)
{
	int32_t status;

	if (!message->done)
		native_channel_progress(message->channel);
	if (!message->done)
		native_channel_check_peer(message->channel, native->team->death_timeout);
	if (!message->done)
		return RH_COMM_BUSY;
	status = message->status == 0 ? 0 : native_explain(native, message);
	native_message_free(message);
	return status;
}

static int32_t native_test(void *self, void *work)
{
	struct native *native = self;
	enum native_kind kind = *(enum native_kind *)work;

	if (!atomic_load_explicit(&native->aborted, memory_order_relaxed)) {
		if (kind == NATIVE_MESSAGE)
			return native_test_message(native, work);
		return native_shm_queue_test(&native->queue, work);
	}
	/* bytes move only in here, so nothing touches the buffers any more; a shared collective is freed with the context
	 */
	if (kind == NATIVE_MESSAGE)
		native_message_free(work);
	return RH_COMM_EABORTED;
}

static void native_abort(void *self)
{
	struct native *native = self;

	atomic_store(&native->aborted, true);
}

/* Once all have closed their connection, nothing will come. */
static int32_t native_find_none(struct native *native, int32_t closed)
{
	const struct rh_comm_team *team = native->team;

	for (int32_t rank = 0; rank < team->world; rank++) {
		int32_t broken = native->channels[rank].broken;

		if (broken && broken != RH_COMM_EPEER)
			return broken;
		if (broken && closed == team->world - 1)
			return team->fail(team->core, RH_COMM_EPEER, rank, "its connection is closed, and so are all others");
	}
	native->listens = true;
	return RH_COMM_BUSY;
}

static int32_t native_find(void *self, int32_t first, uint64_t tag, int32_t *ret_peer)
{
	struct native *native = self;
	int32_t world = native->team->world;
	int32_t closed = 0;

	if (atomic_load_explicit(&native->aborted, memory_order_relaxed))
		return RH_COMM_EABORTED;
	for (int32_t i = 0; i < world; i++) {
		int32_t rank = (first + i) % world;

		if (rank == native->team->rank)
			continue;
		if (native_channel_finds(&native->channels[rank], tag)) {
			*ret_peer = rank;
			return 0;
		}
		closed += native->channels[rank].broken != 0;
	}
	return native_find_none(native, closed);
}

static struct native_wakeup *native_own_wakeup(const struct native *native)
{
	return &native_segment_progress(&native->segment, native->team->local_rank)->wakeup;
}

static int32_t native_arm(void *self, uint64_t *ret_ticket)
{
	struct native *native = self;
	uint64_t ticket = 0;

	if (native->segment.base)
		ticket = native_wakeup_arm(native_own_wakeup(native));
	for (int32_t rank = 0; rank < native->team->world; rank++) {
		if (native->channels[rank].stream.fd >= 0 &&
		    (native->listens || native_channel_is_busy(&native->channels[rank])))
			ticket |= TICKET_FAR;
	}
	native->listens = false;
	*ret_ticket = ticket;
	return 0;
}

/* Readable sockets wake a rank, and writable ones while an operation needs to write. */
static void native_pause(void *self, uint64_t ticket, int64_t time)
{
	const struct native *native = self;
	struct pollfd set = {.fd = native->epoll, .events = POLLIN};
	struct epoll_event event;
	struct timespec limit;

	if ((ticket & TICKET_FAR) == 0 && native->segment.base) {
		native_wakeup_wait(native_own_wakeup(native), (uint32_t)ticket, time);
		return;
	}
	/* progress of ranks of this host does not end a wait for sockets */
	if (native->segment.base && time > NEAR_PAUSE)
		time = NEAR_PAUSE;
	limit = (struct timespec){time / 1000000, time % 1000000 * 1000};
	if (ppoll(&set, 1, &limit, NULL) > 0)
		(void)epoll_wait(native->epoll, &event, 1, 0);
}

const struct rh_comm_backend rh_comm_native = {
	.head = RH_COMM_HEAD(struct rh_comm_backend),
	.name = "native",
	.release = "0.1",
	.memories = RH_COMM_MEMORY_HOST,
	.score = 50,
	.probe = native_probe,
	.open = native_open,
	.close = native_close,
	.send = native_send,
	.recv = native_recv,
	.collective = native_collective,
	.test = native_test,
	.abort = native_abort,
	.arm = native_arm,
	.pause = native_pause,
	.find = native_find,
};
