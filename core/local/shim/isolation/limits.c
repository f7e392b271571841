/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/isolation/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/str.h"

/* cpu.max is counted in periods of this many microseconds, as a kubelet does. */
#define LIMITS_PERIOD INT64_C(100000)
/* Files of /proc and cgroups are small; one larger than this is not what it should be. */
#define LIMITS_FILE_MAX (1024 * 1024)
/* Longest /proc/self/schedstat: three numbers. */
#define LIMITS_WAITS_SIZE 80

/* Controllers that limits need; in version 1 each has a tree of cgroups of its own. */
enum limits_controller { LIMITS_MEMORY, LIMITS_CPU, LIMITS_CONTROLLERS };

static const char *const limits_names[LIMITS_CONTROLLERS] = {"memory", "cpu"};

/* Parent folders of new cgroups. */
struct limits_place {
	bool unified;                      /* version 2: one folder for all controllers, the first */
	char *parents[LIMITS_CONTROLLERS]; /* owned */
};

/* A cgroup as a folder. */
struct limits_group {
	char *path;
	int procs; /* cgroup.procs, open for writing */
};

struct rh_shim_limits {
	bool unified;
	struct limits_group groups[LIMITS_CONTROLLERS]; /* version 2: the first alone */
};

static void limits_place_deinit(struct limits_place *place)
{
	for (int i = 0; i < LIMITS_CONTROLLERS; i++)
		rh_free(place->parents[i]);
}

static char *limits_read(const char *folder, const char *name)
{
	rh_auto_free char *path = rh_asprintf("%s/%s", folder, name);
	char *text = NULL;

	if (!path || rh_file_read(path, LIMITS_FILE_MAX, &text, NULL, NULL) < 0)
		return NULL;
	return text;
}

/* Whether `words` ("cpu memory pids\n") has `word`. */
static bool limits_has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strstr(words, word); at; at = strstr(at + 1, word)) {
		if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\n' || at[length] == '\0'))
			return true;
	}
	return false;
}

static bool limits_may_write(const char *folder, const char *name)
{
	rh_auto_free char *path = rh_asprintf("%s/%s", folder, name);

	return path && access(path, W_OK) == 0;
}

/* Moving a process needs the right to write cgroup.procs of the common ancestor too (cgroup-v2.rst, "Delegation
 * Containment"). */
static bool limits_fits(const char *folder)
{
	rh_auto_free char *controllers = limits_read(folder, "cgroup.subtree_control");

	return controllers && limits_has_word(controllers, "memory") && limits_has_word(controllers, "cpu") &&
	       access(folder, W_OK) == 0 && limits_may_write(folder, "cgroup.procs");
}

/* Version 1 has no rule against processes beside cgroups, so our own one will do. */
static bool limits_fits_v1(const char *folder)
{
	return access(folder, W_OK) == 0 && limits_may_write(folder, "cgroup.procs");
}

/* Where version 2 is mounted: alone, or beside version 1. */
static char *limits_mount(const char *root)
{
	static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

	for (int i = 0; i < 2; i++) {
		rh_auto_free char *place = rh_asprintf("%s%s", root, places[i]);
		rh_auto_free char *controllers = place ? limits_read(place, "cgroup.controllers") : NULL;

		if (controllers)
			return rh_take(place);
	}
	return NULL;
}

/* Whether a list ("cpu,cpuacct") of `length` bytes has `name`. */
static bool limits_lists(const char *list, size_t length, const char *name)
{
	rh_auto_free char *words = rh_strndup(list, length);

	return words && rh_words_have(words, ',', name, strlen(name));
}

/* Our own cgroup: the path of a line "4:memory:/path" of /proc/self/cgroup. Version 2 is the one without a name. */
static char *limits_own(const char *root, const char *controller)
{
	rh_auto_free char *folder = rh_asprintf("%s/proc/self", root);
	rh_auto_free char *text = folder ? limits_read(folder, "cgroup") : NULL;

	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0) {
		const char *list = strchr(line, ':');
		const char *path = list ? strchr(list + 1, ':') : NULL;
		size_t length = path ? (size_t)(path - list - 1) : 0;

		if (path && (controller ? limits_lists(list + 1, length, controller) : length == 0) && path[1] == '/')
			return rh_strndup(path + 1, strcspn(path + 1, "\n"));
	}
	return NULL;
}

/* The nearest folder at or above `own`, a path below `mount`, that fits. */
static char *limits_walk_up(const char *mount, const char *own, bool (*fits)(const char *folder))
{
	rh_auto_free char *folder = rh_asprintf("%s%s", mount, own);

	while (folder && strlen(folder) >= strlen(mount)) {
		if (fits(folder))
			return rh_take(folder);
		*strrchr(folder, '/') = '\0';
	}
	return NULL;
}

