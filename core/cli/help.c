/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"

static void help_option(const struct rh_option *option)
{
	char left[64];
	int length;

	length = snprintf(left, sizeof(left), "%c%c%s --%s%s%s", option->letter ? '-' : ' ',
	                  option->letter ? option->letter : ' ', option->letter ? "," : " ", option->name,
	                  option->argument ? " " : "", option->argument ? option->argument : "");
	if (length > 28) /* too long for the column: what it does begins a line of its own */
		printf("  %s\n", left);
	printf("  %-28s %s", length > 28 ? "" : left, option->help);
	if (option->values)
		printf(" (%s)", option->values);
	putchar('\n');
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
	for (const struct rh_command *const *at = rh_commands; *at; at++)
		if (!(*at)->hidden)
			printf("  %-12s %s\n", (*at)->name, (*at)->summary);
	puts("\n`roundhouse COMMAND --help` shows the help of one command.");
}

void rh_cli_help(const struct rh_command *command)
{
	if (!command) {
		help_program();
		return;
	}
	printf("usage: roundhouse %s [OPTION...]%s%s\n\n%s.\n", command->name, *command->synopsis ? " " : "",
	       command->synopsis, command->summary);
	if (command->details && *command->details)
		printf("\n%s\n", command->details);
	help_options("options", command->options);
	help_options("common options", rh_cli_common_options);
}
