/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_ps [--bytes N] [--keys N] [--rounds N] [--servers N] [--workers N] [--tcp] [--replicas] [--folder DIR]: push
 * and pull values
 * of N bytes, all keys in one request, and print one line of JSON: what one worker moved one way, as ps-lite's
 * benchmark counts it. At the end every value must be the sum of what was pushed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "roundhouse/ps.h"

#define SERVERS_MAX 16
#define WARM_UP 2

struct bench_plan {
	size_t bytes;
	size_t keys;
	int rounds;
	int servers;
	int workers;
	int tcp;
	int port;     /* of the scheduler */
	int replicas; /* not 0: a scheduler, and a backup for each server */
	const char *folder;
	char addresses[SERVERS_MAX * 32];
};

struct bench_data {
	float *pushed;
	float *pulled;
	struct rh_ps_op *ops;
};

static double bench_now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int bench_fail(const struct rh_comm_error *err)
{
	(void)fprintf(stderr, "bench_ps: %s\n", err->text);
	return 1;
}

/* What servers and workers of a job with a scheduler find in their environment. */
static void bench_set_role(const struct bench_plan *plan, const char *role)
{
	char port[16];

	(void)snprintf(port, sizeof(port), "%d", plan->port);
	(void)setenv("DMLC_ROLE", role, 1);
	(void)setenv("DMLC_PS_ROOT_URI", "127.0.0.1", 1);
	(void)setenv("DMLC_PS_ROOT_PORT", port, 1);
	if (plan->tcp)
		(void)setenv("RH_PS_SHM", "off", 1);
}

