/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

#define COUNT 20000
#define PUSHES 300

/* What processes of a test say to one another. */
struct board {
	_Atomic int pushed;  /* acknowledged pushes of all workers */
	_Atomic bool held;   /* workers wait before their last push: servers do not end before they are killed */
	_Atomic pid_t child; /* of a worker */
	char folder[64];
};

static int make_board(void **state)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(board, MAP_FAILED);
	(void)snprintf(board->folder, sizeof(board->folder), "/tmp/rh-test-ps-XXXXXX");
	assert_non_null(mkdtemp(board->folder));
	*state = board;
	return 0;
}

static int remove_board(void **state)
{
	struct board *board = *state;
	DIR *listing = opendir(board->folder);
	const struct dirent *file;

	while ((file = readdir(listing)))
		(void)unlinkat(dirfd(listing), file->d_name, 0);
	(void)closedir(listing);
	(void)rmdir(board->folder);
	(void)munmap(board, sizeof(*board));
	return 0;
}

static float *make_floats(float value)
{
	float *values = calloc(COUNT, sizeof(*values));

	assert_non_null(values);
	for (size_t i = 0; i < COUNT; i++)
		values[i] = value;
	return values;
}

static void await(const struct board *board, int pushed)
{
	struct timespec pause = {0, 1000000};

	for (int i = 0; i < 300000 && board->pushed < pushed; i++)
		(void)nanosleep(&pause, NULL);
	assert_true(board->pushed >= pushed);
}

static void wait_while_held(const struct board *board)
{
	struct timespec pause = {0, 1000000};

	while (board->held)
		(void)nanosleep(&pause, NULL);
}

/* Push ones, without end to what goes wrong, and find every one of them counted once. */
static int push_all(struct rh_ps *ps, void *arg)
{
	struct board *board = arg;
	float *in = make_floats(1);
	float *out = make_floats(0);
	struct rh_ps_op ops[2] = {workers_op(RH_PS_INIT, NULL, NULL, COUNT), sparse_init()};
	struct rh_ps_op barrier = {.size = sizeof(barrier), .what = RH_PS_BARRIER};
	struct rh_ps_op op;
	struct sparse_push push;

	must_run(ps, ops, 2);
	ops[0] = workers_op(RH_PS_PUSH, in, NULL, COUNT);
	for (int i = 0; i < PUSHES; i++) {
		if (i == PUSHES - 1)
			wait_while_held(board);
		ops[1] = sparse_op(&push, i % 2 ? RH_PS_PUSH_ROWS : RH_PS_PUSH_PULL_ROWS, i, rh_ps_worker(ps));
		must_run(ps, ops, 2);
		board->pushed++;
	}
	must_run(ps, &barrier, 1);
	op = workers_op(RH_PS_PULL, NULL, out, COUNT);
	must_run(ps, &op, 1);
	for (size_t i = 0; i < COUNT; i++)
		must(out[i] == (float)(PUSHES * rh_ps_workers(ps)), "a push was lost, or counted twice");
	sparse_must_be_sum(ps, PUSHES);
	free(in);
	free(out);
	return 0;
}

/* Servers are killed again and again, and what was acknowledged stays. */
static void kill_servers(struct board *board, int32_t mode, int32_t durable, int tcp)
{
	struct servers servers = {.options = {.workers = 2,
	                                      .mode = mode,
	                                      .staleness = 5,
	                                      .rule = RH_PS_SUM,
	                                      .folder = board->folder,
	                                      .durable = durable,
	                                      .grace = 60000000,
	                                      .snapshot = 4 << 20}};
	struct workers_plan plan = {.options = {.part = 16384, .no_shm = tcp}, .fn = push_all, .arg = board};
	struct workers workers;

	board->pushed = 0;
	board->held = true;
	servers_start(&servers, 2);
	workers_start(&servers, &plan, &workers);
	for (int i = 0; i < 4; i++) {
		await(board, 100 * (i + 1));
		servers_kill(&servers, i % 2);
		servers_restart(&servers, i % 2);
	}
	board->held = false;
	assert_int_equal(workers_wait(&workers, 0), 0);
	assert_int_equal(workers_wait(&workers, 1), 0);
	servers_wait(&servers);
}

