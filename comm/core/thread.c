/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/thread.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>

int rh_comm_thread_start(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg)
{
	sigset_t all;
	sigset_t before;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret_thread, NULL, fn, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* The quota of cgroup version 2: "max 100000" or "150000 100000". @return processors; 0: no quota */
static int thread_quota(void)
{
	FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
	long quota = 0;
	long period = 0;
	int found;

	if (!file)
		return 0;
	found = fscanf(file, "%ld %ld", &quota, &period);
	(void)fclose(file);
	return found == 2 && period > 0 ? (int)((quota + period - 1) / period) : 0;
}

int rh_comm_processors(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	int quota = thread_quota();

	if (quota > 0 && quota < count)
		count = quota;
	return count > 0 ? count : 1;
}
