/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/server/durable/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "comm/core/error.h"
#include "comm/ps/server/durable/image.h"
#include "comm/ps/server/durable/replay.h"

#define NAME_MAX_LENGTH 64
/* Small records are collected up to this. */
#define BUFFER_BYTES 262144

struct rh_ps_journal {
	struct rh_ps_journal_plan plan;
	int folder;
	int lock;
	int log;
	uint64_t generation; /* 0: none yet */
	uint64_t length;     /* of the log */
	uint8_t *buffer;     /* what is not in the log yet */
	size_t used;
	bool dirty;  /* the disk may lack something */
	bool broken; /* nothing more can be kept */
};

static void journal_name(const struct rh_ps_journal *journal, const char *kind, uint64_t generation, char *ret_name)
{
	(void)snprintf(ret_name, NAME_MAX_LENGTH, "%s-%d.%llu", kind, (int)journal->plan.config.index,
	               (unsigned long long)generation);
}

static int32_t journal_fail(struct rh_ps_journal *journal, int number, const char *what, struct rh_comm_error *err)
{
	char text[300];

	journal->broken = true;
	(void)snprintf(text, sizeof(text), "parameter server: %s in %s", what, journal->plan.folder);
	return rh_comm_fail_os(err, number, text);
}

static int32_t journal_is_broken(const struct rh_ps_journal *journal, struct rh_comm_error *err)
{
	return rh_comm_fail(err, RH_COMM_EIO, RH_COMM_NO_RANK, "the folder %s cannot be written", journal->plan.folder);
}

/* @return whether all was written; else errno */
static bool journal_write(struct rh_ps_journal *journal, struct iovec *parts, int count)
{
	while (count > 0) {
		ssize_t n = writev(journal->log, parts, count);

		if (n < 0 && errno != EINTR)
			return false;
		for (size_t left = n > 0 ? (size_t)n : 0; count > 0; parts++, count--) {
			if (left < parts->iov_len) {
				parts->iov_base = (uint8_t *)parts->iov_base + left;
				parts->iov_len -= left;
				break;
			}
			left -= parts->iov_len;
		}
	}
	return true;
}

/* Write the buffer, then one record if there is one. */
static int32_t journal_flush(struct rh_ps_journal *journal, const struct rh_ps_head *head, const uint8_t *payload,
                             struct rh_comm_error *err)
{
	union {
		const void *from;
		void *base;
	} parts[2] = {{.from = head}, {.from = payload}};
	struct iovec vector[3] = {{journal->buffer, journal->used},
	                          {parts[0].base, head ? sizeof(*head) : 0},
	                          {parts[1].base, head ? head->length : 0}};

	if (!journal_write(journal, vector, head ? 3 : 1))
		return journal_fail(journal, errno, "write the log", err);
	journal->used = 0;
	return 0;
}

int32_t rh_ps_journal_add(struct rh_ps_journal *journal, const struct rh_ps_head *head, const uint8_t *payload,
                          struct rh_comm_error *err)
{
	struct rh_ps_head record = *head;
	size_t whole = sizeof(record) + head->length;

	if (journal->broken)
		return journal_is_broken(journal, err);
	record.reserved = rh_ps_replay_sum(head, payload);
	journal->length += whole;
	journal->dirty = true;
	if (journal->used + whole > BUFFER_BYTES)
		return journal_flush(journal, &record, payload, err);
	memcpy(journal->buffer + journal->used, &record, sizeof(record));
	if (head->length > 0)
		memcpy(journal->buffer + journal->used + sizeof(record), payload, head->length);
	journal->used += whole;
	return 0;
}

int32_t rh_ps_journal_commit(struct rh_ps_journal *journal, struct rh_comm_error *err)
{
	int32_t r;

	/* a partly written buffer must not be written again after its first part */
	if (journal->broken)
		return journal_is_broken(journal, err);
	r = journal->used > 0 ? journal_flush(journal, NULL, NULL, err) : 0;
	if (r == 0 && journal->plan.synced && journal->dirty && fdatasync(journal->log) < 0)
		r = journal_fail(journal, errno, "bring the log to the disk", err);
	journal->dirty = journal->dirty && !journal->plan.synced;
	return r;
}

bool rh_ps_journal_is_long(const struct rh_ps_journal *journal, const struct rh_ps_store *store)
{
	return journal->length > journal->plan.bytes && journal->length > store->value_bytes;
}

/* @param flags O_CREAT | O_TRUNC: a new one; 0: one that must be there */
static int32_t journal_open_log(struct rh_ps_journal *journal, uint64_t generation, int flags,
                                struct rh_comm_error *err)
{
	char name[NAME_MAX_LENGTH];
	char what[NAME_MAX_LENGTH + 16];
	int fd;

