/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend mpi through the library, with processes that mpirun starts: this program again, named what to do.
 * RH_TEST_MPIRUN and RH_TEST_MODULES name another launcher, and the folder of a backend that was built for it.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

#include "comm/any_source.h"
#include "comm/exchanges.h"
#include "comm/operations.h"

/* Contexts that two ranks have in common at most, beside the world. */
#define GROUPS 63
#define PAUSE_MS 20
#define WAIT_MS 110000
/* How long a launcher may still be there when all that it started has ended. */
#define STUCK_MS 10000

/* Ends well after an error: MPI is left as it is then, so mpirun would not return a 0 of the ranks. */
#define ENDED_WELL 77
/* What wait_for() makes of the end by a signal; no exit status is so large. */
#define SIGNALLED 256
/* Variable with the path of a file to which ranks append what they end with. */
#define RESULTS "RH_TEST_RESULTS"

/* Actions of a rank. */
struct scenario {
	const char *name;
	ranks_fn *fn;
	bool fails; /* init does, in every rank */
};

static int run_all(struct rh_comm *comm, const void *arg)
{
	int status = operations_messages(comm, arg);

	if (status == 0)
		status = operations_outstanding(comm, arg);
	if (status == 0)
		status = exchanges_seeded(comm, arg);
	if (status == 0)
		status = any_source_seeded(comm, arg);
	return status == 0 ? operations_groups(comm, arg) : status;
}

static int message(struct rh_comm *comm, int32_t what, uint32_t tag, size_t count)
{
	static char data[70000];
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = what,
	                        .out = data,
	                        .count = count,
	                        .type = RH_COMM_U8,
	                        .peer = 1 - rh_comm_rank(comm),
	                        .tag = tag};
	struct rh_comm_error err = {0};

	return rh_comm_run(comm, &op, &err);
}

/* The receiver expects less than is sent, which MPI calls truncated, or more. */
static int disagree(struct rh_comm *comm, const void *arg)
{
	bool sends = rh_comm_rank(comm) == 0;
	struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	size_t count = *(const size_t *)arg;
	int32_t r = message(comm, sends ? RH_COMM_SEND : RH_COMM_RECV, 5, sends ? 1000 : count);

	if (sends && r == 0)
		r = rh_comm_run(comm, &barrier, NULL);
	return r == RH_COMM_EINVAL ? ENDED_WELL : 1;
}

static int expect_less(struct rh_comm *comm, const void *arg)
{
	static const size_t count = 900;

	(void)arg;
	return disagree(comm, &count);
}

static int expect_more(struct rh_comm *comm, const void *arg)
{
	static const size_t count = 60000;

	(void)arg;
	return disagree(comm, &count);
}

static int use_large_tags(struct rh_comm *comm, const void *arg)
{
	bool sends = rh_comm_rank(comm) == 0;

	(void)arg;
	if (message(comm, sends ? RH_COMM_SEND : RH_COMM_RECV, 0xffffff, 100) != 0)
		return 1;
	return message(comm, sends ? RH_COMM_SEND : RH_COMM_RECV, UINT32_MAX, 100) == RH_COMM_ENOTSUP ? ENDED_WELL : 2;
}

static int abort_all(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_error err = {0};
	int64_t value = 0;
	int32_t r = 0;

	(void)arg;
	/* once it is done, nobody is in rh_comm_init() any more */
	r = rh_comm_all_reduce(comm, &value, 1, RH_COMM_I64, RH_COMM_SUM, &err);
	if (rh_comm_rank(comm) == 1)
		rh_comm_abort(comm, "the loss is no number");
	while (r == 0)
		r = rh_comm_all_reduce(comm, &value, 1, RH_COMM_I64, RH_COMM_SUM, &err);
	return r == RH_COMM_EABORTED && err.rank == 1 && strstr(err.text, "the loss is no number") ? ENDED_WELL : 1;
}

