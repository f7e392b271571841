/* SPDX-License-Identifier: Apache-2.0 */
#include "local/exec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/run/folders/dir.h"

/* Pause before a pod that is not there yet is looked for again. */
#define EXEC_PAUSE (RH_SECOND / 50)
/* A shim answers at once; one that does not in this time hangs. */
#define EXEC_ANSWER_MAX (60 * RH_SECOND)
/* Folder of the pods below that of their run. */
#define EXEC_PODS "pods"

/* Most pods that a message lists. */
#define EXEC_OTHERS_MAX 12

/* One command under way. */
struct exec_job {
	const struct rh_exec *exec;
	char *pods;    /* owned */
	int64_t until; /* monotonic time at which the container must run */
	int64_t asked; /* when the command was sent */
	int socket;
	struct rh_str input;
	struct rh_error *err;
};

char *rh_exec_link_name(const char *namespace_, const char *pod)
{
	return rh_asprintf("%s.%s", namespace_, pod);
}

int rh_exec_link_read(const char *pods, const char *name, struct rh_pod_record *ret_record)
{
	rh_auto_free char *folder = rh_path_join(pods, name);
	rh_auto_pod_record record = {0};
	rh_auto_free char *own = NULL;
	int r = folder ? rh_pod_record_read(folder, &record) : RH_ENOMEM;

	if (r < 0)
		return r == RH_ENOMEM ? r : RH_ENOENT;
	own = rh_exec_link_name(record.namespace_, record.pod);
	if (!own)
		return RH_ENOMEM;
	if (strcmp(own, name) != 0)
		return RH_ENOENT;
	*ret_record = record;
	record = (struct rh_pod_record){0};
	return 0;
}

static void exec_job_deinit(struct exec_job *job)
{
	rh_free(job->pods);
	rh_str_deinit(&job->input);
	if (job->socket >= 0)
		(void)close(job->socket);
}

