/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `roundhouse inject`: what an init container does that brings rh_comm into a pod whose image does not have it. The
 * image of Roundhouse has no shell and no cp.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/commands.h"

/* Room for where a link leads. */
#define INJECT_PATH_SIZE 4096
/* The tree, below the prefix of the program. */
#define INJECT_TREE "share/roundhouse/inject"
/* Largest file. */
#define INJECT_FILE_MAX (256u * 1024 * 1024)
/* Deepest folder; a tree of ours has three. */
#define INJECT_DEPTH_MAX 16

/* How much was copied. */
struct inject_count {
	size_t files;
	size_t bytes;
};

static int inject_tree(const char *from, const char *to, int depth, struct inject_count *count, struct rh_error *err);

/* @return where the tree lies in the image, beside the program; owned by the caller */
static char *inject_default_source(void)
{
	rh_auto_free char *folder = NULL;

	if (rh_program_folder(&folder) < 0)
		return NULL;
	/* without /proc: where the image has it */
	return folder ? rh_asprintf("%s/../" INJECT_TREE, folder) : rh_strdup("/usr/" INJECT_TREE);
}

/* A container that is started again finds the files of the time before. */
static int inject_file(const char *from, const char *to, mode_t mode, struct inject_count *count, struct rh_error *err)
{
	rh_auto_free char *bytes = NULL;
	size_t length;
	int r = rh_file_read(from, INJECT_FILE_MAX, &bytes, &length, err);

	if (r == 0)
		r = rh_file_write_atomic(to, bytes, length, mode & 0777, err);
	if (r < 0)
		return r;
	count->files++;
	count->bytes += length;
	return 0;
}

static int inject_link(const char *from, const char *to, struct rh_error *err)
{
	char target[INJECT_PATH_SIZE];
	ssize_t length = readlink(from, target, sizeof(target) - 1);

	if (length < 0)
		return rh_fail(err, RH_EIO, "cannot read the link \"%s\": %s", from, strerror(errno));
	target[length] = '\0';
	if (unlink(to) != 0 && errno != ENOENT)
		return rh_fail(err, RH_EIO, "cannot replace \"%s\": %s", to, strerror(errno));
	if (symlink(target, to) != 0)
		return rh_fail(err, RH_EIO, "cannot write the link \"%s\": %s", to, strerror(errno));
	return 0;
}

static int inject_entry(const char *from, const char *to, int depth, struct inject_count *count, struct rh_error *err)
{
	struct stat st;

	if (lstat(from, &st) != 0)
		return rh_fail(err, RH_EIO, "cannot look at \"%s\": %s", from, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return inject_tree(from, to, depth + 1, count, err);
	if (S_ISLNK(st.st_mode))
		return inject_link(from, to, err);
	if (S_ISREG(st.st_mode))
		return inject_file(from, to, st.st_mode, count, err);
	return rh_fail(err, RH_EINVAL, "\"%s\" is not a file, folder or link", from);
}

static int inject_named(const char *from, const char *to, const char *name, int depth, struct inject_count *count,
                        struct rh_error *err)
{
	rh_auto_free char *source = rh_path_join(from, name);
	rh_auto_free char *target = rh_path_join(to, name);

	return source && target ? inject_entry(source, target, depth, count, err) : rh_fail_oom(err);
}

static int inject_tree(const char *from, const char *to, int depth, struct inject_count *count, struct rh_error *err)
{
	const struct dirent *entry;
	DIR *dir = depth < INJECT_DEPTH_MAX ? opendir(from) : NULL;
	int r;

	if (!dir)
		return rh_fail(err, errno == ENOENT ? RH_ENOENT : RH_EIO, "cannot read the folder \"%s\": %s", from,
		               depth < INJECT_DEPTH_MAX ? strerror(errno) : "it is too deep");
	r = rh_dir_make(to, 0755, err);
	while (r == 0 && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = inject_named(from, to, entry->d_name, depth, count, err);
	}
	(void)closedir(dir);
	return r;
}

static int inject_run(const struct rh_cli *cli)
{
	const char *named = rh_cli_option(cli, "from");
	rh_auto_free char *source = named ? rh_strdup(named) : inject_default_source();
	struct inject_count count = {0};
	struct rh_error err = {0};
	int r = source ? inject_tree(source, cli->operands[0], 0, &count, &err) : rh_fail_oom(&err);

	if (r == RH_ENOENT)
		r = rh_wrap(&err, r, "there is nothing to inject; run it in the image of packaging/image.sh, or use --from");
	if (r < 0)
		return rh_cli_end(cli, r, &err);
	printf("%s: %zu files of rh_comm, %.1f MB\n", cli->operands[0], count.files, (double)count.bytes / 1e6);
	return RH_EXIT_OK;
}

static const struct rh_option inject_options[] = {
	{"from", 0, "DIR", NULL, "copy DIR instead of what the image of Roundhouse brings along"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_inject = {
	.name = "inject",
	.synopsis = "DIR",
	.summary = "copy rh_comm into a folder that other containers of a pod share",
	.details = "For an init container that runs the image of Roundhouse: DIR is an emptyDir's mount, which has then\n"
			   "roundhouse/ (the Python package, librhcomm.so.0 and its backends: PYTHONPATH=DIR), lib/ and bin/ with\n"
			   "roundhouse-comm and roundhouse-ps. `image` in section [comm] of the controller's configuration adds\n"
			   "such a container to the pods of every job that uses rh_comm; see docs/comm-python.md.\n\n"
			   "Exit status: 0 copied, 1 it could not be written, 2 wrong arguments, or there is nothing to copy.",
	.options = inject_options,
	.operands_min = 1,
	.operands_max = 1,
	.run = inject_run,
};
