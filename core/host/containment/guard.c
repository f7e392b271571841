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

/** How often a call that takes long is looked at, in nanoseconds. */
#define GUARD_TICK 250000000L
/** Exit status of a process that a plugin ended. */
#define GUARD_FAILED 1
/** Exit status of a process that was interrupted. */
#define GUARD_INTERRUPTED 130
/** Room for a message. */
#define GUARD_MESSAGE_SIZE 1024
/** Stack of the handler of crashes: the plugin may have used up its own. */
#define GUARD_STACK_SIZE (64 * 1024)

#ifndef sigev_notify_thread_id /* the C library has the member, and no name for it */
#define sigev_notify_thread_id _sigev_un._tid
#endif

static const int guard_interrupts[RH_GUARD_INTERRUPTS] = {SIGINT, SIGTERM, SIGHUP};

/* Signal handlers reach these. */
static struct rh_guard *_Atomic guard_now; /* the call that runs, or NULL */
static struct rh_guard_trace *_Atomic guard_shown;
static _Atomic timer_t guard_timer;
static _Atomic bool guard_timed; /* guard_timer is there */
static _Atomic int64_t guard_deadline_time = RH_NEVER;
static _Atomic int guard_deadline_status = GUARD_FAILED;
static _Atomic bool guard_prepared;

/** @return the call that runs in this process, not in a child that a plugin made; or NULL */
static struct rh_guard *guard_running(void)
{
	struct rh_guard *guard = atomic_load(&guard_now);

	return guard && guard->pid == getpid() ? guard : NULL;
}

/** End the process: only the kernel is asked, because handlers of the plugin might not come back either. */
__attribute__((noreturn)) static void guard_quit(int status)
{
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

/** Write one line on standard error, in a signal handler. @p pieces is ended by NULL */
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

/** Say what the plugin did: `plugin "x" BEFORE pod() AFTER (PyTorchJob default/mnist)` */
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
	const struct rh_guard *guard = guard_running();

	(void)number;
	if (!guard)
		return;
	guard_report(guard, "does not come back from", ": interrupted");
	guard_quit(GUARD_INTERRUPTED);
}

/** The call takes long: who would have to wait for its end to be heard is heard at once. Ignored signals stay so. */
static void guard_catch_interrupts(struct rh_guard *guard)
{
	struct sigaction action = {.sa_handler = guard_on_interrupt};

	for (size_t i = 0; i < RH_GUARD_INTERRUPTS; i++) {
		if (sigaction(guard_interrupts[i], &action, &guard->before[i]) == 0 && guard->before[i].sa_handler == SIG_IGN)
			(void)sigaction(guard_interrupts[i], &guard->before[i], NULL);
	}
	guard->slow = true;
}

/** @p limit, microseconds, as whole seconds, at least 1 */
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

static void guard_on_tick(int number)
{
	int before = errno;
	struct rh_guard *guard = guard_running();
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
	if (guard && !guard->slow)
		guard_catch_interrupts(guard);
	errno = before;
}

static void guard_on_exit(void)
{
	const struct rh_guard *guard = guard_running();

	if (!guard)
		return;
	guard_report(guard, "ended the program in", "");
	(void)fflush(NULL);
	guard_quit(GUARD_FAILED);
}

#ifndef RH_INSTRUMENTED

/** The handler has been taken out by SA_RESETHAND: the signal comes again, and does what it does without us. */
static void guard_on_crash(int number)
{
	static const struct {
		int number;
		const char *words;
	} names[] = {{SIGSEGV, ": segmentation fault"},
	             {SIGBUS, ": bus error"},
	             {SIGFPE, ": arithmetic error"},
	             {SIGILL, ": illegal instruction"},
	             {SIGABRT, ": it was aborted"}};
	const struct rh_guard *guard = guard_running();

	for (size_t i = 0; guard && i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].number == number)
			guard_report(guard, "crashed in", names[i].words);
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

/** Takes the place of the C library's: a plugin that ends the process must not make a success of it. */
__attribute__((visibility("default"))) void _exit(int status)
{
	const struct rh_guard *guard = guard_running();

	if (guard)
		guard_report(guard, "ended the program in", "");
	guard_quit(guard ? GUARD_FAILED : status);
}

/** Likewise. */
__attribute__((visibility("default"))) void _Exit(int status)
{
	_exit(status);
}

#else

/** A sanitizer has handlers of its own. */
static void guard_catch_crashes(void)
{
}

#endif

/** Once in a process, on the thread that calls plugins. Where there are no timers, calls are not limited. */
static void guard_prepare(void)
{
	struct sigaction action = {.sa_handler = guard_on_tick, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX - 1};
	timer_t timer;

	if (atomic_exchange(&guard_prepared, true))
		return;
	event.sigev_notify_thread_id = gettid();
	(void)atexit(guard_on_exit);
	(void)at_quick_exit(guard_on_exit);
	guard_catch_crashes();
	if (sigaction(event.sigev_signo, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) {
		atomic_store(&guard_timer, timer);
		atomic_store(&guard_timed, true);
	}
}

static void guard_set_timer(long every)
{
	const struct itimerspec when = {.it_interval = {.tv_nsec = every}, .it_value = {.tv_nsec = every}};

	if (atomic_load(&guard_timed))
		(void)timer_settime(atomic_load(&guard_timer), 0, &when, NULL);
}

void rh_guard_enter(struct rh_guard *guard)
{
	struct rh_guard_trace *shown = atomic_load(&guard_shown);

	if (shown) {
		rh_copy(shown->operation, sizeof(shown->operation), guard->operation);
		return;
	}
	guard_prepare();
	guard->began = rh_clock_monotonic();
	guard->pid = getpid();
	guard->slow = false;
	atomic_store(&guard_now, guard);
	guard_set_timer(GUARD_TICK);
}

void rh_guard_leave(void)
{
	const struct rh_guard *guard = atomic_exchange(&guard_now, NULL);

	if (!guard)
		return;
	guard_set_timer(0);
	for (size_t i = 0; guard->slow && i < RH_GUARD_INTERRUPTS; i++)
		(void)sigaction(guard_interrupts[i], &guard->before[i], NULL);
}

void rh_guard_deadline(int64_t time, int status)
{
	atomic_store(&guard_deadline_status, status);
	atomic_store(&guard_deadline_time, time);
}

void rh_guard_trace(struct rh_guard_trace *trace)
{
	atomic_store(&guard_shown, trace);
}
