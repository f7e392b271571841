/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/prune.h"

#include <stdlib.h>
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

/* One run. The name is owned. */
struct prune_run {
	char *name;
	struct rh_keep_end end;
	bool running;
};

/* All runs, the newest first. */
struct prune_runs {
	const struct rh_prune *prune;
	const char *place; /* their folder */
	struct prune_run *items;
	size_t count;
};

static void prune_runs_deinit(struct prune_runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		rh_free(runs->items[i].name);
	rh_free(runs->items);
}

/* The run does not change any more: no later look needs its state. */
static void prune_note_end(const char *path, const struct rh_keep_end *end)
{
	rh_auto_close int lock = rh_keep_place_lock(path);

	if (lock >= 0)
		rh_keep_end_write(path, end);
}

/* One that goes on, was killed, or that an earlier version kept. */
static int prune_read_state(const struct rh_prune *prune, const char *path, struct prune_run *run)
{
	rh_auto_kept kept = {0};

	if (rh_kept_read(path, &kept) < 0)
		return RH_ENOMEM;
	run->running = kept.life == RH_KEPT_RUNNING;
	run->end = (struct rh_keep_end){.started_at = kept.started_at, .ended_at = kept.ended_at};
	if (run->running && prune->bytes < 0)
		return 0;
	if (kept.life != RH_KEPT_ENDED || !rh_json_integer(rh_json_get(kept.state, "bytes"), &run->end.bytes))
		run->end.bytes = rh_keep_place_bytes(path);
	if (!prune->dry && (kept.life == RH_KEPT_ENDED || kept.life == RH_KEPT_KILLED))
		prune_note_end(path, &run->end);
	return 0;
}

static int prune_read(const struct prune_runs *runs, struct prune_run *run)
{
	rh_auto_free char *path = rh_path_join(runs->place, run->name);
	int r;

	if (!path)
		return RH_ENOMEM;
	r = rh_keep_end_read(path, &run->end) ? 0 : prune_read_state(runs->prune, path, run);
	run->end.bytes += rh_keep_place_page_bytes(path);
	return r;
}

static int prune_compare(const void *a, const void *b)
{
	const struct prune_run *x = a;
	const struct prune_run *y = b;

	if (x->end.started_at != y->end.started_at)
		return x->end.started_at < y->end.started_at ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* What stays so far. */
struct prune_sum {
	int64_t runs;
	int64_t bytes;
	int64_t now;
};

/* The newest come first: a run goes when it and those that are newer are too many. */
static bool prune_is_beyond(const struct rh_prune *prune, const struct rh_keep_end *end, const struct prune_sum *sum)
{
	return (prune->runs >= 0 && sum->runs > prune->runs) || (prune->bytes >= 0 && sum->bytes > prune->bytes) ||
	       (prune->age >= 0 && end->ended_at > 0 && sum->now - end->ended_at > prune->age);
}

/* For a folder whose lock could not be taken: whether it has one, which a process holds then. */
static bool prune_is_locked(const char *path)
{
	rh_auto_free char *file = rh_path_join(path, RH_KEEP_LOCK);

	return !file || access(file, F_OK) == 0;
}

static int prune_remove(const struct prune_runs *runs, const struct prune_run *run, struct rh_error *err)
{
	const struct rh_prune *prune = runs->prune;
	rh_auto_free char *path = rh_path_join(runs->place, run->name);
	rh_auto_close int lock = path ? rh_keep_place_lock(path) : -1;
	int r;

	if (!path)
		return rh_fail_oom(err);
	if (lock < 0 && prune_is_locked(path))
		return 0; /* it goes on after all, or another process removes it */
	r = prune->dry ? 0 : rh_keep_place_remove(runs->place, run->name, err);
	if (r == 0 && prune->removed)
		prune->removed(prune->arg, run->name, run->end.bytes);
	return r;
}

static int prune_list(const struct prune_runs *runs, struct rh_error *err)
{
	struct prune_sum sum = {.now = rh_clock_wall()};
	int r = 0;

	for (size_t i = 0; i < runs->count; i++) {
		const struct prune_run *run = &runs->items[i];
		struct rh_error local = {0};

		sum.runs++;
		sum.bytes += run->end.bytes;
		if (run->running || !prune_is_beyond(runs->prune, &run->end, &sum))
			continue;
		sum.runs--;
		sum.bytes -= run->end.bytes;
		if (prune_remove(runs, run, &local) < 0 && r == 0)
			r = rh_fail(err, local.code, "%s", local.message);
	}
	return r;
}

/* Whether a limit can be exceeded, as far as the number of runs shows. */
static bool prune_may_exceed(const struct prune_runs *runs)
{
	const struct rh_prune *prune = runs->prune;

	return prune->bytes >= 0 || prune->age >= 0 || (prune->runs >= 0 && runs->count > (size_t)prune->runs);
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

/* Takes the name of a run; removes a folder that was being made or removed when its process was killed. */
static int prune_take(void *arg, const char *name)
{
	struct prune_runs *runs = arg;
	struct prune_run *grown = runs->items;

	if (name[0] == RH_KEEP_HIDDEN) {
		if (!runs->prune->dry)
			prune_leftover(runs->place, name);
		return 0;
	}
	if ((runs->count & (runs->count - 1)) == 0) /* a power of two is full */
		grown = rh_realloc_array(runs->items, runs->count ? 2 * runs->count : 1, sizeof(*grown));
	if (!grown)
		return RH_ENOMEM;
	runs->items = grown;
	grown[runs->count] = (struct prune_run){.name = rh_strdup(name)};
	return grown[runs->count++].name ? 0 : RH_ENOMEM;
}

int rh_prune(const struct rh_prune *prune, struct rh_error *err)
{
	rh_auto_free char *place = NULL;
	__attribute__((cleanup(prune_runs_deinit))) struct prune_runs runs = {.prune = prune};
	int r = rh_keep_place(&place, err);

	runs.place = place;
	if (r == 0)
		r = rh_keep_place_each(place, prune_take, &runs, err);
	if (r == 0 && !prune_may_exceed(&runs))
		return 0;
	for (size_t i = 0; r == 0 && i < runs.count; i++)
		r = prune_read(&runs, &runs.items[i]);
	if (r < 0)
		return r == RH_ENOMEM ? rh_fail_oom(err) : r;
	if (runs.count > 1)
		qsort(runs.items, runs.count, sizeof(*runs.items), prune_compare);
	return prune_list(&runs, err);
}
