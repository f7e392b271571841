/* SPDX-License-Identifier: Apache-2.0 */
/* The process itself: signals, descriptors, the loop. */
#include "local/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/shim/exec.h"
#include "local/shim/isolation/mounts.h"
#include "local/shim/pod.h"

/* Longest sleep, so that a missed event only delays. */
#define SHIM_SLEEP_MAX (60 * RH_SECOND)
/* Descriptors that are watched beside the containers' pipes. */
#define SHIM_FIXED (2 + RH_SHIM_EXEC_POLLS)

/* Everything that the loop works with. */
struct shim {
	struct rh_shim_plan plan;
	struct rh_shim_channel line;
	struct rh_shim_pod pod;
	struct rh_shim_exec exec;
	int signals;
	struct pollfd *polls;
};

static void shim_deinit(struct shim *shim)
{
	rh_shim_exec_close(&shim->exec);
	rh_shim_pod_deinit(&shim->pod);
	rh_shim_plan_deinit(&shim->plan);
	rh_shim_channel_deinit(&shim->line);
	if (shim->signals >= 0)
		(void)close(shim->signals);
	rh_free(shim->polls);
}

/* Close the runner's output, so that a remaining shim does not keep it open. */
static void shim_detach_streams(void)
{
	rh_auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
	}
}

static int shim_prepare_process(struct shim *shim, struct rh_error *err)
{
	sigset_t set;

	(void)fcntl(RH_SHIM_PLAN_FD, F_SETFD, FD_CLOEXEC);
	(void)fcntl(RH_SHIM_CHANNEL_FD, F_SETFD, FD_CLOEXEC);
	(void)fcntl(RH_SHIM_TERMINAL_FD, F_SETFD, FD_CLOEXEC); /* fails where no container has one */
	shim_detach_streams();
	(void)setsid();
	(void)!chdir("/");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return rh_fail(err, RH_EIO, "cannot become a child subreaper: %s", strerror(errno));
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	shim->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return shim->signals < 0 ? rh_fail(err, RH_EIO, "no signalfd: %s", strerror(errno)) : 0;
}

/* Without the mount namespace that the plan needs no container can start. */
static void shim_enter_mounts(struct shim *shim)
{
	struct rh_error err = {0};

	if (!rh_shim_plan_mounts(&shim->plan))
		return;
	if (rh_shim_mounts_enter(&err) < 0 || rh_shim_mounts_tmpfs(shim->plan.tmpfs, shim->plan.tmpfs_count, &err) < 0)
		rh_copy(shim->pod.refusal, sizeof(shim->pod.refusal), err.message);
}

/* A pod works also without the socket for commands. */
static void shim_open_exec(struct shim *shim)
{
	struct rh_error err = {0};

	if (rh_shim_exec_open(&shim->exec, shim->plan.dir, &err) < 0)
		rh_shim_channel_note(&shim->line, err.message);
	shim->pod.exec = &shim->exec;
}

static int shim_prepare(struct shim *shim, struct rh_error *err)
{
	int r = shim_prepare_process(shim, err);

	if (r == 0)
		r = rh_shim_plan_read(RH_SHIM_PLAN_FD, &shim->plan, err);
	(void)close(RH_SHIM_PLAN_FD);
	if (r < 0)
		return r;
	shim->polls = rh_alloc_array(shim->plan.spec_count + SHIM_FIXED, sizeof(*shim->polls));
	if (!shim->polls || rh_shim_pod_init(&shim->pod, &shim->plan, &shim->line) < 0)
		return rh_fail_oom(err);
	shim_open_exec(shim);
	shim_enter_mounts(shim);
	return 0;
}

static void shim_stop(void *arg, int64_t grace)
{
	struct shim *shim = arg;

	rh_shim_pod_stop(&shim->pod, grace, rh_clock_monotonic());
}

