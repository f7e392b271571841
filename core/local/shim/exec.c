/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "local/exec.h"
#include "local/shim/pod.h"
#include "local/shim/spawn.h"

/* Longest request: what the kernel lets a command line have by default. */
#define EXEC_LINE_MAX (2 * 1024 * 1024)
/* Exit code of a command that was not even tried. */
#define EXEC_REFUSED 1

static void exec_shut(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void exec_command_init(struct rh_shim_command *command)
{
	*command = (struct rh_shim_command){.peer = -1, .streams = {-1, -1, -1}};
}

/* Free what only a starting command needs. */
static void exec_drop_request(struct rh_shim_command *command)
{
	for (size_t i = 0; i < 3; i++)
		exec_shut(&command->streams[i]);
	rh_str_deinit(&command->line);
	rh_free(command->argv);
	command->argv = NULL;
	rh_json_free(command->request);
	command->request = NULL;
}

static void exec_end(struct rh_shim_command *command)
{
	exec_drop_request(command);
	exec_shut(&command->peer);
	exec_command_init(command);
}

/* Answers are short, so a peer that reads none of them loses them and nothing else. */
static void exec_answer(const struct rh_shim_command *command, const char *key, int value, const char *error)
{
	rh_auto(json) answer = rh_json_new_object();
	rh_auto_str text = {0};

	if (command->peer < 0 || !answer || rh_json_set_integer(answer, key, value) < 0)
		return;
	if (error && rh_json_set_string(answer, "error", error) < 0)
		return;
	rh_json_print(answer, false, &text);
	rh_str_append(&text, "\n");
	(void)!send(command->peer, rh_str_text(&text), text.length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void exec_refuse(struct rh_shim_command *command, int exit_code, const char *error)
{
	exec_answer(command, "exitCode", exit_code, error);
	exec_end(command);
}

/* The folder by its descriptor: the room for a socket's path is small. */
static int exec_bind(int socket_, const char *dir)
{
	rh_auto_close int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (folder < 0)
		return -1;
	(void)unlinkat(folder, RH_EXEC_SOCKET, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" RH_EXEC_SOCKET, folder);
	if (bind(socket_, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return fchmodat(folder, RH_EXEC_SOCKET, 0600, 0);
}

int rh_shim_exec_open(struct rh_shim_exec *exec, const char *dir, struct rh_error *err)
{
	for (size_t i = 0; i < RH_SHIM_EXECS_MAX; i++)
		exec_command_init(&exec->commands[i]);
	exec->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (exec->listener < 0 || exec_bind(exec->listener, dir) < 0 || listen(exec->listener, SOMAXCONN) < 0) {
		rh_fail(err, RH_EIO, "no commands can be run in the pod from outside: cannot listen in \"%s\": %s", dir,
		        strerror(errno));
		exec_shut(&exec->listener);
		return RH_EIO;
	}
	return 0;
}

void rh_shim_exec_close(struct rh_shim_exec *exec)
{
	exec_shut(&exec->listener);
	for (size_t i = 0; i < RH_SHIM_EXECS_MAX; i++) {
		if (exec->commands[i].state != RH_SHIM_EXEC_FREE)
			exec_end(&exec->commands[i]);
	}
}

static struct rh_shim_command *exec_free_place(struct rh_shim_exec *exec)
{
	for (size_t i = 0; i < RH_SHIM_EXECS_MAX; i++) {
		if (exec->commands[i].state == RH_SHIM_EXEC_FREE)
			return &exec->commands[i];
	}
	return NULL;
}

void rh_shim_exec_watch(const struct rh_shim_exec *exec, struct pollfd *polls)
{
	bool room = false;

	for (size_t i = 0; i < RH_SHIM_EXECS_MAX; i++) {
		const struct rh_shim_command *command = &exec->commands[i];

		room = room || command->state == RH_SHIM_EXEC_FREE;
		polls[i] = (struct pollfd){.fd = command->peer, .events = POLLIN};
	}
	polls[RH_SHIM_EXECS_MAX] = (struct pollfd){.fd = room ? exec->listener : -1, .events = POLLIN};
}

/* Root and the user of this shim may connect; the folder's mode excludes others already. */
static bool exec_peer_may(int peer)
{
	struct ucred who;
	socklen_t length = sizeof(who);

	return getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && (who.uid == geteuid() || who.uid == 0);
}

static void exec_accept(struct rh_shim_exec *exec)
{
	struct rh_shim_command *command = exec_free_place(exec);
	int peer = command ? accept4(exec->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;

	if (peer >= 0 && !exec_peer_may(peer))
		exec_shut(&peer);
	if (peer < 0)
		return;
	command->state = RH_SHIM_EXEC_RECEIVING;
	command->peer = peer;
}

/* Keep the descriptors that arrived with a part of the request; surplus ones are closed. */
static void exec_keep_streams(struct rh_shim_command *command, struct msghdr *message)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fds[3];

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		count = count < 3 ? count : 3;
		memcpy(fds, CMSG_DATA(part), count * sizeof(int));
		for (size_t i = 0; i < count; i++) {
			exec_shut(&command->streams[i]);
			command->streams[i] = fds[i];
		}
	}
}

/* @return bytes that arrived; 0: closed; -1: none now */
static ssize_t exec_read(struct rh_shim_command *command, char *buffer, size_t size)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))];
	struct iovec piece = {.iov_base = buffer, .iov_len = size};
	struct msghdr message = {
		.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	ssize_t n;

	do
		n = recvmsg(command->peer, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		exec_keep_streams(command, &message);
	return n >= 0 || errno == EAGAIN || errno == EWOULDBLOCK ? n : 0;
}

/* @return the number of the container that is asked for, the first regular one by default; SIZE_MAX: there is none */
static size_t exec_find_container(const struct rh_shim_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->spec_count; i++) {
		const struct rh_shim_spec *spec = &plan->specs[i];

		if (name ? strcmp(spec->name, name) == 0 : !spec->init)
			return i;
	}
	return SIZE_MAX;
}

static void exec_refuse_container(struct rh_shim_command *command, const struct rh_shim_plan *plan, const char *name)
{
	rh_auto_str text = {0};

	rh_str_appendf(&text, "container \"%s\" is not in pod \"%s\", which has", name, plan->pod);
	for (size_t i = 0; i < plan->spec_count; i++)
		rh_str_appendf(&text, "%s \"%s\"", i > 0 ? "," : "", plan->specs[i].name);
	exec_refuse(command, EXEC_REFUSED, text.failed ? "no such container" : rh_str_text(&text));
}

/* @return whether the request names a command; its words are borrowed from it */
static bool exec_fill_argv(struct rh_shim_command *command)
{
	const struct rh_json *list = rh_json_get(command->request, "argv");
	size_t count = 0;

	command->argv = rh_alloc_array(rh_json_size(list) + 1, sizeof(*command->argv));
	if (!command->argv)
		return false;
	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		command->argv[count] = rh_json_string(item);
		if (!command->argv[count++])
			return false;
	}
	return count > 0 && command->argv[0][0] != '\0';
}

/* The request is complete: see what it wants. */
static void exec_understand(struct rh_shim_command *command, const struct rh_shim_plan *plan)
{
	const char *name;

	if (rh_json_parse(rh_str_text(&command->line), command->line.length, &command->request, NULL) < 0 ||
	    !exec_fill_argv(command) || command->streams[1] < 0 || command->streams[2] < 0) {
		exec_refuse(command, EXEC_REFUSED, "the request names no command, or brings no standard streams");
		return;
	}
	name = rh_json_string(rh_json_get(command->request, "container"));
	command->container = exec_find_container(plan, name);
	if (command->container == SIZE_MAX) {
		exec_refuse_container(command, plan, name ? name : "");
		return;
	}
	command->state = RH_SHIM_EXEC_WAITING;
}

static void exec_receive(struct rh_shim_command *command, const struct rh_shim_plan *plan)
{
	char buffer[16384];
	ssize_t n = exec_read(command, buffer, sizeof(buffer));
	const char *end = n > 0 ? memchr(buffer, '\n', (size_t)n) : NULL;

	if (n < 0)
		return;
	rh_str_append_bytes(&command->line, buffer, end ? (size_t)(end - buffer) : (size_t)n);
	if (n == 0 || command->line.failed || command->line.length > EXEC_LINE_MAX)
		exec_end(command);
	else if (end)
		exec_understand(command, plan);
}

/* The client sends nothing more, so any event means that it closed the connection. */
static void exec_hang_up(struct rh_shim_command *command)
{
	char byte;
	ssize_t n = recv(command->peer, &byte, sizeof(byte), MSG_DONTWAIT);

	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (command->state == RH_SHIM_EXEC_WAITING) {
		exec_end(command);
		return;
	}
	(void)kill(-command->pid, SIGHUP);
	exec_shut(&command->peer);
}

void rh_shim_exec_take(struct rh_shim_exec *exec, const struct rh_shim_pod *pod, const struct pollfd *polls)
{
	for (size_t i = 0; i < RH_SHIM_EXECS_MAX; i++) {
		struct rh_shim_command *command = &exec->commands[i];

		if (polls[i].revents == 0 || command->peer < 0)
			continue;
		if (command->state == RH_SHIM_EXEC_RECEIVING)
			exec_receive(command, pod->plan);
		else
			exec_hang_up(command);
	}
	if (polls[RH_SHIM_EXECS_MAX].revents != 0)
		exec_accept(exec);
}

static void exec_start(struct rh_shim_command *command, struct rh_shim_pod *pod)
{
	const struct rh_shim_container *container = &pod->containers[command->container];
	struct rh_shim_spec spec = *container->spec;
	struct rh_shim_spawn spawn = {.spec = &spec, .limits = container->limits, .beside = container->pid};
	struct rh_shim_refusal refusal = {.exit_code = EXEC_REFUSED};

	spec.argv = command->argv;
	memcpy(spawn.streams, command->streams, sizeof(spawn.streams));
	if (rh_shim_spawn(&spawn, &command->pid, &refusal) < 0) {
		exec_refuse(command, refusal.exit_code, refusal.message);
		return;
	}
	pod->childless = false;
	command->state = RH_SHIM_EXEC_RUNNING;
	exec_drop_request(command);
	exec_answer(command, "pid", command->pid, NULL);
}

void rh_shim_exec_step(struct rh_shim_exec *exec, struct rh_shim_pod *pod)
{
	for (size_t i = 0; i < RH_SHIM_EXECS_MAX; i++) {
		struct rh_shim_command *command = &exec->commands[i];

		if (command->state != RH_SHIM_EXEC_WAITING)
			continue;
		if (pod->stopping || pod->containers[command->container].state == RH_SHIM_ENDED)
			exec_refuse(command, EXEC_REFUSED, "the container has ended");
		else if (pod->containers[command->container].state == RH_SHIM_RUNNING)
			exec_start(command, pod);
		else if (!command->waiting_reported)
			exec_answer(command, "waiting", 1, NULL);
		command->waiting_reported = true;
	}
}

void rh_shim_exec_reap(struct rh_shim_exec *exec, pid_t pid, int status)
{
	for (size_t i = 0; exec && i < RH_SHIM_EXECS_MAX; i++) {
		struct rh_shim_command *command = &exec->commands[i];

		if (command->state != RH_SHIM_EXEC_RUNNING || command->pid != pid)
			continue;
		exec_answer(command, "exitCode", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), NULL);
		exec_end(command);
	}
}

int rh_shim_exec_container(const struct rh_shim_exec *exec, pid_t session)
{
	for (size_t i = 0; exec && i < RH_SHIM_EXECS_MAX; i++) {
		if (exec->commands[i].state == RH_SHIM_EXEC_RUNNING && exec->commands[i].pid == session)
			return (int)exec->commands[i].container;
	}
	return -1;
}
