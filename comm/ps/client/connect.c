/* SPDX-License-Identifier: Apache-2.0 */
/* How a worker connects to each server. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "comm/core/error.h"
#include "comm/core/thread.h"
#include "comm/ps/client/client.h"
#include "comm/ps/scheduler/launch.h"
#include "comm/ps/scheduler/roles.h"

/* With spare processors, an answer often arrives before a sleep would begin. */
#define SPIN 20
#define PAUSE_FIRST 10000
#define PAUSE_MAX 250000

static int32_t connect_init_links(struct rh_ps *ps, struct rh_comm_error *err)
{
	ps->links = calloc((size_t)ps->settings.server_count, sizeof(*ps->links));
	if (!ps->links)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	ps->link_count = ps->settings.server_count;
	for (int32_t i = 0; i < ps->link_count; i++)
		rh_ps_link_init(&ps->links[i], ps, i, &ps->settings.places[i]);
	return 0;
}

static void connect_pause(int64_t time)
{
	struct timespec span = {time / RH_COMM_SECOND, time % RH_COMM_SECOND * 1000};

	(void)nanosleep(&span, NULL);
}

/* Servers start when they start, and names of a cluster come late. */
static int32_t connect_open_link(struct rh_ps_link *link, int64_t deadline, struct rh_comm_error *err)
{
	struct rh_comm_error last = {0};
	int64_t pause = PAUSE_FIRST;
	int32_t r;

	while ((r = rh_ps_link_open(link, deadline, &last)) == RH_COMM_EIO) {
		if (rh_comm_now() + pause >= deadline)
			return rh_comm_fail(err, RH_COMM_ETIME, link->index, "server %d at %s port %d was not reached in time: %s",
			                    (int)link->index, link->place.host, (int)link->place.port, last.text);
		connect_pause(pause);
		pause = pause * 2 < PAUSE_MAX ? pause * 2 : PAUSE_MAX;
		/* its backup may have taken over */
		r = rh_ps_link_follow(link->ps, &last);
		if (r < 0)
			break;
	}
	if (r < 0 && err)
		*err = last;
	return r;
}

static int32_t connect_open(struct rh_ps *ps, struct rh_comm_error *err)
{
	int64_t deadline = rh_comm_now() + ps->settings.init_timeout;
	int32_t r = connect_init_links(ps, err);

	rh_ps_job_digest(ps->settings.job, ps->job);
	ps->session = rh_ps_random_number();
	ps->spin = rh_comm_processors() > 1 ? SPIN : 0;
	for (int32_t i = 0; i < ps->link_count && r == 0; i++)
		r = connect_open_link(&ps->links[i], deadline, err);
	return r;
}

/* Through a scheduler, where there is one. */
static int32_t connect_join(struct rh_ps *ps, const struct rh_ps_options *options, struct rh_ps_sources *sources,
                            struct rh_comm_error *err)
{
	struct rh_ps_join_plan plan;
	int32_t r = rh_ps_roles_read_worker(options, &sources->variables, &plan, err);

	if (r > 0)
		r = rh_ps_join_open(&plan, &ps->join, err);
	if (r == 0 && ps->join) {
		sources->found_by = "the scheduler";
		sources->found = rh_ps_join_cluster(ps->join);
	}
	return r;
}

/* Through MPI, where it is the backend. */
static int32_t connect_launch_mpi(struct rh_ps_launch *launch, struct rh_ps_sources *sources, struct rh_comm_error *err)
{
	int32_t r = rh_ps_launch_open(false, launch, err);

	if (r == 0)
		r = rh_ps_launch_connect(launch, NULL, 0, err);
	sources->found_by = "mpirun";
	sources->found = &launch->cluster;
	return r;
}

static int32_t connect_start(struct rh_ps *ps, const struct rh_ps_options *options, struct rh_comm_error *err)
{
	struct rh_ps_sources sources = {.variables = {rh_ps_getenv, NULL}};
	const struct rh_ps_options *sane = options && options->size == sizeof(*options) ? options : NULL;
	const char *backend = rh_ps_backend_read(&sources.variables, sane ? sane->backend : NULL);
	struct rh_ps_launch launch = {0};
	int32_t r = rh_ps_fabric_open(&ps->fabric, backend, err);

	if (r == 0 && strcmp(backend, "mpi") == 0)
		r = connect_launch_mpi(&launch, &sources, err);
	else if (r == 0)
		r = connect_join(ps, sane, &sources, err);
	if (r == 0)
		r = rh_ps_settings_read(options, &sources, &ps->settings, err);
	rh_ps_launch_close(&launch);
	return r == 0 ? connect_open(ps, err) : r;
}

void rh_ps_client_destroy(struct rh_ps *ps)
{
	rh_comm_fork_handler_remove(&ps->forking);
	for (int32_t i = 0; i < ps->link_count; i++)
		rh_ps_link_deinit(&ps->links[i]);
	free(ps->links);
	rh_ps_join_free(ps->join);
	rh_ps_fabric_close(&ps->fabric);
	rh_ps_settings_free(&ps->settings);
	(void)pthread_mutex_destroy(&ps->lock);
	(void)pthread_cond_destroy(&ps->changed);
	if (ps->wake >= 0)
		(void)close(ps->wake);
	free(ps);
}

static void connect_fork_prepare(void *self)
{
	struct rh_ps *ps = self;

	(void)pthread_mutex_lock(&ps->lock);
}

static void connect_fork_parent(void *self)
{
	struct rh_ps *ps = self;

	(void)pthread_mutex_unlock(&ps->lock);
}

static void connect_close(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

/* The wires themselves stay: they may be memory that a server reads. */
static void connect_fork_child(void *self)
{
	struct rh_ps *ps = self;

	ps->forked = true;
	for (int32_t i = 0; i < ps->link_count; i++) {
		if (!ps->links[i].wire)
			continue;
		connect_close(rh_ps_wire_watched(ps->links[i].wire));
		connect_close(rh_ps_wire_fd(ps->links[i].wire));
	}
	if (ps->join)
		connect_close(rh_ps_join_fd(ps->join));
	if (ps->fatal.code == 0)
		(void)rh_comm_fail(
			&ps->fatal, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			"this process was forked from worker %d, and is not connected itself: call rh_ps_connect() in it, "
			"after fork()",
			(int)ps->settings.worker);
	connect_fork_parent(ps);
}

int32_t rh_ps_connect(const struct rh_ps_options *options, struct rh_ps **ret_ps, struct rh_comm_error *err)
{
	struct rh_ps *ps = calloc(1, sizeof(*ps));
	int32_t r;

	if (!ps)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	(void)pthread_mutex_init(&ps->lock, NULL);
	(void)pthread_cond_init(&ps->changed, NULL);
	ps->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ps->wake < 0)
		r = rh_comm_fail_os(err, errno, "parameter server");
	else
		r = connect_start(ps, options, err);
	if (r < 0) {
		rh_ps_client_destroy(ps);
		return r;
	}
	ps->forking = (struct rh_comm_fork_handler){
		.prepare = connect_fork_prepare, .parent = connect_fork_parent, .child = connect_fork_child, .self = ps};
	rh_comm_fork_handler_add(&ps->forking);
	*ret_ps = ps;
	return 0;
}
