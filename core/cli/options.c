/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"
#include "config/isolation.h"

const struct rh_option rh_cli_common_options[] = {
	{"config", 0, "FILE", NULL,
     "read FILE instead of the roundhouse.ini of the installation, the user and the working directory"},
	{"plugins", 0, "DIR", NULL, "search DIR for plugins, before the configured folders"},
	{"plugin-isolation", 0, "HOW", RH_ISOLATION_WORDS,
     "run plugins in a process of their own: all, those that are not of this release, or none"},
	{"log-level", 0, "LEVEL", "debug|info|warn|error", "write log lines of LEVEL and above (default warn)"},
	{"help", 'h', NULL, NULL, "show this help"},
	{NULL, 0, NULL, NULL, NULL},
};

/* Where an option of a command line belongs: a row, and the slot for its value. */
struct options_slot {
	const struct rh_option *option;
	const char **value;
};

static struct options_slot options_in(const struct rh_option *rows, const char **values, const char *name,
                                      size_t length, char letter)
{
	struct options_slot none = {NULL, NULL};

	for (size_t i = 0; rows && rows[i].name; i++) {
		bool matches = letter ? rows[i].letter == letter
		                      : strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0;

		if (matches)
			return (struct options_slot){&rows[i], &values[i]};
	}
	return none;
}

static struct options_slot options_find(struct rh_cli *cli, const char *name, size_t length, char letter)
{
	struct options_slot slot = options_in(cli->command->options, cli->values, name, length, letter);

	return slot.option ? slot : options_in(rh_cli_common_options, cli->common, name, length, letter);
}

static size_t options_names(const struct rh_option *rows, const char **names, size_t count)
{
	for (size_t i = 0; rows && rows[i].name; i++)
		names[count++] = rows[i].name;
	return count;
}

static int options_unknown(const struct rh_cli *cli, const char *word, size_t length, struct rh_error *err)
{
	const char *names[2 * RH_OPTIONS_MAX];
	size_t count = options_names(cli->command->options, names, 0);
	char typed[64];
	const char *nearest;

	count = options_names(rh_cli_common_options, names, count);
	rh_copy(typed, length + 1 < sizeof(typed) ? length + 1 : sizeof(typed), word);
	nearest = rh_nearest(typed, names, count);
	if (nearest)
		return rh_fail(err, RH_EINVAL, "unknown option --%s; did you mean --%s?", typed, nearest);
	return rh_fail(err, RH_EINVAL, "unknown option --%s; `roundhouse %s --help` lists them", typed, cli->command->name);
}

static bool options_allows(const char *values, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = values; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
		if (strncmp(at, word, length) == 0 && (at[length] == '|' || at[length] == '\0'))
			return true;
	return false;
}

/* V1's flags: a truth value may be spelt in every way that Go reads. */
static bool options_is_truth(const struct rh_option *option)
{
	return !option->argument && option->values;
}

static const char *options_truth(const char *value)
{
	static const char *const spellings[][2] = {
		{"1", "true"},  {"t", "true"},  {"T", "true"},  {"TRUE", "true"},   {"True", "true"},
		{"0", "false"}, {"f", "false"}, {"F", "false"}, {"FALSE", "false"}, {"False", "false"},
	};

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		if (strcmp(spellings[i][0], value) == 0)
			return spellings[i][1];
	}
	return value;
}

static int options_set(struct rh_cli *cli, struct options_slot slot, const char *value, struct rh_error *err)
{
	if (options_is_truth(slot.option))
		value = options_truth(*value ? value : "true");
	if (slot.option->values && !options_allows(slot.option->values, value))
		return rh_fail(err, RH_EINVAL, "option --%s: \"%s\" is none of %s", slot.option->name, value,
		               slot.option->values);
	if (cli->given_count == RH_GIVEN_MAX)
		return rh_fail(err, RH_EINVAL, "more than %d options", RH_GIVEN_MAX);
	cli->given[cli->given_count++] = (struct rh_given){slot.option, value};
	*slot.value = value;
	return 0;
}

/*
 * One "--name", "--name=value" or "--name value", or the same with one dash. @return words used up, or a negative
 * status
 */
static int options_long(struct rh_cli *cli, int left, char **argv, struct rh_error *err)
{
	const char *word = argv[0] + (argv[0][1] == '-' ? 2 : 1);
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	struct options_slot slot = options_find(cli, word, length, 0);
	const char *value = equals ? equals + 1 : NULL;
	int used = 1;
	int r;

	if (!slot.option)
		return options_unknown(cli, word, length, err);
	if (!slot.option->argument && value && !options_is_truth(slot.option))
		return rh_fail(err, RH_EINVAL, "option --%s takes no argument", slot.option->name);
	if (slot.option->argument && !value) {
		if (left < 2)
			return rh_fail(err, RH_EINVAL, "option --%s needs %s", slot.option->name, slot.option->argument);
		value = argv[1];
		used = 2;
	}
	r = options_set(cli, slot, value ? value : "", err);
	return r < 0 ? r : used;
}

/* The letter of "-x", or one of those of "-xyz". */
static int options_letter(struct rh_cli *cli, char letter, struct options_slot *ret_slot, struct rh_error *err)
{
	*ret_slot = options_find(cli, "", 0, letter);
	if (ret_slot->option)
		return 0;
	return rh_fail(err, RH_EINVAL, "unknown option -%c; `roundhouse %s --help` lists them", letter, cli->command->name);
}