	journal_name(journal, "log", generation, name);
	(void)snprintf(what, sizeof(what), "open %s", name);
	fd = openat(journal->folder, name, flags | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return journal_fail(journal, errno, what, err);
	if (journal->log >= 0)
		(void)close(journal->log);
	journal->log = fd;
	journal->generation = generation;
	return 0;
}

static void journal_remove(const struct rh_ps_journal *journal, uint64_t generation)
{
	char name[NAME_MAX_LENGTH];

	journal_name(journal, "state", generation, name);
	(void)unlinkat(journal->folder, name, 0);
	journal_name(journal, "log", generation, name);
	(void)unlinkat(journal->folder, name, 0);
}

int32_t rh_ps_journal_renew(struct rh_ps_journal *journal, const struct rh_ps_store *store, struct rh_comm_error *err)
{
	uint64_t old = journal->generation;
	char name[NAME_MAX_LENGTH];
	int32_t r;

	if (journal->broken)
		return journal_is_broken(journal, err);
	/* the log is created first: an image without a log has lost it. A file of that name from an earlier run is not
	 * needed */
	r = journal_open_log(journal, old + 1, O_CREAT | O_TRUNC, err);
	journal_name(journal, "state", old + 1, name);
	if (r == 0)
		r = rh_ps_image_write(store, journal->folder, name, err);
	if (r < 0) {
		journal->broken = true;
		return r;
	}
	/* the image holds what the buffer was to bring */
	journal->used = 0;
	journal->length = 0;
	journal->dirty = false;
	if (old > 0)
		journal_remove(journal, old);
	return 0;
}

/* The highest generation of which there is an image. @return 0: none */
static int32_t journal_find(const struct rh_ps_journal *journal, uint64_t *ret_generation, struct rh_comm_error *err)
{
	char prefix[NAME_MAX_LENGTH];
	DIR *listing = opendir(journal->plan.folder);
	const struct dirent *file;
	size_t length;

	if (!listing)
		return rh_comm_fail_os(err, errno, journal->plan.folder);
	(void)snprintf(prefix, sizeof(prefix), "state-%d.", (int)journal->plan.config.index);
	length = strlen(prefix);
	*ret_generation = 0;
	while ((file = readdir(listing))) {
		char *end = NULL;
		uint64_t number;

		if (strncmp(file->d_name, prefix, length) != 0)
			continue;
		number = strtoull(file->d_name + length, &end, 10);
		if (*end == '\0' && number > *ret_generation)
			*ret_generation = number;
	}
	(void)closedir(listing);
	return 0;
}

static int32_t journal_replay(struct rh_ps_journal *journal, struct rh_ps_store *store, struct rh_comm_error *err)
{
	char name[NAME_MAX_LENGTH];
	int32_t r;

	journal_name(journal, "log", journal->generation, name);
	r = rh_ps_replay(journal->log, name, store, &journal->length, err);
	if (r < 0)
		return r;
	/* a torn end was never answered for; what is whole may not be on the disk yet, but is about to be answered for */
	if (ftruncate(journal->log, (off_t)journal->length) < 0)
		return journal_fail(journal, errno, "cut the log", err);
	journal->dirty = true;
	return 0;
}

/* Bring back what is there, or begin. */
static int32_t journal_restore(struct rh_ps_journal *journal, struct rh_ps_store **ret_store, struct rh_comm_error *err)
{
	const struct rh_ps_journal_plan *plan = &journal->plan;
	struct rh_ps_store *store = NULL;
	char name[NAME_MAX_LENGTH];
	uint64_t generation = 0;
	int32_t r = journal_find(journal, &generation, err);

	if (r == 0 && generation > 0) {
		journal_name(journal, "state", generation, name);
		r = rh_ps_image_read(journal->folder, name, &plan->config, &store, err);
		if (r == 0)
			r = journal_open_log(journal, generation, 0, err);
		if (r == 0)
			r = journal_replay(journal, store, err);
		if (r == 0 && generation > 1)
			journal_remove(journal, generation - 1);
	} else if (r == 0) {
		store = rh_ps_store_new(&plan->config, plan->epoch);
		r = store ? rh_ps_journal_renew(journal, store, err)
		          : rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	}
	if (r < 0) {
		rh_ps_store_free(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

static int32_t journal_lock(struct rh_ps_journal *journal, struct rh_comm_error *err)
{
	char name[NAME_MAX_LENGTH];

	(void)snprintf(name, sizeof(name), "lock-%d", (int)journal->plan.config.index);
	if (mkdir(journal->plan.folder, 0700) < 0 && errno != EEXIST)
		return journal_fail(journal, errno, "make the folder", err);
	journal->folder = open(journal->plan.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (journal->folder < 0)
		return journal_fail(journal, errno, "open the folder", err);
	journal->lock = openat(journal->folder, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (journal->lock < 0)
		return journal_fail(journal, errno, "open the lock", err);
	if (flock(journal->lock, LOCK_EX | LOCK_NB) < 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "another parameter server %d uses the folder %s: give each job a folder of its own",
		                    (int)journal->plan.config.index, journal->plan.folder);
	return 0;
}

int32_t rh_ps_journal_open(const struct rh_ps_journal_plan *plan, struct rh_ps_journal **ret_journal,
                           struct rh_ps_store **ret_store, struct rh_comm_error *err)
{
	struct rh_ps_journal *journal = calloc(1, sizeof(*journal));
	int32_t r;

	if (!journal)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	journal->plan = *plan;
	journal->folder = -1;
	journal->lock = -1;
	journal->log = -1;
	journal->plan.folder = strdup(plan->folder);
	journal->buffer = malloc(BUFFER_BYTES);
	if (!journal->plan.folder || !journal->buffer)
		r = rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	else
		r = journal_lock(journal, err);
	if (r == 0)
		r = journal_restore(journal, ret_store, err);
	if (r < 0) {
		rh_ps_journal_free(journal);
		return r;
	}
	*ret_journal = journal;
	return 0;
}

void rh_ps_journal_free(struct rh_ps_journal *journal)
{
	union {
		const char *text;
		void *block;
	} folder;

	if (!journal)
		return;
	folder.text = journal->plan.folder;
	if (journal->log >= 0)
		(void)close(journal->log);
	if (journal->lock >= 0)
		(void)close(journal->lock);
	if (journal->folder >= 0)
		(void)close(journal->folder);
	free(folder.block);
	free(journal->buffer);
	free(journal);
}
