/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/objects.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/str.h"
#include "job/lookups/lookup_files.h"

/* Below a folder: one folder for each plugin. */
#define OBJECTS_FOLDER "objects"
/* Below the prefix of the program. */
#define OBJECTS_SHARE "share/roundhouse/" OBJECTS_FOLDER
#define OBJECTS_ENDING ".yaml"

/* The plugin of a kind. @return whether there is one */
static bool objects_plugin(const struct rh_host *host, const struct rh_kind *kind, struct rh_plugin_info *ret_info)
{
	for (size_t i = 0; i < rh_host_plugin_count(host); i++) {
		rh_host_plugin(host, i, ret_info);
		for (const struct rh_kind *const *at = ret_info->kinds; *at; at++) {
			if (*at == kind)
				return true;
		}
	}
	return false;
}

/* Where the objects of a plugin are: beside its file, where there are some, else where the program is installed.
 * @return owned by the caller; NULL when memory is out */
static char *objects_folder(const struct rh_plugin_info *info)
{
	rh_auto_free char *beside = rh_path_folder(info->path);
	rh_auto_free char *own = beside ? rh_asprintf("%s/" OBJECTS_FOLDER "/%s", beside, info->name) : NULL;
	rh_auto_free char *program = NULL;

	if (!own || rh_program_folder(&program) < 0)
		return NULL;
	if (access(own, F_OK) == 0)
		return rh_take(own);
	return program ? rh_asprintf("%s/../" OBJECTS_SHARE "/%s", program, info->name)
	               : rh_asprintf("/usr/" OBJECTS_SHARE "/%s", info->name);
}

static int objects_is_file(const struct dirent *entry)
{
	return *entry->d_name != '.' && rh_ends_with(entry->d_name, OBJECTS_ENDING);
}

static int objects_read_file(const char *folder, const char *name, struct rh_manifest *manifest, struct rh_error *err)
{
	rh_auto_free char *path = rh_path_join(folder, name);

	return path ? rh_manifest_read(manifest, path, err) : rh_fail_oom(err);
}

/* The files of a folder, by name; one that is missing is empty. */
static int objects_read_folder(const char *folder, struct rh_manifest *manifest, struct rh_error *err)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, objects_is_file, alphasort);
	int r = 0;

	if (count < 0)
		return errno == ENOENT ? 0 : rh_fail(err, RH_EIO, "cannot read the folder \"%s\": %s", folder, strerror(errno));
	for (int i = 0; i < count; i++) {
		r = r == 0 ? objects_read_file(folder, entries[i]->d_name, manifest, err) : r;
		free(entries[i]); /* of scandir(), like the list */
	}
	free(entries);
	return r;
}

static int objects_add_plugin(const struct rh_plugin_info *info, struct rh_manifest *manifest, struct rh_error *err)
{
	rh_auto_free char *folder = objects_folder(info);
	rh_auto_manifest installed = {0};
	int r = folder ? objects_read_folder(folder, &installed, err) : rh_fail_oom(err);

	return r == 0 && rh_manifest_move(manifest, &installed) < 0 ? rh_fail_oom(err) : r;
}

int rh_objects_add_installed(const struct rh_session *session, struct rh_manifest *manifest, struct rh_error *err)
{
	size_t count = manifest->count;
	int r = 0;

	/* a second job of a plugin adds nothing: its objects are there */
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct rh_json *object = manifest->items[i].object;
		const struct rh_kind *kind = rh_host_kind(session->host, rh_json_string_at(object, "apiVersion"),
		                                          rh_json_string_at(object, "kind"), NULL);
		struct rh_plugin_info info;

		if (kind && rh_lookups_text(kind) && objects_plugin(session->host, kind, &info))
			r = objects_add_plugin(&info, manifest, err);
	}
	return r;
}

int rh_objects_look_up(const struct rh_session *session, const struct rh_job *job, const struct rh_manifest *manifest,
                       struct rh_lookups **ret_lookups, struct rh_findings *findings)
{
	rh_auto_free char *folder = NULL;
	struct rh_plugin_info info;
	int r = rh_lookups_of_files(job, manifest, ret_lookups);

	if (r < 0 || !*ret_lookups || !objects_plugin(session->host, job->kind, &info))
		return r;
	folder = objects_folder(&info);
	return folder ? rh_lookups_report(*ret_lookups, manifest, folder, findings) : RH_ENOMEM;
}
