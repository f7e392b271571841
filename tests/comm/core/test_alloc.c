/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory runs out in one of two ranks, at each allocation in turn, from the start to the leaving: that rank gets an
 * error or goes on with right results, the other one gets an error, and nothing crashes, hangs or (under
 * AddressSanitizer) leaks.
 */
#include <signal.h>
#include <stdbool.h>
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

#include "comm/alloc_failure.h"
#include "comm/ranks.h"

#define WORLD 2
#define COUNT 5000
#define SMALL 20
#define WAIT_MS 60000
#define PAUSE_MS 2
/* Worlds at once: one that lost a rank at the start waits for its limit most of the time. */
#define BATCH 8
/* How a rank ends. */
enum { ENDED_WELL = 0, GOT_ERROR = 40, RAN_OUT = 41, SURVIVED = 42, WRONG = 43 };

/* Which allocations fail, and of whom. */
struct shortage {
	int32_t victim;
	long first;
	long count; /* -1: all from then on */
	bool no_shm;
};

static int32_t try_all_reduce(struct rh_comm *comm, struct rh_comm_error *err)
{
	static float data[COUNT];
	int32_t r;

	for (int i = 0; i < COUNT; i++)
		data[i] = 1;
	r = rh_comm_all_reduce(comm, data, COUNT, RH_COMM_F32, RH_COMM_SUM, err);
	return r == 0 && (data[0] != WORLD || data[COUNT - 1] != WORLD) ? WRONG : r;
}

static int32_t try_batch(struct rh_comm *comm, struct rh_comm_error *err)
{
	struct rh_comm_op ops[SMALL];
	struct rh_comm_request *request = NULL;
	int64_t data[SMALL];
	int32_t r;

	for (int i = 0; i < SMALL; i++) {
		data[i] = i;
		ops[i] = (struct rh_comm_op){.size = sizeof(ops[i]),
		                             .what = RH_COMM_ALL_REDUCE,
		                             .out = &data[i],
		                             .count = 1,
		                             .type = RH_COMM_I64,
		                             .reduce = RH_COMM_SUM};
	}
	r = rh_comm_post_batch(comm, ops, SMALL, &request, err);
	if (r == 0)
		r = rh_comm_wait(request, err);
	return r == 0 && data[SMALL - 1] != (int64_t)WORLD * (SMALL - 1) ? WRONG : r;
}

static int32_t try_group(struct rh_comm *comm, struct rh_comm_error *err)
{
	static const int32_t ranks[WORLD] = {1, 0};
	struct rh_comm *group = NULL;
	int32_t r = rh_comm_group(comm, ranks, WORLD, &group, err);

	if (r == 0)
		r = try_all_reduce(group, err);
	rh_comm_free(group);
	return r;
}

static int32_t try_messages(struct rh_comm *comm, struct rh_comm_error *err)
{
	struct rh_comm_request *requests[2] = {NULL};
	int32_t rank = rh_comm_rank(comm);
	int32_t words[2] = {rank, -1};
	int32_t r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		const struct rh_comm_op op = {.size = sizeof(op),
		                              .what = i == 0 ? RH_COMM_SEND : RH_COMM_RECV,
		                              .in = &words[0],
		                              .out = &words[i],
		                              .count = 1,
		                              .type = RH_COMM_I32,
		                              .peer = 1 - rank};

		r = rh_comm_post(comm, &op, &requests[i], err);
	}
	for (int i = 0; i < 2; i++) {
		int32_t s = requests[i] ? rh_comm_wait(requests[i], err) : 0;

		r = r == 0 ? s : r;
	}
	return r == 0 && words[1] != 1 - rank ? WRONG : r;
}

/* @return 0, RH_COMM_E* or WRONG */
static int32_t try_all(struct rh_comm *comm, struct rh_comm_error *err)
{
	static int32_t (*const all[])(struct rh_comm *, struct rh_comm_error *) = {try_all_reduce, try_batch, try_group,
	                                                                           try_messages};
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	int32_t r = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && r == 0; i++)
		r = all[i](comm, err);
	/* one that cannot post ends the world only when it goes: what it wanted is lost, and the other one waits for it */
	if (r == RH_COMM_ENOMEM)
		rh_comm_abort(comm, "out of memory");
	return r == 0 ? rh_comm_run(comm, &barrier, err) : r;
}

static void set_environment(int32_t rank, int port, const struct shortage *shortage)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", (int)rank);
	(void)setenv("RH_COMM_RANK", text, 1);
	(void)snprintf(text, sizeof(text), "%d", port);
	(void)setenv("RH_COMM_PORT", text, 1);
	(void)setenv("RH_COMM_WORLD", "2", 1);
	(void)setenv("RH_COMM_HOST", "127.0.0.1", 1);
	(void)setenv("RH_COMM_LOG", "off", 1);
	(void)setenv("RH_COMM_BACKEND", "native", 1);
	(void)setenv("RH_COMM_INIT_TIMEOUT", "2", 1);
	if (shortage->no_shm)
		(void)setenv("RH_COMM_SHM", "off", 1);
}

