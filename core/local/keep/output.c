/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/output.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/keep/output_file.h"
#include "local/keep/place.h"
#include "local/run.h"

#define OUTPUT_SUFFIX ".log"

struct rh_output {
	const struct rh_kept *kept;
	struct rh_output_options options;
	char *logs;
	struct rh_output_file *files;
	size_t count;
	int watch;           /* inotify; -1: nothing is followed */
	int64_t partial_due; /* monotonic time at which starts of lines are passed on; 0: none waits */
};

bool rh_output_is_replica(const char *word, const char *job, const char *replica)
{
	const char *dash = strrchr(replica, '-');
	size_t type = dash ? (size_t)(dash - replica) : strlen(replica);
	size_t length = strlen(job);

	if (strcasecmp(word, replica) == 0 || (strlen(word) == type && strncasecmp(word, replica, type) == 0))
		return true;
	return strncmp(word, job, length) == 0 && word[length] == '-' && strcasecmp(word + length + 1, replica) == 0;
}

static bool output_has(const struct rh_output *output, const char *path)
{
	for (size_t i = 0; i < output->count; i++) {
		if (strcmp(output->files[i].path, path) == 0)
			return true;
	}
	return false;
}

/* Takes @p path. */
static int output_add(struct rh_output *output, char *path, const char *job, const char *replica, const char *container)
{
	struct rh_output_file *grown = rh_realloc_array(output->files, output->count + 1, sizeof(*grown));
	rh_auto_free char *times =
		rh_asprintf("%s/" RH_KEEP_TIMES "/%s/%s/%s", output->kept->path, job, replica, container);
	struct rh_output_file *file;

	if (!grown) {
		rh_free(path);
		return RH_ENOMEM;
	}
	output->files = grown;
	file = &output->files[output->count++];
	*file = (struct rh_output_file){
		.path = path, .job = rh_strdup(job), .replica = rh_strdup(replica), .container = rh_strdup(container)};
	if (!times || !file->job || !file->replica || !file->container)
		return RH_ENOMEM;
	return rh_output_file_open(file, times, output->options.tail);
}

/* What is in one folder of the logs. */
typedef int output_entry_fn(struct rh_output *output, const char *path, const char *job, const char *replica,
                            const char *name);

static void output_watch(const struct rh_output *output, const char *path, uint32_t events)
{
	if (output->watch >= 0)
		(void)inotify_add_watch(output->watch, path, events);
}

static int output_each(struct rh_output *output, const char *path, const char *job, const char *replica,
                       output_entry_fn *fn)
{
	DIR *folder;
	const struct dirent *entry;
	int r = 0;

	output_watch(output, path, IN_CREATE | IN_MODIFY | IN_MOVED_TO);
	folder = opendir(path);
	while (r == 0 && folder && (entry = readdir(folder))) {
		rh_auto_free char *below = entry->d_name[0] != '.' ? rh_path_join(path, entry->d_name) : NULL;

		if (entry->d_name[0] != '.')
			r = below ? fn(output, below, job, replica, entry->d_name) : RH_ENOMEM;
	}
	if (folder)
		(void)closedir(folder);
	return r;
}

static int output_see_log(struct rh_output *output, const char *path, const char *job, const char *replica,
                          const char *name)
{
	size_t length = strlen(name);
	size_t suffix = strlen(OUTPUT_SUFFIX);
	rh_auto_free char *container = length > suffix ? rh_strndup(name, length - suffix) : NULL;
	char *copy;

	if (length <= suffix || strcmp(name + length - suffix, OUTPUT_SUFFIX) != 0 || output_has(output, path))
		return 0;
	if (!container)
		return RH_ENOMEM;
	if (output->options.container && strcmp(output->options.container, container) != 0)
		return 0;
	copy = rh_strdup(path);
	return copy ? output_add(output, copy, job, replica, container) : RH_ENOMEM;
}

static int output_see_replica(struct rh_output *output, const char *path, const char *job, const char *replica,
                              const char *name)
{
	(void)replica;
	if (output->options.replica && !rh_output_is_replica(output->options.replica, job, name))
		return 0;
	return output_each(output, path, job, name, output_see_log);
}

/* Only folders of the run's own jobs: the user's folder may have others. */
static int output_scan(struct rh_output *output)
{
	const struct rh_json *job = rh_json_first(rh_json_get(output->kept->state, "jobs"));
	int r = 0;

	output_watch(output, output->logs, IN_CREATE | IN_MOVED_TO);
	for (; job && r == 0; job = rh_json_next(job)) {
		const char *folder = rh_json_string(rh_json_get(job, "logs"));
		rh_auto_free char *path = folder ? rh_path_join(output->logs, folder) : NULL;

		if (output->options.job && !rh_text_equal(rh_json_string(rh_json_get(job, "name")), output->options.job))
			continue;
		if (folder)
			r = path ? output_each(output, path, folder, NULL, output_see_replica) : RH_ENOMEM;
	}
	return r;
}

/* @return the log whose next line is the oldest; NULL: none has one */
static struct rh_output_file *output_oldest(struct rh_output *output, bool last)
{
	struct rh_output_file *oldest = NULL;

