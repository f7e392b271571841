/* SPDX-License-Identifier: Apache-2.0 */
/* Which container has the terminal of the user. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "local/runner/parts.h"

static bool terminal_is_of(const struct rh_runner_pod *pod, const char *job, const char *replica)
{
	return strcmp(pod->job, job) == 0 && strcmp(pod->replica, replica) == 0;
}

bool rh_runner_runs(const struct rh_runner *runner, const char *job, const char *replica, const char *container)
{
	size_t cursor = 0;
	void *value = NULL;
	const char *key;

	while (rh_map_next(runner->pods, &cursor, &key, &value)) {
		struct rh_runner_pod *pod = value;
		const struct rh_runner_container *found =
			terminal_is_of(pod, job, replica) ? rh_runner_pod_container(pod, container, false) : NULL;

		if (found && pod->pid > 0 && found->reported && found->report.running)
			return true;
	}
	return false;
}

int rh_runner_give_terminal(const struct rh_runner_pod *pod, struct rh_json *plan, int *ret_fd, struct rh_error *err)
{
	const struct rh_runner_terminal *terminal = &pod->runner->options.terminal;
	struct rh_json *item = rh_json_first(rh_json_get(plan, "containers"));

	if (!terminal->job || !terminal_is_of(pod, terminal->job, terminal->replica))
		return 0;
	while (item && !rh_text_equal(rh_json_string(rh_json_get(item, "name")), terminal->container))
		item = rh_json_next(item);
	if (!item)
		return 0;
	*ret_fd = fcntl(terminal->fd, F_DUPFD_CLOEXEC, RUNNER_FD_SAFE);
	if (*ret_fd < 0)
		return rh_fail(err, RH_EIO, "cannot hand over the terminal: %s", strerror(errno));
	return rh_json_set(item, "terminal", rh_json_new_bool(true)) < 0 ? rh_fail_oom(err) : 0;
}
