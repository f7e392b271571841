/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/scheduler/join.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"
#include "comm/ps/protocol/call.h"

#define PAUSE_FIRST 10000
#define PAUSE_MAX 250000
/* How long the scheduler may take to answer a greeting. */
#define CALL_TIMEOUT (10 * RH_COMM_SECOND)
#define LEAVE_MS 1000

struct rh_ps_join {
	struct rh_ps_wire *wire;
	uint64_t session;
	int64_t deadline; /* of coming */
	char whom[RH_PS_WHOM];
	struct rh_ps_cluster cluster;
	bool has_note; /* of a role, which was not taken yet */
	struct rh_ps_role_note note;
};

void rh_ps_join_free(struct rh_ps_join *join)
{
	if (!join)
		return;
	rh_ps_wire_free(join->wire);
	free(join->cluster.places);
	free(join);
}

static void join_take_assignment(struct rh_ps_join *join, const struct rh_ps_join_plan *plan,
                                 const struct rh_ps_assignment *assignment)
{
	join->cluster.server_count = assignment->servers;
	join->cluster.workers = assignment->workers;
	join->cluster.replicas = assignment->replicas;
	join->cluster.server = plan->server ? assignment->index : -1;
	join->cluster.worker = plan->server ? -1 : assignment->index;
}

static int32_t join_greet(struct rh_ps_join *join, const struct rh_ps_join_plan *plan, struct rh_comm_error *err)
{
	int64_t deadline = rh_comm_now() + CALL_TIMEOUT;
	struct rh_ps_call call = {.wire = join->wire, .whom = join->whom, .err = err};
	struct rh_ps_assignment assignment;
	struct rh_ps_hello hello;
	int32_t r;

	call.deadline = deadline < join->deadline ? deadline : join->deadline;
	memset(&hello, 0, sizeof(hello));
	hello.role = plan->server ? RH_PS_ROLE_SERVES : RH_PS_ROLE_JOINS;
	hello.worker = plan->server ? -1 : plan->index;
	hello.server = plan->server ? plan->index : -1;
	hello.workers = plan->workers;
	hello.servers = plan->servers;
	hello.session = join->session;
	rh_ps_job_digest(plan->job, hello.job);
	(void)snprintf(hello.backend, sizeof(hello.backend), "%s", plan->backend);
	r = rh_ps_call_greet(&call, &hello, plan->secret);
	if (r == 0)
		r = rh_ps_call_receive(&call, RH_PS_REC_ASSIGN, &assignment, sizeof(assignment));
	if (r == 0)
		join_take_assignment(join, plan, &assignment);
	return r;
}

static int32_t join_connect(struct rh_ps_join *join, const struct rh_ps_join_plan *plan, struct rh_comm_error *err)
{
	int fd = -1;
	int32_t r = rh_comm_socket_connect(plan->root.host, plan->root.port, join->deadline, &fd, err);

	if (r < 0)
		return r;
	rh_comm_socket_watch_peer(fd, plan->death_timeout);
	rh_ps_wire_free(join->wire);
	join->wire = rh_ps_wire_new(fd);
	if (join->wire)
		return join_greet(join, plan, err);
	(void)close(fd);
	return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
}

static int32_t join_malformed(const struct rh_ps_join *join, struct rh_comm_error *err)
{
	return rh_comm_fail(err, RH_COMM_EPEER, RH_COMM_NO_RANK, "%s sent a malformed record", join->whom);
}

static int32_t join_take_places(struct rh_ps_join *join, const struct rh_ps_head *head, const uint8_t *payload,
                                struct rh_comm_error *err)
{
	size_t count = (size_t)join->cluster.server_count;
	struct rh_ps_place *places;

	if (count == 0 || head->length != count * sizeof(*places))
		return join_malformed(join, err);
	places = calloc(count, sizeof(*places));
	if (!places)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	memcpy(places, payload, count * sizeof(*places));
	free(join->cluster.places);
	join->cluster.places = places;
	for (size_t i = 0; i < count; i++)
		if (!rh_ps_place_is_sane(&places[i]))
			return join_malformed(join, err);
	return 1;
}

static int32_t join_take_note(struct rh_ps_join *join, const uint8_t *payload)
{
	memcpy(&join->note, payload, sizeof(join->note));
	join->has_note = true;
	return 1;
}

/* @return 1: places, or a role; 0: nothing is there; RH_COMM_E*: the scheduler gives up; RH_COMM_EPEER: nonsense */
static int32_t join_take(struct rh_ps_join *join, struct rh_comm_error *err)
{
	const uint8_t *payload = NULL;
	struct rh_ps_head head;
	int32_t r = rh_ps_wire_next(join->wire, &head, &payload);
	bool text = r > 0 && head.length > 0 && payload[head.length - 1] == '\0';

	if (r == 0)
		return 0;
	if (text && head.kind == RH_PS_REC_REFUSED)
		r = rh_comm_fail(err, head.status < 0 ? head.status : RH_COMM_EINVAL, head.worker, "%s", payload);
	else if (head.kind == RH_PS_REC_PLACES)
		r = join_take_places(join, &head, payload, err);
	else if (head.kind == RH_PS_REC_ROLE && head.length == sizeof(join->note))
		r = join_take_note(join, payload);
	else
		r = join_malformed(join, err);
	rh_ps_wire_drop(join->wire);
	return r;
}

