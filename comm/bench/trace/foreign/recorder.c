/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format is that of version 2 of torch's flight recorder (torch/csrc/distributed/c10d/FlightRecorder.hpp): a map
 * with "entries", of which each is an operation, "pg_config" with the ranks of groups and "pg_status" with how far each
 * group is. A collective has a number in its group, collective_seq_id, as in rh_comm.
 */
#include "comm/bench/trace/foreign/recorder.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "comm/core/trace/format.h"
#include "roundhouse/comm.h"

#define RANKS_MOST 65536
#define TEXT_ROOM 190
#define NAME_ROOM 60
/* Lists of sizes of one operation that a sentence has. */
#define SIZES_MOST 2

/* What is being read. */
struct recorder {
	const char *path;
	struct rh_trace_rank *rank;
	const struct rh_value *root;
	char *why;
	size_t room;
};

/* A text of limited length. */
struct words {
	char text[TEXT_ROOM];
	size_t length;
};

bool rh_recorder_is(const char *bytes, size_t length)
{
	size_t at = 0;

	while (at < length && isspace((unsigned char)bytes[at]))
		at++;
	return at < length && ((unsigned char)bytes[0] == 0x80 || bytes[at] == '{');
}

static int32_t recorder_refuse(const struct recorder *recorder, const char *reason)
{
	(void)snprintf(recorder->why, recorder->room, "\"%.300s\": %s", recorder->path, reason);
	return RH_COMM_EINVAL;
}

static int32_t recorder_out_of_memory(const struct recorder *recorder)
{
	(void)recorder_refuse(recorder, "out of memory");
	return RH_COMM_ENOMEM;
}

/* What comes from a file is printed on terminals. */
static __attribute__((format(printf, 2, 3))) void words_add(struct words *words, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(words->text + words->length, sizeof(words->text) - words->length, fmt, args);
	va_end(args);
	for (char *at = words->text + words->length; *at; at++) {
		if (iscntrl((unsigned char)*at))
			*at = '?';
	}
	words->length += n > 0 ? (size_t)n : 0;
	if (words->length >= sizeof(words->text))
		words->length = sizeof(words->text) - 1;
}

/* @return a copy that the rank owns; NULL: out of memory */
static const char *recorder_keep(struct recorder *recorder, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = rh_values_take(&recorder->rank->values, bytes);

	if (copy)
		memcpy(copy, text, bytes);
	return copy;
}

/* "nccl_trace_rank_3" or "trace_3.json". */
static int32_t recorder_find_rank(const struct recorder *recorder)
{
	const char *slash = strrchr(recorder->path, '/');
	const char *name = slash ? slash + 1 : recorder->path;
	const char *end = name + strlen(name);
	const char *dot = strrchr(name, '.');
	const char *at;
	long rank;

	if (dot && dot > name && end > name && !isdigit((unsigned char)end[-1]))
		end = dot;
	at = end;
	while (at > name && isdigit((unsigned char)at[-1]))
		at--;
	rank = end - at > 0 && end - at < 7 ? strtol(at, NULL, 10) : -1;
	if (rank < 0 || rank >= RANKS_MOST)
		return recorder_refuse(recorder, "its name must end in the rank, as in nccl_trace_rank_3 or trace_3.json");
	recorder->rank->rank = (int32_t)rank;
	return 0;
}

/* Never 0, which is the world. */
static uint64_t recorder_hash(const char *name, const char *ranks)
{
	/* with the end of the name between both */
	uint64_t hash = rh_hash_more(rh_hash(name, strlen(name) + 1), ranks, strlen(ranks));

	return hash > 0 ? hash : 1;
}

static bool recorder_is_world(const char *name, const char *description)
{
	return strcmp(description, "default_pg") == 0 || (strcmp(name, "0") == 0 && description[0] == '\0');
}

