/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ranks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define PAUSE_MS 5
#define WAIT_MS 300000

/* Ports of tests; tests/ports.py takes the same ones in turn, and says why these. */
#define PORTS_FIRST 10000
#define PORTS_COUNT 9000

/* @return the port after the one that any test was given before */
static int next_port(void)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	char text[16] = "";
	int fd, at;

	(void)snprintf(path, sizeof(path), "%s/roundhouse-test-ports-%lu", folder && *folder ? folder : "/tmp",
	               (unsigned long)getuid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	at = (int)((pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) : getpid()) % PORTS_COUNT);
	(void)snprintf(text, sizeof(text), "%5d\n", (at + 1) % PORTS_COUNT);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
	(void)close(fd);
	return PORTS_FIRST + at;
}

int ranks_free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
	int r = -1;

	for (int i = 0; i < PORTS_COUNT && r < 0; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		assert_true(fd >= 0);
		address.sin_port = htons((uint16_t)next_port());
		r = bind(fd, (struct sockaddr *)&address, sizeof(address));
		(void)close(fd);
	}
	assert_int_equal(r, 0);
	return ntohs(address.sin_port);
}

static void set_number(const char *name, int value)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", value);
	(void)setenv(name, text, 1);
}

static void set_places(const struct ranks_plan *plan, int32_t rank)
{
	char host[16];

	if (plan->no_shm)
		(void)setenv("RH_COMM_SHM", "off", 1);
	if (plan->hosts == 0 && !plan->places)
		return;
	if (plan->places)
		(void)snprintf(host, sizeof(host), "host%c", plan->places[rank]);
	else
		(void)snprintf(host, sizeof(host), "host%d", (int)(rank * plan->hosts / plan->world));
	(void)setenv("RH_COMM_SHM", host, 1);
}

static void set_processor(const struct ranks_plan *plan, int32_t rank)
{
	cpu_set_t set;

	if (!plan->processors)
		return;
	CPU_ZERO(&set);
	CPU_SET(plan->processors[rank], &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		_exit(96);
}

static void set_environment(const struct ranks_plan *plan, int32_t rank, int port)
{
	set_number("RH_COMM_RANK", rank);
	set_number("RH_COMM_WORLD", plan->world);
	set_number("RH_COMM_PORT", port);
	(void)setenv("RH_COMM_HOST", "127.0.0.1", 1);
	(void)setenv("RH_COMM_LOG", plan->log ? "on" : "off", 1);
	(void)setenv("RH_COMM_BACKEND", plan->backend ? plan->backend : "native", 1);
	(void)setenv("RH_COMM_DEATH_TIMEOUT", plan->death ? plan->death : "5", 1);
	if (plan->modules)
		(void)setenv("RH_COMM_PATH", plan->modules[rank], 1);
	set_places(plan, rank);
	for (const char *const *at = plan->env; at && *at; at++)
		(void)putenv((char *)(uintptr_t)*at);
	if (plan->log && !freopen(plan->log, "a", stderr))
		_exit(98);
	(void)setvbuf(stderr, NULL, _IONBF, 0);
}

static int run_rank(const struct ranks_plan *plan, int32_t rank, int port, int ready)
{
	struct rh_comm_error err = {0};
	struct rh_comm *comm = NULL;
	int status;

	set_environment(plan, rank, port);
	set_processor(plan, rank);
	if (rh_comm_init(NULL, &comm, &err) != 0) {
		(void)fprintf(stderr, "rank %d: init: %s\n", (int)rank, err.text);
		return 99;
	}
	if (write(ready, "", 1) != 1)
		return 97;
	status = plan->fn(comm, plan->arg);
	rh_comm_free(comm);
	return status;
}

void ranks_start(const struct ranks_plan *plan, struct ranks *ret_ranks)
{
	int port = ranks_free_port();
	int ready[2];

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	*ret_ranks = (struct ranks){.world = plan->world, .ready = ready[0]};
	for (int32_t rank = 0; rank < plan->world; rank++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			exit(run_rank(plan, rank, port, ready[1]));
		}
		ret_ranks->pids[rank] = pid;
	}
	(void)close(ready[1]);
}

void ranks_await_ready(const struct ranks *ranks)
{
	for (int32_t rank = 0; rank < ranks->world; rank++) {
		struct pollfd set = {.fd = ranks->ready, .events = POLLIN};
		char byte;

		assert_int_equal(poll(&set, 1, WAIT_MS), 1);
		assert_int_equal(read(ranks->ready, &byte, 1), 1);
	}
}

int ranks_wait(struct ranks *ranks, int32_t rank)
{
	static const struct timespec pause = {0, PAUSE_MS * 1000000L};
	pid_t pid = ranks->pids[rank];
	int status = 0;
	int waited = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (waited > WAIT_MS) {
			for (int32_t i = 0; i < ranks->world; i++)
				(void)kill(ranks->pids[i], SIGKILL);
			fail_msg("rank %d does not end", (int)rank);
		}
		(void)nanosleep(&pause, NULL);
		waited += PAUSE_MS;
	}
	if (++ranks->waited == ranks->world)
		(void)close(ranks->ready);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void ranks_run(const struct ranks_plan *plan)
{
	struct ranks ranks;

	ranks_start(plan, &ranks);
	for (int32_t rank = 0; rank < plan->world; rank++)
		assert_int_equal(ranks_wait(&ranks, rank), 0);
}

void ranks_run_worlds(const char *backend, ranks_fn *fn, bool no_shm, int32_t from, int32_t to)
{
	for (int32_t world = from; world <= to; world++) {
		struct ranks_plan plan = {.world = world, .no_shm = no_shm, .backend = backend, .fn = fn, .arg = backend};

		ranks_run(&plan);
	}
}

int ranks_check_backend(struct rh_comm *comm, const void *arg)
{
	return strcmp(rh_comm_backend_name(comm), arg) == 0 ? 0 : 1;
}