char *rh_shim_limits_parent(const char *root, const char *controller)
{
	rh_auto_free char *mount = controller ? rh_asprintf("%s/sys/fs/cgroup/%s", root, controller) : limits_mount(root);
	rh_auto_free char *own = mount ? limits_own(root, controller) : NULL;

	return own ? limits_walk_up(mount, own, controller ? limits_fits_v1 : limits_fits) : NULL;
}

/* Why there is no parent for a controller of version 1. */
static int limits_explain(const char *root, const char *controller, struct rh_error *err)
{
	rh_auto_free char *mount = rh_asprintf("%s/sys/fs/cgroup/%s", root, controller);
	rh_auto_free char *own = limits_own(root, controller);

	if (!mount || !own || access(mount, F_OK) < 0)
		return rh_fail(err, RH_ENOENT, "this user may write no cgroup that delegates the controllers memory and cpu");
	return rh_fail(err, RH_ENOENT, "the controller %s is of cgroups version 1, and this user may not write \"%s%s\"",
	               controller, mount, own);
}

static int limits_find(const char *root, struct limits_place *place, struct rh_error *err)
{
	place->parents[0] = rh_shim_limits_parent(root, NULL);
	place->unified = place->parents[0] != NULL;
	for (int i = 0; i < LIMITS_CONTROLLERS && !place->unified; i++) {
		place->parents[i] = rh_shim_limits_parent(root, limits_names[i]);
		if (!place->parents[i])
			return limits_explain(root, limits_names[i], err);
	}
	return 0;
}

int rh_shim_limits_check(const char *root, struct rh_error *err)
{
	__attribute__((cleanup(limits_place_deinit))) struct limits_place place = {.unified = false};

	return limits_find(root, &place, err);
}

static int limits_write(const char *folder, const char *name, const char *text, struct rh_error *err)
{
	rh_auto_free char *path = rh_asprintf("%s/%s", folder, name);
	rh_auto_close int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;

	if (!path)
		return rh_fail_oom(err);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return rh_fail(err, RH_EIO, "cannot write \"%s\": %s", path, strerror(errno));
	return 0;
}

static int limits_set_memory(const char *folder, int64_t memory, struct rh_error *err)
{
	char text[32];
	int r;

	(void)snprintf(text, sizeof(text), "%" PRId64, memory);
	r = limits_write(folder, "memory.max", text, err);
	if (r < 0)
		return r;
	/* as a kubelet does; neither is there on every kernel */
	(void)limits_write(folder, "memory.swap.max", "0", NULL);
	(void)limits_write(folder, "memory.oom.group", "1", NULL);
	return 0;
}

/* The kernel takes no quota below 1 ms in a period. */
static int64_t limits_quota(int64_t cpu)
{
	return cpu < 10 ? 1000 : cpu * (LIMITS_PERIOD / 1000);
}

static int limits_set(const char *folder, const struct rh_shim_limits_options *options, struct rh_error *err)
{
	char text[64];
	int r = options->memory > 0 ? limits_set_memory(folder, options->memory, err) : 0;

	if (r < 0 || options->cpu == 0)
		return r;
	(void)snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, limits_quota(options->cpu), LIMITS_PERIOD);
	return limits_write(folder, "cpu.max", text, err);
}

static int limits_set_number(const char *folder, const char *name, int64_t number, struct rh_error *err)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRId64, number);
	return limits_write(folder, name, text, err);
}

static int limits_set_v1(const char *folder, enum limits_controller controller,
                         const struct rh_shim_limits_options *options, struct rh_error *err)
{
	int r;

	if (controller == LIMITS_MEMORY && options->memory > 0) {
		r = limits_set_number(folder, "memory.limit_in_bytes", options->memory, err);
		/* no swap beyond it; not there on every kernel */
		(void)limits_set_number(folder, "memory.memsw.limit_in_bytes", options->memory, NULL);
		return r;
	}
	if (controller == LIMITS_MEMORY || options->cpu == 0)
		return 0;
	r = limits_set_number(folder, "cpu.cfs_period_us", LIMITS_PERIOD, err);
	return r < 0 ? r : limits_set_number(folder, "cpu.cfs_quota_us", limits_quota(options->cpu), err);
}

