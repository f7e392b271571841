/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/config/pin.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/crypto.h"
#include "base/library/sealed.h"
#include "base/library/trust.h"
#include "base/os/file.h"
#include "base/str.h"
#include "cli/session.h"
#include "host/allow.h"

/* Largest configuration that is changed, in bytes. */
#define PIN_FILE_MAX (1024u * 1024)

/* The list that is being made. */
struct pin {
	const struct rh_config *config;
	struct rh_allow list; /* what was hashed; origin is the file */
	bool named;           /* operands name the files */
};

/* Hash a file that others cannot change. */
static int pin_hash(const char *path, char ret_hash[RH_SHA256_HEX_SIZE], struct rh_error *err)
{
	char real[PATH_MAX];
	char why[RH_ERROR_MESSAGE_SIZE];
	rh_auto_close int fd = rh_trust_open(path, "/proc/self/exe", real, why, sizeof(why));
	rh_auto_close int copy = -1;

	if (fd < 0 && access(path, F_OK) != 0)
		return rh_fail(err, RH_ENOENT, "plugin \"%s\": %s", path, strerror(errno));
	if (fd >= 0)
		copy = rh_sealed_copy(fd, "pin", RH_PLUGIN_FILE_MAX, why, sizeof(why));
	if (copy < 0)
		return rh_fail(err, RH_EPLUGIN, "plugin \"%s\": %s", path, why);
	return rh_crypto_sha256(copy, ret_hash, err);
}

static int pin_file(struct pin *pin, const char *path, struct rh_error *err)
{
	rh_auto_free char *name = rh_files_name(path);
	rh_auto_free char *item = NULL;
	char hash[RH_SHA256_HEX_SIZE];
	int r = name ? pin_hash(path, hash, err) : rh_fail_oom(err);

	if (r < 0)
		return r;
	item = rh_asprintf("%s@sha256:%s", name, hash);
	return item ? rh_allow_add(&pin->list, item, path, false, err) : rh_fail_oom(err);
}

static int pin_is_plugin(const struct dirent *entry)
{
	return rh_ends_with(entry->d_name, RH_PLUGIN_ENDING);
}

static int pin_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* A list that leaves plugins out goes on to do so. The first file of a name is the one that is loaded. */
static bool pin_is_new(const struct pin *pin, const char *name)
{
	const struct rh_allow *allow = &pin->config->plugin_allow;

	return !rh_allow_find(&pin->list, name) && (!allow->closed || rh_allow_find(allow, name));
}

static int pin_found(struct pin *pin, const char *folder, const char *file, struct rh_error *err)
{
	rh_auto_free char *path = rh_path_join(folder, file);
	rh_auto_free char *name = path ? rh_files_name(path) : NULL;

	if (!name)
		return rh_fail_oom(err);
	return pin_is_new(pin, name) ? pin_file(pin, path, err) : 0;
}

static int pin_folder(struct pin *pin, const char *folder, struct rh_error *err)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, pin_is_plugin, pin_compare);
	int r = 0;

	if (count < 0 && errno != ENOENT)
		return rh_fail(err, RH_EIO, "cannot read the folder \"%s\": %s", folder, strerror(errno));
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = pin_found(pin, folder, entries[i]->d_name, err);
		free(entries[i]); /* of scandir() */
	}
	free(entries);
	return r;
}

static int pin_collect(const struct rh_cli *cli, struct pin *pin, struct rh_error *err)
{
	int r = 0;

	pin->named = cli->operand_count > 1;
	for (size_t i = 1; i < cli->operand_count && r == 0; i++)
		r = pin_file(pin, cli->operands[i], err);
	for (size_t i = 0; !pin->named && i < pin->config->plugin_dir_count && r == 0; i++)
		r = pin_folder(pin, pin->config->plugin_dirs[i], err);
	if (r == 0 && pin->list.count == 0)
		return rh_fail(err, RH_ENOENT,
		               "there is no plugin file in the configured folders; `roundhouse config explain "
		               "plugins.path` says where they are looked for");
	return r;
}

static void pin_append(const struct rh_allowed *item, struct rh_str *out)
{
	rh_str_appendf(out, "allow = %s%s%s\n", item->name, item->sha256[0] ? "@sha256:" : "", item->sha256);
}

/* The new lines: what was hashed, and what the file has beside it. What plugins.d pins is left to those files. */
static int pin_lines(const struct pin *pin, struct rh_str *out, struct rh_error *err)
{
	const struct rh_allow *old = &pin->config->plugin_allow;

	for (size_t i = 0; i < pin->list.count; i++) {
		const struct rh_allowed *item = &pin->list.items[i], *before = rh_allow_find(old, item->name);

		if (!before || !before->additional)
			pin_append(item, out);
		else if (strcmp(before->sha256, item->sha256) != 0)
			return rh_fail(err, RH_EINVAL, "plugin \"%s\" is named in %s; change it there: allow = %s@sha256:%s",
			               item->name, before->origin, item->name, item->sha256);
	}
	for (size_t i = 0; i < old->count; i++) {
		if (!old->items[i].additional && !rh_allow_find(&pin->list, old->items[i].name))
			pin_append(&old->items[i], out);
	}
	return out->failed ? rh_fail_oom(err) : 0;
}

