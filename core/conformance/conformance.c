/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/conformance.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/os/limit.h"
#include "conformance/board.h"
#include "conformance/child/sweep.h"
#include "conformance/exports.h"
#include "conformance/golden.h"
#include "roundhouse/plugin.h"

/** Descriptors of a child: one that closes with it, and one that takes the objects of golden cases. */
#define CONFORMANCE_LINE_FD 3
#define CONFORMANCE_OUT_FD 4
/** Address space that a child may take. */
#define CONFORMANCE_MEMORY_MAX ((rlim_t)3 << 30)
/** Largest plugin file whose symbols are read, and largest text of golden cases. */
#define CONFORMANCE_FILE_MAX ((size_t)512 << 20)
/** How often a child is looked at, in milliseconds. */
#define CONFORMANCE_TICK 100
/** Exit status of a child in which the kit itself failed. */
#define CONFORMANCE_KIT_FAILED 99

/** What a child does. */
enum conformance_part { CONFORMANCE_FIRST, CONFORMANCE_SECOND, CONFORMANCE_GOLDEN };

/** A test in progress. */
struct conformance {
	const struct rh_conformance *test;
	char file[PATH_MAX]; /**< absolute: children have other working folders */
	struct rh_manifest jobs;
	struct rh_board *board;
	size_t cases;
	int out;     /**< of golden cases */
	int status;  /**< of waitpid() */
	bool late;   /**< the child was ended because a call took too long */
	bool broken; /**< the plugin cannot be loaded, or does not end */
};

/** In the child. Descriptors of the parent are closed; it ends with its parent. */
static void conformance_confine(const struct conformance *run, pid_t parent, int line, enum conformance_part part)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CONFORMANCE_KIT_FAILED);
	line = fcntl(line, F_DUPFD_CLOEXEC, CONFORMANCE_OUT_FD + 1);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	(void)dup2(run->out >= 0 ? run->out : null, CONFORMANCE_OUT_FD);
	(void)dup2(line, CONFORMANCE_LINE_FD);
	(void)close_range(CONFORMANCE_OUT_FD + 1, ~0U, 0);
	rh_limit_lower(RLIMIT_CORE, 0);
#ifndef RH_INSTRUMENTED /* sanitizers map terabytes */
	rh_limit_lower(RLIMIT_AS, CONFORMANCE_MEMORY_MAX);
#endif
	rh_log_setup(RH_LOG_ERROR, false); /* what a plugin notes is not its output */
	if (part == CONFORMANCE_SECOND) {
		(void)setenv("TZ", "Pacific/Kiritimati", 1);
		(void)setenv("HOME", "/nonexistent", 1);
		(void)setenv("USER", "another", 1);
		if (chdir("/") < 0)
			_exit(CONFORMANCE_KIT_FAILED);
	}
	rh_guard_trace(&run->board->trace);
}

__attribute__((noreturn)) static void conformance_child(const struct conformance *run, enum conformance_part part)
{
	const struct rh_sweep sweep = {.config = run->test->config,
	                               .file = run->file,
	                               .jobs = &run->jobs,
	                               .board = run->board,
	                               .second = part == CONFORMANCE_SECOND};
	struct rh_error err = {0};
	int r;

	if (part == CONFORMANCE_GOLDEN)
		r = rh_golden_render(run->test->config, run->file, &run->jobs, CONFORMANCE_OUT_FD, &err);
	else
		r = rh_sweep(&sweep, &err);
	if (r < 0) {
		rh_copy(run->board->where, sizeof(run->board->where), err.message);
		_exit(CONFORMANCE_KIT_FAILED);
	}
	run->board->trace.done = true;
	_exit(0);
}

/** Wait for the end of a child, at most as long as one call may take. */
static void conformance_wait(struct conformance *run, pid_t pid, int line)
{
	const struct rh_conformance *test = run->test;
	struct pollfd poll_line = {.fd = line, .events = POLLIN};
	int r;

	run->late = false;
	while ((r = poll(&poll_line, 1, CONFORMANCE_TICK)) <= 0 && !run->late) {
		int64_t began = atomic_load(&run->board->began);

		run->late = began != 0 && rh_clock_monotonic() - began > test->config->plugin_time_limit;
		if (test->progress && r == 0)
			test->progress(test->arg, run->board->at, run->board->total);
	}
	if (run->late)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &run->status, 0) < 0 && errno == EINTR)
		continue;
}

