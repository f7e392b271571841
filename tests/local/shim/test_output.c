/* SPDX-License-Identifier: Apache-2.0 */
/* What containers write, as it arrives in their logs. */
#include "local/shim/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/file.h"
#include "local/shim/harness.h"
#include "local/shim/isolation/mounts.h"

static void run_main(struct test_shim *shim, const char *script, struct rh_shim_report *ret_report)
{
	test_shim_add(shim, "containers", "main", script);
	test_shim_start(shim);
	test_shim_receive_end(shim, "main", ret_report);
}

static void test_output__is_exact(void **state)
{
	static const struct {
		const char *name;
		const char *script;
		const char *log;
	} rows[] = {
		{"nothing", "exit 0", ""},
		{"both streams in order", "echo a; echo b >&2; echo c; echo d >&2", "a\nb\nc\nd\n"},
		{"no newline at the end", "printf 'half a line'", "half a line"},
		{"of descendants", "(echo child); sh -c 'echo grandchild >&2'", "child\ngrandchild\n"},
		{"of one that is killed", "echo last words; kill -9 $$", "last words\n"},
		{"stdout closed early", "echo a; exec >&- 2>&-; sleep 0.1", "a\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_shim_report report;
		rh_auto_free char *log = NULL;
		void *own = NULL;

		(void)test_shim_setup(&own);
		run_main(own, rows[i].script, &report);
		/* the log is complete when the end is reported */
		log = test_shim_log(own, "main");
		if (strcmp(log, rows[i].log) != 0)
			fail_msg("%s: \"%s\"", rows[i].name, log);
		(void)test_shim_wait(own);
		(void)test_shim_teardown(&own);
	}
}

static void test_output__appends_over_restarts(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *log = NULL;

	assert_int_equal(rh_json_set_string(shim->plan, "restartPolicy", "OnFailure"), 0);
	run_main(shim, "echo x >> n; echo try $(wc -l < n); test $(wc -l < n) -ge 3", &report);
	log = test_shim_log(shim, "main");
	assert_string_equal(log, "try 1\ntry 2\ntry 3\n");
}

/* Each run of a container, which may have written by the time that its report is read. */
static void test_output__report_has_its_part(void **state)
{
	static const char *const parts[] = {"try 1\n", "try 2\n", "try 3\n"};
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	size_t ends = 0;

	assert_int_equal(rh_json_set_string(shim->plan, "restartPolicy", "OnFailure"), 0);
	test_shim_add(shim, "containers", "main", "echo x >> n; echo try $(wc -l < n); test $(wc -l < n) -ge 3");
	test_shim_start(shim);
	test_shim_await_log(shim, "main", "try 3");
	while (ends < 3 && test_shim_receive(shim, &report)) {
		rh_auto_free char *log = test_shim_log(shim, "main");
		size_t length = strlen(parts[ends]);

		assert_true(!report.running || report.log_end == 0);
		if (report.running)
			continue;
		assert_int_equal(report.log_end - report.log_begin, length);
		assert_memory_equal(log + report.log_begin, parts[ends], length);
		ends++;
	}
	assert_int_equal(ends, 3);
}

static void test_output__log_is_private(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *path = rh_path_join(shim->folder, "main.log");
	struct stat st;

	run_main(shim, "echo secret", &report);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* 50 MB while nobody reads the line: neither the container nor the shim may wait for the runner. */
static void test_output__fifty_megabytes(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *path = rh_path_join(shim->folder, "main.log");
	struct stat st;

	run_main(shim, "head -c 52428800 /dev/zero", &report);
	assert_int_equal(report.exit_code, 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 52428800);
	assert_in_range(shim->nudges, 1, 52428800 / 4096);
}

/* An empty line is not repeated while it is unread, and comes again once it was read. */
static void test_output__nudges_once(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	test_shim_add(
		shim, "containers", "main",
		"i=0; while test $i -lt 200; do echo $i; i=$((i + 1)); done; touch there; while ! test -e go; do sleep "
		"0.01; done; echo again");
	test_shim_start(shim);
	test_shim_receive_start(shim, "main");
	test_shim_await_log(shim, "main", "199\n");
	test_shim_add(shim, "init", "unused", "");
	{
		rh_auto_free char *go = rh_path_join(shim->folder, "go");

		assert_int_equal(rh_file_write_atomic(go, "", 0, 0600, NULL), 0);
	}
	test_shim_receive_end(shim, "main", &report);
	assert_in_range(shim->nudges, 1, 20);
}

static void test_output__refuses_what_is_no_file(void **state)
{
	static const char *const makers[] = {"ln -s /tmp/elsewhere main.log", "mkfifo main.log", "mkdir main.log",
	                                     "ln -s /dev/full main.log"};

	(void)state;
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		struct rh_shim_report report;
		struct test_shim *shim;
		void *own = NULL;

		(void)test_shim_setup(&own);
		shim = own;
		test_shim_add(shim, "init", "prepare", makers[i]);
		run_main(shim, "head -c 1000000 /dev/zero; exit 3", &report);
		assert_int_equal(report.exit_code, 3);
		if (!strstr(rh_str_text(&shim->notes), "cannot write the log"))
			fail_msg("%s: no note", makers[i]);
		(void)test_shim_wait(shim);
		(void)test_shim_teardown(&own);
	}
}

/* A disk of 64 KiB: reported once, and the container runs to its end. */
static void fill_a_disk(struct test_shim *shim)
{
	struct rh_error err = {0};
	struct rh_shim_report report;
	rh_auto_free char *disk = rh_path_join(shim->folder, "disk");
	rh_auto_free char *log = rh_asprintf("%s/main.log", disk);
	struct rh_shim_tmpfs tmpfs = {.path = disk, .size = 65536};
	struct rh_json *container;
	const char *notes;

	if (mkdir(disk, 0700) < 0 || rh_shim_mounts_enter(&err) < 0 || rh_shim_mounts_tmpfs(&tmpfs, 1, &err) < 0)
		_exit(77);
	container =
		test_shim_add(shim, "containers", "main", "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero; exit 3");
	assert_int_equal(rh_json_set_string(container, "log", log), 0);
	test_shim_start(shim);
	test_shim_receive_end(shim, "main", &report);
	/* its exit record must not come while the parent removes the folder */
	(void)test_shim_wait(shim);
	notes = rh_str_text(&shim->notes);
	_exit(report.exit_code == 3 && strstr(notes, "No space left") && strchr(notes, '\n') == notes + strlen(notes) - 1
	          ? 0
	          : 1);
}

static void test_output__full_disk_is_reported_once(void **state)
{
	struct test_shim *shim = *state;
	int status = 0;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		fill_a_disk(shim);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Directly: a writer outside that keeps the pipe open does not hold up the end. */
static void test_output__close_does_not_wait_for_strangers(void **state)
{
	struct test_shim *shim = *state;
	rh_auto_free char *path = rh_path_join(shim->folder, "own.log");
	struct rh_shim_output output = {.container = "own", .path = path, .pipe = -1, .log = -1};
	struct rh_error note = {0};
	struct rh_error err = {0};
	rh_auto_free char *log = NULL;
	int end = -1;

	assert_int_equal(rh_shim_output_open(&output, &end, &note, &err), 0);
	assert_string_equal(note.message, "");
	assert_int_equal(rh_shim_output_move(&output, 1000, &note), 0);
	assert_int_equal(write(end, "abc", 3), 3);
	assert_int_equal(rh_shim_output_move(&output, 1000, &note), 3);
	assert_int_equal(write(end, "def", 3), 3);
	assert_true(rh_shim_output_close(&output, &note));
	assert_int_equal(output.pipe, -1);
	assert_int_equal(output.log, -1);
	(void)close(end);
	assert_int_equal(rh_file_read(path, 100, &log, NULL, NULL), 0);
	assert_string_equal(log, "abcdef");
}

static void test_output__sees_the_last_writer_go(void **state)
{
	struct test_shim *shim = *state;
	rh_auto_free char *path = rh_path_join(shim->folder, "own.log");
	struct rh_shim_output output = {.container = "own", .path = path, .pipe = -1, .log = -1};
	struct rh_error note = {0};
	int end = -1;

	assert_int_equal(rh_shim_output_open(&output, &end, &note, NULL), 0);
	(void)close(end);
	assert_int_equal(rh_shim_output_move(&output, 1000, &note), -1);
	assert_int_equal(output.pipe, -1);
	assert_false(rh_shim_output_close(&output, &note));
}

/* The other end of a terminal may be opened again after its last user has gone: the container is restarted. */
static void test_output__terminal(void **state)
{
	struct test_shim *shim = *state;
	rh_auto_free char *path = rh_path_join(shim->folder, "own.log");
	struct rh_shim_output output = {.container = "own", .path = path, .pipe = -1, .log = -1, .terminal = true};
	rh_auto_close int kept = fcntl(RH_SHIM_TERMINAL_FD, F_DUPFD_CLOEXEC, RH_SHIM_TERMINAL_FD + 1);
	rh_auto_close int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	struct rh_error note = {0};

	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	if (master != RH_SHIM_TERMINAL_FD)
		assert_int_equal(dup2(master, RH_SHIM_TERMINAL_FD), RH_SHIM_TERMINAL_FD);
	for (int i = 0; i < 2; i++) {
		char typed[8] = "";
		int end = -1;

		assert_int_equal(rh_shim_output_open(&output, &end, &note, NULL), 0);
		assert_true(isatty(end));
		assert_int_equal(rh_shim_output_move(&output, 1000, &note), 0);
		assert_int_equal(write(end, "abc", 3), 3);
		assert_int_equal(rh_shim_output_move(&output, 1000, &note), 3);
		assert_int_equal(write(master, "p\n", 2), 2);
		assert_int_equal(read(end, typed, sizeof(typed)), 2);
		assert_string_equal(typed, "p\n");
		assert_int_equal(rh_shim_output_move(&output, 1000, &note), 3); /* the terminal shows what is typed */
		(void)close(end);
		assert_int_equal(rh_shim_output_move(&output, 1000, &note), -1);
		(void)rh_shim_output_close(&output, &note);
	}
	if (master == RH_SHIM_TERMINAL_FD)
		master = -1;
	(void)(kept >= 0 ? dup2(kept, RH_SHIM_TERMINAL_FD) : close(RH_SHIM_TERMINAL_FD));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, test_shim_setup, test_shim_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output__is_exact),
		cmocka_unit_test(test_output__refuses_what_is_no_file),
		CASE(test_output__appends_over_restarts),
		CASE(test_output__report_has_its_part),
		CASE(test_output__log_is_private),
		CASE(test_output__fifty_megabytes),
		CASE(test_output__nudges_once),
		CASE(test_output__full_disk_is_reported_once),
		CASE(test_output__close_does_not_wait_for_strangers),
		CASE(test_output__sees_the_last_writer_go),
		CASE(test_output__terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
