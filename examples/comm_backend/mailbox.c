/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend of rh_comm that is built outside the tree: each message is a file in a folder that all ranks see. Slow, and
 * whole: the core makes every collective of its send, recv and test.
 *
 * A message of rank 1 to rank 0 is the file 0-1-TAG-NUMBER. It gets that name when it is complete, and NUMBER counts
 * what rank 1 sent to rank 0, so the one with the least number came first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "roundhouse/comm_backend.h"

#define FOLDER_SIZE 400
#define PATH_SIZE 512
/* By this `auto` chooses, of those that every rank has: the highest; native has 50. */
#ifndef MAILBOX_SCORE
#define MAILBOX_SCORE 1
#endif

/* A receive that was posted. */
struct mailbox_work {
	struct mailbox_work *next; /* that was posted later */
	int32_t peer;
	uint64_t tag;
	void *data;
	size_t length;
};

struct mailbox {
	const struct rh_comm_team *team;
	char folder[FOLDER_SIZE];
	uint64_t *sent; /* by peer: how many messages */
	struct mailbox_work *first;
	struct mailbox_work **last;
	atomic_bool aborted;
};

static int32_t mailbox_fail(const struct mailbox *box, int32_t peer, const char *what)
{
	char text[PATH_SIZE];

	snprintf(text, sizeof(text), "cannot %s in \"%.300s\": %s", what, box->folder, strerror(errno));
	return box->team->fail(box->team->core, RH_COMM_EBACKEND, peer, text);
}

static int32_t mailbox_probe(int32_t rank, int32_t world, char *why, size_t room)
{
	(void)rank, (void)world, (void)why, (void)room;
	return 0;
}

/* RH_COMM_MAILBOX_FOLDER is for several hosts; without it rank 0 creates one, and publishes its name. */
static int32_t mailbox_make_folder(struct mailbox *box)
{
	const struct rh_comm_team *team = box->team;
	const char *above = team->setting(team->core, "FOLDER");

	snprintf(box->folder, sizeof(box->folder), "%.300s/mailbox-XXXXXX", above ? above : "/tmp");
	if (!mkdtemp(box->folder))
		return mailbox_fail(box, team->rank, "make the folder");
	return team->put(team->core, "folder", box->folder, sizeof(box->folder));
}

static void mailbox_close(void *self)
{
	struct mailbox *box = self;

	while (box->first) {
		struct mailbox_work *work = box->first;

		box->first = work->next;
		free(work);
	}
	(void)rmdir(box->folder); /* the last one finds it empty */
	free(box->sent);
	free(box);
}

static int32_t mailbox_open(const struct rh_comm_team *team, void **ret_self)
{
	struct mailbox *box = calloc(1, sizeof(*box));
	int64_t r = RH_COMM_ENOMEM;

	if (!box)
		return RH_COMM_ENOMEM;
	box->team = team;
	box->last = &box->first;
	box->sent = calloc((size_t)team->world, sizeof(*box->sent));
	if (box->sent && team->rank == 0)
		r = mailbox_make_folder(box);
	else if (box->sent)
		r = team->get(team->core, "folder", box->folder, sizeof(box->folder));
	if (r < 0) {
		mailbox_close(box);
		return (int32_t)r;
	}
	*ret_self = box;
	return 0;
}

static int32_t mailbox_write(const struct mailbox *box, int32_t peer, const char *path, const void *data, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t done = 0;

	while (fd >= 0 && done < length) {
		ssize_t n = write(fd, (const char *)data + done, length - done);

		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || close(fd) < 0 || done < length)
		return mailbox_fail(box, peer, "write a message");
	return 0;
}

