/* SPDX-License-Identifier: Apache-2.0 */
/* Servers with backups: any one of them is killed at any moment, and every push counts once. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

#include "comm/ps/servers.h"

#define SHARDS 2
#define SERVERS (2 * SHARDS)
#define WORKERS 2
#define COUNT 20000
#define PUSHES 200
#define KILLS 6
#define WAIT_MS 120000

/* What the processes of a test share. */
struct board {
	_Atomic int pushed;  /* acknowledged pushes of all workers */
	_Atomic bool over;   /* no server is killed any more */
	_Atomic int slowest; /* milliseconds of the slowest operation */
};

/* A job with a scheduler. */
struct job {
	struct board *board;
	struct rh_ps_server_options options;
	bool tcp;
	int32_t port;
	int lines; /* what the scheduler prints */
	pid_t scheduler;
	pid_t servers[SERVERS];
	pid_t workers[WORKERS];
	uint64_t random;
};

/* xorshift: the same moments in each run of a seed. */
static uint64_t job_random(struct job *job, uint64_t below)
{
	job->random ^= job->random << 13;
	job->random ^= job->random >> 7;
	job->random ^= job->random << 17;
	return job->random % below;
}

static void job_pause(void)
{
	const struct timespec pause = {0, 1000000};

	(void)nanosleep(&pause, NULL);
}

static void job_await(const struct job *job, int pushed)
{
	for (int i = 0; i < WAIT_MS && job->board->pushed < pushed; i++)
		job_pause();
	assert_true(job->board->pushed >= pushed);
}

/* Read lines of the scheduler up to one that has `words`. */
static void job_await_line(const struct job *job, const char *words)
{
	char line[400];
	size_t length = 0;

	for (;;) {
		assert_true(length < sizeof(line));
		/* the end: the scheduler is gone */
		assert_int_equal(read(job->lines, line + length, 1), 1);
		if (line[length] != '\n') {
			length++;
			continue;
		}
		line[length] = '\0';
		length = 0;
		if (strstr(line, words))
			return;
	}
}

static void job_set_role(const struct job *job, const char *role)
{
	char port[16];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(port, sizeof(port), "%d", (int)job->port);
	(void)setenv("DMLC_ROLE", role, 1);
	(void)setenv("DMLC_PS_ROOT_URI", "127.0.0.1", 1);
	(void)setenv("DMLC_PS_ROOT_PORT", port, 1);
	if (job->tcp)
		(void)setenv("RH_PS_SHM", "off", 1);
}

static int job_end(int32_t r, const struct rh_comm_error *err, const char *who)
{
	if (r < 0)
		(void)fprintf(stderr, "%s: %s\n", who, err->text);
	return r < 0;
}

static void job_start_scheduler(struct job *job)
{
	struct rh_ps_scheduler_options options = {
		.size = sizeof(options), .servers = SHARDS, .workers = WORKERS, .replicas = 2, .host = "127.0.0.1", .port = -1};
	struct rh_ps_scheduler *scheduler = NULL;
	struct rh_comm_error err = {0};
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(rh_ps_scheduler_new(&options, &scheduler, &err), 0);
	job->port = rh_ps_scheduler_port(scheduler);
	job->lines = pipes[0];
	job->scheduler = fork();
	if (job->scheduler == 0) {
		int32_t r;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(pipes[1], STDERR_FILENO);
		(void)close(pipes[1]);
		r = rh_ps_scheduler_run(scheduler, &err);
		rh_ps_scheduler_free(scheduler);
		_exit(job_end(r, &err, "scheduler"));
	}
	(void)close(pipes[1]);
	rh_ps_scheduler_free(scheduler);
}

static void job_start_server(struct job *job, int number)
{
	struct rh_ps_server_options options = job->options;
	struct rh_ps_server *server = NULL;
	struct rh_comm_error err = {0};
	int32_t r;

	job->servers[number] = fork();
	if (job->servers[number] != 0)
		return;
	job_set_role(job, "server");
	options.size = sizeof(options);
	options.host = "127.0.0.1";
	r = rh_ps_server_new(&options, &server, &err);
	if (r == 0)
		r = rh_ps_server_run(server, &err);
	rh_ps_server_free(server);
	_exit(job_end(r, &err, "server"));
}

