/* SPDX-License-Identifier: Apache-2.0 */
#include "local/progress/stack.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "base/os/spawn.h"

#define STACK_PROGRAM "py-spy"
#define STACK_PATH 64
#define STACK_FILE_MAX ((size_t)1 << 20)
#define STACK_MAPS_MAX ((size_t)64 << 20)
#define STACK_LINE 300

/* Calls that wait, and whether their first argument is a descriptor. */
struct stack_call {
	long number;
	const char *name;
	bool descriptor;
};

static const struct stack_call stack_calls[] = {
	{SYS_read, "read", true},
	{SYS_write, "write", true},
	{SYS_pread64, "pread", true},
	{SYS_readv, "readv", true},
	{SYS_writev, "writev", true},
	{SYS_recvfrom, "recvfrom", true},
	{SYS_recvmsg, "recvmsg", true},
	{SYS_sendto, "sendto", true},
	{SYS_sendmsg, "sendmsg", true},
	{SYS_accept, "accept", true},
	{SYS_accept4, "accept4", true},
	{SYS_connect, "connect", true},
	{SYS_flock, "flock", true},
	{SYS_fcntl, "fcntl", true},
	{SYS_fsync, "fsync", true},
	{SYS_fdatasync, "fdatasync", true},
	{SYS_openat, "openat", false},
	{SYS_futex, "futex, a lock or another thread", false},
	{SYS_ppoll, "ppoll", false},
	{SYS_pselect6, "pselect6", false},
	{SYS_epoll_pwait, "epoll_pwait", false},
	{SYS_nanosleep, "nanosleep, a sleep", false},
	{SYS_clock_nanosleep, "clock_nanosleep, a sleep", false},
	{SYS_wait4, "wait4, for another process", false},
	{SYS_waitid, "waitid, for another process", false},
	{SYS_rt_sigsuspend, "sigsuspend", false},
	{SYS_rt_sigtimedwait, "sigtimedwait", false},
	{SYS_io_getevents, "io_getevents", false},
	{SYS_restart_syscall, "a call that was interrupted, such as a sleep", false},
#ifdef SYS_poll
	{SYS_poll, "poll", false},
	{SYS_select, "select, maybe a sleep", false},
	{SYS_epoll_wait, "epoll_wait", false},
	{SYS_pause, "pause", false},
#endif
};

/* @return a file of a process, owned by the caller; NULL: it cannot be read */
static char *stack_proc(pid_t process, const char *name, size_t most)
{
	char path[STACK_PATH];
	char *text = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, name);
	(void)rh_file_read(path, most, &text, NULL, NULL);
	return text;
}

/* "R", "S", "T" … @return '?': not known */
static char stack_state(pid_t process)
{
	char path[STACK_PATH];
	char line[STACK_LINE] = "";
	const char *name_end;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
	file = fopen(path, "re");
	if (file && !fgets(line, sizeof(line), file))
		line[0] = '\0';
	if (file)
		(void)fclose(file);
	name_end = strrchr(line, ')');
	return name_end && name_end[1] == ' ' ? name_end[2] : '?';
}

static void stack_append_descriptor(pid_t process, long descriptor, struct rh_str *out)
{
	char path[STACK_PATH];
	char target[PATH_MAX];
	ssize_t length;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%ld", (int)process, descriptor);
	length = readlink(path, target, sizeof(target) - 1);
	if (length > 0)
		rh_str_append_line(out, " on ", 4, 4);
	if (length > 0)
		rh_str_append_line(out, target, (size_t)length, STACK_LINE);
}

/* @return false: the kernel does not show it */
static bool stack_append_call(pid_t process, struct rh_str *out)
{
	rh_auto_free char *text = stack_proc(process, "syscall", STACK_FILE_MAX);
	long number = -1;
	unsigned long first = 0;

	if (!text || sscanf(text, "%ld 0x%lx", &number, &first) != 2 || number < 0)
		return false;
	for (size_t i = 0; i < sizeof(stack_calls) / sizeof(*stack_calls); i++) {
		if (stack_calls[i].number != number)
			continue;
		rh_str_appendf(out, "waits in %s", stack_calls[i].name);
		if (stack_calls[i].descriptor)
			stack_append_descriptor(process, (long)first, out);
		return true;
	}
	rh_str_appendf(out, "waits in system call %ld", number);
	return true;
}

