/* SPDX-License-Identifier: Apache-2.0 */
/* Two files that are made of the table: docs/configuration.md and conf/roundhouse.ini. */
#include <string.h>

#include "cli/config/parts.h"
#include "cli/config/rows.h"
#include "cli/wrap.h"

/* Lines of a comment end there. */
#define PAGES_WIDTH 120

/* A file that is being written. */
struct pages {
	struct rh_str *out;
	char section[64]; /* of the row before */
};

static void pages_comment(const char *text, struct rh_str *out)
{
	rh_str_append(out, "; ");
	rh_cli_wrap(text, "; ", 2, PAGES_WIDTH, out);
}

static const char *pages_section_help(const char *section)
{
	for (const struct rh_config_section *at = rh_config_sections(); at->name; at++) {
		if (strcmp(at->name, section) == 0)
			return at->help;
	}
	return NULL;
}

/* Sections that a file may leave out stand in comments. */
static int pages_ini_row(void *arg, const struct rh_row *row)
{
	struct pages *pages = arg;
	bool named = strcmp(row->section, "comm NAME") == 0;
	bool plugin = rh_starts_with(row->section, "plugin ");
	const char *key = strcmp(row->key, "env.NAME") == 0 ? (named ? "env.UCX_NET_DEVICES" : "env.UCX_TLS") : row->key;
	const char *help = pages_section_help(row->section);

	if (strcmp(row->section, "images") == 0)
		key = "docker.io/pytorch/*";
	if (strcmp(pages->section, row->section) != 0) {
		rh_copy(pages->section, sizeof(pages->section), row->section);
		rh_str_append(pages->out, "\n");
		if (plugin || named)
			rh_str_appendf(pages->out, "; [%s]\n", named ? "comm rdma" : row->section);
		else
			rh_str_appendf(pages->out, "[%s]\n", row->section);
		if (help)
			pages_comment(help, pages->out);
	}
	rh_str_append(pages->out, "\n");
	pages_comment(row->help, pages->out);
	rh_str_appendf(pages->out, "; %s =%s%s\n", key, *row->example ? " " : "",
	               strstr(row->example, "HASH") ? "pytorch" : row->example);
	return 0;
}

int rh_config_ini(const struct rh_session *session, struct rh_str *out)
{
	struct pages pages = {.out = out};
	int r;

	rh_str_append(out, "; SPDX-License-Identifier: Apache-2.0\n"
	                   "; Made by `roundhouse config explain -o ini`.\n");
	pages_comment(
		"Configuration of Roundhouse. Every key is shown with its default, or where it has none with an example; "
		"remove the \";\" in front to change it. Unknown sections and keys, and values that do not fit, are "
		"refused with file and line. `roundhouse config explain KEY` says more, `roundhouse config check` "
		"checks a file, and `roundhouse config show` prints what holds, and why.",
		out);
	pages_comment(
		"Which file counts: --config FILE, else $ROUNDHOUSE_CONFIG, else the one beside the program, else "
		"/etc/roundhouse/roundhouse.ini, else that of the installation, as "
		"/usr/local/etc/roundhouse/roundhouse.ini. Then the files plugins.d/*.ini beside it are read, in the "
		"order of their names; for commands on one machine also ~/.config/roundhouse/roundhouse.ini, with the "
		"files of its plugins.d, and ./roundhouse.ini; the last value of a key counts.",
		out);
	r = rh_rows_each(session->host, pages_ini_row, &pages);
	return r < 0 || out->failed ? RH_ENOMEM : 0;
}

/* In a table "|" ends a cell. */
static void pages_cell(const char *text, struct rh_str *out)
{
	for (; *text; text++) {
		if (*text == '|')
			rh_str_append(out, "\\");
		rh_str_append_bytes(out, text, 1);
	}
}

static int pages_markdown_row(void *arg, const struct rh_row *row)
{
	struct pages *pages = arg;
	const char *help = pages_section_help(row->section);

	if (strcmp(pages->section, row->section) != 0) {
		rh_copy(pages->section, sizeof(pages->section), row->section);
		rh_str_appendf(pages->out, "\n## [%s]\n\n", row->section);
		if (help) {
			rh_cli_wrap(help, "", 0, PAGES_WIDTH, pages->out);
			rh_str_append(pages->out, "\n");
		}
		rh_str_append(pages->out, "| key | value | default | |\n|---|---|---|---|\n");
	}
	rh_str_appendf(pages->out, "| `%s` | ", row->key);
	pages_cell(row->type, pages->out);
	rh_str_append(pages->out, " | ");
	if (row->value && *row->value)
		rh_str_appendf(pages->out, "`%s`", row->value);
	else
		rh_str_append(pages->out, row->value ? "empty" : "none");
	rh_str_append(pages->out, " | ");
	pages_cell(row->help, pages->out);
	if (row->page)
		rh_str_appendf(pages->out, " [More](%s)", row->page);
	rh_str_append(pages->out, " |\n");
	return 0;
}

int rh_config_page(const struct rh_session *session, struct rh_str *out)
{
	struct pages pages = {.out = out};
	int r;

	rh_str_append(
		out,
		"# Configuration\n\n"
		"<!-- Made by `roundhouse config explain -o markdown`; tests/cli/config/test_config.py compares. -->\n\n"
		"`roundhouse.ini` has sections and keys. The file is the one of `--config FILE`, else of\n"
		"`$ROUNDHOUSE_CONFIG`, else the one beside the program, else `/etc/roundhouse/roundhouse.ini`, else that "
		"of the\ninstallation. [conf/roundhouse.ini](../conf/roundhouse.ini) shows every key in a comment.\n\n"
		"Commands for one machine, as `run`, `lint` and `render`, read two more files over it, unless `--config` or\n"
		"`$ROUNDHOUSE_CONFIG` names the file (empty: only the file of the installation):\n"
		"`~/.config/roundhouse/roundhouse.ini` (in `$XDG_CONFIG_HOME`, if set), and `roundhouse.ini` in the working\n"
		"directory. The latter may come with a project of somebody else, so it has no `[plugins]`. The controller and\n"
		"`manifests` read neither.\n\n"
		"The files `plugins.d/*.ini` beside a file are read after it, in the order of their names. Each may have any\n"
		"section; those beside the file of a working directory are not read. The last value of a key counts; lists of\n"
		"`[plugins] allow` add up ([the allow-list](security.md#the-allow-list)). Relative paths start at the folder "
		"of\n"
		"the file.\n\n"
		"Comments start with `;` or `#`. A mistake (an unknown section or key, a value that does not fit, a file "
		"that\nothers can change) ends the program with status 2 and one message with file, line, key and fix.\n\n"
		"```sh\n"
		"roundhouse config check roundhouse.ini     # what is wrong with a file, before it is used\n"
		"roundhouse config show                     # each value that holds, and which file or variable says so\n"
		"roundhouse config explain restart-backoff  # what a key means\n"
		"```\n");
	r = rh_rows_each(session->host, pages_markdown_row, &pages);
	return r < 0 || out->failed ? RH_ENOMEM : 0;
}
