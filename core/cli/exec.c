/* SPDX-License-Identifier: Apache-2.0 */
#include "local/exec.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/commands.h"

/* What kubectl's --pod-running-timeout is by default. A person at a terminal has seen that the pod runs. */
#define EXEC_PATIENCE_IN_POD (60 * RH_SECOND)

/* kubectl takes "pod/NAME" as well. */
static const char *exec_pod(const char *word)
{
	static const char *const prefixes[] = {"pod/", "pods/", "po/"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (rh_starts_with(word, prefixes[i]))
			return word + strlen(prefixes[i]);
	}
	return word;
}

static const char *exec_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static int exec_fill(const struct rh_cli *cli, struct rh_exec *exec, struct rh_error *err)
{
	const char *patience = rh_cli_option(cli, "pod-running-timeout");
	const char *inside = exec_environment(RH_EXEC_PODS);

	exec->pods = rh_cli_option(cli, "run-dir");
	if (!exec->pods)
		exec->pods = inside;
	exec->namespace_ = rh_cli_option(cli, "namespace");
	if (!exec->namespace_)
		exec->namespace_ = exec_environment(RH_EXEC_NAMESPACE);
	if (!exec->namespace_)
		exec->namespace_ = "default";
	exec->pod = exec_pod(cli->operands[0]);
	if (!*exec->pod || strchr(exec->pod, '/') || strchr(exec->namespace_, '/'))
		return rh_fail(err, RH_EINVAL, "\"%s\" in namespace \"%s\" is not the name of a pod", cli->operands[0],
		               exec->namespace_);
	exec->container = rh_cli_option(cli, "container");
	exec->patience = inside ? EXEC_PATIENCE_IN_POD : 0;
	if (patience && rh_duration_parse(patience, &exec->patience, err) < 0)
		return rh_wrap(err, RH_EINVAL, "option --pod-running-timeout");
	return 0;
}

static int exec_run(const struct rh_cli *cli)
{
	struct rh_exec exec = {.argv = (const char *const *)cli->operands + 1};
	struct rh_error err = {0};
	int r = exec_fill(cli, &exec, &err);

	/* the operands stand at the start of argv, which is longer or ends here anyway */
	cli->operands[cli->operand_count] = NULL;
	if (r == 0)
		r = rh_exec(&exec, &err);
	if (r < 0)
		return rh_cli_end(cli, r, &err);
	return err.message[0] ? rh_cli_fail(cli, r, err.message) : r;
}

static const struct rh_option exec_options[] = {
	{"namespace", 'n', "NS", NULL, "the pod's namespace (default: inside a pod its own, else default)"},
	{"container", 'c', "CONTAINER", NULL, "the container to run it in (default: the first one)"},
	{"run-dir", 0, "DIR", NULL,
     "folder of the run (default: inside a pod its own run, else the only one that has such a pod)"},
	{"pod-running-timeout", 0, "TIME", NULL,
     "how long to wait for the container to run (default: inside a pod 1m, else 0)"},
	{"stdin", 'i', NULL, NULL, "as kubectl has it; standard input is always passed"},
	{"tty", 't', NULL, NULL, "as kubectl has it; a terminal is passed as it is"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_exec = {
	.name = "exec",
	.synopsis = "POD -- COMMAND...",
	.summary = "run a command in a pod of a run that goes on, as kubectl exec does",
	.details =
		"The command has the container's environment, working directory and volumes, and the standard streams of\n"
		"this one. It ends with the pod at the latest. Ctrl-C hangs up: the command gets SIGHUP.\n\n"
		"Exit status: that of the command, 128 + N when signal N ended it, 126 or 127 when it cannot be\n"
		"started; 1 when the pod ended meanwhile, 2 when there is no such pod.",
	.options = exec_options,
	.operands_min = 2,
	.operands_max = 1000000,
	.run = exec_run,
};
