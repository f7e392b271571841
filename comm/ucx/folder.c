/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UCX names a segment of shared memory while it maps it, and adds further ones: a process that is killed meanwhile
 * leaves the name. So each context has a folder of its own for them, whose name has the owner's process ID, and ranks
 * that close or open a context remove the folders of ended processes of their user.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/ucx/folder.h"

#define SHARED_MEMORY "/dev/shm"
#define PREFIX "rh_comm_ucx."
/* Fields of /proc/PID/stat after the name of the program (proc(5)). */
#define FIELD_START 19
#define FIELD_SIZE 20
#define FIELD_ROOM 1024

/* A process: its number may be another's later. */
struct owner {
	unsigned long long space; /* of processes */
	int pid;
	unsigned long long start;
};

static unsigned long long folder_space(void)
{
	struct stat space = {0};

	return stat("/proc/self/ns/pid", &space) < 0 ? 0 : (unsigned long long)space.st_ino;
}

/* @return the text of /proc/PID/stat after the name of the program, in `text`; NULL: there is no such process */
static const char *folder_read_fields(int pid, char *text)
{
	char path[40];
	const char *end;
	FILE *file;
	size_t length;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	length = fread(text, 1, FIELD_ROOM - 1, file);
	(void)fclose(file);
	text[length] = '\0';
	end = strrchr(text, ')');
	return end ? end + 1 : NULL;
}

/* @return whether there is such a process; one that has ended, or is about to, has no memory any more */
static bool folder_find_start(int pid, unsigned long long *ret_start)
{
	char text[FIELD_ROOM];
	const char *at = folder_read_fields(pid, text);
	unsigned long long values[2] = {0, 0};

	for (int field = 0; at && field <= FIELD_SIZE; field++) {
		at += strspn(at, " ");
		if (field >= FIELD_START)
			values[field - FIELD_START] = strtoull(at, NULL, 10);
		at += strcspn(at, " ");
	}
	*ret_start = values[0];
	return at && values[1] > 0;
}

static bool folder_is_forsaken(const struct owner *owner)
{
	unsigned long long start;

	return owner->space == folder_space() && (!folder_find_start(owner->pid, &start) || start != owner->start);
}

/* @param parent the folder in which it is */
static void folder_remove_at(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!folder) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((entry = readdir(folder)))
		(void)unlinkat(dirfd(folder), entry->d_name, 0);
	(void)closedir(folder);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

static void folder_look(int parent, const char *name)
{
	struct stat status;
	struct owner owner;

	if (sscanf(name, PREFIX "%llx.%d.%llu.", &owner.space, &owner.pid, &owner.start) != 3 ||
	    fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(status.st_mode) ||
	    status.st_uid != geteuid())
		return;
	if (folder_is_forsaken(&owner))
		folder_remove_at(parent, name);
}

static void folder_sweep(void)
{
	DIR *parent = opendir(SHARED_MEMORY);
	const struct dirent *entry;

	while (parent && (entry = readdir(parent)))
		folder_look(dirfd(parent), entry->d_name);
	if (parent)
		(void)closedir(parent);
}

void ucx_folder_make(struct ucx *ucx)
{
	unsigned long long start;

	folder_sweep();
	if (getenv("UCX_POSIX_DIR") || !folder_find_start(getpid(), &start))
		return;
	(void)snprintf(ucx->folder, sizeof(ucx->folder), SHARED_MEMORY "/" PREFIX "%llx.%d.%llu.XXXXXX", folder_space(),
	               (int)getpid(), start);
	if (!mkdtemp(ucx->folder))
		ucx->folder[0] = '\0';
}

void ucx_folder_remove(struct ucx *ucx)
{
	if (ucx->folder[0])
		folder_remove_at(AT_FDCWD, ucx->folder);
	ucx->folder[0] = '\0';
	folder_sweep();
}
