/* SPDX-License-Identifier: Apache-2.0 */
#include "host/containment/guard.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/str.h"

/** Interval at which a running call is checked, in microseconds. */
#define GUARD_TICK (RH_SECOND / 4)
/** Exit status of a process that a plugin ended or blocked. */
#define GUARD_FAILED 1
/** Exit status of a process that was interrupted. */
#define GUARD_INTERRUPTED 130
/** Longest message, in bytes, its line feed included. */
#define GUARD_MESSAGE_SIZE 1024
/** Bytes of the alternate signal stack: a crash may be a stack overflow. */
#define GUARD_STACK_SIZE (64 * 1024)

#ifndef sigev_notify_thread_id /* glibc has the member without this name */
#define sigev_notify_thread_id _sigev_un._tid
#endif

static const int guard_interrupts[RH_GUARD_INTERRUPTS] = {SIGINT, SIGTERM, SIGHUP};

/* Shared with signal handlers. */
static struct rh_guard *_Atomic guard_call; /* the call in progress, or NULL */
static struct rh_guard_trace *_Atomic guard_tracing;
static _Atomic timer_t guard_timer;
static _Atomic bool guard_has_timer;
static _Atomic bool guard_ticking;  /* guard_timer is armed */
static _Atomic pid_t guard_process; /* process that calls plugins; 0: not prepared */
static _Atomic int64_t guard_deadline_time = RH_NEVER;
static _Atomic int guard_deadline_status = GUARD_FAILED;

/** @return the call in progress, or NULL; NULL in a child process that a plugin forked */
static struct rh_guard *guard_current(void)
{
	struct rh_guard *guard = atomic_load(&guard_call);

	return guard && atomic_load(&guard_process) == getpid() ? guard : NULL;
}

/** End the process by the system call: exit handlers of the plugin may block, too. */
__attribute__((noreturn)) static void guard_quit(int status)
{
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

/** Write one line to standard error. Async-signal-safe. @p pieces ends with NULL */
static void guard_print(const char *const *pieces)
{
	char text[GUARD_MESSAGE_SIZE];
	size_t length = 0;
	ssize_t written;

	for (; *pieces; pieces++) {
		size_t size = strlen(*pieces);

		if (size > sizeof(text) - 1 - length)
			size = sizeof(text) - 1 - length;
		memcpy(text + length, *pieces, size);
		length += size;
	}
	text[length++] = '\n';
	written = write(STDERR_FILENO, text, length);
	(void)written;
}

/** Print `plugin "x" BEFORE pod() AFTER (PyTorchJob default/mnist)`. Async-signal-safe. */
static void guard_report(const struct rh_guard *guard, const char *before, const char *after)
{
	const char *const pieces[] = {"roundhouse: plugin \"",
	                              guard->plugin,
	                              "\" ",
	                              before,
	                              " ",
	                              guard->operation,
	                              after,
	                              guard->object ? " (" : "",
	                              guard->object ? guard->object : "",
	                              guard->object ? ")" : "",
	                              NULL};

	guard_print(pieces);
}

static void guard_on_interrupt(int number)
{
	const struct rh_guard *guard = guard_current();

	(void)number;
	if (!guard)
		return;
	guard_report(guard, "does not come back from", ": interrupted");
	guard_quit(GUARD_INTERRUPTED);
}

/** During a slow call SIGINT, SIGTERM and SIGHUP end the process at once. Ignored signals stay ignored. */
static void guard_catch_interrupts(struct rh_guard *guard)
{
	struct sigaction action = {.sa_handler = guard_on_interrupt};

	for (size_t i = 0; i < RH_GUARD_INTERRUPTS; i++) {
		if (sigaction(guard_interrupts[i], &action, &guard->before[i]) == 0 && guard->before[i].sa_handler == SIG_IGN)
			(void)sigaction(guard_interrupts[i], &guard->before[i], NULL);
	}
	guard->slow = true;
}

/** Print @p limit, microseconds, as whole seconds, at least 1. Async-signal-safe. @return borrowed from @p text */
static const char *guard_seconds(int64_t limit, char text[24])
{
	int64_t seconds = limit < RH_SECOND ? 1 : limit / RH_SECOND;
	char *at = text + 23;

	*at = '\0';
	do {
		*--at = (char)('0' + seconds % 10);
		seconds /= 10;
	} while (seconds > 0);
	return at;
}

static void guard_set_timer(int64_t interval)
{
	const struct timespec time = {.tv_nsec = (long)interval * 1000};
	const struct itimerspec setting = {.it_interval = time, .it_value = time};

	if (atomic_load(&guard_has_timer))
		(void)timer_settime(atomic_load(&guard_timer), 0, &setting, NULL);
}

/** The timer was armed by an earlier call, so the first tick of a call may come early. */
static void guard_on_tick(int number)
{
	int before = errno;
	struct rh_guard *guard = guard_current();
	int64_t now = rh_clock_monotonic();
	char number_text[24];
	char after[64] = " within ";

	(void)number;
	if (guard && now >= atomic_load(&guard_deadline_time)) {
		guard_report(guard, "does not come back from", ": the time limit of the run is over");
		guard_quit(atomic_load(&guard_deadline_status));
	}
	if (guard && now - guard->began >= guard->limit) {
		const char *seconds = guard_seconds(guard->limit, number_text);

		memcpy(after + 8, seconds, strlen(seconds));
		memcpy(after + 8 + strlen(seconds), " s, so the program ends", 24);
		guard_report(guard, "did not come back from", after);
		guard_quit(GUARD_FAILED);
	}
	if (guard && !guard->slow && now - guard->began >= GUARD_TICK)
		guard_catch_interrupts(guard);
	if (!atomic_load(&guard_call)) {
		atomic_store(&guard_ticking, false);
		guard_set_timer(0);
	}
	errno = before;
}

static void guard_on_exit(void)
{
	const struct rh_guard *guard = guard_current();

	if (!guard)
		return;
	guard_report(guard, "ended the program in", "");
	(void)fflush(NULL);
	guard_quit(GUARD_FAILED);
}

#ifndef RH_INSTRUMENTED

/** SA_RESETHAND removed this handler, so raise() has the default effect. */
static void guard_on_crash(int number)
{
	static const struct {
		int number;
		const char *text;
	} names[] = {{SIGSEGV, ": segmentation fault"},
	             {SIGBUS, ": bus error"},
	             {SIGFPE, ": arithmetic error"},
	             {SIGILL, ": illegal instruction"},
	             {SIGABRT, ": it was aborted"}};
	const struct rh_guard *guard = guard_current();

	for (size_t i = 0; guard && i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].number == number)
			guard_report(guard, "crashed in", names[i].text);
	}
	(void)raise(number);
}

