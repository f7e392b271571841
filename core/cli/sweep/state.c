/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sweep/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/keep/place.h"

#define STATE_FOLDER "sweeps"
#define STATE_SUFFIX ".jsonl"
/* "-YYYYMMDD-HHMMSS-UUUUUU" */
#define STATE_TIME_LENGTH 23
#define STATE_FILE_MAX (64u * 1024 * 1024)
#define STATE_VERSION 1
/* How long runs of a killed sweep may take to end: longer than the grace period of most pods. */
#define STATE_WAIT (60 * RH_SECOND)

void rh_sweep_state_close(struct rh_sweep_state *state)
{
	if (state->fd > 0)
		(void)close(state->fd);
	rh_free(state->path);
	rh_json_free(state->plan);
	rh_json_free(state->trials);
	*state = (struct rh_sweep_state){0};
}

/* The folder beside that of the runs. */
static int state_folder(char **ret_folder, struct rh_error *err)
{
	rh_auto_free char *runs = NULL;
	rh_auto_free char *parent = NULL;
	int r = rh_keep_place(&runs, err);

	if (r < 0)
		return r;
	parent = rh_path_folder(runs);
	*ret_folder = parent ? rh_path_join(parent, STATE_FOLDER) : NULL;
	return *ret_folder ? 0 : rh_fail_oom(err);
}

