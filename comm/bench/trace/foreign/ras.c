/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text is that of NCCL 2.24 to 2.30 (src/ras/client_support.cc). It has a paragraph for each communicator with
 * something wrong, whose lines are read here; the table above them says the same of groups of them. Ranks are named
 * there if they are few. The JSON has the counts of all ranks.
 */
#include "comm/bench/trace/foreign/ras.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "comm/bench/trace/foreign/ras_json.h"
#include "roundhouse/comm.h"

#define LINE_ROOM 1024

/* What is being read. */
struct ras {
	struct rh_ras *result;
	char group[40];
	char section[12]; /* "DEAD", "INCOMPLETE", "ERROR", "MISMATCH"; "": none */
	bool counts;      /* its lines are of counts, not of statuses */
	char what[40];    /* of which operation */
	size_t first;     /* the findings of this list begin there */
	size_t current;   /* finding to which lines that follow belong; SIZE_MAX: none */
	int32_t status;
};

static void ras_end_list(struct ras *ras)
{
	if (strcmp(ras->section, "MISMATCH") == 0)
		rh_ras_settle(ras->result, ras->first);
	ras->first = ras->result->count;
	ras->current = SIZE_MAX;
}

static struct rh_ras_finding *ras_begin(struct ras *ras, enum rh_ras_kind kind, int64_t whole)
{
	struct rh_ras_finding *item = rh_ras_add(ras->result, kind, ras->group);

	if (!item) {
		ras->status = RH_COMM_ENOMEM;
		return NULL;
	}
	item->whole = whole;
	ras->current = ras->result->count - 1;
	return item;
}

/* "#0-1 (cafe…) MISMATCH", "DEAD", "INCOMPLETE". @return whether the line begins a paragraph */
static bool ras_read_head(struct ras *ras, const char *line)
{
	static const char *const sections[] = {"DEAD", "INCOMPLETE", "ERROR", "MISMATCH"};
	char group[40] = "";
	char section[12] = "";

	if (line[0] == '#' && sscanf(line, "#%*d-%*d (%39[0-9a-fx]) %11s", group, section) != 2)
		return false;
	if (line[0] != '#' && sscanf(line, "%11s", section) != 1)
		return false;
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		if (strcmp(section, sections[i]) != 0 || (line[0] != '#' && strcmp(line, section) != 0))
			continue;
		ras_end_list(ras);
		(void)snprintf(ras->group, sizeof(ras->group), "%s", group);
		(void)snprintf(ras->section, sizeof(ras->section), "%s", section);
		return true;
	}
	return false;
}

/* The place at the end of a line: " -- GPU 3 managed by process 71 on node 10.0.0.7". */
static void ras_take_place(struct rh_ras_finding *item, const char *line)
{
	const char *by = strstr(line, "process ");
	const char *own = strncmp(line, "Process ", 8) == 0 ? line : NULL;
	size_t length = strlen(item->places);
	char process[12];
	char node[64];

	if ((own || by) && sscanf(own ? own + 8 : by + 8, "%11[0-9] on node %63[0-9a-zA-Z.:_-]", process, node) == 2)
		(void)snprintf(item->places + length, sizeof(item->places) - length, "%sprocess %s on node %s",
		               length > 0 ? ", " : "", process, node);
}

/* "3 ranks have launched up to operation 41", "Rank 2 has not launched any operations -- …" and their like. */
static void ras_read_level(struct ras *ras, const char *line, long long first, bool rank)
{
	const char *launched = strstr(line, "launched up to operation ");
	const char *status = strstr(line, " status ");
	const char *reported = strstr(line, " reported ");
	struct rh_ras_finding *item = NULL;

	if (strcmp(ras->section, "MISMATCH") == 0 && ras->counts && (launched || strstr(line, "not launched any")))
		item = ras_begin(ras, RH_RAS_MISSING, rank ? 1 : first);
	else if (strcmp(ras->section, "MISMATCH") == 0 && !ras->counts && status)
		item = ras_begin(ras, RH_RAS_STATUS, rank ? 1 : first);
	else if (strcmp(ras->section, "ERROR") == 0 && reported)
		item = ras_begin(ras, RH_RAS_ERROR, rank ? 1 : first);
	if (!item)
		return;
	if (item->kind == RH_RAS_MISSING) {
		item->number = launched ? strtoull(launched + strlen("launched up to operation "), NULL, 10) : 0;
		(void)snprintf(item->what, sizeof(item->what), "%s", ras->what);
	} else {
		const char *word = status && item->kind == RH_RAS_STATUS ? status + 8 : reported + 10;
		const char *end = strstr(word, " -- ");

		(void)snprintf(item->what, sizeof(item->what), "%.*s", (int)(end ? end - word : 39), word);
	}
	if (rank)
		rh_ras_add_rank(item, first);
}