static int run_rank(int32_t rank, int port, const struct shortage *shortage)
{
	struct rh_comm_error err = {0};
	struct rh_comm *comm = NULL;
	bool ran_out;
	int32_t r;

	set_environment(rank, port, shortage);
	if (rank == shortage->victim)
		alloc_failure_arm(shortage->first, shortage->count);
	r = rh_comm_init(NULL, &comm, &err);
	if (r == 0)
		r = try_all(comm, &err);
	rh_comm_free(comm);
	ran_out = alloc_failure_disarm();
	if (r == WRONG)
		return WRONG;
	if (r < 0 && !err.text[0])
		return WRONG;
	if (ran_out)
		return r < 0 ? RAN_OUT : SURVIVED;
	return r < 0 ? GOT_ERROR : ENDED_WELL;
}

/* @return exit status, or 128 + signal */
static int wait_for(pid_t pid, const struct shortage *shortage)
{
	static const struct timespec pause = {0, PAUSE_MS * 1000000L};
	int status = 0;

	for (int waited = 0; waitpid(pid, &status, WNOHANG) == 0; waited += PAUSE_MS) {
		if (waited > WAIT_MS) {
			(void)kill(pid, SIGABRT);
			fail_msg("victim %d, allocation %ld, %ld fail: a rank does not end", (int)shortage->victim, shortage->first,
			         shortage->count);
		}
		(void)nanosleep(&pause, NULL);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct world {
	struct shortage shortage;
	int port;
	pid_t pids[WORLD];
};

static void begin_world(struct world *world)
{
	for (int32_t rank = 0; rank < WORLD; rank++) {
		world->pids[rank] = fork();
		assert_true(world->pids[rank] >= 0);
		if (world->pids[rank] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			exit(run_rank(rank, world->port, &world->shortage));
		}
	}
}

/* @return whether the victim did not end well: an allocation failed, or a limit of time passed before that one */
static bool end_world(const struct world *world)
{
	const struct shortage *shortage = &world->shortage;
	int ends[WORLD];

	for (int32_t rank = 0; rank < WORLD; rank++)
		ends[rank] = wait_for(world->pids[rank], shortage);
	for (int32_t rank = 0; rank < WORLD; rank++) {
		bool good = ends[rank] == ENDED_WELL || ends[rank] == GOT_ERROR;

		if (rank == shortage->victim)
			good |= ends[rank] == RAN_OUT || ends[rank] == SURVIVED;
		if (!good)
			fail_msg("victim %d, allocation %ld, %ld fail: rank %d ends with %d", (int)shortage->victim,
			         shortage->first, shortage->count, (int)rank, ends[rank]);
	}
	return ends[shortage->victim] != ENDED_WELL;
}

/* A port that no world of the batch has got. */
static int next_port(const struct world *worlds, int count)
{
	int port = ranks_free_port();

	for (int i = 0; i < count; i++)
		if (worlds[i].port == port)
			return next_port(worlds, count);
	return port;
}

static void run_all(int32_t victim, long count, bool no_shm)
{
	struct shortage next = {.victim = victim, .count = count, .no_shm = no_shm};
	long reached = 0;
	bool fails = true;

	/* until none of a batch fails: one may survive by trying again what it lacked memory for */
	while (fails) {
		struct world worlds[BATCH];

		fails = false;
		for (int i = 0; i < BATCH; i++) {
			worlds[i] = (struct world){.shortage = next, .port = next_port(worlds, i)};
			begin_world(&worlds[i]);
			next.first += count < 0 ? 3 : 1;
		}
		for (int i = 0; i < BATCH; i++) {
			if (!end_world(&worlds[i]))
				continue;
			fails = true;
			reached = worlds[i].shortage.first;
		}
	}
	print_message("rank %d: %ld allocations\n", (int)victim, reached);
	/* one that fails never would show as a test that ends at once */
	assert_true(reached > 20);
}

static void test_alloc__one_fails_in_rank_0(void **state)
{
	(void)state;
	run_all(0, 1, false);
}

static void test_alloc__one_fails_in_rank_1(void **state)
{
	(void)state;
	run_all(1, 1, false);
}

static void test_alloc__one_fails_between_hosts(void **state)
{
	(void)state;
	run_all(0, 1, true);
	run_all(1, 1, true);
}

static void test_alloc__all_fail_from_one_on(void **state)
{
	(void)state;
	run_all(0, -1, false);
	run_all(1, -1, false);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc__one_fails_in_rank_0),
		cmocka_unit_test(test_alloc__one_fails_in_rank_1),
		cmocka_unit_test(test_alloc__one_fails_between_hosts),
		cmocka_unit_test(test_alloc__all_fail_from_one_on),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("comm/core/alloc", tests, NULL, NULL);
}
