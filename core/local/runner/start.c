/* SPDX-License-Identifier: Apache-2.0 */
/* Start of a pod's shim. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/os/spawn.h"
#include "local/exec.h"
#include "local/runner/parts.h"
#include "roundhouse/version.h"

/* Wait before GPUs that others use are asked for again. */
#define RUNNER_GPU_PAUSE RH_SECOND

/* A pod under start. */
struct runner_start {
	struct rh_runner_pod *pod;
	const struct rh_json *object;
	struct rh_error *err;
	char *log_dir;      /* of this pod; owned */
	const char *reason; /* of a refusal, as in Kubernetes; NULL: by the error */
};

/* Take the devices that no other process holds; those that were not free are set in `used`. */
static void start_hold_free_gpus(struct rh_runner *runner, bool *used)
{
	for (size_t i = 0; i < runner->devices.count; i++)
		used[i] = runner->devices_used[i] ||
		          !rh_locks_take(runner->options.locks, RH_LOCK_GPU + runner->devices.items[i].number);
}

static bool start_pod_has_gpu(const struct rh_runner_pod *pod, const char *id)
{
	for (size_t i = 0; i < pod->gpu_count; i++) {
		if (pod->gpus[i] == id)
			return true;
	}
	return false;
}

/* Keep the devices of the pod, and release the others. */
static void start_keep_gpus(struct rh_runner_pod *pod, const bool *before)
{
	struct rh_runner *runner = pod->runner;

	for (size_t i = 0; i < runner->devices.count; i++) {
		if (before[i])
			continue;
		if (start_pod_has_gpu(pod, runner->devices.items[i].id))
			runner->devices_used[i] = true;
		else
			rh_locks_drop(runner->options.locks, RH_LOCK_GPU + runner->devices.items[i].number);
	}
}

static int start_take_gpus(struct runner_start *start)
{
	struct rh_runner_pod *pod = start->pod;
	struct rh_runner *runner = pod->runner;
	int want = rh_runtime_spec_gpus(start->object, start->err);
	bool before[RH_DEVICES_MAX] = {false};
	bool used[RH_DEVICES_MAX];
	int r;

	start->reason = "OutOfnvidia.com/gpu";
	if (want < 0)
		return want;
	if (want == 0 || pod->gpu_count > 0) {
		start->reason = NULL;
		return 0;
	}
	rh_free(pod->gpus);
	pod->gpus = rh_alloc_array((size_t)want, sizeof(*pod->gpus));
	if (!pod->gpus)
		return rh_fail_oom(start->err);
	start_hold_free_gpus(runner, before);
	memcpy(used, before, sizeof(used));
	r = rh_devices_pick(&runner->devices, used, (size_t)want, pod->gpus, start->err);
	if (r == 0) {
		pod->gpu_count = (size_t)want;
		start->reason = NULL;
	}
	start_keep_gpus(pod, before);
	return r;
}

void rh_runner_drop_gpus(struct rh_runner_pod *pod)
{
	struct rh_runner *runner = pod->runner;

	for (size_t i = 0; i < runner->devices.count; i++) {
		if (!start_pod_has_gpu(pod, runner->devices.items[i].id))
			continue;
		runner->devices_used[i] = false;
		rh_locks_drop(runner->options.locks, RH_LOCK_GPU + runner->devices.items[i].number);
	}
	pod->gpu_count = 0;
}

/* The folder of the pod's logs; files of an earlier pod of this replica stay. */
static int start_make_logs(struct runner_start *start)
{
	struct rh_runner_pod *pod = start->pod;
	int r;

	start->log_dir = rh_asprintf("%s/%s/%s", pod->runner->options.log_dir, pod->job, pod->replica);
	if (!start->log_dir)
		return rh_fail_oom(start->err);
	r = rh_dir_make(start->log_dir, 0700, start->err);
	for (size_t i = 0; r == 0 && i < pod->container_count; i++)
		pod->containers[i].log.offset = rh_log_size(pod->containers[i].log.path);
	return r;
}

