/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that die, stop, leave, abort or are late: all others learn who and why, and nothing hangs. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/death.h"
#include "comm/operations.h"
#include "comm/ranks.h"

/* All-reduces until something ends them; the exit status is the rank that the error names, plus one. */
static int reduce_for_ever(struct rh_comm *comm, const void *arg)
{
	static float data[100000];
	size_t count = *(const size_t *)arg;
	struct rh_comm_error err = {0};
	int32_t r = 0;

	while (r == 0)
		r = rh_comm_all_reduce(comm, data, count, RH_COMM_F32, RH_COMM_SUM, &err);
	if (r != RH_COMM_EPEER)
		(void)fprintf(stderr, "rank %d: %s\n", (int)rh_comm_rank(comm), err.text);
	/* and everything later ends the same way, at once */
	if (r != RH_COMM_EPEER || rh_comm_all_reduce(comm, data, 1, RH_COMM_F32, RH_COMM_SUM, NULL) != RH_COMM_EPEER)
		return 90;
	return err.rank + 1;
}

/* Names of shared memory that has one, but for those of backend ucx, whose tests may run beside this one. */
static int count_segments(void)
{
	DIR *folder = opendir("/dev/shm");
	const struct dirent *entry;
	int count = 0;

	while (folder && (entry = readdir(folder)))
		count += strncmp(entry->d_name, "rh_comm", 7) == 0 && strncmp(entry->d_name, "rh_comm_ucx.", 12) != 0;
	if (folder)
		(void)closedir(folder);
	return count;
}

static void check_death(int32_t victim, bool no_shm, size_t count, useconds_t after)
{
	struct ranks_plan plan = {.world = 3, .no_shm = no_shm, .fn = reduce_for_ever, .arg = &count};
	struct ranks ranks;

	ranks_start(&plan, &ranks);
	ranks_await_ready(&ranks);
	/* in the midst of the transfer: any moment is right, and rows name several */
	(void)usleep(after);
	(void)kill(ranks.pids[victim], SIGKILL);
	assert_int_equal(ranks_wait(&ranks, victim), 128 + SIGKILL);
	for (int32_t rank = 0; rank < plan.world; rank++) {
		if (rank != victim)
			assert_int_equal(ranks_wait(&ranks, rank), victim + 1);
	}
	assert_int_equal(count_segments(), 0);
}

static void test_failure__a_killed_rank_is_named_by_all_others(void **state)
{
	static const size_t counts[] = {1, 1000, 100000};

	(void)state;
	for (int32_t victim = 0; victim < 3; victim++) {
		for (size_t i = 0; i < 3; i++) {
			check_death(victim, false, counts[i], 20000);
			check_death(victim, true, counts[i], 20000);
		}
	}
}

static void test_failure__a_death_is_known_in_time_under_load(void **state)
{
	(void)state;
	death_check_under_load("native", false);
	death_check_under_load("native", true);
}

/* As above, with what each rank has for each other one. */
static int exchange_for_ever(struct rh_comm *comm, const void *arg)
{
	static float in[3 * 30000];
	static float out[3 * 30000];
	static const size_t counts[] = {30000, 30000, 30000};
	const struct rh_comm_op op = {.size = sizeof(op),
	                              .what = *(const int32_t *)arg,
	                              .in = in,
	                              .out = out,
	                              .count = counts[0],
	                              .type = RH_COMM_F32,
	                              .reduce = RH_COMM_SUM,
	                              .in_counts = counts,
	                              .out_counts = counts};
	struct rh_comm_error err = {0};
	int32_t r = 0;

	while (r == 0)
		r = rh_comm_run(comm, &op, &err);
	if (r != RH_COMM_EPEER)
		(void)fprintf(stderr, "rank %d: %s\n", (int)rh_comm_rank(comm), err.text);
	return r == RH_COMM_EPEER ? err.rank + 1 : 90;
}

