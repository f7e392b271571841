/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/limits.h"

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

#include "base/file.h"
#include "base/str.h"

/* cpu.max is counted in periods of this many microseconds, as a kubelet does. */
#define LIMITS_PERIOD INT64_C(100000)
/* Files of /proc and cgroups are small; one larger than this is not what it should be. */
#define LIMITS_FILE_MAX (1024 * 1024)

struct rh_shim_limits {
	char *path;
	int procs; /* cgroup.procs, open for writing */
};

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

/* Our own cgroup: the line "0::/path" of /proc/self/cgroup. */
static char *limits_own(const char *root)
{
	rh_auto_free char *folder = rh_asprintf("%s/proc/self", root);
	rh_auto_free char *text = folder ? limits_read(folder, "cgroup") : NULL;
	const char *line = text;

	while (line && !rh_starts_with(line, "0::/")) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return line ? rh_strndup(line + 3, strcspn(line + 3, "\n")) : NULL;
}

char *rh_shim_limits_parent(const char *root)
{
	rh_auto_free char *mount = limits_mount(root);
	rh_auto_free char *own = mount ? limits_own(root) : NULL;
	rh_auto_free char *folder = own ? rh_asprintf("%s%s", mount, own) : NULL;

	while (folder && strlen(folder) >= strlen(mount)) {
		char *slash = strrchr(folder, '/');

		if (limits_fits(folder))
			return rh_take(folder);
		*slash = '\0';
	}
	return NULL;
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

static int limits_set(const char *folder, const struct rh_shim_limits_options *options, struct rh_error *err)
{
	char text[64];
	int r = options->memory > 0 ? limits_set_memory(folder, options->memory, err) : 0;

	if (r < 0 || options->cpu == 0)
		return r;
	/* the kernel takes no quota below 1 ms */
	(void)snprintf(text, sizeof(text), "%" PRId64 " %" PRId64,
	               options->cpu < 10 ? 1000 : options->cpu * (LIMITS_PERIOD / 1000), LIMITS_PERIOD);
	return limits_write(folder, "cpu.max", text, err);
}

/* Remove what shims that were killed left: empty cgroups named after a process that is gone. */
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

int rh_shim_limits_new(const struct rh_shim_limits_options *options, struct rh_shim_limits **ret_limits,
                       struct rh_error *err)
{
	rh_auto_free char *parent = rh_shim_limits_parent(options->root);
	rh_auto_free char *procs = NULL;
	rh_auto(shim_limits) limits = NULL;
	int r;

	if (!parent)
		return rh_fail(err, RH_ENOENT, "no cgroup with memory and cpu controllers that this user may write");
	limits_sweep(parent);
	limits = rh_alloc(sizeof(*limits));
	if (!limits)
		return rh_fail_oom(err);
	limits->procs = -1;
	limits->path = rh_asprintf("%s/%s", parent, options->name);
	procs = rh_asprintf("%s/%s/cgroup.procs", parent, options->name);
	if (!limits->path || !procs)
		return rh_fail_oom(err);
	if (mkdir(limits->path, 0755) < 0 && errno != EEXIST)
		return rh_fail(err, RH_EIO, "cannot make the cgroup \"%s\": %s", limits->path, strerror(errno));
	r = limits_set(limits->path, options, err);
	if (r < 0)
		return r;
	limits->procs = open(procs, O_WRONLY | O_CLOEXEC);
	if (limits->procs < 0)
		return rh_fail(err, RH_EIO, "cannot open \"%s\": %s", procs, strerror(errno));
	*ret_limits = rh_take(limits);
	return 0;
}

void rh_shim_limits_free(struct rh_shim_limits *limits)
{
	if (!limits)
		return;
	if (limits->procs >= 0)
		(void)close(limits->procs);
	if (limits->path)
		(void)rmdir(limits->path);
	rh_free(limits->path);
	rh_free(limits);
}

int rh_shim_limits_enter(const struct rh_shim_limits *limits)
{
	return limits && write(limits->procs, "0", 1) < 0 ? -1 : 0;
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
	rh_auto_free char *text = limits ? limits_read(limits->path, "memory.events") : NULL;
	int64_t kills = 0;

	return text && limits_number(text, "oom_kill", &kills) ? kills : 0;
}

bool rh_shim_limits_machine_kills(const char *root, int64_t *ret_kills)
{
	rh_auto_free char *folder = rh_asprintf("%s/proc", root);
	rh_auto_free char *text = folder ? limits_read(folder, "vmstat") : NULL;

	return text && limits_number(text, "oom_kill", ret_kills);
}
