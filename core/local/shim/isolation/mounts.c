/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/isolation/mounts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "base/str.h"

/* Where a copy of the root is put together. Any folder of the root does: it is covered in this namespace only. */
#define MOUNTS_WORKSHOP "tmp"

static int mounts_fail(struct rh_error *err, const char *verb, const char *path)
{
	return rh_fail(err, RH_EIO, "cannot %s \"%s\": %s", verb, path, strerror(errno));
}

static int mounts_write(const char *path, const char *text, struct rh_error *err)
{
	rh_auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return mounts_fail(err, "write", path);
	return 0;
}

/* Map only the user of this process, to the same ID. */
static int mounts_map_ids(uid_t uid, gid_t gid, struct rh_error *err)
{
	char text[64];
	int r;

	(void)snprintf(text, sizeof(text), "%u %u 1", (unsigned)uid, (unsigned)uid);
	r = mounts_write("/proc/self/uid_map", text, err);
	if (r == 0)
		r = mounts_write("/proc/self/setgroups", "deny", err);
	(void)snprintf(text, sizeof(text), "%u %u 1", (unsigned)gid, (unsigned)gid);
	return r == 0 ? mounts_write("/proc/self/gid_map", text, err) : r;
}

int rh_shim_mounts_enter(struct rh_error *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWNS) < 0) {
		int r;

		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			return rh_fail(err, RH_EIO, "no private mount namespace: %s", strerror(errno));
		r = mounts_map_ids(uid, gid, err);
		if (r < 0)
			return r;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return mounts_fail(err, "make private", "/");
	return 0;
}

int rh_shim_mounts_tmpfs(const struct rh_shim_tmpfs *tmpfs, size_t count, struct rh_error *err)
{
	for (size_t i = 0; i < count; i++) {
		char options[64] = "mode=1777";

		if (tmpfs[i].size > 0)
			(void)snprintf(options, sizeof(options), "mode=1777,size=%" PRId64, tmpfs[i].size);
		if (mount("tmpfs", tmpfs[i].path, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
			return mounts_fail(err, "mount a file system in memory at", tmpfs[i].path);
	}
	return 0;
}

/* Make entry `name` of the copy: what the original has there, as if it were the same. An entry that cannot be had stays
 * empty. */
static void mounts_copy_entry(int from, int to, const char *name)
{
	char source[64 + 256];
	char target[64 + 256];
	char link[4096];
	struct stat st;
	ssize_t n;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(from, name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		(void)!symlinkat(link, to, name);
		return;
	}
	if (S_ISDIR(st.st_mode))
		(void)mkdirat(to, name, 0755);
	else
		(void)mknodat(to, name, S_IFREG | 0644, 0);
	(void)snprintf(source, sizeof(source), "/proc/self/fd/%d/%.255s", from, name);
	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d/%.255s", to, name);
	(void)mount(source, target, NULL, MS_BIND | MS_REC, NULL);
}

static int mounts_copy_entries(const char *folder, int to, const char *except, struct rh_error *err)
{
	rh_auto_close int from = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;
	DIR *list = opendir(folder);

	if (!list || from < 0) {
		if (list)
			(void)closedir(list);
		return mounts_fail(err, "list", folder);
	}
	while ((entry = readdir(list))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, except) != 0)
			mounts_copy_entry(from, to, name);
	}
	(void)closedir(list);
	return 0;
}

