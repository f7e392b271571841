/* SPDX-License-Identifier: Apache-2.0 */
/* What ends a world of the backend ucx: ranks that die or abort. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

#include "comm/death.h"
#include "comm/ranks.h"

/* Who dies, and in which operations. */
struct death {
	int32_t victim;
	size_t count;
};

/* All-reduces until something ends them; the exit status is the rank that the error names, plus one. */
static int reduce_until_death(struct rh_comm *comm, const void *arg)
{
	static float data[100000];
	const struct death *death = arg;
	struct rh_comm_error err = {0};
	int32_t r = 0;

	for (int i = 0; r == 0; i++) {
		if (i == 30 && rh_comm_rank(comm) == death->victim)
			(void)raise(SIGKILL);
		r = rh_comm_all_reduce(comm, data, death->count, RH_COMM_F32, RH_COMM_SUM, &err);
	}
	if (r != RH_COMM_EPEER)
		(void)fprintf(stderr, "rank %d: %s\n", (int)rh_comm_rank(comm), err.text);
	return r == RH_COMM_EPEER ? err.rank + 1 : 90;
}

static int is_of_ucx(const struct dirent *entry)
{
	return strncmp(entry->d_name, "ucx_", 4) == 0 || strncmp(entry->d_name, "rh_comm", 7) == 0;
}

/* Names of UCX in shared memory. */
static int list_names(struct dirent ***ret_names)
{
	int count = scandir("/dev/shm", ret_names, is_of_ucx, alphasort);

	assert_true(count >= 0);
	return count;
}

static void free_names(struct dirent **names, int count)
{
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

static bool has_name(struct dirent **names, int count, const char *name)
{
	for (int i = 0; i < count; i++) {
		if (strcmp(names[i]->d_name, name) == 0)
			return true;
	}
	return false;
}

/* Folders are named after their owners: those of other programs on this machine stay as long as these want. */
static bool is_of_others(const char *name, const struct ranks *ranks)
{
	int pid;

	if (sscanf(name, "rh_comm_ucx.%*x.%d.", &pid) != 1)
		return false;
	for (int32_t rank = 0; rank < ranks->world; rank++) {
		if (ranks->pids[rank] == pid)
			return false;
	}
	return true;
}

/* All names that came since `old` must go: others on this machine use UCX at the same time, but not for ever. */
static void expect_no_litter(struct dirent **old, int old_count, const struct ranks *ranks)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	struct dirent **names;
	int count = list_names(&names);

	for (int i = 0; i < count; i++) {
		char path[300];

		if (is_of_others(names[i]->d_name, ranks))
			continue;
		(void)snprintf(path, sizeof(path), "/dev/shm/%s", names[i]->d_name);
		for (int tries = 0; !has_name(old, old_count, names[i]->d_name) && access(path, F_OK) == 0; tries++) {
			if (tries > 1200)
				fail_msg("%s was left", path);
			(void)nanosleep(&pause, NULL);
		}
	}
	free_names(names, count);
}

static void check_death(int32_t world, int32_t victim, bool no_shm, size_t count)
{
	struct death death = {victim, count};
	struct ranks_plan plan = {
		.world = world, .no_shm = no_shm, .backend = "ucx", .fn = reduce_until_death, .arg = &death};
	struct dirent **names;
	int count_of_names = list_names(&names);
	struct ranks ranks;

	ranks_start(&plan, &ranks);
	for (int32_t rank = 0; rank < plan.world; rank++)
		assert_int_equal(ranks_wait(&ranks, rank), rank == victim ? 128 + SIGKILL : victim + 1);
	expect_no_litter(names, count_of_names, &ranks);
	free_names(names, count_of_names);
}

static void test_failure__a_killed_rank_is_named_by_all_others(void **state)
{
	(void)state;
	for (int32_t victim = 0; victim < 3; victim++) {
		check_death(3, victim, false, victim == 1 ? 1 : 100000);
		check_death(3, victim, true, victim == 1 ? 1 : 100000);
	}
	/* small vectors of so many ranks are the backend's own */
	check_death(2, 1, false, 1);
	check_death(4, 0, false, 2048);
}

/*
 * Folders of names of processes that were killed: who starts next removes them. (Who goes on without them does, too,
 * but on a busy machine the other rank may have given up before this one died.)
 */