/* "-x VALUE" or "-xVALUE", behind flags or not. @return words used up, or a negative status */
static int options_short_value(struct rh_cli *cli, struct options_slot slot, const char *rest, const char *next,
                               struct rh_error *err)
{
	const char *value = *rest ? rest : next;
	int r;

	if (!value)
		return rh_fail(err, RH_EINVAL, "option -%c needs %s", slot.option->letter, slot.option->argument);
	r = options_set(cli, slot, value, err);
	if (r < 0)
		return r;
	return value == rest ? 1 : 2;
}

/* One word of letters: flags, and behind them at most one option with a value. @return as options_short_value() */
static int options_short(struct rh_cli *cli, int left, char **argv, struct rh_error *err)
{
	const char *next = left < 2 ? NULL : argv[1];

	for (const char *at = argv[0] + 1; *at; at++) {
		struct options_slot slot;
		int r = options_letter(cli, *at, &slot, err);

		if (r < 0)
			return r;
		if (slot.option->argument)
			return options_short_value(cli, slot, at + 1, next, err);
		r = options_set(cli, slot, "", err);
		if (r < 0)
			return r;
	}
	return 1;
}

static int options_check_operands(const struct rh_cli *cli, struct rh_error *err)
{
	const struct rh_command *command = cli->command;

	if (rh_cli_option(cli, "help"))
		return 0;
	if (cli->operand_count < command->operands_min && command->names)
		return rh_fail(err, RH_EINVAL, "missing operand: %s; `roundhouse %s` lists what there is", command->synopsis,
		               command->names);
	if (cli->operand_count < command->operands_min)
		return rh_fail(err, RH_EINVAL, "missing operand: %s; `roundhouse %s --help` says more", command->synopsis,
		               command->name);
	if (cli->operand_count > command->operands_max)
		return rh_fail(err, RH_EINVAL, "too many operands: \"%s\"", cli->operands[command->operands_max]);
	return 0;
}

static bool options_is_go(const struct rh_command *command, const char *word)
{
	return command->go_flags && word[0] == '-' && word[1] && word[2];
}

int rh_cli_parse(const struct rh_command *command, int argc, char **argv, struct rh_cli *ret_cli, struct rh_error *err)
{
	struct rh_cli cli = {.command = command, .words = argv, .operands = argv};
	bool options = true;

	for (int i = 0; i < argc;) {
		int used = 1;

		if (options && strcmp(argv[i], "--") == 0)
			options = false;
		else if (options && (rh_starts_with(argv[i], "--") || options_is_go(command, argv[i])))
			used = options_long(&cli, argc - i, argv + i, err);
		else if (options && argv[i][0] == '-' && argv[i][1])
			used = options_short(&cli, argc - i, argv + i, err);
		else
			argv[cli.operand_count++] = argv[i];
		if (used < 0)
			return used;
		i += used;
	}
	*ret_cli = cli;
	return options_check_operands(&cli, err);
}

const char *rh_cli_option(const struct rh_cli *cli, const char *name)
{
	struct rh_cli *looked = (struct rh_cli *)cli;
	struct options_slot slot = options_find(looked, name, strlen(name), 0);

	return slot.value ? *slot.value : NULL;
}

const char *rh_cli_each(const struct rh_cli *cli, const char *name, size_t *cursor)
{
	while (*cursor < cli->given_count) {
		const struct rh_given *given = &cli->given[(*cursor)++];

		if (strcmp(given->option->name, name) == 0)
			return given->value;
	}
	return NULL;
}

int rh_cli_fail(const struct rh_cli *cli, int status, const char *message)
{
	fprintf(stderr, "roundhouse %s: %s\n", cli->command->name, message);
	return status;
}

int rh_cli_status(int code)
{
	return code == RH_EINVAL || code == RH_ENOENT ? RH_EXIT_BAD_INPUT : RH_EXIT_FAILED;
}

int rh_cli_end(const struct rh_cli *cli, int result, const struct rh_error *err)
{
	return result < 0 ? rh_cli_fail(cli, rh_cli_status(result), err->message) : RH_EXIT_OK;
}

/* If a standard descriptor is closed, the next opened file gets its number, and output would go into that file. */
static void options_hold_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		(void)close(fd);
}

void rh_cli_prepare(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	options_hold_descriptors();
}

void rh_cli_print(const struct rh_str *text)
{
	(void)fwrite(text->data, 1, text->length, stdout);
}

/* Which of many writes found the pipe closed is forgotten by the end; the pipe itself still knows. */
static bool options_pipe_is_closed(int fd)
{
	struct pollfd poll_ = {.fd = fd, .events = POLLOUT};

	return poll(&poll_, 1, 0) > 0 && (poll_.revents & (POLLERR | POLLHUP));
}

/* A full disk or a closed pipe behind standard output must not look like success. */
int rh_cli_finish(int status)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || status != RH_EXIT_OK)
		return status;
	/* a reader that closes the pipe, like head, needs no message */
	if (!options_pipe_is_closed(fileno(stdout)))
		fputs("roundhouse: standard output could not be written\n", stderr);
	return RH_EXIT_FAILED;
}

bool rh_cli_colour(int fd)
{
	const char *term = getenv("TERM");
	const char *no_colour = getenv("NO_COLOR");

	if (no_colour && *no_colour)
		return false;
	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}