static int start_prepare(struct runner_start *start)
{
	struct rh_runner_pod *pod = start->pod;
	const struct rh_runner_hooks *hooks = &pod->runner->options.hooks;
	const char *address = hooks->address(hooks->arg, start->object);

	if (!pod->dir)
		pod->dir = rh_path_join(pod->runner->options.dir, pod->uid);
	if (address && !pod->ip)
		pod->ip = rh_strdup(address);
	if (!pod->dir || (address && !pod->ip))
		return rh_fail_oom(start->err);
	return start_make_logs(start);
}

/* A child process checks this and inherits the signal handlers: Ctrl-C must not count twice.
 */
static void start_ask_machine(struct rh_runner *runner)
{
	sigset_t all;
	sigset_t before;

	if (runner->asked_machine)
		return;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	runner->machine.can_mount = rh_runtime_spec_can_mount();
	runner->machine.can_limit = rh_runtime_spec_can_limit(&runner->machine.no_limit);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	runner->asked_machine = true;
}

static int start_hosts(const struct rh_runner_pod *pod, struct rh_str *out, struct rh_error *err)
{
	const struct rh_runner_hooks *hooks = &pod->runner->options.hooks;

	if (!hooks->hosts || !pod->runner->machine.can_mount)
		return 0;
	hooks->hosts(hooks->arg, pod->namespace_, out);
	return out->failed ? rh_fail_oom(err) : 0;
}

/* Report a note, once for each text. */
static void start_note(struct rh_runner *runner, const char *text)
{
	const struct rh_runner_hooks *hooks = &runner->options.hooks;

	if (!hooks->note || rh_map_get(runner->noted, text))
		return;
	(void)rh_map_set(runner->noted, text, runner, NULL); /* without memory it is reported again */
	hooks->note(hooks->arg, text);
}

static void start_report_notes(struct rh_runner *runner, const struct rh_str *notes)
{
	const char *text = rh_str_text(notes);

	while (*text) {
		size_t length = strcspn(text, "\n");
		rh_auto_free char *note = rh_strndup(text, length);

		if (note && length > 0)
			start_note(runner, note);
		text += length + (text[length] == '\n' ? 1 : 0);
	}
}

static int start_make_plan(const struct runner_start *start, struct rh_json **ret_plan)
{
	const struct rh_runner_pod *pod = start->pod;
	struct rh_runner *runner = pod->runner;
	const struct rh_runner_hooks *hooks = &runner->options.hooks;
	rh_auto_str hosts = {0};
	rh_auto_str notes = {0};
	struct rh_runtime_spec_input input = {.pod = start->object,
	                                      .config = runner->options.config,
	                                      .lookup = hooks->find,
	                                      .lookup_arg = hooks->arg,
	                                      .pod_dir = pod->dir,
	                                      .pods_dir = runner->options.dir,
	                                      .program = runner->program,
	                                      .log_dir = start->log_dir,
	                                      .claims_dir = runner->options.claims_dir,
	                                      .work_dir = hooks->folder(hooks->arg, start->object),
	                                      .variables =
	                                          hooks->variables ? hooks->variables(hooks->arg, start->object) : NULL,
	                                      .pod_ip = pod->ip,
	                                      .gpus = pod->gpus,
	                                      .gpu_count = pod->gpu_count};
	int r;

	start_ask_machine(runner);
	input.machine = runner->machine;
	r = start_hosts(pod, &hosts, start->err);
	if (r < 0)
		return r;
	input.hosts = hosts.length > 0 ? rh_str_text(&hosts) : NULL;
	r = rh_runtime_spec_make(&input, ret_plan, &notes, start->err);
	start_report_notes(runner, &notes);
	return r;
}

