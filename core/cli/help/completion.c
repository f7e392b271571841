/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"

/* A name of two words is completed as the operand of its first. */
static bool completion_shows(const struct rh_command *command)
{
	return !strchr(command->name, ' ');
}

static void completion_words(const struct rh_option *rows)
{
	for (; rows && rows->name; rows++)
		printf("--%s ", rows->name);
}

static void completion_alternatives(const char *values)
{
	for (; *values; values++)
		putchar(*values == '|' ? ' ' : *values);
}

/* Values that an option allows: one pattern of the shell's case on "COMMAND WORD-BEFORE". */
static void completion_values(const char *command, const struct rh_option *rows)
{
	for (; rows && rows->name; rows++) {
		if (!rows->values)
			continue;
		printf("\t%s\\ --%s", command, rows->name);
		if (rows->letter)
			printf("|%s\\ -%c", command, rows->letter);
		fputs(") COMPREPLY=($(compgen -W \"", stdout);
		completion_alternatives(rows->values);
		puts("\" -- \"$word\")); return ;;");
	}
}

/* Commands whose operands are words and not files. */
static void completion_operands(const struct rh_command *const *commands)
{
	puts("\tesac\n\tcase \"$command $word\" in *\\ -*) ;;");
	for (const struct rh_command *const *at = commands; *at; at++) {
		if ((!(*at)->words && !(*at)->names) || !completion_shows(*at))
			continue;
		printf("\t%s\\ *) COMPREPLY=($(compgen -W \"", (*at)->name);
		if ((*at)->words)
			(*at)->words();
		if ((*at)->names)
			printf("$(roundhouse %s 2>/dev/null)", (*at)->names);
		puts("\" -- \"$word\")); [ ${#COMPREPLY[@]} -eq 0 ] || return ;;");
	}
}

static void completion_bash(const struct rh_command *const *commands)
{
	puts("# bash completion for roundhouse; `source <(roundhouse completion bash)`\n_roundhouse() {\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
	     "\tCOMPREPLY=()\n\tif [ \"$COMP_CWORD\" -eq 1 ]; then");
	fputs("\t\tCOMPREPLY=($(compgen -W \"", stdout);
	for (const struct rh_command *const *at = commands; *at; at++)
		if (completion_shows(*at))
			printf("%s ", (*at)->name);
	puts("\" -- \"$word\")); return\n\tfi\n\tcase \"$command $before\" in");
	for (const struct rh_command *const *at = commands; *at; at++)
		if (completion_shows(*at))
			completion_values((*at)->name, (*at)->options);
	completion_values("*", rh_cli_common_options);
	completion_operands(commands);
	puts("\tesac\n\tcase $word in -*) ;; *)\n\t\tCOMPREPLY=($(compgen -f -- \"$word\")); return ;;\n\tesac\n"
	     "\tcase $command in");
	for (const struct rh_command *const *at = commands; *at; at++) {
		if (!completion_shows(*at))
			continue;
		printf("\t%s) COMPREPLY=($(compgen -W \"", (*at)->name);
		completion_words((*at)->options);
		completion_words(rh_cli_common_options);
		puts("\" -- \"$word\")) ;;");
	}
	puts("\tesac\n}\ncomplete -o filenames -F _roundhouse roundhouse");
}

/*
 * zsh runs bash's function through its own emulation, so that there is one description of the words. Where the script
 * lies in a folder of functions, zsh loads it at the first completion, which then is still to be answered.
 */
static void completion_zsh(const struct rh_command *const *commands)
{
	puts("#compdef roundhouse\nautoload -U +X bashcompinit && bashcompinit");
	completion_bash(commands);
	puts("[[ ${funcstack[1]} != _roundhouse ]] || _bash_complete -o filenames -F _roundhouse");
}

/* Between single quotes, which fish lets escape themselves. */
static void completion_fish_text(const char *text)
{
	fputs(" -d '", stdout);
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	puts("'");
}

static void completion_fish_options(const char *command, const struct rh_option *rows)
{
	for (; rows && rows->name; rows++) {
		printf("complete -c roundhouse -n '__fish_seen_subcommand_from %s' -l %s", command, rows->name);
		if (rows->letter)
			printf(" -s %c", rows->letter);
		if (rows->argument)
			fputs(" -r", stdout);
		if (rows->values) {
			fputs(" -f -a '", stdout);
			completion_alternatives(rows->values);
			putchar('\'');
		}
		completion_fish_text(rows->help);
	}
}

static void completion_fish(const struct rh_command *const *commands)
{
	puts("# fish completion for roundhouse; `roundhouse completion fish | source`");
	for (const struct rh_command *const *at = commands; *at; at++) {
		if (!completion_shows(*at))
			continue;
		printf("complete -c roundhouse -n __fish_use_subcommand -f -a %s", (*at)->name);
		completion_fish_text((*at)->summary);
		if ((*at)->words) {
			printf("complete -c roundhouse -n '__fish_seen_subcommand_from %s' -a '", (*at)->name);
			(*at)->words();
			puts("'");
		}
		if ((*at)->names)
			printf("complete -c roundhouse -n '__fish_seen_subcommand_from %s' -a '(roundhouse %s 2>/dev/null)'\n",
			       (*at)->name, (*at)->names);
		completion_fish_options((*at)->name, (*at)->options);
		completion_fish_options((*at)->name, rh_cli_common_options);
	}
}

static int completion_run(const struct rh_cli *cli)
{
	if (strcmp(cli->operands[0], "bash") == 0)
		completion_bash(cli->commands);
	else if (strcmp(cli->operands[0], "zsh") == 0)
		completion_zsh(cli->commands);
	else if (strcmp(cli->operands[0], "fish") == 0)
		completion_fish(cli->commands);
	else
		return rh_cli_fail(cli, RH_EXIT_BAD_INPUT, "the shell is one of bash, zsh, fish");
	return RH_EXIT_OK;
}

const struct rh_command rh_command_completion = {
	.name = "completion",
	.synopsis = "bash | zsh | fish",
	.summary = "print a completion script for a shell",
	.details =
		"For one session: source <(roundhouse completion bash), the same with zsh (after compinit), and in fish\n"
		"roundhouse completion fish | source. An installation has all three where the shells look.",
	.operands_min = 1,
	.operands_max = 1,
	.run = completion_run,
};
