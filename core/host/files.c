/* SPDX-License-Identifier: Apache-2.0 */
#include "host/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "base/str.h"

void rh_files_deinit(struct rh_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		rh_free(files->items[i]);
	rh_free(files->items);
	*files = (struct rh_files){0};
}

char *rh_files_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t length = strlen(base);

	if (rh_ends_with(base, RH_PLUGIN_ENDING))
		length -= strlen(RH_PLUGIN_ENDING);
	return rh_strndup(base, length);
}

static bool files_is_one(const char *a, const char *b)
{
	struct stat one, other;

	if (strcmp(a, b) == 0)
		return true;
	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/** A plugin of this release. */
struct files_own {
	const char *name;
	const char *kinds; /* see rh_files_own_kinds() */
};

/* Reviewed and tested with the release. */
static const struct files_own files_own[] = {
	{"mpi.so", "MPIJob"},       {"mpi2.so", "MPIJob"},      {"paddle.so", "PaddleJob"},   {"pytorch.so", "PyTorchJob"},
	{"tensorflow.so", "TFJob"}, {"trainer.so", "TrainJob"}, {"xgboost.so", "XGBoostJob"},
};

static const struct files_own *files_find_own(const char *name)
{
	for (size_t i = 0; i < sizeof(files_own) / sizeof(files_own[0]); i++) {
		if (strcmp(files_own[i].name, name) == 0)
			return &files_own[i];
	}
	return NULL;
}

const char *rh_files_own_kinds(const char *path)
{
	/* where a build tree has them, and where they are installed */
	static const char *const libraries[] = {"lib", RH_LIBDIR};
	const char *slash = strrchr(path, '/');
	const struct files_own *own = slash ? files_find_own(slash + 1) : NULL;
	rh_auto_free char *folder = NULL;

	if (own)
		(void)rh_program_folder(&folder);
	if (!folder)
		return NULL;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		rh_auto_free char *beside = rh_asprintf("%s/../%s/roundhouse/plugins%s", folder, libraries[i], slash);

		if (beside && files_is_one(path, beside))
			return own->kinds;
	}
	return NULL;
}

static int files_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int files_keep(struct rh_files *files, const char *folder, const char *name)
{
	char **grown;

	if (!rh_ends_with(name, RH_PLUGIN_ENDING))
		return 0;
	grown = rh_realloc_array(files->items, files->count + 1, sizeof(*grown));
	if (!grown)
		return RH_ENOMEM;
	files->items = grown;
	grown[files->count] = rh_path_join(folder, name);
	return grown[files->count] ? (files->count++, 0) : RH_ENOMEM;
}

int rh_files_list(const char *path, struct rh_files *files, struct rh_error *err)
{
	DIR *dir = opendir(path);
	size_t first = files->count;
	const struct dirent *entry;
	int r = 0;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return rh_fail(err, RH_EIO, "cannot read the folder: %s", strerror(errno));
	while (r == 0 && (entry = readdir(dir)))
		r = files_keep(files, path, entry->d_name);
	closedir(dir);
	if (r < 0)
		return rh_fail_oom(err);
	if (files->count > first + 1)
		qsort(files->items + first, files->count - first, sizeof(*files->items), files_compare);
	return 0;
}