static void bench_start_scheduler(struct bench_plan *plan)
{
	struct rh_ps_scheduler_options options = {.size = sizeof(options),
	                                          .servers = plan->servers,
	                                          .workers = plan->workers,
	                                          .replicas = 2,
	                                          .host = "127.0.0.1",
	                                          .port = -1};
	struct rh_ps_scheduler *scheduler;
	struct rh_comm_error err;

	(void)setenv("RH_COMM_LOG", "off", 1);
	if (rh_ps_scheduler_new(&options, &scheduler, &err) < 0)
		exit(bench_fail(&err));
	plan->port = rh_ps_scheduler_port(scheduler);
	if (fork() != 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(rh_ps_scheduler_run(scheduler, &err) < 0 ? bench_fail(&err) : 0);
}

static void bench_start_replica(const struct bench_plan *plan)
{
	struct rh_ps_server_options options = {
		.size = sizeof(options), .mode = RH_PS_ASYNC, .rule = RH_PS_SUM, .host = "127.0.0.1"};
	struct rh_ps_server *server;
	struct rh_comm_error err;

	if (fork() != 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_set_role(plan, "server");
	if (rh_ps_server_new(&options, &server, &err) < 0)
		_exit(bench_fail(&err));
	_exit(rh_ps_server_run(server, &err) < 0 ? bench_fail(&err) : 0);
}

/* @return the pid; the port goes into the list of addresses */
static pid_t bench_start_server(struct bench_plan *plan, int index)
{
	struct rh_ps_server_options options = {.size = sizeof(options),
	                                       .has_index = 1,
	                                       .index = index,
	                                       .servers = plan->servers,
	                                       .workers = plan->workers,
	                                       .mode = RH_PS_ASYNC,
	                                       .rule = RH_PS_SUM,
	                                       .host = "127.0.0.1",
	                                       .folder = plan->folder};
	size_t length = strlen(plan->addresses);
	struct rh_ps_server *server;
	struct rh_comm_error err;
	pid_t pid;

	if (rh_ps_server_new(&options, &server, &err) < 0)
		exit(bench_fail(&err));
	(void)snprintf(plan->addresses + length, sizeof(plan->addresses) - length, "%s127.0.0.1:%d", index > 0 ? "," : "",
	               (int)rh_ps_server_port(server));
	pid = fork();
	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(rh_ps_server_run(server, &err) < 0 ? bench_fail(&err) : 0);
}

static int bench_setup(const struct bench_plan *plan, struct rh_ps *ps, struct bench_data *data)
{
	size_t count = plan->bytes / sizeof(float);
	struct rh_comm_error err;

	data->pushed = aligned_alloc(64, (plan->bytes + 63) / 64 * 64);
	data->pulled = aligned_alloc(4096, (plan->bytes * plan->keys + 4095) / 4096 * 4096);
	data->ops = calloc(plan->keys, sizeof(*data->ops));
	if (!data->pushed || !data->pulled || !data->ops)
		return 1;
	for (size_t i = 0; i < count; i++)
		data->pushed[i] = 1;
	memset(data->pulled, 0, plan->bytes * plan->keys);
	for (size_t i = 0; i < plan->keys; i++)
		data->ops[i] = (struct rh_ps_op){
			.size = sizeof(*data->ops), .what = RH_PS_INIT, .key = i, .in = NULL, .count = count, .type = RH_COMM_F32};
	if (rh_ps_run(ps, data->ops, plan->keys, &err) < 0)
		return bench_fail(&err);
	for (size_t i = 0; i < plan->keys; i++) {
		data->ops[i].what = RH_PS_PUSH_PULL;
		data->ops[i].in = data->pushed;
		data->ops[i].out = data->pulled + i * count;
	}
	return 0;
}

/* @return whether no push was lost, and none counted twice */
static int bench_check(const struct bench_plan *plan, struct rh_ps *ps, struct bench_data *data)
{
	struct rh_ps_op barrier = {.size = sizeof(barrier), .what = RH_PS_BARRIER};
	size_t count = plan->bytes / sizeof(float) * plan->keys;
	float expected = (float)((plan->rounds + WARM_UP) * plan->workers);
	struct rh_comm_error err;

	for (size_t i = 0; i < plan->keys; i++)
		data->ops[i].what = RH_PS_PULL;
	if (rh_ps_run(ps, &barrier, 1, &err) < 0 || rh_ps_run(ps, data->ops, plan->keys, &err) < 0)
		return bench_fail(&err);
	for (size_t i = 0; i < count; i++) {
		if (data->pulled[i] != expected) {
			(void)fprintf(stderr, "bench_ps: element %zu is %g and must be %g\n", i, (double)data->pulled[i],
			              (double)expected);
			return 1;
		}
	}
	return 0;
}

static int bench_work(const struct bench_plan *plan, struct rh_ps *ps, double *ret_seconds)
{
	struct bench_data data = {0};
	struct rh_comm_error err;
	double best = 1e9;
	int r = bench_setup(plan, ps, &data);

	*ret_seconds = 0;
	for (int i = 0; i < plan->rounds + WARM_UP && r == 0; i++) {
		double start = bench_now();

		if (rh_ps_run(ps, data.ops, plan->keys, &err) < 0)
			r = bench_fail(&err);
		start = bench_now() - start;
		if (i >= WARM_UP)
			*ret_seconds += start;
		best = start < best ? start : best;
	}
	if (r == 0 && rh_ps_worker(ps) == 0)
		printf("{\"bytes\":%zu,\"keys\":%zu,\"servers\":%d,\"workers\":%d,\"shared\":%d,\"replicas\":%d,\"gbps\":%.3f,"
		       "\"gbps_best\":%.3f,\"keys_per_s\":%.0f,\"keys_per_s_best\":%.0f}\n",
		       plan->bytes, plan->keys, plan->servers, plan->workers, (int)rh_ps_shared(ps), plan->replicas ? 2 : 1,
		       (double)plan->bytes * (double)plan->keys * plan->rounds / *ret_seconds / 1e9,
		       (double)plan->bytes * (double)plan->keys / best / 1e9, (double)plan->keys * plan->rounds / *ret_seconds,
		       (double)plan->keys / best);
	return r == 0 ? bench_check(plan, ps, &data) : r;
}

static int bench_worker(const struct bench_plan *plan, int index)
{
	struct rh_ps_options options = {.size = sizeof(options),
	                                .has_worker = 1,
	                                .worker = index,
	                                .workers = plan->workers,
	                                .servers = plan->replicas ? NULL : plan->addresses,
	                                .no_shm = plan->tcp};
	struct rh_comm_error err;
	struct rh_ps *ps;
	double seconds;
	int r;

	if (plan->replicas)
		bench_set_role(plan, "worker");
	if (rh_ps_connect(&options, &ps, &err) < 0)
		return bench_fail(&err);
	r = bench_work(plan, ps, &seconds);
	rh_ps_free(ps);
	(void)fflush(stdout);
	return r;
}

static void bench_parse(struct bench_plan *plan, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "0";
		long number = strtol(value, NULL, 10);

		if (strcmp(argv[i], "--tcp") == 0 || strcmp(argv[i], "--replicas") == 0) {
			*(argv[i][2] == 't' ? &plan->tcp : &plan->replicas) = 1;
			continue;
		}
		if (strcmp(argv[i], "--bytes") == 0)
			plan->bytes = (size_t)number / sizeof(float) * sizeof(float);
		else if (strcmp(argv[i], "--keys") == 0)
			plan->keys = (size_t)number;
		else if (strcmp(argv[i], "--rounds") == 0)
			plan->rounds = (int)number;
		else if (strcmp(argv[i], "--servers") == 0)
			plan->servers = (int)number;
		else if (strcmp(argv[i], "--workers") == 0)
			plan->workers = (int)number;
		else if (strcmp(argv[i], "--folder") == 0)
			plan->folder = value;
		i++;
	}
}

int main(int argc, char **argv)
{
	struct bench_plan plan = {.bytes = 4000000, .keys = 40, .rounds = 10, .servers = 1, .workers = 1};
	int status = 0;
	int failed = 0;

	bench_parse(&plan, argc, argv);
	if (plan.replicas)
		bench_start_scheduler(&plan);
	for (int i = 0; plan.replicas && i < 2 * plan.servers; i++)
		bench_start_replica(&plan);
	for (int i = 0; !plan.replicas && i < plan.servers && i < SERVERS_MAX; i++)
		(void)bench_start_server(&plan, i);
	for (int i = 0; i < plan.workers; i++) {
		if (fork() == 0)
			_exit(bench_worker(&plan, i));
	}
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed;
}
