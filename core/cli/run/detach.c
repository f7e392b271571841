/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/file.h"
#include "cli/cli.h"
#include "job/status/shown.h"
#include "job/status/status.h"

/* What the process of a detached run prints goes to this file of the run's folder. */
#define DETACH_LOG "run.log"
/* Longest answer. */
#define DETACH_ANSWER_MAX 4096

static void detach_redirect(const struct rh_detach *detach)
{
	rh_auto_free char *log = detach->path ? rh_path_join(detach->path, DETACH_LOG) : NULL;
	rh_auto_close int fd = open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	(void)fflush(NULL);
	(void)dup2(fd, STDOUT_FILENO);
	(void)dup2(fd, STDERR_FILENO);
}

/* The answer is the name of the run, or nothing where it is not kept. */
static void detach_answer(struct rh_detach *detach)
{
	const char *slash = detach->path ? strrchr(detach->path, '/') : NULL;
	rh_auto_free char *text = rh_asprintf("%s\n", slash ? slash + 1 : "");

	if (detach->pipe < 0)
		return;
	(void)rh_fd_write_all(detach->pipe, text ? text : "\n", text ? strlen(text) : 1, NULL);
	(void)close(detach->pipe);
	detach->pipe = -1;
}

static void detach_on_kept(void *arg, const char *path)
{
	struct rh_detach *detach = arg;

	detach->path = rh_strdup(path);
}

static bool detach_has_begun(const struct rh_json *object)
{
	struct rh_job_status status = {.condition_count = 0};
	bool begun;

	if (rh_shown_read(NULL, object, &status) < 0)
		return false;
	begun = rh_job_status_is(&status, RH_CONDITION_RUNNING) || rh_job_status_finished(&status);
	rh_job_status_deinit(&status);
	return begun;
}

static void detach_note_begun(struct rh_detach *detach, const struct rh_json *object)
{
	const char *uid = rh_json_string_at(object, "metadata.uid");

	for (size_t i = 0; i < detach->begun_count; i++) {
		if (rh_text_equal(detach->begun[i], uid))
			return;
	}
	if (uid && detach->begun_count < detach->count)
		detach->begun[detach->begun_count++] = rh_strdup(uid);
}

static void detach_on_job(void *arg, const struct rh_json *object, const struct rh_run_fault *fault)
{
	struct rh_detach *detach = arg;

	(void)fault;
	if (detach->pipe < 0)
		return;
	if (!detach->left) /* before the first pod starts, which would keep the terminal open */
		detach_redirect(detach);
	detach->left = true;
	if (detach->wait && detach_has_begun(object))
		detach_note_begun(detach, object);
	if (!detach->wait || detach->begun_count == detach->count)
		detach_answer(detach);
}

static void detach_on_text(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr, "note: %s\n", text);
	(void)fflush(stderr);
}

struct rh_run_hooks rh_detach_hooks(struct rh_detach *detach, size_t count)
{
	detach->begun = rh_alloc_array(count, sizeof(*detach->begun));
	detach->count = detach->begun ? count : 0;
	return (struct rh_run_hooks){
		.kept = detach_on_kept, .job = detach_on_job, .note = detach_on_text, .warning = detach_on_text, .arg = detach};
}

static int detach_status(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : RH_EXIT_FAILED;
}

/* In the first process. @return its exit status */
static int detach_listen(int fd, pid_t child)
{
	char text[DETACH_ANSWER_MAX];
	size_t length = 0;
	ssize_t n = 1;

	while (length + 1 < sizeof(text) && n != 0) {
		n = read(fd, text + length, sizeof(text) - 1 - length);
		length += n > 0 ? (size_t)n : 0;
		if (n < 0 && errno != EINTR)
			break;
	}
	if (length == 0) /* it ended before the jobs began, and has printed why */
		return detach_status(child);
	text[length - 1] = '\0';
	if (length == 1) {
		fprintf(stderr, "process %ld runs the jobs; the run is not kept, and `kill %ld` stops it\n", (long)child,
		        (long)child);
		return RH_EXIT_OK;
	}
	puts(text);
	(void)fflush(stdout); /* the name comes first, also where both go to one file */
	fprintf(stderr, "`roundhouse attach %s` shows its output, `roundhouse stop %s` stops it\n", text, text);
	return RH_EXIT_OK;
}

static int detach_leave(struct rh_error *err)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	rh_auto_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (setsid() < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || sigaction(SIGHUP, &ignore, NULL) < 0)
		return rh_fail(err, RH_EIO, "cannot detach: %s", strerror(errno));
	return 0;
}

int rh_detach(struct rh_detach *detach, bool wait, int *ret_status, struct rh_error *err)
{
	int ends[2];
	pid_t child;

	*detach = (struct rh_detach){.pipe = -1, .wait = wait};
	(void)fflush(NULL);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return rh_fail(err, RH_EIO, "cannot detach: %s", strerror(errno));
	child = fork();
	if (child < 0) {
		(void)close(ends[0]);
		(void)close(ends[1]);
		return rh_fail(err, RH_EIO, "cannot detach: %s", strerror(errno));
	}
	(void)close(ends[child == 0 ? 0 : 1]);
	if (child == 0) {
		detach->pipe = ends[1];
		return detach_leave(err);
	}
	*ret_status = detach_listen(ends[0], child);
	(void)close(ends[0]);
	return 1;
}

void rh_detach_deinit(struct rh_detach *detach)
{
	if (detach->pipe >= 0)
		(void)close(detach->pipe);
	for (size_t i = 0; i < detach->begun_count; i++)
		rh_free(detach->begun[i]);
	rh_free(detach->begun);
	rh_free(detach->path);
	*detach = (struct rh_detach){.pipe = -1};
}