/** Run one child to its end. @return 0 or RH_EIO */
static int conformance_start(struct conformance *run, enum conformance_part part, struct rh_error *err)
{
	pid_t parent = getpid();
	int line[2];
	pid_t pid;

	run->board->trace.done = false;
	run->board->stage = RH_STAGE_LOAD;
	atomic_store(&run->board->began, 0);
	if (pipe2(line, O_CLOEXEC) < 0)
		return rh_fail(err, RH_EIO, "cannot start a process for the plugin: %s", strerror(errno));
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		conformance_confine(run, parent, line[1], part);
		conformance_child(run, part);
	}
	(void)close(line[1]);
	if (pid > 0)
		conformance_wait(run, pid, line[0]);
	(void)close(line[0]);
	return pid > 0 ? 0 : rh_fail(err, RH_EIO, "cannot start a process for the plugin: fork: %s", strerror(errno));
}

static bool conformance_kit_failed(const struct conformance *run)
{
	return WIFEXITED(run->status) && WEXITSTATUS(run->status) == CONFORMANCE_KIT_FAILED;
}

static bool conformance_is_done(const struct conformance *run)
{
	return run->board->trace.done && WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0;
}

/** A child did not come to its end: find out why. The operation is left out from now on. */
static void conformance_blame(struct conformance *run)
{
	struct rh_board *board = run->board;
	int death = WIFSIGNALED(run->status) ? WTERMSIG(run->status) : 0;
	char operation[RH_GUARD_OPERATION_SIZE];

	rh_copy(operation, sizeof(operation), board->trace.operation);
	if (board->stage == RH_STAGE_LOAD || board->stage == RH_STAGE_FINI)
		snprintf(board->where, sizeof(board->where), "%s", operation);
	if (run->late)
		rh_board_add(board, RH_CHECK_TIME, "no return from %s within %.3g s", operation,
		             (double)run->test->config->plugin_time_limit / RH_SECOND);
	else if (death == SIGSYS)
		rh_board_add(board, RH_CHECK_THREADS,
		             "%s: a system call that no operation needs while all signals are blocked, as posix_spawn() makes",
		             operation);
	else if (death)
		rh_board_add(board, RH_CHECK_CRASH, "a crash in %s: %s", operation, strsignal(death));
	else
		rh_board_add(board, RH_CHECK_EXIT, "%s: the process ends, with status %d", operation, WEXITSTATUS(run->status));
	run->broken = board->stage == RH_STAGE_LOAD || board->stage >= RH_STAGE_FINI;
	board->skip |= UINT32_C(1) << (board->stage & 7);
	board->from = board->at;
}

/** Run a part until it comes to its end; a job in which an operation crashes is tried again without that operation. */
static int conformance_part(struct conformance *run, enum conformance_part part, struct rh_error *err)
{
	int r = 0;

	run->board->from = run->board->at = 0;
	for (int i = 0; i < RH_STAGE_COUNT && r == 0 && !run->broken; i++) {
		r = conformance_start(run, part, err);
		if (r < 0 || conformance_is_done(run))
			break;
		if (conformance_kit_failed(run))
			return rh_fail(err, RH_EIO, "%s", run->board->where);
		conformance_blame(run);
	}
	run->cases = run->board->total;
	return r;
}

/** Wait until the clock shows another second than now, so that what depends on it shows. */
static void conformance_next_second(void)
{
	time_t now = time(NULL);

	while (time(NULL) == now)
		(void)poll(NULL, 0, 20);
}

static int conformance_exports(struct conformance *run, struct rh_error *err)
{
	rh_auto_free char *text = NULL;
	rh_auto_str names = {0};
	size_t length, count;
	int r = rh_file_read(run->file, CONFORMANCE_FILE_MAX, &text, &length, err);

	if (r < 0)
		return r;
	rh_copy(run->board->where, sizeof(run->board->where), run->test->file);
	count = rh_exports(text, length, RH_PLUGIN_SYMBOL, &names);
	if (count > 0)
		rh_board_warn(run->board, RH_CHECK_EXPORTS, "it exports %zu more symbol%s: %s%s", count, count == 1 ? "" : "s",
		              rh_str_text(&names), count > 6 ? ", ..." : "");
	return 0;
}

/** Read what the child of golden cases wrote. @param[out] ret_rendered owned by the caller */
static int conformance_read(const struct conformance *run, struct rh_json **ret_rendered, struct rh_error *err)
{
	rh_auto_free char *text = NULL;
	size_t length;
	int r;

	if (lseek(run->out, 0, SEEK_SET) < 0)
		return rh_fail(err, RH_EIO, "cannot read what was rendered: %s", strerror(errno));
	r = rh_fd_read(run->out, "the rendered objects", CONFORMANCE_FILE_MAX, &text, &length, err);
	return r == 0 ? rh_json_parse(text, length, ret_rendered, err) : r;
}

