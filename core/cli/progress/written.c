/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress/written.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"

/* Bytes of a log that are read: some hundred states of a bar, and the line of its epoch. */
#define WRITTEN_END 16384

/* A carriage return ends a state of a line as a newline does. */
static bool written_read_lines(const char *text, size_t length, struct rh_progress *progress)
{
	const char *end = text + length;
	bool found = false;

	while (text < end) {
		const char *line = text;

		while (text < end && *text != '\n' && *text != '\r')
			text++;
		found = rh_progress_read(progress, line, (size_t)(text - line)) || found;
		text++;
	}
	return found;
}

static bool written_read_log(int folder, const char *name, struct rh_progress *progress)
{
	rh_auto_close int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[WRITTEN_END];
	struct stat st;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	got = pread(fd, text, sizeof(text), st.st_size > WRITTEN_END ? st.st_size - WRITTEN_END : 0);
	return got > 0 && written_read_lines(text, (size_t)got, progress);
}

static char *written_folder(const struct rh_kept *kept, const struct rh_json *job)
{
	rh_auto_free char *logs = rh_kept_logs(kept);
	const char *name = rh_json_string(rh_json_get(job, "logs"));

	return logs && name ? rh_path_join(logs, name) : NULL;
}

bool rh_written_replica(const struct rh_kept *kept, const struct rh_json *job, const char *replica,
                        struct rh_progress *ret_progress)
{
	rh_auto_free char *logs = written_folder(kept, job);
	rh_auto_free char *path = logs ? rh_path_join(logs, replica) : NULL;
	DIR *folder = path ? opendir(path) : NULL;
	const struct dirent *entry;
	bool found = false;

	*ret_progress = (struct rh_progress){.epoch = {.share = 0}};
	while (folder && (entry = readdir(folder)))
		found = (entry->d_name[0] != '.' && written_read_log(dirfd(folder), entry->d_name, ret_progress)) || found;
	if (folder)
		(void)closedir(folder);
	return found;
}

/* @param found some replica has progress already, in @p last */
static bool written_job(const struct rh_kept *kept, const struct rh_json *job, bool found, struct rh_progress *last)
{
	rh_auto_free char *logs = written_folder(kept, job);
	DIR *folder = logs ? opendir(logs) : NULL;
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		struct rh_progress progress;

		if (entry->d_name[0] == '.' || !rh_written_replica(kept, job, entry->d_name, &progress))
			continue;
		if (!found || rh_progress_is_behind(&progress, last))
			*last = progress;
		found = true;
	}
	if (folder)
		(void)closedir(folder);
	return found;
}

void rh_written_append_run(const struct rh_kept *kept, struct rh_str *out)
{
	const struct rh_json *job = rh_json_first(rh_json_get(kept->state, "jobs"));
	const struct rh_json *report = rh_json_get(job, "trainerStatus");
	struct rh_progress last;
	bool found = false;

	if (report) {
		rh_progress_append_report(report, out);
		return;
	}
	for (; job; job = rh_json_next(job))
		found = written_job(kept, job, found, &last);
	if (found)
		rh_progress_append(&last, out);
}
