/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/native/segment.h"

/* Equal places in the slots of different ranks must not fall on the same cache set, as powers of two would. */
#define SKEW 4352
#define NAME_ROOM 64

static size_t segment_rank_bytes(const struct native_segment *segment)
{
	return sizeof(struct native_progress) + 2 * (NATIVE_FLAT_MAX + NATIVE_LINE) + NATIVE_SLOTS * segment->slot + SKEW;
}

/* Of each chunk every rank has a part: few ranks have long ones, many ranks need more memory. */
static size_t segment_slot_bytes(int32_t world)
{
	size_t bytes = NATIVE_SLOT_MAX;

	while (bytes > NATIVE_SLOT_MIN && bytes * (size_t)world > NATIVE_SLOT_ROW)
		bytes /= 2;
	return bytes;
}

/* A ring for each pair: many ranks have small ones. */
static size_t segment_ring_bytes(int32_t world)
{
	size_t bytes = NATIVE_RING_MAX;

	while (bytes > NATIVE_RING_MIN && bytes * (size_t)world * (size_t)world > NATIVE_RINGS)
		bytes /= 2;
	return bytes;
}

static size_t segment_bytes(const struct native_segment *segment)
{
	size_t world = (size_t)segment->world;

	if (segment->ring == 0)
		return world * segment_rank_bytes(segment);
	return world * segment_rank_bytes(segment) + world * world * (sizeof(struct native_ring) + segment->ring);
}

static char *segment_rank(const struct native_segment *segment, int32_t rank)
{
	return (char *)segment->base + (size_t)rank * segment_rank_bytes(segment);
}

struct native_progress *native_segment_progress(const struct native_segment *segment, int32_t rank)
{
	return (struct native_progress *)(void *)segment_rank(segment, rank);
}

char *native_segment_flat(const struct native_segment *segment, int32_t rank, uint64_t number)
{
	return segment_rank(segment, rank) + sizeof(struct native_progress) +
	       (number % 2) * (NATIVE_FLAT_MAX + NATIVE_LINE);
}

char *native_segment_slot(const struct native_segment *segment, int32_t rank, uint64_t number)
{
	return segment_rank(segment, rank) + sizeof(struct native_progress) + 2 * (NATIVE_FLAT_MAX + NATIVE_LINE) +
	       (number % NATIVE_SLOTS) * segment->slot;
}

struct native_ring *native_segment_ring(const struct native_segment *segment, int32_t from, int32_t to)
{
	size_t number = (size_t)from * (size_t)segment->world + (size_t)to;

	return (void *)(segment_rank(segment, segment->world) + number * (sizeof(struct native_ring) + segment->ring));
}

static int32_t segment_fail(const struct rh_comm_team *team, const char *what)
{
	char words[100];
	char text[200];

	(void)snprintf(text, sizeof(text), "%s: %s (is the memory limit too low? set RH_COMM_SHM=off to do without it)",
	               what, strerror_r(errno, words, sizeof(words)));
	return team->fail(team->core, RH_COMM_EIO, RH_COMM_NO_RANK, text);
}

/* The first rank of each host, by which the others find its segment. */
static int32_t segment_leader(const struct rh_comm_team *team)
{
	int32_t rank = 0;

	while (team->hosts[rank] != team->hosts[team->rank])
		rank++;
	return rank;
}

/*
 * It has no name, so that a killed process leaves nothing behind. posix_fallocate finds out now what a page
 * fault would report with SIGBUS later. @return descriptor or -1
 */
static int segment_create(size_t length)
{
	int fd = memfd_create("rh_comm", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -1;
	r = posix_fallocate(fd, 0, (off_t)length);
	if (r == 0)
		return fd;
	(void)close(fd);
	errno = r;
	return -1;
}

static int32_t segment_map(const struct rh_comm_team *team, int fd, struct native_segment *segment)
{
	segment->base = fd < 0 ? MAP_FAILED : mmap(NULL, segment->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (segment->base != MAP_FAILED)
		return 0;
	segment->base = NULL;
	return segment_fail(team, "shared memory");
}

/* The leader publishes its descriptor, and keeps it open until all have mapped the memory. */
static int32_t segment_lead(const struct rh_comm_team *team, struct native_segment *segment)
{
	int fd = segment_create(segment->length);
	int32_t r = segment_map(team, fd, segment);
	char name[NAME_ROOM];
	char key[32];
	int64_t n;
	char ack;

	(void)snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)getpid(), fd);
	(void)snprintf(key, sizeof(key), "shm/%d", (int)team->rank);
	if (r == 0)
		r = team->put(team->core, key, name, strlen(name) + 1);
	for (int32_t rank = 0; rank < team->world && r == 0; rank++) {
		if (rank == team->rank || team->hosts[rank] != team->hosts[team->rank])
			continue;
		(void)snprintf(key, sizeof(key), "shm-mapped/%d", (int)rank);
		n = team->get(team->core, key, &ack, 1);
		r = n < 0 ? (int32_t)n : 0;
	}
	if (fd >= 0)
		(void)close(fd);
	return r;
}

static int32_t segment_follow(const struct rh_comm_team *team, int32_t leader, struct native_segment *segment)
{
	char name[NAME_ROOM];
	char key[32];
	int64_t n;
	int32_t r;
	int fd;

	(void)snprintf(key, sizeof(key), "shm/%d", (int)leader);
	n = team->get(team->core, key, name, sizeof(name));
	if (n < 1)
		return n < 0 ? (int32_t)n : RH_COMM_EIO;
	name[n - 1] = '\0';
	fd = open(name, O_RDWR | O_CLOEXEC);
	r = segment_map(team, fd, segment);
	if (fd >= 0)
		(void)close(fd);
	(void)snprintf(key, sizeof(key), "shm-mapped/%d", (int)team->rank);
	return r == 0 ? team->put(team->core, key, "", 1) : r;
}

int32_t native_segment_open(const struct rh_comm_team *team, bool rings, struct native_segment *ret_segment)
{
	struct native_segment segment = {.slot = segment_slot_bytes(team->local_world),
	                                 .ring = rings ? segment_ring_bytes(team->local_world) : 0,
	                                 .world = team->local_world,
	                                 .rank = team->local_rank};
	int32_t leader = segment_leader(team);
	int32_t r;

	segment.length = segment_bytes(&segment);
	r = leader == team->rank ? segment_lead(team, &segment) : segment_follow(team, leader, &segment);
	if (r < 0)
		native_segment_close(&segment);
	else
		*ret_segment = segment;
	return r;
}

void native_segment_close(struct native_segment *segment)
{
	if (segment->base)
		(void)munmap(segment->base, segment->length);
	segment->base = NULL;
}
