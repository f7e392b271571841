/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of torch's flight recorder, pickle or JSON: what is accepted is a rank whose findings can be written. */
#include <string.h>

#include "comm/bench/trace/foreign/recorder.h"
#include "comm/bench/trace/text.h"
#include "fuzz.h"
#include "roundhouse/comm.h"

static void fuzz_find(const struct rh_trace_rank *rank)
{
	struct rh_trace_findings findings;
	char text[700];

	fuzz_require(rank->world > rank->rank && rank->rank == 3);
	fuzz_require(rank->collectives <= rank->count);
	fuzz_require(rh_trace_find(rank, 1, &findings) == 0);
	for (size_t i = 0; i < findings.count; i++) {
		(void)rh_trace_finding_text(&findings.items[i], text, sizeof(text));
		fuzz_require(strlen(text) > 0);
		for (const char *at = text; *at; at++)
			fuzz_require(*at != '\x1b' && *at != '\n');
	}
	rh_trace_findings_deinit(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rh_trace_rank rank = {0};
	char why[700] = "";
	int32_t r;

	if (!rh_recorder_is((const char *)data, size))
		return 0;
	rank.bytes = malloc(size);
	fuzz_require(rank.bytes != NULL);
	memcpy(rank.bytes, data, size);
	r = rh_recorder_read("folder/trace_3", size, &rank, why, sizeof(why));
	fuzz_require(r == 0 || r == RH_COMM_EINVAL || r == RH_COMM_ENOMEM);
	fuzz_require((r == 0) == (why[0] == '\0'));
	if (r == 0)
		fuzz_find(&rank);
	rh_trace_rank_deinit(&rank);
	return 0;
}