static void test_failure__a_rank_killed_in_an_exchange_is_named(void **state)
{
	(void)state;
	for (int32_t what = RH_COMM_ALL_TO_ALL; what <= RH_COMM_REDUCE_SCATTER_V; what++) {
		int32_t victim = what % 3;
		struct ranks_plan plan = {.world = 3, .no_shm = what % 2 == 0, .fn = exchange_for_ever, .arg = &what};
		struct ranks ranks;

		ranks_start(&plan, &ranks);
		ranks_await_ready(&ranks);
		/* in the midst of the exchange: any moment is right */
		(void)usleep(20000);
		(void)kill(ranks.pids[victim], SIGKILL);
		for (int32_t rank = 0; rank < plan.world; rank++)
			assert_int_equal(ranks_wait(&ranks, rank), rank == victim ? 128 + SIGKILL : victim + 1);
	}
}

/* Many in flight through both levels, each of which waits for its turn. */
static int reduce_many_for_ever(struct rh_comm *comm, const void *arg)
{
	enum { PENDING = 50, LENGTH = 3000 };
	static float data[PENDING][LENGTH];
	struct rh_comm_request *requests[PENDING];
	struct rh_comm_error err = {0};
	int32_t r = 0;

	(void)arg;
	while (r == 0) {
		int posted = 0;

		for (; posted < PENDING && r == 0; posted += r == 0) {
			const struct rh_comm_op op = {.size = sizeof(op),
			                              .what = RH_COMM_ALL_REDUCE,
			                              .out = data[posted],
			                              .count = LENGTH,
			                              .type = RH_COMM_F32,
			                              .reduce = RH_COMM_SUM};

			r = rh_comm_post(comm, &op, &requests[posted], &err);
		}
		for (int i = 0; i < posted; i++) {
			int32_t s = rh_comm_wait(requests[i], &err);

			r = s != 0 ? s : r;
		}
	}
	return r == RH_COMM_EPEER ? err.rank + 1 : 90;
}

static void test_failure__a_rank_killed_on_one_of_several_hosts(void **state)
{
	static const char *const places[] = {"AABB", "AAB"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct ranks_plan plan = {.world = (int32_t)strlen(places[i]), .places = places[i], .fn = reduce_many_for_ever};

		for (int32_t victim = 0; victim < plan.world; victim++) {
			struct ranks ranks;

			ranks_start(&plan, &ranks);
			ranks_await_ready(&ranks);
			/* in the midst of the exchange: any moment is right */
			(void)usleep(20000);
			(void)kill(ranks.pids[victim], SIGKILL);
			for (int32_t rank = 0; rank < plan.world; rank++)
				assert_int_equal(ranks_wait(&ranks, rank), rank == victim ? 128 + SIGKILL : victim + 1);
		}
	}
}

/* Before the world stands: those that are left cannot start, and say so in time. */
static void test_failure__a_rank_killed_while_all_meet(void **state)
{
	static const char *const env[] = {"RH_COMM_INIT_TIMEOUT=3", NULL};
	static const size_t count = 1000;
	struct ranks_plan plan = {.world = 3, .env = env, .fn = reduce_for_ever, .arg = &count};

	(void)state;
	for (int32_t round = 0; round < 6; round++) {
		int32_t victim = round % 3;
		struct ranks ranks;

		ranks_start(&plan, &ranks);
		/* another moment of the start in each round */
		(void)usleep((useconds_t)round * 2000);
		(void)kill(ranks.pids[victim], SIGKILL);
		for (int32_t rank = 0; rank < plan.world; rank++) {
			int status = ranks_wait(&ranks, rank);

			if (rank != victim)
				assert_true(status == victim + 1 || status == 99);
		}
		assert_int_equal(count_segments(), 0);
	}
}

/* Rank 1 dies instead of making the group, for which the others wait. */
static int die_instead_of_grouping(struct rh_comm *comm, const void *arg)
{
	static const int32_t ranks[] = {0, 1, 2};
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	struct rh_comm_error err = {0};
	struct rh_comm *group = NULL;
	int32_t r;

	(void)arg;
	if (rh_comm_rank(comm) == 1) {
		/* nothing shows that the others wait for it by now; earlier would be right, too */
		(void)usleep(300000);
		(void)raise(SIGKILL);
	}
	r = rh_comm_group(comm, ranks, 3, &group, &err);
	/* not every rank waits for every other one */
	if (r == 0)
		r = rh_comm_run(group, &barrier, &err);
	rh_comm_free(group);
	if (r == RH_COMM_EPEER && err.rank == 1)
		return 0;
	(void)fprintf(stderr, "rank %d: %s\n", (int)rh_comm_rank(comm), err.text);
	return 1;
}