static int job_milliseconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

/* Push ones, and find every one of them counted once. */
static int job_work(struct rh_ps *ps, struct board *board)
{
	static float in[COUNT];
	static float out[COUNT];
	struct rh_ps_op barrier = {.size = sizeof(barrier), .what = RH_PS_BARRIER};
	struct rh_ps_op ops[2] = {workers_op(RH_PS_INIT, NULL, NULL, COUNT), sparse_init()};
	struct sparse_push push;
	struct rh_ps_op op;

	for (size_t i = 0; i < COUNT; i++)
		in[i] = 1;
	must_run(ps, ops, 2);
	for (int i = 0; i < PUSHES; i++) {
		int began = job_milliseconds();

		ops[0] = i % 2 ? workers_op(RH_PS_PUSH, in, NULL, COUNT) : workers_op(RH_PS_PUSH_PULL, in, out, COUNT);
		ops[1] = sparse_op(&push, i % 3 ? RH_PS_PUSH_ROWS : RH_PS_PUSH_PULL_ROWS, i, rh_ps_worker(ps));
		must_run(ps, ops, 2);
		board->pushed++;
		began = job_milliseconds() - began;
		if (began > board->slowest)
			board->slowest = began;
	}
	while (!board->over)
		job_pause();
	must_run(ps, &barrier, 1);
	op = workers_op(RH_PS_PULL, NULL, out, COUNT);
	must_run(ps, &op, 1);
	for (size_t i = 0; i < COUNT; i++)
		must(out[i] == (float)(PUSHES * WORKERS), "a push was lost, or counted twice");
	sparse_must_be_sum(ps, PUSHES);
	return 0;
}

static void job_start_worker(struct job *job, int number)
{
	struct rh_ps_options options = {
		.size = sizeof(options), .has_worker = 1, .worker = number, .workers = WORKERS, .part = 4096};
	struct rh_comm_error err = {0};
	struct rh_ps *ps = NULL;
	int status;

	job->workers[number] = fork();
	if (job->workers[number] != 0)
		return;
	job_set_role(job, "worker");
	if (rh_ps_connect(&options, &ps, &err) < 0)
		_exit(job_end(-1, &err, "worker"));
	status = job_work(ps, job->board);
	rh_ps_free(ps);
	_exit(status);
}

static void job_start(struct job *job, struct board *board, int32_t mode, uint64_t seed)
{
	memset(board, 0, sizeof(*board));
	job->board = board;
	job->random = seed;
	job->options.mode = mode;
	job->options.staleness = 5;
	job->options.rule = RH_PS_SUM;
	job_start_scheduler(job);
	for (int i = 0; i < SERVERS; i++)
		job_start_server(job, i);
	for (int i = 0; i < WORKERS; i++)
		job_start_worker(job, i);
}

static void job_wait(pid_t pid, const char *who)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("%s ended with status %x", who, (unsigned int)status);
}

static void job_finish(struct job *job)
{
	job->board->over = true;
	for (int i = 0; i < WORKERS; i++)
		job_wait(job->workers[i], "a worker");
	for (int i = 0; i < SERVERS; i++)
		job_wait(job->servers[i], "a server");
	job_wait(job->scheduler, "the scheduler");
	(void)close(job->lines);
}

static void job_kill(struct job *job, int number)
{
	assert_int_equal(kill(job->servers[number], SIGKILL), 0);
	assert_int_equal(waitpid(job->servers[number], NULL, 0), job->servers[number]);
}

