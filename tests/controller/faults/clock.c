/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program, this sets its clocks: the file that $RH_TEST_CLOCK names says in two decimal numbers by how
 * many seconds the wall clock differs from the machine's, and how long the machine has slept.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The libc's declarations say that their arguments are never NULL, and those of time() and gettimeofday() may be. */
#pragma GCC diagnostic ignored "-Wnonnull-compare"

/* Nothing is kept between calls: several threads ask. */
static void clock_offsets(int64_t *ret_wall, int64_t *ret_asleep)
{
	const char *path = getenv("RH_TEST_CLOCK");
	char text[64] = "";
	char *rest = text;
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	*ret_wall = strtoll(text, &rest, 10);
	*ret_asleep = strtoll(rest, NULL, 10);
}

/* The libc's own names of parameters are reserved. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *now)
{
	int64_t wall = 0;
	int64_t asleep = 0;

	if (syscall(SYS_clock_gettime, id, now) < 0)
		return -1;
	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_BOOTTIME)
		clock_offsets(&wall, &asleep);
	now->tv_sec += (time_t)(id == CLOCK_BOOTTIME ? asleep : wall);
	return 0;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec spec = {0};

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &spec);
	*now = (struct timeval){spec.tv_sec, (suseconds_t)(spec.tv_nsec / 1000)};
	return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *ret_time)
{
	struct timespec spec = {0};

	(void)clock_gettime(CLOCK_REALTIME, &spec);
	if (ret_time)
		*ret_time = spec.tv_sec;
	return spec.tv_sec;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
