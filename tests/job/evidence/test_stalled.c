/* SPDX-License-Identifier: Apache-2.0 */
#include "job/evidence/stalled.h"

#include <string.h>

#include "base/mem.h"
#include "base/support.h"

static const struct {
	const char *log;
	const char *report; /* NULL: none */
} rows[] = {
	{"", NULL},
	{"step 7\nloss 0.1\n", NULL},
	{"rh_comm: 4 ranks, backend native\n", NULL},
	{"step 7\nrh_comm: rank 3 has waited 10 s in number 7, barrier; it waited for rank 1 at node (has not posted it)\n",
     "rank 3 has waited 10 s in number 7, barrier; it waited for rank 1 at node (has not posted it)"},
	{"rh_comm: rank 3 has waited 10 s in a\nrh_comm: rank 0 has waited 20 s in b", "rank 0 has waited 20 s in b"},
	{"rh_comm: rank 3 has waited 10 s in a\nstep 8\n", "rank 3 has waited 10 s in a"},
	{"rh_comm: rank 3 has waited 10 s in a\nrh_comm: ranks go on\n", NULL},
	{"rh_comm: ranks go on\nrh_comm: rank 3 has waited 10 s in a\n", "rank 3 has waited 10 s in a"},
	{"the report rh_comm: rank 3 has waited 10 s in a\n", NULL},
	{"rh_comm: rank 3", NULL},
	{"rh_comm: rank 3 has waited 1\xff\x1b[0m s\r\n", "rank 3 has waited 1??[0m s?"},
	/* it comes with no sign of its end */
	{"rh_comm: rank 1 at node is slow: rank 0 has waited 10 s for it in receive\n", NULL},
};

static void test_stalled__table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *report = rh_evidence_stalled(rows[i].log);

		if ((report == NULL) != (rows[i].report == NULL) || (report && strcmp(report, rows[i].report) != 0))
			fail_msg("\"%s\": \"%s\"", rows[i].log, report ? report : "none");
	}
}

static void test_stalled__a_long_report_is_cut(void **state)
{
	char log[4000] = "rh_comm: rank 3 has waited ";
	rh_auto_free char *report = NULL;

	(void)state;
	memset(log + strlen(log), 'x', sizeof(log) - strlen(log) - 1);
	report = rh_evidence_stalled(log);
	assert_int_equal(strlen(report), 1000);
}

static void test_stalled__rank(void **state)
{
	static const struct {
		const char *report;
		int32_t rank;
		const char *address;
	} ranks[] = {
		{"rank 3 has waited 10 s in a; it waited for rank 12 at 10.0.0.7 (has not posted it), rank 2 at 10.0.0.8 (x)",
	     12, "10.0.0.7"},
		{"rank 3 has waited 10 s in a; it waited for rank 0 (has not come)", 0, ""},
		{"rank 3 has waited 10 s in a; all ranks have posted it: data move slowly, or not at all", -1, ""},
		{"rank 3 has waited 10 s in a; it waited for rank 99999999999999999999 at 10.0.0.7", -1, ""},
		{"rank 3 has waited 10 s in a; it waited for rank -1 at 10.0.0.7", -1, ""},
		{"rank 3 has waited 10 s in a; it waited for rank ", -1, ""},
		{"rank 3 has waited 10 s in a; it waited for rank 1 at "
	     "0123456789012345678901234567890123456789012345678901234567890123 (x)",
	     1, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		char address[RH_STALLED_ADDRESS_SIZE];
		int32_t rank;

		rh_evidence_stalled_rank(ranks[i].report, &rank, address);
		assert_int_equal(rank, ranks[i].rank);
		assert_string_equal(address, ranks[i].address);
	}
}

static void test_stalled__a_rank_that_comes_last(void **state)
{
	static const struct {
		const char *log;
		int is_slow; /* -1: as it was before */
	} logs[] = {
		{"", -1},
		{"step 7\nrh_comm: rank 3 has waited 10 s in number 7\n", -1},
		{"rh_comm: rank 3 at 10.0.0.7 comes last: the others wait for it in 9 % of the time\nstep 8\n", 1},
		{"rh_comm: rank 3 at a comes last: x\nrh_comm: rank 3 no longer comes last\n", 0},
		{"rh_comm: rank 3 no longer comes last\nrh_comm: rank 12 at ::1 comes last: x", 1},
		{"the report rh_comm: rank 3 at a comes last: x\n", -1},
		{"rh_comm: rank 3 at a", -1},
		{"rh_comm: rank 3 at a\n comes last: x\n", -1},
		/* the first line of the next attempt */
		{"rh_comm: 4 ranks on 1 host: native\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		bool was[] = {false, true};

		for (size_t j = 0; j < 2; j++) {
			bool before = was[j];

			rh_evidence_slow(logs[i].log, &was[j]);
			if (was[j] != (logs[i].is_slow < 0 ? before : logs[i].is_slow != 0))
				fail_msg("\"%s\", %d before: %d", logs[i].log, before, was[j]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalled__rank),
		cmocka_unit_test(test_stalled__table),
		cmocka_unit_test(test_stalled__a_long_report_is_cut),
		cmocka_unit_test(test_stalled__a_rank_that_comes_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
