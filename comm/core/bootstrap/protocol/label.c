/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/protocol/label.h"

#include <stdio.h>

/* Names of numbers from 1 on; [0] is for those that have none. */
struct names {
	const char *const *words;
	size_t count;
};

static const char *const label_whats[] = {
	"operation", "all-reduce", "reduce-scatter", "all-gather",   "broadcast",       "barrier",
	"send",      "receive",    "all-to-all",     "all-to-all-v", "gather",          "gather-v",
	"scatter",   "scatter-v",  "reduce",         "all-gather-v", "reduce-scatter-v"};
static const char *const label_types[] = {"elements", "f32", "f64", "f16", "bf16", "i8",   "i32", "i64",
                                          "u8",       "i16", "u16", "u32", "u64",  "e4m3", "e5m2"};
static const char *const label_reductions[] = {"no reduction", "sum",  "avg", "min", "max",
                                               "prod",         "band", "bor", "bxor"};

#define LABEL_BELOW_ROOT (RH_COMM_LABEL_WHAT + RH_COMM_LABEL_TYPE + RH_COMM_LABEL_REDUCE)
#define NAMES(words) ((struct names){(words), sizeof(words) / sizeof(*(words))})

static const char *label_name(const struct names *names, uint64_t number)
{
	return names->words[number < names->count ? number : 0];
}

const char *rh_comm_what_name(int32_t what)
{
	return label_name(&NAMES(label_whats), what > 0 ? (uint64_t)what : 0);
}

/* @return the low bits, which are taken out */
static uint64_t label_take(uint64_t *label, unsigned bits)
{
	uint64_t value = *label & ((UINT64_C(1) << bits) - 1);

	*label >>= bits;
	return value;
}

uint64_t rh_comm_label_listed(const struct rh_comm_op *op, int32_t world)
{
	const size_t *counts = op->what == RH_COMM_ALL_GATHER_V ? op->out_counts : op->in_counts;
	uint64_t hash = 0;
	uint64_t total = 0;

	for (int32_t rank = 0; rank < world; rank++) {
		hash = rh_comm_history(hash, counts[rank] + 1);
		total += counts[rank];
	}
	return rh_comm_label(op, 0) | hash >> (64 - RH_COMM_LABEL_ROOT) << LABEL_BELOW_ROOT |
	       total << (LABEL_BELOW_ROOT + RH_COMM_LABEL_ROOT);
}

/* "of 4 f32"; of operations whose counts differ from rank to rank only the type is known. */
static size_t label_amount(int32_t what, uint64_t type, uint64_t count, char *text, size_t room)
{
	const char *unit = label_name(&NAMES(label_types), type);
	bool same = !rh_comm_is_listed(what) || what >= RH_COMM_ALL_GATHER_V;
	int length;

	if (same)
		length = snprintf(text, room, "%s of %llu %s", rh_comm_what_name(what), (unsigned long long)count, unit);
	else
		length = snprintf(text, room, "%s of %s", rh_comm_what_name(what), unit);
	return length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

void rh_comm_label_text(uint64_t label, char *text, size_t room)
{
	int32_t what = (int32_t)label_take(&label, RH_COMM_LABEL_WHAT);
	uint64_t type = label_take(&label, RH_COMM_LABEL_TYPE);
	uint64_t reduce = label_take(&label, RH_COMM_LABEL_REDUCE);
	unsigned long long root = label_take(&label, RH_COMM_LABEL_ROOT);
	bool gives = what == RH_COMM_BROADCAST || what == RH_COMM_SCATTER || what == RH_COMM_SCATTER_V;
	size_t length;

	if (what == RH_COMM_BARRIER) {
		(void)snprintf(text, room, "barrier");
		return;
	}
	length = label_amount(what, type, label, text, room);
	text += length;
	room -= length;
	if (rh_comm_what_reduces(what)) {
		length = (size_t)snprintf(text, room, ", %s", label_name(&NAMES(label_reductions), reduce));
		length = length < room ? length : room - 1;
		text += length;
		room -= length;
	}
	if (rh_comm_what_has_root(what))
		(void)snprintf(text, room, " %s rank %llu", gives ? "from" : "to", root);
	else if (rh_comm_is_listed(what) && what >= RH_COMM_ALL_GATHER_V)
		(void)snprintf(text, room, " in all, with the list of counts %05llx", root);
}