/* One server at a time dies, and another one takes its place, from which on it may be the next. */
static void kill_servers(struct board *board, int32_t mode, bool tcp, uint64_t seed)
{
	struct job job = {.tcp = tcp};

	job_start(&job, board, mode, seed);
	for (int i = 0; i < SHARDS; i++)
		job_await_line(&job, "it has a backup at");
	for (int i = 0; i < KILLS; i++) {
		int step = PUSHES * WORKERS / (KILLS + 1);
		int number = (int)job_random(&job, SERVERS);

		job_await(&job, i * step + 1 + (int)job_random(&job, (uint64_t)step));
		job_kill(&job, number);
		job_start_server(&job, number);
		job_await_line(&job, "it has a backup at");
	}
	job_finish(&job);
	print_message("seed %llu: the slowest operation took %d ms\n", (unsigned long long)seed, (int)board->slowest);
}

static int make_board(void **state)
{
	*state = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return *state == MAP_FAILED;
}

static int remove_board(void **state)
{
	return munmap(*state, sizeof(struct board));
}

/* More seeds: RH_TEST_SEEDS of them, for a long look. */
static void kill_servers_often(struct board *board, int32_t mode, bool tcp, uint64_t seed)
{
	const char *text = getenv("RH_TEST_SEEDS");
	uint64_t seeds = text ? strtoul(text, NULL, 10) : 1;

	for (uint64_t i = 0; i < seeds; i++)
		kill_servers(board, mode, tcp, seed + 100 * i);
}

static void test_replicas__killed_servers_lose_nothing_async(void **state)
{
	kill_servers_often(*state, RH_PS_ASYNC, false, 11);
}

static void test_replicas__killed_servers_lose_nothing_sync(void **state)
{
	kill_servers_often(*state, RH_PS_SYNC, false, 12);
}

static void test_replicas__killed_servers_lose_nothing_over_tcp(void **state)
{
	kill_servers_often(*state, RH_PS_STALE, true, 13);
}

/* @return a worker in this process */
static struct rh_ps *job_connect(const struct job *job, int32_t worker)
{
	struct rh_ps_options options = {
		.size = sizeof(options), .has_worker = 1, .worker = worker, .workers = WORKERS, .part = 4096};
	struct rh_comm_error err = {0};
	struct rh_ps *ps = NULL;

	job_set_role(job, "worker");
	if (rh_ps_connect(&options, &ps, &err) < 0)
		fail_msg("%s", err.text);
	(void)unsetenv("DMLC_ROLE");
	return ps;
}

/* Servers, and a scheduler, but workers of this process. */
static void job_serve(struct job *job)
{
	job->options.mode = RH_PS_ASYNC;
	job->options.rule = RH_PS_SUM;
	job_start_scheduler(job);
	for (int i = 0; i < SERVERS; i++)
		job_start_server(job, i);
	for (int i = 0; i < SHARDS; i++)
		job_await_line(job, "it has a backup at");
}

/* A push that a stopped backup cannot have is not acknowledged; nor does a pull show it. */
static void test_replicas__nothing_is_answered_before_the_backup_has_it(void **state)
{
	static float in[COUNT] = {1};
	static float out[COUNT];
	struct rh_ps_op op = workers_op(RH_PS_INIT, NULL, NULL, COUNT);
	struct rh_comm_error err = {0};
	struct job job = {0};
	struct rh_ps_request *requests[2];
	struct rh_ps *ps[WORKERS];

	(void)state;
	job_serve(&job);
	for (int i = 0; i < WORKERS; i++)
		ps[i] = job_connect(&job, i);
	must_run(ps[0], &op, 1);
	must_run(ps[1], &op, 1);
	/* whichever of them are the backups: the others go on */
	for (int i = 0; i < SERVERS; i++) {
		struct rh_ps_op ops[2] = {workers_op(RH_PS_PUSH, in, NULL, COUNT), workers_op(RH_PS_PULL, NULL, out, COUNT)};

		assert_int_equal(kill(job.servers[i], SIGSTOP), 0);
		assert_int_equal(rh_ps_post(ps[0], &ops[0], 1, &requests[0], &err), 0);
		assert_int_equal(rh_ps_post(ps[1], &ops[1], 1, &requests[1], &err), 0);
		for (int wait = 0; wait < 200; wait++) {
			assert_int_equal(rh_ps_test(requests[0], &err), RH_COMM_BUSY);
			job_pause();
		}
		assert_int_equal(kill(job.servers[i], SIGCONT), 0);
		assert_int_equal(rh_ps_wait(requests[0], &err), 0);
		assert_int_equal(rh_ps_wait(requests[1], &err), 0);
	}
	op = workers_op(RH_PS_PULL, NULL, out, COUNT);
	must_run(ps[1], &op, 1);
	assert_float_equal(out[0], SERVERS, 0);
	rh_ps_free(ps[0]);
	rh_ps_free(ps[1]);
	for (int i = 0; i < SERVERS; i++)
		job_wait(job.servers[i], "a server");
	job_wait(job.scheduler, "the scheduler");
	(void)close(job.lines);
}