/* One line of the file. */
struct pin_line {
	const char *text;
	size_t length; /* without the line feed */
};

static bool pin_next_line(const char **at, struct pin_line *ret_line)
{
	if (!**at)
		return false;
	*ret_line = (struct pin_line){*at, strcspn(*at, "\n")};
	*at += ret_line->length;
	*at += **at == '\n';
	return true;
}

static bool pin_is_header(const struct pin_line *line, bool *ret_plugins)
{
	const char *at = line->text + strspn(line->text, " \t");

	if (*at != '[')
		return false;
	*ret_plugins = rh_starts_with(at, "[plugins]");
	return true;
}

static bool pin_is_allow(const struct pin_line *line)
{
	const char *at = line->text + strspn(line->text, " \t");

	if (!rh_starts_with(at, "allow"))
		return false;
	at += strlen("allow");
	at += strspn(at, " \t");
	return *at == '=' || *at == ':';
}

/* Put the lines where the first allow of [plugins] was; else behind that header; else at the end, with a header. */
static void pin_edit(const char *text, const char *lines, struct rh_str *out)
{
	size_t behind_header = 0;
	bool inside = false, put = false;
	struct pin_line line;

	for (const char *at = text; pin_next_line(&at, &line);) {
		bool header = pin_is_header(&line, &inside);

		if (inside && pin_is_allow(&line)) {
			rh_str_append(out, put ? "" : lines);
			put = true;
			continue;
		}
		rh_str_append_bytes(out, line.text, line.length);
		rh_str_append(out, "\n");
		if (header && inside && behind_header == 0)
			behind_header = out->length;
	}
	if (!put && behind_header == 0)
		rh_str_appendf(out, "\n[plugins]\n%s", lines);
	if (!put && behind_header > 0 && !out->failed) {
		rh_auto_free char *rest = rh_strdup(out->data + behind_header);

		rh_str_cut(out, behind_header);
		rh_str_appendf(out, "%s%s", lines, rest ? rest : "");
		out->failed = out->failed || !rest;
	}
}

static int pin_write(const struct pin *pin, struct rh_error *err)
{
	char real[PATH_MAX];
	rh_auto_free char *text = NULL;
	rh_auto_str lines = {0}, edited = {0};
	struct stat st;
	int r;

	if (!pin->config->file || !realpath(pin->config->file, real) || stat(real, &st) < 0 || !S_ISREG(st.st_mode))
		return rh_fail(err, RH_EINVAL,
		               "option --write: there is no configuration file to change; name it with --config");
	r = pin_lines(pin, &lines, err);
	if (r == 0)
		r = rh_file_read(real, PIN_FILE_MAX, &text, NULL, err);
	if (r < 0)
		return r;
	pin_edit(text, rh_str_text(&lines), &edited);
	if (edited.failed)
		return rh_fail_oom(err);
	r = rh_file_write_atomic(real, edited.data, edited.length, st.st_mode & 07777, err);
	if (r < 0)
		return r;
	/* the file that was replaced was its owner's; only root can, and has to, give it back */
	if (st.st_uid != geteuid() && lchown(real, st.st_uid, st.st_gid) != 0)
		return rh_fail(err, RH_EIO, "cannot give \"%s\" back to user %lu: %s", real, (unsigned long)st.st_uid,
		               strerror(errno));
	printf("%s: %zu plugins are pinned\n", real, pin->list.count);
	return 0;
}

static int pin_print(const struct pin *pin, struct rh_error *err)
{
	rh_auto_str out = {0};

	rh_str_append(&out, "[plugins]\n");
	for (size_t i = 0; i < pin->list.count; i++)
		pin_append(&pin->list.items[i], &out);
	if (out.failed)
		return rh_fail_oom(err);
	rh_cli_print(&out);
	return 0;
}

int rh_plugins_pin(const struct rh_cli *cli, struct rh_error *err)
{
	rh_auto_session session = {0};
	struct pin pin = {.named = false};
	int r = rh_session_configure(cli, rh_cli_option(cli, "config"), &session, err);

	pin.config = session.config;
	if (r == 0)
		r = pin_collect(cli, &pin, err);
	if (r == 0)
		r = rh_cli_option(cli, "write") ? pin_write(&pin, err) : pin_print(&pin, err);
	rh_allow_deinit(&pin.list);
	return r;
}
