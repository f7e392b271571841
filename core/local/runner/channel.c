/* SPDX-License-Identifier: Apache-2.0 */
/* The channel between the runner and the shims: reports, and stop commands. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "job/evidence/evidence.h"
#include "job/pod.h"
#include "local/runner/parts.h"

/* Longest line of a shim; a report is far below it. */
#define RUNNER_LINE_MAX 16384
/* Largest file of torch's @record that is read, in bytes. */
#define RUNNER_ERROR_FILE_MAX (256 * 1024)
/* How long a shim may take, beyond a grace period, before the next escalation: kill, then SIGKILL for the shim. */
#define RUNNER_PATIENCE (3 * RH_SECOND)

/* Processes of the pod may still be there: only what is a file is read, and not through a link. */
static void channel_read_file(const char *path, struct rh_str *out)
{
	rh_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	char buffer[4096];
	ssize_t n = 0;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	while (out->length < RUNNER_ERROR_FILE_MAX && (n = read(fd, buffer, sizeof(buffer))) > 0)
		rh_str_append_bytes(out, buffer, (size_t)n);
}

/* Read and remove the file of torch's @record, so that the next instance of the container starts without it. */
static void channel_take_recorded(const struct rh_runner_pod *pod, const struct rh_runner_container *container,
                                  struct rh_str *out)
{
	rh_auto_free char *path =
		pod->dir ? rh_asprintf("%s/%s" RH_RUNTIME_SPEC_ERROR_FILE, pod->dir, container->name) : NULL;
	rh_auto_str text = {0};
	rh_auto(json) json = NULL;
	const char *stack;

	if (!path)
		return;
	channel_read_file(path, &text);
	(void)unlink(path);
	if (text.length == 0 || rh_json_parse(rh_str_text(&text), text.length, &json, NULL) < 0)
		return;
	stack = rh_json_string_at(json, "message.extraInfo.py_callstack");
	if (stack)
		rh_str_appendf(out, "\n%s", stack);
}

/* The lines of the failure; torch's error file has more where the log has no traceback, as with --redirects.
 * @return owned by the caller; NULL: out of memory */
static char *channel_excerpt(const struct rh_runner_pod *pod, const struct rh_runner_container *container)
{
	struct rh_end end = {.exit_code = container->report.exit_code, .reason = container->report.reason};
	rh_auto_str recorded = {0};
	rh_auto_str tail = {0};
	rh_auto_str lines = {0};

	rh_log_tail(container->log.path, container->report.log_begin, container->report.log_end, RH_EVIDENCE_TEXT_MAX,
	            &tail);
	channel_take_recorded(pod, container, &recorded);
	end.output = rh_str_text(&tail);
	if (recorded.length > 0 && !rh_evidence_read(&end).raised)
		rh_str_append(&tail, rh_str_text(&recorded));
	end.output = rh_str_text(&tail);
	rh_evidence_excerpt(&end, RH_LAST_LINES_MAX, &lines);
	return rh_str_take(&lines);
}

static void channel_take_end(const struct rh_runner_pod *pod, struct rh_runner_container *container)
{
	container->ended = container->report;
	rh_free(rh_take(container->last_lines));
	if (container->report.exit_code != 0)
		container->last_lines = channel_excerpt(pod, container);
}

/* An end is reported again when a pending restart of the container is cancelled. */
static void channel_report_failure(const struct rh_runner_pod *pod, const struct rh_runner_container *container,
                                   const struct rh_shim_report *report)
{
	const struct rh_runner_hooks *hooks = &pod->runner->options.hooks;

	if (!hooks->failed || container->sidecar || report->asked || report->exit_code == 0 ||
	    report->finished_at == container->ended.finished_at)
		return;
	hooks->failed(hooks->arg, pod->uid, report);
}

