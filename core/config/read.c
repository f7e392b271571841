/* SPDX-License-Identifier: Apache-2.0 */
/* Which files count, and what they say. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ini.h"
#include "base/os/file.h"
#include "base/os/trust.h"
#include "base/str.h"
#include "config/config.h"
#include "config/fabric.h"
#include "config/values.h"

/** Largest configuration file, in bytes. */
#define READ_FILE_MAX (1024u * 1024)
/** The folder beside a file whose files are read after it, and how they end. */
#define READ_FOLDER "plugins.d"
#define READ_ENDING ".ini"

/** What the reader of one file carries along. */
struct read_file {
	struct rh_config *config;
	char *folder;     /**< of the file; owned */
	const char *name; /**< of the file */
	bool additional;  /**< it is one of plugins.d */
};

static int read_setting(void *arg, const char *section, const char *key, const char *value, int line,
                        struct rh_error *err)
{
	const struct read_file *file = arg;
	const struct rh_config_key *row = rh_config_key(section, key);
	rh_auto_free char *origin = rh_asprintf("%s:%d", file->name, line);
	struct rh_config_place place = {file->folder, origin, file->additional};
	int r = 0;

	if (!origin)
		return rh_fail_oom(err);
	if (!rh_config_section_of(section))
		return rh_config_refuse_section(section, key, err);
	if (rh_fabric_is_section(section))
		r = rh_fabric_check(section, key, value, err);
	else if (!rh_config_is_free(section))
		r = row ? rh_config_take(file->config, &place, row, value, err) : rh_config_refuse_key(section, key, err);
	if (r == 0 && rh_config_add(file->config, &place, section, key, value) < 0)
		r = rh_fail_oom(err);
	return r;
}

static int read_text(struct rh_config *config, const char *name, const char *text, size_t length, bool additional,
                     struct rh_error *err)
{
	rh_auto_free char *folder = rh_path_folder(name);
	struct read_file file = {.config = config, .folder = folder, .name = name, .additional = additional};
	int r;

	if (!folder)
		return rh_fail_oom(err);
	r = rh_ini_parse(name, text, length, read_setting, &file, err);
	if (r < 0)
		return r;
	if (config->restart_backoff_max < config->restart_backoff)
		return rh_fail(err, RH_EINVAL, "%s: restart-backoff-max is shorter than restart-backoff; raise it", name);
	return 0;
}

int rh_config_parse(struct rh_config *config, const char *name, const char *text, size_t length, struct rh_error *err)
{
	return read_text(config, name, text, length, false, err);
}

/** Open a configuration file that others cannot change. A pipe, as a shell's <(command) is one, has no name to check.
 */
static int read_open(const char *path, int *ret_fd, struct rh_error *err)
{
	rh_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char real[PATH_MAX];
	char why[RH_ERROR_MESSAGE_SIZE];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return rh_fail(err, errno == ENOENT ? RH_ENOENT : RH_EIO, "cannot open \"%s\": %s", path, strerror(errno));
	if (S_ISFIFO(st.st_mode) && st.st_uid != 0 && st.st_uid != geteuid())
		return rh_fail(err, RH_EINVAL, "configuration \"%s\": the pipe belongs to user %lu", path,
		               (unsigned long)st.st_uid);
	if (!S_ISREG(st.st_mode)) {
		*ret_fd = fd;
		fd = -1;
		return 0;
	}
	*ret_fd = rh_trust_open(path, "/proc/self/exe", real, why, sizeof(why));
	return *ret_fd < 0 ? rh_fail(err, RH_EINVAL, "configuration \"%s\": %s", path, why) : 0;
}

static int read_one(struct rh_config *config, const char *path, bool additional, struct rh_error *err)
{
	rh_auto_close int fd = -1;
	rh_auto_free char *text = NULL;
	size_t length = 0;
	int r;

	if (strcmp(path, "-") == 0) {
		r = rh_file_read(path, READ_FILE_MAX, &text, &length, err);
	} else {
		r = read_open(path, &fd, err);
		if (r == 0)
			r = rh_fd_read(fd, path, READ_FILE_MAX, &text, &length, err);
	}
	return r < 0 ? r : read_text(config, path, text, length, additional, err);
}