void rh_stack_kernel(pid_t process, struct rh_str *out)
{
	char state = stack_state(process);
	rh_auto_free char *place = NULL;

	if (state == 'T' || state == 't')
		rh_str_append(out, state == 'T' ? "is stopped (SIGSTOP or Ctrl-Z)" : "is stopped by a debugger");
	else if (state == 'Z' || state == 'X' || state == '?')
		rh_str_append(out, "has ended");
	else if (state == 'R')
		rh_str_append(out, "computes");
	else if (!stack_append_call(process, out)) {
		place = stack_proc(process, "wchan", STACK_FILE_MAX);
		rh_str_append(out, state == 'D' ? "waits for a device or a file system" : "sleeps");
		if (place && isalpha((unsigned char)place[0]))
			rh_str_appendf(out, " (%.60s)", place);
	}
}

/* A line of a stack: "    step (train.py:35)". @return its text without the spaces; NULL: it is none */
static const char *stack_frame(const char *line, size_t *ret_length)
{
	size_t length = strcspn(line, "\n");
	size_t spaces = strspn(line, " ");

	if (spaces < 4 || spaces >= length || line[length - 1] != ')')
		return NULL;
	*ret_length = length - spaces;
	return line + spaces;
}

bool rh_stack_read(const char *text, struct rh_str *out)
{
	const char *at = strstr(text, "\"MainThread\"");
	size_t count = 0;

	/* without threads of its own a program's only thread has no name */
	if (!at)
		at = strstr(text, "\nThread ");
	at = at ? strchr(at + 1, '\n') : NULL;
	for (; at && count < RH_STACK_FRAMES; at = strchr(at + 1, '\n')) {
		size_t length;
		const char *frame = stack_frame(at + 1, &length);

		if (!frame)
			break;
		rh_str_append(out, count == 0 ? "is in " : ", called by ");
		rh_str_append_line(out, frame, length, STACK_LINE);
		count++;
	}
	return count > 0;
}

/* py-spy neither stops the process nor needs it to go on. @return false: it is not installed, or does not start */
static bool stack_start_program(struct rh_stack *stack)
{
	char program[] = STACK_PROGRAM;
	char command[] = "dump";
	char nonblocking[] = "--nonblocking";
	char option[] = "--pid";
	char number[16];
	char *argv[] = {program, command, nonblocking, option, number, NULL};
	struct rh_spawn_fd fds[] = {{RH_SPAWN_NULL, STDIN_FILENO}, {0, STDOUT_FILENO}, {RH_SPAWN_NULL, STDERR_FILENO}};
	const struct rh_spawn how = {.program = STACK_PROGRAM,
	                             .argv = argv,
	                             .envp = environ,
	                             .place = RH_SPAWN_OWN_SESSION,
	                             .fds = fds,
	                             .fd_count = sizeof(fds) / sizeof(*fds)};
	struct rh_error err = {0};

	(void)snprintf(number, sizeof(number), "%d", (int)stack->process);
	stack->output = memfd_create("stack", MFD_CLOEXEC);
	fds[1].from = stack->output;
	if (stack->output < 0)
		return false;
	if (rh_spawn(&how, &stack->program, &err) == 0)
		return true;
	(void)close(stack->output);
	return false;
}

bool rh_stack_start(struct rh_stack *stack, pid_t process, const char *file, int64_t now)
{
	rh_auto_free char *maps = stack_proc(process, "maps", STACK_MAPS_MAX);

	*stack = (struct rh_stack){.process = process, .until = now + RH_STACK_LIMIT};
	if (process <= 1 || !maps || !strstr(maps, file)) {
		stack->process = 0;
		return false;
	}
	if (!stack_start_program(stack))
		stack->program = 0;
	return true;
}

/* Whoever reaps all children may have been faster. */
static bool stack_has_ended(const struct rh_stack *stack)
{
	pid_t pid = waitpid(stack->program, NULL, WNOHANG);

	return pid == stack->program || (pid < 0 && errno == ECHILD);
}

bool rh_stack_poll(struct rh_stack *stack, int64_t now, struct rh_str *out)
{
	rh_auto_free char *text = NULL;
	char path[STACK_PATH];
	bool found = false;

	if (stack->program > 0 && !stack_has_ended(stack)) {
		if (now < stack->until)
			return false;
		(void)kill(stack->program, SIGKILL);
		(void)waitpid(stack->program, NULL, 0);
	}
	if (stack->program > 0) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", stack->output);
		if (rh_file_read(path, STACK_FILE_MAX, &text, NULL, NULL) == 0)
			found = stack_state(stack->process) != 'T' && rh_stack_read(text, out);
		(void)close(stack->output);
		stack->program = 0;
	}
	if (!found)
		rh_stack_kernel(stack->process, out);
	stack->process = 0;
	return true;
}

void rh_stack_deinit(struct rh_stack *stack)
{
	if (stack->program > 0 && !stack_has_ended(stack)) {
		(void)kill(stack->program, SIGKILL);
		(void)waitpid(stack->program, NULL, 0);
	}
	if (stack->program > 0)
		(void)close(stack->output);
	*stack = (struct rh_stack){.process = 0};
}
