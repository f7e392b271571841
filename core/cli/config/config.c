/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/config/parts.h"
#include "cli/output.h"
#include "config/keys.h"

/* The plugins may be named by a file that says nothing else of them. */
static int config_check(const struct rh_cli *cli, struct rh_str *out, struct rh_error *err)
{
	rh_auto_session session = {0};
	const char *file = cli->operand_count > 1 ? cli->operands[1] : rh_cli_option(cli, "config");
	int r = rh_session_load_file(cli, file, NULL, &session, err);

	if (r == 0)
		rh_str_appendf(out, "%s: %zu settings, no error\n", file ? file : "configuration",
		               session.config->setting_count);
	return r;
}

static int config_explain(const struct rh_cli *cli, const struct rh_session *session, const char *format,
                          struct rh_str *out, struct rh_error *err)
{
	const char *word = cli->operand_count > 1 ? cli->operands[1] : NULL;

	if (strcmp(format, "markdown") == 0)
		return rh_config_page(session, out);
	if (strcmp(format, "ini") == 0)
		return rh_config_ini(session, out);
	return rh_config_explain(session, word, strcmp(format, "json") == 0, out, err);
}

static int config_print(const struct rh_cli *cli, bool show, struct rh_str *out, struct rh_error *err)
{
	rh_auto_session session = {0};
	const char *format = rh_cli_option(cli, "output");
	int r = rh_session_load(cli, &session, err);

	if (r == 0 && show)
		r = rh_session_take_variables(&session, err);
	if (r < 0)
		return r;
	if (show)
		return rh_config_show(cli, &session, rh_cli_wants_json(cli), out);
	return config_explain(cli, &session, format ? format : "text", out, err);
}

static bool config_formats_fit(const char *what, const char *format)
{
	if (!format || strcmp(what, "explain") == 0)
		return true;
	return strcmp(what, "show") == 0 && (strcmp(format, "json") == 0 || strcmp(format, "text") == 0);
}

static int config_run(const struct rh_cli *cli)
{
	const char *what = cli->operand_count > 0 ? cli->operands[0] : "show";
	bool show = strcmp(what, "show") == 0;
	struct rh_error err = {0};
	rh_auto_str out = {0};
	int r;

	if ((!show && strcmp(what, "check") != 0 && strcmp(what, "explain") != 0) || (show && cli->operand_count > 1))
		return rh_cli_fail(cli, RH_EXIT_BAD_INPUT,
		                   "use `config show`, `config check [FILE]` or `config explain [KEY]`");
	if (!config_formats_fit(what, rh_cli_option(cli, "output")))
		return rh_cli_fail(cli, RH_EXIT_BAD_INPUT,
		                   "option --output: `config show` has text and json, `config check` has none");
	r = strcmp(what, "check") == 0 ? config_check(cli, &out, &err) : config_print(cli, show, &out, &err);
	if (r == RH_ENOMEM)
		(void)rh_fail_oom(&err);
	if (r < 0)
		return rh_cli_end(cli, r, &err);
	rh_cli_print(&out);
	return RH_EXIT_OK;
}

/* What may follow the command's name, for completion: subcommands and keys. */
static void config_words(void)
{
	fputs("show check explain ", stdout);
	for (const struct rh_config_key *row = rh_config_keys(); row->section; row++) {
		if (!strchr(row->section, ' ') && !strstr(row->rule.key, "NAME") && strcmp(row->section, "images") != 0)
			printf("%s.%s ", row->section, row->rule.key);
	}
}

static const struct rh_option config_options[] = {
	{"output", 'o', "FORMAT", "text|json|markdown|ini",
     "how to print; markdown and ini are pages of all keys of `explain`"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_config = {
	.name = "config",
	.synopsis = "[show] | check [FILE] | explain [KEY]",
	.summary = "check a configuration, show what holds and why, explain keys",
	.details =
		"`show` prints each key with the value that holds and its origin: FILE:LINE, default, $VARIABLE or --flag.\n"
		"`check` reads FILE, or the file that would be found, and the files of plugins.d beside it, loads the plugins, "
		"and\n"
		"reports the first mistake. `explain` prints the meaning, type and default of KEY, which is a key, SECTION.KEY "
		"or a\n"
		"section, or a table of all keys. Settings of plugins are among them.\n\n"
		"Exit status: 0 fine, 1 it could not be read, 2 a mistake in the configuration, or no such key.",
	.options = config_options,
	.operands_max = 2,
	.run = config_run,
	.words = config_words,
};
