/* SPDX-License-Identifier: Apache-2.0 */
/* Worker processes of plugins as sources of a loop. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/os/loop.h"
#include "host/registry.h"
#include "host/worker/worker.h"

struct rh_host_attachment {
	struct rh_loop *loop;
	struct rh_loop_watch *watch;    /* of the host's epoll descriptor */
	struct rh_loop_entry **sources; /* one for each worker process */
	size_t count;
};

static void attach_step(void *arg, int64_t now)
{
	rh_worker_step(arg, now);
}

static int64_t attach_deadline(void *arg)
{
	return rh_worker_deadline(arg);
}

/* The turn that follows steps the workers. */
static void attach_on_ready(void *arg)
{
	(void)arg;
}

static int attach_watch(struct rh_host *host, struct rh_host_attachment *attachment, struct rh_error *err)
{
	if (host->events < 0)
		host->events = epoll_create1(EPOLL_CLOEXEC);
	if (host->events < 0)
		return rh_fail(err, RH_EIO, "cannot wait for plugins: %s", strerror(errno));
	return rh_loop_watch(attachment->loop, host->events, attach_on_ready, NULL, &attachment->watch, err);
}

static int attach_add(const struct rh_host *host, struct rh_host_attachment *attachment, int order,
                      struct rh_error *err)
{
	int r = 0;

	attachment->sources = rh_alloc_array(host->slot_count + 1, sizeof(*attachment->sources));
	if (!attachment->sources)
		return rh_fail_oom(err);
	for (size_t i = 0; r == 0 && i < host->slot_count; i++) {
		const struct rh_loop_source source = {attach_step, attach_deadline, host->slots[i]->worker, order};

		if (source.arg)
			r = rh_loop_add(attachment->loop, &source, &attachment->sources[attachment->count], err);
		attachment->count += source.arg && r == 0;
	}
	return r;
}

int rh_host_attach(struct rh_host *host, struct rh_loop *loop, int order, struct rh_host_attachment **ret_attachment,
                   struct rh_error *err)
{
	rh_auto(host_attachment) attachment = rh_alloc(sizeof(*attachment));
	int r;

	if (!attachment)
		return rh_fail_oom(err);
	attachment->loop = loop;
	r = attach_watch(host, attachment, err);
	if (r == 0)
		r = attach_add(host, attachment, order, err);
	if (r == 0)
		*ret_attachment = rh_take(attachment);
	return r;
}

void rh_host_attachment_free(struct rh_host_attachment *attachment)
{
	if (!attachment)
		return;
	for (size_t i = 0; i < attachment->count; i++)
		rh_loop_remove(attachment->loop, attachment->sources[i]);
	rh_loop_unwatch(attachment->watch);
	rh_free(attachment->sources);
	rh_free(attachment);
}
