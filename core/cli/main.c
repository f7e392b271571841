/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const struct rh_command *main_find(const char *name)
{
	for (const struct rh_command *const *at = rh_commands; *at; at++)
		if (strcmp((*at)->name, name) == 0)
			return *at;
	return NULL;
}

/* What kubectl, docker compose and torchx call it. @return NULL: none of them does */
static const char *main_other_word(const char *name)
{
	static const char *const words[][2] = {
		{"list", "ls"},          {"get", "ls"},        {"jobs", "ls"},          {"status", "ls"},
		{"up", "run"},           {"apply", "run"},     {"create", "run"},       {"start", "run"},
		{"submit", "run"},       {"down", "stop"},     {"delete", "stop"},      {"kill", "stop"},
		{"cancel", "stop"},      {"rm", "runs prune"}, {"prune", "runs prune"}, {"stats", "top"},
		{"inspect", "describe"}, {"show", "describe"}, {"wait", "attach"},      {"restart", "rerun"},
		{"validate", "lint"},    {"check", "lint"},    {"template", "render"},  {"shell", "exec"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i][0], name) == 0)
			return words[i][1];
	}
	return NULL;
}

static int main_unknown(const char *name)
{
	const char *names[64];
	const char *nearest;
	size_t count = 0;

	for (const struct rh_command *const *at = rh_commands; *at && count < 64; at++)
		names[count++] = (*at)->name;
	nearest = main_other_word(name);
	if (!nearest)
		nearest = rh_nearest(name, names, count);
	fprintf(stderr, "roundhouse: unknown command \"%s\"", name);
	if (nearest)
		fprintf(stderr, "; did you mean \"%s\"?\n", nearest);
	else
		fprintf(stderr, "; `roundhouse --help` lists the commands\n");
	return RH_EXIT_BAD_INPUT;
}

static bool main_is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* `roundhouse help run` is `roundhouse run --help`. */
static int main_help(const char *name)
{
	const struct rh_command *command = name ? main_find(name) : NULL;

	if (name && !command)
		return main_unknown(name);
	rh_cli_help(command);
	return RH_EXIT_OK;
}

static int main_run(const struct rh_command *command, int argc, char **argv)
{
	struct rh_cli cli = {.command = command};
	struct rh_error err = {0};
	int bad_input = command->bad_input ? command->bad_input : RH_EXIT_BAD_INPUT;

	if (rh_cli_parse(command, argc, argv, &cli, &err) < 0)
		return rh_cli_fail(&cli, bad_input, err.message);
	cli.commands = rh_commands;
	if (rh_cli_option(&cli, "help"))
		return main_help(command->name);
	return command->run(&cli);
}

static bool main_is_kubectl(const char *program)
{
	const char *slash = program ? strrchr(program, '/') : NULL;

	return program && strcmp(slash ? slash + 1 : program, "kubectl") == 0;
}

/* In a pod of `run` a link of this name stands for kubectl, with which an MPIJob starts its processes. */
static int main_kubectl(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], rh_command_exec.name) != 0) {
		fputs("kubectl: on one machine there is only `kubectl exec POD -- COMMAND...`\n", stderr);
		return RH_EXIT_BAD_INPUT;
	}
	return main_run(&rh_command_exec, argc - 2, argv + 2);
}

static int main_dispatch(int argc, char **argv)
{
	const struct rh_command *command;

	if (main_is_kubectl(argv[0]))
		return main_kubectl(argc, argv);
	if (argc < 2) {
		fputs("roundhouse: no command; `roundhouse --help` lists them\n", stderr);
		return RH_EXIT_BAD_INPUT;
	}
	if (main_is_help(argv[1]))
		return main_help(argc > 2 ? argv[2] : NULL);
	if (argc > 2 && strcmp(argv[1], rh_command_comm.name) == 0 && strcmp(argv[2], "ps") == 0)
		return main_run(&rh_command_comm_ps, argc - 3, argv + 3);
	if (argc > 2 && strcmp(argv[1], rh_command_comm.name) == 0 && strcmp(argv[2], "trace") == 0)
		return main_run(&rh_command_comm_trace, argc - 3, argv + 3);
	command = main_find(strcmp(argv[1], "--version") == 0 ? "version" : argv[1]);
	if (!command)
		return main_unknown(argv[1]);
	return main_run(command, argc - 2, argv + 2);
}

/* In V1's image the program was /manager; it still is one there, with V1's flags and no command. */
static bool main_is_manager(const char *name)
{
	const char *slash = strrchr(name, '/');

	return strcmp(slash ? slash + 1 : name, "manager") == 0;
}

int main(int argc, char **argv)
{
	int status;

	rh_cli_prepare();
	if (argc > 0 && main_is_manager(argv[0]))
		status = main_run(&rh_command_controller, argc - 1, argv + 1);
	else
		status = main_dispatch(argc, argv);
	return rh_cli_finish(status);
}