static void test_failure__killed_servers_lose_nothing_async(void **state)
{
	kill_servers(*state, RH_PS_ASYNC, RH_PS_LOGGED, 0);
}

static void test_failure__killed_servers_lose_nothing_sync(void **state)
{
	kill_servers(*state, RH_PS_SYNC, RH_PS_LOGGED, 0);
}

static void test_failure__killed_servers_lose_nothing_over_tcp(void **state)
{
	kill_servers(*state, RH_PS_STALE, RH_PS_SYNCED, 1);
}

/* In good order: the values of one run are the first values of the next. */
static void test_failure__values_outlive_a_run(void **state)
{
	const struct board *board = *state;
	float *in = make_floats(3);
	float *out = make_floats(0);

	for (int run = 1; run <= 2; run++) {
		struct servers servers = {
			.options = {.workers = 1, .mode = RH_PS_SYNC, .rule = RH_PS_SUM, .folder = board->folder}};
		struct rh_ps_op ops[2] = {workers_op(RH_PS_INIT, NULL, NULL, COUNT),
		                          workers_op(RH_PS_PUSH_PULL, in, out, COUNT)};
		struct rh_comm_error err;
		struct rh_ps *ps;

		servers_start(&servers, 1);
		ps = servers_connect(&servers, 0, false);
		assert_int_equal(rh_ps_run(ps, ops, 2, &err), 0);
		assert_float_equal(out[COUNT - 1], 3.0F * (float)run, 0);
		rh_ps_free(ps);
		servers_wait(&servers);
	}
	free(in);
	free(out);
}

static void test_failure__a_server_without_a_folder_is_named(void **state)
{
	struct servers servers = {.options = {.workers = 1, .mode = RH_PS_SYNC, .rule = RH_PS_SUM}};
	struct rh_ps_op op = workers_op(RH_PS_INIT, NULL, NULL, COUNT);
	struct rh_comm_error err = {0};
	float *out = make_floats(0);

	(void)state;
	for (int restarted = 0; restarted < 2; restarted++) {
		struct rh_ps *ps;

		servers_start(&servers, 2);
		ps = servers_connect(&servers, 0, restarted != 0);
		assert_int_equal(rh_ps_run(ps, &op, 1, &err), 0);
		servers_kill(&servers, 1);
		if (restarted)
			servers_restart(&servers, 1);
		op = workers_op(RH_PS_PULL, NULL, out, COUNT);
		assert_int_equal(rh_ps_run(ps, &op, 1, &err), RH_COMM_EPEER);
		assert_non_null(strstr(err.text, restarted ? "server 1 was restarted without" : "server 1 at 127.0.0.1"));
		/* and so do all later ones */
		assert_int_equal(rh_ps_run(ps, &op, 1, &err), RH_COMM_EPEER);
		op = workers_op(RH_PS_INIT, NULL, NULL, COUNT);
		rh_ps_free(ps);
		servers_stop(&servers);
	}
	free(out);
}

/* Both take part in one round; then worker 1 leaves, and worker 0 stays. */
static int do_one_round(struct rh_ps *ps, void *arg)
{
	float *in = make_floats(1);
	float *out = make_floats(0);
	struct rh_ps_op ops[2] = {workers_op(RH_PS_INIT, NULL, NULL, COUNT), workers_op(RH_PS_PUSH_PULL, in, out, COUNT)};

	(void)arg;
	must_run(ps, &ops[0], 1);
	must_run(ps, &ops[1], 1);
	free(in);
	free(out);
	if (rh_ps_worker(ps) == 0)
		(void)pause();
	return 0;
}