static void test_failure__what_the_dead_left_is_removed(void **state)
{
	static const struct timespec moment = {0, 1000000};
	static const char *const env[] = {"RH_COMM_INIT_TIMEOUT=3", NULL};
	struct death nobody = {-1, 1000};
	char left[100];
	unsigned long long space = 0;
	pid_t dead = fork();

	(void)state;
	if (dead == 0)
		_exit(0);
	assert_int_equal(waitpid(dead, NULL, 0), dead);
	assert_true(readlink("/proc/self/ns/pid", left, sizeof(left) - 1) > 0);
	assert_int_equal(sscanf(left, "pid:[%llu]", &space), 1);
	(void)snprintf(left, sizeof(left), "/dev/shm/rh_comm_ucx.%llx.%d.1.aaaaaa", space, (int)dead);
	assert_int_equal(mkdir(left, 0700), 0);
	for (int32_t round = 0; round < 12; round++) {
		struct ranks_plan plan = {.world = 2, .backend = "ucx", .env = env, .fn = reduce_until_death, .arg = &nobody};
		struct dirent **names;
		int count_of_names = list_names(&names);
		struct ranks ranks;

		ranks_start(&plan, &ranks);
		for (int32_t i = 0; i < 20 + round * 6; i++)
			(void)nanosleep(&moment, NULL);
		(void)kill(ranks.pids[1], SIGKILL);
		for (int32_t rank = 0; rank < plan.world; rank++)
			(void)ranks_wait(&ranks, rank);
		ranks_run_worlds("ucx", ranks_check_backend, false, 2, 2);
		expect_no_litter(names, count_of_names, &ranks);
		free_names(names, count_of_names);
	}
	assert_int_not_equal(access(left, F_OK), 0);
}

static int count_entries(const char *path)
{
	DIR *folder = opendir(path);
	int count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	(void)closedir(folder);
	return count;
}

/* A thread that was joined may be listed for a moment more. */
static void expect_threads(int count)
{
	static const struct timespec moment = {0, 10000000};

	for (int i = 0; i < 1000 && count_entries("/proc/self/task") != count; i++)
		(void)nanosleep(&moment, NULL);
	assert_int_equal(count_entries("/proc/self/task"), count);
}