/* More groups than there are numbers, one after the other: they are given back. */
static int many_groups(struct rh_comm *comm, const void *arg)
{
	static const int32_t ranks[] = {1, 0};
	struct rh_comm_error err = {0};

	(void)arg;
	for (int i = 0; i < 100; i++) {
		struct rh_comm *group = NULL;
		int32_t value = 1;

		if (rh_comm_group(comm, ranks, 2, &group, &err) != 0)
			return 1;
		if (rh_comm_all_reduce(group, &value, 1, RH_COMM_I32, RH_COMM_SUM, &err) != 0 || value != 2)
			return 2;
		rh_comm_free(group);
	}
	return 0;
}

/* As many contexts at a time as there are numbers, with each of two ranks: numbers count for each peer by itself. */
static int many_groups_at_once(struct rh_comm *comm, const void *arg)
{
	static struct rh_comm *groups[2 * GROUPS];
	struct rh_comm_error err = {0};
	int32_t self = rh_comm_rank(comm);
	int32_t sum = 0;

	(void)arg;
	for (int32_t i = 0; i < 2 * GROUPS; i++) {
		int32_t ranks[] = {0, 1 + i % 2};

		if (self != 0 && self != ranks[1])
			continue;
		if (rh_comm_group(comm, ranks, 2, &groups[i], &err) != 0) {
			(void)fprintf(stderr, "group %d: %s\n", (int)i, err.text);
			return 1;
		}
	}
	for (int32_t i = 0; i < 2 * GROUPS; i++) {
		sum = i;
		if (groups[i] && (rh_comm_all_reduce(groups[i], &sum, 1, RH_COMM_I32, RH_COMM_SUM, &err) != 0 || sum != 2 * i))
			return 2;
	}
	for (int32_t i = 0; i < 2 * GROUPS; i++)
		rh_comm_free(groups[i]);
	return 0;
}

/* Two ranks have no more than 64 contexts in common, and learn what to do. */
static int too_many_groups(struct rh_comm *comm, const void *arg)
{
	static const int32_t ranks[] = {0, 1};
	struct rh_comm_error err = {0};
	struct rh_comm *group = NULL;
	int made = 0;

	(void)arg;
	while (made < 100 && rh_comm_group(comm, ranks, 2, &group, &err) == 0)
		made++;
	return made == GROUPS && strstr(err.text, "64 contexts open") ? ENDED_WELL : 1;
}

/* Nobody comes back from this: rank 1 dies, and either the error names it or the launcher ends all. */
static int die(struct rh_comm *comm, const void *arg)
{
	static float data[100000];
	struct rh_comm_error err = {0};
	int32_t r = 0;

	(void)arg;
	for (int i = 0; r == 0; i++) {
		if (i == 20 && rh_comm_rank(comm) == 1)
			(void)raise(SIGKILL);
		r = rh_comm_all_reduce(comm, data, 100000, RH_COMM_F32, RH_COMM_SUM, &err);
	}
	return r == RH_COMM_EPEER && err.rank == 1 ? 40 : 41;
}

static const struct scenario scenarios[] = {
	{"name", ranks_check_backend, false},
	{"collectives", operations_collectives, false},
	{"all", run_all, false},
	{"less", expect_less, false},
	{"more", expect_more, false},
	{"tags", use_large_tags, false},
	{"abort", abort_all, false},
	{"many", many_groups, false},
	{"die", die, false},
	{"refused", ranks_check_backend, true},
	{"at-once", many_groups_at_once, false},
	{"too-many", too_many_groups, false},
};

/* One rank, under mpirun. @return its exit status */
static int run_rank(const struct scenario *scenario)
{
	struct rh_comm_error err = {0};
	struct rh_comm *comm = NULL;
	int status;

	if (rh_comm_init(NULL, &comm, &err) != 0) {
		if (scenario->fails)
			return strstr(err.text, getenv("RH_TEST_REASON")) ? 0 : 98;
		(void)fprintf(stderr, "init: %s\n", err.text);
		return 99;
	}
	status = scenario->fails ? 97 : scenario->fn(comm, "mpi");
	rh_comm_free(comm);
	return status;
}

/* Append the result of this rank to the file of the launch, where there is one. @return it */
static int report(int result)
{
	const char *path = getenv(RESULTS);
	FILE *file = path ? fopen(path, "a") : NULL;

	if (file) {
		(void)fprintf(file, "%d\n", result);
		(void)fclose(file);
	}
	return result;
}

