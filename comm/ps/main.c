/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roundhouse-ps, the program behind `roundhouse ps`: a parameter server whose configuration is its environment
 * (docs/ps.md). It needs librhcomm and the C library alone, so that it runs in any job's image.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roundhouse/ps.h"

#define EXIT_BAD_INPUT 2

/* For the signal handler, which gets no argument. */
static struct rh_ps_server *_Atomic main_server;

static void main_on_signal(int number)
{
	struct rh_ps_server *server = atomic_load(&main_server);

	(void)number;
	if (server)
		rh_ps_server_stop(server);
}

static int main_fail(const struct rh_comm_error *err)
{
	(void)fprintf(stderr, "roundhouse ps: %s\n", err->text);
	return err->code == RH_COMM_EINVAL ? EXIT_BAD_INPUT : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = main_on_signal};
	const char *log = getenv("RH_COMM_LOG");
	struct rh_ps_server *server = NULL;
	struct rh_comm_error err = {0};
	int32_t r;

	if (argc > 1) {
		(void)fprintf(stderr, "%s: \"%s\": options are those of `roundhouse ps`; this program reads RH_PS_* alone\n",
		              argv[0], argv[1]);
		return EXIT_BAD_INPUT;
	}
	r = rh_ps_server_new(NULL, &server, &err);
	if (r < 0)
		return main_fail(&err);
	atomic_store(&main_server, server);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	if (!log || strcmp(log, "off") != 0)
		(void)fprintf(stderr, "roundhouse ps: listening on port %d\n", (int)rh_ps_server_port(server));
	r = rh_ps_server_run(server, &err);
	atomic_store(&main_server, NULL);
	rh_ps_server_free(server);
	return r < 0 ? main_fail(&err) : EXIT_SUCCESS;
}
