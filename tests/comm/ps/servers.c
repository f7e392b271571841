/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/servers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define PAUSE_MS 5
#define WAIT_MS 60000

/* @return exit status, 128 + signal, or -1: it still runs after a minute, and was killed */
static int wait_for(pid_t pid)
{
	int status = 0;

	for (int waited = 0; waited < WAIT_MS; waited += PAUSE_MS) {
		struct timespec pause = {0, PAUSE_MS * 1000000L};

		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		(void)nanosleep(&pause, NULL);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	return -1;
}

/* A child ends with its parent, and says why it failed. */
static int serve(struct rh_ps_server *server)
{
	struct rh_comm_error err = {0};
	int32_t r = rh_ps_server_run(server, &err);

	if (r < 0)
		(void)fprintf(stderr, "server: %s\n", err.text);
	rh_ps_server_free(server);
	return r < 0;
}

static void start_one(struct servers *servers, int32_t index)
{
	struct rh_ps_server_options options = servers->options;
	struct rh_ps_server *server = NULL;
	struct rh_comm_error err = {0};

	options.size = sizeof(options);
	options.has_index = 1;
	options.index = index;
	options.servers = servers->count;
	options.host = "127.0.0.1";
	options.port = servers->ports[index];
	if (rh_ps_server_new(&options, &server, &err) < 0)
		fail_msg("server %d: %s", (int)index, err.text);
	servers->ports[index] = rh_ps_server_port(server);
	servers->pids[index] = fork();
	if (servers->pids[index] == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(serve(server));
	}
	rh_ps_server_free(server);
}

void servers_start(struct servers *servers, int32_t count)
{
	size_t length = 0;

	servers->count = count;
	servers->addresses[0] = '\0';
	for (int32_t i = 0; i < count; i++) {
		servers->ports[i] = 0;
		start_one(servers, i);
		length += (size_t)snprintf(servers->addresses + length, sizeof(servers->addresses) - length, "%s127.0.0.1:%d",
		                           i > 0 ? "," : "", (int)servers->ports[i]);
	}
}

void servers_restart(struct servers *servers, int32_t index)
{
	start_one(servers, index);
}

void servers_kill(struct servers *servers, int32_t index)
{
	assert_int_equal(kill(servers->pids[index], SIGKILL), 0);
	assert_int_equal(wait_for(servers->pids[index]), 128 + SIGKILL);
	servers->pids[index] = 0;
}

void servers_wait(struct servers *servers)
{
	for (int32_t i = 0; i < servers->count; i++) {
		assert_int_equal(wait_for(servers->pids[i]), 0);
		servers->pids[i] = 0;
	}
}

void servers_stop(struct servers *servers)
{
	for (int32_t i = 0; i < servers->count; i++)
		if (servers->pids[i] > 0)
			servers_kill(servers, i);
}

static int connect_worker(const struct servers *servers, const struct rh_ps_options *pattern, int32_t worker,
                          struct rh_ps **ret_ps)
{
	struct rh_ps_options options = *pattern;
	struct rh_comm_error err = {0};
	int32_t r;

	options.size = sizeof(options);
	options.has_worker = 1;
	options.worker = worker;
	options.workers = servers->options.workers;
	options.servers = servers->addresses;
	r = rh_ps_connect(&options, ret_ps, &err);
	if (r < 0)
		(void)fprintf(stderr, "worker %d: %s\n", (int)worker, err.text);
	return r;
}

struct rh_ps *servers_connect(const struct servers *servers, int32_t worker, bool no_shm)
{
	struct rh_ps_options options = {.no_shm = no_shm, .part = 4096};
	struct rh_ps *ps = NULL;

	assert_int_equal(connect_worker(servers, &options, worker, &ps), 0);
	return ps;
}

static int work(const struct servers *servers, const struct workers_plan *plan, int32_t worker)
{
	struct rh_ps *ps = NULL;
	int status;

	if (connect_worker(servers, &plan->options, worker, &ps) < 0)
		return 1;
	status = plan->fn(ps, plan->arg);
	rh_ps_free(ps);
	return status;
}

struct rh_ps_op workers_op(int32_t what, float *in, float *out, size_t count)
{
	return workers_op_on(what, 1, in, out, count);
}

struct rh_ps_op workers_op_on(int32_t what, uint64_t key, float *in, float *out, size_t count)
{
	return (struct rh_ps_op){.size = sizeof(struct rh_ps_op),
	                         .what = what,
	                         .key = key,
	                         .in = in,
	                         .out = out,
	                         .count = count,
	                         .type = RH_COMM_F32};
}

struct rh_ps_op sparse_init(void)
{
	struct rh_ps_op op = workers_op_on(RH_PS_INIT, SPARSE_KEY, NULL, NULL, (size_t)SPARSE_ROWS * SPARSE_WIDTH);

	op.width = SPARSE_WIDTH;
	return op;
}

struct rh_ps_op sparse_op(struct sparse_push *ret_push, int32_t what, int push, int32_t worker)
{
	struct rh_ps_op op = sparse_init();
	uint64_t first = (uint64_t)(push * 37 + worker * 11) % (SPARSE_ROWS - 500);

	*ret_push = (struct sparse_push){.rows = {first, first, first + 1, first + 500 - 1}};
	for (size_t i = 0; i < SPARSE_PUSHED; i++)
		for (size_t j = 0; j < SPARSE_WIDTH; j++)
			ret_push->in[i * SPARSE_WIDTH + j] = (float)(i + 1);
	op.what = what;
	op.in = ret_push->in;
	op.out = ret_push->out;
	op.rows = ret_push->rows;
	op.row_count = SPARSE_PUSHED;
	return op;
}

void sparse_must_be_sum(struct rh_ps *ps, int pushes)
{
	static float sums[SPARSE_ROWS];
	static float values[SPARSE_ROWS * SPARSE_WIDTH];
	struct rh_ps_op op = sparse_init();
	struct sparse_push push;

	memset(sums, 0, sizeof(sums));
	for (int i = 0; i < pushes; i++) {
		for (int32_t worker = 0; worker < rh_ps_workers(ps); worker++) {
			(void)sparse_op(&push, RH_PS_PUSH_ROWS, i, worker);
			for (size_t j = 0; j < SPARSE_PUSHED; j++)
				sums[push.rows[j]] += push.in[j * SPARSE_WIDTH];
		}
	}
	op.what = RH_PS_PULL;
	op.out = values;
	must_run(ps, &op, 1);
	for (size_t i = 0; i < (size_t)SPARSE_ROWS * SPARSE_WIDTH; i++)
		must(values[i] == sums[i / SPARSE_WIDTH], "a push of rows was lost, or counted twice");
}

void workers_start(const struct servers *servers, const struct workers_plan *plan, struct workers *ret_workers)
{
	ret_workers->count = servers->options.workers;
	for (int32_t i = 0; i < ret_workers->count; i++) {
		ret_workers->pids[i] = fork();
		if (ret_workers->pids[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(work(servers, plan, i));
		}
	}
}

int workers_wait(struct workers *workers, int32_t worker)
{
	return wait_for(workers->pids[worker]);
}

void workers_run(struct servers *servers, worker_fn *fn, void *arg)
{
	/* small parts, so that values have many */
	struct workers_plan plan = {.options = {.part = 4096}, .fn = fn, .arg = arg};
	struct workers workers;

	workers_start(servers, &plan, &workers);
	for (int32_t i = 0; i < workers.count; i++)
		assert_int_equal(workers_wait(&workers, i), 0);
	servers_wait(servers);
}

bool servers_are_own(void)
{
	const char *backend = getenv("RH_PS_BACKEND");

	return !backend || strcmp(backend, "own") == 0;
}

void must(bool good, const char *what)
{
	if (good)
		return;
	(void)fprintf(stderr, "worker: %s\n", what);
	_exit(1);
}

void must_run(struct rh_ps *ps, const struct rh_ps_op *ops, size_t count)
{
	struct rh_comm_error err = {0};

	must(rh_ps_run(ps, ops, count, &err) == 0, err.text);
}
