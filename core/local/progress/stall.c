/* SPDX-License-Identifier: Apache-2.0 */
#include "local/progress/stall.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "comm/bench/trace/blame.h"
#include "comm/core/trace/format.h"
#include "roundhouse/comm.h"

#define STALL_NANOSECONDS 1000
#define STALL_TIMES 3
/* Time between two looks after which all that is known is old: we were stopped, and perhaps the ranks with us. */
#define STALL_GAP (RH_STALL_LEAST / 2)
/* Whoever computes for long without any operation is looked at the more seldom, the longer it takes. */
#define STALL_PAUSE RH_SECOND
#define STALL_SHARE 8
#define STALL_TEXT 700

/* The traces of a job. */
struct stall_ranks {
	struct rh_trace_rank *items;
	size_t count;
};

/* Nothing but a regular file is read: no link, no pipe that nobody writes to. */
static bool stall_read(const char *folder, const char *name, struct rh_trace_rank *ret_rank)
{
	rh_auto_free char *path = rh_path_join(folder, name);
	char why[STALL_TEXT];
	struct stat st;

	if (!path || lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || rh_trace_read(path, ret_rank, why, sizeof(why)) < 0)
		return false;
	if (!ret_rank->foreign)
		return true;
	rh_trace_rank_deinit(ret_rank);
	return false;
}

static int stall_compare(const void *a, const void *b)
{
	const struct rh_trace_rank *left = a;
	const struct rh_trace_rank *right = b;

	return (left->rank > right->rank) - (left->rank < right->rank);
}

/* While a job starts again its folder has traces of two attempts. */
static bool stall_is_one_job(const struct stall_ranks *ranks)
{
	for (size_t i = 1; i < ranks->count; i++) {
		if (ranks->items[i].world != ranks->items[0].world || ranks->items[i].rank == ranks->items[i - 1].rank ||
		    strcmp(ranks->items[i].job, ranks->items[0].job) != 0)
			return false;
	}
	return ranks->count > 0;
}

static void stall_read_all(const char *folder, size_t most, struct stall_ranks *ranks)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && ranks->items && ranks->count < most && (entry = readdir(dir))) {
		if (rh_ends_with(entry->d_name, RH_COMM_TRACE_SUFFIX) &&
		    stall_read(folder, entry->d_name, &ranks->items[ranks->count]))
			ranks->count++;
	}
	if (dir)
		(void)closedir(dir);
	if (ranks->count > 0)
		qsort(ranks->items, ranks->count, sizeof(*ranks->items), stall_compare);
}

/* Nanoseconds for which a wait is not called a stall: what waits took before that ended well. */
static int64_t stall_limit(const struct rh_stall *stall, const struct stall_ranks *ranks)
{
	int64_t learned = stall->learned * STALL_TIMES;
	int64_t limit = (learned > RH_STALL_LEAST ? learned : RH_STALL_LEAST) * STALL_NANOSECONDS;

	for (size_t i = 0; i < ranks->count; i++) {
		for (size_t j = 0; j < ranks->items[i].count; j++) {
			const struct rh_trace_op *op = &ranks->items[i].ops[j];
			int64_t waited = op->ended > op->begun ? op->ended - op->begun : 0;

			if (op->state == RH_COMM_TRACE_DONE && op->status == 0 && waited > limit / STALL_TIMES)
				limit = waited * STALL_TIMES;
		}
	}
	return limit;
}

static bool stall_judge(struct rh_stall *stall, const struct stall_ranks *ranks,
                        const struct rh_trace_findings *findings)
{
	struct rh_trace_blame blame;
	char text[STALL_TEXT];

	if (!rh_trace_blame(ranks->items, ranks->count, findings, stall_limit(stall, ranks), &blame))
		return false;
	stall->rank = blame.rank->rank;
	stall->waits = blame.waits->rank;
	stall->process = blame.rank->left ? 0 : (pid_t)blame.rank->process;
	rh_str_clear(&stall->text);
	rh_str_append(&stall->text, rh_trace_blame_text(&blame, text, sizeof(text)));
	return true;
}

static bool stall_read_and_judge(struct rh_stall *stall, const char *folder, size_t most)
{
	struct stall_ranks ranks = {.items = rh_alloc_array(most, sizeof(*ranks.items))};
	struct rh_trace_findings findings = {.count = 0};
	bool found = false;

	stall_read_all(folder, most, &ranks);
	if (stall_is_one_job(&ranks) && rh_trace_find(ranks.items, ranks.count, &findings) == 0)
		found = stall_judge(stall, &ranks, &findings);
	rh_trace_findings_deinit(&findings);
	for (size_t i = 0; i < ranks.count; i++)
		rh_trace_rank_deinit(&ranks.items[i]);
	rh_free(ranks.items);
	return found;
}

