/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a parameter server gives: it is a thread of rank 0, its workers are all ranks, and all of them push and pull the
 * same keys. It adds up what it gets, at once, and keeps nothing on disk.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "comm/bench/collect.h"
#include "comm/bench/measure.h"
#include "comm/bench/options.h"
#include "comm/bench/result/numbers.h"
#include "comm/bench/result/result.h"
#include "roundhouse/ps.h"

#define BIG_COUNT ((size_t)1 << 20)
#define BIG_KEY UINT64_C(1)
#define SMALL_COUNT 16
#define SMALL_KEYS 1000
#define SMALL_FIRST UINT64_C(1000)
#define ROUNDS_LEAST 3
/* Part of the time of the run that each of both measurements may take. */
#define PUSH_PULL_PART 0.08
#define HOST_ROOM 300
#define SECOND 1e6

/* The address of the server, as rank 0 distributes it. */
struct place {
	int32_t port; /* negative: it could not start, and why */
	char host[HOST_ROOM];
};

struct push_pull {
	struct rh_comm *comm;
	struct rh_ps_server *server; /* in rank 0 */
	pthread_t thread;
	bool running;
	struct rh_ps *ps;
	double share; /* microseconds of one measurement */
	float *values;
	float *sums;
	struct rh_ps_op *ops;
	struct rh_comm_error *err;
};

static void *push_pull_serve(void *arg)
{
	struct rh_comm_error err;

	/* the workers report errors of this thread */
	(void)rh_ps_server_run(arg, &err);
	return NULL;
}

static int32_t push_pull_start(struct push_pull *run)
{
	const struct rh_ps_server_options options = {
		.size = sizeof(options),
		.has_index = 1,
		.servers = 1,
		.workers = rh_comm_world(run->comm),
		.mode = RH_PS_ASYNC,
		.rule = RH_PS_SUM,
	};
	int32_t r = rh_ps_server_new(&options, &run->server, run->err);

	if (r < 0)
		return r;
	run->running = pthread_create(&run->thread, NULL, push_pull_serve, run->server) == 0;
	return run->running ? rh_ps_server_port(run->server) : RH_COMM_EIO;
}

static const char *push_pull_host(void)
{
	static const char *const names[] = {"RH_COMM_HOST", "MASTER_ADDR"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *host = getenv(names[i]);

		if (host && host[0])
			return host;
	}
	return "127.0.0.1";
}

/* Start the server in rank 0, and distribute its address. */
static int32_t push_pull_find(struct push_pull *run, struct place *place)
{
	int32_t r;

	memset(place, 0, sizeof(*place));
	if (rh_comm_rank(run->comm) == 0) {
		place->port = push_pull_start(run);
		(void)snprintf(place->host, sizeof(place->host), "%s", push_pull_host());
	}
	r = rh_bench_share_out(run->comm, place, sizeof(*place), run->err);
	if (r < 0)
		return r;
	return place->port < 0 ? place->port : 0;
}

static int32_t push_pull_connect(struct push_pull *run, const struct place *place)
{
	char servers[HOST_ROOM + 16];
	const struct rh_ps_options options = {
		.size = sizeof(options),
		.has_worker = 1,
		.worker = rh_comm_rank(run->comm),
		.workers = rh_comm_world(run->comm),
		.servers = servers,
	};

	(void)snprintf(servers, sizeof(servers), strchr(place->host, ':') ? "[%s]:%d" : "%s:%d", place->host,
	               (int)place->port);
	return rh_ps_connect(&options, &run->ps, run->err);
}

/* The operations on the small keys, or that on the big one. @return how many */
static size_t push_pull_fill(struct push_pull *run, int32_t what, bool small)
{
	size_t keys = small ? SMALL_KEYS : 1;
	size_t count = small ? SMALL_COUNT : BIG_COUNT;

	for (size_t i = 0; i < keys; i++)
		run->ops[i] = (struct rh_ps_op){
			.size = sizeof(struct rh_ps_op),
			.what = what,
			.key = small ? SMALL_FIRST + i : BIG_KEY,
			.in = run->values + i * count,
			.out = run->sums + i * count,
			.count = count,
			.type = RH_COMM_F32,
		};
	return keys;
}

/* @param[out] ret_rate of all workers together: push-pulls of the whole set per second */
static int32_t push_pull_measure(struct push_pull *run, bool small, double *ret_rate)
{
	size_t keys = push_pull_fill(run, RH_PS_INIT, small);
	int32_t r = rh_ps_run(run->ps, run->ops, keys, run->err);
	double start;
	double rounds = 0;

	(void)push_pull_fill(run, RH_PS_PUSH_PULL, small);
	if (r == 0)
		r = rh_bench_barrier(run->comm, run->err);
	start = rh_bench_now();
	while (r == 0 && (rounds < ROUNDS_LEAST || rh_bench_now() - start < run->share)) {
		r = rh_ps_run(run->ps, run->ops, keys, run->err);
		rounds++;
	}
	*ret_rate = rounds / (rh_bench_now() - start) * SECOND;
	return r == 0 ? rh_bench_combine(run->comm, ret_rate, 1, RH_COMM_SUM, run->err) : r;
}

static int32_t push_pull_all(struct push_pull *run, struct rh_bench_push_pull *ret_reached)
{
	struct rh_bench_push_pull reached = {0};
	struct place place;
	int32_t r = push_pull_find(run, &place);

	if (r == 0)
		r = push_pull_connect(run, &place);
	if (r == 0)
		r = push_pull_measure(run, false, &reached.bandwidth);
	if (r == 0)
		r = push_pull_measure(run, true, &reached.keys);
	if (r < 0)
		return r;
	reached.bandwidth *= (double)(BIG_COUNT * sizeof(float)) / 1e9;
	reached.keys *= SMALL_KEYS;
	*ret_reached = reached;
	return 0;
}

/* The server ends by itself when all workers have left; after an error not all may do so. */
static void push_pull_end(struct push_pull *run, int32_t result)
{
	rh_ps_free(run->ps);
	if (run->running) {
		if (result < 0)
			rh_ps_server_stop(run->server);
		(void)pthread_join(run->thread, NULL);
	}
	rh_ps_server_free(run->server);
	free(run->values);
	free(run->sums);
	free(run->ops);
}

int32_t rh_bench_push_pull(struct rh_comm *comm, const struct rh_bench_options *options, struct rh_bench_result *result,
                           struct rh_comm_error *err)
{
	struct push_pull run = {.comm = comm, .share = (double)options->time * PUSH_PULL_PART, .err = err};
	int32_t r;

	run.values = calloc(BIG_COUNT, sizeof(float));
	run.sums = calloc(BIG_COUNT, sizeof(float));
	run.ops = calloc(SMALL_KEYS, sizeof(*run.ops));
	r = run.values && run.sums && run.ops ? push_pull_all(&run, &result->push_pull) : RH_COMM_ENOMEM;
	/* the others do not know what ended this rank's part */
	if (r < 0)
		rh_comm_abort(comm, err->text);
	push_pull_end(&run, r);
	return r;
}
