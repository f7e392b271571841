/* SPDX-License-Identifier: Apache-2.0 */
/* The backend ucx through the library, with real processes, over shared memory and over TCP. */
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/any_source.h"
#include "comm/exchanges.h"
#include "comm/operations.h"
#include "comm/ranks.h"

#define PATIENCE_MS 60000

static void test_ucx__is_the_backend(void **state)
{
	(void)state;
	ranks_run_worlds("ucx", ranks_check_backend, false, 1, 2);
}

static void test_ucx__collectives_in_shared_memory(void **state)
{
	(void)state;
	ranks_run_worlds("ucx", operations_collectives, false, 2, 4);
}

static void test_ucx__collectives_over_tcp(void **state)
{
	(void)state;
	ranks_run_worlds("ucx", operations_collectives, true, 2, 3);
}

static void test_ucx__collectives_of_eight(void **state)
{
	(void)state;
	ranks_run_worlds("ucx", operations_collectives, false, 8, 8);
}

static void test_ucx__messages(void **state)
{
	(void)state;
	ranks_run_worlds("ucx", operations_messages, false, 2, 4);
	ranks_run_worlds("ucx", operations_messages, true, 2, 3);
}

static void test_ucx__receives_from_any_rank(void **state)
{
	(void)state;
	ranks_run_worlds("ucx", any_source_seeded, false, 2, 4);
	ranks_run_worlds("ucx", any_source_seeded, true, 3, 3);
}

static void test_ucx__exchanges(void **state)
{
	(void)state;
	ranks_run_worlds("ucx", exchanges_seeded, false, 2, 3);
	ranks_run_worlds("ucx", exchanges_seeded, true, 3, 3);
	exchanges_check_counts("ucx", true);
}

static void test_ucx__operations_outstanding(void **state)
{
	(void)state;
	ranks_run_worlds("ucx", operations_outstanding, false, 2, 4);
	ranks_run_worlds("ucx", operations_outstanding, true, 2, 3);
}

static void test_ucx__groups(void **state)
{
	(void)state;
	ranks_run_worlds("ucx", operations_groups, false, 2, 5);
	ranks_run_worlds("ucx", operations_groups, true, 3, 3);
}

/* The two sides of a message disagree on its length, by arg bytes more at the sender. */
static int disagree(struct rh_comm *comm, const void *arg)
{
	static char data[70000];
	bool sends = rh_comm_rank(comm) == 0;
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = sends ? RH_COMM_SEND : RH_COMM_RECV,
	                        .out = data,
	                        .count = (size_t)(*(const int *)arg + (sends ? 0 : 100)),
	                        .type = RH_COMM_U8,
	                        .peer = sends};
	struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	struct rh_comm_error err = {0};
	int32_t r = rh_comm_run(comm, &op, &err);

	/* a small one is gone before the receiver sees it */
	if (sends && r == 0)
		r = rh_comm_run(comm, &barrier, &err);
	return r == RH_COMM_EINVAL && strstr(err.text, "another length") ? 0 : 1;
}

static void test_ucx__lengths_must_agree(void **state)
{
	static const int lengths[] = {10, 200, 60000};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct ranks_plan plan = {.world = 2, .backend = "ucx", .fn = disagree, .arg = &lengths[i]};

		ranks_run(&plan);
	}
}

/*
 * Once a message is sent the sender may compute, or sleep, for as long as it likes: nothing of it may need its help.
 * The receiver says over a pipe, not through the library, that all has come.
 */
static int send_and_sleep(struct rh_comm *comm, const void *arg)
{
	static char data[50000];
	const int *pipe_ends = arg;
	struct pollfd pipe_end = {.fd = pipe_ends[0], .events = POLLIN};
	struct rh_comm_error err = {0};
	char byte;

	for (size_t i = 0; i < 12; i++) {
		struct rh_comm_op op = {.size = sizeof(op),
		                        .what = rh_comm_rank(comm) == 0 ? RH_COMM_SEND : RH_COMM_RECV,
		                        .out = data,
		                        .count = 1000 + i * 3701 % 8000,
		                        .type = RH_COMM_U8,
		                        .peer = 1 - rh_comm_rank(comm)};

		for (int j = 0; j < 20; j++) {
			if (rh_comm_run(comm, &op, &err) != 0)
				return 1;
		}
		if (rh_comm_rank(comm) == 1 && write(pipe_ends[1], "", 1) != 1)
			return 2;
		if (rh_comm_rank(comm) == 0 && (poll(&pipe_end, 1, PATIENCE_MS) != 1 || read(pipe_ends[0], &byte, 1) != 1))
			return 3;
	}
	return 0;
}

/* The receiver takes its time; the sender has long begun to leave. */
static int send_and_leave(struct rh_comm *comm, const void *arg)
{
	static const struct timespec while_it_computes = {0, 300000000};
	static char data[5000];
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = rh_comm_rank(comm) == 0 ? RH_COMM_SEND : RH_COMM_RECV,
	                        .out = data,
	                        .count = sizeof(data),
	                        .type = RH_COMM_U8,
	                        .peer = 1 - rh_comm_rank(comm)};

	(void)arg;
	for (int i = 0; i < 20; i++) {
		if (rh_comm_rank(comm) == 1 && i % 5 == 0)
			(void)nanosleep(&while_it_computes, NULL);
		if (rh_comm_run(comm, &op, NULL) != 0)
			return 1;
	}
	return 0;
}

