/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/client/client.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/core/error.h"
#include "comm/ps/client/rows.h"
#include "comm/ps/server/store.h"

/* The servers report when a limit is over; this is for those that send nothing at all. */
#define LATE (5 * RH_COMM_SECOND)
#define LEAVE_TIMEOUT (10 * RH_COMM_SECOND)
#define SLEEP_MAX 1000
/* So often what moves over a backend is looked at in a row without a pause. */
#define TURNS 1000

int32_t rh_ps_worker(const struct rh_ps *ps)
{
	return ps->settings.worker;
}

int32_t rh_ps_workers(const struct rh_ps *ps)
{
	return ps->settings.workers;
}

int32_t rh_ps_shared(const struct rh_ps *ps)
{
	int32_t count = 0;

	for (int32_t i = 0; i < ps->link_count; i++)
		count += ps->links[i].wire && rh_ps_wire_is_shared(ps->links[i].wire);
	return count;
}

/* Nothing works any more: what is in flight is forgotten, since its owners will free it. With the lock held. */
static void client_break(struct rh_ps *ps, const struct rh_comm_error *reason)
{
	if (ps->fatal.code < 0)
		return;
	ps->fatal = *reason;
	for (int32_t i = 0; i < ps->link_count; i++)
		rh_ps_link_close(&ps->links[i]);
}

/* Move on, or let the thread do it that sleeps: what we read it would wait for. With the lock held. */
static void client_progress(struct rh_ps *ps, bool look)
{
	static const uint64_t one = 1;
	struct rh_comm_error err = {0};

	if (ps->driven) {
		(void)!write(ps->wake, &one, sizeof(one));
		return;
	}
	for (int32_t i = 0; i < ps->link_count && ps->fatal.code == 0; i++)
		if (rh_ps_link_progress(&ps->links[i], look, &err) < 0)
			client_break(ps, &err);
}

static size_t client_bytes(const struct rh_ps_op *op)
{
	return op->what == RH_PS_BARRIER ? 0 : op->count * rh_comm_type_size(op->type);
}

static bool client_pushes(const struct rh_ps_op *op)
{
	return op->what == RH_PS_PUSH || op->what == RH_PS_PUSH_PULL || op->what == RH_PS_PUSH_ROWS ||
	       op->what == RH_PS_PUSH_PULL_ROWS;
}

static bool client_pulls(const struct rh_ps_op *op)
{
	return op->what == RH_PS_PULL || op->what == RH_PS_PUSH_PULL || op->what == RH_PS_PULL_ROWS ||
	       op->what == RH_PS_PUSH_PULL_ROWS;
}

static int32_t client_check_op(const struct rh_ps *ps, const struct rh_ps_op *op, struct rh_comm_error *err)
{
	size_t size = rh_comm_type_size(op->type);
	bool some = !rh_ps_op_has_rows(op) || op->row_count > 0;
	bool lacks_out = client_pulls(op) && !op->out;

	if (op->what == RH_PS_BARRIER)
		return 0;
	if (op->what < RH_PS_INIT || op->what > RH_PS_PUSH_PULL_ROWS)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "op.what: %d is not a valid operation",
		                    (int)op->what);
	if (op->key == RH_PS_BARRIER_KEY)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "op.key: UINT64_MAX is not a valid key");
	if (size == 0 || op->count == 0 || op->count > (size_t)ps->settings.part / size * INT32_MAX)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "key %llu: %zu elements of type %d cannot be kept",
		                    (unsigned long long)op->key, op->count, (int)op->type);
	if (some && (lacks_out || (client_pushes(op) && !op->in)))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "key %llu: op.%s is NULL",
		                    (unsigned long long)op->key, lacks_out ? "out" : "in");
	return rh_ps_op_check_rows(ps, op, err);
}

/* The fields that all parts of an operation share. */
static struct rh_ps_part client_pattern(const struct rh_ps *ps, const struct rh_ps_op *op)
{
	static const uint32_t kinds[] = {
		[RH_PS_INIT] = RH_PS_REC_INIT,           [RH_PS_PUSH] = RH_PS_REC_PUSH,
		[RH_PS_PULL] = RH_PS_REC_PULL,           [RH_PS_PUSH_PULL] = RH_PS_REC_PUSH_PULL,
		[RH_PS_BARRIER] = RH_PS_REC_PUSH_PULL,   [RH_PS_PUSH_ROWS] = RH_PS_REC_PUSH_ROWS,
		[RH_PS_PULL_ROWS] = RH_PS_REC_PULL_ROWS, [RH_PS_PUSH_PULL_ROWS] = RH_PS_REC_PUSH_PULL_ROWS};
	struct rh_ps_part part = {.kind = kinds[op->what],
	                          .key = op->key,
	                          .type = op->type,
	                          .width = (uint32_t)op->width,
	                          .timeout = op->timeout};