/* The folder by its descriptor: the room for a socket's path is small. @return the socket; -1 with errno */
static int exec_connect_to(const char *pods, const char *entry)
{
	rh_auto_free char *path = rh_path_join(pods, entry);
	rh_auto_close int folder = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	rh_auto_close int socket_ = folder < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int connected;

	if (socket_ < 0)
		return -1;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" RH_EXEC_SOCKET, folder);
	if (connect(socket_, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	connected = socket_;
	socket_ = -1;
	return connected;
}

/* @return the socket of the pod that is wanted; -1 with errno */
static int exec_connect(const struct exec_job *job, const char *pods)
{
	rh_auto_free char *entry = rh_exec_link_name(job->exec->namespace_, job->exec->pod);

	if (!entry)
		errno = ENOMEM;
	return entry ? exec_connect_to(pods, entry) : -1;
}

/* A search among all runs. */
struct exec_search {
	struct exec_job *job;
	struct rh_str found; /* their folders */
	size_t count;
	bool failed; /* memory was out */
};

static void exec_try_run(void *arg, const char *path)
{
	struct exec_search *search = arg;
	rh_auto_free char *pods = rh_path_join(path, EXEC_PODS);
	int socket_ = pods ? exec_connect(search->job, pods) : -1;

	search->failed = search->failed || !pods || (socket_ < 0 && errno == ENOMEM);
	if (socket_ < 0)
		return;
	search->count++;
	rh_str_appendf(&search->found, " %s", path);
	if (search->job->socket >= 0)
		(void)close(search->job->socket);
	search->job->socket = socket_;
}

/* @return 0, also when there is none; RH_EINVAL: there are several */
static int exec_search(struct exec_job *job)
{
	struct exec_search search = {.job = job};
	int r = rh_run_dir_each(exec_try_run, &search);

	if (r < 0 || search.failed)
		r = rh_fail_oom(job->err);
	else if (search.count > 1)
		r = rh_fail(job->err, RH_EINVAL, "%zu runs have a pod \"%s\"; name one with --run-dir:%s", search.count,
		            job->exec->pod, rh_str_text(&search.found));
	rh_str_deinit(&search.found);
	return r;
}

static bool exec_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder of the pods, whichever of the two is named. */
static int exec_find_pods(struct exec_job *job)
{
	const char *named = job->exec->pods;
	rh_auto_free char *below = NULL;

	if (!named)
		return 0;
	below = rh_path_join(named, EXEC_PODS);
	if (!below)
		return rh_fail_oom(job->err);
	if (!exec_is_folder(named))
		return rh_fail(job->err, RH_ENOENT, "there is no run in \"%s\"", named);
	job->pods = exec_is_folder(below) ? rh_take(below) : rh_strdup(named);
	return job->pods ? 0 : rh_fail_oom(job->err);
}

/* Suggestions for the message. */
struct exec_others {
	const struct rh_exec *exec;
	struct rh_str names;
	size_t count;
};

static void exec_note_other(struct exec_others *others, const char *pods, const struct dirent *entry)
{
	rh_auto_pod_record record = {0};
	bool known = entry->d_type == DT_LNK && rh_exec_link_read(pods, entry->d_name, &record) == 0;
	rh_auto_close int socket_ = known ? exec_connect_to(pods, entry->d_name) : -1;

	if (socket_ < 0 || others->count++ >= EXEC_OTHERS_MAX)
		return;
	rh_str_appendf(&others->names, "%s%s", others->count > 1 ? ", " : "; there are ", record.pod);
	if (strcmp(others->exec->namespace_, record.namespace_) != 0)
		rh_str_appendf(&others->names, " (-n %s)", record.namespace_);
}

static void exec_list_others(struct exec_others *others, const char *pods)
{
	DIR *folder = opendir(pods);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		exec_note_other(others, pods, entry);
	if (folder)
		(void)closedir(folder);
}

static void exec_list_run(void *arg, const char *path)
{
	rh_auto_free char *pods = rh_path_join(path, EXEC_PODS);

	if (pods)
		exec_list_others(arg, pods);
}

static int exec_not_found(const struct exec_job *job)
{
	struct exec_others others = {.exec = job->exec};
	int r;

	if (job->pods)
		exec_list_others(&others, job->pods);
	else
		(void)rh_run_dir_each(exec_list_run, &others);
	if (others.count > EXEC_OTHERS_MAX)
		rh_str_append(&others.names, ", ...");
	r = rh_fail(job->err, RH_ENOENT, "pod \"%s\" does not run in namespace \"%s\"%s", job->exec->pod,
	            job->exec->namespace_, others.count > 0 ? rh_str_text(&others.names) : "; no pod runs");
	rh_str_deinit(&others.names);
	return r;
}

static int exec_reach_once(struct exec_job *job)
{
	if (!job->pods)
		return exec_search(job);
	job->socket = exec_connect(job, job->pods);
	if (job->socket < 0 && errno == ENOMEM)
		return rh_fail_oom(job->err);
	if (job->socket < 0 && !exec_is_folder(job->pods))
		return rh_fail(job->err, RH_ENOENT, "the run in \"%s\" has ended", job->pods);
	return 0;
}

/* Reach the pod's shim, as soon as there is one. */
static int exec_reach(struct exec_job *job)
{
	static const struct timespec pause = {0, EXEC_PAUSE * 1000};

	for (;;) {
		int r = exec_reach_once(job);

		if (r < 0 || job->socket >= 0)
			return r;
		if (rh_clock_monotonic() >= job->until)
			return exec_not_found(job);
		(void)nanosleep(&pause, NULL);
	}
}

static int exec_print_request(const struct exec_job *job, struct rh_str *out)
{
	rh_auto(json) request = rh_json_new_object();
	struct rh_json *argv = request ? rh_json_ensure_array(request, "argv") : NULL;

	if (!argv || (job->exec->container && rh_json_set_string(request, "container", job->exec->container) < 0))
		return rh_fail_oom(job->err);
	for (const char *const *word = job->exec->argv; *word; word++) {
		if (rh_json_append(argv, rh_json_new_string(*word)) < 0)
			return rh_fail_oom(job->err);
	}
	rh_json_print(request, false, out);
	rh_str_append(out, "\n");
	return out->failed ? rh_fail_oom(job->err) : 0;
}

/* The first bytes take the standard streams along. */
static ssize_t exec_send(int socket_, const char *bytes, size_t length, bool streams)
{
	static const int fds[3] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = {0};
	struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
	struct cmsghdr *part;

	if (streams) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		part = CMSG_FIRSTHDR(&message);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(fds));
		memcpy(CMSG_DATA(part), fds, sizeof(fds));
	}
	return sendmsg(socket_, &message, MSG_NOSIGNAL);
}