static void test_failure__a_worker_that_left_is_named(void **state)
{
	struct board *board = *state;
	struct servers servers = {.options = {.workers = 2, .mode = RH_PS_SYNC, .rule = RH_PS_SUM}};
	struct workers_plan plan = {.options = {.part = 4096}, .fn = do_one_round, .arg = board};
	struct rh_comm_error err = {0};
	struct workers workers;
	float *in = make_floats(1);
	float *out = make_floats(0);
	struct rh_ps_op op = workers_op(RH_PS_PUSH_PULL, in, out, COUNT);
	struct rh_ps *ps;

	servers_start(&servers, 1);
	workers_start(&servers, &plan, &workers);
	assert_int_equal(workers_wait(&workers, 1), 0);
	/* we take worker 0's place, as a process does that was started anew */
	(void)kill(workers.pids[0], SIGKILL);
	(void)workers_wait(&workers, 0);
	ps = servers_connect(&servers, 0, false);
	assert_int_equal(rh_ps_run(ps, &op, 1, &err), RH_COMM_EPEER);
	assert_int_equal(err.rank, 1);
	if (!strstr(err.text, "worker 1 left before push"))
		fail_msg("%s", err.text);
	rh_ps_free(ps);
	/* now both have left */
	servers_wait(&servers);
	free(in);
	free(out);
}

/* Both stay, and do nothing more. */
static int do_nothing_more(struct rh_ps *ps, void *arg)
{
	struct board *board = arg;
	struct rh_ps_op op = workers_op(RH_PS_INIT, NULL, NULL, COUNT);

	must_run(ps, &op, 1);
	board->pushed++;
	(void)pause();
	return 0;
}

static void check_absent(struct board *board, bool kills, int64_t timeout, int32_t code, const char *words)
{
	struct servers servers = {.options = {.workers = 2, .mode = RH_PS_SYNC, .rule = RH_PS_SUM, .grace = 200000}};
	struct workers_plan plan = {.options = {.part = 4096}, .fn = do_nothing_more, .arg = board};
	struct rh_ps_op ops[2] = {workers_op(RH_PS_INIT, NULL, NULL, COUNT),
	                          {.size = sizeof(ops[1]), .what = RH_PS_BARRIER}};
	struct rh_comm_error err = {0};
	struct workers workers;
	struct rh_ps *ps;

	board->pushed = 0;
	servers_start(&servers, 1);
	workers_start(&servers, &plan, &workers);
	await(board, 2);
	ps = servers_connect(&servers, 0, false);
	if (kills)
		(void)kill(workers.pids[1], SIGKILL);
	ops[1].timeout = timeout;
	assert_int_equal(rh_ps_run(ps, ops, 2, &err), code);
	assert_int_equal(err.rank, 1);
	if (!strstr(err.text, words))
		fail_msg("%s", err.text);
	/* the operation failed, the worker did not */
	assert_int_equal(rh_ps_run(ps, ops, 1, &err), 0);
	(void)kill(workers.pids[0], SIGKILL);
	(void)kill(workers.pids[1], SIGKILL);
	(void)workers_wait(&workers, 0);
	(void)workers_wait(&workers, 1);
	rh_ps_free(ps);
	servers_stop(&servers);
}

static void test_failure__a_killed_worker_is_named(void **state)
{
	check_absent(*state, true, 0, RH_COMM_EPEER, "worker 1 died or was cut off before barrier 1");
}

static void test_failure__a_slow_worker_is_named_at_the_limit(void **state)
{
	check_absent(*state, false, 300000, RH_COMM_ETIME, "barrier 1 did not come in time: worker 1 is waited for");
}

/* A child of a worker is none: it may say so and leave, and keeps nothing of its parent alive. */
static int fork_and_end(struct rh_ps *ps, void *arg)
{
	struct board *board = arg;
	struct rh_ps_op op = workers_op(RH_PS_INIT, NULL, NULL, COUNT);
	struct rh_comm_error err = {0};

	must_run(ps, &op, 1);
	if (rh_ps_worker(ps) == 1 && fork() == 0) {
		must(rh_ps_run(ps, &op, 1, &err) == RH_COMM_EINVAL, "a child is taken for its parent");
		must(strstr(err.text, "was forked from worker 1") != NULL, err.text);
		rh_ps_free(ps);
		board->child = getpid();
		(void)alarm(120);
		for (;;)
			(void)pause();
	}
	must_run(ps, &op, 1);
	board->pushed++;
	(void)pause();
	return 0;
}