static int state_lock(struct rh_sweep_state *state, int flags, struct rh_error *err)
{
	state->fd = open(state->path, flags | O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (state->fd < 0)
		return rh_fail(err, RH_EIO, "cannot open \"%s\": %s", state->path, strerror(errno));
	return flock(state->fd, LOCK_EX | LOCK_NB) == 0 ? 0 : 1;
}

static char *state_name(const char *folder, const char *job)
{
	int64_t wall = rh_clock_wall();
	time_t now = (time_t)(wall / RH_SECOND);
	struct tm tm;
	char at[STATE_TIME_LENGTH + 1];

	(void)gmtime_r(&now, &tm);
	(void)strftime(at, sizeof(at), "-%Y%m%d-%H%M%S", &tm);
	return rh_asprintf("%s/%s%s-%06d" STATE_SUFFIX, folder, job, at, (int)(wall % RH_SECOND));
}

static int state_create(struct rh_sweep_state *state, const char *job, struct rh_error *err)
{
	rh_auto_free char *folder = NULL;
	struct rh_error why = {0};
	int r = state_folder(&folder, err);

	if (r < 0)
		return r;
	r = rh_keep_place_make(folder, &why);
	if (r < 0)
		return rh_fail(err, r, "%s (name another folder with XDG_STATE_HOME)", why.message);
	state->path = state_name(folder, job);
	return state->path ? state_lock(state, O_CREAT | O_EXCL, err) : rh_fail_oom(err);
}

static int state_fill_trials(struct rh_sweep_state *state)
{
	size_t count = rh_json_size(rh_json_get(state->plan, "combinations"));

	rh_json_free(state->trials);
	state->trials = rh_json_new_array();
	for (size_t i = 0; i < count && state->trials; i++) {
		if (rh_json_append(state->trials, rh_json_new_object()) < 0)
			return RH_ENOMEM;
	}
	return state->trials ? 0 : RH_ENOMEM;
}

int rh_sweep_state_new(struct rh_json *plan, struct rh_sweep_state *ret_state, struct rh_error *err)
{
	int r;

	*ret_state = (struct rh_sweep_state){.plan = plan};
	if (rh_json_set_integer(plan, "version", STATE_VERSION) < 0 || state_fill_trials(ret_state) < 0)
		return rh_fail_oom(err);
	r = state_create(ret_state, rh_json_string(rh_json_get(plan, "job")), err);
	return r < 0 ? r : rh_sweep_state_add(ret_state, rh_json_copy(plan), err);
}

int rh_sweep_state_add(const struct rh_sweep_state *state, struct rh_json *row, struct rh_error *err)
{
	rh_auto_str text = {0};

	if (row)
		rh_json_print(row, false, &text);
	rh_json_free(row);
	rh_str_append(&text, "\n");
	if (text.failed || text.length == 1)
		return rh_fail_oom(err);
	if (write(state->fd, text.data, text.length) != (ssize_t)text.length)
		return rh_fail(err, RH_EIO, "cannot write \"%s\": %s", state->path, strerror(errno));
	return 0;
}

static int state_take_row(struct rh_sweep_state *state, const struct rh_json *row)
{
	int64_t number;
	struct rh_json *trial = rh_json_integer(rh_json_get(row, "trial"), &number) && number > 0
	                            ? rh_json_item(state->trials, (size_t)number - 1)
	                            : NULL;

	/* a second run of a trial replaces what is known of the first one */
	if (trial && rh_json_get(row, "run")) {
		rh_json_remove(trial, "state");
		rh_json_remove(trial, "metric");
	}
	return trial ? rh_json_merge(trial, row) : 0;
}

/* A line that is cut or damaged is left out, but for the first one. */
static int state_take_lines(struct rh_sweep_state *state, char *text, struct rh_error *err)
{
	char *end;

	for (char *line = text; (end = strchr(line, '\n')); line = end + 1) {
		rh_auto(json) row = NULL;

		if (rh_json_parse(line, (size_t)(end - line), &row, NULL) < 0 && line != text)
			continue;
		if (line != text) {
			if (state_take_row(state, row) < 0)
				return rh_fail_oom(err);
			continue;
		}
		if (!state->plan) /* it never changes, and others borrow it */
			state->plan = rh_take(row);
		if (state_fill_trials(state) < 0)
			return rh_fail_oom(err);
	}
	return 0;
}

int rh_sweep_state_read(struct rh_sweep_state *state, struct rh_error *err)
{
	rh_auto_free char *text = NULL;
	int64_t version = 0;
	int r = rh_file_read(state->path, STATE_FILE_MAX, &text, NULL, err);

	if (r == 0)
		r = state_take_lines(state, text, err);
	if (r < 0)
		return r;
	if (rh_json_integer(rh_json_get(state->plan, "version"), &version) && version == STATE_VERSION)
		return 0;
	return rh_fail(err, RH_EINVAL, "\"%s\" is not the state of a sweep of this version", state->path);
}

/* @return whether the file is one of the job: JOB-YYYYMMDD-HHMMSS-UUUUUU.jsonl */
static bool state_is_of(const char *name, const char *job)
{
	size_t length = strlen(job);
	const char *time = name + length;

	return strncmp(name, job, length) == 0 && strlen(time) >= STATE_TIME_LENGTH + strlen(STATE_SUFFIX) &&
	       strspn(time, "-0123456789") == STATE_TIME_LENGTH && rh_ends_with(name, STATE_SUFFIX);
}

/* Their names are in the order of their times. */
static int state_find_newest(const char *folder, const char *job, char **ret_name)
{
	DIR *open_ = opendir(folder);
	const struct dirent *entry;
	int r = 0;

	while (open_ && r == 0 && (entry = readdir(open_))) {
		if (!state_is_of(entry->d_name, job) || (*ret_name && strcmp(entry->d_name, *ret_name) < 0))
			continue;
		rh_free(*ret_name);
		*ret_name = rh_strdup(entry->d_name);
		r = *ret_name ? 0 : RH_ENOMEM;
	}
	if (open_)
		(void)closedir(open_);
	return r;
}

static int state_wait(const struct rh_sweep_state *state, struct rh_error *err)
{
	static const struct timespec pause = {0, 10 * 1000 * 1000};
	int64_t until = rh_clock_monotonic() + STATE_WAIT;
	int64_t pid = 0;
	int64_t start = 0;

	(void)rh_json_integer(rh_json_get(state->plan, "pid"), &pid);
	(void)rh_json_integer(rh_json_get(state->plan, "pidStart"), &start);
	while (flock(state->fd, LOCK_EX | LOCK_NB) < 0) {
		if (rh_keep_is_process(pid, start))
			return rh_fail(err, RH_EINVAL, "the sweep goes on: process %lld has \"%s\"", (long long)pid, state->path);
		if (rh_clock_monotonic() > until)
			return rh_fail(err, RH_EINVAL, "runs of the sweep in \"%s\" do not end; `roundhouse stop` stops them",
			               state->path);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

/* A line that was cut is ended, so that the next one is not lost with it. */
static int state_mend(const struct rh_sweep_state *state, struct rh_error *err)
{
	char last = '\n';
	off_t end = lseek(state->fd, 0, SEEK_END);

	if (end > 0 && pread(state->fd, &last, 1, end - 1) == 1 && last != '\n' && write(state->fd, "\n", 1) != 1)
		return rh_fail(err, RH_EIO, "cannot write \"%s\": %s", state->path, strerror(errno));
	return 0;
}

int rh_sweep_state_resume(const char *job, struct rh_sweep_state *ret_state, struct rh_error *err)
{
	rh_auto_free char *folder = NULL;
	rh_auto_free char *name = NULL;
	int r = state_folder(&folder, err);

	*ret_state = (struct rh_sweep_state){0};
	if (r == 0 && state_find_newest(folder, job, &name) < 0)
		r = rh_fail_oom(err);
	if (r == 0 && !name)
		r = rh_fail(err, RH_ENOENT, "there is no sweep of job \"%s\" to go on with; leave out --resume", job);
	if (r < 0)
		return r;
	ret_state->path = rh_path_join(folder, name);
	r = ret_state->path ? state_lock(ret_state, 0, err) : rh_fail_oom(err);
	if (r >= 0 && rh_sweep_state_read(ret_state, err) < 0)
		return RH_EINVAL;
	if (r == 1)
		r = state_wait(ret_state, err);
	if (r == 0)
		r = state_mend(ret_state, err);
	return r < 0 ? r : rh_sweep_state_read(ret_state, err);
}

const char *rh_sweep_state_text(const struct rh_sweep_state *state, size_t number, const char *member)
{
	return rh_json_string(rh_json_get(rh_json_item(state->trials, number - 1), member));
}
