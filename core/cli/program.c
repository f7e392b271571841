/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs of this folder: what a command needs that would cost every pod of a local run memory and time. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "base/str.h"
#include "cli/cli.h"

/* @return argv, whose array is owned by the caller; NULL: out of memory */
static char **program_arguments(const char *as, char *const *words)
{
	size_t count = 0;
	char **argv;

	while (words[count])
		count++;
	argv = rh_alloc_array(count + 2, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = (char *)(uintptr_t)as;
	memcpy(argv + 1, words, (count + 1) * sizeof(*argv));
	return argv;
}

int rh_cli_start_program(const struct rh_cli *cli, const char *program, const char *as, char *const *words)
{
	rh_auto_free char *folder = NULL, *path = NULL, *message = NULL;
	rh_auto_free char **argv = program_arguments(as, words);

	if (rh_program_folder(&folder) == 0 && !folder)
		return rh_cli_fail(cli, RH_EXIT_FAILED, "the folder of this program is not known: is /proc mounted?");
	path = folder ? rh_path_join(folder, program) : NULL;
	if (!path || !argv)
		return rh_cli_fail(cli, RH_EXIT_FAILED, "out of memory");
	(void)execv(path, argv);
	message = rh_asprintf("cannot start \"%s\": %s", path, strerror(errno));
	return rh_cli_fail(cli, RH_EXIT_FAILED, message ? message : "out of memory");
}

static void program_free_words(char **words)
{
	for (char **word = words; word && *word; word++)
		rh_free(*word);
	rh_free(words);
}

/* The command line once more: parsing it has put the operands in the place of options. */
static char **program_words(const struct rh_cli *cli)
{
	char **words = rh_alloc_array(cli->given_count + cli->operand_count + 2, sizeof(*words));
	size_t count = 0;

	for (size_t i = 0; words && i < cli->given_count; i++) {
		const struct rh_given *given = &cli->given[i];

		words[count] = given->option->argument ? rh_asprintf("--%s=%s", given->option->name, given->value)
		                                       : rh_asprintf("--%s", given->option->name);
		if (!words[count++])
			goto fail;
	}
	if (words && !(words[count++] = rh_strdup("--")))
		goto fail;
	for (size_t i = 0; words && i < cli->operand_count; i++) {
		if (!(words[count++] = rh_strdup(cli->operands[i])))
			goto fail;
	}
	return words;
fail:
	program_free_words(words);
	return NULL;
}

int rh_cli_start_again(const struct rh_cli *cli, const char *program, const char *as)
{
	char **words = program_words(cli);
	int r = words ? rh_cli_start_program(cli, program, as, words) : rh_cli_fail(cli, RH_EXIT_FAILED, "out of memory");

	program_free_words(words);
	return r;
}
