/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "local/shim.h"

/* The size of a pipe: what one read can bring. */
#define OUTPUT_CHUNK 65536
/* At the end a foreign process may hold the pipe and write without end: limit of what is read then. */
#define OUTPUT_REST_MAX (16 * 1024 * 1024)

static void output_fail(struct rh_shim_output *output, int error, struct rh_error *note)
{
	if (!output->failed)
		rh_fail(note, RH_EIO, "cannot write the log \"%s\" of container \"%s\": %s; output is lost", output->path,
		        output->container, strerror(error));
	output->failed = true;
}

static void output_shut(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* Another file type may be at the log's path: a pipe would make the open wait for a reader. */
static void output_open_log(struct rh_shim_output *output, struct rh_error *note)
{
	struct stat st;

	output->log = open(output->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (output->log < 0) {
		output_fail(output, errno, note);
	} else if (fstat(output->log, &st) < 0 || !S_ISREG(st.st_mode)) {
		output_shut(&output->log);
		output_fail(output, EINVAL, note);
	} else {
		output->begin = (int64_t)st.st_size;
		output->end = output->begin;
	}
}

/* The master stays open for the next start of the container; whoever made it made it non-blocking. */
static int output_open_terminal(int ends[2])
{
	ends[0] = fcntl(RH_SHIM_TERMINAL_FD, F_DUPFD_CLOEXEC, 0);
	ends[1] = ends[0] < 0 ? -1 : ioctl(ends[0], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ends[1] >= 0)
		return 0;
	output_shut(&ends[0]);
	return -1;
}

static int output_open_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	/* the container's own end stays as programs expect it: blocking */
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	return 0;
}

int rh_shim_output_open(struct rh_shim_output *output, int *ret_end, struct rh_error *note, struct rh_error *err)
{
	int ends[2];

	if ((output->terminal ? output_open_terminal(ends) : output_open_pipe(ends)) < 0)
		return rh_fail(err, RH_EIO, "no pipe for the output of container \"%s\": %s", output->container,
		               strerror(errno));
	output->pipe = ends[0];
	output_open_log(output, note);
	*ret_end = ends[1];
	return 0;
}

static void output_write(struct rh_shim_output *output, const char *bytes, size_t length, struct rh_error *note)
{
	while (output->log >= 0 && length > 0) {
		ssize_t n = write(output->log, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			output_fail(output, n < 0 ? errno : ENOSPC, note);
			return;
		}
		bytes += n;
		length -= (size_t)n;
		output->end += (int64_t)n;
	}
}

int rh_shim_output_move(struct rh_shim_output *output, int budget, struct rh_error *note)
{
	char chunk[OUTPUT_CHUNK];
	int moved = 0;

	while (output->pipe >= 0 && moved < budget) {
		ssize_t n = read(output->pipe, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EIO) /* of a terminal: nobody has the other end open */
			n = 0;
		if (n < 0)
			return moved;
		if (n == 0)
			output_shut(&output->pipe);
		output_write(output, chunk, (size_t)n, note);
		moved += (int)n;
	}
	return output->pipe < 0 && moved == 0 ? -1 : moved;
}

bool rh_shim_output_close(struct rh_shim_output *output, struct rh_error *note)
{
	bool some = rh_shim_output_move(output, OUTPUT_REST_MAX, note) > 0;

	output_shut(&output->pipe);
	output_shut(&output->log);
	return some;
}
