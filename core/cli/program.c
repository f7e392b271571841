/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs of this folder: what a command needs that would cost every pod of a local run memory and time. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"

/* Room for the path of the running program. */
#define PROGRAM_PATH_SIZE 4096

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
	char path[PROGRAM_PATH_SIZE];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	rh_auto_free char **argv = program_arguments(as, words);
	rh_auto_free char *message = NULL;
	char *name;

	if (length <= 0 || (size_t)length + strlen(program) >= sizeof(path))
		return rh_cli_fail(cli, RH_EXIT_FAILED, "the folder of this program is not known: is /proc mounted?");
	if (!argv)
		return rh_cli_fail(cli, RH_EXIT_FAILED, "out of memory");
	path[length] = '\0';
	name = strrchr(path, '/') + 1;
	rh_copy(name, sizeof(path) - (size_t)(name - path), program);
	(void)execv(path, argv);
	message = rh_asprintf("cannot start \"%s\": %s", path, strerror(errno));
	return rh_cli_fail(cli, RH_EXIT_FAILED, message ? message : "out of memory");
}