static void test_failure__a_rank_killed_while_others_make_a_group(void **state)
{
	(void)state;
	for (int no_shm = 0; no_shm < 2; no_shm++) {
		struct ranks_plan plan = {.world = 3, .no_shm = no_shm == 1, .fn = die_instead_of_grouping};
		struct ranks ranks;

		ranks_start(&plan, &ranks);
		for (int32_t rank = 0; rank < plan.world; rank++)
			assert_int_equal(ranks_wait(&ranks, rank), rank == 1 ? 128 + SIGKILL : 0);
	}
}

static int die_instead_of_leaving(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};

	(void)arg;
	/* who is through it first may die before the others are: that is their end, too */
	(void)rh_comm_run(comm, &barrier, NULL);
	if (rh_comm_rank(comm) == 1)
		(void)raise(SIGKILL);
	return 0;
}

static void test_failure__a_rank_killed_while_all_leave(void **state)
{
	struct ranks_plan plan = {.world = 3, .fn = die_instead_of_leaving};
	struct ranks ranks;

	(void)state;
	ranks_start(&plan, &ranks);
	for (int32_t rank = 0; rank < plan.world; rank++)
		assert_int_equal(ranks_wait(&ranks, rank), rank == 1 ? 128 + SIGKILL : 0);
}

static int abort_or_wait(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_error err = {0};
	int64_t value = 0;
	/* once it is done all have come */
	int32_t r = rh_comm_all_reduce(comm, &value, 1, RH_COMM_I64, RH_COMM_SUM, &err);

	(void)arg;
	if (rh_comm_rank(comm) == 1) {
		/* nothing shows that the others wait in a collective by now; earlier would be right, too */
		(void)usleep(50000);
		rh_comm_abort(comm, "the loss is no number");
	}
	while (r == 0)
		r = rh_comm_all_reduce(comm, &value, 1, RH_COMM_I64, RH_COMM_SUM, &err);
	return r == RH_COMM_EABORTED && err.rank == 1 && strstr(err.text, "the loss is no number") ? 0 : 1;
}

static void test_failure__an_abort_ends_all(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, abort_or_wait, false, 2, 3);
	ranks_run_worlds(NULL, abort_or_wait, true, 3, 3);
}

static int wait_too_long(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_op op = {.size = sizeof(op), .what = RH_COMM_BARRIER, .timeout = 60000000};
	struct rh_comm_error err = {0};
	int32_t r = rh_comm_run(comm, &op, &err);

	(void)arg;
	if (r == 0 && rh_comm_rank(comm) == 0)
		/* longer than the limit of the others */
		(void)usleep(1500000);
	op.timeout = 300000;
	if (r == 0)
		r = rh_comm_run(comm, &op, &err);
	(void)fprintf(stderr, "rank %d: %s\n", (int)rh_comm_rank(comm), err.text);
	if (r != RH_COMM_ETIME || err.rank != 0)
		return 1;
	return strstr(err.text, "barrier number 2") && strstr(err.text, "waited for rank 0") ? 0 : 2;
}

static void test_failure__a_time_limit_names_who_was_waited_for(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, wait_too_long, false, 2, 3);
	ranks_run_worlds(NULL, wait_too_long, true, 3, 3);
}

/* Rank 1 waits in a group for rank 2, which waits for rank 1 in the world, as rank 0 does. @param arg a pipe: who waits
 * in the world comes later */