static int conformance_golden(struct conformance *run, struct rh_error *err)
{
	const struct rh_conformance *test = run->test;
	rh_auto(json) rendered = NULL;
	int r;

	run->out = memfd_create("objects", MFD_CLOEXEC);
	if (run->out < 0)
		return rh_fail(err, RH_EIO, "cannot keep rendered objects: %s", strerror(errno));
	r = conformance_start(run, CONFORMANCE_GOLDEN, err);
	if (r == 0 && conformance_kit_failed(run)) {
		char message[sizeof(run->board->where)];

		rh_copy(message, sizeof(message), run->board->where);
		rh_copy(run->board->where, sizeof(run->board->where), "rendering the jobs");
		rh_board_add(run->board, RH_CHECK_GOLDEN, "%s", message);
		return 0;
	}
	if (r == 0 && !conformance_is_done(run)) {
		conformance_blame(run);
		return 0;
	}
	if (r == 0)
		r = conformance_read(run, &rendered, err);
	if (r == 0 && test->record)
		r = rh_golden_record(rendered, test->record, err);
	if (r == 0 && test->golden)
		r = rh_golden_compare(run->board, rendered, test->golden, err);
	return r;
}

static int conformance_open(struct conformance *run, struct rh_error *err)
{
	const struct rh_conformance *test = run->test;
	int r = 0;

	run->out = -1;
	if (!realpath(test->file, run->file))
		return rh_fail(err, errno == ENOENT ? RH_ENOENT : RH_EINVAL, "plugin \"%s\": %s", test->file, strerror(errno));
	for (size_t i = 0; i < test->job_count && r == 0; i++)
		r = rh_manifest_read(&run->jobs, test->jobs[i], err);
	if (r < 0)
		return r;
	run->board = mmap(NULL, sizeof(*run->board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->board == MAP_FAILED) {
		run->board = NULL;
		return rh_fail_oom(err);
	}
	return 0;
}

static void conformance_close(struct conformance *run)
{
	if (run->board)
		(void)munmap(run->board, sizeof(*run->board));
	if (run->out >= 0)
		(void)close(run->out);
	rh_manifest_deinit(&run->jobs);
}

/** Take the findings from the memory that plugins could write. */
static int conformance_report(const struct conformance *run, struct rh_report *report, struct rh_error *err)
{
	const struct rh_board *board = run->board;
	size_t count = board->count < RH_BOARD_FINDINGS ? board->count : RH_BOARD_FINDINGS;

	report->findings = rh_alloc_array(count + 1, sizeof(*report->findings));
	if (!report->findings)
		return rh_fail_oom(err);
	for (size_t i = 0; i < count; i++) {
		struct rh_report_finding *finding = &report->findings[report->count];

		*finding = board->findings[i];
		finding->where[sizeof(finding->where) - 1] = '\0';
		finding->what[sizeof(finding->what) - 1] = '\0';
		if (finding->check >= 0 && finding->check < RH_CHECK_COUNT)
			report->count++;
	}
	rh_copy(report->file, sizeof(report->file), run->test->file);
	rh_copy(report->plugin, sizeof(report->plugin), board->plugin);
	rh_copy(report->release, sizeof(report->release), board->release);
	report->calls = board->calls;
	report->cases = run->cases;
	report->skipped[RH_CHECK_GOLDEN] = !run->test->golden;
	report->skipped[RH_CHECK_SERVER] = 1; /* the caller's */
	report->skipped[RH_CHECK_FILES] = !board->traps;
	for (int i = RH_CHECK_EXIT + 1; i < RH_CHECK_GOLDEN && run->cases == 0; i++)
		report->skipped[i] = 1;
	return 0;
}

static int conformance_all(struct conformance *run, struct rh_error *err)
{
	int r = conformance_part(run, CONFORMANCE_FIRST, err);

	if (r == 0)
		r = conformance_exports(run, err);
	if (r == 0 && run->cases > 0 && !run->broken) {
		conformance_next_second();
		r = conformance_part(run, CONFORMANCE_SECOND, err);
	}
	if (r == 0 && !run->broken && (run->test->record || run->test->golden))
		r = conformance_golden(run, err);
	return r;
}

int rh_conformance_run(const struct rh_conformance *test, struct rh_report *report, struct rh_error *err)
{
	struct conformance run = {.test = test};
	int64_t began = rh_clock_monotonic();
	int r = conformance_open(&run, err);

	*report = (struct rh_report){0};
	if (r == 0)
		r = conformance_all(&run, err);
	if (r == 0)
		r = conformance_report(&run, report, err);
	report->took = rh_clock_monotonic() - began;
	conformance_close(&run);
	return r;
}
