/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/server/durable/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/error.h"
#include "comm/ps/server/durable/image.h"

/* Damaged logs are searched in pieces of this. */
#define PIECE 1048576

/* A log that is being read. */
struct replay {
	const char *name;
	int fd;
	FILE *file;
	uint64_t length;  /* of the file */
	uint64_t at;      /* the first byte that was not taken */
	uint8_t *payload; /* room for one */
};

/* Content at some offset. */
enum replay_find {
	REPLAY_RECORD,
	REPLAY_SHORT,   /* the file ends before the record does */
	REPLAY_DAMAGED, /* it was never written so */
	REPLAY_UNREAD   /* errno has the reason */
};

uint64_t rh_ps_replay_sum(const struct rh_ps_head *head, const uint8_t *payload)
{
	struct rh_ps_head plain = *head;

	plain.reserved = 0;
	return rh_ps_sum(rh_ps_sum(1, &plain, sizeof(plain)), payload, head->length);
}

/* Records of a log have the length that their kind gives them, so that one whose length is damaged is not taken for
 * the last one, cut off. */
static bool replay_head_is_sane(const struct rh_ps_head *head)
{
	switch (head->kind) {
	case RH_PS_REC_SESSION:
	case RH_PS_REC_LEAVE:
		return head->length == 0;
	case RH_PS_REC_RATE:
		return head->length == sizeof(double);
	case RH_PS_REC_INIT:
		return head->bytes <= RH_PS_PART_MAX && head->length == (head->flags & RH_PS_ZEROS ? 0 : head->bytes);
	case RH_PS_REC_PUSH:
	case RH_PS_REC_PUSH_PULL:
		return head->bytes <= RH_PS_PART_MAX && head->length == head->bytes;
	case RH_PS_REC_PUSH_ROWS:
	case RH_PS_REC_PUSH_PULL_ROWS:
		return head->length <= RH_PS_PART_MAX && head->length == rh_ps_rows_length(head, rh_comm_type_size(head->type));
	default:
		return false;
	}
}

/* Read the record at `at`, the position of the file. */
static enum replay_find replay_next(const struct replay *replay, struct rh_ps_head *ret_head)
{
	uint64_t left = replay->length - replay->at;

	errno = 0;
	if (left < sizeof(*ret_head))
		return REPLAY_SHORT;
	if (fread(ret_head, sizeof(*ret_head), 1, replay->file) != 1)
		return REPLAY_UNREAD;
	if (!replay_head_is_sane(ret_head))
		return REPLAY_DAMAGED;
	if (left - sizeof(*ret_head) < ret_head->length)
		return REPLAY_SHORT;
	if (ret_head->length > 0 && fread(replay->payload, ret_head->length, 1, replay->file) != 1)
		return REPLAY_UNREAD;
	return ret_head->reserved == rh_ps_replay_sum(ret_head, replay->payload) ? REPLAY_RECORD : REPLAY_DAMAGED;
}

/* @return whether a whole record is at `at`, whose first bytes are at `data` */
static bool replay_is_record(const struct replay *replay, uint64_t at, const uint8_t *data)
{
	struct rh_ps_head head;

	memcpy(&head, data, sizeof(head));
	if (!replay_head_is_sane(&head) || replay->length - at - sizeof(head) < head.length)
		return false;
	if (pread(replay->fd, replay->payload, head.length, (off_t)(at + sizeof(head))) != (ssize_t)head.length)
		return false;
	return head.reserved == rh_ps_replay_sum(&head, replay->payload);
}

/* @return 1: there is a whole record somewhere after the offset where the reading ended; 0: none; RH_COMM_ENOMEM */
static int32_t replay_goes_on(const struct replay *replay)
{
	uint8_t *piece = malloc(PIECE);
	int32_t r = 0;

	if (!piece)
		return RH_COMM_ENOMEM;
	for (uint64_t from = replay->at + 1; r == 0 && from < replay->length; from += PIECE - sizeof(struct rh_ps_head)) {
		ssize_t n = pread(replay->fd, piece, PIECE, (off_t)from);

		for (size_t i = 0; r == 0 && n > 0 && i + sizeof(struct rh_ps_head) <= (size_t)n; i++)
			r = replay_is_record(replay, from + i, piece + i);
	}
	free(piece);
	return r;
}

static int32_t replay_take(const struct replay *replay, struct rh_ps_store *store, const struct rh_ps_head *head,
                           struct rh_comm_error *err)
{
	struct rh_ps_entry *entry = NULL;
	int32_t r = rh_ps_store_check(store, head, replay->payload, err);

	if (r > 0)
		r = rh_ps_store_take(store, head, replay->payload, &entry, err);
	while (r == 0 && entry && rh_ps_store_settle(store, entry))
		;
	return r;
}

static int32_t replay_fail(const struct replay *replay, struct rh_comm_error *err)
{
	char text[200];

	/* it has become shorter under our hands */
	if (errno == 0)
		errno = EIO;
	(void)snprintf(text, sizeof(text), "parameter server: read %s", replay->name);
	return rh_comm_fail_os(err, errno, text);
}

/* The reading ended before the file did: find out whether a killed process leaves such a log. */
static int32_t replay_judge(const struct replay *replay, enum replay_find found, struct rh_comm_error *err)
{
	int32_t r = found == REPLAY_SHORT ? replay_goes_on(replay) : 1;

	if (found == REPLAY_UNREAD)
		return replay_fail(replay, err);
	if (r < 0)
		return rh_comm_fail(err, r, RH_COMM_NO_RANK, "out of memory");
	if (r == 0)
		return 0;
	return rh_comm_fail(err, RH_COMM_EIO, RH_COMM_NO_RANK,
	                    "parameter server: %s is damaged at byte %llu of %llu: bring back a copy of the folder, or cut "
	                    "the file off there, and what was pushed after that is lost",
	                    replay->name, (unsigned long long)replay->at, (unsigned long long)replay->length);
}

static int32_t replay_all(struct replay *replay, struct rh_ps_store *store, struct rh_comm_error *err)
{
	while (replay->at < replay->length) {
		struct rh_ps_head head;
		enum replay_find found = replay_next(replay, &head);
		int32_t r;

		if (found != REPLAY_RECORD)
			return replay_judge(replay, found, err);
		r = replay_take(replay, store, &head, err);
		if (r < 0)
			return r;
		replay->at += sizeof(head) + head.length;
	}
	return 0;
}

static int32_t replay_open(struct replay *replay, struct rh_comm_error *err)
{
	struct stat status;
	int own;

	replay->payload = aligned_alloc(RH_PS_ALIGN, RH_PS_PART_MAX);
	if (!replay->payload)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	own = fcntl(replay->fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0 || fstat(own, &status) < 0 || !(replay->file = fdopen(own, "r"))) {
		int32_t r = replay_fail(replay, err);

		if (own >= 0)
			(void)close(own);
		return r;
	}
	replay->length = (uint64_t)status.st_size;
	return 0;
}

int32_t rh_ps_replay(int fd, const char *name, struct rh_ps_store *store, uint64_t *ret_length,
                     struct rh_comm_error *err)
{
	struct replay replay = {.name = name, .fd = fd};
	int32_t r = replay_open(&replay, err);

	if (r == 0)
		r = replay_all(&replay, store, err);
	if (replay.file)
		(void)fclose(replay.file);
	free(replay.payload);
	if (r == 0)
		*ret_length = replay.at;
	return r;
}
