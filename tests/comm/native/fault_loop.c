/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of a job in which one rank commits a fault. usage: fault_loop FAULT PLACE VICTIM STEP
 * FAULT: none, slow, link, lock, loader, stop, exit, kill, leave, missing, skip, order, shape or type; PLACE: world or
 * group (all ranks but 0). Others print "rank R: code C, culprit K: TEXT" once the world is over, and end with 0.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "random.h"
#include "roundhouse/comm.h"

#define STEPS 40
/* Microseconds that a rank computes in a step of `slow`, and the victim more. */
#define COMPUTES 30000
#define COMPUTES_MORE 150000
#define RANKS_MOST 16
/* Elements of a reduction of `link`, and bytes a second that the victim's connections carry. */
#define LINK_COUNT ((size_t)1 << 14)
#define LINK_RATE (1U << 19)
#define FILES_MOST 256

struct job {
	const char *fault;
	bool in_group;
	int32_t victim;
	int32_t step;
	struct rh_comm *comm;
	struct rh_comm *group; /* NULL: this rank is not in it */
	struct rh_comm_error err;
};

static int32_t job_reduce(struct job *job, struct rh_comm *comm, size_t count, int32_t type)
{
	static int64_t values[LINK_COUNT];

	return rh_comm_all_reduce(comm, values, count, type, RH_COMM_SUM, &job->err);
}

static bool job_is(const struct job *job, const char *fault)
{
	return strcmp(job->fault, fault) == 0;
}

static int32_t job_barrier(struct job *job, struct rh_comm *comm)
{
	struct rh_comm_op op = {.size = sizeof(op), .what = RH_COMM_BARRIER};

	return rh_comm_run(comm, &op, &job->err);
}

/* A step as all ranks do it. */
static int32_t job_step(struct job *job, struct rh_comm *comm, int32_t step)
{
	size_t count = job_is(job, "link") ? LINK_COUNT : (size_t)step % 7 + 1;
	int32_t r = job_reduce(job, comm, count, RH_COMM_F32);

	return r == 0 ? job_barrier(job, comm) : r;
}

/* As somebody who waits for a lock that its holder never gives back. */
static void job_lock(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	(void)pthread_mutex_lock(&lock);
	(void)pthread_mutex_lock(&lock);
}

/* As somebody who waits for the next batch of a data loader that makes none. */
static void job_load(void)
{
	int ends[2];
	char batch;

	if (pipe(ends) < 0)
		return;
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	(void)!read(ends[0], &batch, 1);
}

/* All connections of this rank become slow. */
static void job_slow_links(void)
{
	const uint32_t rate = LINK_RATE;

	for (int fd = 0; fd < FILES_MOST; fd++)
		(void)setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate));
}

/* What does not come back, or comes back too late. */
static void job_vanish(struct job *job)
{
	if (job_is(job, "lock"))
		job_lock();
	if (job_is(job, "loader"))
		job_load();
	if (job_is(job, "stop"))
		(void)raise(SIGSTOP);
	if (job_is(job, "kill"))
		(void)raise(SIGKILL);
	if (job_is(job, "exit"))
		_exit(0);
	if (job_is(job, "leave")) {
		rh_comm_free(job->group);
		rh_comm_free(job->comm);
		_exit(0);
	}
}

/* The victim's step. */
static int32_t job_fault(struct job *job, struct rh_comm *comm, int32_t step)
{
	size_t count = (size_t)step % 7 + 1;
	int32_t r;

	job_vanish(job);
	if (job_is(job, "skip"))
		return 0;
	if (job_is(job, "missing"))
		return job_barrier(job, comm);
	if (job_is(job, "order")) {
		r = job_barrier(job, comm);
		return r == 0 ? job_reduce(job, comm, count, RH_COMM_F32) : r;
	}
	if (job_is(job, "shape"))
		return job_reduce(job, comm, count + 1, RH_COMM_F32);
	if (job_is(job, "type"))
		return job_reduce(job, comm, count, RH_COMM_I32);
	return job_step(job, comm, step);
}

static int32_t job_run(struct job *job)
{
	bool victim = rh_comm_rank(job->comm) == job->victim;
	uint64_t seed = (uint64_t)job->victim * 100 + (uint64_t)job->step + (uint64_t)rh_comm_rank(job->comm);
	int32_t r = 0;

	if (victim && job_is(job, "link"))
		job_slow_links();
	for (int32_t step = 1; r == 0 && step <= STEPS; step++) {
		bool now = victim && step == job->step;

		/* steps of different length: nobody is to be named for that */
		(void)usleep(job_is(job, "slow") ? COMPUTES + (victim ? COMPUTES_MORE : 0) : test_random_below(&seed, 20000));
		r = now && !job->in_group ? job_fault(job, job->comm, step) : job_step(job, job->comm, step);
		if (r == 0 && job->group)
			r = now && job->in_group ? job_fault(job, job->group, step) : job_step(job, job->group, step);
	}
	return r;
}

static int32_t job_open(struct job *job)
{
	int32_t members[RANKS_MOST];
	int32_t r = rh_comm_init(NULL, &job->comm, &job->err);

	if (r < 0 || rh_comm_rank(job->comm) == 0)
		return r;
	for (int32_t rank = 1; rank < rh_comm_world(job->comm); rank++)
		members[rank - 1] = rank;
	return rh_comm_group(job->comm, members, rh_comm_world(job->comm) - 1, &job->group, &job->err);
}

int main(int argc, char **argv)
{
	struct job job = {.fault = argc == 5 ? argv[1] : ""};
	int32_t r;

	if (argc != 5)
		return 2;
	job.in_group = strcmp(argv[2], "group") == 0;
	job.victim = (int32_t)strtol(argv[3], NULL, 10);
	job.step = (int32_t)strtol(argv[4], NULL, 10);
	r = job_open(&job);
	if (r == 0)
		r = job_run(&job);
	(void)printf("rank %d: code %d, culprit %d: %s\n", job.comm ? (int)rh_comm_rank(job.comm) : -1, (int)r,
	             r < 0 ? (int)job.err.rank : RH_COMM_NO_RANK, r < 0 ? job.err.text : "");
	(void)fflush(stdout);
	if (job.comm) {
		rh_comm_free(job.group);
		rh_comm_free(job.comm);
	}
	return 0;
}