	if (op->timeout == 0)
		part.timeout = ps->settings.op_timeout == RH_COMM_NEVER ? -1 : ps->settings.op_timeout;
	if (op->what == RH_PS_BARRIER) {
		part.key = RH_PS_BARRIER_KEY;
		part.type = RH_COMM_U8;
		part.width = 0;
		return part;
	}
	part.in = op->what == RH_PS_PULL || op->what == RH_PS_PULL_ROWS ? NULL : op->in;
	part.out = op->what == RH_PS_PUSH || op->what == RH_PS_PUSH_ROWS ? NULL : op->out;
	if (op->what == RH_PS_INIT && ps->settings.worker != 0)
		part.in = NULL;
	if (op->what == RH_PS_INIT && ps->settings.worker == 0 && !op->in)
		part.flags |= RH_PS_ZEROS;
	if (part.out)
		part.flags |= RH_PS_WANT_VALUE;
	return part;
}

static struct rh_ps_request *client_request(struct rh_ps *ps, size_t count)
{
	struct rh_ps_request *request = calloc(1, sizeof(*request) + count * sizeof(request->parts[0]));

	if (!request)
		return NULL;
	request->ps = ps;
	request->left = count;
	return request;
}

/* Cut an operation. @param parts NULL: they are only counted. @return how many there are */
static size_t client_cut(struct rh_ps *ps, const struct rh_ps_op *op, struct rh_ps_request *request,
                         struct rh_ps_part *parts)
{
	struct rh_ps_part part = client_pattern(ps, op);
	size_t bytes = client_bytes(op);
	size_t step = bytes > 0 ? rh_ps_op_step(ps, op) : 1;
	size_t count = bytes > 0 ? (bytes + step - 1) / step : 1;

	part.request = request;
	if (rh_ps_op_has_rows(op))
		return rh_ps_op_cut_rows(ps, op, &part, parts);
	for (size_t i = 0; parts && i < count; i++) {
		part.number = (uint32_t)i;
		part.bytes = (uint32_t)(bytes - i * step < step ? bytes - i * step : step);
		parts[i] = part;
		if (part.in)
			part.in += step;
		if (part.out)
			part.out += step;
	}
	return count;
}

/* Copy an operation: its size is that of the caller's header, which may end before the members of rows. */
static int32_t client_take_op(const struct rh_ps_op *ops, size_t at, struct rh_ps_op *ret_op, struct rh_comm_error *err)
{
	size_t size = ops[0].size;
	uint32_t own;

	memset(ret_op, 0, sizeof(*ret_op));
	if (size == sizeof(*ops) || size == offsetof(struct rh_ps_op, rows)) {
		const uint8_t *from = (const uint8_t *)ops + at * size;

		memcpy(&own, from, sizeof(own));
		if (own == size) {
			memcpy(ret_op, from, size);
			return 0;
		}
		size = own;
	}
	return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
	                    "op.size is %zu and must be sizeof(struct rh_ps_op), the same in all operations", size);
}

/* The time after which a missing answer is an error. */
static int64_t client_deadline(const struct rh_ps_request *request, size_t count)
{
	int64_t longest = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t timeout = request->parts[i].timeout;

		if (timeout < 0 || timeout > RH_COMM_NEVER / 2)
			return RH_COMM_NEVER;
		longest = timeout > longest ? timeout : longest;
	}
	return rh_comm_now() + longest + LATE;
}

/* Put the parts on their ways and set out. @param link NULL: each on its own */
static int32_t client_launch(struct rh_ps *ps, struct rh_ps_request *request, size_t count, bool everywhere,
                             struct rh_comm_error *err)
{
	int32_t r = 0;