/* One server may die; all may not. */
static void test_replicas__what_no_backup_has_is_named(void **state)
{
	static float out[COUNT];
	struct rh_ps_op op = workers_op(RH_PS_INIT, NULL, NULL, COUNT);
	struct rh_comm_error err = {0};
	struct job job = {0};
	struct rh_ps *ps;

	(void)state;
	job_serve(&job);
	ps = job_connect(&job, 0);
	must_run(ps, &op, 1);
	job_kill(&job, 0);
	job_await_line(&job, "its backup");
	op = workers_op(RH_PS_PULL, NULL, out, COUNT);
	must_run(ps, &op, 1);
	for (int i = 1; i < SERVERS; i++)
		job_kill(&job, i);
	assert_int_equal(rh_ps_run(ps, &op, 1, &err), RH_COMM_EPEER);
	if (!strstr(err.text, "died, and no backup has all its values"))
		fail_msg("%s", err.text);
	rh_ps_free(ps);
	assert_int_equal(waitpid(job.scheduler, NULL, 0), job.scheduler);
	(void)close(job.lines);
}

static void test_replicas__are_refused_where_they_cannot_be(void **state)
{
	struct rh_ps_server_options options = {.size = sizeof(options), .workers = 1, .host = "127.0.0.1"};
	struct rh_ps_scheduler_options scheduling = {
		.size = sizeof(scheduling), .servers = 1, .workers = 1, .replicas = 3, .port = -1};
	struct rh_ps_scheduler *scheduler = NULL;
	struct rh_ps_server *server = NULL;
	struct rh_comm_error err = {0};

	(void)state;
	(void)setenv("RH_PS_REPLICAS", "2", 1);
	assert_int_equal(rh_ps_server_new(&options, &server, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "2 replicas need a scheduler"));
	(void)unsetenv("RH_PS_REPLICAS");
	assert_int_equal(rh_ps_scheduler_new(&scheduling, &scheduler, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "the number of replicas is 3 and must be 1 or 2"));
	scheduling.replicas = 2;
	scheduling.backend = "mpi";
	assert_int_equal(rh_ps_scheduler_new(&scheduling, &scheduler, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "replicas are of no use"));
	/* a caller that was built before replicas were there */
	scheduling.backend = NULL;
	scheduling.replicas = 77;
	scheduling.size = offsetof(struct rh_ps_scheduler_options, replicas);
	assert_int_equal(rh_ps_scheduler_new(&scheduling, &scheduler, &err), 0);
	rh_ps_scheduler_free(scheduler);
	scheduling.size--;
	assert_int_equal(rh_ps_scheduler_new(&scheduling, &scheduler, &err), RH_COMM_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_replicas__killed_servers_lose_nothing_async, make_board, remove_board),
		cmocka_unit_test_setup_teardown(test_replicas__killed_servers_lose_nothing_sync, make_board, remove_board),
		cmocka_unit_test_setup_teardown(test_replicas__killed_servers_lose_nothing_over_tcp, make_board, remove_board),
		cmocka_unit_test(test_replicas__nothing_is_answered_before_the_backup_has_it),
		cmocka_unit_test(test_replicas__what_no_backup_has_is_named),
		cmocka_unit_test(test_replicas__are_refused_where_they_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
