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
#include "base/library/trust.h"
#include "base/os/file.h"
#include "base/str.h"
#include "config/config.h"
#include "config/fabric.h"
#include "config/values.h"

/** Largest configuration file, in bytes. */
#define READ_FILE_MAX (1024u * 1024)
/** Name of the file of a user, and of a folder. */
#define READ_FILE "roundhouse.ini"
/** The folder beside a file whose files are read after it, and how they end. */
#define READ_FOLDER "plugins.d"
#define READ_ENDING ".ini"
/** The section that names code to load. */
#define READ_CODE_SECTION "plugins"

/** What the reader of one file carries along. */
struct read_file {
	struct rh_config *config;
	char *folder;     /**< of the file; owned */
	const char *name; /**< of the file */
	bool additional;  /**< it is one of plugins.d */
	enum rh_config_layer layer;
};

/** A folder's file may come with what somebody else wrote, as a cloned repository: it must not name code to load. */
static int read_check_section(const struct read_file *file, const char *section, const char *key, struct rh_error *err)
{
	if (!rh_config_section_of(section))
		return rh_config_refuse_section(section, key, err);
	if (file->layer == RH_LAYER_PROJECT && strcmp(section, READ_CODE_SECTION) == 0)
		return rh_fail(err, RH_EINVAL,
		               "section [" READ_CODE_SECTION "] names code to load, and the file of a working directory may be "
		               "somebody else's; move it to ~/.config/roundhouse/roundhouse.ini, or use --config");
	return 0;
}

static int read_keep(const struct read_file *file, const struct rh_config_place *place, const char *section,
                     const char *key, const char *value)
{
	rh_auto_free char *folders = NULL;

	if (strcmp(section, RH_CONFIG_IMAGES_SECTION) == 0) {
		if (rh_config_image_folders(value, file->folder, &folders) < 0)
			return RH_ENOMEM;
		value = folders;
	}
	return rh_config_add(file->config, place, section, key, value);
}

static int read_setting(void *arg, const char *section, const char *key, const char *value, int line,
                        struct rh_error *err)
{
	const struct read_file *file = arg;
	const struct rh_config_key *row = rh_config_key(section, key);
	rh_auto_free char *origin = rh_asprintf("%s:%d", file->name, line);
	struct rh_config_place place = {file->folder, origin, file->additional, file->layer};
	int r;

	if (!origin)
		return rh_fail_oom(err);
	r = read_check_section(file, section, key, err);
	if (r < 0)
		return r;
	if (rh_fabric_is_section(section))
		r = rh_fabric_check(section, key, value, err);
	else if (!rh_config_is_free(section))
		r = row ? rh_config_take(file->config, &place, row, value, err) : rh_config_refuse_key(section, key, err);
	if (r == 0 && read_keep(file, &place, section, key, value) < 0)
		r = rh_fail_oom(err);
	return r;
}

/** @param file without its folder */
static int read_text(const struct read_file *file, const char *text, size_t length, struct rh_error *err)
{
	rh_auto_free char *folder = rh_path_folder(file->name);
	struct read_file whole = *file;
	int r;

	if (!folder)
		return rh_fail_oom(err);
	whole.folder = folder;
	r = rh_ini_parse(file->name, text, length, read_setting, &whole, err);
	if (r < 0)
		return r;
	if (file->config->restart_backoff_max < file->config->restart_backoff)
		return rh_fail(err, RH_EINVAL, "%s: restart-backoff-max is shorter than restart-backoff; raise it", file->name);
	return 0;
}

int rh_config_parse(struct rh_config *config, const char *name, const char *text, size_t length, struct rh_error *err)
{
	const struct read_file file = {.config = config, .name = name};

	return read_text(&file, text, length, err);
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

/** @param file without its folder */
static int read_one(const struct read_file *file, struct rh_error *err)
{
	const char *path = file->name;
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
	return r < 0 ? r : read_text(file, text, length, err);
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

/** Read the files of plugins.d beside @p file, in the order of their names. */
static int read_additions(const struct read_file *file, struct rh_error *err)
{
	rh_auto_free char *folder = rh_path_folder(file->name);
	rh_auto_free char *additions = folder ? rh_path_join(folder, READ_FOLDER) : NULL;
	struct dirent **entries = NULL;
	int count = additions ? scandir(additions, &entries, read_is_addition, read_compare) : 0;
	int r = 0;

	if (!additions)
		return rh_fail_oom(err);
	if (count < 0 && errno != ENOENT && errno != ENOTDIR)
		return rh_fail(err, RH_EIO, "cannot read the folder \"%s\": %s", additions, strerror(errno));
	for (int i = 0; i < count; i++) {
		rh_auto_free char *path = rh_path_join(additions, entries[i]->d_name);
		const struct read_file addition = {
			.config = file->config, .name = path, .additional = true, .layer = file->layer};

		if (r == 0)
			r = path ? read_one(&addition, err) : rh_fail_oom(err);
		free(entries[i]); /* of scandir() */
	}
	free(entries);
	return r;
}

int rh_config_read(struct rh_config *config, const char *path, struct rh_error *err)
{
	const struct read_file file = {.config = config, .name = path};
	int r;

	rh_free(config->file);
	config->file = rh_strdup(path);
	r = config->file ? read_one(&file, err) : rh_fail_oom(err);
	return r < 0 || strcmp(path, "-") == 0 ? r : read_additions(&file, err);
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

static bool read_is_same(const char *path, const char *other)
{
	struct stat a, b;

	return other && stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/** Read the user's file and its plugins.d. @param path NULL: the user has no folder for it */
static int read_user(struct rh_config *config, const char *path, struct rh_error *err)
{
	const struct read_file file = {.config = config, .name = path, .layer = RH_LAYER_USER};
	int r;

	if (!path || access(path, F_OK) != 0 || read_is_same(path, config->file))
		return 0;
	r = read_one(&file, err);
	return r < 0 ? r : read_additions(&file, err);
}

/** Read the file of the working directory, unless it is one of those that were read. */
static int read_project(struct rh_config *config, const char *user, struct rh_error *err)
{
	char folder[PATH_MAX];
	rh_auto_free char *path = getcwd(folder, sizeof(folder)) ? rh_path_join(folder, READ_FILE) : rh_strdup("");
	const struct read_file file = {.config = config, .name = path, .layer = RH_LAYER_PROJECT};

	if (!path)
		return rh_fail_oom(err);
	if (access(path, F_OK) != 0 || read_is_same(path, config->file) || read_is_same(path, user))
		return 0;
	return read_one(&file, err);
}

/** @param[out] ret_path of the user's file, owned by the caller; NULL: there is no folder for it. @return 0 or
 * RH_ENOMEM */
static int read_user_path(char **ret_path)
{
	const char *folder = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	*ret_path = NULL;
	if (folder && folder[0] == '/')
		*ret_path = rh_asprintf("%s/roundhouse/" READ_FILE, folder);
	else if (home && home[0] == '/')
		*ret_path = rh_asprintf("%s/.config/roundhouse/" READ_FILE, home);
	else
		return 0;
	return *ret_path ? 0 : RH_ENOMEM;
}

int rh_config_find_own(struct rh_config *config, struct rh_error *err)
{
	rh_auto_free char *user = NULL;
	int r;

	if (getenv("ROUNDHOUSE_CONFIG"))
		return 0;
	if (read_user_path(&user) < 0)
		return rh_fail_oom(err);
	r = read_user(config, user, err);
	return r < 0 ? r : read_project(config, user, err);
}
