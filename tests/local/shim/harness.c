/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/harness.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/file.h"
#include "local/scratch.h"
#include "local/shim/tree.h"

/* Bound of every wait: far beyond what a loaded machine needs. */
#define WAIT_MS 60000
#define PAUSE_MS 5

bool test_shim_pause(int *cursor)
{
	static const struct timespec pause = {0, PAUSE_MS * 1000000L};

	(void)nanosleep(&pause, NULL);
	*cursor += PAUSE_MS;
	return *cursor < WAIT_MS;
}

int test_shim_setup(void **state)
{
	struct test_shim *shim = rh_alloc(sizeof(*shim));

	assert_non_null(shim);
	shim->folder = test_scratch();
	shim->line = -1;
	shim->plan = rh_json_new_object();
	assert_int_equal(rh_json_set_string(shim->plan, "pod", "p"), 0);
	assert_int_equal(rh_json_set_string(shim->plan, "dir", shim->folder), 0);
	assert_int_equal(rh_json_set_string(shim->plan, "restartPolicy", "Never"), 0);
	assert_int_equal(rh_json_set_integer(shim->plan, "backoff", 1000), 0);
	assert_int_equal(rh_json_set_integer(shim->plan, "backoffMax", 4000), 0);
	assert_int_equal(rh_json_set_integer(shim->plan, "grace", 20000000), 0);
	assert_non_null(rh_json_ensure_array(shim->plan, "init"));
	assert_non_null(rh_json_ensure_array(shim->plan, "containers"));
	*state = shim;
	return 0;
}

struct rh_json *test_shim_add(struct test_shim *shim, const char *list, const char *name, const char *script)
{
	struct rh_json *container = rh_json_new_object();
	struct rh_json *argv = rh_json_ensure_array(container, "argv");
	struct rh_json *env = rh_json_ensure_array(container, "env");
	rh_auto_free char *mark = rh_asprintf("%s=%s/%s", RH_SHIM_MARK, shim->folder, name);
	rh_auto_free char *log = rh_asprintf("%s/%s.log", shim->folder, name);
	const char *path = getenv("PATH");
	rh_auto_free char *path_entry = rh_asprintf("PATH=%s", path ? path : "/usr/bin:/bin");

	assert_int_equal(rh_json_append(argv, rh_json_new_string("sh")), 0);
	assert_int_equal(rh_json_append(argv, rh_json_new_string("-c")), 0);
	assert_int_equal(rh_json_append(argv, rh_json_new_string(script)), 0);
	assert_int_equal(rh_json_append(env, rh_json_new_string(path_entry)), 0);
	assert_int_equal(rh_json_append(env, rh_json_new_string(mark)), 0);
	assert_int_equal(rh_json_set_string(container, "name", name), 0);
	assert_int_equal(rh_json_set_string(container, "cwd", shim->folder), 0);
	assert_int_equal(rh_json_set_string(container, "log", log), 0);
	assert_int_equal(rh_json_append(rh_json_get(shim->plan, list), container), 0);
	return container;
}