static int32_t mailbox_send(void *self, int32_t peer, uint64_t tag, const void *data, size_t length, void **ret_work)
{
	struct mailbox *box = self;
	char partial[PATH_SIZE], whole[PATH_SIZE];
	int32_t r;

	snprintf(partial, sizeof(partial), "%s/partial-%" PRId32, box->folder, box->team->rank);
	snprintf(whole, sizeof(whole), "%s/%" PRId32 "-%" PRId32 "-%" PRIx64 "-%" PRIu64, box->folder, peer,
	         box->team->rank, tag, box->sent[peer]++);
	r = mailbox_write(box, peer, partial, data, length);
	if (r < 0)
		return r;
	*ret_work = NULL; /* done: nobody needs data any more */
	return rename(partial, whole) < 0 ? mailbox_fail(box, peer, "name a message") : 0;
}

static int32_t mailbox_recv(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work)
{
	struct mailbox *box = self;
	struct mailbox_work *work = malloc(sizeof(*work));

	if (!work)
		return RH_COMM_ENOMEM;
	*work = (struct mailbox_work){NULL, peer, tag, data, length};
	*box->last = work;
	box->last = &work->next;
	*ret_work = work;
	return 0;
}

/* @return whether there is a message that fits, with the path of the first one */
static bool mailbox_find(const struct mailbox *box, const struct mailbox_work *work, char *ret_path)
{
	DIR *folder = opendir(box->folder);
	const struct dirent *entry;
	uint64_t least = UINT64_MAX;

	while (folder && (entry = readdir(folder))) {
		int32_t to, from;
		uint64_t tag, number;

		if (sscanf(entry->d_name, "%" SCNd32 "-%" SCNd32 "-%" SCNx64 "-%" SCNu64, &to, &from, &tag, &number) == 4 &&
		    to == box->team->rank && from == work->peer && tag == work->tag && number < least) {
			least = number;
			snprintf(ret_path, PATH_SIZE, "%s/%.100s", box->folder, entry->d_name);
		}
	}
	if (folder)
		closedir(folder);
	return least != UINT64_MAX;
}

static int32_t mailbox_read(const struct mailbox *box, const struct mailbox_work *work, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t done = 0;
	ssize_t n = 1;

	while (fd >= 0 && done < work->length && n != 0) {
		n = read(fd, (char *)work->data + done, work->length - done);
		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || close(fd) < 0 || done < work->length || unlink(path) < 0)
		return mailbox_fail(box, work->peer, "read a message");
	return 0;
}

static void mailbox_remove(struct mailbox *box, struct mailbox_work *work)
{
	struct mailbox_work **at = &box->first;

	while (*at != work)
		at = &(*at)->next;
	*at = work->next;
	if (!work->next)
		box->last = at;
	free(work);
}

/* Two receives of one peer and tag get their messages in the order in which they were posted. */
static bool mailbox_is_next(const struct mailbox *box, const struct mailbox_work *work)
{
	for (const struct mailbox_work *at = box->first; at != work; at = at->next) {
		if (at->peer == work->peer && at->tag == work->tag)
			return false;
	}
	return true;
}

static int32_t mailbox_test(void *self, void *work)
{
	struct mailbox *box = self;
	char path[PATH_SIZE];
	int32_t r = RH_COMM_EABORTED;

	if (!atomic_load(&box->aborted)) {
		if (!mailbox_is_next(box, work) || !mailbox_find(box, work, path))
			return RH_COMM_BUSY;
		r = mailbox_read(box, work, path);
	}
	mailbox_remove(box, work);
	return r;
}

static void mailbox_abort(void *self)
{
	struct mailbox *box = self;

	atomic_store(&box->aborted, true);
}

static const struct rh_comm_backend mailbox_backend = {
	.head = RH_COMM_HEAD(struct rh_comm_backend),
	.name = "mailbox",
	.release = "0.1",
	.memories = RH_COMM_MEMORY_HOST,
	.score = MAILBOX_SCORE,
	.probe = mailbox_probe,
	.open = mailbox_open,
	.close = mailbox_close,
	.send = mailbox_send,
	.recv = mailbox_recv,
	.test = mailbox_test,
	.abort = mailbox_abort,
};

const struct rh_comm_backend *rh_comm_backend_entry_v0(void)
{
	return &mailbox_backend;
}
