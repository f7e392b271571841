/* SPDX-License-Identifier: Apache-2.0 */
/* Beside busy processes a yield takes long: what happened meanwhile counts right after it. */
#include "comm/core/request/wait.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ranks.h"

/* What the yields of rank 0 are to do in this process. */
enum role { NOTHING, AWAIT_END, TAKE_LONG };
static _Atomic int role;
static struct rh_comm *watched;
static int go_ahead; /* a byte for rank 1 */
static _Thread_local bool is_main;
static _Atomic int yields; /* of the thread that waits; of the service thread since it looked at its connection */
static _Atomic int most;

int __real_sched_yield(void);
int __wrap_sched_yield(void);
bool __real_rh_comm_client_serve(struct rh_comm_client *client, int64_t timeout);
bool __wrap_rh_comm_client_serve(struct rh_comm_client *client, int64_t timeout);

static void pause_shortly(void)
{
	static const struct timespec pause = {0, 2000000};

	(void)nanosleep(&pause, NULL);
}

static void let_rank_1_die(void)
{
	if (write(go_ahead, "", 1) != 1)
		_exit(95);
}

int __wrap_sched_yield(void)
{
	int now = atomic_load(&role);

	if (now == AWAIT_END && is_main && yields++ == 0) {
		let_rank_1_die();
		while (rh_comm_world_check(watched->world, NULL) == 0)
			pause_shortly();
	}
	if (now == TAKE_LONG && !is_main) {
		int count = ++yields;

		if (most == 0)
			let_rank_1_die();
		most = count > most ? count : most;
		pause_shortly();
	}
	return __real_sched_yield();
}

bool __wrap_rh_comm_client_serve(struct rh_comm_client *client, int64_t timeout)
{
	if (atomic_load(&role) == TAKE_LONG)
		yields = 0;
	return __real_rh_comm_client_serve(client, timeout);
}

/* Rank 1 dies while rank 0 waits for it. @return what rank 0 gets */
static int32_t wait_for_dead(struct rh_comm *comm, const int *ends, enum role own, struct rh_comm_error *err)
{
	static float value;
	const struct rh_comm_op op = {.size = sizeof(op),
	                              .what = RH_COMM_ALL_REDUCE,
	                              .out = &value,
	                              .count = 1,
	                              .type = RH_COMM_F32,
	                              .reduce = RH_COMM_SUM};
	struct rh_comm_request *request = NULL;
	int32_t r;
	char byte;

	if (rh_comm_rank(comm) == 1) {
		if (read(ends[0], &byte, 1) == 1)
			(void)raise(SIGKILL);
		return 1;
	}
	watched = comm;
	is_main = true;
	go_ahead = ends[1];
	atomic_store(&role, own);
	r = rh_comm_post(comm, &op, &request, err);
	while (r == 0 && own == TAKE_LONG && rh_comm_world_check(comm->world, NULL) == 0)
		pause_shortly();
	if (r == 0)
		r = rh_comm_wait(request, err);
	atomic_store(&role, NOTHING);
	return r;
}

static int look_after_a_yield(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_error err = {0};
	int32_t r = wait_for_dead(comm, arg, AWAIT_END, &err);

	if (r == RH_COMM_EPEER && err.rank == 1 && yields == 1)
		return 0;
	(void)fprintf(stderr, "%d yields; %d, rank %d: %s\n", yields, (int)r, (int)err.rank, err.text);
	return 1;
}

static int serve_between_yields(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_error err = {0};
	int32_t r = wait_for_dead(comm, arg, TAKE_LONG, &err);

	if (r == RH_COMM_EPEER && err.rank == 1 && most == 1)
		return 0;
	(void)fprintf(stderr, "%d yields; %d, rank %d: %s\n", most, (int)r, (int)err.rank, err.text);
	return 1;
}

static void run_pair(ranks_fn *fn)
{
	int ends[2];
	struct ranks_plan plan = {.world = 2, .fn = fn, .arg = ends};

	assert_int_equal(pipe(ends), 0);
	for (int no_shm = 0; no_shm < 2; no_shm++) {
		struct ranks ranks;

		plan.no_shm = no_shm != 0;
		ranks_start(&plan, &ranks);
		assert_int_equal(ranks_wait(&ranks, 0), 0);
		assert_int_equal(ranks_wait(&ranks, 1), 128 + SIGKILL);
	}
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* The thread that waits finds out with its first look after the end. */
static void test_wait__the_end_of_the_world_is_seen_after_one_yield(void **state)
{
	(void)state;
	run_pair(look_after_a_yield);
}

/* Where no thread waits the service thread moves the operation on, and serves its connection meanwhile. */
static void test_wait__the_connection_is_served_between_yields(void **state)
{
	(void)state;
	run_pair(serve_between_yields);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait__the_end_of_the_world_is_seen_after_one_yield),
		cmocka_unit_test(test_wait__the_connection_is_served_between_yields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
