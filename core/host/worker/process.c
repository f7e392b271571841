/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/spawn.h"
#include "host/containment/guard.h"

/** Bytes that are kept of what the process last wrote to its standard error. */
#define PROCESS_TAIL_SIZE 4096
/** Most of its last lines, in bytes, in one message. */
#define PROCESS_TAIL_SHOWN 512
/** How long a process that is dismissed may take for fini(), in microseconds. */
#define PROCESS_PARTING (RH_SECOND / 4)
/** Most reads of its standard error at a time: what a pipe holds. */
#define PROCESS_DRAIN_MAX 16
/** Bytes that one read takes. */
#define PROCESS_CHUNK 65536

struct rh_process {
	pid_t pid;
	int socket;
	int errors;
	struct rh_guard_trace *page; /* shared with the process */
	uint32_t request;
	char tail[PROCESS_TAIL_SIZE];
	size_t tail_length;
	bool dismissed;
};

/** Why an answer does not come. */
enum process_fault { PROCESS_FINE, PROCESS_LATE, PROCESS_GONE, PROCESS_MALFORMED, PROCESS_NO_MEMORY };

static void process_keep_tail(struct rh_process *process, const char *text, size_t length)
{
	size_t room = sizeof(process->tail);
	size_t drop = process->tail_length + length > room ? process->tail_length + length - room : 0;

	if (drop > process->tail_length)
		drop = process->tail_length;
	memmove(process->tail, process->tail + drop, process->tail_length - drop);
	process->tail_length -= drop;
	memcpy(process->tail + process->tail_length, text, length);
	process->tail_length += length;
}

/** Read what the process wrote to its standard error so far. @return whether there may be more later */
static bool process_drain(struct rh_process *process)
{
	char chunk[PROCESS_TAIL_SIZE];
	ssize_t length = 1;

	/* bounded: it may write as fast as this reads */
	for (int i = 0; i < PROCESS_DRAIN_MAX && length > 0; i++) {
		length = read(process->errors, chunk, sizeof(chunk));
		if (length > 0)
			process_keep_tail(process, chunk, (size_t)length);
	}
	return length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR));
}

/** Plugins are loaded with what finds their libraries, and with the locale; no other variable reaches them. */
static void process_environment(char *variables[], size_t room)
{
	static const char *const names[] = {"PATH=",         "LD_LIBRARY_PATH=", "LANG=",         "LC_ALL=",      "TZ=",
	                                    "ASAN_OPTIONS=", "UBSAN_OPTIONS=",   "TSAN_OPTIONS=", "LSAN_OPTIONS="};
	size_t count = 0;

	for (size_t i = 0; environ[i]; i++) {
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]) && count + 1 < room; k++) {
			if (strncmp(environ[i], names[k], strlen(names[k])) == 0)
				variables[count++] = environ[i];
		}
	}
	variables[count] = NULL;
}

static int process_spawn(struct rh_process *process, const char *program, const char *path, const int ends[4],
                         struct rh_error *err)
{
	bool has_copy = ends[3] >= 0;
	char parent[24];
	char *argv[] = {(char *)"roundhouse-plugin-worker", (char *)path, parent, has_copy ? (char *)"copy" : NULL, NULL};
	char *envp[16];
	/* The first three make room: none of ours may be overwritten before it is copied. */
	const struct rh_spawn_fd fds[] = {
		{RH_SPAWN_NULL, STDIN_FILENO}, {RH_SPAWN_NULL, STDOUT_FILENO}, {ends[1], STDERR_FILENO},
		{ends[0], RH_WORKER_SOCKET},   {ends[2], RH_WORKER_PAGE},      {ends[3], RH_WORKER_COPY},
	};
	const struct rh_spawn how = {.program = program,
	                             .argv = argv,
	                             .envp = envp,
	                             .place = RH_SPAWN_WITH_US,
	                             .fds = fds,
	                             .fd_count = sizeof(fds) / sizeof(fds[0]) - (has_copy ? 0 : 1)};

	process_environment(envp, sizeof(envp) / sizeof(envp[0]));
	(void)snprintf(parent, sizeof(parent), "%ld", (long)getpid());
	return rh_spawn(&how, &process->pid, err);
}

/** Descriptors above all that the process gets. @return it, or -1; @p fd is closed */
static int process_raise(int fd)
{
	int raised = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, RH_WORKER_COPY + 1);

	if (fd >= 0)
		(void)close(fd);
	return raised;
}