/* "[0, 1]". @return how many, with the ranks in memory that the rank owns; -1: not such a list, or out of memory */
static int32_t recorder_read_ranks(struct recorder *recorder, const char *text, const int32_t **ret_ranks)
{
	int32_t *ranks = rh_values_take(&recorder->rank->values, (strlen(text) / 2 + 1) * sizeof(*ranks));
	int32_t count = 0;

	if (!ranks || *text++ != '[')
		return -1;
	while (isdigit((unsigned char)*text)) {
		char *end;
		long rank = strtol(text, &end, 10);

		if (rank >= RANKS_MOST || count == RANKS_MOST)
			return -1;
		ranks[count++] = (int32_t)rank;
		text = end + strspn(end, ", ");
	}
	*ret_ranks = ranks;
	return *text == ']' ? count : -1;
}

static const char *recorder_title(struct recorder *recorder, const char *name, const char *description)
{
	struct words words = {.length = 0};

	words_add(&words, "%.60s", name);
	if (description[0] != '\0' && strcmp(description, "undefined") != 0)
		words_add(&words, " (%.100s)", description);
	return recorder_keep(recorder, words.text);
}

static int32_t recorder_add_group(struct recorder *recorder, const struct rh_trace_group *group)
{
	struct rh_trace_rank *rank = recorder->rank;
	struct rh_trace_group *groups = realloc(rank->groups, (rank->group_count + 1) * sizeof(*groups));

	if (!groups)
		return recorder_out_of_memory(recorder);
	rank->groups = groups;
	groups[rank->group_count++] = *group;
	return 0;
}

/* Groups of which it says the ranks. Gloo's has one without a name, which is left out. */
static int32_t recorder_take_groups(struct recorder *recorder)
{
	const struct rh_value *config = rh_value_get(recorder->root, "pg_config");
	int32_t r = 0;

	for (size_t i = 0; config && config->kind == RH_VALUE_MAP && i + 1 < config->count && r == 0; i += 2) {
		const char *name = rh_value_as_text(config->items[i]);
		const char *description = rh_value_as_text(rh_value_get(config->items[i + 1], "desc"));
		const char *text = rh_value_as_text(rh_value_get(config->items[i + 1], "ranks"));
		struct rh_trace_group group = {.name = recorder_hash(name, text)};

		group.size = recorder_read_ranks(recorder, text, &group.ranks);
		if (name[0] == '\0' || group.size < 1)
			continue;
		for (int32_t member = 0; member < group.size; member++) {
			if (group.ranks[member] >= recorder->rank->world)
				recorder->rank->world = group.ranks[member] + 1;
		}
		if (recorder_is_world(name, description))
			continue;
		group.title = recorder_title(recorder, name, description);
		r = group.title ? recorder_add_group(recorder, &group) : recorder_out_of_memory(recorder);
	}
	return r;
}

/* The group of an operation, which is noted where the dump does not say its ranks. */
static int32_t recorder_find_group(struct recorder *recorder, const struct rh_value *entry, uint64_t *ret_group)
{
	const struct rh_value *pair = rh_value_get(entry, "process_group");
	const char *name = rh_value_as_text(rh_value_at(pair, 0));
	const char *description = rh_value_as_text(rh_value_at(pair, 1));
	const struct rh_value *config = rh_value_get(rh_value_get(recorder->root, "pg_config"), name);
	const char *ranks = name[0] != '\0' ? rh_value_as_text(rh_value_get(config, "ranks")) : "";
	struct rh_trace_group group = {.name = recorder_hash(name, ranks)};

	*ret_group = recorder_is_world(name, description) ? 0 : group.name;
	for (size_t i = 0; i < recorder->rank->group_count; i++) {
		if (recorder->rank->groups[i].name == *ret_group)
			return 0;
	}
	if (*ret_group == 0)
		return 0;
	group.title = recorder_title(recorder, name, description);
	return group.title ? recorder_add_group(recorder, &group) : recorder_out_of_memory(recorder);
}

