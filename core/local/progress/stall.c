/* SPDX-License-Identifier: Apache-2.0 */
#include "local/progress/stall.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "comm/bench/trace/find.h"
#include "comm/bench/trace/text.h"
#include "comm/core/trace/format.h"
#include "local/progress/counters.h"
#include "roundhouse/comm.h"

#define STALL_NANOSECONDS 1000
#define STALL_TIMES 3
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
static int64_t stall_limit(const struct stall_ranks *ranks)
{
	int64_t limit = RH_STALL_LEAST * STALL_NANOSECONDS;

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

static const struct rh_trace_rank *stall_find(const struct stall_ranks *ranks, int32_t rank)
{
	for (size_t i = 0; i < ranks->count; i++) {
		if (ranks->items[i].rank == rank)
			return &ranks->items[i];
	}
	return NULL;
}

/* @return whether the rank waits in an operation itself: then another one is to blame */
static bool stall_waits(const struct rh_trace_rank *rank)
{
	for (size_t i = 0; i < rank->count; i++) {
		if (rank->ops[i].state != RH_COMM_TRACE_DONE)
			return true;
	}
	return false;
}

/* @return who is to blame for what a rank waits for; NULL: it does not wait long enough, or nobody is known */
static const struct rh_trace_rank *stall_blame(const struct stall_ranks *ranks, const struct rh_trace_finding *finding,
                                               int64_t limit)
{
	if (finding->waiting == RH_COMM_NO_RANK || finding->waited < limit)
		return NULL;
	for (int32_t i = 0; finding->kind == RH_TRACE_MISSING && i < finding->count; i++) {
		const struct rh_trace_rank *rank = stall_find(ranks, finding->ranks[i]);

		if (rank && !stall_waits(rank))
			return rank;
	}
	if (finding->kind == RH_TRACE_OPEN && finding->op.peer >= 0) {
		const struct rh_trace_rank *rank = stall_find(ranks, finding->op.peer);

		return rank && !stall_waits(rank) ? rank : NULL;
	}
	return NULL;
}

static bool stall_judge(struct rh_stall *stall, const struct stall_ranks *ranks,
                        const struct rh_trace_findings *findings)
{
	int64_t limit = stall_limit(ranks);

	for (size_t i = 0; i < findings->count; i++) {
		const struct rh_trace_rank *rank = stall_blame(ranks, &findings->items[i], limit);
		char text[STALL_TEXT];

		if (!rank)
			continue;
		stall->rank = rank->rank;
		stall->process = rank->left ? 0 : (pid_t)rank->process;
		rh_str_clear(&stall->text);
		rh_str_append(&stall->text, rh_trace_finding_text(&findings->items[i], text, sizeof(text)));
		return true;
	}
	return false;
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

enum rh_stall_change rh_stall_look(struct rh_stall *stall, const char *folder, int64_t now, int64_t wall)
{
	struct rh_counters counters = {0};
	int64_t pause;

	rh_counters_read(folder, wall, &counters);
	if (counters.total != stall->posted || stall->since == 0) {
		bool was_on = stall->on;

		stall->posted = counters.total;
		stall->since = now;
		stall->due = now + RH_STALL_LEAST;
		stall->on = false;
		return was_on ? RH_STALL_ENDED : RH_STALL_SAME;
	}
	if (stall->on || now < stall->due || counters.total == 0)
		return RH_STALL_SAME;
	pause = (now - stall->since) / STALL_SHARE;
	stall->due = now + (pause > STALL_PAUSE ? pause : STALL_PAUSE);
	stall->on = stall_read_and_judge(stall, folder, RH_COUNTERS_MAX);
	return stall->on ? RH_STALL_BEGUN : RH_STALL_SAME;
}

void rh_stall_deinit(struct rh_stall *stall)
{
	rh_str_deinit(&stall->text);
	*stall = (struct rh_stall){.posted = 0};
}
