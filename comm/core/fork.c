/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/fork.h"

#include <pthread.h>
#include <stddef.h>

/* fork() is the process's, and its handlers get no argument: so there is one list for the process. */
struct forkings {
	pthread_mutex_t lock;
	pthread_once_t once;
	struct rh_comm_fork_handler *first;
};

static struct forkings *forkings_get(void)
{
	static struct forkings forkings = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

	return &forkings;
}

static void forkings_prepare(void)
{
	struct forkings *forkings = forkings_get();

	(void)pthread_mutex_lock(&forkings->lock);
	for (struct rh_comm_fork_handler *at = forkings->first; at; at = at->next)
		at->prepare(at->self);
}

static void forkings_parent(void)
{
	struct forkings *forkings = forkings_get();

	for (struct rh_comm_fork_handler *at = forkings->first; at; at = at->next)
		at->parent(at->self);
	(void)pthread_mutex_unlock(&forkings->lock);
}

/* What the child makes of the library itself is its own. */
static void forkings_child(void)
{
	struct forkings *forkings = forkings_get();

	for (struct rh_comm_fork_handler *at = forkings->first; at; at = at->next)
		at->child(at->self);
	forkings->first = NULL;
	(void)pthread_mutex_unlock(&forkings->lock);
}

static void forkings_install(void)
{
	(void)pthread_atfork(forkings_prepare, forkings_parent, forkings_child);
}

void rh_comm_fork_handler_add(struct rh_comm_fork_handler *handler)
{
	struct forkings *forkings = forkings_get();

	(void)pthread_once(&forkings->once, forkings_install);
	(void)pthread_mutex_lock(&forkings->lock);
	handler->next = forkings->first;
	forkings->first = handler;
	(void)pthread_mutex_unlock(&forkings->lock);
}

void rh_comm_fork_handler_remove(struct rh_comm_fork_handler *handler)
{
	struct forkings *forkings = forkings_get();
	struct rh_comm_fork_handler **at = &forkings->first;

	(void)pthread_mutex_lock(&forkings->lock);
	while (*at && *at != handler)
		at = &(*at)->next;
	if (*at)
		*at = handler->next;
	(void)pthread_mutex_unlock(&forkings->lock);
}