/* @return 0; RH_COMM_EIO: the scheduler is gone; what it refuses with */
static int32_t join_wait(struct rh_ps_join *join, int64_t deadline, struct rh_comm_error *err)
{
	struct pollfd set = {.fd = rh_ps_wire_fd(join->wire), .events = POLLIN};
	int32_t r;

	while ((r = join_take(join, err)) == 0) {
		int64_t left = deadline - rh_comm_now();

		if (left <= 0 || poll(&set, 1, left > 1000000000 ? 1000000 : (int)(left / 1000) + 1) == 0)
			return rh_comm_fail(err, RH_COMM_ETIME, RH_COMM_NO_RANK, "%s: not all servers have come in time",
			                    join->whom);
		if (rh_ps_wire_fill(join->wire) < 0) {
			r = join_take(join, err);
			return r == 0 ? rh_comm_fail(err, RH_COMM_EIO, RH_COMM_NO_RANK, "%s died before all servers had come",
			                             join->whom)
			              : r;
		}
	}
	return r < 0 ? r : 0;
}

static int32_t join_try(struct rh_ps_join *join, const struct rh_ps_join_plan *plan, struct rh_comm_error *err)
{
	int32_t r = join_connect(join, plan, err);

	return r < 0 || plan->server ? r : join_wait(join, join->deadline, err);
}

static void join_pause(int64_t time)
{
	struct timespec span = {time / RH_COMM_SECOND, time % RH_COMM_SECOND * 1000};

	(void)nanosleep(&span, NULL);
}

/* A scheduler starts when it starts, and may be started again. */
int32_t rh_ps_join_open(const struct rh_ps_join_plan *plan, struct rh_ps_join **ret_join, struct rh_comm_error *err)
{
	struct rh_ps_join *join = calloc(1, sizeof(*join));
	struct rh_comm_error last = {0};
	int64_t pause = PAUSE_FIRST;
	int32_t r;

	if (!join)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	join->session = rh_ps_random_number();
	join->deadline = plan->init_timeout == RH_COMM_NEVER ? RH_COMM_NEVER : rh_comm_now() + plan->init_timeout;
	(void)snprintf(join->whom, sizeof(join->whom), "the scheduler at %.255s port %d", plan->root.host,
	               (int)plan->root.port);
	while ((r = join_try(join, plan, &last)) == RH_COMM_EIO && rh_comm_now() + pause < join->deadline) {
		join_pause(pause);
		pause = pause * 2 < PAUSE_MAX ? pause * 2 : PAUSE_MAX;
	}
	if (r == 0) {
		*ret_join = join;
		return 0;
	}
	if (r == RH_COMM_EIO)
		r = rh_comm_fail(err, RH_COMM_ETIME, RH_COMM_NO_RANK, "%s was not reached in time: %.200s", join->whom,
		                 last.text);
	else if (err)
		*err = last;
	rh_ps_join_free(join);
	return r;
}

const struct rh_ps_cluster *rh_ps_join_cluster(const struct rh_ps_join *join)
{
	return &join->cluster;
}

int32_t rh_ps_join_place(struct rh_ps_join *join, const char *host, int32_t port, struct rh_comm_error *err)
{
	struct rh_ps_call call = {.wire = join->wire, .whom = join->whom, .err = err};
	struct rh_ps_place place;

	rh_ps_place_set(&place, host, port);
	return rh_ps_call_send(&call, RH_PS_REC_PLACE, 0, &place, sizeof(place));
}

bool rh_ps_join_take_role(struct rh_ps_join *join, struct rh_ps_role_note *ret_note)
{
	bool has = join->has_note;

	if (has)
		*ret_note = join->note;
	join->has_note = false;
	return has;
}

int32_t rh_ps_join_report(struct rh_ps_join *join, uint32_t kind, uint64_t term, struct rh_comm_error *err)
{
	struct rh_ps_call call = {.wire = join->wire, .whom = join->whom, .err = err};
	struct rh_ps_head head = {.kind = kind, .sequence = term};

	if (!rh_ps_wire_add(join->wire, &head))
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	return rh_ps_wire_flush(join->wire) < 0 ? rh_ps_call_fail(&call, "the connection closed") : 0;
}

int rh_ps_join_fd(const struct rh_ps_join *join)
{
	return rh_ps_wire_fd(join->wire);
}

int32_t rh_ps_join_receive(struct rh_ps_join *join, struct rh_comm_error *err)
{
	bool gone = rh_ps_wire_fill(join->wire) < 0;
	bool moved = false;
	int32_t r;

	while ((r = join_take(join, err)) > 0)
		moved = true;
	if (r < 0)
		return r;
	if (moved)
		return 1;
	return gone ? rh_comm_fail(err, RH_COMM_EIO, RH_COMM_NO_RANK, "%s is gone", join->whom) : 0;
}

/* What is still unread must not make the kernel drop the good-bye: the scheduler closes first. */
void rh_ps_join_leave(struct rh_ps_join *join)
{
	struct rh_ps_call call = {.wire = join ? join->wire : NULL, .whom = "the scheduler"};
	struct pollfd set = {.events = POLLIN};

	if (!join)
		return;
	set.fd = rh_ps_wire_fd(join->wire);
	if (rh_ps_call_send(&call, RH_PS_REC_LEAVE, 0, NULL, 0) == 0 && shutdown(set.fd, SHUT_WR) == 0)
		while (poll(&set, 1, LEAVE_MS) > 0 && rh_ps_join_receive(join, NULL) >= 0)
			;
	rh_ps_join_free(join);
}