static void test_failure__a_killed_worker_whose_child_lives_is_named(void **state)
{
	struct board *board = *state;

	for (int tcp = 0; tcp < 2; tcp++) {
		struct servers servers = {.options = {.workers = 2, .mode = RH_PS_SYNC, .rule = RH_PS_SUM, .grace = 200000}};
		struct workers_plan plan = {.options = {.part = 4096, .no_shm = tcp}, .fn = fork_and_end, .arg = board};
		struct rh_ps_op ops[2] = {workers_op(RH_PS_INIT, NULL, NULL, COUNT),
		                          {.size = sizeof(ops[1]), .what = RH_PS_BARRIER}};
		struct rh_comm_error err = {0};
		struct workers workers;
		struct rh_ps *ps;

		board->pushed = 0;
		board->child = 0;
		servers_start(&servers, 1);
		workers_start(&servers, &plan, &workers);
		await(board, 2);
		for (int i = 0; i < 60000 && board->child == 0; i++)
			(void)usleep(1000);
		assert_int_not_equal(board->child, 0);
		ps = servers_connect(&servers, 0, false);
		(void)kill(workers.pids[1], SIGKILL);
		assert_int_equal(rh_ps_run(ps, ops, 2, &err), RH_COMM_EPEER);
		assert_int_equal(err.rank, 1);
		assert_int_equal(kill(board->child, SIGKILL), 0);
		(void)kill(workers.pids[0], SIGKILL);
		(void)workers_wait(&workers, 0);
		(void)workers_wait(&workers, 1);
		rh_ps_free(ps);
		servers_stop(&servers);
	}
}

static void test_failure__another_process_takes_the_place(void **state)
{
	struct servers servers = {.options = {.workers = 1, .mode = RH_PS_ASYNC, .rule = RH_PS_SUM}};
	float *in = make_floats(1);
	float *out = make_floats(0);
	struct rh_ps_op ops[2] = {workers_op(RH_PS_INIT, NULL, NULL, COUNT), workers_op(RH_PS_PUSH_PULL, in, out, COUNT)};
	struct rh_comm_error err = {0};
	struct rh_ps *first;
	struct rh_ps *second;

	(void)state;
	servers_start(&servers, 1);
	first = servers_connect(&servers, 0, false);
	assert_int_equal(rh_ps_run(first, ops, 2, &err), 0);
	second = servers_connect(&servers, 0, false);
	/* its numbers go on where the first one's ended: its push counts */
	assert_int_equal(rh_ps_run(second, ops, 2, &err), 0);
	assert_float_equal(out[0], 2, 0);
	assert_int_equal(rh_ps_run(first, ops, 2, &err), RH_COMM_EPEER);
	assert_non_null(strstr(err.text, "another process has become worker 0"));
	rh_ps_free(first);
	rh_ps_free(second);
	servers_wait(&servers);
	free(in);
	free(out);
}

static void test_failure__a_server_that_never_comes_is_named(void **state)
{
	struct rh_ps_options options = {
		.size = sizeof(options), .has_worker = 1, .workers = 1, .servers = "127.0.0.1:1", .init_timeout = 50000};
	struct rh_comm_error err = {0};
	struct rh_ps *ps;

	(void)state;
	assert_int_equal(rh_ps_connect(&options, &ps, &err), RH_COMM_ETIME);
	assert_non_null(strstr(err.text, "server 0 at 127.0.0.1 port 1 was not reached in time"));
}