/* A line of a paragraph, without the spaces before it. */
static void ras_read_line(struct ras *ras, const char *line)
{
	long long number = 0;
	bool rank = sscanf(line, "Rank %lld ", &number) == 1;
	bool several = !rank && sscanf(line, "%lld ", &number) == 1;
	size_t before = ras->result->count;

	if (sscanf(line, "Communicator ranks have different %39s operation counts", ras->what) == 1) {
		ras_end_list(ras);
		ras->counts = strstr(line, "operation counts") != NULL;
		return;
	}
	if (several && strstr(line, "considered dead"))
		(void)ras_begin(ras, RH_RAS_DEAD, number);
	else if (sscanf(line, "Missing communicator data from %lld ", &number) == 1)
		(void)ras_begin(ras, ras->group[0] != '\0' ? RH_RAS_SILENT : RH_RAS_DEAD, number);
	else if (rank || several)
		ras_read_level(ras, line, number, rank);
	if (ras->status < 0 || ras->current == SIZE_MAX)
		return;
	if (rank && ras->result->count == before)
		rh_ras_add_rank(&ras->result->items[ras->current], number);
	ras_take_place(&ras->result->items[ras->current], line);
}

/* Of a text that may end anywhere. Lines longer than any of NCCL's are cut. */
static int32_t ras_read_text(struct ras *ras, const char *bytes, size_t length)
{
	while (length > 0 && ras->status == 0) {
		const char *end = memchr(bytes, '\n', length);
		size_t whole = end ? (size_t)(end - bytes) : length;
		size_t cut = whole < LINE_ROOM - 1 ? whole : LINE_ROOM - 1;
		char line[LINE_ROOM];

		memcpy(line, bytes, cut);
		line[cut] = '\0';
		while (cut > 0 && isspace((unsigned char)line[cut - 1]))
			line[--cut] = '\0';
		if (!ras_read_head(ras, line) && line[0] == ' ' && ras->section[0] != '\0')
			ras_read_line(ras, line + strspn(line, " "));
		bytes += whole + (end ? 1 : 0);
		length -= whole + (end ? 1 : 0);
	}
	ras_end_list(ras);
	return ras->status;
}

static bool ras_has(const char *bytes, size_t length, const char *word)
{
	return memmem(bytes, length, word, strlen(word)) != NULL;
}

bool rh_ras_is(const char *bytes, size_t length)
{
	size_t begin = length < 4096 ? length : 4096;
	bool text = length > 0 && bytes[0] != '{' && ras_has(bytes, begin, "NCCL version ");

	return text || (length > 0 && bytes[0] == '{' && ras_has(bytes, begin, "\"communicators_count\""));
}

int32_t rh_ras_read(const char *bytes, size_t length, struct rh_ras *ret_ras, char *why, size_t room)
{
	struct ras ras = {.result = ret_ras, .current = SIZE_MAX};

	*ret_ras = (struct rh_ras){.count = 0};
	if (length > 0 && bytes[0] == '{')
		return rh_ras_read_json(bytes, length, ret_ras, why, room);
	if (!ras_has(bytes, length, "\nWarnings\n")) {
		(void)snprintf(why, room, "the output of ncclras is cut: it has no warnings");
		return RH_COMM_EINVAL;
	}
	if (ras_read_text(&ras, bytes, length) == 0)
		return 0;
	(void)snprintf(why, room, "out of memory");
	return RH_COMM_ENOMEM;
}