static void shim_take_signals(struct shim *shim)
{
	struct signalfd_siginfo info;

	while (read(shim->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			rh_shim_pod_reap(&shim->pod, rh_clock_monotonic());
		else
			shim_stop(shim, shim->plan.grace);
	}
}

static void shim_take_line(struct shim *shim)
{
	if (!rh_shim_channel_receive(&shim->line, shim_stop, shim) && !shim->plan.detached)
		shim_stop(shim, 0);
}

static void shim_poll(struct shim *shim, int64_t until)
{
	int64_t now = rh_clock_monotonic();
	int64_t wait = until > now ? until - now : 0;
	struct timespec timeout;

	rh_shim_pod_rest(&shim->pod);
	wait = wait < SHIM_SLEEP_MAX ? wait : SHIM_SLEEP_MAX;
	timeout.tv_sec = wait / RH_SECOND;
	timeout.tv_nsec = wait % RH_SECOND * 1000;
	shim->polls[0] = (struct pollfd){.fd = shim->signals, .events = POLLIN};
	shim->polls[1] = (struct pollfd){.fd = shim->line.fd, .events = POLLIN};
	if (shim->line.unsent.length > 0)
		shim->polls[1].events |= POLLOUT;
	rh_shim_exec_watch(&shim->exec, &shim->polls[2]);
	for (size_t i = 0; i < shim->plan.spec_count; i++)
		shim->polls[SHIM_FIXED + i] = (struct pollfd){.fd = shim->pod.containers[i].output.pipe, .events = POLLIN};
	if (ppoll(shim->polls, shim->plan.spec_count + SHIM_FIXED, &timeout, NULL) < 0)
		memset(shim->polls, 0, (shim->plan.spec_count + SHIM_FIXED) * sizeof(*shim->polls));
}

static void shim_loop(struct shim *shim)
{
	for (;;) {
		int64_t until = rh_shim_pod_step(&shim->pod, rh_clock_monotonic());

		rh_shim_exec_step(&shim->exec, &shim->pod);
		rh_shim_channel_flush(&shim->line);
		if (rh_shim_pod_done(&shim->pod))
			return;
		shim_poll(shim, until);
		for (size_t i = 0; i < shim->plan.spec_count; i++) {
			if (shim->polls[SHIM_FIXED + i].revents != 0)
				rh_shim_pod_output(&shim->pod, i);
		}
		if (shim->polls[1].revents != 0)
			shim_take_line(shim);
		rh_shim_exec_take(&shim->exec, &shim->pod, &shim->polls[2]);
		if (shim->polls[0].revents != 0)
			shim_take_signals(shim);
	}
}

static struct rh_json *shim_record(const struct shim *shim)
{
	rh_auto(json) record = rh_json_new_object();
	struct rh_json *list = record ? rh_json_ensure_array(record, "containers") : NULL;

	for (size_t i = 0; list && i < shim->plan.spec_count; i++) {
		const struct rh_shim_container *container = &shim->pod.containers[i];

		/* a container that never started has no report */
		if (container->report.started_at == 0)
			continue;
		if (rh_json_append(list, rh_shim_report_json(&container->report)) < 0)
			return NULL;
	}
	return list ? rh_take(record) : NULL;
}

/* Renamed into place without fsync: after a crash of the machine the record is not needed. */
static void shim_write_record(struct shim *shim)
{
	rh_auto(json) record = shim_record(shim);
	rh_auto_free char *text = record ? rh_json_text(record) : NULL;
	rh_auto_free char *part = rh_asprintf("%s/exit.json.part", shim->plan.dir);
	rh_auto_free char *whole = rh_asprintf("%s/exit.json", shim->plan.dir);
	rh_auto_close int fd = -1;
	struct rh_error err = {0};

	if (!text || !part || !whole)
		return;
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && rh_fd_write_all(fd, text, strlen(text), &err) == 0 && rename(part, whole) == 0)
		return;
	if (!shim->plan.detached)
		return; /* the runner has received all reports on the channel */
	rh_fail(&err, RH_EIO, "cannot write \"%s\": %s", whole, strerror(errno));
	(void)unlink(part);
	rh_shim_channel_note(&shim->line, err.message);
}

int rh_shim_main(void)
{
	__attribute__((cleanup(shim_deinit))) struct shim shim = {
		.line = {.fd = RH_SHIM_CHANNEL_FD}, .exec = {.listener = -1}, .signals = -1};
	struct rh_error err = {0};

	if (shim_prepare(&shim, &err) < 0) {
		(void)fprintf(stderr, "roundhouse-shim: %s\n", err.message);
		rh_shim_channel_note(&shim.line, err.message);
		return RH_SHIM_NO_PLAN;
	}
	shim_loop(&shim);
	shim_write_record(&shim);
	return 0;
}