static int wait_elsewhere(struct rh_comm *comm, const void *arg)
{
	static const int32_t ranks[] = {1, 2};
	struct rh_comm_op op = {.size = sizeof(op), .what = RH_COMM_BARRIER, .timeout = 300000};
	const struct rh_comm_op there = {.size = sizeof(there), .what = RH_COMM_BARRIER};
	struct rh_comm_request *request = NULL;
	const int *ends = arg;
	struct rh_comm_error err = {0};
	struct rh_comm *group = NULL;
	int32_t r = 0;
	char byte;

	if (rh_comm_rank(comm) > 0)
		r = rh_comm_group(comm, ranks, 2, &group, &err);
	if (r == 0 && rh_comm_rank(comm) == 1) {
		r = rh_comm_post(group, &there, &request, &err);
		if (r == 0 && write(ends[1], "12", 2) == 2)
			r = rh_comm_wait(request, &err);
	} else if (r == 0 && read(ends[0], &byte, 1) == 1) {
		r = rh_comm_run(comm, &op, &err);
	}
	rh_comm_free(group);
	if (r == RH_COMM_ETIME && err.rank == 1 &&
	    strstr(err.text, "has not posted it; it waits in barrier number 1 of the group of ranks 1, 2 since "))
		return 0;
	(void)fprintf(stderr, "rank %d: %d, rank %d: %s\n", (int)rh_comm_rank(comm), (int)r, (int)err.rank, err.text);
	return 1;
}

static void test_failure__who_waits_in_a_group_is_named_with_it(void **state)
{
	int ends[2];
	struct ranks_plan plan = {.world = 3, .fn = wait_elsewhere, .arg = ends};

	(void)state;
	assert_int_equal(pipe(ends), 0);
	for (int no_shm = 0; no_shm < 2; no_shm++) {
		plan.no_shm = no_shm != 0;
		ranks_run(&plan);
	}
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static int receive_too_long(struct rh_comm *comm, const void *arg)
{
	int32_t value = 0;
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = RH_COMM_RECV,
	                        .out = &value,
	                        .count = 1,
	                        .type = RH_COMM_I32,
	                        .peer = 1,
	                        .timeout = 200000};
	struct rh_comm_error err = {0};
	int32_t r;

	(void)arg;
	if (rh_comm_rank(comm) == 0) {
		r = rh_comm_run(comm, &op, &err);
	} else {
		op = (struct rh_comm_op){.size = sizeof(op), .what = RH_COMM_BARRIER};
		r = rh_comm_run(comm, &op, &err);
	}
	return r == RH_COMM_ETIME && err.rank == 1 && strstr(err.text, "receive from rank 1") ? 0 : 1;
}

static void test_failure__a_time_limit_of_a_message_names_the_peer(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, receive_too_long, false, 3, 3);
}

/* Rank 1 leaves; rank 0 wants something of it that never comes. */
static int leave_or_wait(struct rh_comm *comm, const void *arg)
{
	int32_t value = 0;
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = *(const int32_t *)arg,
	                        .out = &value,
	                        .count = 1,
	                        .type = RH_COMM_I32,
	                        .reduce = RH_COMM_SUM,
	                        .peer = 1};
	struct rh_comm_error err = {0};
	int32_t r;

	if (rh_comm_rank(comm) == 1)
		return 0;
	r = rh_comm_run(comm, &op, &err);
	return r == RH_COMM_EPEER && err.rank == 1 ? 0 : 1;
}

static void test_failure__waiting_for_a_rank_that_left_fails(void **state)
{
	static const int32_t whats[] = {RH_COMM_ALL_REDUCE, RH_COMM_RECV};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct ranks_plan plan = {.world = 2, .death = "20", .fn = leave_or_wait, .arg = &whats[i]};

		ranks_run(&plan);
	}
}

/* How rank 1 leaves the group that it made with rank 0. */
struct leaving {
	int32_t what; /* that rank 0 then wants of it there */
	bool stays;   /* in the world, where it waits */
};

/* They have done one operation there; rank 0 posts another. */
static int wait_in_group(struct rh_comm *comm, const struct leaving *leaving, struct rh_comm *group)
{
	struct rh_comm_op op = {.size = sizeof(op), .what = RH_COMM_ALL_REDUCE, .type = RH_COMM_I32, .peer = 0};
	struct rh_comm_error err = {0};
	int32_t value = 1;
	int32_t r;

	op.out = &value;
	op.count = 1;
	op.reduce = RH_COMM_SUM;
	r = rh_comm_run(group, &op, &err);
	if (r == 0 && value == 2 && rh_comm_rank(comm) == 0) {
		op.what = leaving->what;
		r = rh_comm_run(group, &op, &err);
		(void)fprintf(stderr, "rank 0: %d, rank %d: %s\n", (int)r, (int)err.rank, err.text);
		if (leaving->stays && !strstr(err.text, "rank 1 of the group of ranks 1, 0 has left it while rank 0 waits"))
			r = 1;
		r = r == RH_COMM_EPEER && err.rank == 1 ? 0 : r;
	}
	rh_comm_free(group);
	return r;
}