static void test_ucx__what_is_sent_needs_no_help_to_arrive(void **state)
{
	int pipe_ends[2];
	struct ranks_plan plan = {.world = 2, .no_shm = true, .backend = "ucx", .fn = send_and_sleep, .arg = pipe_ends};

	(void)state;
	assert_int_equal(pipe(pipe_ends), 0);
	/* no segment of a message fits into the socket as a whole */
	assert_int_equal(setenv("UCX_TCP_SNDBUF", "4k", 1), 0);
	assert_int_equal(setenv("UCX_TCP_RCVBUF", "4k", 1), 0);
	ranks_run(&plan);
	plan.fn = send_and_leave;
	ranks_run(&plan);
	assert_int_equal(unsetenv("UCX_TCP_SNDBUF"), 0);
	assert_int_equal(unsetenv("UCX_TCP_RCVBUF"), 0);
	(void)close(pipe_ends[0]);
	(void)close(pipe_ends[1]);
}

/* @return processor time in microseconds */
static int64_t processor_time(int who)
{
	struct rusage used;

	if (getrusage(who, &used) != 0)
		return 0;
	return (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 + used.ru_utime.tv_usec +
	       used.ru_stime.tv_usec;
}

/* What two ranks do before they leave, and how much processor time each has taken by then, in shared memory. */
struct leavers {
	ranks_fn *fn;
	int64_t *before;
};

static int note_time_before_leaving(struct rh_comm *comm, const void *arg)
{
	const struct leavers *leavers = arg;
	int status = leavers->fn(comm, "ucx");

	leavers->before[rh_comm_rank(comm)] = processor_time(RUSAGE_SELF);
	return status;
}

/* @return processor time that two ranks over TCP take from the end of @p fn to their own, microseconds */
static int64_t time_of_leaving(ranks_fn *fn)
{
	int64_t *before = mmap(NULL, 2 * sizeof(*before), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct leavers leavers = {fn, before};
	struct ranks_plan plan = {
		.world = 2, .no_shm = true, .backend = "ucx", .fn = note_time_before_leaving, .arg = &leavers};
	int64_t time = -processor_time(RUSAGE_CHILDREN);

	assert_ptr_not_equal(before, MAP_FAILED);
	ranks_run(&plan);
	time += processor_time(RUSAGE_CHILDREN) - before[0] - before[1];
	assert_int_equal(munmap(before, 2 * sizeof(*before)), 0);
	return time;
}

/* Whoever waits for a peer that does not read for more than a second does not keep a processor busy. */
static void test_ucx__who_leaves_waits_asleep(void **state)
{
	int64_t usual = time_of_leaving(ranks_check_backend);

	(void)state;
	assert_true(time_of_leaving(send_and_leave) - usual < 400000);
}

static int unreachable(struct rh_comm *comm, const void *arg)
{
	(void)comm;
	(void)arg;
	return 0;
}

/* With no transport that leads to another process the start fails, and says what to look at. */
static void test_ucx__without_a_transport_the_start_fails(void **state)
{
	struct ranks_plan plan = {.world = 2, .backend = "ucx", .fn = unreachable};
	struct ranks ranks;

	(void)state;
	assert_int_equal(setenv("RH_COMM_UCX_TLS", "self", 1), 0);
	ranks_start(&plan, &ranks);
	assert_int_equal(unsetenv("RH_COMM_UCX_TLS"), 0);
	for (int32_t rank = 0; rank < plan.world; rank++)
		assert_int_equal(ranks_wait(&ranks, rank), 99);
}

/* As in a container: Docker gives 64 MiB, of which the others have taken most. */
static void test_ucx__a_full_dev_shm(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m") < 0) {
		print_message("SKIPPED: a small /dev/shm needs a mount namespace, as root\n");
		skip();
	}
	ranks_run_worlds("ucx", ranks_check_backend, false, 2, 4);
	ranks_run_worlds("ucx", operations_collectives, false, 3, 3);
	assert_int_equal(umount("/dev/shm"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ucx__is_the_backend),
		cmocka_unit_test(test_ucx__collectives_in_shared_memory),
		cmocka_unit_test(test_ucx__collectives_over_tcp),
		cmocka_unit_test(test_ucx__collectives_of_eight),
		cmocka_unit_test(test_ucx__messages),
		cmocka_unit_test(test_ucx__receives_from_any_rank),
		cmocka_unit_test(test_ucx__exchanges),
		cmocka_unit_test(test_ucx__operations_outstanding),
		cmocka_unit_test(test_ucx__groups),
		cmocka_unit_test(test_ucx__lengths_must_agree),
		cmocka_unit_test(test_ucx__what_is_sent_needs_no_help_to_arrive),
		cmocka_unit_test(test_ucx__who_leaves_waits_asleep),
		cmocka_unit_test(test_ucx__without_a_transport_the_start_fails),
		cmocka_unit_test(test_ucx__a_full_dev_shm),
	};

	if (setenv("RH_COMM_PATH", RH_COMM_MODULES, 1) < 0)
		return 1;
	return cmocka_run_group_tests_name("comm/ucx/ucx", tests, NULL, NULL);
}
