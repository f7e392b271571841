/* SPDX-License-Identifier: Apache-2.0 */
#include "local/progress/counters.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "comm/core/trace/format.h"
#include "roundhouse/comm.h"

#define COUNTERS_NANOSECONDS 1000
#define COUNTERS_MILLIONTHS 1e6

/* Nothing but a regular file is read: no link, no pipe that nobody writes to. */
static bool counters_read_head(int folder, const char *name, struct rh_comm_trace_head *ret_head)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	bool whole = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	             pread(fd, ret_head, sizeof(*ret_head), 0) == (ssize_t)sizeof(*ret_head);

	if (fd >= 0)
		(void)close(fd);
	return whole && memcmp(ret_head->magic, RH_COMM_TRACE_MAGIC, sizeof(ret_head->magic)) == 0 &&
	       ret_head->head_bytes == sizeof(*ret_head);
}

static bool counters_is_fresh(const struct rh_comm_trace_head *head, int64_t now)
{
	uint32_t latest = atomic_load_explicit(&head->clock, memory_order_relaxed);
	size_t clocks = sizeof(head->clocks) / sizeof(head->clocks[0]);

	return atomic_load_explicit(&head->left, memory_order_relaxed) == 0 && latest < clocks &&
	       now - head->clocks[latest].time / COUNTERS_NANOSECONDS <= RH_COUNTERS_FRESH;
}

/* What rank 0 has found about the pace of all ranks. */
static void counters_take_pace(const struct rh_comm_trace_head *head, struct rh_counter *counter)
{
	uint32_t rounds = atomic_load_explicit(&head->pace_rounds, memory_order_relaxed);

	counter->late = rounds > 0 ? atomic_load_explicit(&head->pace_late, memory_order_relaxed) : RH_COMM_NO_RANK;
	counter->share = atomic_load_explicit(&head->pace_share, memory_order_relaxed) / COUNTERS_MILLIONTHS;
}

static void counters_add(struct rh_counters *counters, uint64_t operations)
{
	if (counters->ranks++ == 0 || operations < counters->operations)
		counters->operations = operations;
}

size_t rh_counters_list(const char *folder, int64_t now, struct rh_counter *items, size_t most)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	size_t count = 0;

	while (dir && count < most && (entry = readdir(dir))) {
		struct rh_comm_trace_head head;

		if (!rh_ends_with(entry->d_name, RH_COMM_TRACE_SUFFIX) || !counters_read_head(dirfd(dir), entry->d_name, &head))
			continue;
		items[count] = (struct rh_counter){
			.rank = head.rank,
			.process = head.process,
			.posted = atomic_load_explicit(&head.posted, memory_order_relaxed),
			.fresh = counters_is_fresh(&head, now),
			.left = atomic_load_explicit(&head.left, memory_order_relaxed) != 0,
		};
		counters_take_pace(&head, &items[count++]);
	}
	if (dir)
		(void)closedir(dir);
	return count;
}

void rh_counters_read(const char *folder, int64_t now, struct rh_counters *ret_counters)
{
	struct rh_counter *items = rh_alloc_array(RH_COUNTERS_MAX, sizeof(*items));
	size_t count = items ? rh_counters_list(folder, now, items, RH_COUNTERS_MAX) : 0;
	struct rh_counters fresh = {0};
	struct rh_counters all = {0};

	for (size_t i = 0; i < count; i++) {
		counters_add(&all, items[i].posted);
		if (items[i].fresh)
			counters_add(&fresh, items[i].posted);
	}
	rh_free(items);
	*ret_counters = fresh.ranks > 0 ? fresh : all;
}

bool rh_counters_find_late(const char *folder, int64_t now, struct rh_counter_late *ret_late)
{
	struct rh_counter *items = rh_alloc_array(RH_COUNTERS_MAX, sizeof(*items));
	size_t count = items ? rh_counters_list(folder, now, items, RH_COUNTERS_MAX) : 0;
	const struct rh_counter *host = NULL;
	bool found = false;

	for (size_t i = 0; i < count; i++) {
		if (items[i].rank == 0 && items[i].fresh && items[i].late >= 0)
			host = &items[i];
	}
	for (size_t i = 0; host && !found && i < count; i++) {
		found = items[i].rank == host->late && items[i].fresh;
		*ret_late = (struct rh_counter_late){items[i].rank, items[i].process, host->share};
	}
	rh_free(items);
	return found;
}
