/* SPDX-License-Identifier: Apache-2.0 */
#include "local/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/os/file.h"

/* The folder by its descriptor: the room for a socket's path is small. @return -1: nobody listens */
static int control_connect(const char *run_dir)
{
	rh_auto_close int folder = open(run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = folder < 0 ? -1 : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" RH_CONTROL_SOCKET, folder);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

static int control_send(int fd, const char *word, const struct rh_control_stop *stop, struct rh_error *err)
{
	char text[RH_CONTROL_MAX];
	int length = snprintf(text, sizeof(text), "%s %s/%s", word, stop->namespace_, stop->job);

	if (length >= (int)sizeof(text) || send(fd, text, (size_t)length, MSG_NOSIGNAL) < 0)
		return rh_fail(err, RH_EIO, "cannot reach the run: %s", strerror(errno));
	return 0;
}

bool rh_control_wait(int fd, int64_t patience)
{
	int64_t until = patience == RH_NEVER ? RH_NEVER : rh_clock_monotonic() + patience;
	struct pollfd poll_ = {.fd = fd, .events = POLLIN};

	for (;;) {
		int64_t rest = until == RH_NEVER ? 0 : until - rh_clock_monotonic();
		struct timespec timeout = {.tv_sec = rest > 0 ? rest / RH_SECOND : 0,
		                           .tv_nsec = rest > 0 ? rest % RH_SECOND * 1000 : 0};
		int ready = ppoll(&poll_, 1, until == RH_NEVER ? NULL : &timeout, NULL);

		if (ready > 0 || (ready < 0 && errno != EINTR))
			return true;
		if (ready == 0)
			return false;
	}
}

int rh_control_stop(const struct rh_control_stop *stop, struct rh_error *err)
{
	rh_auto_close int fd = control_connect(stop->run_dir);
	int r;

	if (fd < 0)
		return rh_fail(err, RH_ENOENT, "the run does not take orders for one job; stop the whole run");
	r = control_send(fd, RH_CONTROL_STOP, stop, err);
	if (r < 0 || !stop->wait || rh_control_wait(fd, stop->patience))
		return r;
	(void)control_send(fd, RH_CONTROL_KILL, stop, NULL); /* it fails where the job has just ended */
	(void)rh_control_wait(fd, RH_NEVER);
	return 0;
}