static int leave_group(struct rh_comm *comm, const void *arg)
{
	/* in the group rank 1 is 0: errors name ranks of the world */
	static const int32_t ranks[] = {1, 0};
	const struct leaving *leaving = arg;
	struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	struct rh_comm_error err = {0};
	struct rh_comm *group = NULL;

	if (rh_comm_rank(comm) < 2 &&
	    (rh_comm_group(comm, ranks, 2, &group, &err) != 0 || wait_in_group(comm, leaving, group) != 0))
		return 1;
	if (!leaving->stays && rh_comm_rank(comm) == 1)
		return 0;
	return rh_comm_run(comm, &barrier, &err) == RH_COMM_EPEER && err.rank == 1 ? 0 : 2;
}

static void test_failure__waiting_in_a_group_for_a_rank_that_left_it_fails(void **state)
{
	static const struct leaving rows[] = {
		{RH_COMM_ALL_REDUCE, true}, {RH_COMM_ALL_REDUCE, false}, {RH_COMM_RECV, true}, {RH_COMM_RECV, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ranks_plan plan = {.world = 3, .death = "30", .fn = leave_group, .arg = &rows[i]};

		ranks_run(&plan);
	}
}

#define MANY 1000000

/* What the ranks do while one of them is stopped. */
struct often {
	int rounds;
	size_t count;
	useconds_t pause;
};

static int reduce_often(struct rh_comm *comm, const void *arg)
{
	static int64_t values[MANY];
	const struct often *often = arg;

	(void)fprintf(stderr, "rank %d runs\n", (int)rh_comm_rank(comm));
	for (int i = 0; i < often->rounds; i++) {
		struct rh_comm_error err = {0};

		values[often->count - 1] = 1;
		if (rh_comm_all_reduce(comm, values, often->count, RH_COMM_I64, RH_COMM_SUM, &err) != 0) {
			(void)fprintf(stderr, "rank %d: %s\n", (int)rh_comm_rank(comm), err.text);
			return 1;
		}
		/* as a program that computes between two steps */
		(void)usleep(often->pause);
	}
	return values[often->count - 1] == rh_comm_world(comm) ? 0 : 2;
}

/* @return whether the file has the text */
static bool file_has(const char *path, const char *text)
{
	char line[1000];
	bool found = false;
	FILE *file = fopen(path, "re");

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, text) != NULL;
	if (file)
		(void)fclose(file);
	return found;
}

static void await_text(const char *path, const char *text)
{
	for (int i = 0; i < 600 && !file_has(path, text); i++)
		(void)usleep(100000);
}

/* Of a rank that is stopped for longer. A keepalive probe is answered when the process that holds the lock of the
 * socket lets it go, and on a busy machine that may get no processor for a second. */
#define DEATH "3"
#define LONGER_THAN_DEATH_US 4000000

/* Stopped for longer than the death timeout: its host answers, so it is named, and lives. */
static void check_stop(bool no_shm, const struct often *often)
{
	static const char *const env[] = {"RH_COMM_SLOW=1", NULL};
	char log[] = "/tmp/rh-comm-test-XXXXXX";
	struct ranks_plan plan = {
		.world = 3, .no_shm = no_shm, .death = DEATH, .log = log, .env = env, .fn = reduce_often, .arg = often};
	struct ranks ranks;

	assert_true(close(mkstemp(log)) == 0);
	ranks_start(&plan, &ranks);
	await_text(log, "rank 1 runs");
	(void)kill(ranks.pids[1], SIGSTOP);
	await_text(log, "it waited for rank 1 at 127.0.0.1 (stopped or throttled)");
	(void)usleep(LONGER_THAN_DEATH_US);
	(void)kill(ranks.pids[1], SIGCONT);
	for (int32_t rank = 0; rank < plan.world; rank++)
		assert_int_equal(ranks_wait(&ranks, rank), 0);
	assert_true(file_has(log, "it waited for rank 1 at 127.0.0.1 (stopped or throttled)"));
	assert_true(file_has(log, "i64, sum; it waited for rank 1"));
	assert_false(file_has(log, "it waited for rank 2"));
	(void)unlink(log);
}

