/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"
#include "base/yaml.h"
#include "local/keep/place.h"
#include "local/keep/rows.h"
#include "roundhouse/version.h"

/* Bytes of a job's name in the name of its run's folder; a folder's name has 255 at most. */
#define MAKE_NAME_MAX 200
/* Runs of one job that start in one second. */
#define MAKE_TRIES 10000

/* The file that an object comes from, so that it is found from every folder. */
static char *make_source(const char *source)
{
	rh_auto_free char *folder = rh_path_folder(source);
	char *real = folder ? realpath(folder, NULL) : NULL; /* malloc'ed by the C library */
	const char *slash = strrchr(source, '/');
	char *path = rh_asprintf("%s/%s", real ? real : "", slash ? slash + 1 : source);

	free(real);
	return path;
}

static int make_add_sources(struct rh_json *state, const struct rh_manifest *manifest)
{
	struct rh_json *list = rh_json_ensure_array(state, "sources");

	for (size_t i = 0; list && i < manifest->count; i++) {
		rh_auto_free char *source = make_source(manifest->items[i].source);

		if (!source || rh_json_append(list, rh_json_new_string(source)) < 0)
			return RH_ENOMEM;
	}
	return list ? 0 : RH_ENOMEM;
}

static int make_add_job(struct rh_json *list, const struct rh_keep_job *from)
{
	const struct rh_job *job = from->job;
	rh_auto(json) row = rh_json_new_object();
	struct rh_json *replicas;

	if (!row || rh_json_set_string(row, "name", job->name) < 0 ||
	    rh_json_set_string(row, "namespace", job->namespace_) < 0 ||
	    rh_json_set_string(row, "kind", job->kind->kind) < 0 || rh_json_set_string(row, "logs", from->log_name) < 0 ||
	    rh_json_set_string(row, "state", "Pending") < 0 || rh_json_set(row, "containers", rh_rows_containers(job)) < 0)
		return RH_ENOMEM;
	replicas = rh_json_ensure_object(row, "replicas");
	for (size_t i = 0; i < job->spec_count; i++) {
		if (!replicas || rh_json_set_integer(replicas, job->specs[i].type, job->specs[i].replicas) < 0)
			return RH_ENOMEM;
	}
	return rh_json_append(list, rh_take(row));
}

static int make_add_process(struct rh_json *state)
{
	char now[RH_TIME_SIZE];
	int64_t pid = getpid();

	if (rh_json_set_integer(state, "pid", pid) < 0 ||
	    rh_json_set_integer(state, "pidStart", rh_keep_process_start(pid)) < 0)
		return RH_ENOMEM;
	return rh_json_set_string(state, "startedAt", rh_time_format_micro(rh_clock_wall(), now));
}

struct rh_json *rh_keep_make_state(const struct rh_keep_start *start)
{
	rh_auto(json) state = rh_json_new_object();
	struct rh_json *jobs;

	if (!state || rh_json_set_integer(state, "version", RH_KEEP_VERSION) < 0 ||
	    rh_json_set_string(state, "roundhouse", RH_VERSION) < 0 || make_add_process(state) < 0 ||
	    rh_json_set_string(state, "runDir", start->run_dir) < 0 ||
	    (start->log_dir && rh_json_set_string(state, "logDir", start->log_dir) < 0) ||
	    make_add_sources(state, start->manifest) < 0)
		return NULL;
	jobs = rh_json_ensure_array(state, "jobs");
	for (size_t i = 0; i < start->count; i++) {
		if (!jobs || make_add_job(jobs, &start->jobs[i]) < 0)
			return NULL;
	}
	return rh_take(state);
}