static int stall_compare_counters(const void *a, const void *b)
{
	const struct rh_stall_rank *left = a;
	const struct rh_stall_rank *right = b;

	return (left->counter.rank > right->counter.rank) - (left->counter.rank < right->counter.rank);
}

static struct rh_stall_rank *stall_rank(const struct rh_stall *stall, int32_t rank)
{
	const struct rh_stall_rank key = {.counter = {.rank = rank}};

	return stall->count == 0 ? NULL
	                         : bsearch(&key, stall->ranks, stall->count, sizeof(*stall->ranks), stall_compare_counters);
}

/* What the counters say now; of each rank, since when. A rank that has started again has another process. */
static void stall_take(struct rh_stall *stall, const struct rh_counter *counters, size_t count, int64_t now)
{
	struct rh_stall_rank *ranks = rh_alloc_array(count > 0 ? count : 1, sizeof(*ranks));
	bool gap = now - stall->looked > STALL_GAP;

	if (!ranks)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct rh_stall_rank *before = stall_rank(stall, counters[i].rank);
		bool same = before && before->counter.process == counters[i].process;

		ranks[i] = (struct rh_stall_rank){.counter = counters[i], .since = now};
		if (same && before->counter.posted == counters[i].posted && !gap)
			ranks[i].since = before->since;
		if (before && !same)
			stall->learned = 0;
	}
	qsort(ranks, count, sizeof(*ranks), stall_compare_counters);
	rh_free(stall->ranks);
	stall->ranks = ranks;
	stall->count = count;
	stall->looked = now;
}

static void stall_read_counters(struct rh_stall *stall, const char *folder, int64_t now, int64_t wall)
{
	struct rh_counter *counters = rh_alloc_array(RH_COUNTERS_MAX, sizeof(*counters));

	if (counters)
		stall_take(stall, counters, rh_counters_list(folder, wall, counters, RH_COUNTERS_MAX), now);
	rh_free(counters);
}

/* @return since when the rank that has been quiet for longest is so; RH_NEVER: there is none */
static int64_t stall_quiet_since(const struct rh_stall *stall)
{
	int64_t since = RH_NEVER;

	for (size_t i = 0; i < stall->count; i++) {
		if (!stall->ranks[i].counter.left && stall->ranks[i].counter.posted > 0 && stall->ranks[i].since < since)
			since = stall->ranks[i].since;
	}
	return since;
}

/* @return whether the rank has posted an operation after that moment, or is gone */
static bool stall_has_moved(const struct rh_stall *stall, int32_t rank, int64_t since)
{
	const struct rh_stall_rank *it = stall_rank(stall, rank);

	return !it || it->counter.left || it->since > since;
}

/* Who waited goes on, or the rank to blame does, if it had stood still. */
static bool stall_is_over(const struct rh_stall *stall)
{
	return stall_has_moved(stall, stall->waits, stall->noticed) ||
	       (stall->stood && stall_has_moved(stall, stall->rank, stall->noticed));
}

static enum rh_stall_change stall_end(struct rh_stall *stall, int64_t now)
{
	int64_t lasted = now - stall->began;

	stall->on = false;
	stall->due = now + STALL_PAUSE;
	stall->learned = lasted > stall->learned ? lasted : stall->learned;
	return RH_STALL_ENDED;
}

static enum rh_stall_change stall_begin(struct rh_stall *stall, int64_t now)
{
	const struct rh_stall_rank *rank = stall_rank(stall, stall->rank);
	const struct rh_stall_rank *waits = stall_rank(stall, stall->waits);

	stall->on = true;
	stall->noticed = now;
	stall->began = waits ? waits->since : now;
	stall->stood = rank && !rank->counter.left && now - rank->since >= RH_STALL_LEAST / 2;
	return RH_STALL_BEGUN;
}

enum rh_stall_change rh_stall_look(struct rh_stall *stall, const char *folder, int64_t now, int64_t wall)
{
	int64_t quiet;
	int64_t pause;

	stall_read_counters(stall, folder, now, wall);
	if (stall->on)
		return stall_is_over(stall) ? stall_end(stall, now) : RH_STALL_SAME;
	quiet = stall_quiet_since(stall);
	if (quiet == RH_NEVER || now - quiet < RH_STALL_LEAST || now < stall->due)
		return RH_STALL_SAME;
	pause = (now - quiet) / STALL_SHARE;
	stall->due = now + (pause > STALL_PAUSE ? pause : STALL_PAUSE);
	return stall_read_and_judge(stall, folder, RH_COUNTERS_MAX) ? stall_begin(stall, now) : RH_STALL_SAME;
}

void rh_stall_deinit(struct rh_stall *stall)
{
	rh_free(stall->ranks);
	rh_str_deinit(&stall->text);
	*stall = (struct rh_stall){.count = 0};
}