/* "[[3, 4]]". @return elements of all */
static uint64_t recorder_read_sizes(const struct rh_value *lists, struct words *words)
{
	uint64_t whole = 0;

	for (size_t i = 0; rh_value_at(lists, i); i++) {
		const struct rh_value *sizes = rh_value_at(lists, i);
		uint64_t elements = 1;

		if (words && i < SIZES_MOST)
			words_add(words, i > 0 ? " [" : "[");
		for (size_t j = 0; rh_value_at(sizes, j); j++) {
			uint64_t size = (uint64_t)rh_value_as_number(rh_value_at(sizes, j), 0);

			elements *= size;
			if (words && i < SIZES_MOST)
				words_add(words, "%s%llu", j > 0 ? ", " : "", (unsigned long long)size);
		}
		if (words && i < SIZES_MOST)
			words_add(words, "]");
		whole += elements;
	}
	if (words && rh_value_at(lists, SIZES_MOST))
		words_add(words, " and %zu more", lists->count - SIZES_MOST);
	return whole;
}

/* Where the user's own code called it, of dumps with stacks. */
static void recorder_add_place(const struct rh_value *frames, struct words *words)
{
	for (size_t i = 0; rh_value_at(frames, i); i++) {
		const struct rh_value *frame = rh_value_at(frames, i);
		const char *file = rh_value_as_text(rh_value_get(frame, "filename"));
		const char *slash = strrchr(file, '/');

		if (file[0] == '\0' || file[0] == '<' || strstr(file, "/torch/") || strncmp(file, "torch/", 6) == 0)
			continue;
		words_add(words, " (in %.40s at %.60s:%lld)", rh_value_as_text(rh_value_get(frame, "name")),
		          slash ? slash + 1 : file, (long long)rh_value_as_number(rh_value_get(frame, "line"), 0));
		return;
	}
}

/* Which tensors of an operation have as many elements on every rank. @return "input_…", "output_…"; NULL: none */
static const char *recorder_equal_side(const char *name, bool types)
{
	size_t length = strlen(name);

	if (length > 2 && strcmp(name + length - 2, "_v") == 0)
		return NULL;
	if (strncmp(name, "all_gather", 10) == 0 || strncmp(name, "_all_gather", 11) == 0 ||
	    strncmp(name, "ALLGATHER", 9) == 0)
		return types ? "output_dtypes" : "output_sizes";
	if (strncmp(name, "all_reduce", 10) == 0 || strncmp(name, "allreduce", 9) == 0 || strstr(name, "broadcast") ||
	    strstr(name, "reduce_scatter") || strncmp(name, "REDUCE_SCATTER", 14) == 0 || strcmp(name, "reduce") == 0 ||
	    strcmp(name, "_reduce_oop") == 0)
		return types ? "input_dtypes" : "input_sizes";
	return NULL;
}

/* What is written about an operation, and what is compared. */
static int32_t recorder_describe(struct recorder *recorder, const struct rh_value *entry, const char *whole,
                                 struct rh_trace_op *op)
{
	const struct rh_value *inputs = rh_value_get(entry, "input_sizes");
	const char *types = "input_dtypes";
	struct words words = {.length = 0};
	struct words name = {.length = 0};
	const char *side;

	words_add(&name, "%.*s", (int)strcspn(whole, " ") < NAME_ROOM ? (int)strcspn(whole, " ") : NAME_ROOM, whole);
	if (!rh_value_at(inputs, 0)) {
		inputs = rh_value_get(entry, "output_sizes");
		types = "output_dtypes";
	}
	words_add(&words, "%.60s", whole);
	if (rh_value_at(inputs, 0)) {
		words_add(&words, " of ");
		(void)recorder_read_sizes(inputs, &words);
		words_add(&words, " %.20s", rh_value_as_text(rh_value_at(rh_value_get(entry, types), 0)));
	}
	recorder_add_place(rh_value_get(entry, "frames"), &words);
	side = recorder_equal_side(name.text, false);
	op->count = side ? recorder_read_sizes(rh_value_get(entry, side), NULL) : 0;
	side = recorder_equal_side(name.text, true);
	op->unit = side ? recorder_keep(recorder, rh_value_as_text(rh_value_at(rh_value_get(entry, side), 0))) : "";
	op->name = recorder_keep(recorder, name.text);
	op->text = recorder_keep(recorder, words.text);
	return op->unit && op->name && op->text ? 0 : recorder_out_of_memory(recorder);
}