/* The limit on the size of files stands for a full disk. Servers that are started get it. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
}

/* A server whose disk is full ends before it answers for what it could not write. */
static void test_failure__a_full_disk_loses_nothing(void **state)
{
	struct board *board = *state;
	struct servers servers = {.options = {.workers = 2,
	                                      .mode = RH_PS_ASYNC,
	                                      .rule = RH_PS_SUM,
	                                      .folder = board->folder,
	                                      .grace = 60000000,
	                                      .snapshot = 1 << 30}};
	struct workers_plan plan = {.options = {.part = 16384}, .fn = push_all, .arg = board};
	struct workers workers;

	board->pushed = 0;
	limit_files(10000000);
	servers_start(&servers, 1);
	limit_files(RLIM_INFINITY);
	workers_start(&servers, &plan, &workers);
	for (int i = 0; i < 2; i++) {
		siginfo_t end = {0};

		assert_int_equal(waitid(P_PID, (id_t)servers.pids[0], &end, WEXITED), 0);
		assert_int_equal(end.si_code, CLD_EXITED);
		assert_int_not_equal(end.si_status, 0);
		servers.pids[0] = 0;
		limit_files(i == 0 ? 20000000 : RLIM_INFINITY);
		servers_restart(&servers, 0);
		limit_files(RLIM_INFINITY);
	}
	assert_int_equal(workers_wait(&workers, 0), 0);
	assert_int_equal(workers_wait(&workers, 1), 0);
	servers_wait(&servers);
}

/* A log that somebody has cut off between two records looks whole: who was answered knows better. */
static void check_cut_off(struct board *board, size_t kept, const char *words)
{
	struct servers servers = {
		.options = {.workers = 1, .mode = RH_PS_SYNC, .rule = RH_PS_SUM, .folder = board->folder}};
	float *in = make_floats(1);
	struct rh_ps_op op = workers_op(RH_PS_INIT, NULL, NULL, 1);
	struct rh_comm_error err = {0};
	char log[128];
	struct rh_ps *ps;

	(void)snprintf(log, sizeof(log), "%s/log-0.1", board->folder);
	servers_start(&servers, 1);
	ps = servers_connect(&servers, 0, false);
	assert_int_equal(rh_ps_run(ps, &op, 1, &err), 0);
	op = workers_op(RH_PS_PUSH, in, NULL, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rh_ps_run(ps, &op, 1, &err), 0);
	servers_kill(&servers, 0);
	assert_int_equal(truncate(log, (off_t)kept), 0);
	servers_restart(&servers, 0);
	assert_int_equal(rh_ps_run(ps, &op, 1, &err), RH_COMM_EPEER);
	if (!strstr(err.text, "has lost what it had acknowledged") || !strstr(err.text, words))
		fail_msg("%s", err.text);
	rh_ps_free(ps);
	servers_stop(&servers);
	free(in);
}

static void test_failure__a_server_that_forgot_is_named(void **state)
{
	struct board *board = *state;
	char file[128];

	/* the session, the first value, and one push */
	check_cut_off(board, 64 + 64 + 64 + 4, "worker 0's requests up to 2, and has answered 4");
	for (int i = 0; i < 2; i++) {
		(void)snprintf(file, sizeof(file), "%s/%s-0.1", board->folder, i == 0 ? "state" : "log");
		assert_int_equal(unlink(file), 0);
	}
	check_cut_off(board, 0, "does not know worker 0 any more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_failure__killed_servers_lose_nothing_async, make_board, remove_board),
		cmocka_unit_test_setup_teardown(test_failure__killed_servers_lose_nothing_sync, make_board, remove_board),
		cmocka_unit_test_setup_teardown(test_failure__killed_servers_lose_nothing_over_tcp, make_board, remove_board),
		cmocka_unit_test_setup_teardown(test_failure__values_outlive_a_run, make_board, remove_board),
		cmocka_unit_test(test_failure__a_server_without_a_folder_is_named),
		cmocka_unit_test_setup_teardown(test_failure__a_worker_that_left_is_named, make_board, remove_board),
		cmocka_unit_test_setup_teardown(test_failure__a_killed_worker_is_named, make_board, remove_board),
		cmocka_unit_test_setup_teardown(test_failure__a_killed_worker_whose_child_lives_is_named, make_board,
	                                    remove_board),
		cmocka_unit_test_setup_teardown(test_failure__a_slow_worker_is_named_at_the_limit, make_board, remove_board),
		cmocka_unit_test(test_failure__another_process_takes_the_place),
		cmocka_unit_test(test_failure__a_server_that_never_comes_is_named),
		cmocka_unit_test_setup_teardown(test_failure__a_full_disk_loses_nothing, make_board, remove_board),
		cmocka_unit_test_setup_teardown(test_failure__a_server_that_forgot_is_named, make_board, remove_board),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
