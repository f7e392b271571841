/* SPDX-License-Identifier: Apache-2.0 */
/* Ends: the first byte is the exit code, the rest what was written. Excerpts are bounded, and say something of the same
 * output. */
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "job/evidence/evidence.h"

#define FUZZ_LIMIT 1024

static void fuzz_read(const struct rh_end *end)
{
	struct rh_evidence evidence = rh_evidence_read(end);
	const char *stop = end->output + strlen(end->output);

	fuzz_require(evidence.blame < RH_BLAMES);
	fuzz_require(evidence.rank >= -1 && evidence.accused >= -1);
	if (evidence.headline_length > 0)
		fuzz_require(evidence.headline >= end->output && evidence.headline + evidence.headline_length <= stop);
	for (size_t i = 0; i < evidence.headline_length; i++)
		fuzz_require(evidence.headline[i] != '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rh_auto_free char *text = size > 0 ? rh_strndup((const char *)data + 1, size - 1) : NULL;
	struct rh_end end = {.exit_code = size > 0 ? data[0] : 0, .reason = "Error", .output = text};
	rh_auto_str lines = {0};

	if (!text)
		return 0;
	fuzz_read(&end);
	rh_evidence_excerpt(&end, FUZZ_LIMIT, &lines);
	fuzz_require(lines.length <= FUZZ_LIMIT);
	end.output = rh_str_text(&lines);
	fuzz_read(&end);
	return 0;
}