static int make_open(const char *folder, const char *name, int flags, int *ret_fd, struct rh_error *err)
{
	rh_auto_free char *path = rh_path_join(folder, name);

	if (!path)
		return rh_fail_oom(err);
	*ret_fd = open(path, flags | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return *ret_fd < 0 ? rh_fail(err, RH_EIO, "cannot make \"%s\": %s", path, strerror(errno)) : 0;
}

static int make_write_jobs(const char *folder, const struct rh_manifest *manifest, struct rh_error *err)
{
	rh_auto_str text = {0};
	rh_auto_close int fd = -1;
	int r;

	for (size_t i = 0; i < manifest->count; i++) {
		rh_str_append(&text, i > 0 ? "---\n" : "");
		if (rh_yaml_print(manifest->items[i].object, &text) < 0)
			return rh_fail_oom(err);
	}
	if (text.failed)
		return rh_fail_oom(err);
	r = make_open(folder, RH_KEEP_JOBS, O_WRONLY, &fd, err);
	return r < 0 ? r : rh_fd_write_all(fd, rh_str_text(&text), text.length, err);
}

/* Nobody reads it before the folder has its name, so it is written in place. Entries of folders are left to the file
 * system, as that name is: one more fsync() would make each start wait for the disk twice. */
static int make_write_state(const char *folder, const struct rh_json *state, struct rh_error *err)
{
	rh_auto_str text = {0};
	rh_auto_close int fd = -1;
	int r;

	rh_json_print(state, false, &text);
	rh_str_append(&text, "\n");
	if (text.failed)
		return rh_fail_oom(err);
	r = make_open(folder, RH_KEEP_START, O_WRONLY, &fd, err);
	if (r == 0)
		r = rh_fd_write_all(fd, rh_str_text(&text), text.length, err);
	if (r == 0 && fsync(fd) < 0)
		r = rh_fail(err, RH_EIO, "cannot write \"%s/" RH_KEEP_START "\": %s", folder, strerror(errno));
	return r;
}

static int make_fill(const char *hidden, const struct rh_json *state, const struct rh_manifest *manifest,
                     struct rh_keep_folder *folder, struct rh_error *err)
{
	int r = make_open(hidden, RH_KEEP_LOCK, O_RDWR, &folder->lock, err);

	/* another run that looks for leftovers may hold it for a moment */
	if (r == 0 && flock(folder->lock, LOCK_EX) < 0)
		r = rh_fail(err, RH_EIO, "cannot lock \"%s/" RH_KEEP_LOCK "\": %s", hidden, strerror(errno));
	if (r == 0)
		r = make_open(hidden, RH_KEEP_EVENTS, O_WRONLY | O_APPEND, &folder->events, err);
	if (r == 0)
		r = make_write_jobs(hidden, manifest, err);
	return r < 0 ? r : make_write_state(hidden, state, err);
}

/* Give the folder its name: JOB-TIME, in UTC, and a number behind it where another run has that name. */
static int make_show(const char *runs, const char *hidden, const char *job, struct rh_keep_folder *folder,
                     struct rh_error *err)
{
	time_t now = (time_t)(rh_clock_wall() / RH_SECOND);
	struct tm parts;
	char when[32];

	(void)gmtime_r(&now, &parts);
	(void)strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &parts);
	for (int i = 1; i <= MAKE_TRIES; i++) {
		rh_auto_free char *path = i == 1 ? rh_asprintf("%s/%.*s-%s", runs, MAKE_NAME_MAX, job, when)
		                                 : rh_asprintf("%s/%.*s-%s-%d", runs, MAKE_NAME_MAX, job, when, i);

		if (!path)
			return rh_fail_oom(err);
		/* a folder of a run is never empty, so it is not replaced */
		if (rename(hidden, path) == 0) {
			folder->path = rh_take(path);
			return 0;
		}
		if (errno != EEXIST && errno != ENOTEMPTY)
			break;
	}
	return rh_fail(err, RH_EIO, "cannot make a folder for the run in \"%s\": %s", runs, strerror(errno));
}

int rh_keep_make(const char *name, const struct rh_json *state, const struct rh_manifest *manifest,
                 struct rh_keep_folder *folder, struct rh_error *err)
{
	rh_auto_free char *runs = NULL;
	rh_auto_free char *hidden = NULL;
	int r = rh_keep_place(&runs, err);

	if (r == 0)
		r = rh_keep_place_make(runs, err);
	if (r < 0)
		return r;
	hidden = rh_asprintf("%s/" RH_KEEP_NEW "XXXXXX", runs);
	if (!hidden)
		return rh_fail_oom(err);
	if (!mkdtemp(hidden))
		return rh_fail(err, RH_EIO, "cannot make a folder in \"%s\": %s", runs, strerror(errno));
	r = make_fill(hidden, state, manifest, folder, err);
	if (r == 0)
		r = make_show(runs, hidden, name, folder, err);
	if (r < 0)
		(void)rh_dir_remove(hidden, NULL);
	return r;
}

void rh_keep_folder_close(struct rh_keep_folder *folder)
{
	if (folder->events >= 0)
		(void)close(folder->events);
	if (folder->lock >= 0)
		(void)close(folder->lock);
	rh_free(folder->path);
	*folder = (struct rh_keep_folder){NULL, -1, -1};
}
