/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that diverge, or are stopped, over shared memory and TCP; and at the start, too: the right one is named. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/divergence.h"

static void test_divergence__a_group_is_named_with_ranks_of_the_world(void **state)
{
	(void)state;
	divergence_check_group("native", false);
	divergence_check_group("native", true);
}

static void test_divergence__in_shared_memory(void **state)
{
	(void)state;
	divergence_check("native", false);
}

static void test_divergence__over_tcp(void **state)
{
	(void)state;
	divergence_check("native", true);
}

static void test_divergence__a_stopped_rank_in_shared_memory(void **state)
{
	(void)state;
	divergence_check_stopped("native", false);
}

static void test_divergence__a_stopped_rank_over_tcp(void **state)
{
	(void)state;
	divergence_check_stopped("native", true);
}

/* Where a rank of the next world stops: it has joined the others; or it is about to let them connect to it. */
enum moment { JOINED, LISTENING };
static enum moment stop_moment;
static int32_t stop_rank = -1;

static void stop_at(enum moment moment)
{
	const char *rank = getenv("RH_COMM_RANK");

	if (moment == stop_moment && rank && strtol(rank, NULL, 10) == stop_rank)
		(void)raise(SIGSTOP);
}

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	stop_at(JOINED);
	return __real_sched_getaffinity(pid, size, set);
}

int __wrap_listen(int fd, int backlog)
{
	static int32_t calls;

	/* rank 0 has listened for all before that */
	if (++calls == (stop_rank == 0 ? 2 : 1))
		stop_at(LISTENING);
	return __real_listen(fd, backlog);
}

static int go_on(struct rh_comm *comm, const void *arg)
{
	(void)comm;
	(void)arg;
	return 0;
}

/* @return whether the log says the same of all but the victim */
static bool names(const char *log, int32_t victim)
{
	char line[1000];
	char name[60];
	char away[60];
	int count = 0;
	FILE *file = fopen(log, "re");

	(void)snprintf(name, sizeof(name), "it waited for rank %d", (int)victim);
	/* rank 0 may have been stopped before the others were let in */
	(void)snprintf(away, sizeof(away), "init: rank %d at 127.0.0.1 port", (int)victim);
	while (file && fgets(line, sizeof(line), file)) {
		if (strstr(line, ": init: ") && (strstr(line, name) || strstr(line, away)))
			count++;
		else if (strstr(line, ": init: "))
			print_message("%s", line);
	}
	if (file)
		(void)fclose(file);
	return count == 2;
}

struct start {
	enum moment moment;
	int32_t victim;
	bool no_shm;
	char log[30];
	struct ranks ranks;
};

static void begin_start(struct start *start)
{
	static const char *const env[] = {"RH_COMM_INIT_TIMEOUT=5", NULL};
	struct ranks_plan plan = {.world = 3, .no_shm = start->no_shm, .log = start->log, .env = env, .fn = go_on};
	int fd;

	(void)snprintf(start->log, sizeof(start->log), "/tmp/rh-comm-test-XXXXXX");
	fd = mkstemp(start->log);
	assert_true(fd >= 0);
	(void)close(fd);
	stop_moment = start->moment;
	stop_rank = start->victim;
	ranks_start(&plan, &start->ranks);
	stop_rank = -1;
}

static void end_start(struct start *start)
{
	for (int32_t rank = 0; rank < start->ranks.world; rank++) {
		if (rank != start->victim)
			assert_int_equal(ranks_wait(&start->ranks, rank), 99);
	}
	(void)kill(start->ranks.pids[start->victim], SIGKILL);
	assert_int_equal(ranks_wait(&start->ranks, start->victim), 128 + SIGKILL);
	if (!names(start->log, start->victim))
		fail_msg("moment %d, victim %d: it is not named", (int)start->moment, (int)start->victim);
	(void)unlink(start->log);
}

static void test_divergence__a_rank_stopped_while_all_meet(void **state)
{
	static struct start starts[] = {
		{.moment = JOINED, .victim = 0},
		{.moment = JOINED, .victim = 1, .no_shm = true},
		{.moment = JOINED, .victim = 2},
		{.moment = LISTENING, .victim = 0, .no_shm = true},
		{.moment = LISTENING, .victim = 1, .no_shm = true},
		{.moment = LISTENING, .victim = 2, .no_shm = true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		begin_start(&starts[i]);
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		end_start(&starts[i]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_divergence__a_group_is_named_with_ranks_of_the_world),
		cmocka_unit_test(test_divergence__in_shared_memory),
		cmocka_unit_test(test_divergence__over_tcp),
		cmocka_unit_test(test_divergence__a_stopped_rank_in_shared_memory),
		cmocka_unit_test(test_divergence__a_stopped_rank_over_tcp),
		cmocka_unit_test(test_divergence__a_rank_stopped_while_all_meet),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("comm/native/divergence", tests, NULL, NULL);
}
