/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/version.h"
#include "config/keys.h"

/* Text for roff: a dash is a minus sign, a backslash is one, a line may not start with a control character. */
static void man_text(const char *text)
{
	for (const char *at = text; *at; at++) {
		if ((at == text || at[-1] == '\n') && (*at == '.' || *at == '\''))
			fputs("\\&", stdout);
		if (*at == '-')
			fputs("\\-", stdout);
		else if (*at == '\\')
			fputs("\\e", stdout);
		else
			putchar(*at);
	}
}

static void man_options(const struct rh_option *rows)
{
	for (; rows && rows->name; rows++) {
		puts(".TP");
		if (rows->letter)
			printf("\\fB\\-%c\\fR, ", rows->letter);
		fputs("\\fB\\-\\-", stdout);
		man_text(rows->name);
		fputs("\\fR", stdout);
		if (rows->argument)
			printf(" \\fI%s\\fR", rows->argument);
		putchar('\n');
		man_text(rows->help);
		if (rows->values) {
			fputs(": ", stdout);
			man_text(rows->values);
		}
		putchar('\n');
	}
}

static void man_details(const char *details)
{
	for (const char *at = details ? details : ""; *at;) {
		puts(".PP");
		for (; *at && !(at[0] == '\n' && at[1] == '\n'); at++) {
			char one[2] = {*at, '\0'};

			man_text(one);
		}
		putchar('\n');
		while (*at == '\n')
			at++;
	}
}

static void man_command(const struct rh_command *command)
{
	printf(".SS %s", command->name);
	if (*command->synopsis) {
		fputs(" [OPTION...] ", stdout);
		man_text(command->synopsis);
	}
	putchar('\n');
	man_text(command->summary);
	puts(".");
	man_details(command->details);
	man_options(command->options);
}

/* The table of keys; those of plugins depend on what is installed. */
static void man_configuration(void)
{
	const char *section = "";

	puts(".SH CONFIGURATION\nSections and keys of roundhouse.ini, and of the files plugins.d/*.ini beside it. "
	     "`roundhouse config "
	     "explain` also shows settings of plugins.");
	for (const struct rh_config_key *key = rh_config_keys(); key->section; key++) {
		rh_auto_str type = {0};

		if (strcmp(section, key->section) != 0) {
			section = key->section;
			printf(".SS [%s]\n", section);
		}
		rh_setting_describe(&key->rule, &type);
		fputs(".TP\n\\fB", stdout);
		man_text(key->rule.key);
		fputs("\\fR = ", stdout);
		man_text(rh_str_text(&type));
		putchar('\n');
		man_text(key->help);
		if (key->value && *key->value) {
			fputs(" Default: ", stdout);
			man_text(key->value);
		}
		putchar('\n');
	}
}

static int man_run(const struct rh_cli *cli)
{
	printf(".TH ROUNDHOUSE 1 \"\" \"roundhouse %s\" \"User Commands\"\n", RH_VERSION);
	puts(".SH NAME\nroundhouse \\- run distributed training jobs written as kubeflow.org/v1 resources\n"
	     ".SH SYNOPSIS\n\\fBroundhouse\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]\n"
	     ".SH COMMANDS");
	for (const struct rh_command *const *at = cli->commands; *at; at++)
		man_command(*at);
	puts(".SH COMMON OPTIONS");
	man_options(rh_cli_common_options);
	man_configuration();
	puts(".SH ENVIRONMENT\n.TP\nROUNDHOUSE_CONFIG\nconfiguration file, where \\-\\-config does not name one\n"
	     ".TP\nROUNDHOUSE_PLUGIN_PATH\nfolders that are searched for plugins, separated by colons, in place of the "
	     "built\\-in ones\n"
	     ".TP\nNO_COLOR\nwhen set and not empty, nothing is coloured\n"
	     ".SH FILES\n.TP\n/etc/roundhouse/roundhouse.ini\nconfiguration of an installed roundhouse");
	return RH_EXIT_OK;
}

const struct rh_command rh_command_man = {
	.name = "man",
	.synopsis = "",
	.summary = "print the manual page",
	.details = "To read it: roundhouse man | man -l -",
	.run = man_run,
};
