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
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/spawn.h"
#include "host/containment/guard.h"

/** Bytes that are kept of what the process last wrote to its standard error. */
#define PROCESS_TAIL_SIZE 4096
/** Most of its last lines, in bytes, in one message. */
#define PROCESS_TAIL_SHOWN 512
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
	const char *operation; /* of the request; NULL: the process is being loaded, and notes it in the page */
	int64_t limit;
	int64_t until;      /* when the answer is late; 0: nobody has looked for it yet */
	struct rh_str rest; /* of the request: what the socket had no room for */
	size_t sent;        /* bytes of it that are sent */
	uint32_t head[2];   /* of the answer */
	size_t head_length; /* bytes of it that have arrived */
	struct rh_str body; /* likewise */
	char tail[PROCESS_TAIL_SIZE];
	size_t tail_length;
	int64_t dismissed; /* when; 0: it is not */
};

/** What became of a request: its answer is there, it is to come, or why it does not come. */
enum process_fault { PROCESS_FINE, PROCESS_WAITS, PROCESS_LATE, PROCESS_GONE, PROCESS_MALFORMED, PROCESS_NO_MEMORY };

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
	                             .at_once = true,
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

int rh_process_start(const char *program, const char *path, const struct rh_loadable *copy, int64_t limit,
                     struct rh_process **ret_process, struct rh_error *err)
{
	rh_auto(process) process = rh_alloc(sizeof(*process));
	int ends[] = {-1, -1, -1, -1};
	int r;

	if (!process)
		return rh_fail_oom(err);
	process->socket = process->errors = -1;
	process->page = MAP_FAILED;
	process->limit = limit;
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
	process->dismissed = rh_clock_monotonic();
}