static int exec_request(struct exec_job *job)
{
	rh_auto_str request = {0};
	size_t sent = 0;
	int r = exec_print_request(job, &request);

	while (r == 0 && sent < request.length) {
		ssize_t n = exec_send(job->socket, request.data + sent, request.length - sent, sent == 0);

		if (n < 0 && errno != EINTR)
			r = rh_fail(job->err, RH_EIO, "pod \"%s\" does not accept commands: %s", job->exec->pod, strerror(errno));
		sent += n > 0 ? (size_t)n : 0;
	}
	return r;
}

/* State of the command as the pod reports it. */
enum exec_progress { EXEC_REQUESTED, EXEC_WAITING, EXEC_RUNNING, EXEC_OVER };

/* Wait for more of the answer. @return 1; 0: the time is over; RH_EIO: there will be no more */
static int exec_listen(struct exec_job *job, enum exec_progress progress)
{
	struct pollfd poll_ = {.fd = job->socket, .events = POLLIN};
	int64_t until = progress == EXEC_WAITING ? job->until : job->asked + EXEC_ANSWER_MAX;
	int64_t rest = until - rh_clock_monotonic();
	struct timespec timeout = {.tv_sec = rest > 0 ? rest / RH_SECOND : 0,
	                           .tv_nsec = rest > 0 ? rest % RH_SECOND * 1000 : 0};
	int ready = ppoll(&poll_, 1, progress == EXEC_RUNNING ? NULL : &timeout, NULL);
	char buffer[4096];
	ssize_t n;

	if (ready <= 0)
		return ready < 0 && errno == EINTR ? 1 : 0;
	n = recv(job->socket, buffer, sizeof(buffer), 0);
	if (n > 0)
		rh_str_append_bytes(&job->input, buffer, (size_t)n);
	if (n > 0 || (n < 0 && errno == EINTR))
		return 1;
	return rh_fail(job->err, RH_EIO, "pod \"%s\" ended while the command ran", job->exec->pod);
}

/* Take one answer. @param[out] ret_status of the command, once it is over */
static enum exec_progress exec_understand(const struct exec_job *job, const struct rh_json *answer, int *ret_status)
{
	const char *error = rh_json_string(rh_json_get(answer, "error"));
	int64_t status = 0;

	if (!rh_json_integer(rh_json_get(answer, "exitCode"), &status))
		return rh_json_get(answer, "pid") ? EXEC_RUNNING : EXEC_WAITING;
	*ret_status = (int)status;
	if (error)
		rh_fail(job->err, RH_ENOENT, "%s", error);
	return EXEC_OVER;
}

/* Take the lines that are complete. @return 0 or RH_EIO */
static int exec_take(struct exec_job *job, enum exec_progress *progress, int *ret_status)
{
	const char *end;

	while (*progress != EXEC_OVER && job->input.length > 0 &&
	       (end = memchr(job->input.data, '\n', job->input.length))) {
		size_t length = (size_t)(end - job->input.data);
		rh_auto(json) answer = NULL;

		if (rh_json_parse(job->input.data, length, &answer, job->err) < 0)
			return RH_EIO;
		*progress = exec_understand(job, answer, ret_status);
		memmove(job->input.data, end + 1, job->input.length - length - 1);
		job->input.length -= length + 1;
	}
	return 0;
}

static int exec_wait(struct exec_job *job)
{
	enum exec_progress progress = EXEC_REQUESTED;
	int status = 0;

	while (progress != EXEC_OVER) {
		int r = exec_listen(job, progress);

		if (r == 0)
			return rh_fail(job->err, RH_ENOENT, "pod \"%s\": the container does not run in time", job->exec->pod);
		if (r > 0)
			r = exec_take(job, &progress, &status);
		if (r < 0)
			return r;
	}
	return status;
}

int rh_exec(const struct rh_exec *exec, struct rh_error *err)
{
	__attribute__((cleanup(exec_job_deinit))) struct exec_job job = {.exec = exec, .socket = -1, .err = err};
	int r;

	job.until = rh_clock_monotonic() + exec->patience;
	r = exec_find_pods(&job);
	if (r == 0)
		r = exec_reach(&job);
	if (r == 0)
		r = exec_request(&job);
	job.asked = rh_clock_monotonic();
	return r < 0 ? r : exec_wait(&job);
}