/* "scheduled" says that it was posted. Gloo's operations are never anything else: they are retired when they are done.
 * One of NCCL that is retired and not completed has run into its time-out. */
static int32_t recorder_state(const struct rh_value *entry, bool gloo)
{
	const char *state = rh_value_as_text(rh_value_get(entry, "state"));
	bool retired = rh_value_as_number(rh_value_get(entry, "retired"), 0) != 0;

	if (strcmp(state, "completed") == 0 || (gloo && retired))
		return RH_COMM_TRACE_DONE;
	return strcmp(state, "started") == 0 ? RH_COMM_TRACE_STARTED : RH_COMM_TRACE_POSTED;
}

/* Operations that were launched together have one number. They become one operation: they start and end together. */
static int32_t recorder_join(struct recorder *recorder, struct rh_trace_op *op, const struct rh_trace_op *more)
{
	struct words name = {.length = 0};
	struct words text = {.length = 0};

	op->state = more->state;
	if (strcmp(more->name, "coalesced") == 0)
		return 0;
	words_add(&name, "%s+%s", op->name, more->name);
	words_add(&text, "%s + %s", op->text, more->text);
	op->name = recorder_keep(recorder, name.text);
	op->text = recorder_keep(recorder, text.text);
	op->unit = "";
	op->count = 0;
	return op->name && op->text ? 0 : recorder_out_of_memory(recorder);
}

/* @return whether the entry belongs to operations before it, to which it was added */
static bool recorder_is_joined(struct recorder *recorder, const struct rh_trace_op *op, int32_t *ret_status)
{
	struct rh_trace_rank *rank = recorder->rank;
	bool batch = strcmp(op->name, "coalesced") == 0;
	bool joined = false;

	/* the messages of a batch: what became of them is in its last entry alone */
	for (size_t i = rank->count; batch && i > 0; i--) {
		struct rh_trace_op *message = &rank->ops[i - 1];

		if (message->number != 0 || message->group != op->group || message->tag != op->tag)
			break;
		message->state = op->state;
		joined = true;
	}
	for (size_t i = rank->count; !joined && op->number > 0 && i > 0 && rank->ops[i - 1].number > 0; i--) {
		joined = rank->ops[i - 1].group == op->group && rank->ops[i - 1].number == op->number;
		if (joined)
			*ret_status = recorder_join(recorder, &rank->ops[i - 1], op);
	}
	return joined;
}

static int32_t recorder_take_entry(struct recorder *recorder, const struct rh_value *entry)
{
	const char *profiled = rh_value_as_text(rh_value_get(entry, "profiling_name"));
	const char *colon = strchr(profiled, ':');
	const char *name = colon ? colon + 1 : profiled;
	bool message = rh_value_as_number(rh_value_get(entry, "is_p2p"), 0) != 0 || strncmp(name, "send ", 5) == 0 ||
	               strncmp(name, "recv ", 5) == 0;
	int64_t number = rh_value_as_number(rh_value_get(entry, "collective_seq_id"), 0);
	int64_t begun = rh_value_as_number(rh_value_get(entry, "time_created_ns"), 0);
	struct rh_trace_rank *rank = recorder->rank;
	struct rh_trace_op op = {.peer = RH_COMM_NO_RANK, .begun = begun};
	int32_t r;

	if (name[0] == '\0' || number < 0)
		return recorder_refuse(recorder, "it has an entry that is no operation of a flight recorder");
	op.place = (uint64_t)rh_value_as_number(rh_value_get(entry, "record_id"), 0) + 1;
	op.number = message ? 0 : (uint64_t)number;
	op.what = message ? (name[0] == 'r' ? RH_COMM_RECV : RH_COMM_SEND) : 0;
	op.tag = (uint32_t)rh_value_as_number(rh_value_get(entry, "p2p_seq_id"), 0);
	op.state = recorder_state(entry, strncmp(profiled, "gloo:", 5) == 0);
	r = recorder_find_group(recorder, entry, &op.group);
	if (r == 0)
		r = recorder_describe(recorder, entry, name, &op);
	if (r < 0 || recorder_is_joined(recorder, &op, &r))
		return r;
	rank->ops[rank->count++] = op;
	rank->posted = op.place > rank->posted ? op.place : rank->posted;
	return 0;
}