/** Hidden files are those of editors, and of a mounted ConfigMap. */
static int read_is_addition(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && rh_ends_with(entry->d_name, READ_ENDING);
}

/** By bytes, whatever the locale is. */
static int read_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/** Read the files of plugins.d beside @p path, in the order of their names. */
static int read_additions(struct rh_config *config, const char *path, struct rh_error *err)
{
	rh_auto_free char *folder = rh_path_folder(path);
	rh_auto_free char *additions = folder ? rh_path_join(folder, READ_FOLDER) : NULL;
	struct dirent **entries = NULL;
	int count = additions ? scandir(additions, &entries, read_is_addition, read_compare) : 0;
	int r = 0;

	if (!additions)
		return rh_fail_oom(err);
	if (count < 0 && errno != ENOENT && errno != ENOTDIR)
		return rh_fail(err, RH_EIO, "cannot read the folder \"%s\": %s", additions, strerror(errno));
	for (int i = 0; i < count; i++) {
		rh_auto_free char *file = rh_path_join(additions, entries[i]->d_name);

		if (r == 0)
			r = file ? read_one(config, file, true, err) : rh_fail_oom(err);
		free(entries[i]); /* of scandir() */
	}
	free(entries);
	return r;
}

int rh_config_read(struct rh_config *config, const char *path, struct rh_error *err)
{
	char *file = rh_strdup(path);
	int r = file ? 0 : rh_fail_oom(err);

	rh_free(config->file);
	config->file = file;
	if (r == 0)
		r = read_one(config, path, false, err);
	return r < 0 || strcmp(path, "-") == 0 ? r : read_additions(config, path, err);
}

/** Read @p path if it is there. @return 1 when it was read, 0 when there is none, or as rh_config_read() */
static int read_try(struct rh_config *config, const char *path, struct rh_error *err)
{
	int r;

	if (!path)
		return rh_fail_oom(err);
	if (access(path, F_OK) != 0)
		return 0;
	r = rh_config_read(config, path, err);
	return r < 0 ? r : 1;
}

/** read_try() of what lies beside the program: A CMake cache distinguishes a build tree from an installation below
 * /usr. */
static int read_try_beside(struct rh_config *config, const char *program, struct rh_error *err)
{
	rh_auto_free char *beside = rh_asprintf("%s/../conf/roundhouse.ini", program);
	rh_auto_free char *cache = rh_asprintf("%s/../CMakeCache.txt", program);
	rh_auto_free char *source = rh_asprintf("%s/../../../conf/roundhouse.ini", program);
	int r = read_try(config, beside, err);

	if (r != 0)
		return r;
	if (!cache || !source)
		return rh_fail_oom(err);
	return access(cache, F_OK) == 0 ? read_try(config, source, err) : 0;
}

/** read_try() of what an installation below another prefix brought along, as /usr/local/etc. */
static int read_try_installed(struct rh_config *config, const char *program, struct rh_error *err)
{
	rh_auto_free char *installed = rh_asprintf("%s/../etc/roundhouse/roundhouse.ini", program);

	return read_try(config, installed, err);
}

int rh_config_find(struct rh_config *config, const char *path, struct rh_error *err)
{
	rh_auto_free char *program = NULL;
	const char *named = path ? path : getenv("ROUNDHOUSE_CONFIG");
	int r;

	if (named && *named)
		return rh_config_read(config, named, err);
	if (rh_program_folder(&program) < 0)
		return rh_fail_oom(err);
	r = 0;
	if (program)
		r = read_try_beside(config, program, err);
	if (r == 0)
		r = read_try(config, "/etc/roundhouse/roundhouse.ini", err);
	if (r == 0 && program)
		r = read_try_installed(config, program, err);
	return r < 0 ? r : 0;
}