/* The plan contains secrets, so it is passed in memory. */
static int start_write_plan(const struct rh_json *plan, int *ret_fd, struct rh_error *err)
{
	rh_auto_str text = {0};
	rh_auto_close int fd = memfd_create("roundhouse-plan", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return rh_fail(err, RH_EIO, "cannot make a file in memory: %s", strerror(errno));
	rh_json_print(plan, false, &text);
	if (text.failed)
		return rh_fail_oom(err);
	r = rh_fd_write_all(fd, text.data, text.length, err);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return rh_fail(err, RH_EIO, "cannot rewind a file in memory: %s", strerror(errno));
	*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, RUNNER_FD_SAFE);
	return *ret_fd < 0 ? rh_fail(err, RH_EIO, "cannot hand over the plan: %s", strerror(errno)) : 0;
}

static int start_make_line(int *ret_ours, int *ret_theirs, struct rh_error *err)
{
	int pair[2];
	int theirs;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return rh_fail(err, RH_EIO, "cannot make a socket: %s", strerror(errno));
	theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, RUNNER_FD_SAFE);
	(void)close(pair[1]);
	if (theirs < 0) {
		(void)close(pair[0]);
		return rh_fail(err, RH_EIO, "cannot make a socket: %s", strerror(errno));
	}
	*ret_ours = pair[0];
	*ret_theirs = theirs;
	return 0;
}

/* All shims of a run are of the file that was there at its start, also when it has been replaced since. */
int rh_runner_open_shim(struct rh_runner *runner, struct rh_error *err)
{
	rh_auto_free char *folder = NULL, *path = NULL;
	rh_auto_close int fd = -1;

	if (rh_program_folder(&folder) < 0)
		return rh_fail_oom(err);
	if (!folder)
		return rh_fail(err, RH_EIO, "the folder of this program is not known: is /proc mounted?");
	path = rh_asprintf("%s/../libexec/roundhouse/roundhouse-shim", folder);
	if (!path)
		return rh_fail_oom(err);
	fd = open(path, O_PATH | O_CLOEXEC);
	runner->shim = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, RUNNER_FD_SAFE);
	return runner->shim < 0 ? rh_fail(err, RH_EIO, "cannot open \"%s\", which is installed with roundhouse: %s", path,
	                                  strerror(errno))
	                        : 0;
}

/* A session of its own from the start: Ctrl-C on the terminal must not reach it. */
static int start_spawn(int shim, int plan, int line, int terminal, pid_t *ret_pid, struct rh_error *err)
{
	char name[] = "roundhouse-shim";
	char version[] = RH_VERSION;
	char *argv[] = {name, version, NULL};
	char program[32];
	const struct rh_spawn_fd fds[] = {{RH_SPAWN_NULL, STDIN_FILENO},
	                                  {STDIN_FILENO, STDOUT_FILENO},
	                                  {plan, RH_SHIM_PLAN_FD},
	                                  {line, RH_SHIM_CHANNEL_FD},
	                                  {terminal, RH_SHIM_TERMINAL_FD}};
	const struct rh_spawn how = {
		.program = program,
		.argv = argv,
		.envp = environ,
		.place = RH_SPAWN_OWN_SESSION,
		.fds = fds,
		.fd_count = sizeof(fds) / sizeof(fds[0]) - (terminal < 0 ? 1 : 0),
	};

	(void)snprintf(program, sizeof(program), "/proc/self/fd/%d", shim);
	return rh_spawn(&how, ret_pid, err);
}

static void start_on_shim(void *arg)
{
	rh_runner_receive(arg);
}

/* Where a pod is found by its name. */
static char *start_link_path(const struct rh_runner_pod *pod)
{
	rh_auto_free char *name = rh_exec_link_name(pod->namespace_, pod->name);

	return name ? rh_path_join(pod->runner->options.dir, name) : NULL;
}

/* Before the link is there, so that who finds the folder finds it. */
static int start_record(const struct runner_start *start)
{
	const struct rh_runner_pod *pod = start->pod;
	const struct rh_pod_record record = {pod->namespace_, pod->name, pod->job_name, pod->replica};

	return rh_pod_record_write(pod->dir, &record, start->err);
}

