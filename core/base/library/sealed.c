/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALED_FOLDER "/proc/self/fd/"
#define SEALED_BLOCK 65536

static int sealed_write(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t written = write(fd, bytes, length);

		if (written < 0 && errno != EINTR)
			return -1;
		if (written > 0) {
			bytes += written;
			length -= (size_t)written;
		}
	}
	return 0;
}

/* @return 0; -1: errno says why */
static int sealed_fill(int from, int to, size_t limit)
{
	char block[SEALED_BLOCK];
	off_t at = 0;
	ssize_t length;

	while ((length = pread(from, block, sizeof(block), at)) != 0) {
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0 || sealed_write(to, block, (size_t)length) < 0)
			return -1;
		at += length;
		if ((size_t)at > limit) {
			errno = EFBIG;
			return -1;
		}
	}
	return fcntl(to, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
}

int rh_sealed_copy(int fd, const char *name, size_t limit, char *ret_why, size_t room)
{
	int copy = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (copy >= 0 && sealed_fill(fd, copy, limit) == 0)
		return copy;
	(void)snprintf(ret_why, room, "cannot copy it into memory to check it: %s", strerror(errno));
	if (copy >= 0)
		(void)close(copy);
	return -1;
}

void rh_sealed_name(int fd, char ret_name[RH_SEALED_NAME_SIZE])
{
	(void)snprintf(ret_name, RH_SEALED_NAME_SIZE, SEALED_FOLDER "%d", fd);
}

int rh_sealed_descriptor(const char *name)
{
	size_t length = strlen(SEALED_FOLDER);
	char *end;
	long fd;

	if (!name || strncmp(name, SEALED_FOLDER, length) != 0 || name[length] < '0' || name[length] > '9')
		return -1;
	fd = strtol(name + length, &end, 10);
	return *end || fd > INT_MAX ? -1 : (int)fd;
}