static int process_open(struct rh_process *process, int copy, int ends[4])
{
	int sockets[2], pipe[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		return -1;
	process->socket = sockets[0];
	ends[0] = process_raise(sockets[1]);
	if (pipe2(pipe, O_CLOEXEC) < 0)
		return -1;
	process->errors = pipe[0];
	ends[1] = process_raise(pipe[1]);
	ends[2] = process_raise(memfd_create("plugin", MFD_CLOEXEC));
	if (copy >= 0 && (ends[3] = fcntl(copy, F_DUPFD_CLOEXEC, RH_WORKER_COPY + 1)) < 0)
		return -1;
	if (ends[0] < 0 || ends[1] < 0 || ends[2] < 0 || ftruncate(ends[2], sizeof(*process->page)) < 0 ||
	    fcntl(process->errors, F_SETFL, O_NONBLOCK) < 0 || fcntl(process->socket, F_SETFL, O_NONBLOCK) < 0)
		return -1;
	process->page = mmap(NULL, sizeof(*process->page), PROT_READ, MAP_SHARED, ends[2], 0);
	return process->page == MAP_FAILED ? -1 : 0;
}

int rh_process_start(const char *program, const char *path, const struct rh_loadable *copy,
                     struct rh_process **ret_process, struct rh_error *err)
{
	rh_auto(process) process = rh_alloc(sizeof(*process));
	int ends[] = {-1, -1, -1, -1};
	int r;

	if (!process)
		return rh_fail_oom(err);
	process->socket = process->errors = -1;
	process->page = MAP_FAILED;
	r = process_open(process, copy->fd, ends) < 0
	        ? rh_fail(err, RH_EIO, "cannot make a socket: %s", strerror(errno))
	        : process_spawn(process, program, copy->fd >= 0 ? copy->real : path, ends, err);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (ends[i] >= 0)
			(void)close(ends[i]);
	}
	if (r < 0)
		return rh_wrap(err, RH_EIO, "its worker process");
	*ret_process = rh_take(process);
	return 0;
}

void rh_process_dismiss(struct rh_process *process)
{
	(void)shutdown(process->socket, SHUT_RDWR);
	process->dismissed = true;
}

