/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/notify.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* A file that is written counts when it is closed: before that it is half a file. */
#define NOTIFY_EVENTS \
	(IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_ATTRIB | IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF)
/* Bytes of events that are read at a time; what changed is not looked at. */
#define NOTIFY_CHUNK 4096

struct rh_notify {
	int fd;
	struct rh_loop_watch *watch;
	rh_notify_fn *fn;
	void *arg;
};

static void notify_on_ready(void *arg)
{
	const struct rh_notify *notify = arg;
	_Alignas(struct inotify_event) char chunk[NOTIFY_CHUNK];
	bool any = false;

	while (read(notify->fd, chunk, sizeof(chunk)) > 0)
		any = true;
	if (any)
		notify->fn(notify->arg);
}

int rh_notify_new(struct rh_loop *loop, rh_notify_fn *fn, void *arg, struct rh_notify **ret_notify,
                  struct rh_error *err)
{
	rh_auto(notify) notify = rh_alloc(sizeof(*notify));
	int r;

	if (!notify)
		return rh_fail_oom(err);
	*notify = (struct rh_notify){.fn = fn, .arg = arg};
	notify->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (notify->fd < 0)
		return rh_fail(err, RH_EIO, "cannot watch folders: %s%s", strerror(errno),
		               errno == EMFILE ? "; raise fs.inotify.max_user_instances" : "");
	r = rh_loop_watch(loop, notify->fd, notify_on_ready, notify, &notify->watch, err);
	if (r == 0)
		*ret_notify = rh_take(notify);
	return r;
}

int rh_notify_add(struct rh_notify *notify, const char *folder, struct rh_error *err)
{
	if (inotify_add_watch(notify->fd, folder, NOTIFY_EVENTS | IN_ONLYDIR) >= 0)
		return 0;
	return rh_fail(err, errno == ENOENT || errno == ENOTDIR ? RH_ENOENT : RH_EIO, "cannot watch the folder \"%s\": %s",
	               folder, strerror(errno));
}

void rh_notify_free(struct rh_notify *notify)
{
	if (!notify)
		return;
	rh_loop_unwatch(notify->watch);
	if (notify->fd >= 0)
		(void)close(notify->fd);
	rh_free(notify);
}
