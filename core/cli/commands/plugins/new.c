/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "base/str.h"
#include "cli/commands/plugins/plugins.h"
#include "cli/scaffold/scaffold.h"

/* @return the folder above that of the running program: where Roundhouse is installed; owned by the caller */
static char *new_prefix(void)
{
	rh_auto_free char *folder = NULL;

	if (rh_program_folder(&folder) < 0)
		return NULL;
	return folder && strchr(folder + 1, '/') ? rh_path_folder(folder) : rh_strdup("/usr/local");
}

static int new_write(const struct rh_scaffold *scaffold, const char *folder, const char *path, const char *text,
                     struct rh_error *err)
{
	rh_auto_free char *file = rh_path_join(folder, path);
	rh_auto_free char *parent = file ? rh_path_folder(file) : NULL;
	rh_auto_str out = {0};
	int r = parent ? rh_dir_make(parent, 0777, err) : rh_fail_oom(err);

	if (r == 0)
		r = rh_scaffold_expand(scaffold, text, &out, err);
	if (r == 0 && out.failed)
		r = rh_fail_oom(err);
	return r == 0 ? rh_file_write_atomic(file, rh_str_text(&out), out.length, 0644, err) : r;
}

static int new_write_all(const struct rh_scaffold *scaffold, const char *folder, struct rh_error *err)
{
	int r = 0;

	for (const struct rh_template *at = rh_templates; at->path && r == 0; at++) {
		rh_auto_free char *path = NULL;

		if (rh_scaffold_has(scaffold, at, &path))
			r = path ? new_write(scaffold, folder, path, at->text, err) : rh_fail_oom(err);
	}
	return r;
}

/* The folder is made here and by nobody else, so what is below it after a failure is ours to remove. */
static int new_make(const struct rh_scaffold *scaffold, const char *folder, struct rh_error *err)
{
	rh_auto_free char *parent = rh_path_folder(folder);
	int r = parent ? rh_dir_make(parent, 0777, err) : rh_fail_oom(err);

	if (r < 0)
		return r;
	if (mkdir(folder, 0777) != 0)
		return errno == EEXIST
		           ? rh_fail(err, RH_EINVAL,
		                     "\"%s\" exists, and nothing in it is changed; name another folder with --dir", folder)
		           : rh_fail(err, RH_EIO, "cannot make the folder \"%s\": %s", folder, strerror(errno));
	r = new_write_all(scaffold, folder, err);
	if (r < 0)
		(void)rh_dir_remove(folder, NULL);
	return r;
}

static void new_print(const struct rh_scaffold *scaffold, const char *folder)
{
	printf("%s: plugin \"%s\" with the kind %s (%s/v1)\n\nBuild it and test it:\n\n  cd %s\n", folder, scaffold->name,
	       scaffold->kind, scaffold->group, folder);
	if (strcmp(scaffold->lang, "rust") == 0)
		puts("  make\n  make test");
	else
		printf("  cmake -S . -B build -DCMAKE_PREFIX_PATH=%s\n  cmake --build build\n"
		       "  ctest --test-dir build --output-on-failure\n",
		       scaffold->prefix);
	puts("\nREADME.md there has more.");
}

int rh_plugins_new(const struct rh_cli *cli, struct rh_error *err)
{
	const struct rh_scaffold_words words = {
		.name = cli->operand_count > 1 ? cli->operands[1] : NULL,
		.kind = rh_cli_option(cli, "kind"),
		.replicas = rh_cli_option(cli, "replicas"),
		.lang = rh_cli_option(cli, "lang"),
		.group = rh_cli_option(cli, "group"),
	};
	const char *folder = rh_cli_option(cli, "dir");
	rh_auto_free char *prefix = new_prefix();
	struct rh_scaffold scaffold = {0};
	int r = prefix ? rh_scaffold_read(&words, &scaffold, err) : rh_fail_oom(err);

	if (r < 0)
		return r;
	scaffold.prefix = prefix;
	folder = folder ? folder : scaffold.name;
	r = new_make(&scaffold, folder, err);
	if (r == 0)
		new_print(&scaffold, folder);
	return r;
}
