/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

/* Room for the first read of a file whose size is unknown (pipes, /proc). */
#define FILE_FIRST_READ 16384
/* Folders within each other that are open at once while they are removed. */
#define DIR_DEPTH_MAX 32
/* Most names of a folder that are compared with a misspelt one. */
#define DIR_NAMES_MAX 10000
/* Room for the name of a folder that was moved on the way. */
#define DIR_MOVED_SIZE 32

static int file_fail(struct rh_error *err, const char *verb, const char *path)
{
	return rh_fail(err, errno == ENOENT ? RH_ENOENT : RH_EIO, "cannot %s \"%s\": %s", verb, path, strerror(errno));
}

/* Read up to `room` bytes until the end. @return bytes read, or -1 */
static ssize_t file_read_some(int fd, char *to, size_t room)
{
	size_t got = 0;

	while (got < room) {
		ssize_t n = read(fd, to + got, room - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* A file may grow between fstat() and read(), and a pipe has no size: so one byte more than the limit is asked for. */
static int file_read_all(int fd, const char *path, size_t limit, size_t expected, struct rh_str *text,
                         struct rh_error *err)
{
	size_t room = (expected > 0 ? expected : FILE_FIRST_READ) + 1;

	for (;;) {
		rh_auto_free char *chunk = rh_alloc(room);
		ssize_t got;

		if (!chunk)
			return rh_fail_oom(err);
		got = file_read_some(fd, chunk, room);
		if (got < 0)
			return file_fail(err, "read", path);
		if ((size_t)got > limit - text->length)
			return rh_fail(err, RH_EINVAL, "\"%s\" is larger than the limit of %zu bytes", path, limit);
		rh_str_append_bytes(text, chunk, (size_t)got);
		if (text->failed)
			return rh_fail_oom(err);
		if ((size_t)got < room)
			return 0;
	}
}

static int file_read_fd(int fd, const char *path, size_t limit, struct rh_str *text, struct rh_error *err)
{
	struct stat st;
	size_t size;

	if (fstat(fd, &st) < 0)
		return file_fail(err, "read", path);
	if (S_ISDIR(st.st_mode))
		return rh_fail(err, RH_EINVAL, "\"%s\" is a directory, not a file", path);
	size = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size : 0;
	if (size > limit)
		return rh_fail(err, RH_EINVAL, "\"%s\" has %zu bytes, more than the limit of %zu bytes", path, size, limit);
	return file_read_all(fd, path, limit, size, text, err);
}

int rh_fd_read(int fd, const char *name, size_t limit, char **ret_text, size_t *ret_length, struct rh_error *err)
{
	rh_auto_str text = {0};
	size_t length;
	char *taken;
	int r = file_read_fd(fd, name, limit, &text, err);

	if (r < 0)
		return r;
	length = text.length;
	taken = rh_str_take(&text);
	if (!taken)
		return rh_fail_oom(err);
	*ret_text = taken;
	if (ret_length)
		*ret_length = length;
	return 0;
}

int rh_file_read(const char *path, size_t limit, char **ret_text, size_t *ret_length, struct rh_error *err)
{
	rh_auto_close int opened = -1;

	if (strcmp(path, "-") == 0)
		return rh_fd_read(STDIN_FILENO, "standard input", limit, ret_text, ret_length, err);
	opened = open(path, O_RDONLY | O_CLOEXEC);
	if (opened < 0)
		return file_fail(err, "open", path);
	return rh_fd_read(opened, path, limit, ret_text, ret_length, err);
}

int rh_fd_write_all(int fd, const char *bytes, size_t length, struct rh_error *err)
{
	while (length > 0) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		/* Standard output can be non-blocking because another process of the terminal made it so. */
		if (n < 0 && errno == EAGAIN) {
			struct pollfd wait = {.fd = fd, .events = POLLOUT};

			poll(&wait, 1, -1);
			continue;
		}
		if (n < 0)
			return rh_fail(err, RH_EIO, "cannot write: %s", strerror(errno));
		bytes += n;
		length -= (size_t)n;
	}
	return 0;
}

/* Make the new name last: a rename is only durable once its folder is on the disk. */
static void file_sync_folder(const char *path)
{
	rh_auto_free char *folder = rh_path_folder(path);
	rh_auto_close int fd = -1;

	if (!folder)
		return;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		fsync(fd);
}

static int file_fill(int fd, const char *path, const char *bytes, size_t length, struct rh_error *err)
{
	int r = rh_fd_write_all(fd, bytes, length, err);

	if (r < 0)
		return rh_wrap(err, r, "\"%s\"", path);
	if (fsync(fd) < 0)
		return rh_fail(err, RH_EIO, "cannot write \"%s\": %s", path, strerror(errno));
	return 0;
}

int rh_file_write_atomic(const char *path, const char *bytes, size_t length, mode_t mode, struct rh_error *err)
{
	rh_auto_free char *temporary = rh_asprintf("%s.XXXXXX", path);
	rh_auto_close int fd = -1;
	int r;

	if (!temporary)
		return rh_fail_oom(err);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return rh_fail(err, RH_EIO, "cannot write \"%s\": %s", path, strerror(errno));
	r = file_fill(fd, path, bytes, length, err);
	if (r == 0 && (fchmod(fd, mode) < 0 || rename(temporary, path) < 0))
		r = rh_fail(err, RH_EIO, "cannot write \"%s\": %s", path, strerror(errno));
	if (r < 0)
		unlink(temporary);
	else
		file_sync_folder(path);
	return r;
}

static int dir_make_one(const char *path, mode_t mode, bool exact, struct rh_error *err)
{
	struct stat st;

	if (mkdir(path, mode) == 0 && (!exact || chmod(path, mode) == 0))
		return 0;
	if (errno == EEXIST && stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		errno = ENOTDIR;
	}
	return rh_fail(err, RH_EIO, "cannot make the directory \"%s\": %s", path, strerror(errno));
}

static int dir_make(const char *path, mode_t mode, bool exact, struct rh_error *err)
{
	rh_auto_free char *partial = NULL;

	/* mostly all of it is there, or all but the last */
	if (dir_make_one(path, mode, exact, NULL) == 0)
		return 0;
	partial = rh_strdup(path);
	if (!partial)
		return rh_fail_oom(err);
	for (char *slash = strchr(partial + (path[0] == '/'), '/'); slash; slash = strchr(slash + 1, '/')) {
		int r;

		*slash = '\0';
		r = dir_make_one(partial, mode, exact, err);
		*slash = '/';
		if (r < 0)
			return r;
	}
	return dir_make_one(path, mode, exact, err);
}

int rh_dir_make(const char *path, mode_t mode, struct rh_error *err)
{
	return dir_make(path, mode, false, err);
}

int rh_dir_make_exact(const char *path, mode_t mode, struct rh_error *err)
{
	return dir_make(path, mode, true, err);
}

/* One folder that is removed with its content. */
struct dir_removal {
	int top;        /* the folder itself */
	uint64_t moved; /* folders that were moved up into it */
	struct rh_error *err;
};

static int dir_remove_at(struct dir_removal *removal, int depth, int parent, const char *name);

static int dir_remove_fail(struct rh_error *err, const char *name)
{
	return rh_fail(err, RH_EIO, "cannot remove \"%s\": %s", name, strerror(errno));
}

static bool dir_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Open a folder that may lack permission bits, as a process of a job can leave it. */
static int dir_open_at(int parent, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, flags);
	struct stat st;

	if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
		fd = openat(parent, name, flags);
	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
		fchmod(fd, 0700);
	return fd;
}

static int dir_remove_entries(struct dir_removal *removal, int depth, DIR *dir)
{
	struct dirent *entry;

	while ((errno = 0, entry = readdir(dir))) {
		int r = dir_is_dots(entry->d_name) ? 0 : dir_remove_at(removal, depth + 1, dirfd(dir), entry->d_name);

		if (r < 0)
			return r;
	}
	return errno != 0 ? dir_remove_fail(removal->err, "its entries") : 0;
}

/* Folders that were moved up into the topmost one while it was read may have been missed: read it again. */
static int dir_remove_all(struct dir_removal *removal, DIR *dir)
{
	uint64_t moved;
	int r;

	removal->top = dirfd(dir);
	do {
		moved = removal->moved;
		rewinddir(dir);
		r = dir_remove_entries(removal, 0, dir);
	} while (r == 0 && removal->moved > moved);
	return r;
}

static int dir_empty_at(struct dir_removal *removal, int depth, int parent, const char *name)
{
	int fd = dir_open_at(parent, name);
	DIR *dir;
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : dir_remove_fail(removal->err, name);
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return dir_remove_fail(removal->err, name);
	}
	r = depth == 0 ? dir_remove_all(removal, dir) : dir_remove_entries(removal, depth, dir);
	closedir(dir);
	return r < 0 ? rh_wrap(removal->err, r, "in \"%s\"", name) : 0;
}

