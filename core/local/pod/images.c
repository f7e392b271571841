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

/* One line of the section. Texts are owned. */
struct images_line {
	char *pattern;
	char *folders;
};

static void images_line_deinit(struct images_line *line)
{
	rh_free(line->pattern);
	rh_free(line->folders);
}

/*
 * An INI key ends at its first ':' too, so "a/b:1 = /venv" arrives as the key "a/b" and the value "1 = /venv". Folders
 * start with a slash, which tells such a line apart.
 */
static int images_read_line(const struct rh_setting *setting, struct images_line *line, struct rh_error *err)
{
	const char *equals = setting->value[0] == '/' ? NULL : strchr(setting->value, '=');

	if (equals) {
		size_t length = (size_t)(equals - setting->value);

		while (length > 0 && strchr(" \t", setting->value[length - 1]))
			length--;
		line->pattern = rh_asprintf("%s:%.*s", setting->key, (int)length, setting->value);
		line->folders = rh_strdup(equals + 1 + strspn(equals + 1, " \t"));
	} else {
		line->pattern = rh_strdup(setting->key);
		line->folders = rh_strdup(setting->value);
	}
	return line->pattern && line->folders ? 0 : rh_fail_oom(err);
}

/* Find the first line that fits. @return 1; 0: there is none; RH_ENOMEM */
static int images_find(const struct rh_config *config, const char *image, struct images_line *ret_line,
                       struct rh_error *err)
{
	for (size_t i = 0; i < config->setting_count; i++) {
		struct images_line line = {0};
		int r;

		if (strcmp(config->settings[i].section, IMAGES_SECTION) != 0)
			continue;
		r = images_read_line(&config->settings[i], &line, err);
		if (r == 0 && fnmatch(line.pattern, image, 0) == 0) {
			*ret_line = line;
			return 1;
		}
		images_line_deinit(&line);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool images_has(const char *folder, const char *name, bool is_folder)
{
	rh_auto_free char *path = rh_asprintf("%s/%s", folder, name);
	struct stat st;

	return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode) == is_folder;
}

/* Turn one folder of a line into a folder of PATH. */
static int images_append(const struct images_line *line, const char *folder, struct rh_str *path, struct rh_error *err)
{
	if (folder[0] != '/' || !images_has(folder, ".", true))
		return rh_fail(err, RH_EINVAL,
		               "[" IMAGES_SECTION "] %s: \"%s\" is not a folder of this machine (write its whole path)",
		               line->pattern, folder);
	rh_str_appendf(path, "%s%s:", folder, images_has(folder, "bin", true) ? "/bin" : "");
	return 0;
}

static int images_append_all(const struct images_line *line, struct rh_str *path, struct rh_error *err)
{
	int r = 0;

	for (const char *at = line->folders; *at && r == 0; at += *at == ':' ? 1 : 0) {
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

static int images_use(const struct images_line *line, struct rh_environment *environment, struct rh_error *err)
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
	if (r == 0 && images_has(line->folders, "pyvenv.cfg", false)) {
		/* as the environment's own activate does */
		rh_environment_remove(environment, "PYTHONHOME");
		r = rh_environment_set(environment, "VIRTUAL_ENV", line->folders, RH_ENV_INHERITED);
	}
	return r < 0 ? rh_fail_oom(err) : 0;
}

int rh_images_apply(const struct rh_config *config, const char *image, struct rh_environment *environment,
                    struct rh_error *err)
{
	__attribute__((cleanup(images_line_deinit))) struct images_line line = {0};
	int r = images_find(config, image, &line, err);

	return r <= 0 ? r : images_use(&line, environment, err);
}
