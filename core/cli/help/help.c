/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/wrap.h"

/* Where the explanation of an option begins, and of a command. */
#define HELP_OPTION_COLUMN 31
#define HELP_COMMAND_COLUMN 15
/* On a narrower terminal what an option does begins a line of its own. */
#define HELP_NARROW 64
#define HELP_NARROW_COLUMN 8

static void help_print(const char *text, size_t column, size_t used)
{
	rh_auto_str start = {0};
	rh_auto_str out = {0};

	while (!start.failed && start.length < column)
		rh_str_append(&start, " ");
	rh_cli_wrap(text, rh_str_text(&start), used, rh_cli_width(), &out);
	fputs(rh_str_text(&out), stdout);
}

static void help_option(const struct rh_option *option)
{
	bool narrow = rh_cli_width() < HELP_NARROW;
	rh_auto_free char *text = rh_asprintf("%s%s%s%s", option->help, option->values ? " (" : "",
	                                      option->values ? option->values : "", option->values ? ")" : "");
	char left[64];
	int length;

	length = snprintf(left, sizeof(left), "%c%c%s --%s%s%s", option->letter ? '-' : ' ',
	                  option->letter ? option->letter : ' ', option->letter ? "," : " ", option->name,
	                  option->argument ? " " : "", option->argument ? option->argument : "");
	if (narrow || length > HELP_OPTION_COLUMN - 3) /* what it does begins a line of its own */
		printf("  %s\n", left);
	else
		printf("  %-*s ", HELP_OPTION_COLUMN - 3, left);
	help_print(text ? text : option->help, narrow ? HELP_NARROW_COLUMN : HELP_OPTION_COLUMN,
	           narrow || length > HELP_OPTION_COLUMN - 3 ? 0 : HELP_OPTION_COLUMN);
}

static void help_options(const char *title, const struct rh_option *rows)
{
	if (!rows || !rows->name)
		return;
	printf("\n%s:\n", title);
	for (; rows->name; rows++)
		help_option(rows);
}

static void help_program(void)
{
	puts("usage: roundhouse COMMAND [OPTION...] [OPERAND...]\n\n"
	     "Runs distributed training jobs that are written as kubeflow.org/v1 resources.\n\ncommands:");
	for (const struct rh_command *const *at = rh_commands; *at; at++) {
		printf("  %-12s ", (*at)->name);
		help_print((*at)->summary, HELP_COMMAND_COLUMN, HELP_COMMAND_COLUMN);
	}
	puts("\n`roundhouse COMMAND --help` shows the help of one command.");
}

void rh_cli_help(const struct rh_command *command)
{
	rh_auto_free char *summary = NULL;

	if (!command) {
		help_program();
		return;
	}
	summary = rh_asprintf("%s.", command->summary);
	printf("usage: roundhouse %s [OPTION...]%s%s\n\n", command->name, *command->synopsis ? " " : "", command->synopsis);
	help_print(summary ? summary : command->summary, 0, 0);
	if (command->details && *command->details) {
		putchar('\n');
		help_print(command->details, 0, 0);
	}
	help_options("options", command->options);
	help_options("common options", rh_cli_common_options);
}