/* A folder that is too deep for the limit of descriptors is moved up into the topmost one, which is read again. */
static int dir_move_up(struct dir_removal *removal, int parent, const char *name)
{
	rh_auto_close int fd = dir_open_at(parent, name); /* one that may not be written cannot get another parent */
	char to[DIR_MOVED_SIZE];
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : dir_remove_fail(removal->err, name);
	do {
		(void)snprintf(to, sizeof(to), ".removed-%" PRIu64, removal->moved++);
		r = renameat(parent, name, removal->top, to);
	} while (r < 0 && (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR));
	return r < 0 && errno != ENOENT ? dir_remove_fail(removal->err, name) : 0;
}

/* Names are looked up from an open folder, so that no one can swap a folder for a link on the way. */
static int dir_remove_at(struct dir_removal *removal, int depth, int parent, const char *name)
{
	struct stat st;
	bool folder;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : dir_remove_fail(removal->err, name);
	folder = S_ISDIR(st.st_mode);
	if (folder && depth >= DIR_DEPTH_MAX)
		return dir_move_up(removal, parent, name);
	if (folder) {
		int r = dir_empty_at(removal, depth, parent, name);

		if (r < 0)
			return r;
	}
	if (unlinkat(parent, name, folder ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT)
		return dir_remove_fail(removal->err, name);
	return 0;
}

int rh_dir_remove(const char *path, struct rh_error *err)
{
	struct dir_removal removal = {.err = err};

	return dir_remove_at(&removal, 0, AT_FDCWD, path);
}

char *rh_path_join(const char *base, const char *name)
{
	size_t length = strlen(base);

	if (name[0] == '/' || length == 0)
		return rh_strdup(name);
	return rh_asprintf("%s%s%s", base, base[length - 1] == '/' ? "" : "/", name);
}

char *rh_path_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return rh_strdup(".");
	return rh_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* @return the name in the folder that is nearest to a word, owned by the caller; NULL: none is near enough */
static char *file_nearest_name(DIR *folder, const char *word)
{
	const struct dirent *entry;
	char *best = NULL;

	for (size_t i = 0; i < DIR_NAMES_MAX && (entry = readdir(folder)); i++) {
		const char *const two[] = {best ? best : entry->d_name, entry->d_name};
		const char *near = rh_nearest(word, two, 2);
		char *copy = near && near != best ? rh_strdup(near) : NULL;

		if (copy)
			rh_free(best);
		best = copy ? copy : best;
	}
	return best;
}

char *rh_path_nearest(const char *folder, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *word = slash ? slash + 1 : path;
	rh_auto_free char *joined = rh_path_join(folder, path);
	rh_auto_free char *above = joined ? rh_path_folder(joined) : NULL;
	rh_auto_free char *best = NULL;
	DIR *names = above ? opendir(above) : NULL;

	if (!names)
		return NULL;
	best = file_nearest_name(names, word);
	(void)closedir(names);
	return best ? rh_asprintf("%.*s%s", (int)(word - path), path, best) : NULL;
}

int rh_program_folder(char **ret_folder)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	*ret_folder = NULL;
	if (length <= 0)
		return 0;
	path[length] = '\0';
	*ret_folder = rh_path_folder(path);
	return *ret_folder ? 0 : RH_ENOMEM;
}
