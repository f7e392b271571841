/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/trace/foreign/ras_json.h"

#include <string.h>

#include "comm/bench/trace/foreign/value.h"
#include "roundhouse/comm.h"

/* ncclResult_t of a communicator that is well. */
#define NCCL_SUCCESS 0
#define NCCL_IN_PROGRESS 7

/* @return the finding with that number and text of those from `first` on, made if there is none; NULL: out of memory */
static struct rh_ras_finding *json_level(struct rh_ras *ras, size_t first, const struct rh_ras_finding *level)
{
	struct rh_ras_finding *item;

	for (size_t i = first; i < ras->count; i++) {
		if (ras->items[i].kind == level->kind && ras->items[i].number == level->number &&
		    strcmp(ras->items[i].what, level->what) == 0)
			return &ras->items[i];
	}
	item = rh_ras_add(ras, level->kind, level->group);
	if (item)
		*item = *level;
	return item;
}

static bool json_note(struct rh_ras *ras, size_t first, const struct rh_ras_finding *level, const struct rh_value *rank)
{
	struct rh_ras_finding *item = json_level(ras, first, level);

	if (!item)
		return false;
	item->whole++;
	rh_ras_add_rank(item, rh_value_as_number(rh_value_get(rank, "rank"), -1));
	return true;
}

static const char *json_status(const struct rh_value *status)
{
	if (rh_value_as_number(rh_value_get(status, "abort_flag"), 0))
		return "ABORT";
	if (rh_value_as_number(rh_value_get(status, "finalize_called"), 0) ||
	    rh_value_as_number(rh_value_get(status, "destroy_flag"), 0))
		return "FINALIZE";
	return rh_value_as_number(rh_value_get(status, "init_state"), 0) == NCCL_SUCCESS ? "RUNNING" : "INIT";
}

/* The most frequent status goes first. */
static void json_order(struct rh_ras *ras, size_t first)
{
	for (size_t i = first + 1; i < ras->count; i++) {
		struct rh_ras_finding swapped = ras->items[first];

		if (ras->items[i].whole <= swapped.whole)
			continue;
		ras->items[first] = ras->items[i];
		ras->items[i] = swapped;
	}
}

static bool json_read_statuses(struct rh_ras *ras, const char *group, const struct rh_value *ranks)
{
	size_t first = ras->count;

	for (size_t i = 0; rh_value_at(ranks, i); i++) {
		struct rh_ras_finding level = {.kind = RH_RAS_STATUS};

		(void)snprintf(level.group, sizeof(level.group), "%.39s", group);
		(void)snprintf(level.what, sizeof(level.what), "%s",
		               json_status(rh_value_get(rh_value_at(ranks, i), "status")));
		if (!json_note(ras, first, &level, rh_value_at(ranks, i)))
			return false;
	}
	json_order(ras, first);
	rh_ras_settle(ras, first);
	return true;
}

/* Ranks on which NCCL has failed, and such that say nothing. */
static bool json_read_lost(struct rh_ras *ras, const char *group, const struct rh_value *communicator)
{
	const struct rh_value *ranks = rh_value_get(communicator, "ranks");
	const struct rh_value *missing = rh_value_get(communicator, "missing_ranks");
	size_t first = ras->count;
	struct rh_ras_finding level = {.kind = RH_RAS_ERROR};

	(void)snprintf(level.group, sizeof(level.group), "%.39s", group);
	for (size_t i = 0; rh_value_at(ranks, i); i++) {
		const struct rh_value *status = rh_value_get(rh_value_at(ranks, i), "status");
		int64_t code = rh_value_as_number(rh_value_get(status, "async_error"), NCCL_SUCCESS);

		if (code == NCCL_SUCCESS || code == NCCL_IN_PROGRESS)
			code = rh_value_as_number(rh_value_get(status, "init_state"), NCCL_SUCCESS);
		if (code == NCCL_SUCCESS || code == NCCL_IN_PROGRESS)
			continue;
		(void)snprintf(level.what, sizeof(level.what), "ncclResult_t %lld", (long long)code);
		if (!json_note(ras, first, &level, rh_value_at(ranks, i)))
			return false;
	}
	level.kind = RH_RAS_SILENT;
	level.what[0] = '\0';
	for (size_t i = 0; rh_value_at(missing, i); i++) {
		if (!json_note(ras, first, &level, rh_value_at(missing, i)))
			return false;
	}
	return true;
}

/* How many operations of one kind each rank has launched. */
static bool json_read_counts(struct rh_ras *ras, const char *group, const struct rh_value *ranks, const char *what)
{
	size_t first = ras->count;

	for (size_t i = 0; rh_value_at(ranks, i); i++) {
		const struct rh_value *counts = rh_value_get(rh_value_at(ranks, i), "collective_counts");
		struct rh_ras_finding level = {.kind = RH_RAS_MISSING};

		(void)snprintf(level.group, sizeof(level.group), "%.39s", group);
		(void)snprintf(level.what, sizeof(level.what), "%.39s", what);
		level.number = (uint64_t)rh_value_as_number(rh_value_get(counts, what), 0);
		if (!json_note(ras, first, &level, rh_value_at(ranks, i)))
			return false;
	}
	rh_ras_settle(ras, first);
	return true;
}

static bool json_read_communicator(struct rh_ras *ras, const struct rh_value *communicator)
{
	const char *group = rh_value_as_text(rh_value_get(communicator, "hash"));
	const struct rh_value *ranks = rh_value_get(communicator, "ranks");
	const struct rh_value *counts = rh_value_get(rh_value_at(ranks, 0), "collective_counts");

	if (!json_read_lost(ras, group, communicator) || !json_read_statuses(ras, group, ranks))
		return false;
	for (size_t i = 0; counts && counts->kind == RH_VALUE_MAP && i + 1 < counts->count; i += 2) {
		if (!json_read_counts(ras, group, ranks, rh_value_as_text(counts->items[i])))
			return false;
	}
	return true;
}

int32_t rh_ras_read_json(const char *bytes, size_t length, struct rh_ras *ras, char *why, size_t room)
{
	struct rh_values values = {0};
	const char *constant = NULL;
	const struct rh_value *root = rh_value_parse_json(&values, bytes, length, &constant);
	const struct rh_value *communicators = rh_value_get(root, "communicators");
	bool whole = true;

	for (size_t i = 0; whole && rh_value_at(communicators, i); i++)
		whole = json_read_communicator(ras, rh_value_at(communicators, i));
	if (!whole || !communicators)
		(void)snprintf(why, room, "%s", !whole ? "out of memory" : constant ? constant : "it has no communicators");
	rh_values_deinit(&values);
	return !whole ? RH_COMM_ENOMEM : !communicators ? RH_COMM_EINVAL : 0;
}