static int harness_write_plan(const struct test_shim *shim)
{
	rh_auto_free char *text = rh_json_text(shim->plan);
	rh_auto_free char *path = rh_path_join(shim->folder, "plan");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(rh_fd_write_all(fd, text, strlen(text), NULL), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	(void)unlink(path);
	return fd;
}

/* Both move up first: either may stand where the other is to go. */
static void harness_become_shim(int plan, int line)
{
	plan = fcntl(plan, F_DUPFD_CLOEXEC, 10);
	line = fcntl(line, F_DUPFD_CLOEXEC, 10);
	(void)dup2(plan, RH_SHIM_PLAN_FD);
	(void)dup2(line, RH_SHIM_CHANNEL_FD);
	(void)close(plan);
	(void)close(line);
	exit(rh_shim_main());
}

void test_shim_start(struct test_shim *shim)
{
	int plan = harness_write_plan(shim);
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	(void)fflush(NULL);
	shim->pid = fork();
	if (shim->pid == 0) {
		(void)close(pair[0]);
		harness_become_shim(plan, pair[1]);
	}
	assert_true(shim->pid > 0);
	(void)close(pair[1]);
	(void)close(plan);
	shim->line = pair[0];
}

/* Read on. @return false at the end */
static bool harness_read(struct test_shim *shim)
{
	struct pollfd poll_fd = {.fd = shim->line, .events = POLLIN};
	char buffer[4096];
	ssize_t n;

	if (shim->line < 0)
		return false;
	if (poll(&poll_fd, 1, WAIT_MS) <= 0)
		fail_msg("the shim says nothing");
	n = recv(shim->line, buffer, sizeof(buffer), 0);
	if (n > 0)
		rh_str_append_bytes(&shim->input, buffer, (size_t)n);
	return n > 0;
}

/* Take one line out of what was read. @return false when there is no whole one */
static bool harness_take_line(struct test_shim *shim, char **ret_line)
{
	const char *end = shim->input.length > 0 ? memchr(shim->input.data, '\n', shim->input.length) : NULL;
	size_t length;

	if (!end)
		return false;
	length = (size_t)(end - shim->input.data);
	*ret_line = rh_strndup(shim->input.data, length);
	memmove(shim->input.data, end + 1, shim->input.length - length - 1);
	shim->input.length -= length + 1;
	return true;
}

/* @return whether the line is a report */
static bool harness_take_report(struct test_shim *shim, const char *line, struct rh_shim_report *ret_report)
{
	rh_auto(json) json = NULL;
	const char *note;

	if (!*line) {
		shim->nudges++;
		return false;
	}
	assert_int_equal(rh_json_parse(line, strlen(line), &json, NULL), 0);
	note = rh_json_string(rh_json_get(json, "note"));
	if (note) {
		rh_str_appendf(&shim->notes, "%s\n", note);
		return false;
	}
	assert_int_equal(rh_shim_report_parse(json, ret_report), 0);
	return true;
}

bool test_shim_receive(struct test_shim *shim, struct rh_shim_report *ret_report)
{
	do {
		char *line = NULL;

		while (harness_take_line(shim, &line)) {
			bool report = harness_take_report(shim, line, ret_report);

			rh_free(line);
			if (report)
				return true;
		}
	} while (harness_read(shim));
	return false;
}

void test_shim_receive_end(struct test_shim *shim, const char *name, struct rh_shim_report *ret_report)
{
	do {
		if (!test_shim_receive(shim, ret_report))
			fail_msg("no end of %s was reported", name);
	} while (strcmp(ret_report->container, name) != 0 || ret_report->running || ret_report->again);
}

void test_shim_receive_start(struct test_shim *shim, const char *name)
{
	struct rh_shim_report report;

	assert_true(test_shim_receive(shim, &report));
	assert_string_equal(report.container, name);
	if (!report.running)
		fail_msg("%s did not start: %s", name, report.message);
}

void test_shim_stop(const struct test_shim *shim, int64_t grace)
{
	const struct rh_shim_stop command = {.grace = grace};

	assert_int_equal(send(shim->line, &command, sizeof(command), MSG_NOSIGNAL), sizeof(command));
}

void test_shim_hang_up(struct test_shim *shim)
{
	if (shim->line >= 0)
		(void)close(shim->line);
	shim->line = -1;
}

int test_shim_wait(struct test_shim *shim)
{
	int cursor = 0;
	int status = 0;
	pid_t pid;

	do
		pid = waitpid(shim->pid, &status, WNOHANG);
	while (pid == 0 && test_shim_pause(&cursor));
	if (pid != shim->pid)
		fail_msg("the shim does not end");
	shim->pid = 0;
	return status;
}

char *test_shim_log(const struct test_shim *shim, const char *name)
{
	rh_auto_free char *path = rh_asprintf("%s/%s.log", shim->folder, name);
	char *text = NULL;

	if (rh_file_read(path, 512 * 1024 * 1024, &text, NULL, NULL) < 0)
		return rh_strdup("");
	return text;
}

void test_shim_await_log(const struct test_shim *shim, const char *name, const char *text)
{
	int cursor = 0;

	for (;;) {
		rh_auto_free char *log = test_shim_log(shim, name);

		if (strstr(log, text))
			return;
		if (!test_shim_pause(&cursor))
			fail_msg("\"%s\" is not in the log of %s: %s", text, name, log);
	}
}

/* Whether the environment of a process has an entry that starts with `mark`, or is it. */
static bool harness_is_marked(pid_t pid, const char *mark, bool whole)
{
	char path[64];
	rh_auto_free char *text = NULL;
	size_t length = 0;
	size_t at = 0;

	if (whole)
		return rh_shim_tree_has_entry(pid, mark);
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	if (rh_file_read(path, 1024 * 1024, &text, &length, NULL) < 0)
		return false;
	for (; at < length; at += strlen(text + at) + 1) {
		if (rh_starts_with(text + at, mark))
			return true;
	}
	return false;
}

size_t test_shim_alive(const struct test_shim *shim, const char *name)
{
	rh_auto_free char *mark = rh_asprintf("%s=%s/%s", RH_SHIM_MARK, shim->folder, name ? name : "");
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			count += harness_is_marked((pid_t)strtol(entry->d_name, NULL, 10), mark, name != NULL) ? 1 : 0;
	}
	(void)closedir(folder);
	return count;
}

void test_shim_await_alive(const struct test_shim *shim, const char *name, size_t count)
{
	int cursor = 0;

	while (test_shim_alive(shim, name) != count) {
		if (!test_shim_pause(&cursor))
			fail_msg("%zu processes of %s, not %zu", test_shim_alive(shim, name), name ? name : "the pod", count);
	}
}

int test_shim_teardown(void **state)
{
	struct test_shim *shim = *state;

	test_shim_hang_up(shim);
	if (shim->pid > 0) {
		(void)kill(shim->pid, SIGTERM);
		(void)test_shim_wait(shim);
	}
	test_shim_await_alive(shim, NULL, 0);
	rh_json_free(shim->plan);
	rh_str_deinit(&shim->input);
	rh_str_deinit(&shim->notes);
	test_scratch_remove(shim->folder);
	rh_free(shim);
	return 0;
}
