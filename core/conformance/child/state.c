/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/child/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "conformance/child/traps.h"

/** Highest number of a signal. */
#define STATE_SIGNALS 64
/** Most bytes of output that a finding shows. */
#define STATE_OUTPUT_SIZE 200

/** State of the process at one time. Hashes stand for what is only compared. */
struct state_snapshot {
	size_t threads;
	size_t descriptors;
	uint64_t environment;
	uint64_t locale;
	uint64_t folder;
	uint64_t limits;
	uint64_t handlers;
	uint64_t blocked;
	uint64_t timers;
	mode_t mask;
	int rounding;
};

struct rh_state {
	DIR *tasks;       /**< /proc/self/task, opened before system calls are watched */
	DIR *descriptors; /**< /proc/self/fd, likewise */
	int output;       /**< what was written to standard output and standard error */
	struct state_snapshot last;
};

static size_t state_entries(DIR *folder)
{
	size_t count = 0;

	if (!folder)
		return 0;
	rewinddir(folder);
	while (readdir(folder))
		count++;
	return count;
}

static uint64_t state_environment(void)
{
	uint64_t hash = 0;

	for (char **variable = environ; variable && *variable; variable++)
		hash = hash * 31 + rh_hash(*variable, strlen(*variable));
	return hash;
}

static uint64_t state_folder(void)
{
	char path[4096];

	return getcwd(path, sizeof(path)) ? rh_hash(path, strlen(path)) : 0;
}

static uint64_t state_limits(void)
{
	struct rlimit limits[RLIM_NLIMITS];

	memset(limits, 0, sizeof(limits));
	for (unsigned i = 0; i < RLIM_NLIMITS; i++)
		(void)getrlimit(i, &limits[i]);
	return rh_hash(limits, sizeof(limits));
}

static uint64_t state_handlers(void)
{
	uint64_t hash = 0;

	for (int i = 1; i <= STATE_SIGNALS; i++) {
		struct sigaction action = {0};

		if (sigaction(i, NULL, &action) == 0)
			hash = hash * 31 + rh_hash(&action.sa_handler, sizeof(action.sa_handler)) + (unsigned)action.sa_flags;
	}
	return hash;
}

static uint64_t state_blocked(void)
{
	uint64_t bits = 0;
	sigset_t set;

	if (sigprocmask(SIG_BLOCK, NULL, &set) < 0)
		return 0;
	for (int i = 1; i <= STATE_SIGNALS; i++)
		bits |= (uint64_t)(sigismember(&set, i) == 1) << (i - 1);
	return bits;
}

static uint64_t state_timers(void)
{
	struct itimerval timer = {0};
	uint64_t armed = 0;

	for (int i = ITIMER_REAL; i <= ITIMER_PROF; i++) {
		if (getitimer((__itimer_which_t)i, &timer) == 0)
			armed = armed * 2 + (timer.it_value.tv_sec || timer.it_value.tv_usec);
	}
	return armed;
}

/** How sums of doubles are rounded, by what becomes of a fraction of a digit. fegetround() would make every command
 * load libm. */
static int state_rounding(void)
{
	volatile double one = 1, fraction = DBL_EPSILON / 8;

	return (one + fraction > one) | (one - fraction < one) << 1 | (-one - fraction < -one) << 2;
}

static void state_read(const struct rh_state *state, struct state_snapshot *snapshot)
{
	const char *locale = setlocale(LC_ALL, NULL);
	locale_t current = uselocale((locale_t)0);

	snapshot->threads = state_entries(state->tasks);
	snapshot->descriptors = state_entries(state->descriptors);
	snapshot->environment = state_environment();
	snapshot->locale = rh_hash(locale ? locale : "", locale ? strlen(locale) : 0) ^ rh_hash(&current, sizeof(current));
	snapshot->folder = state_folder();
	snapshot->limits = state_limits();
	snapshot->handlers = state_handlers();
	snapshot->blocked = state_blocked();
	snapshot->timers = state_timers();
	snapshot->mask = umask(0);
	(void)umask(snapshot->mask);
	snapshot->rounding = state_rounding();
}

