/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/control.h"
#include "local/run/parts.h"

static void control_end(struct rh_run_client *client)
{
	rh_loop_unwatch(rh_take(client->watch));
	if (client->fd >= 0)
		(void)close(client->fd);
	*client = (struct rh_run_client){.run = client->run, .fd = -1};
}

static struct rh_run_job *control_job(const struct rh_run *run, const char *name)
{
	for (size_t i = 0; i < run->job_count; i++) {
		const struct rh_job *job = run->jobs[i].job;
		rh_auto_free char *own = rh_asprintf("%s/%s", job->namespace_, job->name);

		if (rh_text_equal(own, name))
			return &run->jobs[i];
	}
	return NULL;
}

static void control_stop(struct rh_run *run, struct rh_run_job *job, bool kill_)
{
	rh_auto_free char *message =
		rh_asprintf("%s %s was stopped by roundhouse stop.", job->resource.kind, job->job->name);

	if (!job->finished && !job->stopped && message) {
		job->stopped = true;
		rh_run_job_fail(run, job, message);
	}
	if (kill_)
		rh_runner_kill(run->runner, job->log_name);
}

static void control_on_message(void *arg)
{
	struct rh_run_client *client = arg;
	char text[RH_CONTROL_MAX + 1];
	ssize_t n = recv(client->fd, text, RH_CONTROL_MAX, MSG_DONTWAIT);
	char *name;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	text[n > 0 ? n : 0] = '\0';
	name = strchr(text, ' ');
	if (name)
		*name++ = '\0';
	client->job = name ? control_job(client->run, name) : NULL;
	if (!client->job || (strcmp(text, RH_CONTROL_STOP) != 0 && strcmp(text, RH_CONTROL_KILL) != 0)) {
		control_end(client);
		return;
	}
	control_stop(client->run, client->job, strcmp(text, RH_CONTROL_KILL) == 0);
}

static struct rh_run_client *control_free_client(struct rh_run *run)
{
	for (size_t i = 0; i < RH_RUN_CONTROL_MAX; i++) {
		if (run->control.clients[i].fd < 0)
			return &run->control.clients[i];
	}
	return NULL;
}

static void control_on_connect(void *arg)
{
	struct rh_run *run = arg;
	int fd = accept4(run->control.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct rh_run_client *client = control_free_client(run);

	if (fd < 0)
		return;
	if (!client) {
		(void)close(fd);
		return;
	}
	client->fd = fd;
	if (rh_loop_watch(run->loop, fd, control_on_message, client, &client->watch, NULL) < 0)
		control_end(client);
}

void rh_run_control_step(void *arg, int64_t clock)
{
	struct rh_run *run = arg;

	(void)clock;
	for (size_t i = 0; i < RH_RUN_CONTROL_MAX; i++) {
		struct rh_run_client *client = &run->control.clients[i];

		if (client->job && client->job->finished && rh_run_pods_left(run, client->job) == 0)
			control_end(client);
	}
}

int64_t rh_run_control_deadline(void *arg)
{
	(void)arg;
	return RH_NEVER;
}

static int control_listen(const struct rh_run *run)
{
	rh_auto_close int folder = open(rh_run_dir_path(run->dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
	rh_auto_close int fd = folder < 0 ? -1 : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int made = fd;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" RH_CONTROL_SOCKET, folder);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    fchmodat(folder, RH_CONTROL_SOCKET, 0600, 0) < 0 || listen(fd, RH_RUN_CONTROL_MAX) < 0)
		return -1;
	fd = -1; /* it is the caller's now */
	return made;
}

void rh_run_control_open(struct rh_run *run)
{
	struct rh_run_control *control = &run->control;

	control->fd = control_listen(run);
	if (control->fd >= 0 && rh_loop_watch(run->loop, control->fd, control_on_connect, run, &control->watch, NULL) < 0) {
		(void)close(control->fd);
		control->fd = -1;
	}
}

void rh_run_control_init(struct rh_run *run)
{
	run->control.fd = -1;
	for (size_t i = 0; i < RH_RUN_CONTROL_MAX; i++)
		run->control.clients[i] = (struct rh_run_client){.run = run, .fd = -1};
}

void rh_run_control_close(struct rh_run *run)
{
	for (size_t i = 0; i < RH_RUN_CONTROL_MAX; i++)
		control_end(&run->control.clients[i]);
	rh_loop_unwatch(rh_take(run->control.watch));
	if (run->control.fd >= 0)
		(void)close(run->control.fd);
}