static void guard_catch_crashes(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	struct sigaction action = {.sa_handler = guard_on_crash, .sa_flags = SA_RESETHAND | SA_ONSTACK};
	stack_t stack = {.ss_size = GUARD_STACK_SIZE};

	stack.ss_sp = mmap(NULL, GUARD_STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) < 0)
		action.sa_flags &= ~SA_ONSTACK;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)sigaction(numbers[i], &action, NULL);
}

/** Replaces the C library's function: a plugin must not end the process with status 0. */
__attribute__((visibility("default"))) void _exit(int status)
{
	const struct rh_guard *guard = guard_current();

	if (guard)
		guard_report(guard, "ended the program in", "");
	guard_quit(guard ? GUARD_FAILED : status);
}

/** Same as _exit(). */
__attribute__((visibility("default"))) void _Exit(int status)
{
	_exit(status);
}

#else

/** Sanitizers install their own handlers. */
static void guard_catch_crashes(void)
{
}

#endif

/** Runs once, on the thread that calls plugins. Without timers, calls have no time limit. */
static void guard_prepare(void)
{
	struct sigaction action = {.sa_handler = guard_on_tick, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX - 1};
	timer_t timer;

	if (atomic_load(&guard_process))
		return;
	atomic_store(&guard_process, getpid());
	event.sigev_notify_thread_id = gettid();
	(void)atexit(guard_on_exit);
	(void)at_quick_exit(guard_on_exit);
	guard_catch_crashes();
	if (sigaction(event.sigev_signo, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) {
		atomic_store(&guard_timer, timer);
		atomic_store(&guard_has_timer, true);
	}
}

void rh_guard_enter(struct rh_guard *guard)
{
	struct rh_guard_trace *trace = atomic_load(&guard_tracing);

	if (trace) {
		rh_copy(trace->operation, sizeof(trace->operation), guard->operation);
		return;
	}
	guard_prepare();
	guard->began = rh_clock_monotonic();
	guard->slow = false;
	atomic_store(&guard_call, guard);
	if (!atomic_exchange(&guard_ticking, true))
		guard_set_timer(GUARD_TICK);
}

/** The timer stays armed: a system call less for the next call. The first tick without a call disarms it. */
void rh_guard_leave(void)
{
	const struct rh_guard *guard = atomic_exchange(&guard_call, NULL);

	for (size_t i = 0; guard && guard->slow && i < RH_GUARD_INTERRUPTS; i++)
		(void)sigaction(guard_interrupts[i], &guard->before[i], NULL);
}

void rh_guard_deadline(int64_t time, int status)
{
	atomic_store(&guard_deadline_status, status);
	atomic_store(&guard_deadline_time, time);
}

void rh_guard_trace(struct rh_guard_trace *trace)
{
	atomic_store(&guard_tracing, trace);
}