/* A dump may leave out what is done. A rank of which nothing is left is not held to have posted nothing. */
static void recorder_take_status(struct recorder *recorder)
{
	const struct rh_value *status = rh_value_get(recorder->root, "pg_status");
	struct rh_trace_rank *rank = recorder->rank;

	for (size_t i = 0; status && status->kind == RH_VALUE_MAP && i + 1 < status->count; i += 2) {
		int64_t posted = rh_value_as_number(rh_value_get(status->items[i + 1], "last_enqueued_collective"), 0);

		if (rank->count == 0 && posted > 0)
			rank->posted += (uint64_t)posted;
	}
}

static int32_t recorder_take_ops(struct recorder *recorder)
{
	const struct rh_value *entries = rh_value_get(recorder->root, "entries");
	const struct rh_value *status = rh_value_get(recorder->root, "pg_status");
	int32_t r = 0;

	if (recorder->root->kind != RH_VALUE_MAP || (!entries && !status) || !rh_value_get(recorder->root, "version"))
		return recorder_refuse(recorder, "neither a trace of rh_comm nor a dump of torch's flight recorder");
	recorder->rank->ops = calloc(entries ? entries->count + 1 : 1, sizeof(*recorder->rank->ops));
	if (!recorder->rank->ops)
		return recorder_out_of_memory(recorder);
	for (size_t i = 0; rh_value_at(entries, i) && r == 0; i++)
		r = recorder_take_entry(recorder, rh_value_at(entries, i));
	recorder_take_status(recorder);
	return r;
}

static int32_t recorder_parse(struct recorder *recorder, struct rh_values *values, size_t length)
{
	const char *bytes = recorder->rank->bytes;
	char reason[200] = "it holds too much";
	const char *constant = NULL;

	if ((unsigned char)bytes[0] == 0x80)
		recorder->root = rh_value_parse_pickle(values, bytes, length, reason, sizeof(reason));
	else
		recorder->root = rh_value_parse_json(values, bytes, length, &constant);
	return recorder->root ? 0 : recorder_refuse(recorder, constant ? constant : reason);
}

int32_t rh_recorder_read(const char *path, size_t length, struct rh_trace_rank *rank, char *why, size_t room)
{
	struct recorder recorder = {.path = path, .rank = rank, .why = why, .room = room};
	struct rh_values values = {0};
	int32_t r = recorder_find_rank(&recorder);

	rank->foreign = true;
	rank->world = rank->rank + 1;
	if (r == 0)
		r = recorder_parse(&recorder, &values, length);
	if (r == 0)
		r = recorder_take_groups(&recorder);
	if (r == 0)
		r = recorder_take_ops(&recorder);
	rh_values_deinit(&values);
	if (r == 0 && rh_trace_index(rank) < 0)
		r = recorder_out_of_memory(&recorder);
	return r;
}

void rh_recorder_agree(struct rh_trace_rank *ranks, size_t count)
{
	int32_t world = 0;

	for (size_t i = 0; i < count; i++)
		world = ranks[i].foreign && ranks[i].world > world ? ranks[i].world : world;
	for (size_t i = 0; i < count; i++)
		ranks[i].world = ranks[i].foreign ? world : ranks[i].world;
}
