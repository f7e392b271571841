/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* No group. */
#define TRUST_NO_GROUP ((gid_t)-1)

/* Who loads something, and whom it trusts for that. */
struct trust {
	char self[PATH_MAX]; /* without links; "" when it is unknown */
	uid_t owner;         /* of self; root when it is unknown */
	gid_t writers;       /* a group that may write to self or into its folder; or TRUST_NO_GROUP */
	const char *target;  /* a folder that gets files, where a sticky bit keeps nobody from adding one; NULL: none */
	char *why;
	size_t room;
};

static bool trust_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void trust_learn_writers(struct trust *trust, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && (st.st_mode & S_IWGRP))
		trust->writers = st.st_gid;
}

/* The path of @p self without links. What a link of the kernel says has none, as long as the file is still there; to
 * look for links in each part of it would be most of the cost of a check. */
static bool trust_find_self(struct trust *trust, const char *self, const struct stat *is)
{
	ssize_t length = strncmp(self, "/proc/self/", 11) == 0 ? readlink(self, trust->self, sizeof(trust->self)) : -1;
	struct stat named;

	if (length > 0 && (size_t)length < sizeof(trust->self)) {
		trust->self[length] = '\0';
		if (stat(trust->self, &named) == 0 && trust_is_same(&named, is))
			return true;
	}
	return realpath(self, trust->self) != NULL;
}

static void trust_learn(struct trust *trust, const char *self)
{
	char folder[PATH_MAX];
	struct stat st;

	if (!self || stat(self, &st) < 0) {
		trust->self[0] = '\0';
		return;
	}
	trust->owner = st.st_uid;
	if (!trust_find_self(trust, self, &st)) {
		trust->self[0] = '\0';
		return;
	}
	if (st.st_mode & S_IWGRP)
		trust->writers = st.st_gid;
	memcpy(folder, trust->self, sizeof(folder));
	*strrchr(folder, '/') = '\0';
	trust_learn_writers(trust, folder[0] ? folder : "/");
}

/* @return whether self lies in the folder: who can write there can replace self */
static bool trust_holds_self(const struct trust *trust, const char *folder)
{
	size_t length = strlen(folder);

	if (length == 1)
		return trust->self[0] != '\0';
	return strncmp(trust->self, folder, length) == 0 && trust->self[length] == '/';
}

static bool trust_is_read_only(int fd)
{
	struct statvfs vfs;

	return fstatvfs(fd, &vfs) == 0 && (vfs.f_flag & ST_RDONLY);
}

static int trust_refuse_writers(const struct trust *trust, const char *path, const struct stat *st)
{
	bool all = st->st_mode & S_IWOTH;

	(void)snprintf(trust->why, trust->room, "%s \"%s\" can be written by %s; take that away with chmod %s",
	               S_ISDIR(st->st_mode) ? "folder" : "file", path, all ? "every user" : "its group",
	               all ? "o-w" : "g-w");
	return -1;
}

/* @return whether only owners remove and rename what is in the folder, and that is enough */
static bool trust_is_sticky(const struct trust *trust, const char *path, const struct stat *st)
{
	return S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) && !(trust->target && strcmp(trust->target, path) == 0);
}

static int trust_check(const struct trust *trust, int fd, const char *path)
{
	struct stat st;
	mode_t writers;

	if (fstat(fd, &st) < 0) {
		(void)snprintf(trust->why, trust->room, "\"%s\": %s", path, strerror(errno));
		return -1;
	}
	if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != trust->owner) {
		(void)snprintf(trust->why, trust->room,
		               "%s \"%s\" belongs to user %lu; it must belong to root or to the user who runs this",
		               S_ISDIR(st.st_mode) ? "folder" : "file", path, (unsigned long)st.st_uid);
		return -1;
	}
	writers = st.st_mode & (st.st_gid == trust->writers ? S_IWOTH : S_IWGRP | S_IWOTH);
	if (writers == 0 || trust_is_sticky(trust, path, &st) || trust_is_read_only(fd))
		return 0;
	return trust_refuse_writers(trust, path, &st);
}

