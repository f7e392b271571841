/* SPDX-License-Identifier: Apache-2.0 */
/* Who is to blame, by what three replicas wrote. */
#include "local/run/verdict/verdict.h"

#include <string.h>

/* cmocka.h needs the headers before it. */
/* clang-format off */
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/clock.h"

#define COUNT 3
#define NOBODY SIZE_MAX
#define RAISED "Traceback (most recent call last):\n  File \"x\"\nValueError: bad batch\n"
#define CLOSED "Traceback (most recent call last):\n  File \"x\"\nRuntimeError: Connection closed by peer\n"
#define LATE "Traceback (most recent call last):\n  File \"x\"\nRuntimeError: Timed out waiting 6000ms for recv\n"

/* How far a replica came. */
enum came { RUNS, SUCCEEDED, FAILED };

struct verdict_row {
	const char *name;
	struct {
		enum came came;
		enum rh_blame blame;
		const char *text;
		int32_t accused;
	} replicas[COUNT];
	size_t known;
	size_t named;
	bool alike;
	enum rh_blame blame;
	const char *lines; /* a part of them */
};

static const struct verdict_row verdict_rows[] = {
	{"a cause",
     {{FAILED, RH_BLAME_VICTIM, CLOSED, -1}, {FAILED, RH_BLAME_CAUSE, RAISED, -1}, {RUNS, 0, "step 2\n", -1}},
     1,
     1,
     false,
     RH_BLAME_CAUSE,
     "ValueError: bad batch"},
	{"all failed alike",
     {{FAILED, RH_BLAME_CAUSE, RAISED, -1}, {FAILED, RH_BLAME_CAUSE, RAISED, -1}, {FAILED, RH_BLAME_CAUSE, RAISED, -1}},
     1,
     NOBODY,
     true,
     RH_BLAME_CAUSE,
     "ValueError: bad batch"},
	{"all failed alike, one was about to",
     {{FAILED, RH_BLAME_CAUSE, RAISED, -1}, {RUNS, 0, RAISED, -1}, {FAILED, RH_BLAME_CAUSE, RAISED, -1}},
     0,
     NOBODY,
     true,
     RH_BLAME_CAUSE,
     "ValueError: bad batch"},
	{"who raised has not ended",
     {{FAILED, RH_BLAME_VICTIM, CLOSED, -1}, {RUNS, 0, "step 2\n", -1}, {RUNS, 0, RAISED, -1}},
     0,
     2,
     false,
     RH_BLAME_CAUSE,
     "ValueError: bad batch"},
	{"two waited for the third",
     {{FAILED, RH_BLAME_LATE, LATE, -1}, {FAILED, RH_BLAME_LATE, LATE, -1}, {RUNS, 0, "reading shard 7\n", -1}},
     0,
     2,
     false,
     RH_BLAME_HUNG,
     "reading shard 7"},
	{"one is named by who waited",
     {{FAILED, RH_BLAME_LATE, LATE, 2}, {RUNS, 0, "step 2\n", -1}, {RUNS, 0, "step 1\n", -1}},
     0,
     2,
     false,
     RH_BLAME_HUNG,
     "step 1"},
	{"one is elsewhere than its peers",
     {{RUNS, 0, "rank 0 starts\nstep 1\nstep 2\n", -1},
      {RUNS, 0, "rank 1 starts\n", -1},
      {RUNS, 0, "rank 2 starts\nreading shard 7\n", -1}},
     NOBODY,
     2,
     false,
     RH_BLAME_HUNG,
     "reading shard 7"},
	{"none is",
     {{RUNS, 0, "rank 0 starts\nstep 1\nstep 2\n", -1},
      {RUNS, 0, "rank 1 starts\n", -1},
      {RUNS, 0, "rank 2 starts\n", -1}},
     NOBODY,
     NOBODY,
     false,
     RH_BLAME_HUNG,
     ""},
	{"one ended well while its peers still needed it",
     {{FAILED, RH_BLAME_VICTIM, CLOSED, -1}, {RUNS, 0, CLOSED, -1}, {SUCCEEDED, 0, "no more batches\n", -1}},
     0,
     2,
     false,
     RH_BLAME_HUNG,
     "no more batches"},
	{"several waited in vain",
     {{FAILED, RH_BLAME_LATE, LATE, -1},
      {FAILED, RH_BLAME_LATE, "error: Socket Timeout", -1},
      {FAILED, RH_BLAME_VICTIM, CLOSED, -1}},
     0,
     NOBODY,
     false,
     RH_BLAME_LATE,
     "Timed out waiting"},
	{"it fails again and again",
     {{RUNS, 0, "step 2\n", -1}, {FAILED, RH_BLAME_UNKNOWN, "bye\n", -1}, {RUNS, 0, "step 2\n", -1}},
     NOBODY,
     1,
     false,
     RH_BLAME_UNKNOWN,
     "bye"},
	{"nothing is known",
     {{RUNS, 0, "", -1}, {RUNS, 0, "", -1}, {RUNS, 0, "", -1}},
     NOBODY,
     NOBODY,
     false,
     RH_BLAME_HUNG,
     ""},
};

