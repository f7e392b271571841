/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/trace/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/core/error.h"

#define PATH_ROOM 4096

static struct rh_comm_trace_clock ring_clock(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (struct rh_comm_trace_clock){rh_comm_trace_ticks(), (int64_t)now.tv_sec * 1000000000 + now.tv_nsec};
}

/* The file of an earlier attempt goes away; a link in its place is not followed. @return descriptor or -1 */
static int ring_create(const char *path, size_t length)
{
	int fd = unlink(path) < 0 && errno != ENOENT ? -1 : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -1;
	/* a full file system is found out now, not by a page fault later */
	r = posix_fallocate(fd, 0, (off_t)length);
	if (r == 0)
		return fd;
	(void)close(fd);
	(void)unlink(path);
	errno = r;
	return -1;
}

static int32_t ring_map_file(const struct rh_comm_trace_origin *origin, struct rh_comm_trace *trace,
                             struct rh_comm_error *err)
{
	char path[PATH_ROOM];
	char words[100];
	int length = snprintf(path, sizeof(path), "%s/" RH_COMM_TRACE_NAME, origin->folder, (int)origin->rank);
	void *at = MAP_FAILED;
	int fd = -1;
	int number;

	errno = ENAMETOOLONG;
	if (length > 0 && (size_t)length < sizeof(path))
		fd = ring_create(path, trace->length);
	if (fd >= 0)
		at = mmap(NULL, trace->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	number = errno;
	if (fd >= 0)
		(void)close(fd);
	if (at == MAP_FAILED) {
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "RH_COMM_TRACE: create \"%.300s\": %s", path,
		                    strerror_r(number, words, sizeof(words)));
	}
	trace->head = at;
	return 0;
}

static int32_t ring_map_private(struct rh_comm_trace *trace, struct rh_comm_error *err)
{
	void *at = mmap(NULL, trace->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	trace->head = at;
	return 0;
}

/* Who reads a file without the magic knows that it is not complete. */
static void ring_fill_head(const struct rh_comm_trace_origin *origin, bool file, struct rh_comm_trace_head *head)
{
	head->head_bytes = sizeof(*head);
	head->group_bytes = file ? RH_COMM_TRACE_GROUP_BYTES : 0;
	head->entry_bytes = sizeof(struct rh_comm_trace_entry);
	head->entry_count = file ? RH_COMM_TRACE_ENTRIES : RH_COMM_TRACE_ENTRIES_PRIVATE;
	head->rank = origin->rank;
	head->world = origin->world;
	head->process = getpid();
	head->clocks[0] = ring_clock();
	if (gethostname(head->host, sizeof(head->host)) < 0)
		head->host[0] = '\0';
	head->host[sizeof(head->host) - 1] = '\0';
	(void)snprintf(head->job, sizeof(head->job), "%.63s", origin->job);
	memcpy(head->magic, RH_COMM_TRACE_MAGIC, sizeof(head->magic));
}

int32_t rh_comm_trace_open(const struct rh_comm_trace_origin *origin, struct rh_comm_trace *ret_trace,
                           struct rh_comm_error *err)
{
	bool file = origin->folder[0] != '\0';
	size_t groups = file ? RH_COMM_TRACE_GROUP_BYTES : 0;
	size_t count = file ? RH_COMM_TRACE_ENTRIES : RH_COMM_TRACE_ENTRIES_PRIVATE;
	struct rh_comm_trace trace = {.mask = count - 1};
	int32_t r;

	trace.length = sizeof(*trace.head) + groups + count * sizeof(*trace.entries);
	r = file ? ring_map_file(origin, &trace, err) : ring_map_private(&trace, err);
	if (r < 0)
		return r;
	trace.entries = (void *)((char *)(trace.head + 1) + groups);
	ring_fill_head(origin, file, trace.head);
	*ret_trace = trace;
	return 0;
}

void rh_comm_trace_close(struct rh_comm_trace *trace)
{
	if (!trace->head)
		return;
	rh_comm_trace_note_time(trace);
	atomic_store_explicit(&trace->head->left, 1, memory_order_relaxed);
	(void)munmap(trace->head, trace->length);
	*trace = (struct rh_comm_trace){.length = 0};
}

void rh_comm_trace_add_group(struct rh_comm_trace *trace, uint64_t name, const int32_t *ranks, int32_t size)
{
	uint32_t used = atomic_load_explicit(&trace->head->groups_used, memory_order_relaxed);
	struct rh_comm_trace_group *group = (void *)((char *)(trace->head + 1) + used);
	size_t left = trace->head->group_bytes - used;
	size_t room = (size_t)size * sizeof(*ranks);
	bool fits = sizeof(*group) + room <= left;

	if (left < sizeof(*group))
		return;
	*group = (struct rh_comm_trace_group){.name = name, .size = size, .listed = fits ? size : 0};
	if (fits)
		memcpy(group + 1, ranks, room);
	room = fits ? (room + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t) : 0;
	atomic_store_explicit(&trace->head->groups_used, used + (uint32_t)(sizeof(*group) + room), memory_order_release);
}

void rh_comm_trace_note_time(struct rh_comm_trace *trace)
{
	uint32_t next = atomic_load_explicit(&trace->head->clock, memory_order_relaxed) == 1 ? 2 : 1;

	trace->head->clocks[next] = ring_clock();
	atomic_store_explicit(&trace->head->clock, next, memory_order_release);
}

static uint32_t ring_millionths(double part)
{
	return part > 0 ? (uint32_t)((part < 1 ? part : 1) * 1000000) : 0;
}

void rh_comm_trace_note_pace(struct rh_comm_trace *trace, const struct rh_comm_pace *pace)
{
	struct rh_comm_trace_head *head = trace->head;

	atomic_store_explicit(&head->pace_late, pace->late, memory_order_relaxed);
	atomic_store_explicit(&head->pace_share, ring_millionths(pace->share), memory_order_relaxed);
	atomic_store_explicit(&head->pace_transfer, ring_millionths(pace->transfer), memory_order_relaxed);
	atomic_store_explicit(&head->pace_rounds, (uint32_t)pace->rounds, memory_order_release);
}

int64_t rh_comm_trace_since(const struct rh_comm_trace *trace, int64_t ticks)
{
	const struct rh_comm_trace_clock *first = &trace->head->clocks[0];
	struct rh_comm_trace_clock now = ring_clock();

	if (now.ticks <= first->ticks || now.time <= first->time || ticks > now.ticks)
		return 0;
	return (int64_t)((double)(now.ticks - ticks) / (double)(now.ticks - first->ticks) *
	                 (double)(now.time - first->time) / 1000);
}