/* Open one more folder of the way down, and let go of the one before (-1: there is none). @return it, or -1 */
static int trust_enter(const struct trust *trust, int before, const char *name, const char *path)
{
	int fd = openat(before, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (before >= 0)
		(void)close(before);
	if (fd < 0) {
		(void)snprintf(trust->why, trust->room, "cannot open \"%s\": %s", path, strerror(errno));
		return -1;
	}
	if (trust_holds_self(trust, path) || trust_check(trust, fd, path) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* Go down to the folder of the file. @return it, or -1 */
static int trust_enter_folder(const struct trust *trust, const char *real)
{
	char path[PATH_MAX];
	int fd = trust_enter(trust, -1, "/", "/");
	char *at;

	memcpy(path, real, strlen(real) + 1);
	for (char *name = path + 1; fd >= 0 && (at = strchr(name, '/')); name = at + 1) {
		*at = '\0';
		fd = trust_enter(trust, fd, name, path);
		*at = '/';
	}
	return fd;
}

static int trust_open_file(const struct trust *trust, int folder, const char *real)
{
	/* a pipe that nobody writes to would not open */
	int fd = openat(folder, strrchr(real, '/') + 1, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	(void)close(folder);
	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)snprintf(trust->why, trust->room, "cannot open it: %s", strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		(void)snprintf(trust->why, trust->room, "it is not a regular file");
	} else if (trust_check(trust, fd, real) == 0) {
		return fd;
	}
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* Take "." and ".." out of an absolute path as if it had no links. @return whether it is one */
static bool trust_clean(const char *path, char clean[PATH_MAX])
{
	size_t length = 0;

	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return false;
	for (const char *part = path + 1, *end; *part; part = end + (*end == '/')) {
		end = part + strcspn(part, "/");
		if (end == part || (end == part + 1 && part[0] == '.'))
			continue;
		if (end == part + 2 && strncmp(part, "..", 2) == 0) {
			while (length > 0 && clean[--length] != '/')
				;
			continue;
		}
		clean[length++] = '/';
		memcpy(clean + length, part, (size_t)(end - part));
		length += (size_t)(end - part);
	}
	clean[length] = '\0';
	return length > 0;
}

/* @param real a path without links: the way down follows none */
static int trust_open_real(const struct trust *trust, const char *real)
{
	int folder = trust_enter_folder(trust, real);

	return folder < 0 ? -1 : trust_open_file(trust, folder, real);
}

/*
 * Most paths have no links. Then the way down is all that has to be looked at, and not each part once before it.
 * @param is what has to be found there
 * @return the descriptor; -1: it has links, or is refused
 */
static int trust_open_clean(const struct trust *trust, const char *path, const struct stat *is, char ret_real[PATH_MAX])
{
	int fd = trust_clean(path, ret_real) ? trust_open_real(trust, ret_real) : -1;
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && trust_is_same(&st, is)))
		return fd;
	(void)close(fd);
	return -1;
}

int rh_trust_open(const char *path, const char *self, char ret_real[PATH_MAX], char *ret_why, size_t room)
{
	struct trust trust = {.writers = TRUST_NO_GROUP, .why = ret_why, .room = room};
	struct stat st;
	int fd;

	if (stat(path, &st) < 0) {
		(void)snprintf(ret_why, room, "cannot open it: %s", strerror(errno));
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		(void)snprintf(ret_why, room, "it is not a regular file");
		return -1;
	}
	trust_learn(&trust, self);
	fd = trust_open_clean(&trust, path, &st, ret_real);
	if (fd >= 0)
		return fd;
	if (!realpath(path, ret_real)) {
		(void)snprintf(ret_why, room, "cannot open it: %s", strerror(errno));
		return -1;
	}
	return trust_open_real(&trust, ret_real);
}

/* The nearest folder that exists, without links. @return 0, or -1 when there is none */
static int trust_find_folder(const char *path, char real[PATH_MAX])
{
	char cut[PATH_MAX];
	char *slash;

	if (strlen(path) >= sizeof(cut) || path[0] != '/') {
		errno = path[0] == '/' ? ENAMETOOLONG : EINVAL;
		return -1;
	}
	memcpy(cut, path, strlen(path) + 1);
	while (!realpath(cut, real)) {
		slash = strrchr(cut, '/');
		if ((errno != ENOENT && errno != ENOTDIR) || !slash || !cut[1])
			return -1;
		slash[slash == cut] = '\0';
	}
	return 0;
}

int rh_trust_folder(const char *path, const char *self, char *ret_why, size_t room)
{
	struct trust trust = {.writers = TRUST_NO_GROUP, .why = ret_why, .room = room};
	char real[PATH_MAX], inside[PATH_MAX];
	int folder;

	if (trust_find_folder(path, real) < 0) {
		(void)snprintf(ret_why, room, "cannot open \"%s\": %s", path, strerror(errno));
		return -1;
	}
	trust_learn(&trust, self);
	trust.target = real;
	(void)snprintf(inside, sizeof(inside), "%.*s/", PATH_MAX - 2, real[1] ? real : "");
	folder = trust_enter_folder(&trust, inside);
	if (folder < 0)
		return -1;
	(void)close(folder);
	return 0;
}