bool rh_process_is_ready(const struct rh_process *process)
{
	char byte;

	return recv(process->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/** The other end of its standard error closes with the process. @param until monotonic */
static void process_await_end(struct rh_process *process, int64_t until)
{
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
		process_await_end(process, process->dismissed + RH_PROCESS_PARTING);
	(void)process_end(process);
	if (process->socket >= 0)
		(void)close(process->socket);
	if (process->errors >= 0)
		(void)close(process->errors);
	if (process->page != MAP_FAILED)
		(void)munmap(process->page, sizeof(*process->page));
	rh_str_deinit(&process->rest);
	rh_str_deinit(&process->body);
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

/** @return the operation in progress, for messages; @p noted is room for one that the process noted itself */
static const char *process_operation(const struct rh_process *process, char noted[RH_GUARD_OPERATION_SIZE])
{
	if (process->operation)
		return process->operation;
	memcpy(noted, process->page->operation, RH_GUARD_OPERATION_SIZE);
	noted[RH_GUARD_OPERATION_SIZE - 1] = '\0'; /* the plugin can write there, too */
	return noted;
}

/** End the process, and say what became of it. */
static int process_blame(struct rh_process *process, enum process_fault fault, struct rh_error *err)
{
	char noted[RH_GUARD_OPERATION_SIZE];
	const char *operation;
	/* One that ends by itself has its status already when its socket closes. One that closed it goes on: it is not
	 * waited for. */
	int status = process_end(process);

	(void)process_drain(process);
	if (fault == PROCESS_NO_MEMORY)
		return rh_fail_oom(err);
	operation = process_operation(process, noted);
	if (fault == PROCESS_LATE)
		(void)rh_fail(err, RH_EPLUGIN, "it did not come back from %s within %.3g s ([plugins] time-limit)", operation,
		              (double)process->limit / RH_SECOND);
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

int rh_process_reject(struct rh_process *process, struct rh_error *err)
{
	return process_blame(process, PROCESS_MALFORMED, err);
}

/** Wait until the socket can be used, at most until @p until. */
static void process_poll(struct rh_process *process, int64_t until)
{
	short events = (short)(POLLIN | (process->rest.length > 0 ? POLLOUT : 0));
	struct pollfd polls[] = {{.fd = process->socket, .events = events}, {.fd = process->errors, .events = POLLIN}};
	int64_t left = until - rh_clock_monotonic();
	int64_t most = INT32_MAX;
	int r = poll(polls, 2, left <= 0 ? 0 : (int)(left > most ? most : (left + 999) / 1000));

	if (r > 0 && polls[1].revents && !process_drain(process)) {
		(void)close(process->errors);
		process->errors = -1; /* poll() leaves it out; the socket shows the end of the process */
	}
}

/** Leave out @p done bytes of the first of @p count parts. @return parts that are left */
static size_t process_advance(struct iovec **parts, size_t count, size_t done)
{
	while (count > 0 && done >= (*parts)->iov_len) {
		done -= (*parts)->iov_len;
		(*parts)++;
		count--;
	}
	if (count > 0) {
		(*parts)->iov_base = (char *)(*parts)->iov_base + done;
		(*parts)->iov_len -= done;
	}
	return count;
}

/** Send what the socket has room for. @p parts become what is left. @return how many are; *@p ret_fault says why */
static size_t process_write(struct rh_process *process, struct iovec **parts, size_t count,
                            enum process_fault *ret_fault)
{
	*ret_fault = PROCESS_FINE;
	while ((count = process_advance(parts, count, 0)) > 0) {
		const struct msghdr message = {.msg_iov = *parts, .msg_iovlen = count};
		ssize_t sent = sendmsg(process->socket, &message, MSG_NOSIGNAL);

		if (sent > 0)
			count = process_advance(parts, count, (size_t)sent);
		if (sent >= 0 || errno == EINTR)
			continue;
		*ret_fault = errno == EAGAIN ? PROCESS_WAITS : PROCESS_GONE;
		break;
	}
	return count;
}

/* One call for all of it: each would wake the process. */
int rh_process_send(struct rh_process *process, const char *operation, const struct rh_piece *pieces, size_t count,
                    struct rh_error *err)
{
	uint32_t head[] = {0, ++process->request};
	struct iovec all[1 + RH_PROCESS_PIECES_MAX] = {{.iov_base = head, .iov_len = sizeof(head)}};
	struct iovec *left = all;
	enum process_fault fault;
	size_t length = 0;

	for (size_t i = 0; i < count && i < RH_PROCESS_PIECES_MAX; i++) {
		all[1 + i] = (struct iovec){.iov_base = (void *)pieces[i].bytes, .iov_len = pieces[i].length};
		length += pieces[i].length;
	}
	if (length > UINT32_MAX)
		return rh_fail_oom(err);
	head[0] = (uint32_t)length;
	process->operation = operation;
	process->until = 0;
	count = process_write(process, &left, 1 + count, &fault);
	for (; count > 0 && fault == PROCESS_WAITS; count = process_advance(&left, count, left->iov_len))
		rh_str_append_bytes(&process->rest, left->iov_base, left->iov_len);
	if (process->rest.failed)
		fault = PROCESS_NO_MEMORY;
	return fault == PROCESS_FINE || fault == PROCESS_WAITS ? 0 : process_blame(process, fault, err);
}

static enum process_fault process_send_rest(struct rh_process *process)
{
	struct iovec part = {.iov_base = process->rest.data + process->sent,
	                     .iov_len = process->rest.length - process->sent};
	struct iovec *left = &part;
	enum process_fault fault;

	(void)process_write(process, &left, 1, &fault);
	process->sent = fault == PROCESS_FINE ? process->rest.length : process->rest.length - part.iov_len;
	if (fault == PROCESS_FINE) {
		rh_str_deinit(&process->rest);
		process->sent = 0;
	}
	return fault;
}

/** @return bytes of the answer that are still to come, as far as is known */
static size_t process_missing(const struct rh_process *process)
{
	if (process->head_length < sizeof(process->head))
		return sizeof(process->head) - process->head_length;
	return process->head[0] - process->body.length;
}

/** Put bytes of an answer where they belong. Nothing may follow it: nobody asked for more. */
static enum process_fault process_keep(struct rh_process *process, const char *bytes, size_t length)
{
	size_t missing = process_missing(process);
	size_t taken = length < missing ? length : missing;

	if (process->head_length < sizeof(process->head)) {
		memcpy((char *)process->head + process->head_length, bytes, taken);
		process->head_length += taken;
		if (process->head_length < sizeof(process->head))
			return PROCESS_FINE;
		if (process->head[0] > RH_WORKER_ANSWER_MAX || process->head[1] != process->request)
			return PROCESS_MALFORMED;
		bytes += taken;
		length -= taken;
	}
	if (length > process_missing(process))
		return PROCESS_MALFORMED;
	rh_str_append_bytes(&process->body, bytes, length);
	return process->body.failed ? PROCESS_NO_MEMORY : PROCESS_FINE;
}

static enum process_fault process_read(struct rh_process *process)
{
	char chunk[PROCESS_CHUNK];
	enum process_fault fault = PROCESS_FINE;

	while (fault == PROCESS_FINE && process_missing(process) > 0) {
		ssize_t length = recv(process->socket, chunk, sizeof(chunk), 0);

		if (length > 0)
			fault = process_keep(process, chunk, (size_t)length);
		else if (length == 0 || errno != EINTR)
			fault = length < 0 && errno == EAGAIN ? PROCESS_WAITS : PROCESS_GONE;
	}
	return fault;
}

/** Wait for the answer. @param until at most, monotonic */
static enum process_fault process_work(struct rh_process *process, int64_t until)
{
	enum process_fault fault;

	do {
		process_poll(process, until);
		fault = process->rest.length > 0 ? process_send_rest(process) : PROCESS_FINE;
		if (fault == PROCESS_FINE || fault == PROCESS_WAITS)
			fault = process_read(process);
	} while (fault == PROCESS_WAITS && rh_clock_monotonic() < until);
	return fault == PROCESS_WAITS && rh_clock_monotonic() >= process->until ? PROCESS_LATE : fault;
}

int rh_process_receive(struct rh_process *process, int64_t patience, struct rh_str *answer, struct rh_error *err)
{
	int64_t now = rh_clock_monotonic();
	enum process_fault fault;

	if (process->until == 0)
		process->until = process->limit < RH_NEVER - now ? now + process->limit : RH_NEVER;
	fault = process_work(process, patience < process->until - now ? now + patience : process->until);
	if (fault == PROCESS_WAITS)
		return RH_EAGAIN;
	if (fault != PROCESS_FINE)
		return process_blame(process, fault, err);
	rh_str_deinit(answer);
	*answer = process->body;
	process->body = (struct rh_str){0};
	process->head_length = 0;
	return 0;
}

int64_t rh_process_deadline(const struct rh_process *process)
{
	return process->until;
}

int rh_process_watch(struct rh_process *process, int events, struct rh_error *err)
{
	const int fds[] = {process->socket, process->errors};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		struct epoll_event event = {.events = EPOLLIN};

		if (i == 0 && process->rest.length > 0)
			event.events |= EPOLLOUT;
		if (fds[i] >= 0 && epoll_ctl(events, EPOLL_CTL_ADD, fds[i], &event) < 0 &&
		    (errno != EEXIST || epoll_ctl(events, EPOLL_CTL_MOD, fds[i], &event) < 0))
			return rh_fail(err, RH_EIO, "cannot wait for its worker process: %s", strerror(errno));
	}
	return 0;
}

void rh_process_unwatch(struct rh_process *process, int events)
{
	(void)epoll_ctl(events, EPOLL_CTL_DEL, process->socket, NULL);
	if (process->errors >= 0)
		(void)epoll_ctl(events, EPOLL_CTL_DEL, process->errors, NULL);
}
