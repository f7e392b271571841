/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/str.h"
#include "local/locks.h"

/* With less room than this on its file system a run is not kept, in bytes. */
#define PLACE_ROOM_MIN (16U * 1024 * 1024)
/* Bytes of a line of /proc/PID/stat that are read; what is wanted is before the 60th number. */
#define PLACE_STAT_SIZE 1024
/* Fields of /proc/PID/stat between the name of the program and the time of the start. */
#define PLACE_STAT_SKIP 20
/* Version of struct rh_keep_end on the disk, the first number of its line; and the longest line. */
#define PLACE_END_VERSION 1
#define PLACE_END_SIZE 128

int rh_keep_place(char **ret_path, struct rh_error *err)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (state && state[0] == '/')
		*ret_path = rh_asprintf("%s/roundhouse/runs", state);
	else if (home && home[0] == '/')
		*ret_path = rh_asprintf("%s/.local/state/roundhouse/runs", home);
	else
		return rh_fail(err, RH_ENOENT, "neither XDG_STATE_HOME nor HOME is an absolute path; set one of them");
	return *ret_path ? 0 : rh_fail_oom(err);
}

static int place_check_room(const char *path, struct rh_error *err)
{
	struct statvfs room;

	if (access(path, W_OK | X_OK) < 0)
		return rh_fail(err, RH_EIO, "cannot write into \"%s\": %s", path, strerror(errno));
	if (statvfs(path, &room) < 0)
		return rh_fail(err, RH_EIO, "cannot look at \"%s\": %s", path, strerror(errno));
	if ((uint64_t)room.f_bavail * room.f_frsize < PLACE_ROOM_MIN)
		return rh_fail(err, RH_EIO, "less than 16 MiB are free for \"%s\"; `roundhouse runs prune` makes room", path);
	return 0;
}

int rh_keep_place_make(const char *path, struct rh_error *err)
{
	rh_auto_free char *above = rh_path_folder(path);
	int r;

	if (!above)
		return rh_fail_oom(err);
	r = rh_locks_folder(above, err);
	if (r == 0)
		r = rh_locks_folder(path, err);
	return r < 0 ? r : place_check_room(path, err);
}

static int place_open_lock(const char *path, int flags)
{
	rh_auto_free char *lock = rh_path_join(path, RH_KEEP_LOCK);

	return lock ? open(lock, flags | O_CLOEXEC | O_NOFOLLOW) : -1;
}

void rh_keep_end_write(const char *path, const struct rh_keep_end *end)
{
	rh_auto_close int fd = place_open_lock(path, O_WRONLY);
	char text[PLACE_END_SIZE];
	int length = snprintf(text, sizeof(text), "%d %" PRId64 " %" PRId64 " %" PRId64 "\n", PLACE_END_VERSION,
	                      end->started_at, end->ended_at, end->bytes);

	if (fd >= 0)
		(void)!write(fd, text, (size_t)length);
}

/* @return whether @p text is a whole line of numbers: one that was cut has no newline */
static bool place_parse_end(const char *text, struct rh_keep_end *ret_end)
{
	int64_t numbers[4];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char *rest;

		numbers[i] = strtoll(text, &rest, 10);
		if (rest == text || numbers[i] < 0 || *rest != (i == 3 ? '\n' : ' '))
			return false;
		text = rest + 1;
	}
	*ret_end = (struct rh_keep_end){numbers[1], numbers[2], numbers[3]};
	return numbers[0] == PLACE_END_VERSION;
}

bool rh_keep_end_read(const char *path, struct rh_keep_end *ret_end)
{
	rh_auto_close int fd = place_open_lock(path, O_RDONLY);
	char text[PLACE_END_SIZE];
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (n <= 0)
		return false;
	text[n] = '\0';
	return place_parse_end(text, ret_end);
}

int rh_keep_place_each(const char *runs, rh_keep_entry_fn *fn, void *arg, struct rh_error *err)
{
	DIR *folder = opendir(runs);
	const struct dirent *entry;
	int r = 0;

	if (!folder)
		return errno == ENOENT ? 0 : rh_fail(err, RH_EIO, "cannot read \"%s\": %s", runs, strerror(errno));
	while (r == 0 && (entry = readdir(folder))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
			r = fn(arg, entry->d_name);
	}
	(void)closedir(folder);
	return r;
}

int rh_keep_place_remove(const char *runs, const char *name, struct rh_error *err)
{
	rh_auto_free char *path = rh_path_join(runs, name);
	rh_auto_free char *hidden = rh_asprintf("%s/%cold-%s", runs, RH_KEEP_HIDDEN, name);

	if (!path || !hidden)
		return rh_fail_oom(err);
	if (name[0] == RH_KEEP_HIDDEN)
		return rh_dir_remove(path, err);
	if (rename(path, hidden) < 0)
		return rh_fail(err, RH_EIO, "cannot remove \"%s\": %s", path, strerror(errno));
	return rh_dir_remove(hidden, err);
}

int64_t rh_keep_place_bytes(const char *path)
{
	rh_auto_free char *copy = rh_strdup(path);
	char *const roots[] = {copy, NULL};
	FTS *walk = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	const FTSENT *entry;
	int64_t bytes = 0;

	while (walk && (entry = fts_read(walk))) {
		if (entry->fts_level == 1 && strcmp(entry->fts_name, RH_KEEP_PAGE) == 0)
			continue; /* it comes and goes when the rest has been counted */
		if (entry->fts_statp && (entry->fts_info == FTS_F || entry->fts_info == FTS_D))
			bytes += (int64_t)entry->fts_statp->st_blocks * 512;
	}
	if (walk)
		(void)fts_close(walk);
	return bytes;
}

int64_t rh_keep_place_page_bytes(const char *path)
{
	rh_auto_free char *page = rh_path_join(path, RH_KEEP_PAGE);
	struct stat st;

	return page && lstat(page, &st) == 0 ? (int64_t)st.st_blocks * 512 : 0;
}

int rh_keep_place_lock(const char *path)
{
	int fd = place_open_lock(path, O_RDONLY);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

int64_t rh_keep_process_start(int64_t pid)
{
	char path[64];
	char text[PLACE_STAT_SIZE];
	rh_auto_close int fd = -1;
	const char *at;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n <= 0)
		return -1;
	text[n] = '\0';
	at = strrchr(text, ')'); /* the name of a program may have any character */
	for (int i = 0; at && i < PLACE_STAT_SKIP; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoll(at + 1, NULL, 10) : -1;
}

bool rh_keep_is_process(int64_t pid, int64_t start)
{
	return pid > 0 && start >= 0 && rh_keep_process_start(pid) == start;
}
