/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/folders/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/str.h"
#include "local/locks.h"

#define RUN_DIR_PREFIX "run-"
#define RUN_DIR_LOCK "alive"
/* A folder without lock file belongs to a run that is just starting, unless it is older than this, in seconds. */
#define RUN_DIR_START_MAX 60
#define RUN_DIR_TRIES 50

struct rh_run_dir {
	char *base;
	char *path;
	int lock;
};

static bool dir_dir_is_old(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && time(NULL) - st.st_mtime > RUN_DIR_START_MAX;
}

/* Whether the run that made the folder has ended: its lock went with it. */
static bool dir_dir_is_stale(const char *path)
{
	rh_auto_free char *lock = rh_path_join(path, RUN_DIR_LOCK);
	rh_auto_close int fd = -1;

	if (!lock)
		return false;
	fd = open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT && dir_dir_is_old(path);
	return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static int dir_dir_list(const char *base, rh_run_dir_fn *fn, void *arg)
{
	DIR *folder = opendir(base);
	const struct dirent *entry;
	int r = 0;

	while (folder && (entry = readdir(folder))) {
		rh_auto_free char *path = NULL;

		if (!rh_starts_with(entry->d_name, RUN_DIR_PREFIX))
			continue;
		path = rh_path_join(base, entry->d_name);
		if (path)
			fn(arg, path);
		else
			r = RH_ENOMEM;
	}
	if (folder)
		(void)closedir(folder);
	return r;
}

static void dir_dir_clean(void *arg, const char *path)
{
	(void)arg;
	if (dir_dir_is_stale(path))
		(void)rh_dir_remove(path, NULL); /* what cannot be removed now is tried again by the next run */
}

/* The folder of all runs of this user. */
static char *dir_dir_base(void)
{
	const char *above = getenv("TMPDIR");

	if (!above || above[0] != '/')
		above = "/tmp";
	return rh_asprintf("%s/roundhouse-%u", above, (unsigned)geteuid());
}

int rh_run_dir_each(rh_run_dir_fn *fn, void *arg)
{
	rh_auto_free char *base = dir_dir_base();

	return base ? dir_dir_list(base, fn, arg) : RH_ENOMEM;
}

static int dir_dir_lock(struct rh_run_dir *dir, struct rh_error *err)
{
	rh_auto_free char *lock = rh_path_join(dir->path, RUN_DIR_LOCK);

	if (!lock)
		return rh_fail_oom(err);
	dir->lock = open(lock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (dir->lock < 0 || flock(dir->lock, LOCK_EX | LOCK_NB) < 0)
		return rh_fail(err, RH_EIO, "cannot make \"%s\": %s", lock, strerror(errno));
	return 0;
}

static int dir_dir_make(struct rh_run_dir *dir, struct rh_error *err)
{
	int r = 0;

	/* a run that ends removes the folder above when it is empty */
	for (int i = 0; i < RUN_DIR_TRIES; i++) {
		r = rh_locks_folder(dir->base, err);
		if (r < 0)
			return r;
		dir->path = rh_path_join(dir->base, RUN_DIR_PREFIX "XXXXXX");
		if (!dir->path)
			return rh_fail_oom(err);
		if (mkdtemp(dir->path))
			return dir_dir_lock(dir, err);
		rh_free(rh_take(dir->path));
		if (errno != ENOENT)
			break;
	}
	return rh_fail(err, RH_EIO, "cannot make a folder in \"%s\": %s", dir->base, strerror(errno));
}

int rh_run_dir_new(struct rh_run_dir **ret_dir, struct rh_error *err)
{
	rh_auto(run_dir) dir = rh_alloc(sizeof(*dir));
	int r;

	if (!dir)
		return rh_fail_oom(err);
	dir->lock = -1;
	dir->base = dir_dir_base();
	if (!dir->base)
		return rh_fail_oom(err);
	r = rh_locks_folder(dir->base, err);
	if (r < 0)
		return rh_wrap(err, r, "the folder of runs ($TMPDIR, else /tmp)");
	(void)dir_dir_list(dir->base, dir_dir_clean, NULL);
	r = dir_dir_make(dir, err);
	if (r < 0)
		return r;
	*ret_dir = rh_take(dir);
	return 0;
}

void rh_run_dir_free(struct rh_run_dir *dir)
{
	if (!dir)
		return;
	if (dir->path)
		(void)rh_dir_remove(dir->path, NULL);
	if (dir->lock >= 0)
		(void)close(dir->lock);
	if (dir->base)
		(void)rmdir(dir->base);
	rh_free(dir->base);
	rh_free(dir->path);
	rh_free(dir);
}

const char *rh_run_dir_path(const struct rh_run_dir *dir)
{
	return dir->path;
}