/* Remove empty cgroups of killed shims: those named after an ended process. */
static void limits_sweep(const char *parent)
{
	DIR *folder = opendir(parent);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		long pid = rh_starts_with(entry->d_name, RH_SHIM_LIMITS_PREFIX)
		               ? strtol(entry->d_name + strlen(RH_SHIM_LIMITS_PREFIX), NULL, 10)
		               : 0;

		if (pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			(void)unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
	}
	if (folder)
		(void)closedir(folder);
}

/* Make the cgroup of that name below `parent`. */
static int limits_make(struct limits_group *group, const char *parent, const char *name, struct rh_error *err)
{
	rh_auto_free char *procs = rh_asprintf("%s/%s/cgroup.procs", parent, name);

	limits_sweep(parent);
	group->path = rh_asprintf("%s/%s", parent, name);
	if (!group->path || !procs)
		return rh_fail_oom(err);
	if (mkdir(group->path, 0755) < 0 && errno != EEXIST)
		return rh_fail(err, RH_EIO, "cannot make the cgroup \"%s\": %s", group->path, strerror(errno));
	group->procs = open(procs, O_WRONLY | O_CLOEXEC);
	if (group->procs < 0)
		return rh_fail(err, RH_EIO, "cannot open \"%s\": %s", procs, strerror(errno));
	return 0;
}

int rh_shim_limits_new(const struct rh_shim_limits_options *options, struct rh_shim_limits **ret_limits,
                       struct rh_error *err)
{
	__attribute__((cleanup(limits_place_deinit))) struct limits_place place = {.unified = false};
	rh_auto(shim_limits) limits = rh_alloc(sizeof(*limits));
	int r;

	if (!limits)
		return rh_fail_oom(err);
	for (int i = 0; i < LIMITS_CONTROLLERS; i++)
		limits->groups[i].procs = -1;
	r = limits_find(options->root, &place, err);
	limits->unified = place.unified;
	for (int i = 0; r == 0 && i < LIMITS_CONTROLLERS && place.parents[i]; i++) {
		r = limits_make(&limits->groups[i], place.parents[i], options->name, err);
		if (r == 0 && place.unified)
			r = limits_set(limits->groups[i].path, options, err);
		else if (r == 0)
			r = limits_set_v1(limits->groups[i].path, (enum limits_controller)i, options, err);
	}
	if (r < 0)
		return r;
	*ret_limits = rh_take(limits);
	return 0;
}

void rh_shim_limits_free(struct rh_shim_limits *limits)
{
	if (!limits)
		return;
	for (int i = 0; i < LIMITS_CONTROLLERS; i++) {
		struct limits_group *group = &limits->groups[i];

		if (group->procs >= 0)
			(void)close(group->procs);
		if (group->path)
			(void)rmdir(group->path);
		rh_free(group->path);
	}
	rh_free(limits);
}

int rh_shim_limits_enter(const struct rh_shim_limits *limits)
{
	for (int i = 0; limits && i < LIMITS_CONTROLLERS; i++) {
		if (limits->groups[i].procs >= 0 && write(limits->groups[i].procs, "0", 1) < 0)
			return -1;
	}
	return 0;
}

/* Set the number of the line "key number". @return whether there is such a line */
static bool limits_number(const char *text, const char *key, int64_t *ret_number)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n' ? 1 : 0;
		if (strncmp(line, key, length) == 0 && line[length] == ' ') {
			*ret_number = strtoll(line + length, NULL, 10);
			return true;
		}
		if (*line == '\0')
			break;
	}
	return false;
}

int64_t rh_shim_limits_kills(const struct rh_shim_limits *limits)
{
	const char *file = limits && limits->unified ? "memory.events" : "memory.oom_control";
	rh_auto_free char *text = limits ? limits_read(limits->groups[LIMITS_MEMORY].path, file) : NULL;
	int64_t kills = 0;

	return text && limits_number(text, "oom_kill", &kills) ? kills : 0;
}

bool rh_shim_limits_machine_kills(const char *root, int64_t *ret_kills)
{
	rh_auto_free char *folder = rh_asprintf("%s/proc", root);
	rh_auto_free char *text = folder ? limits_read(folder, "vmstat") : NULL;

	return text && limits_number(text, "oom_kill", ret_kills);
}

int rh_shim_limits_open_waits(const char *root)
{
	rh_auto_free char *path = rh_asprintf("%s/proc/self/schedstat", root);

	return path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* Documentation/scheduler/sched-stats.rst: the second number is the time on run queues, in nanoseconds. */
int64_t rh_shim_limits_waited(int fd)
{
	char text[LIMITS_WAITS_SIZE];
	ssize_t n = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : -1;
	const char *second;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	second = strchr(text, ' ');
	return second ? strtoll(second, NULL, 10) / 1000 : 0;
}
