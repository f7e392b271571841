/* SPDX-License-Identifier: Apache-2.0 */
/* Ends that a shim reports late, in whole runs. */
#include "local/runner.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/harness.h"
#include "local/shim.h"

/* The Master fails when Worker-0 has. No script can wait for a file, or for the end of another's process, but by
 * looking again. */
#define VICTIM                                                                                                 \
	"cd \"%s\"; until [ -e culprit ]; do sleep 0.02; done; read -r pid shim <culprit; "                        \
	"until read -r p name state rest </proc/$pid/stat && [ $state = Z ]; do sleep 0.02; done; echo \"%s\"; : " \
	">victim; "                                                                                                \
	"exit 3"
/* Worker-0 stops its shim and fails. Worker-1 goes on when the Master fails. */
#define WORKERS                                                                                                      \
	"cd \"%s\"; if [ $RANK = 1 ]; then echo ready; until [ -e seen ]; do sleep 0.02; done; echo \"%s\"; kill -STOP " \
	"$PPID; read -r pid rest </proc/self/stat; "                                                                     \
	"echo $pid $PPID >new; mv new culprit; exit 4; fi; "                                                             \
	"until [ -e victim ]; do sleep 0.02; done; read -r pid shim <culprit; %s"

/* The run knows of the start of a replica whose output it has. */
static void let_culprit_go(struct test_run *run, const char *line)
{
	rh_auto_free char *seen = rh_asprintf("%s/../ends-%d/seen", run->scratch, (int)getpid());
	FILE *file = strcmp(line, "ready") == 0 ? fopen(seen, "w") : NULL;

	if (file)
		assert_int_equal(fclose(file), 0);
}

/* Run such a job. @param words what both write before they fail @param then what Worker-1 does at the end. @return the
 * message of the condition Failed */
static const char *run_pair(struct test_run *run, const char *words, const char *then)
{
	rh_auto_free char *place = rh_asprintf("%s/../ends-%d", run->scratch, (int)getpid());
	rh_auto_free char *master = rh_asprintf(VICTIM, place, words);
	rh_auto_free char *worker = rh_asprintf(WORKERS, place, words, then);
	const struct test_job job = {.master = master, .worker = worker, .workers = 2};

	(void)rh_dir_remove(place, NULL);
	assert_int_equal(rh_dir_make(place, 0700, &run->err), 0);
	run->on_line = let_culprit_go;
	test_run_job(run, &job);
	assert_int_equal(rh_dir_remove(place, NULL), 0);
	assert_int_equal(run->result, RH_RUN_FAILED);
	assert_non_null(test_run_condition(run, "Failed"));
	return test_run_condition(run, "Failed");
}

static void expect_culprit(struct test_run *run, const char *words)
{
	const char *message = run_pair(run, words, "sleep 2; kill -CONT $shim; exec sleep 600");

	if (!strstr(message, "First fault: Worker-0 (pod j-worker-0, container pytorch) exited with code 4"))
		fail_msg("%s", message);
	test_run_expect(&run->table, "j Master-0 Failed 3 restarts=0\n");
	test_run_expect(&run->table, "j Worker-0 Failed 4 restarts=0\n");
	test_run_expect(&run->table, "j Worker-1 Stopped 143 restarts=0\n");
}

static void test_ends__late_report_of_a_silent_end(void **state)
{
	expect_culprit(*state, "");
}

static void test_ends__late_report_of_an_error(void **state)
{
	expect_culprit(*state, "ValueError: bad batch");
}

/* The wait has an end: then what is known is judged. */
static void test_ends__shim_that_never_reports(void **state)
{
	struct test_run *run = *state;
	const char *message;

	run->config->grace_period = RH_SECOND / 10;
	message = run_pair(run, "", "exec sleep 600");
	if (!strstr(message, "First fault: Master-0 (pod j-master-0, container pytorch) exited with code 3"))
		fail_msg("%s", message);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, test_run_set_up, test_run_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		ROW(test_ends__late_report_of_a_silent_end),
		ROW(test_ends__late_report_of_an_error),
		ROW(test_ends__shim_that_never_reports),
	};

	if (test_is_shim(argc, argv))
		return rh_shim_main();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