	request->deadline = client_deadline(request, count);
	(void)pthread_mutex_lock(&ps->lock);
	if (ps->fatal.code < 0) {
		r = ps->fatal.code;
		if (err)
			*err = ps->fatal;
	}
	for (int32_t i = 0; i < ps->link_count && r == 0; i++)
		if (rh_ps_link_reserve(&ps->links[i], count) < 0)
			r = rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	for (size_t i = 0; i < count && r == 0; i++) {
		struct rh_ps_part *part = &request->parts[i];

		rh_ps_link_post(everywhere ? &ps->links[i] : rh_ps_part_link(ps, part->key, part->number), part);
	}
	if (r == 0)
		client_progress(ps, false);
	(void)pthread_mutex_unlock(&ps->lock);
	return r;
}

int32_t rh_ps_post(struct rh_ps *ps, const struct rh_ps_op *ops, size_t count, struct rh_ps_request **ret_request,
                   struct rh_comm_error *err)
{
	struct rh_ps_request *request;
	struct rh_ps_op op;
	size_t parts = 0;
	size_t at = 0;
	int32_t r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		r = client_take_op(ops, i, &op, err);
		if (r == 0)
			r = client_check_op(ps, &op, err);
		parts += r == 0 ? client_cut(ps, &op, NULL, NULL) : 0;
	}
	if (r < 0)
		return r;
	request = client_request(ps, parts);
	if (!request)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	for (size_t i = 0; i < count && client_take_op(ops, i, &op, err) == 0; i++)
		at += client_cut(ps, &op, request, &request->parts[at]);
	r = client_launch(ps, request, parts, false, err);
	if (r < 0) {
		free(request);
		return r;
	}
	*ret_request = request;
	return 0;
}

/* With the lock held. @return whether it is over, one way or another */
static bool client_is_over(struct rh_ps_request *request)
{
	return request->left == 0 || request->ps->fatal.code < 0;
}

/* No server answers: name them. With the lock held. */
static void client_check_late(struct rh_ps_request *request, int64_t now)
{
	struct rh_ps *ps = request->ps;
	struct rh_comm_error err = {0};

	if (client_is_over(request) || now < request->deadline)
		return;
	for (int32_t i = 0; i < ps->link_count && err.code == 0; i++) {
		const struct rh_ps_link *link = &ps->links[i];

		if (link->first < link->next)
			(void)rh_comm_fail(&err, RH_COMM_ETIME, i,
			                   "server %d at %s port %d %s, and the time limit of an operation is over", (int)i,
			                   link->place.host, (int)link->place.port, link->wire ? "does not answer" : "is away");
	}
	client_break(ps, &err);
}

static int32_t client_end(struct rh_ps_request *request, struct rh_comm_error *err)
{
	const struct rh_comm_error *reason = request->left == 0 ? &request->err : &request->ps->fatal;
	int32_t code = reason->code;

	if (code < 0 && err)
		*err = *reason;
	free(request);
	return code;
}

int32_t rh_ps_test(struct rh_ps_request *request, struct rh_comm_error *err)
{
	struct rh_ps *ps = request->ps;
	int32_t r = RH_COMM_BUSY;

	(void)pthread_mutex_lock(&ps->lock);
	if (!client_is_over(request))
		client_progress(ps, true);
	client_check_late(request, rh_comm_now());
	if (client_is_over(request))
		r = client_end(request, err);
	(void)pthread_mutex_unlock(&ps->lock);
	return r;
}

/* What to wait for. @return how long at most, in milliseconds; -1: something has come already */
static int client_prepare_sleep(struct rh_ps *ps, struct pollfd *sets, int64_t deadline)
{
	int64_t now = rh_comm_now();
	int64_t until = deadline;
	bool may = true;
	bool moving = false;

	for (int32_t i = 0; i < ps->link_count; i++) {
		struct rh_ps_link *link = &ps->links[i];
		struct pollfd *watched = &sets[ps->link_count + i];

		sets[i] = (struct pollfd){.fd = link->wire ? rh_ps_wire_fd(link->wire) : -1, .events = POLLIN};
		*watched = (struct pollfd){.fd = link->wire ? rh_ps_wire_watched(link->wire) : -1, .events = POLLIN};
		if (!link->wire) {
			until = link->call < until ? link->call : until;
			continue;
		}
		if (rh_ps_wire_unsent(link->wire))
			sets[i].events |= POLLOUT;
		may &= rh_ps_wire_sleep(link->wire);
		moving |= rh_ps_wire_moving(link->wire);
	}
	if (!may)
		return -1;
	if (moving)
		return ++ps->turns < TURNS ? 0 : 1;
	ps->turns = 0;
	if (until - now >= SLEEP_MAX * 1000)
		return SLEEP_MAX;
	return until > now ? (int)((until - now + 999) / 1000) : 0;
}

