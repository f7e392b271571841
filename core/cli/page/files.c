/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page/files.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/keep/place.h"

#define FILES_SUFFIX ".log"

/* Where the search is: a run, and in it a folder of a job, and in that one of a replica. */
struct files_search {
	const struct rh_kept *kept;
	struct rh_page_files *files;
	const char *job;
	const char *replica;
};

/* Called for each entry of a folder. @return 0 or RH_ENOMEM */
typedef int files_entry_fn(const struct files_search *search, const char *path, const char *name);

static int files_each(const struct files_search *search, const char *path, files_entry_fn *fn)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int r = 0;

	while (r == 0 && folder && (entry = readdir(folder))) {
		rh_auto_free char *below = entry->d_name[0] != '.' ? rh_path_join(path, entry->d_name) : NULL;

		if (entry->d_name[0] != '.')
			r = below ? fn(search, below, entry->d_name) : RH_ENOMEM;
	}
	if (folder)
		(void)closedir(folder);
	return r;
}

static int files_grow(struct rh_page_files *files)
{
	size_t room = files->capacity ? 2 * files->capacity : 16;
	struct rh_page_file *grown;

	if (files->count < files->capacity)
		return 0;
	grown = rh_realloc_array(files->items, room, sizeof(*grown));
	if (!grown)
		return RH_ENOMEM;
	files->items = grown;
	files->capacity = room;
	return 0;
}

static int files_on_log(const struct files_search *search, const char *path, const char *name)
{
	struct rh_page_files *files = search->files;
	struct rh_page_file *file;

	if (!rh_ends_with(name, FILES_SUFFIX))
		return 0;
	if (files_grow(files) < 0)
		return RH_ENOMEM;
	file = &files->items[files->count++];
	*file = (struct rh_page_file){.job = rh_strdup(search->job),
	                              .replica = rh_strdup(search->replica),
	                              .container = rh_strndup(name, strlen(name) - strlen(FILES_SUFFIX)),
	                              .path = rh_strdup(path)};
	if (file->container)
		file->times = rh_asprintf("%s/" RH_KEEP_TIMES "/%s/%s/%s", search->kept->path, search->job, search->replica,
		                          file->container);
	return file->job && file->replica && file->container && file->path && file->times ? 0 : RH_ENOMEM;
}

static int files_on_replica(const struct files_search *search, const char *path, const char *name)
{
	const struct files_search below = {search->kept, search->files, search->job, name};

	return files_each(&below, path, files_on_log);
}

static int files_on_job(const struct files_search *search, const char *path, const char *name)
{
	const struct files_search below = {search->kept, search->files, name, NULL};

	return files_each(&below, path, files_on_replica);
}

static int files_compare(const void *a, const void *b)
{
	const struct rh_page_file *x = a;
	const struct rh_page_file *y = b;
	int order = strcmp(x->job, y->job);

	if (order == 0)
		order = strverscmp(x->replica, y->replica);
	return order != 0 ? order : strcmp(x->container, y->container);
}

int rh_page_files_find(const struct rh_kept *kept, struct rh_page_files *ret_files)
{
	rh_auto_free char *logs = rh_kept_logs(kept);
	const struct files_search search = {.kept = kept, .files = ret_files};
	const struct rh_json *job = rh_json_first(rh_json_get(kept->state, "jobs"));
	int r = 0;

	*ret_files = (struct rh_page_files){0};
	if (!logs)
		return RH_ENOMEM;
	if (!kept->state)
		r = files_each(&search, logs, files_on_job);
	for (; job && r == 0; job = rh_json_next(job)) {
		const char *folder = rh_json_string(rh_json_get(job, "logs"));
		rh_auto_free char *path = folder ? rh_path_join(logs, folder) : NULL;

		if (folder)
			r = path ? files_on_job(&search, path, folder) : RH_ENOMEM;
	}
	if (ret_files->count > 1)
		qsort(ret_files->items, ret_files->count, sizeof(*ret_files->items), files_compare);
	return r;
}

void rh_page_files_deinit(struct rh_page_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		rh_free(files->items[i].job);
		rh_free(files->items[i].replica);
		rh_free(files->items[i].container);
		rh_free(files->items[i].path);
		rh_free(files->items[i].times);
	}
	rh_free(files->items);
	*files = (struct rh_page_files){0};
}