/* Rank 1 dies; rank 0 is this process. */
static int32_t outlive_one(bool no_shm, int port)
{
	struct rh_comm_options options = {
		.size = sizeof(options), .has_rank = 1, .world = 2, .backend = "ucx", .host = "127.0.0.1", .port = port};
	static float data[100000];
	struct rh_comm_error err = {0};
	struct rh_comm *comm = NULL;
	pid_t pid;
	int32_t r;

	(void)setenv("RH_COMM_SHM", no_shm ? "off" : "on", 1);
	(void)setenv("RH_COMM_LOG", "off", 1);
	pid = fork();
	options.rank = pid == 0;
	r = rh_comm_init(&options, &comm, &err);
	for (int i = 0; r == 0; i++) {
		if (pid == 0 && i == 30)
			(void)raise(SIGKILL);
		r = rh_comm_all_reduce(comm, data, i % 2 ? 100000 : 10, RH_COMM_F32, RH_COMM_SUM, &err);
	}
	rh_comm_free(comm);
	if (pid == 0)
		_exit(1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return r;
}

static void *do_nothing(void *arg)
{
	return arg;
}

static void test_failure__a_world_that_failed_leaves_nothing_in_the_process(void **state)
{
	pthread_t thread;

	(void)state;
	/* ThreadSanitizer starts a thread of its own with the first one */
	assert_int_equal(pthread_create(&thread, NULL, do_nothing, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (int round = 0; round < 6; round++) {
		int files = count_entries("/proc/self/fd");
		int threads = count_entries("/proc/self/task");

		assert_int_equal(outlive_one(round % 2 == 1, ranks_free_port()), RH_COMM_EPEER);
		assert_int_equal(count_entries("/proc/self/fd"), files);
		expect_threads(threads);
	}
	(void)unsetenv("RH_COMM_SHM");
	(void)unsetenv("RH_COMM_LOG");
}

static void test_failure__a_death_is_known_in_time_under_load(void **state)
{
	(void)state;
	death_check_under_load("ucx", false);
	death_check_under_load("ucx", true);
}

/* @return whether the line is of a rank that came when rank 0 had ended, or just before, after it had named rank 1 */
static bool is_of_latecomer(const char *line, bool rank_0_ended)
{
	return rank_0_ended && strncmp(line, "rank 2: ", 8) == 0 &&
	       (strstr(line, "was not reached in time, it has not started or has ended") ||
	        strstr(line, "rank 0 died: its connection closed"));
}

/* Every line of those who could not start names rank 1. */
static void check_reasons(const char *path)
{
	FILE *file = fopen(path, "r");
	bool rank_0_ended = false;
	char line[700];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		const char *reason = strstr(line, "init: ");

		if (reason && !strstr(reason, "rank 1") && !is_of_latecomer(line, rank_0_ended))
			fail_msg("no rank is named: %s", line);
		rank_0_ended = rank_0_ended || strncmp(line, "rank 0: ", 8) == 0;
	}
	(void)fclose(file);
}

/* Rank 1 is killed at some point of its start, or soon after it. */
static void check_early_death(int64_t delay, const char *log)
{
	static const char *const env[] = {"RH_COMM_INIT_TIMEOUT=30", NULL};
	struct death nobody = {-1, 1000};
	struct ranks_plan plan = {
		.world = 3, .no_shm = true, .backend = "ucx", .log = log, .env = env, .fn = reduce_until_death, .arg = &nobody};
	struct timespec pause = {0, delay * 1000000};
	struct ranks ranks;

	assert_int_equal(truncate(log, 0), 0);
	ranks_start(&plan, &ranks);
	/* a moment of the start: rows name several */
	(void)nanosleep(&pause, NULL);
	(void)kill(ranks.pids[1], SIGKILL);
	for (int32_t rank = 0; rank < plan.world; rank++) {
		int status = ranks_wait(&ranks, rank);

		if (rank == 1)
			assert_int_equal(status, 128 + SIGKILL);
		else
			assert_true(status == 99 || status == 2);
	}
	check_reasons(log);
}

static void test_failure__a_rank_killed_while_it_starts_is_named(void **state)
{
	char log[] = "/tmp/rh-ucx-XXXXXX";
	int fd = mkstemp(log);

	(void)state;
	assert_true(fd >= 0);
	(void)close(fd);
	for (int64_t delay = 20; delay <= 300; delay += 40)
		check_early_death(delay, log);
	(void)unlink(log);
}

/* Rank 1 aborts while messages of all sizes are under way that nobody will ever meet. */
static int abort_with_messages(struct rh_comm *comm, const void *arg)
{
	static char data[4][1 << 20];
	struct rh_comm_request *requests[4] = {NULL};
	struct rh_comm_error err = {0};
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	int32_t peer = 1 - rh_comm_rank(comm);
	int posted = 0;

	(void)arg;
	/* once it is done, nobody is in rh_comm_init() any more */
	if (rh_comm_run(comm, &barrier, &err) != 0 && err.code != RH_COMM_EABORTED)
		return 4;
	for (uint32_t i = 0; i < 4; i++) {
		struct rh_comm_op op = {.size = sizeof(op),
		                        .what = i % 2 ? RH_COMM_SEND : RH_COMM_RECV,
		                        .out = data[i],
		                        .count = sizeof(data[i]),
		                        .type = RH_COMM_U8,
		                        .peer = peer,
		                        .tag = i};

		posted += rh_comm_post(comm, &op, &requests[i], &err) == 0;
	}
	if (rh_comm_rank(comm) == 1)
		rh_comm_abort(comm, "the loss is no number");
	else if (posted < 4 && err.code != RH_COMM_EABORTED)
		return 1;
	for (int i = 0; i < posted; i++) {
		if (rh_comm_wait(requests[i], &err) != RH_COMM_EABORTED || err.rank != 1)
			return 2;
	}
	return strstr(err.text, "the loss is no number") ? 0 : 3;
}

static void test_failure__an_abort_ends_what_is_under_way(void **state)
{
	(void)state;
	ranks_run_worlds("ucx", abort_with_messages, false, 2, 2);
	ranks_run_worlds("ucx", abort_with_messages, true, 2, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failure__a_killed_rank_is_named_by_all_others),
		cmocka_unit_test(test_failure__what_the_dead_left_is_removed),
		cmocka_unit_test(test_failure__a_world_that_failed_leaves_nothing_in_the_process),
		cmocka_unit_test(test_failure__a_death_is_known_in_time_under_load),
		cmocka_unit_test(test_failure__a_rank_killed_while_it_starts_is_named),
		cmocka_unit_test(test_failure__an_abort_ends_what_is_under_way),
	};

	if (setenv("RH_COMM_PATH", RH_COMM_MODULES, 1) < 0)
		return 1;
	return cmocka_run_group_tests_name("comm/ucx/failure", tests, NULL, NULL);
}