static void channel_take_report(struct rh_runner_pod *pod, const struct rh_json *json)
{
	struct rh_shim_report report;
	struct rh_runner_container *container;

	if (rh_shim_report_parse(json, &report) < 0)
		return;
	container = rh_runner_pod_container(pod, report.container, report.init);
	if (!container)
		return;
	rh_runner_end_report(pod, container, &report);
	container->report = report;
	container->reported = true;
	container->ran = container->ran || report.running;
	container->grown = true;
	pod->changed = true;
	if (report.running)
		return;
	channel_report_failure(pod, container, &report);
	channel_take_end(pod, container);
}

static void channel_take_fault(struct rh_runner_pod *pod, const char *text)
{
	const struct rh_runner_hooks *hooks = &pod->runner->options.hooks;
	rh_auto_free char *whole = rh_asprintf("%s: %s", pod->name, text);

	if (hooks->fault)
		hooks->fault(hooks->arg, whole ? whole : text);
}

static void channel_take_line(struct rh_runner_pod *pod, const char *text, size_t length)
{
	rh_auto(json) json = NULL;
	const char *note;

	for (size_t i = 0; length == 0 && i < pod->container_count; i++)
		pod->containers[i].grown = true;
	if (length == 0 || rh_json_parse(text, length, &json, NULL) < 0)
		return;
	note = rh_json_string(rh_json_get(json, "note"));
	if (note)
		channel_take_fault(pod, note);
	else
		channel_take_report(pod, json);
}

static void channel_take_bytes(struct rh_runner_pod *pod, const char *bytes, size_t length)
{
	while (length > 0) {
		const char *end = memchr(bytes, '\n', length);
		size_t line = end ? (size_t)(end - bytes) : length;

		if (end && pod->input.length == 0) {
			channel_take_line(pod, bytes, line);
		} else {
			if (pod->input.length + line <= RUNNER_LINE_MAX)
				rh_str_append_bytes(&pod->input, bytes, line);
			if (end) {
				channel_take_line(pod, rh_str_text(&pod->input), pod->input.length);
				rh_str_deinit(&pod->input);
			}
		}
		line += end ? 1 : 0;
		bytes += line;
		length -= line;
	}
}

static void channel_close_line(struct rh_runner_pod *pod)
{
	rh_loop_unwatch(rh_take(pod->watch));
	(void)close(pod->line);
	pod->line = -1;
}

void rh_runner_receive(struct rh_runner_pod *pod)
{
	char buffer[4096];

	while (pod->line >= 0) {
		ssize_t n = recv(pod->line, buffer, sizeof(buffer), MSG_DONTWAIT);

		if (n > 0)
			channel_take_bytes(pod, buffer, (size_t)n);
		else if (n < 0 && errno == EINTR)
			continue;
		else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		else
			channel_close_line(pod);
	}
}

/* Few bytes, at most twice for each pod: the socket always has room, and errors mean that the shim is gone. */
static void channel_send(const struct rh_runner_pod *pod, int64_t grace)
{
	const struct rh_shim_stop command = {.grace = grace};

	if (pod->line >= 0)
		(void)!send(pod->line, &command, sizeof(command), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void rh_runner_stop(struct rh_runner_pod *pod)
{
	channel_send(pod, pod->grace);
	pod->stopping = true;
	pod->escalations = 0;
	pod->limit = rh_clock_monotonic() + pod->grace + RUNNER_PATIENCE;
}

void rh_runner_kill_pod(struct rh_runner_pod *pod)
{
	channel_send(pod, 0);
	pod->stopping = true;
	pod->escalations = 1;
	pod->limit = rh_clock_monotonic() + RUNNER_PATIENCE;
}

void rh_runner_escalate(struct rh_runner_pod *pod)
{
	if (pod->escalations == 0) {
		rh_runner_kill_pod(pod);
		return;
	}
	/* orphans of the shim become children of this process, their subreaper */
	if (pod->pid > 0)
		(void)kill(pod->pid, SIGKILL);
	pod->limit = rh_clock_monotonic() + RUNNER_PATIENCE;
}
