/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/bench/options.h"
#include "comm/bench/run.h"

/* Variables that would set rank and world in another way. */
static const char *const local_foreign[] = {
	"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK",    "PMI_SIZE",    "RANK",
	"WORLD_SIZE",           "MASTER_ADDR",          "MASTER_PORT", "RH_COMM_JOB", "RH_COMM_SECRET",
};

/* A port that was free a moment ago. @return 0: there is none */
static int local_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int port = 0;

	if (fd < 0)
		return 0;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    getsockname(fd, (struct sockaddr *)&address, &length) == 0)
		port = ntohs(address.sin_port);
	(void)close(fd);
	return port;
}

static void local_set(const char *name, int value)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", value);
	(void)setenv(name, text, 1);
}

static int local_be(const struct rh_bench_options *options, int32_t rank, int port)
{
	for (size_t i = 0; i < sizeof(local_foreign) / sizeof(*local_foreign); i++)
		(void)unsetenv(local_foreign[i]);
	local_set("RH_COMM_RANK", (int)rank);
	local_set("RH_COMM_WORLD", (int)options->local);
	local_set("RH_COMM_PORT", port);
	(void)setenv("RH_COMM_HOST", "127.0.0.1", 1);
	(void)setenv("RH_COMM_LOG", "off", 0);
	return rh_bench_rank(options, rank != 0);
}

/* @return how many were started */
static int32_t local_start(const struct rh_bench_options *options, int port, pid_t *pids)
{
	pid_t parent = getpid();

	for (int32_t rank = 0; rank < options->local; rank++) {
		pids[rank] = fork();
		if (pids[rank] < 0)
			return rank;
		if (pids[rank] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			/* it may have died before that */
			if (getppid() != parent)
				_exit(RH_BENCH_UNREACHABLE);
			exit(local_be(options, rank, port));
		}
	}
	return options->local;
}

static int local_wait(pid_t pid, int32_t rank)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return RH_BENCH_UNREACHABLE;
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	(void)fprintf(stderr, "roundhouse comm: rank %d was ended by signal %d (%s)\n", (int)rank, WTERMSIG(status),
	              strsignal(WTERMSIG(status)));
	return RH_BENCH_UNREACHABLE;
}

int rh_bench_local(const struct rh_bench_options *options)
{
	pid_t pids[RH_BENCH_LOCAL_MAX];
	int port = local_port();
	int result = RH_BENCH_FINE;
	int32_t started;

	if (port == 0) {
		(void)fprintf(stderr, "roundhouse comm: no port of 127.0.0.1 is free: %s\n", strerror(errno));
		return RH_BENCH_CONFIGURATION;
	}
	(void)fflush(NULL);
	started = local_start(options, port, pids);
	if (started < options->local) {
		(void)fprintf(stderr, "roundhouse comm: rank %d cannot be started: %s\n", (int)started, strerror(errno));
		for (int32_t i = 0; i < started; i++)
			(void)kill(pids[i], SIGKILL);
		result = RH_BENCH_CONFIGURATION;
	}
	for (int32_t i = 0; i < started; i++) {
		int status = local_wait(pids[i], i);

		/* rank 0 has printed the reason; death by a signal is worse than any exit status */
		if (i == 0 || status == RH_BENCH_UNREACHABLE)
			result = started < options->local ? result : status;
	}
	return result;
}