bool rh_process_is_ready(const struct rh_process *process)
{
	char byte;

	return recv(process->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/** The other end of its standard error closes with the process. */
static void process_await_end(struct rh_process *process)
{
	int64_t until = rh_clock_monotonic() + PROCESS_PARTING;
	struct pollfd poll_errors = {.fd = process->errors, .events = POLLIN};
	int64_t left;

	while (process_drain(process) && (left = until - rh_clock_monotonic()) > 0)
		(void)poll(&poll_errors, 1, (int)((left + 999) / 1000));
}

/** @return its status of waitpid(), or -1 when somebody else took it */
static int process_end(struct rh_process *process)
{
	int status = -1;

	if (process->pid <= 0)
		return -1;
	(void)kill(process->pid, SIGKILL);
	while (waitpid(process->pid, &status, 0) < 0) {
		if (errno != EINTR) {
			status = -1;
			break;
		}
	}
	process->pid = 0;
	return status;
}

void rh_process_free(struct rh_process *process)
{
	if (!process)
		return;
	if (process->dismissed && process->pid > 0)
		process_await_end(process);
	(void)process_end(process);
	if (process->socket >= 0)
		(void)close(process->socket);
	if (process->errors >= 0)
		(void)close(process->errors);
	if (process->page != MAP_FAILED)
		(void)munmap(process->page, sizeof(*process->page));
	rh_free(process);
}

/** Append the last lines of the process's standard error, as one line. */
static void process_append_tail(struct rh_process *process, struct rh_error *err)
{
	size_t length = process->tail_length;
	rh_auto_str line = {0};
	rh_auto_free char *before = NULL;
	const char *text = process->tail;

	while (length > 0 && strchr("\n ", text[length - 1]))
		length--;
	if (length > PROCESS_TAIL_SHOWN) {
		text += length - PROCESS_TAIL_SHOWN;
		length = PROCESS_TAIL_SHOWN;
	}
	rh_str_append_line(&line, text, length, PROCESS_TAIL_SHOWN);
	before = err && length > 0 ? rh_strdup(err->message) : NULL;
	if (before)
		(void)rh_fail(err, err->code, "%s; it wrote: %s", before, rh_str_text(&line));
}

/** End the process, and say what became of it. */
static int process_blame(struct rh_process *process, enum process_fault fault, const char *operation, int64_t limit,
                         struct rh_error *err)
{
	char noted[RH_GUARD_OPERATION_SIZE];
	int status = -1;

	if (fault == PROCESS_NO_MEMORY)
		return rh_fail_oom(err);
	if (fault == PROCESS_GONE)
		process_await_end(process);
	status = process_end(process);
	(void)process_drain(process);
	memcpy(noted, process->page->operation, sizeof(noted));
	noted[sizeof(noted) - 1] = '\0'; /* the plugin can write there, too */
	if (!operation)
		operation = noted;
	if (fault == PROCESS_LATE)
		(void)rh_fail(err, RH_EPLUGIN, "it did not come back from %s within %.3g s ([plugins] time-limit)", operation,
		              (double)limit / RH_SECOND);
	else if (fault == PROCESS_MALFORMED)
		(void)rh_fail(err, RH_EPLUGIN, "its worker process sent a malformed answer in %s", operation);
	else if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		(void)rh_fail(err, RH_EPLUGIN, "it crashed in %s: %s", operation, strsignal(WTERMSIG(status)));
	else if (status >= 0 && WIFEXITED(status))
		(void)rh_fail(err, RH_EPLUGIN, "it ended the process in %s, with status %d", operation, WEXITSTATUS(status));
	else
		(void)rh_fail(err, RH_EPLUGIN, "its worker process was killed, or closed the connection, in %s", operation);
	process_append_tail(process, err);
	return RH_EPLUGIN;
}

/** Wait until the socket can be used. */
static enum process_fault process_poll(struct rh_process *process, short events, int64_t until)
{
	struct pollfd polls[] = {{.fd = process->socket, .events = events}, {.fd = process->errors, .events = POLLIN}};
	int64_t left = until - rh_clock_monotonic();
	int r;

	if (left <= 0)
		return PROCESS_LATE;
	r = poll(polls, 2, left > INT32_MAX ? INT32_MAX : (int)((left + 999) / 1000));
	if (r > 0 && polls[1].revents && !process_drain(process)) {
		(void)close(process->errors);
		process->errors = -1; /* poll() leaves it out; the socket shows the end of the process */
	}
	return PROCESS_FINE;
}

static enum process_fault process_write(struct rh_process *process, const char *bytes, size_t length, int64_t until)
{
	enum process_fault fault = PROCESS_FINE;

	while (length > 0 && fault == PROCESS_FINE) {
		ssize_t sent = send(process->socket, bytes, length, MSG_NOSIGNAL);

		if (sent > 0) {
			bytes += sent;
			length -= (size_t)sent;
		} else if (sent < 0 && errno == EAGAIN) {
			fault = process_poll(process, POLLOUT, until);
		} else if (sent >= 0 || errno != EINTR) {
			fault = PROCESS_GONE;
		}
	}
	return fault;
}

int rh_process_send(struct rh_process *process, const struct rh_piece *pieces, size_t count, int64_t limit,
                    struct rh_error *err)
{
	int64_t until = rh_clock_monotonic() + limit;
	uint32_t head[] = {0, ++process->request};
	enum process_fault fault;
	size_t length = 0;

	for (size_t i = 0; i < count; i++)
		length += pieces[i].length;
	if (length > UINT32_MAX)
		return rh_fail_oom(err);
	head[0] = (uint32_t)length;
	fault = process_write(process, (const char *)head, sizeof(head), until);
	for (size_t i = 0; i < count && fault == PROCESS_FINE; i++)
		fault = process_write(process, pieces[i].bytes, pieces[i].length, until);
	return fault == PROCESS_FINE ? 0 : process_blame(process, fault, "a request", limit, err);
}

/** Read what is there. @param need bytes of the whole message as far as it is known; more than that is malformed */
static enum process_fault process_read(struct rh_process *process, struct rh_str *answer, size_t need)
{
	char chunk[PROCESS_CHUNK];
	size_t room = need - answer->length;
	ssize_t length = recv(process->socket, chunk, room < sizeof(chunk) ? room : sizeof(chunk), 0);

	if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR))
		return PROCESS_GONE;
	if (length > 0)
		rh_str_append_bytes(answer, chunk, (size_t)length);
	return answer->failed ? PROCESS_NO_MEMORY : PROCESS_FINE;
}

static enum process_fault process_read_all(struct rh_process *process, struct rh_str *answer, size_t need,
                                           int64_t until)
{
	enum process_fault fault = PROCESS_FINE;

	while (fault == PROCESS_FINE && answer->length < need) {
		fault = process_poll(process, POLLIN, until);
		if (fault == PROCESS_FINE)
			fault = process_read(process, answer, need);
	}
	return fault;
}

static enum process_fault process_take(struct rh_process *process, struct rh_str *answer, int64_t until)
{
	uint32_t head[2];
	enum process_fault fault;

	rh_str_clear(answer);
	fault = process_read_all(process, answer, sizeof(head), until);
	if (fault != PROCESS_FINE)
		return fault;
	memcpy(head, answer->data, sizeof(head));
	if (head[0] > RH_WORKER_ANSWER_MAX || head[1] != process->request)
		return PROCESS_MALFORMED;
	rh_str_clear(answer);
	return process_read_all(process, answer, head[0], until);
}

int rh_process_receive(struct rh_process *process, const char *operation, int64_t limit, struct rh_str *answer,
                       struct rh_error *err)
{
	enum process_fault fault = process_take(process, answer, rh_clock_monotonic() + limit);

	return fault == PROCESS_FINE ? 0 : process_blame(process, fault, operation, limit, err);
}
