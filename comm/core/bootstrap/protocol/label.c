/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/protocol/label.h"

#include <stdio.h>

/* Names of numbers from 1 on; [0] is for those that have none. */
struct names {
	const char *const *words;
	size_t count;
};

static const char *const label_whats[] = {"operation", "all-reduce", "reduce-scatter", "all-gather",
                                          "broadcast", "barrier",    "send",           "receive"};
static const char *const label_types[] = {"elements", "f32", "f64", "f16", "bf16", "i8", "i32", "i64", "u8"};
static const char *const label_reductions[] = {"no reduction", "sum", "avg", "min", "max", "prod"};

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

void rh_comm_label_text(uint64_t label, char *text, size_t room)
{
	int32_t what = (int32_t)label_take(&label, RH_COMM_LABEL_WHAT);
	uint64_t type = label_take(&label, RH_COMM_LABEL_TYPE);
	uint64_t reduce = label_take(&label, RH_COMM_LABEL_REDUCE);
	uint64_t root = label_take(&label, RH_COMM_LABEL_ROOT);
	const char *unit = label_name(&NAMES(label_types), type);

	if (what == RH_COMM_BARRIER)
		(void)snprintf(text, room, "barrier");
	else if (what == RH_COMM_ALL_REDUCE || what == RH_COMM_REDUCE_SCATTER)
		(void)snprintf(text, room, "%s of %llu %s, %s", rh_comm_what_name(what), (unsigned long long)label, unit,
		               label_name(&NAMES(label_reductions), reduce));
	else if (what == RH_COMM_BROADCAST)
		(void)snprintf(text, room, "broadcast of %llu %s from rank %llu", (unsigned long long)label, unit,
		               (unsigned long long)root);
	else
		(void)snprintf(text, room, "%s of %llu %s", rh_comm_what_name(what), (unsigned long long)label, unit);
}
