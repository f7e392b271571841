/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/fork.h"

#include <pthread.h>
#include <stddef.h>

/* fork() is the process's, and its handlers get no argument: so there is one list for the process. */
struct forkings {
	pthread_mutex_t lock;
	pthread_once_t once;
	struct rh_comm_forking *first;
};

static struct forkings *forkings_get(void)
{
	static struct forkings forkings = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

	return &forkings;
}

static void forkings_hold(void)
{
	struct forkings *forkings = forkings_get();

	(void)pthread_mutex_lock(&forkings->lock);
	for (struct rh_comm_forking *at = forkings->first; at; at = at->next)
		at->hold(at->self);
}

static void forkings_let_go(void)
{
	struct forkings *forkings = forkings_get();

	for (struct rh_comm_forking *at = forkings->first; at; at = at->next)
		at->let_go(at->self);
	(void)pthread_mutex_unlock(&forkings->lock);
}

/* What the child makes of the library itself is its own. */
static void forkings_forget(void)
{
	struct forkings *forkings = forkings_get();

	for (struct rh_comm_forking *at = forkings->first; at; at = at->next)
		at->forget(at->self);
	forkings->first = NULL;
	(void)pthread_mutex_unlock(&forkings->lock);
}

static void forkings_begin(void)
{
	(void)pthread_atfork(forkings_hold, forkings_let_go, forkings_forget);
}

void rh_comm_forking_add(struct rh_comm_forking *forking)
{
	struct forkings *forkings = forkings_get();

	(void)pthread_once(&forkings->once, forkings_begin);
	(void)pthread_mutex_lock(&forkings->lock);
	forking->next = forkings->first;
	forkings->first = forking;
	(void)pthread_mutex_unlock(&forkings->lock);
}

void rh_comm_forking_remove(struct rh_comm_forking *forking)
{
	struct forkings *forkings = forkings_get();
	struct rh_comm_forking **at = &forkings->first;

	(void)pthread_mutex_lock(&forkings->lock);
	while (*at && *at != forking)
		at = &(*at)->next;
	if (*at)
		*at = forking->next;
	(void)pthread_mutex_unlock(&forkings->lock);
}
