/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/folders/folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "local/keep/place.h"
#include "local/keep/prune.h"
#include "local/run/parts.h"

/* Most earlier runs whose logs stay beside the newest. */
#define FOLDERS_TRIES 100000

static int folders_fail(const char *path, struct rh_error *err)
{
	return rh_fail(err, RH_EINVAL, "cannot write into the folder of logs \"%s\": %s", path, strerror(errno));
}

static bool folders_is_empty(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	size_t count = 0;

	while (folder && (entry = readdir(folder)))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 ? 1 : 0;
	if (folder)
		(void)closedir(folder);
	return count == 0;
}

static int folders_move(const char *path, struct rh_error *err)
{
	for (int i = 1; i < FOLDERS_TRIES; i++) {
		rh_auto_free char *aside = rh_asprintf("%s.%d", path, i);
		struct stat st;

		if (!aside)
			return rh_fail_oom(err);
		if (lstat(aside, &st) == 0)
			continue;
		return rename(path, aside) < 0 ? folders_fail(path, err) : 0;
	}
	return rh_fail(err, RH_EINVAL, "the folder of logs \"%s\" has too many earlier runs beside it; remove some", path);
}

/* The lock is of the folder itself, so nothing lies among the logs. */
static int folders_lock(const char *path, int *ret_lock, struct rh_error *err)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return folders_fail(path, err);
	*ret_lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_lock < 0)
		return folders_fail(path, err);
	if (flock(*ret_lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return rh_fail(err, RH_EINVAL, "another run writes its logs to \"%s\"; choose another folder with --log-dir", path);
}

static int folders_open_job(const struct rh_run *run, struct rh_run_job *job, struct rh_error *err)
{
	rh_auto_free char *path = rh_path_join(run->log_dir, job->log_name);
	int r = path ? folders_lock(path, &job->log_lock, err) : rh_fail_oom(err);

	if (r < 0 || folders_is_empty(path))
		return r;
	r = folders_move(path, err);
	(void)close(job->log_lock);
	job->log_lock = -1;
	return r < 0 ? r : folders_lock(path, &job->log_lock, err);
}

/* An unusable folder that the user configured counts as bad input. */
static int folders_open_chosen(struct rh_run *run, struct rh_error *err)
{
	const char *log_dir = run->options->log_dir;
	int r = rh_dir_make(log_dir, 0755, err);
	char *real;

	if (r < 0)
		return rh_wrap(err, RH_EINVAL, "folder of logs");
	real = realpath(log_dir, NULL);
	run->log_dir = rh_strdup(real);
	if (!real || access(real, W_OK | X_OK) < 0)
		r = folders_fail(log_dir, err);
	else if (!run->log_dir)
		r = rh_fail_oom(err);
	free(real); /* realpath() has it from malloc() */
	for (size_t i = 0; r == 0 && i < run->job_count; i++)
		r = folders_open_job(run, &run->jobs[i], err);
	return r;
}

/* The runs of one machine are kept as a service to the user: where that fails, the run goes on. */
static int folders_open_keep(struct rh_run *run)
{
	struct rh_keep_job *jobs = rh_alloc_array(run->job_count, sizeof(*jobs));
	const struct rh_keep_start start = {.jobs = jobs,
	                                    .count = run->job_count,
	                                    .manifest = run->options->manifest,
	                                    .run_dir = rh_run_dir_path(run->dir),
	                                    .log_dir = run->log_dir};
	rh_auto_free char *text = NULL;
	struct rh_error why = {0};
	int r = jobs ? 0 : RH_ENOMEM;

	for (size_t i = 0; jobs && i < run->job_count; i++)
		jobs[i] = (struct rh_keep_job){run->jobs[i].job, run->jobs[i].log_name};
	if (r == 0)
		r = rh_keep_open(run->keep, &start, &why);
	rh_free(jobs);
	if (r == 0 || r == RH_ENOMEM)
		return r;
	text = rh_asprintf("this run is not kept: %s (name another folder with XDG_STATE_HOME, or use --no-keep)",
	                   why.message);
	rh_run_note(run, text ? text : why.message);
	return 0;
}

/* Where the logs go: the user's folder, else that of the kept run, else the private one. */
static int folders_open_logs(struct rh_run *run, struct rh_error *err)
{
	const char *logs;
	int r = run->options->log_dir ? folders_open_chosen(run, err) : 0;

	if (r < 0)
		return r;
	if (run->keep && folders_open_keep(run) < 0)
		return rh_fail_oom(err);
	run->claims_dir =
		rh_path_join(rh_keep_folder(run->keep) ? rh_keep_folder(run->keep) : rh_run_dir_path(run->dir), RH_KEEP_CLAIMS);
	if (!run->claims_dir)
		return rh_fail_oom(err);
	logs = rh_keep_logs(run->keep);
	if (run->log_dir)
		return 0;
	run->log_dir = logs ? rh_strdup(logs) : rh_path_join(rh_run_dir_path(run->dir), "logs");
	return run->log_dir ? 0 : rh_fail_oom(err);
}

/* The folders: a private one for pods, and one for logs. */
int rh_run_folders_open(struct rh_run *run, struct rh_error *err)
{
	int r = rh_run_dir_new(&run->dir, err);

	if (r < 0)
		return r;
	run->pods_dir = rh_path_join(rh_run_dir_path(run->dir), "pods");
	if (!run->pods_dir)
		return rh_fail_oom(err);
	r = folders_open_logs(run, err);
	return r < 0 ? r : rh_dir_make(run->pods_dir, 0700, err);
}

/* The newest stays, however large it is. What cannot be removed now is tried again after the next run. */
void rh_run_folders_rotate(const struct rh_config *config)
{
	const struct rh_prune prune = {.runs = config->keep_runs,
	                               .bytes = config->keep_mebibytes > 0 ? config->keep_mebibytes * 1024 * 1024 : -1,
	                               .age = -1};

	(void)rh_prune(&prune, NULL);
}
