/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roundhouse-ps, the program that `roundhouse ps` starts: a parameter server whose configuration is its environment
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
static struct rh_ps_scheduler *_Atomic main_scheduler;

static void main_on_signal(int number)
{
	struct rh_ps_server *server = atomic_load(&main_server);
	struct rh_ps_scheduler *scheduler = atomic_load(&main_scheduler);

	(void)number;
	if (server)
		rh_ps_server_stop(server);
	if (scheduler)
		rh_ps_scheduler_stop(scheduler);
}

static int main_fail(const struct rh_comm_error *err)
{
	(void)fprintf(stderr, "roundhouse ps: %s\n", err->text);
	return err->code == RH_COMM_EINVAL ? EXIT_BAD_INPUT : EXIT_FAILURE;
}

static void main_catch_signals(void)
{
	struct sigaction action = {.sa_handler = main_on_signal};

	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
}

static void main_print(const char *what, int32_t port)
{
	const char *log = getenv("RH_COMM_LOG");

	if (!log || strcmp(log, "off") != 0)
		(void)fprintf(stderr, "roundhouse ps: %slistening on port %d\n", what, (int)port);
}

static int main_serve(void)
{
	struct rh_ps_server *server = NULL;
	struct rh_comm_error err = {0};
	int32_t r = rh_ps_server_new(NULL, &server, &err);

	if (r < 0)
		return main_fail(&err);
	atomic_store(&main_server, server);
	main_catch_signals();
	main_print("", rh_ps_server_port(server));
	r = rh_ps_server_run(server, &err);
	atomic_store(&main_server, NULL);
	rh_ps_server_free(server);
	return r < 0 ? main_fail(&err) : EXIT_SUCCESS;
}

static int main_schedule(void)
{
	struct rh_ps_scheduler *scheduler = NULL;
	struct rh_comm_error err = {0};
	int32_t r = rh_ps_scheduler_new(NULL, &scheduler, &err);

	if (r < 0)
		return main_fail(&err);
	atomic_store(&main_scheduler, scheduler);
	main_catch_signals();
	main_print("the scheduler is ", rh_ps_scheduler_port(scheduler));
	r = rh_ps_scheduler_run(scheduler, &err);
	atomic_store(&main_scheduler, NULL);
	rh_ps_scheduler_free(scheduler);
	return r < 0 ? main_fail(&err) : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const char *role = getenv("DMLC_ROLE");

	if (argc > 1) {
		(void)fprintf(stderr, "%s: \"%s\": options are those of `roundhouse ps`; this program reads RH_PS_* alone\n",
		              argv[0], argv[1]);
		return EXIT_BAD_INPUT;
	}
	return role && strcmp(role, "scheduler") == 0 ? main_schedule() : main_serve();
}