	for (size_t i = 0; i < output->count; i++) {
		struct rh_output_file *file = &output->files[i];

		if (rh_output_file_fill(file, last) && (!oldest || file->at < oldest->at))
			oldest = file;
	}
	return oldest;
}

static struct rh_output_line output_line(const struct rh_output_file *file)
{
	return (struct rh_output_line){.job = file->job,
	                               .replica = file->replica,
	                               .container = file->container,
	                               .at = file->at,
	                               .text = rh_str_text(&file->line),
	                               .length = file->line.length};
}

static void output_pass(const struct rh_output *output, const struct rh_output_file *file)
{
	const struct rh_output_line line = output_line(file);

	if (output->options.since == 0 || file->at == 0 || file->at >= output->options.since)
		output->options.line(output->options.arg, &line);
}

int rh_output_read(struct rh_output *output, bool last)
{
	struct rh_output_file *file;

	if (output_scan(output) < 0)
		return RH_ENOMEM;
	while ((file = output_oldest(output, last))) {
		output_pass(output, file);
		rh_output_file_next(file);
	}
	return (int)output->count;
}

static bool output_has_partial(const struct rh_output *output)
{
	for (size_t i = 0; i < output->count; i++) {
		if (output->files[i].line.length > output->files[i].shown)
			return true;
	}
	return false;
}

static void output_pass_partial(struct rh_output *output)
{
	for (size_t i = 0; i < output->count; i++) {
		struct rh_output_file *file = &output->files[i];
		const struct rh_output_line line = output_line(file);

		if (file->line.length <= file->shown)
			continue;
		file->shown = file->line.length;
		output->options.partial(output->options.arg, &line);
	}
}

/* Pass on starts of lines that have waited long enough. @return how long to wait for more, milliseconds; -1: for ever
 */
static int output_partial_turn(struct rh_output *output)
{
	int64_t now = rh_clock_monotonic();

	if (!output->options.partial || !output_has_partial(output)) {
		output->partial_due = 0;
		return -1;
	}
	if (output->partial_due == 0)
		output->partial_due = now + RH_RUN_PARTIAL;
	if (output->partial_due > now)
		return (int)((output->partial_due - now) / 1000) + 1;
	output->partial_due = 0;
	output_pass_partial(output);
	return -1;
}

/* The state is replaced at the end of a run; its lock is closed however it ends. */
static int output_watch_run(struct rh_output *output, struct rh_error *err)
{
	rh_auto_free char *lock = rh_path_join(output->kept->path, RH_KEEP_LOCK);

	if (!lock)
		return rh_fail_oom(err);
	output->watch = inotify_init1(IN_CLOEXEC);
	if (output->watch < 0 || inotify_add_watch(output->watch, lock, IN_CLOSE_WRITE) < 0 ||
	    inotify_add_watch(output->watch, output->kept->path, IN_CREATE | IN_MOVED_TO) < 0)
		return rh_fail(err, RH_EIO, "cannot watch \"%s\": %s", output->kept->path, strerror(errno));
	return 0;
}

/* @return 1 when something has changed, or starts of lines are due; RH_EIO */
static int output_wait(struct rh_output *output, struct rh_error *err)
{
	_Alignas(struct inotify_event) char events[16384];
	struct pollfd ready = {.fd = output->watch, .events = POLLIN};
	int timeout = output_partial_turn(output);
	ssize_t n = poll(&ready, 1, timeout) > 0 ? read(output->watch, events, sizeof(events)) : 0;

	if (n < 0 && errno != EINTR)
		return rh_fail(err, RH_EIO, "cannot watch \"%s\": %s", output->kept->path, strerror(errno));
	return 1;
}

/* @return 1: it goes on; 0: it has ended; RH_ENOMEM */
static int output_goes_on(const struct rh_output *output)
{
	rh_auto_kept now = {0};

	if (rh_kept_read(output->kept->path, &now) < 0)
		return RH_ENOMEM;
	return now.life == RH_KEPT_RUNNING ? 1 : 0;
}

int rh_output_follow(struct rh_output *output, struct rh_error *err)
{
	int r = output_watch_run(output, err);

	while (r >= 0) {
		int going = output_goes_on(output);

		/* the end was looked for before the last lines were read, so none is lost */
		if (going < 0 || rh_output_read(output, going == 0) < 0)
			return rh_fail_oom(err);
		if (going == 0)
			return 0;
		r = output_wait(output, err);
	}
	return r;
}

int rh_output_new(const struct rh_kept *kept, const struct rh_output_options *options, struct rh_output **ret_output,
                  struct rh_error *err)
{
	rh_auto(output) output = rh_alloc(sizeof(*output));

	if (!output)
		return rh_fail_oom(err);
	output->kept = kept;
	output->options = *options;
	output->watch = -1;
	output->logs = rh_kept_logs(kept);
	if (!output->logs)
		return rh_fail_oom(err);
	*ret_output = rh_take(output);
	return 0;
}

void rh_output_free(struct rh_output *output)
{
	if (!output)
		return;
	for (size_t i = 0; i < output->count; i++)
		rh_output_file_close(&output->files[i]);
	rh_free(output->files);
	rh_free(output->logs);
	if (output->watch >= 0)
		(void)close(output->watch);
	rh_free(output);
}