/* Sleep for all threads that wait. With the lock held, but not while it sleeps. */
static void client_sleep(struct rh_ps *ps, int64_t deadline)
{
	struct pollfd sets[2 * RH_PS_MAX + 1];
	struct pollfd *bell = &sets[2 * ps->link_count];
	uint64_t count;
	int timeout = client_prepare_sleep(ps, sets, deadline);

	if (timeout < 0)
		return;
	*bell = (struct pollfd){.fd = ps->wake, .events = POLLIN};
	ps->driven = true;
	(void)pthread_mutex_unlock(&ps->lock);
	if (poll(sets, 2 * (nfds_t)ps->link_count + 1, timeout) > 0)
		ps->turns = 0;
	(void)pthread_mutex_lock(&ps->lock);
	ps->driven = false;
	if (bell->revents)
		(void)!read(ps->wake, &count, sizeof(count));
	for (int32_t i = 0; i < ps->link_count; i++)
		ps->links[i].readable |= sets[i].revents != 0;
}

/* With the lock held. */
static void client_wait(struct rh_ps_request *request)
{
	struct rh_ps *ps = request->ps;
	int64_t spun = rh_comm_now();

	while (!client_is_over(request)) {
		if (ps->driven) {
			(void)pthread_cond_wait(&ps->changed, &ps->lock);
			continue;
		}
		client_progress(ps, false);
		if (client_is_over(request))
			break;
		if (rh_comm_now() - spun < ps->spin)
			continue;
		client_sleep(ps, request->deadline);
		client_progress(ps, false);
		client_check_late(request, rh_comm_now());
		spun = rh_comm_now();
		(void)pthread_cond_broadcast(&ps->changed);
	}
	/* another thread has to drive now */
	(void)pthread_cond_broadcast(&ps->changed);
}

int32_t rh_ps_wait(struct rh_ps_request *request, struct rh_comm_error *err)
{
	struct rh_ps *ps = request->ps;
	int32_t r;

	(void)pthread_mutex_lock(&ps->lock);
	client_wait(request);
	r = client_end(request, err);
	(void)pthread_mutex_unlock(&ps->lock);
	return r;
}

int32_t rh_ps_run(struct rh_ps *ps, const struct rh_ps_op *ops, size_t count, struct rh_comm_error *err)
{
	struct rh_ps_request *request = NULL;
	int32_t r = rh_ps_post(ps, ops, count, &request, err);

	return r < 0 ? r : rh_ps_wait(request, err);
}

/* Ask all servers for the same. */
static int32_t client_notify_all(struct rh_ps *ps, uint32_t kind, double rate, int64_t timeout,
                                 struct rh_comm_error *err)
{
	size_t count = (size_t)ps->link_count;
	struct rh_ps_request *request = client_request(ps, count);
	int32_t r;

	if (!request)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	request->rate = rate;
	for (size_t i = 0; i < count; i++) {
		request->parts[i] = (struct rh_ps_part){.request = request, .kind = kind, .timeout = timeout};
		if (kind == RH_PS_REC_RATE)
			request->parts[i].in = (const uint8_t *)&request->rate;
	}
	r = client_launch(ps, request, count, true, err);
	if (r < 0) {
		free(request);
		return r;
	}
	if (timeout > 0)
		request->deadline = rh_comm_now() + timeout;
	return rh_ps_wait(request, err);
}

int32_t rh_ps_set_rate(struct rh_ps *ps, double rate, struct rh_comm_error *err)
{
	/* also refuses NaN */
	if (!(rate >= 0))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the learning rate %g must not be negative", rate);
	return client_notify_all(ps, RH_PS_REC_RATE, rate,
	                         ps->settings.op_timeout == RH_COMM_NEVER ? -1 : ps->settings.op_timeout, err);
}

void rh_ps_free(struct rh_ps *ps)
{
	/* in a child of fork() all of it is the parent's */
	if (!ps || ps->forked)
		return;
	/* a server that is gone needs no farewell */
	(void)client_notify_all(ps, RH_PS_REC_LEAVE, 0, LEAVE_TIMEOUT, NULL);
	rh_ps_join_leave(ps->join);
	ps->join = NULL;
	rh_ps_client_destroy(ps);
}