/* A pod that is made again has the name of the one before, so the new link is renamed over the old one. */
static int start_link(const struct rh_runner_pod *pod, struct rh_error *err)
{
	rh_auto_free char *path = start_link_path(pod);
	rh_auto_free char *fresh = path ? rh_asprintf("%s.%s", path, pod->uid) : NULL;

	if (!fresh)
		return rh_fail_oom(err);
	if ((symlink(pod->uid, fresh) < 0 && errno != EEXIST) || rename(fresh, path) < 0)
		return rh_fail(err, RH_EIO, "cannot make \"%s\": %s", path, strerror(errno));
	return 0;
}

void rh_runner_unlink(const struct rh_runner_pod *pod)
{
	rh_auto_free char *path = start_link_path(pod);
	char uid[128];
	ssize_t n = path ? readlink(path, uid, sizeof(uid)) : -1;

	if (n > 0 && (size_t)n == strlen(pod->uid) && strncmp(uid, pod->uid, (size_t)n) == 0)
		(void)unlink(path);
}

static int start_launch(const struct runner_start *start, struct rh_json *plan)
{
	struct rh_runner_pod *pod = start->pod;
	rh_auto_close int plan_fd = -1;
	rh_auto_close int ours = -1;
	rh_auto_close int theirs = -1;
	rh_auto_close int terminal = -1;
	int r = rh_runner_give_terminal(pod, plan, &terminal, start->err);

	if (r == 0)
		r = start_write_plan(plan, &plan_fd, start->err);
	if (r == 0)
		r = start_make_line(&ours, &theirs, start->err);
	if (r == 0)
		r = rh_loop_watch(pod->runner->options.loop, ours, start_on_shim, pod, &pod->watch, start->err);
	if (r < 0)
		return r;
	r = start_spawn(pod->runner->shim, plan_fd, theirs, terminal, &pod->pid, start->err);
	if (r < 0) {
		pod->pid = 0;
		rh_loop_unwatch(rh_take(pod->watch));
		return r;
	}
	pod->line = ours;
	ours = -1;
	return 0;
}

static int start_try(struct runner_start *start)
{
	rh_auto(json) plan = NULL;
	int r = start_prepare(start);

	if (r == 0)
		r = start_take_gpus(start);
	if (r == 0)
		r = start_make_plan(start, &plan);
	if (r == 0)
		r = start_record(start);
	if (r == 0)
		r = start_link(start->pod, start->err);
	if (r == 0)
		r = start_launch(start, plan);
	return r;
}

static void start_wait(struct rh_runner_pod *pod, const char *why)
{
	rh_auto_free char *text = rh_asprintf("%s waits: %s", pod->name, why);

	if (text)
		start_note(pod->runner, text);
	pod->retry_at = rh_clock_monotonic() + RUNNER_GPU_PAUSE;
}

static void start_give_up(const struct runner_start *start, int code)
{
	struct rh_runner_pod *pod = start->pod;

	pod->stage = RH_RUNNER_REFUSED;
	pod->reason = code == RH_ENOENT ? "CreateContainerConfigError" : "CreateContainerError";
	if (start->reason)
		pod->reason = start->reason;
	pod->message = rh_strdup(start->err->message);
	pod->changed = true;
}

void rh_runner_start(struct rh_runner_pod *pod, const struct rh_json *object, int64_t now)
{
	struct rh_error err = {0};
	struct runner_start start = {.pod = pod, .object = object, .err = &err};
	int r = start_try(&start);

	rh_free(start.log_dir);
	if (r == 0) {
		pod->stage = RH_RUNNER_STARTED;
		pod->started_at = now;
		pod->await_until = rh_clock_monotonic() + RH_RUNNER_REPORT_PATIENCE;
		return;
	}
	rh_runner_drop_gpus(pod);
	if (r == RH_EAGAIN)
		start_wait(pod, err.message);
	else if (r != RH_ENOMEM)
		start_give_up(&start, r);
}