/** Standard output and standard error become a pipe; a full one fails writes instead of blocking them. */
static int state_capture(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	if (dup2(ends[1], STDOUT_FILENO) < 0 || dup2(ends[1], STDERR_FILENO) < 0)
		return -1;
	(void)close(ends[1]);
	return ends[0];
}

struct rh_state *rh_state_new(void)
{
	struct rh_state *state = rh_alloc(sizeof(*state));

	if (!state)
		return NULL;
	state->tasks = opendir("/proc/self/task");
	state->descriptors = opendir("/proc/self/fd");
	state->output = state_capture();
	if (state->output < 0) {
		rh_state_free(state);
		return NULL;
	}
	state_read(state, &state->last);
	return state;
}

void rh_state_free(struct rh_state *state)
{
	if (!state)
		return;
	if (state->tasks)
		closedir(state->tasks);
	if (state->descriptors)
		closedir(state->descriptors);
	if (state->output >= 0)
		(void)close(state->output);
	rh_free(state);
}

static void state_check_output(const struct rh_state *state, struct rh_board *board)
{
	char text[STATE_OUTPUT_SIZE + 1];
	char rest[4096];
	rh_auto_str shown = {0};
	ssize_t got;

	(void)fflush(NULL);
	got = read(state->output, text, STATE_OUTPUT_SIZE);
	if (got <= 0)
		return;
	while (read(state->output, rest, sizeof(rest)) > 0)
		continue;
	rh_str_append_line(&shown, text, (size_t)got, STATE_OUTPUT_SIZE);
	rh_board_warn(board, RH_CHECK_OUTPUT, "it writes \"%s\"", rh_str_text(&shown));
}

static void state_compare(const struct state_snapshot *was, const struct state_snapshot *is, struct rh_board *board)
{
	const struct {
		bool differs;
		const char *what;
	} parts[] = {
		{was->environment != is->environment, "the environment of the process (setenv, putenv, unsetenv)"},
		{was->locale != is->locale, "the locale of the process (setlocale, uselocale)"},
		{was->folder != is->folder, "the working folder (chdir)"},
		{was->limits != is->limits, "a limit of the process (setrlimit)"},
		{was->handlers != is->handlers, "the handler of a signal (signal, sigaction)"},
		{was->blocked != is->blocked, "which signals are blocked (sigprocmask)"},
		{was->timers != is->timers, "a timer of the process (alarm, setitimer)"},
		{was->mask != is->mask, "the mask of new files (umask)"},
		{was->rounding != is->rounding, "how numbers are rounded (fesetround)"},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].differs)
			rh_board_add(board, RH_CHECK_PROCESS, "it changes %s", parts[i].what);
	}
	if (is->threads > was->threads) {
		rh_board_add(board, RH_CHECK_THREADS, "it leaves %zu thread%s behind", is->threads - was->threads,
		             is->threads - was->threads == 1 ? "" : "s");
		board->skip |= UINT32_C(1) << board->stage; /* thousands of calls would make thousands of threads */
	}
	if (is->descriptors > was->descriptors)
		rh_board_add(board, RH_CHECK_DESCRIPTORS, "it leaves %zu descriptor%s open", is->descriptors - was->descriptors,
		             is->descriptors - was->descriptors == 1 ? "" : "s");
	else if (is->descriptors < was->descriptors && board->stage != RH_STAGE_FINI)
		rh_board_add(board, RH_CHECK_DESCRIPTORS, "it closes a descriptor that is not its own");
}

void rh_state_check(struct rh_state *state, struct rh_board *board)
{
	struct state_snapshot now = {0};
	enum rh_check check;
	char what[RH_REPORT_PER_CHECK * 64];

	while (rh_traps_take(&check, what, sizeof(what)))
		rh_board_add(board, check, "%s", what);
	state_check_output(state, board);
	state_read(state, &now);
	state_compare(&state->last, &now, board);
	state->last = now;
	if (waitpid(-1, NULL, WNOHANG) >= 0)
		rh_board_add(board, RH_CHECK_THREADS, "it leaves a child process behind");
}
