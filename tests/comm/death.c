/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/death.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/core/error.h"

enum { WORLD = 3, ROUNDS = 5, RELAYS = 4, BURNERS_MOST = 64, PATIENCE_MS = 300000 };
/* A busy process ends by itself after so many seconds, whatever becomes of the test. */
#define BURNER_SECONDS 600
#define PROMISE RH_COMM_SECOND
/* Threads take turns in a rank that has to learn it, where the yardstick has none, so a death takes several times as
 * long; without care it took hundreds. */
#define RATIO 20

/* Who dies, and where; the rank after it is in the group, too. */
struct death {
	int32_t victim;
	bool in_group;
	int marks;   /* a byte from each rank that is in the midst of it */
	int reports; /* struct report of each rank that got the error */
};

struct report {
	int32_t rank;
	int32_t culprit;
	int32_t code;
	int64_t at;
};

static void burn(void)
{
	volatile uint64_t sum = 0;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)alarm(BURNER_SECONDS);
	for (;;)
		sum++;
}

/* @return how many were started */
static int start_burners(pid_t *pids)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int count = processors * 2 > BURNERS_MOST ? BURNERS_MOST : (int)processors * 2;

	for (int i = 0; i < count; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			burn();
	}
	return count;
}

static void end_burners(const pid_t *pids, int count)
{
	for (int i = 0; i < count; i++) {
		(void)kill(pids[i], SIGKILL);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
}

static void read_whole(int fd, void *data, size_t length)
{
	struct pollfd set = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&set, 1, PATIENCE_MS), 1);
	assert_int_equal(read(fd, data, length), length);
}

/* Wait for the end of one line, and pass it on to the next process. */
static pid_t start_relay(int in, int out, const int *close_first)
{
	pid_t pid = fork();
	char byte;

	assert_true(pid >= 0);
	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; *close_first >= 0; close_first++)
		(void)close(*close_first);
	_exit(read(in, &byte, 1) < 0 || write(out, "", 1) != 1);
}

/* A process is killed, one that has a line to it notices, and passes it on to another one, and that one to us. @return
 * microseconds
 */
static int64_t relay_death(void)
{
	int lines[3][2];
	pid_t pids[3];
	int64_t since;
	char byte;

	for (int i = 0; i < 3; i++)
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines[i]), 0);
	pids[0] = fork();
	assert_true(pids[0] >= 0);
	if (pids[0] == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	(void)close(lines[0][0]);
	pids[1] = start_relay(lines[0][1], lines[1][0], (const int[]){-1});
	pids[2] = start_relay(lines[1][1], lines[2][0], (const int[]){lines[1][0], -1});
	since = rh_comm_now();
	assert_int_equal(kill(pids[0], SIGKILL), 0);
	read_whole(lines[2][1], &byte, 1);
	since = rh_comm_now() - since;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
		(void)close(lines[i][1]);
		if (i > 0)
			(void)close(lines[i][0]);
	}
	return since;
}

static int64_t worst_relay(void)
{
	int64_t worst = 0;

	for (int i = 0; i < RELAYS; i++) {
		int64_t time = relay_death();

		worst = time > worst ? time : worst;
	}
	return worst;
}

/* Members of the group reduce there; who is none waits for them in the world. */
static int reduce_until_death(struct rh_comm *comm, const void *arg)
{
	static float data[1000];
	const struct death *death = arg;
	const int32_t ranks[] = {(death->victim + 1) % WORLD, death->victim};
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER, .timeout = -1};
	struct report report = {.rank = rh_comm_rank(comm)};
	bool member = report.rank == ranks[0] || report.rank == ranks[1];
	struct rh_comm_error err = {0};
	struct rh_comm *group = NULL;
	int32_t r = death->in_group && member ? rh_comm_group(comm, ranks, 2, &group, &err) : 0;

	for (int i = 0; r == 0; i++) {
		if (i == ROUNDS && write(death->marks, "", 1) != 1)
			return 1;
		if (death->in_group && !member && i >= ROUNDS)
			r = rh_comm_run(comm, &barrier, &err);
		else if (!death->in_group || member)
			r = rh_comm_all_reduce(group ? group : comm, data, 1000, RH_COMM_F32, RH_COMM_SUM, &err);
	}
	report.at = rh_comm_now();
	report.code = r;
	report.culprit = err.rank;
	if (r != RH_COMM_EPEER || err.rank != death->victim)
		(void)fprintf(stderr, "rank %d: %s\n", (int)report.rank, err.text);
	r = write(death->reports, &report, sizeof(report)) == sizeof(report) ? 0 : 1;
	rh_comm_free(group);
	return r;
}

/* @return how long the others took to learn it, microseconds */
static int64_t check_death(const char *backend, bool no_shm, int32_t victim, bool in_group)
{
	struct death death = {.victim = victim, .in_group = in_group};
	struct ranks_plan plan = {
		.world = WORLD, .no_shm = no_shm, .backend = backend, .fn = reduce_until_death, .arg = &death};
	struct report report;
	struct ranks ranks;
	int marks[2];
	int reports[2];
	int64_t since;
	int64_t last = 0;
	char byte;

	assert_int_equal(pipe(marks), 0);
	assert_int_equal(pipe(reports), 0);
	death.marks = marks[1];
	death.reports = reports[1];
	ranks_start(&plan, &ranks);
	for (int i = 0; i < WORLD; i++)
		read_whole(marks[0], &byte, 1);
	since = rh_comm_now();
	assert_int_equal(kill(ranks.pids[victim], SIGKILL), 0);
	for (int i = 0; i < WORLD - 1; i++) {
		read_whole(reports[0], &report, sizeof(report));
		assert_int_equal(report.code, RH_COMM_EPEER);
		assert_int_equal(report.culprit, victim);
		last = report.at > last ? report.at : last;
	}
	for (int32_t rank = 0; rank < WORLD; rank++)
		assert_int_equal(ranks_wait(&ranks, rank), rank == victim ? 128 + SIGKILL : 0);
	for (int i = 0; i < 2; i++) {
		(void)close(marks[i]);
		(void)close(reports[i]);
	}
	return last - since;
}

void death_check_under_load(const char *backend, bool no_shm)
{
	pid_t burners[BURNERS_MOST];
	int count = start_burners(burners);
	int64_t plain = worst_relay();
	int64_t worst = 0;

	for (int i = 0; i < 2 * WORLD; i++) {
		int64_t time = check_death(backend, no_shm, i % WORLD, i >= WORLD);
		int64_t relay = worst_relay();

		print_message("%s%s, rank %d%s: %lld us, plain %lld us\n", backend, no_shm ? " over TCP" : "", i % WORLD,
		              i >= WORLD ? " in a group" : "", (long long)time, (long long)relay);
		plain = relay > plain ? relay : plain;
		worst = time > worst ? time : worst;
	}
	end_burners(burners, count);
	if (worst > PROMISE && worst > RATIO * plain)
		fail_msg("a death was known after %lld us; without a library it took %lld us", (long long)worst,
		         (long long)plain);
}