/* An empty file system in memory at `place`, looking like `folder`. @return an open descriptor or a negative status */
static int mounts_open_copy(const char *folder, const char *place, struct rh_error *err)
{
	struct stat st;
	char options[64];
	int fd;

	if (stat(folder, &st) < 0)
		return mounts_fail(err, "look at", folder);
	(void)snprintf(options, sizeof(options), "mode=%o", (unsigned)(st.st_mode & 07777));
	if (mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return mounts_fail(err, "mount a file system in memory at", place);
	fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? mounts_fail(err, "open", place) : fd;
}

/* Take the place of `folder`, not the root, by a copy in memory in which new entries can be made. */
static int mounts_replace_folder(const char *folder, struct rh_error *err)
{
	rh_auto_close int original = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	rh_auto_close int copy = -1;
	char source[64];

	if (original < 0)
		return mounts_fail(err, "open", folder);
	copy = mounts_open_copy(folder, folder, err);
	if (copy < 0)
		return copy;
	(void)snprintf(source, sizeof(source), "/proc/self/fd/%d", original);
	return mounts_copy_entries(source, copy, "", err);
}

/*
 * The same for the root: the copy is put together on top of the workshop, whose own contents are set aside, and then
 * becomes the root. The last steps are those of pivot_root(2), "pivot_root(".", ".")": the old root ends up on top of
 * the new one and is taken off.
 */
static int mounts_replace_root(struct rh_error *err)
{
	rh_auto_close int aside =
		open_tree(AT_FDCWD, "/" MOUNTS_WORKSHOP, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (unsigned)AT_RECURSIVE);
	rh_auto_close int copy = -1;
	int r;

	if (aside < 0)
		return mounts_fail(err, "open", "/" MOUNTS_WORKSHOP);
	copy = mounts_open_copy("/", "/" MOUNTS_WORKSHOP, err);
	if (copy < 0)
		return copy;
	r = mounts_copy_entries("/", copy, MOUNTS_WORKSHOP, err);
	if (r < 0)
		return r;
	if (mkdirat(copy, MOUNTS_WORKSHOP, 0755) < 0 ||
	    move_mount(aside, "", copy, MOUNTS_WORKSHOP, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return mounts_fail(err, "keep", "/" MOUNTS_WORKSHOP);
	if (fchdir(copy) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return mounts_fail(err, "change the root to a copy of", "/");
	return 0;
}

/* Cut `path` to its deepest folder that exists. */
static void mounts_cut_to_existing(char *path)
{
	struct stat st;

	while (path[1] != '\0' && stat(path, &st) < 0) {
		char *slash = strrchr(path, '/');

		slash[slash == path ? 1 : 0] = '\0';
	}
}

/* What is to be mounted. It is opened before anything is mounted over its path: a volume at /tmp covers the folders
 * that other volumes lie in. */
struct mounts_source {
	int fd;
	bool tree; /* a copy of the mounts below the path (open_tree(2)), that needs the path no more */
	bool folder;
};

/* The mounts of one container, and the folders that copies took the place of. */
struct mounts_job {
	const struct rh_shim_mount *mounts;
	struct mounts_source *sources; /* one for each mount */
	size_t opened;
	size_t done; /* how many are made */
	char **copies;
	size_t copy_count;
};

static void mounts_job_deinit(struct mounts_job *job)
{
	for (size_t i = 0; i < job->opened; i++)
		(void)close(job->sources[i].fd);
	rh_free(job->sources);
	for (size_t i = 0; i < job->copy_count; i++)
		rh_free(job->copies[i]);
	rh_free(job->copies);
}

/* Whether entries may be made in `folder`: it is in a private copy. */
static bool mounts_in_copy(const struct mounts_job *job, const char *folder)
{
	for (size_t i = 0; i < job->copy_count; i++) {
		struct stat copy;
		struct stat st;

		if (stat(job->copies[i], &copy) == 0 && stat(folder, &st) == 0 && copy.st_dev == st.st_dev)
			return true;
	}
	return false;
}

/* Whether `folder` is in a volume that is mounted already: there the missing folder is made, as container runtimes
 * do. */
static bool mounts_in_volume(const struct mounts_job *job, const char *folder)
{
	for (size_t i = 0; i < job->done; i++) {
		const char *to = job->mounts[i].to;

		if (rh_starts_with(folder, to) && (folder[strlen(to)] == '/' || folder[strlen(to)] == '\0'))
			return true;
	}
	return false;
}

static int mounts_make_file(const char *path, struct rh_error *err)
{
	rh_auto_free char *folder = rh_path_folder(path);

	if (!folder)
		return rh_fail_oom(err);
	if (rh_dir_make(folder, 0755, err) < 0)
		return RH_EIO;
	if (mknod(path, S_IFREG | 0644, 0) < 0)
		return mounts_fail(err, "make", path);
	return 0;
}

/* Make what `to` needs to be mounted on: a file or a folder. */
static int mounts_make_target(struct mounts_job *job, const char *to, bool is_folder, struct rh_error *err)
{
	rh_auto_free char *folder = rh_strdup(to);
	int r = 0;

	if (!folder)
		return rh_fail_oom(err);
	mounts_cut_to_existing(folder);
	if (strcmp(folder, to) == 0)
		return 0;
	if (!mounts_in_copy(job, folder) && !mounts_in_volume(job, folder)) {
		r = strcmp(folder, "/") == 0 ? mounts_replace_root(err) : mounts_replace_folder(folder, err);
		if (r < 0)
			return r;
		job->copies[job->copy_count++] = rh_take(folder);
	}
	return is_folder ? rh_dir_make(to, 0755, err) : mounts_make_file(to, err);
}

/* A user namespace may not clear flags that its parent locked, so the remount repeats them. */
static int mounts_set_read_only(const char *to, struct rh_error *err)
{
	struct statvfs st;
	unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;

	if (statvfs(to, &st) == 0) {
		flags |= (st.f_flag & ST_NOSUID) != 0 ? MS_NOSUID : 0;
		flags |= (st.f_flag & ST_NODEV) != 0 ? MS_NODEV : 0;
		flags |= (st.f_flag & ST_NOEXEC) != 0 ? MS_NOEXEC : 0;
		flags |= (st.f_flag & ST_NOATIME) != 0 ? MS_NOATIME : 0;
		flags |= (st.f_flag & ST_NODIRATIME) != 0 ? MS_NODIRATIME : 0;
		flags |= (st.f_flag & ST_RELATIME) != 0 ? MS_RELATIME : 0;
	}
	if (mount(NULL, to, NULL, flags, NULL) < 0)
		return mounts_fail(err, "make read-only", to);
	return 0;
}

/* A kernel before 5.2 has no open_tree(2), and a filter of system calls may refuse it: then the path is kept open. */
static int mounts_open_source(struct mounts_job *job, const char *from, struct rh_error *err)
{
	struct mounts_source *source = &job->sources[job->opened];
	struct stat st;

	source->fd = open_tree(AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (unsigned)AT_RECURSIVE);
	source->tree = source->fd >= 0;
	if (!source->tree)
		source->fd = open(from, O_PATH | O_CLOEXEC);
	if (source->fd < 0)
		return mounts_fail(err, "find", from);
	job->opened++;
	if (fstat(source->fd, &st) < 0)
		return mounts_fail(err, "look at", from);
	source->folder = S_ISDIR(st.st_mode);
	return 0;
}

static int mounts_attach(const struct mounts_source *source, const char *to)
{
	char path[64];

	if (source->tree)
		return move_mount(source->fd, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", source->fd);
	return mount(path, to, NULL, MS_BIND | MS_REC, NULL);
}

static int mounts_bind(struct mounts_job *job, const struct rh_shim_mount *bind, struct rh_error *err)
{
	const struct mounts_source *source = &job->sources[job->done];
	int r = mounts_make_target(job, bind->to, source->folder, err);

	if (r < 0)
		return r;
	if (mounts_attach(source, bind->to) < 0)
		return rh_fail(err, RH_EIO, "cannot mount \"%s\" at \"%s\": %s", bind->from, bind->to, strerror(errno));
	return bind->read_only ? mounts_set_read_only(bind->to, err) : 0;
}

int rh_shim_mounts_apply(const struct rh_shim_mount *mounts, size_t count, struct rh_error *err)
{
	__attribute__((cleanup(mounts_job_deinit))) struct mounts_job job = {.mounts = mounts};
	int r = 0;

	if (count == 0)
		return 0;
	job.copies = rh_alloc_array(count, sizeof(*job.copies));
	job.sources = rh_alloc_array(count, sizeof(*job.sources));
	if (!job.copies || !job.sources)
		return rh_fail_oom(err);
	if (unshare(CLONE_NEWNS) < 0)
		return rh_fail(err, RH_EIO, "no private mount namespace: %s", strerror(errno));
	while (job.opened < count && r == 0)
		r = mounts_open_source(&job, mounts[job.opened].from, err);
	for (; job.done < count && r == 0; job.done++)
		r = mounts_bind(&job, &mounts[job.done], err);
	return r;
}

int rh_shim_mounts_join(pid_t pid, struct rh_error *err)
{
	char path[64];
	rh_auto_close int fd = -1;
	rh_auto_close int root = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return mounts_fail(err, "open", path);
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* a process whose other threads share its folder may not move; ThreadSanitizer has one */
	if (fd < 0 || unshare(CLONE_FS) < 0 || setns(fd, CLONE_NEWNS) < 0)
		return mounts_fail(err, "enter the mounts of", path);
	/* setns leads to the top of the namespace, which in a chroot is outside */
	if (fchdir(root) < 0 || chroot(".") < 0)
		return mounts_fail(err, "enter the root of", path);
	return 0;
}