static int run_scenario(const char *name)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		if (strcmp(scenarios[i].name, name) == 0)
			return report(run_rank(&scenarios[i]));
	}
	return report(96);
}

static void set_number(const char *name, int value)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", value);
	(void)setenv(name, text, 1);
}

/* @return whether process @name is a child of @p parent, and no zombie */
static bool is_living_child(const char *name, pid_t parent)
{
	char path[300];
	char text[512];
	char state = 'Z';
	int pid = 0;
	const char *rest;
	size_t length;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", name);
	file = fopen(path, "r");
	if (!file)
		return false;
	length = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[length] = '\0';
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest + 1, " %c %d", &state, &pid) != 2)
		return false;
	return pid == parent && state != 'Z';
}

static bool has_living_child(pid_t parent)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	bool found = false;

	assert_non_null(dir);
	while (!found && (entry = readdir(dir)))
		found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && is_living_child(entry->d_name, parent);
	(void)closedir(dir);
	return found;
}

/* mpirun 4.1 waits for itself in PMIx_server_finalize() now and then, when all that it started has ended. */
static bool is_stuck(pid_t launcher, int waited)
{
	return waited >= STUCK_MS && waited % STUCK_MS == 0 && !has_living_child(launcher);
}

static int wait_for(pid_t pid)
{
	static const struct timespec pause = {0, PAUSE_MS * 1000000L};
	int status = 0;

	for (int waited = 0; waitpid(pid, &status, WNOHANG) == 0; waited += PAUSE_MS) {
		if (waited > WAIT_MS) {
			(void)kill(pid, SIGKILL);
			fail_msg("mpirun does not end");
		}
		if (is_stuck(pid, waited))
			(void)kill(pid, SIGKILL);
		(void)nanosleep(&pause, NULL);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
}

static void exec_launcher(const char *scenario, int world)
{
	char count[16];
	char self[4096];
	const char *launcher = getenv("RH_TEST_MPIRUN");
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	(void)snprintf(count, sizeof(count), "%d", world);
	(void)setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
	(void)setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
	(void)setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
	(void)setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
	(void)execl(launcher ? launcher : RH_MPIRUN, "mpirun", "-n", count, self, scenario, (char *)NULL);
}

static pid_t start(const char *scenario, int world, int rank)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	if (rank < 0) {
		exec_launcher(scenario, world);
		exit(95);
	}
	set_number("RH_COMM_RANK", rank);
	set_number("RH_COMM_WORLD", world);
	exit(run_scenario(scenario));
}

/* @return the first result that is not 0; 0 if all ranks reported that, and else SIGNALLED */
static int read_results(const char *path, int world)
{
	FILE *file = fopen(path, "r");
	int count = 0, result = 0, one;

	while (file && result == 0 && fscanf(file, "%d", &one) == 1) {
		result = one;
		count++;
	}
	if (file)
		(void)fclose(file);
	return result != 0 || count == world ? result : SIGNALLED;
}

/*
 * After a rank ended with another status than 0, mpirun 4.1 now and then dies in PMIx_server_finalize(), or waits there
 * for itself, on a busy machine most of all; that says nothing about us. Then what the ranks reported counts.
 * @return exit status of mpirun
 */
static int launch(const char *scenario, int world)
{
	char path[] = "/tmp/roundhouse-test-mpi-XXXXXX";
	int fd = mkstemp(path);
	int status;

	assert_true(fd >= 0);
	(void)close(fd);
	(void)setenv(RESULTS, path, 1);
	set_number("RH_COMM_PORT", ranks_free_port());
	status = wait_for(start(scenario, world, -1));
	(void)unsetenv(RESULTS);
	if (status >= SIGNALLED)
		status = read_results(path, world);
	(void)unlink(path);
	return status;
}

static void test_mpi__is_the_backend(void **state)
{
	(void)state;
	assert_int_equal(launch("name", 2), 0);
}

static void test_mpi__collectives(void **state)
{
	(void)state;
	for (int world = 2; world <= 4; world++)
		assert_int_equal(launch("collectives", world), 0);
}

