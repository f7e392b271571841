/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes that are files: of ConfigMaps, of Secrets, and of the downward API. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "local/pod/data.h"
#include "local/pod/fields.h"
#include "local/pod/volumes.h"

/* Default mode of a file. */
#define FILES_MODE 0644

/* One file to write. */
struct files_file {
	const char *folder;
	const char *path; /* below the folder */
	const char *bytes;
	size_t length;
	mode_t mode;
};

/* A path that stays below its folder: the object may come from anybody. */
static bool volume_files_path_is_safe(const char *path)
{
	if (!*path || *path == '/')
		return false;
	while (*path) {
		size_t length = strcspn(path, "/");

		if (length == 2 && strncmp(path, "..", 2) == 0)
			return false;
		path += length;
		path += strspn(path, "/");
	}
	return true;
}

static int volume_files_make_parent(const char *path, struct rh_error *err)
{
	rh_auto_free char *folder = rh_path_folder(path);

	return folder ? rh_dir_make_exact(folder, 0755, err) : rh_fail_oom(err);
}

static int volume_files_write(const struct files_file *file, struct rh_error *err)
{
	rh_auto_free char *path = NULL;
	rh_auto_close int fd = -1;
	int r;

	if (!volume_files_path_is_safe(file->path))
		return rh_fail(err, RH_EINVAL, "path \"%s\" of a volume's file must be relative and without \"..\"",
		               file->path);
	path = rh_asprintf("%s/%s", file->folder, file->path);
	if (!path)
		return rh_fail_oom(err);
	r = volume_files_make_parent(path, err);
	if (r < 0)
		return r;
	/* one that is there already may be read-only */
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return rh_fail(err, RH_EIO, "cannot make \"%s\": %s", path, strerror(errno));
	r = rh_fd_write_all(fd, file->bytes, file->length, err);
	if (r < 0)
		return rh_wrap(err, r, "\"%s\"", path);
	return fchmod(fd, file->mode) < 0 ? rh_fail(err, RH_EIO, "cannot set the mode of \"%s\": %s", path, strerror(errno))
	                                  : 0;
}

static mode_t volume_files_mode(const struct rh_json *object, const char *key, mode_t fallback)
{
	int64_t mode;

	if (!rh_json_integer(rh_json_get(object, key), &mode) || mode < 0 || mode > 0777)
		return fallback;
	return (mode_t)mode;
}

static int volume_files_write_data(const char *folder, const struct rh_data *data, mode_t mode, struct rh_error *err)
{
	int r = 0;

	for (size_t i = 0; i < data->count && r == 0; i++) {
		const struct rh_data_item *item = &data->items[i];
		const struct files_file file = {folder, item->key, item->bytes, item->length, mode};

		r = volume_files_write(&file, err);
	}
	return r;
}

/* One of "items": {"key", "path", "mode"?}. */
static int volume_files_write_item(const char *folder, const struct rh_data *data, const struct rh_json *source,
                                   const struct rh_json *item, struct rh_error *err)
{
	const char *key = rh_json_string(rh_json_get(item, "key"));
	const char *path = rh_json_string(rh_json_get(item, "path"));
	const struct rh_data_item *found = key ? rh_data_item(data, key) : NULL;
	struct files_file file = {.folder = folder, .path = path};

	if (!key || !path)
		return rh_fail(err, RH_EINVAL, "an item of a volume's %s needs key and path", rh_json_key(source));
	if (!found && rh_json_bool(rh_json_get(source, "optional"), false))
		return 0;
	if (!found)
		return rh_fail(err, RH_ENOENT, "references non-existent %s key: %s", rh_json_key(source), key);
	file.bytes = found->bytes;
	file.length = found->length;
	file.mode = volume_files_mode(item, "mode", volume_files_mode(source, "defaultMode", FILES_MODE));
	return volume_files_write(&file, err);
}

/* A Secret volume names its object "secretName", everything else "name". */
static int volume_files_find(const struct rh_pod_context *context, const char *kind, const struct rh_json *source,
                             struct rh_data *ret_data, struct rh_error *err)
{
	const char *name = rh_json_string(rh_json_get(source, "secretName"));
	rh_auto(json) reference = NULL;

	if (!name)
		return rh_data_find(context, kind, source, ret_data, err);
	reference = rh_json_new_object();
	if (!reference || rh_json_set_string(reference, "name", name) < 0 ||
	    rh_json_set_bool(reference, "optional", rh_json_bool(rh_json_get(source, "optional"), false)) < 0)
		return rh_fail_oom(err);
	return rh_data_find(context, kind, reference, ret_data, err);
}

static int volume_files_of_object(const struct rh_pod_context *context, const char *folder,
                                  const struct rh_json *source, struct rh_error *err)
{
	bool secret = strcmp(rh_json_key(source), "secret") == 0;
	const struct rh_json *items = rh_json_get(source, "items");
	rh_auto_data data = {0};
	int r = volume_files_find(context, secret ? "Secret" : "ConfigMap", source, &data, err);

	if (r <= 0)
		return r;
	if (rh_json_size(items) == 0)
		return volume_files_write_data(folder, &data, volume_files_mode(source, "defaultMode", FILES_MODE), err);
	r = 0;
	for (const struct rh_json *item = rh_json_first(items); item && r == 0; item = rh_json_next(item))
		r = volume_files_write_item(folder, &data, source, item, err);
	return r;
}

static int volume_files_of_field(const struct rh_pod_context *context, const char *folder, const struct rh_json *source,
                                 const struct rh_json *item, struct rh_error *err)
{
	const struct rh_json *field = rh_json_get(item, "fieldRef");
	const struct rh_json *resource = rh_json_get(item, "resourceFieldRef");
	const char *path = rh_json_string(rh_json_get(item, "path"));
	const char *field_path = rh_json_string(rh_json_get(field, "fieldPath"));
	struct files_file file = {.folder = folder, .path = path ? path : ""};
	rh_auto_free char *text = NULL;
	int r;

	if (resource)
		r = rh_pod_resource(context, NULL, resource, &text, err);
	else
		r = rh_pod_field(context, field_path ? field_path : "", &text, err);
	if (r < 0)
		return rh_wrap(err, r, "downwardAPI file \"%s\"", file.path);
	file.bytes = text;
	file.length = strlen(text);
	file.mode = volume_files_mode(item, "mode", volume_files_mode(source, "defaultMode", FILES_MODE));
	return volume_files_write(&file, err);
}

int rh_volume_files(const struct rh_pod_context *context, const char *folder, const struct rh_json *source,
                    struct rh_error *err)
{
	const char *sort = source ? rh_json_key(source) : "";
	const struct rh_json *item;
	int r = 0;

	if (strcmp(sort, "configMap") == 0 || strcmp(sort, "secret") == 0)
		return volume_files_of_object(context, folder, source, err);
	if (strcmp(sort, "downwardAPI") != 0)
		return rh_fail(err, RH_EINVAL, "a projected volume's %s is not supported on one machine; remove it", sort);
	for (item = rh_json_first(rh_json_get(source, "items")); item && r == 0; item = rh_json_next(item))
		r = volume_files_of_field(context, folder, source, item, err);
	return r;
}
