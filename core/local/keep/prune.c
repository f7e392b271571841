/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/prune.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/keep/kept.h"
#include "local/keep/place.h"

/* A folder without a lock belongs to a run that is just starting, unless it is older than this, in seconds. */
#define PRUNE_START_MAX 60

static int64_t prune_bytes(const struct rh_kept *kept)
{
	int64_t bytes = 0;

	if (kept->life == RH_KEPT_ENDED && rh_json_integer(rh_json_get(kept->state, "bytes"), &bytes))
		return bytes;
	return rh_keep_place_bytes(kept->path);
}

/* What stays so far. */
struct prune_sum {
	int64_t runs;
	int64_t bytes;
	int64_t now;
};

/* The newest come first: a run goes when it and those that are newer are too many. */
static bool prune_is_beyond(const struct rh_prune *prune, const struct rh_kept *kept, const struct prune_sum *sum)
{
	return (prune->runs >= 0 && sum->runs > prune->runs) || (prune->bytes >= 0 && sum->bytes > prune->bytes) ||
	       (prune->age >= 0 && kept->ended_at > 0 && sum->now - kept->ended_at > prune->age);
}

/* For a folder whose lock could not be taken: whether it has one, which a process holds then. */
static bool prune_is_locked(const char *path)
{
	rh_auto_free char *file = rh_path_join(path, RH_KEEP_LOCK);

	return !file || access(file, F_OK) == 0;
}

static int prune_remove(const struct rh_prune *prune, const struct rh_kept *kept, int64_t bytes, struct rh_error *err)
{
	rh_auto_free char *runs = rh_path_folder(kept->path);
	rh_auto_close int lock = rh_keep_place_lock(kept->path);
	int r;

	if (!runs)
		return rh_fail_oom(err);
	if (lock < 0 && prune_is_locked(kept->path))
		return 0; /* it goes on after all, or another process removes it */
	r = prune->dry ? 0 : rh_keep_place_remove(runs, kept->name, err);
	if (r == 0 && prune->removed)
		prune->removed(prune->arg, kept->name, bytes);
	return r;
}

static int prune_list(const struct rh_prune *prune, const struct rh_kept_list *list, struct rh_error *err)
{
	struct prune_sum sum = {.now = rh_clock_wall()};
	int r = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct rh_kept *kept = &list->items[i];
		struct rh_error local = {0};
		int64_t bytes = prune_bytes(kept);

		sum.runs++;
		sum.bytes += bytes;
		if (kept->life == RH_KEPT_RUNNING || !prune_is_beyond(prune, kept, &sum))
			continue;
		sum.runs--;
		sum.bytes -= bytes;
		if (prune_remove(prune, kept, bytes, &local) < 0 && r == 0)
			r = rh_fail(err, local.code, "%s", local.message);
	}
	return r;
}

static void prune_leftover(const char *runs, const char *name)
{
	rh_auto_free char *path = rh_path_join(runs, name);
	rh_auto_close int lock = path ? rh_keep_place_lock(path) : -1;
	struct stat st;

	if (!path || lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	if (lock < 0 && prune_is_locked(path))
		return;
	/* one that is being made has its lock file a moment before its lock */
	if ((lock < 0 || rh_starts_with(name, RH_KEEP_NEW)) && time(NULL) - st.st_mtime <= PRUNE_START_MAX)
		return;
	(void)rh_keep_place_remove(runs, name, NULL);
}

/* Folders that were being made or removed when their process was killed. */
static void prune_leftovers(const char *runs)
{
	DIR *folder = opendir(runs);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == RH_KEEP_HIDDEN && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			prune_leftover(runs, entry->d_name);
	}
	if (folder)
		(void)closedir(folder);
}

int rh_prune(const struct rh_prune *prune, struct rh_error *err)
{
	rh_auto_kept_list list = {NULL, 0};
	rh_auto_free char *runs = NULL;
	int r = rh_keep_place(&runs, err);

	if (r == 0)
		r = rh_kept_list(&list, err);
	if (r < 0)
		return r;
	if (!prune->dry)
		prune_leftovers(runs);
	return prune_list(prune, &list, err);
}