/* While rank 0 is stopped, and the server with it, the others warn themselves. */
static void test_failure__rank_0_may_be_stopped(void **state)
{
	static const struct often often = {300, 1000, 1000};
	static const char *const env[] = {"RH_COMM_SLOW=1", NULL};
	char log[] = "/tmp/rh-comm-test-XXXXXX";
	struct ranks_plan plan = {.world = 3, .death = DEATH, .log = log, .env = env, .fn = reduce_often, .arg = &often};
	struct ranks ranks;

	(void)state;
	assert_true(close(mkstemp(log)) == 0);
	ranks_start(&plan, &ranks);
	await_text(log, "rank 0 runs");
	(void)kill(ranks.pids[0], SIGSTOP);
	await_text(log, "rank 0 is stopped or throttled: rank 1 has waited");
	(void)usleep(LONGER_THAN_DEATH_US);
	(void)kill(ranks.pids[0], SIGCONT);
	for (int32_t rank = 0; rank < plan.world; rank++)
		assert_int_equal(ranks_wait(&ranks, rank), 0);
	assert_true(file_has(log, "rank 0 is stopped or throttled: rank 1 has waited"));
	(void)unlink(log);
}

static int leave(struct rh_comm *comm, const void *arg)
{
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};

	(void)arg;
	return rh_comm_run(comm, &barrier, NULL) == 0 ? 0 : 1;
}

/* Each rank in turn, at some moment of the start, of the one operation, or of the leaving. */
static void test_failure__a_rank_stopped_while_all_meet_and_leave(void **state)
{
	struct ranks_plan plan = {.world = 3, .fn = leave};

	(void)state;
	for (int32_t round = 0; round < 9; round++) {
		struct ranks ranks;

		ranks_start(&plan, &ranks);
		(void)usleep((useconds_t)round * 1500);
		(void)kill(ranks.pids[round % 3], SIGSTOP);
		(void)usleep(300000);
		(void)kill(ranks.pids[round % 3], SIGCONT);
		for (int32_t rank = 0; rank < plan.world; rank++)
			assert_int_equal(ranks_wait(&ranks, rank), 0);
	}
}

static void test_failure__a_stopped_rank_is_named_and_goes_on(void **state)
{
	static const struct often small = {1500, 1, 1000};
	/* more than sockets hold, so that the others' connections to it are full all that time */
	static const struct often large = {60, MANY, 0};

	(void)state;
	check_stop(false, &small);
	check_stop(true, &large);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failure__a_killed_rank_is_named_by_all_others),
		cmocka_unit_test(test_failure__a_death_is_known_in_time_under_load),
		cmocka_unit_test(test_failure__a_rank_killed_in_an_exchange_is_named),
		cmocka_unit_test(test_failure__a_rank_killed_on_one_of_several_hosts),
		cmocka_unit_test(test_failure__a_rank_killed_while_all_meet),
		cmocka_unit_test(test_failure__a_rank_killed_while_others_make_a_group),
		cmocka_unit_test(test_failure__a_rank_killed_while_all_leave),
		cmocka_unit_test(test_failure__an_abort_ends_all),
		cmocka_unit_test(test_failure__a_time_limit_names_who_was_waited_for),
		cmocka_unit_test(test_failure__who_waits_in_a_group_is_named_with_it),
		cmocka_unit_test(test_failure__a_time_limit_of_a_message_names_the_peer),
		cmocka_unit_test(test_failure__waiting_for_a_rank_that_left_fails),
		cmocka_unit_test(test_failure__waiting_in_a_group_for_a_rank_that_left_it_fails),
		cmocka_unit_test(test_failure__rank_0_may_be_stopped),
		cmocka_unit_test(test_failure__a_rank_stopped_while_all_meet_and_leave),
		cmocka_unit_test(test_failure__a_stopped_rank_is_named_and_goes_on),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("comm/native/failure", tests, NULL, NULL);
}