static void test_mpi__messages_groups_and_many_outstanding(void **state)
{
	(void)state;
	assert_int_equal(launch("all", 3), 0);
	assert_int_equal(launch("all", 4), 0);
}

/* Every rank a host of its own: sends are synchronous. */
static void test_mpi__between_hosts(void **state)
{
	(void)state;
	(void)setenv("RH_COMM_SHM", "off", 1);
	assert_int_equal(launch("collectives", 3), 0);
	assert_int_equal(launch("all", 3), 0);
	assert_int_equal(launch("abort", 3), ENDED_WELL);
	(void)unsetenv("RH_COMM_SHM");
}

static void test_mpi__tags_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	assert_int_equal(launch("tags", 2), ENDED_WELL);
}

static void test_mpi__lengths_must_agree(void **state)
{
	(void)state;
	assert_int_equal(launch("less", 2), ENDED_WELL);
	assert_int_equal(launch("more", 2), ENDED_WELL);
}

static void test_mpi__an_abort_ends_all(void **state)
{
	(void)state;
	assert_int_equal(launch("abort", 3), ENDED_WELL);
}

static void test_mpi__numbers_of_groups_are_given_back(void **state)
{
	(void)state;
	assert_int_equal(launch("many", 2), 0);
}

static void test_mpi__numbers_count_for_each_peer(void **state)
{
	(void)state;
	assert_int_equal(launch("at-once", 3), 0);
	assert_int_equal(launch("too-many", 2), ENDED_WELL);
}

static void test_mpi__a_death_ends_all(void **state)
{
	(void)state;
	/* the launcher gives the signal, or what a rank ended with: never 41, another reason */
	assert_int_not_equal(launch("die", 3), 41);
	assert_int_not_equal(launch("die", 3), 0);
}

static void test_mpi__without_a_launcher_it_is_refused(void **state)
{
	pid_t pids[2];

	(void)state;
	(void)setenv("RH_TEST_REASON", "no launcher of MPI", 1);
	set_number("RH_COMM_PORT", ranks_free_port());
	for (int rank = 0; rank < 2; rank++)
		pids[rank] = start("refused", 2, rank);
	for (int rank = 0; rank < 2; rank++)
		assert_int_equal(wait_for(pids[rank]), 0);
}

/* mpirun started two processes; both believe to be one of three. */
static void test_mpi__another_world_than_the_launchers_is_refused(void **state)
{
	(void)state;
	(void)setenv("RH_TEST_REASON", "WORLD", 1);
	(void)setenv("RH_COMM_WORLD", "3", 1);
	assert_int_equal(launch("refused", 2), 0);
	(void)unsetenv("RH_COMM_WORLD");
}

int main(int argc, char **argv)
{
	const char *modules = getenv("RH_TEST_MODULES");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mpi__is_the_backend),
		cmocka_unit_test(test_mpi__collectives),
		cmocka_unit_test(test_mpi__messages_groups_and_many_outstanding),
		cmocka_unit_test(test_mpi__between_hosts),
		cmocka_unit_test(test_mpi__tags_that_do_not_fit_are_refused),
		cmocka_unit_test(test_mpi__lengths_must_agree),
		cmocka_unit_test(test_mpi__an_abort_ends_all),
		cmocka_unit_test(test_mpi__numbers_of_groups_are_given_back),
		cmocka_unit_test(test_mpi__numbers_count_for_each_peer),
		cmocka_unit_test(test_mpi__a_death_ends_all),
		cmocka_unit_test(test_mpi__without_a_launcher_it_is_refused),
		cmocka_unit_test(test_mpi__another_world_than_the_launchers_is_refused),
	};

	(void)setenv("RH_COMM_PATH", modules ? modules : RH_COMM_MODULES, 1);
	(void)setenv("RH_COMM_BACKEND", "mpi", 1);
	(void)setenv("RH_COMM_HOST", "127.0.0.1", 1);
	(void)setenv("RH_COMM_LOG", "off", 1);
	if (argc == 2)
		return run_scenario(argv[1]);
	return cmocka_run_group_tests_name("comm/mpi", tests, NULL, NULL);
}
