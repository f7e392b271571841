/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that fork. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ranks.h"

/* What a rank and its child say to the test. */
struct child_board {
	int32_t victim;
	_Atomic pid_t child;
	_Atomic int wrong; /* line at which the child found something wrong */
};

/* A child that was forked, as data loaders are: it is no rank, and may say so and leave, and nobody notices. */
static void be_a_child(struct rh_comm *comm, struct child_board *board)
{
	struct rh_comm_error err = {0};
	int32_t value = 1;

	if (rh_comm_all_reduce(comm, &value, 1, RH_COMM_I32, RH_COMM_SUM, &err) != RH_COMM_EINVAL ||
	    !strstr(err.text, "was forked from rank"))
		board->wrong = __LINE__;
	rh_comm_abort(comm, "aborted by a forked child");
	rh_comm_free(comm);
	board->child = getpid();
	(void)alarm(120);
	for (;;)
		(void)pause();
}

static int reduce_with_a_child(struct rh_comm *comm, const void *arg)
{
	union {
		const void *from;
		struct child_board *board;
	} given = {.from = arg};
	int32_t value[1000] = {0};
	struct rh_comm_error err = {0};
	int32_t r = rh_comm_all_reduce(comm, value, 1000, RH_COMM_I32, RH_COMM_MAX, &err);

	/* all have joined now: an earlier death is reported by rh_comm_init() */
	if (r == 0 && rh_comm_rank(comm) == given.board->victim && fork() == 0)
		be_a_child(comm, given.board);
	while (r == 0)
		r = rh_comm_all_reduce(comm, value, 1000, RH_COMM_I32, RH_COMM_MAX, &err);
	return r == RH_COMM_EPEER ? err.rank + 1 : 90;
}

/* The child has the dead rank's descriptors, and lives on. */
static void test_fork__a_killed_rank_whose_child_lives_is_named(void **state)
{
	struct child_board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(board, MAP_FAILED);
	for (int32_t victim = 0; victim < 4; victim++) {
		struct ranks_plan plan = {.world = 2, .no_shm = victim >= 2, .fn = reduce_with_a_child, .arg = board};
		struct ranks ranks;

		board->victim = victim % 2;
		board->child = 0;
		ranks_start(&plan, &ranks);
		for (int i = 0; i < 60000 && board->child == 0; i++)
			(void)usleep(1000);
		assert_int_not_equal(board->child, 0);
		(void)kill(ranks.pids[board->victim], SIGKILL);
		assert_int_equal(ranks_wait(&ranks, board->victim), 128 + SIGKILL);
		assert_int_equal(ranks_wait(&ranks, 1 - board->victim), board->victim + 1);
		/* it was there all the time */
		assert_int_equal(kill(board->child, SIGKILL), 0);
		assert_int_equal(board->wrong, 0);
	}
	(void)munmap(board, sizeof(*board));
}

/* Its child ends as any process does, and joins a world of its own before that. */
static int fork_and_go_on(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_options alone = {.size = sizeof(alone), .has_rank = 1, .rank = 0, .world = 1};
	struct rh_comm_error err = {0};
	int32_t value = 1;
	int status = 0;
	pid_t child;

	(void)arg;
	for (int round = 0; round < 20; round++) {
		value = 1;
		child = fork();
		if (child == 0) {
			struct rh_comm *own = NULL;

			(void)unsetenv("RH_COMM_RANK");
			(void)unsetenv("RH_COMM_WORLD");
			rh_comm_free(comm);
			if (rh_comm_init(&alone, &own, &err) < 0 ||
			    rh_comm_all_reduce(own, &value, 1, RH_COMM_I32, RH_COMM_SUM, &err) < 0)
				(void)fprintf(stderr, "child: %s\n", err.text);
			rh_comm_free(own);
			_exit(value == 1 && own ? 0 : 1);
		}
		if (rh_comm_all_reduce(comm, &value, 1, RH_COMM_I32, RH_COMM_SUM, &err) < 0 || value != rh_comm_world(comm))
			return 2;
		if (waitpid(child, &status, 0) != child || status != 0)
			return 3;
	}
	return 0;
}

static void test_fork__children_that_end_disturb_nobody(void **state)
{
	(void)state;
	for (int no_shm = 0; no_shm < 2; no_shm++) {
		struct ranks_plan plan = {.world = 3, .no_shm = no_shm != 0, .fn = fork_and_go_on};

		ranks_run(&plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fork__a_killed_rank_whose_child_lives_is_named),
		cmocka_unit_test(test_fork__children_that_end_disturb_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