static void verdict_check(const struct verdict_row *row)
{
	struct rh_verdict_replica replicas[COUNT];
	struct rh_blamed blamed;
	rh_auto_str lines = {0};

	for (size_t i = 0; i < COUNT; i++) {
		bool failed = row->replicas[i].came == FAILED;

		replicas[i] = (struct rh_verdict_replica){
			.name = "Worker",
			.rank = (int32_t)i,
			.running = row->replicas[i].came == RUNS,
			.succeeded = row->replicas[i].came == SUCCEEDED,
			.blame = row->replicas[i].blame,
			.accused = row->replicas[i].accused,
			.at = failed ? (int64_t)i + 1 : 0,
			.silent = 9 * RH_SECOND,
			.lines = failed ? row->replicas[i].text : "",
			.tail = row->replicas[i].text,
		};
	}
	blamed = rh_verdict(replicas, COUNT, row->known);
	if ((blamed.named ? blamed.who : NOBODY) != row->named || blamed.alike != row->alike || blamed.blame != row->blame)
		fail_msg("%s: %zu%s, %s%s", row->name, blamed.who, blamed.named ? "" : " is not named",
		         rh_blame_name(blamed.blame), blamed.alike ? ", alike" : "");
	if (blamed.who != NOBODY)
		rh_verdict_lines(&replicas[blamed.who], &blamed, &lines);
	if (!strstr(rh_str_text(&lines), row->lines))
		fail_msg("%s: %s", row->name, rh_str_text(&lines));
}

static void test_verdict__rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(verdict_rows) / sizeof(*verdict_rows); i++)
		verdict_check(&verdict_rows[i]);
}

/* Who has written something a moment ago does not hang. */
static void test_verdict__who_writes_does_not_hang(void **state)
{
	struct rh_verdict_replica replicas[2] = {
		{.name = "a", .running = true, .silent = RH_SECOND / 2, .accused = -1, .lines = "", .tail = "one\n"},
		{.name = "b",
	     .running = true,
	     .rank = 1,
	     .silent = 9 * RH_SECOND,
	     .accused = -1,
	     .lines = "",
	     .tail = "1\n2\n"},
	};

	(void)state;
	assert_false(rh_verdict(replicas, 2, SIZE_MAX).named);
	replicas[0].silent = 2 * RH_SECOND;
	assert_true(rh_verdict(replicas, 2, SIZE_MAX).named);
}

/* A log is looked through once, however many questions there are. */
static void test_verdict__logs_are_read_once(void **state)
{
	struct rh_verdict_replica replicas[COUNT] = {0};

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		replicas[i] = (struct rh_verdict_replica){
			.name = "Worker", .rank = (int32_t)i, .running = true, .accused = -1, .lines = "", .tail = "step\n"};
	}
	/* what has been read counts, and not the text */
	replicas[1].read = true;
	replicas[1].evidence = (struct rh_evidence){.blame = RH_BLAME_CAUSE, .raised = true, .rank = -1, .headline = ""};
	assert_int_equal(rh_verdict(replicas, COUNT, SIZE_MAX).who, 1);
	assert_true(replicas[0].read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdict__rows),
		cmocka_unit_test(test_verdict__who_writes_does_not_hang),
		cmocka_unit_test(test_verdict__logs_are_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
