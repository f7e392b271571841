/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/exec.h"

/* Largest file of /proc that is read, in bytes. */
#define USAGE_FILE_MAX (64U * 1024)
/* The replica of a process that belongs to none; SIZE_MAX: not known yet. */
#define USAGE_NONE (SIZE_MAX - 1)
/* Longest command that is shown, in bytes. */
#define USAGE_COMMAND_MAX 4096

/* The shim listens on a socket in its pod's folder; the kernel knows who does. @return 0: nobody */
static int64_t usage_shim(const char *pods, const char *entry)
{
	rh_auto_free char *path = rh_path_join(pods, entry);
	rh_auto_close int folder = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	rh_auto_close int socket_ = folder < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred peer = {.pid = 0};
	socklen_t length = sizeof(peer);

	if (socket_ < 0)
		return 0;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" RH_EXEC_SOCKET, folder);
	if (connect(socket_, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    getsockopt(socket_, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return 0;
	return peer.pid;
}

/* @return the row of the pod's job in the state of the run, borrowed; NULL: the run has no such job */
static const struct rh_json *usage_job(const struct rh_kept *kept, const struct rh_pod_record *record)
{
	const struct rh_json *job = rh_json_first(rh_json_get(kept->state, "jobs"));

	while (job && !(rh_text_equal(rh_json_string(rh_json_get(job, "name")), record->job) &&
	                rh_text_equal(rh_json_string(rh_json_get(job, "namespace")), record->namespace_)))
		job = rh_json_next(job);
	return job;
}

static int64_t usage_last_output(const struct rh_kept *kept, const struct rh_json *job, const char *replica)
{
	rh_auto_free char *logs = rh_kept_logs(kept);
	rh_auto_free char *path =
		logs ? rh_asprintf("%s/%s/%s", logs, rh_json_string(rh_json_get(job, "logs")), replica) : NULL;
	DIR *folder = path ? opendir(path) : NULL;
	const struct dirent *entry;
	int64_t last = 0;

	while (folder && (entry = readdir(folder))) {
		struct stat st;

		if (entry->d_name[0] == '.' || fstatat(dirfd(folder), entry->d_name, &st, 0) < 0 || st.st_size == 0)
			continue;
		if ((int64_t)st.st_mtim.tv_sec * RH_SECOND + st.st_mtim.tv_nsec / 1000 > last)
			last = (int64_t)st.st_mtim.tv_sec * RH_SECOND + st.st_mtim.tv_nsec / 1000;
	}
	if (folder)
		(void)closedir(folder);
	return last;
}

static int usage_add_replica(struct rh_usage *usage, const struct rh_kept *kept, const char *pods, const char *entry)
{
	rh_auto_pod_record record = {0};
	int r = rh_exec_link_read(pods, entry, &record);
	const struct rh_json *job = r == 0 ? usage_job(kept, &record) : NULL;
	int64_t shim = job ? usage_shim(pods, entry) : 0;
	struct rh_usage_replica *grown;
	struct rh_usage_replica *made;

	if (shim <= 0)
		return r == RH_ENOMEM ? r : 0;
	grown = rh_realloc_array(usage->replicas, usage->replica_count + 1, sizeof(*grown));
	if (!grown)
		return RH_ENOMEM;
	usage->replicas = grown;
	made = &grown[usage->replica_count++];
	*made = (struct rh_usage_replica){.job = rh_strdup(record.job),
	                                  .name = rh_strdup(record.replica),
	                                  .row = job,
	                                  .shim = shim,
	                                  .last_output = usage_last_output(kept, job, record.replica)};
	return made->job && made->name ? 0 : RH_ENOMEM;
}

static int usage_compare(const void *a, const void *b)
{
	const struct rh_usage_replica *x = a;
	const struct rh_usage_replica *y = b;
	int order = strcmp(x->job, y->job);

	return order != 0 ? order : strcmp(x->name, y->name);
}

static int usage_read_replicas(const struct rh_kept *kept, struct rh_usage *usage)
{
	const char *run = rh_json_string(rh_json_get(kept->state, "runDir"));
	rh_auto_free char *pods = run ? rh_path_join(run, "pods") : NULL;
	DIR *folder = pods ? opendir(pods) : NULL;
	const struct dirent *entry;
	int r = 0;

	while (r == 0 && folder && (entry = readdir(folder))) {
		if (entry->d_type == DT_LNK)
			r = usage_add_replica(usage, kept, pods, entry->d_name);
	}
	if (folder)
		(void)closedir(folder);
	if (r == 0 && usage->replica_count > 1)
		qsort(usage->replicas, usage->replica_count, sizeof(*usage->replicas), usage_compare);
	return r;
}

/* @return the text of /proc/PID/NAME, owned by the caller; NULL: the process has ended, or it may not be looked at */
static char *usage_file(int64_t pid, const char *name, size_t *ret_length)
{
	char path[64];
	char *text = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/%s", pid, name);
	return rh_file_read(path, USAGE_FILE_MAX, &text, ret_length, NULL) == 0 ? text : NULL;
}

/* @return whether the process is there. Fields of /proc/PID/stat after the name: state, parent, and utime, stime and
 * rss as the 12th, 13th and 22nd */
static bool usage_read_stat(struct rh_usage_process *process, char **ret_name)
{
	rh_auto_free char *text = usage_file(process->pid, "stat", NULL);
	char *open_ = text ? strchr(text, '(') : NULL;
	char *end = text ? strrchr(text, ')') : NULL;
	long long user = 0;
	long long system_ = 0;
	long long pages = 0;
	long long parent = 0;

	if (!open_ || !end ||
	    sscanf(end + 2,
	           "%c %lld %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld %lld %*s %*s %*s %*s %*s %*s %*s "
	           "%*s %lld",
	           &process->state, &parent, &user, &system_, &pages) != 5)
		return false;
	*end = '\0';
	*ret_name = rh_asprintf("[%s]", open_ + 1);
	process->parent = parent;
	process->cpu = (user + system_) * (RH_SECOND / sysconf(_SC_CLK_TCK));
	process->memory = pages * sysconf(_SC_PAGESIZE);
	return *ret_name != NULL;
}

static int64_t usage_number(const char *text, const char *name)
{
	const char *at = text ? strstr(text, name) : NULL;

	return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

static void usage_read_disks(struct rh_usage_process *process)
{
	rh_auto_free char *io = usage_file(process->pid, "io", NULL);

	process->read = usage_number(io, "\nread_bytes: ");
	process->written = usage_number(io, "\nwrite_bytes: ");
}

/* Takes its name, which it keeps where it has no arguments. */
static int usage_read_command(struct rh_usage_process *process, char *name)
{
	size_t length = 0;
	rh_auto_free char *words = usage_file(process->pid, "cmdline", &length);
	rh_auto_str command = {0};

	while (words && length > 0 && words[length - 1] == '\0')
		length--;
	if (words && length > 0)
		rh_str_append_line(&command, words, length, USAGE_COMMAND_MAX); /* the zeros between arguments become spaces */
	process->command = rh_str_take(&command);
	if (process->command && !*process->command) {
		rh_free(process->command);
		process->command = name;
		return 0;
	}
	rh_free(name);
	return process->command ? 0 : RH_ENOMEM;
}

static int usage_add_process(struct rh_usage *usage, int64_t pid)
{
	struct rh_usage_process process = {.pid = pid, .replica = SIZE_MAX};
	struct rh_usage_process *grown;
	char *name = NULL;

	if (!usage_read_stat(&process, &name))
		return 0;
	process.command = name;
	grown = rh_realloc_array(usage->processes, usage->process_count + 1, sizeof(*grown));
	if (!grown) {
		rh_free(name);
		return RH_ENOMEM;
	}
	usage->processes = grown;
	grown[usage->process_count++] = process;
	return 0;
}

static int usage_read_processes(struct rh_usage *usage)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	int r = 0;

	while (r == 0 && folder && (entry = readdir(folder))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			r = usage_add_process(usage, strtoll(entry->d_name, NULL, 10));
	}
	if (folder)
		(void)closedir(folder);
	return r;
}

static int usage_compare_pids(const void *a, const void *b)
{
	int64_t x = ((const struct rh_usage_process *)a)->pid;
	int64_t y = ((const struct rh_usage_process *)b)->pid;

	return (x > y) - (x < y);
}

struct rh_usage_process *rh_usage_find(const struct rh_usage *usage, int64_t pid)
{
	const struct rh_usage_process key = {.pid = pid};

	return usage->process_count > 0
	           ? bsearch(&key, usage->processes, usage->process_count, sizeof(key), usage_compare_pids)
	           : NULL;
}

/* Take over what a parent, or a parent of it, has. Numbers that are used again while they are read may form a circle,
 * so a way is no longer than there are processes. */
static void usage_assign_one(const struct rh_usage *usage, struct rh_usage_process *process)
{
	const struct rh_usage_process *up = process;

	size_t replica;

	for (size_t i = 0; up && up->replica == SIZE_MAX && i < usage->process_count; i++)
		up = rh_usage_find(usage, up->parent);
	replica = up && up->replica != SIZE_MAX ? up->replica : USAGE_NONE;
	for (struct rh_usage_process *at = process; at && at->replica == SIZE_MAX; at = rh_usage_find(usage, at->parent))
		at->replica = replica;
}

/* @param stand whether the shims stand for their replicas, or belong to none */
static void usage_mark_shims(const struct rh_usage *usage, bool stand)
{
	for (size_t i = 0; i < usage->replica_count; i++) {
		struct rh_usage_process *shim = rh_usage_find(usage, usage->replicas[i].shim);

		if (shim)
			shim->replica = stand ? i : USAGE_NONE;
	}
}

/* A child belongs where its parent does. Each way up is gone once. */
static void usage_assign(struct rh_usage *usage)
{
	if (usage->process_count > 1)
		qsort(usage->processes, usage->process_count, sizeof(*usage->processes), usage_compare_pids);
	usage_mark_shims(usage, true);
	for (size_t i = 0; i < usage->process_count; i++)
		usage_assign_one(usage, &usage->processes[i]);
	usage_mark_shims(usage, false);
}

/* Keep the processes of replicas, and look at what costs more than their parents. */
static int usage_choose(struct rh_usage *usage, bool commands)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < usage->process_count; i++) {
		struct rh_usage_process *process = &usage->processes[i];

		if (r < 0 || process->replica == USAGE_NONE) {
			rh_free(process->command);
			continue;
		}
		usage_read_disks(process);
		r = commands ? usage_read_command(process, process->command) : 0;
		usage->processes[kept++] = *process;
	}
	usage->process_count = kept;
	return r;
}

int rh_usage_read(const struct rh_kept *kept, struct rh_usage *ret_usage)
{
	int r;

	*ret_usage = (struct rh_usage){0};
	r = usage_read_replicas(kept, ret_usage);
	if (r == 0)
		r = usage_read_processes(ret_usage);
	if (r == 0)
		usage_assign(ret_usage);
	return r == 0 ? usage_choose(ret_usage, true) : r;
}

int rh_usage_read_below(const pid_t *shims, size_t count, struct rh_usage *ret_usage)
{
	int r;

	*ret_usage = (struct rh_usage){.replicas = rh_alloc_array(count + 1, sizeof(*ret_usage->replicas))};
	if (!ret_usage->replicas)
		return RH_ENOMEM;
	for (size_t i = 0; i < count; i++)
		ret_usage->replicas[ret_usage->replica_count++].shim = shims[i];
	r = usage_read_processes(ret_usage);
	if (r == 0)
		usage_assign(ret_usage);
	return r == 0 ? usage_choose(ret_usage, false) : r;
}

/* @return the same process in an earlier sample; NULL: there is none. Its number may be another one's now, which has
 * used less */
static const struct rh_usage_process *usage_earlier(const struct rh_usage *before,
                                                    const struct rh_usage_process *process)
{
	const struct rh_usage_process *old = before ? rh_usage_find(before, process->pid) : NULL;

	if (!old)
		return NULL;
	return old->cpu <= process->cpu && old->read <= process->read && old->written <= process->written ? old : NULL;
}

void rh_usage_rates(const struct rh_usage *now, const struct rh_usage *before, int64_t time,
                    struct rh_usage_rate *ret_rates)
{
	static const struct rh_usage_process none = {0};
	double seconds = (double)time / (double)RH_SECOND;

	for (size_t i = 0; i < now->replica_count; i++)
		ret_rates[i] = (struct rh_usage_rate){0};
	for (size_t i = 0; i < now->process_count; i++) {
		const struct rh_usage_process *process = &now->processes[i];
		const struct rh_usage_process *found = usage_earlier(before, process);
		const struct rh_usage_process *old = found ? found : &none;
		struct rh_usage_rate *rate = &ret_rates[process->replica];

		rate->processes++;
		rate->memory += process->memory;
		if (time <= 0)
			continue;
		rate->cpu += (double)(process->cpu - old->cpu) / (double)time;
		rate->read += (double)(process->read - old->read) / seconds;
		rate->written += (double)(process->written - old->written) / seconds;
	}
}

void rh_usage_deinit(struct rh_usage *usage)
{
	for (size_t i = 0; i < usage->replica_count; i++) {
		rh_free(usage->replicas[i].job);
		rh_free(usage->replicas[i].name);
	}
	for (size_t i = 0; i < usage->process_count; i++)
		rh_free(usage->processes[i].command);
	rh_free(usage->replicas);
	rh_free(usage->processes);
	*usage = (struct rh_usage){0};
}
