/* SPDX-License-Identifier: Apache-2.0 */
#include "local/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/os/file.h"

/* Byte 0 means "this process uses the file": shared by all users, exclusive for the one that removes it. */
#define LOCKS_MEMBER INT64_C(0)
/* How often the file may vanish under the hands of the one that opens it: another process is just closing it. */
#define LOCKS_TRIES 200
#define LOCKS_PAUSE_NS 1000000

struct rh_locks {
	int fd;
	char *path;
};

static bool locks_lock(int fd, short type, int64_t start, int64_t length)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Whether `path` is still the file that is open: the last user may have removed it in between. */
static bool locks_is_current(int fd, const char *path)
{
	struct stat opened;
	struct stat named;

	return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
	       opened.st_ino == named.st_ino;
}

/* Make the folder, and look at it; its last user may remove it in between. */
static int locks_make_folder(const char *folder, struct stat *ret_st, struct rh_error *err)
{
	for (int i = 0; i < LOCKS_TRIES; i++) {
		int r = rh_dir_make(folder, 0700, err);

		if (r < 0 || lstat(folder, ret_st) == 0)
			return r;
		if (errno != ENOENT)
			break;
	}
	return rh_fail(err, RH_EIO, "cannot look at \"%s\": %s", folder, strerror(errno));
}

int rh_locks_folder(const char *folder, struct rh_error *err)
{
	struct stat st;
	int r = locks_make_folder(folder, &st, err);

	if (r < 0)
		return r;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return rh_fail(err, RH_EINVAL, "\"%s\" is not a folder of this user; remove it or choose another one", folder);
	if ((st.st_mode & 022) != 0)
		return rh_fail(err, RH_EINVAL, "others may write into \"%s\"; choose a folder of your own", folder);
	return 0;
}

static int locks_try_open(const char *path, int *ret_fd, struct rh_error *err)
{
	rh_auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 && errno == ENOENT)
		return RH_EAGAIN; /* the last user of the folder has just removed it */
	if (fd < 0)
		return rh_fail(err, RH_EIO, "cannot open \"%s\": %s", path, strerror(errno));
	if (!locks_lock(fd, F_RDLCK, LOCKS_MEMBER, 1)) {
		if (errno != EAGAIN && errno != EACCES)
			return rh_fail(err, RH_EIO, "cannot lock \"%s\": %s; choose a folder with locks: [local] state-dir", path,
			               strerror(errno));
		return RH_EAGAIN;
	}
	if (!locks_is_current(fd, path))
		return RH_EAGAIN;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int rh_locks_open(const char *folder, struct rh_locks **ret_holds, struct rh_error *err)
{
	static const struct timespec pause = {0, LOCKS_PAUSE_NS};
	rh_auto(locks) locks = rh_alloc(sizeof(*locks));
	int r = RH_EAGAIN;

	if (!locks)
		return rh_fail_oom(err);
	locks->fd = -1;
	locks->path = rh_path_join(folder, "holds");
	if (!locks->path)
		return rh_fail_oom(err);
	for (int i = 0; i < LOCKS_TRIES && r == RH_EAGAIN; i++) {
		r = rh_locks_folder(folder, err);
		if (r == 0)
			r = locks_try_open(locks->path, &locks->fd, err);
		if (r == RH_EAGAIN)
			(void)nanosleep(&pause, NULL);
	}
	if (r == RH_EAGAIN)
		return rh_fail(err, RH_EIO, "cannot lock \"%s\": another process holds it", locks->path);
	if (r < 0)
		return r;
	*ret_holds = rh_take(locks);
	return 0;
}

void rh_locks_free(struct rh_locks *locks)
{
	if (!locks)
		return;
	if (locks->fd >= 0) {
		/* succeeds for the last user only; a process that opens the old file now finds that it is not current */
		if (locks_lock(locks->fd, F_WRLCK, 0, 0))
			(void)unlink(locks->path);
		(void)close(locks->fd);
	}
	rh_free(locks->path);
	rh_free(locks);
}

bool rh_locks_take(struct rh_locks *locks, int64_t number)
{
	return locks_lock(locks->fd, F_WRLCK, number, 1);
}

void rh_locks_drop(struct rh_locks *locks, int64_t number)
{
	(void)locks_lock(locks->fd, F_UNLCK, number, 1);
}
