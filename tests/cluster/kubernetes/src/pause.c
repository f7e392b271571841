/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void stop(int s)
{
	_exit(0);
}
static void reap(int s)
{
	while (waitpid(-1, 0, WNOHANG) > 0)
		;
}
int main(void)
{
	struct sigaction a = {.sa_handler = stop}, c = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};
	sigaction(SIGINT, &a, 0);
	sigaction(SIGTERM, &a, 0);
	sigaction(SIGCHLD, &c, 0);
	for (;;)
		pause();
}
