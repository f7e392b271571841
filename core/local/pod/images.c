/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/images.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"

#define IMAGES_SECTION "images"
/* What a process without PATH gets: what a login shell of Debian has. */
#define IMAGES_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* @return the first line that fits, of the command line or of files, or NULL */
static const struct rh_setting *images_first(const struct rh_config *config, const char *image, bool given)
{
	for (size_t i = 0; i < config->setting_count; i++) {
		const struct rh_setting *setting = &config->settings[i];

		if (strcmp(setting->section, IMAGES_SECTION) == 0 && fnmatch(setting->key, image, 0) == 0 &&
		    (strcmp(setting->origin, RH_IMAGES_OPTION) == 0) == given)
			return setting;
	}
	return NULL;
}

const struct rh_setting *rh_images_find(const struct rh_config *config, const char *image)
{
	const struct rh_setting *given = images_first(config, image, true);

	return given ? given : images_first(config, image, false);
}

static bool images_has(const char *folder, const char *name, bool is_folder)
{
	rh_auto_free char *path = rh_asprintf("%s/%s", folder, name);
	struct stat st;

	return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode) == is_folder;
}

/* Turn one folder of a line into a folder of PATH. */
static int images_append(const struct rh_setting *line, const char *folder, struct rh_str *path, struct rh_error *err)
{
	if (folder[0] != '/' || !images_has(folder, ".", true))
		return rh_fail(err, RH_EINVAL,
		               "[" IMAGES_SECTION "] %s: \"%s\" is not a folder of this machine (write its whole path)",
		               line->key, folder);
	rh_str_appendf(path, "%s%s:", folder, images_has(folder, "bin", true) ? "/bin" : "");
	return 0;
}

static int images_append_all(const struct rh_setting *line, struct rh_str *path, struct rh_error *err)
{
	int r = 0;

	for (const char *at = line->value; *at && r == 0; at += *at == ':' ? 1 : 0) {
		size_t length = strcspn(at, ":");
		rh_auto_free char *folder = rh_strndup(at, length);

		if (!folder)
			return rh_fail_oom(err);
		if (length > 0)
			r = images_append(line, folder, path, err);
		at += length;
	}
	return r;
}

static int images_use(const struct rh_setting *line, struct rh_environment *environment, struct rh_error *err)
{
	const char *before = rh_environment_get(environment, "PATH", RH_ENV_INHERITED);
	rh_auto_str path = {0};
	int r = images_append_all(line, &path, err);

	if (r < 0)
		return r;
	rh_str_append(&path, before ? before : IMAGES_DEFAULT_PATH);
	if (path.failed)
		return rh_fail_oom(err);
	r = rh_environment_set(environment, "PATH", rh_str_text(&path), RH_ENV_INHERITED);
	if (r == 0 && images_has(line->value, "pyvenv.cfg", false)) {
		/* as the environment's own activate does */
		rh_environment_remove(environment, "PYTHONHOME");
		r = rh_environment_set(environment, "VIRTUAL_ENV", line->value, RH_ENV_INHERITED);
	}
	return r < 0 ? rh_fail_oom(err) : 0;
}

int rh_images_apply(const struct rh_config *config, const char *image, struct rh_environment *environment,
                    struct rh_error *err)
{
	const struct rh_setting *line = rh_images_find(config, image);

	return line ? images_use(line, environment, err) : 0;
}
