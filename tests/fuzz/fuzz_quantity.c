/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities: whatever parses keeps its sign, and reads the same as a JSON string. */
#include "base/mem.h"
#include "fuzz.h"
#include "job/values/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rh_auto_free char *text = rh_strndup((const char *)data, size);
	rh_auto(json) json = rh_json_new_string(text);
	struct rh_error err = {0};
	int64_t milli = 0;
	int64_t again = 0;

	if (!text || !json)
		return 0;
	if (rh_quantity_parse(text, &milli, &err) != 0) {
		fuzz_require(err.code == RH_EINVAL && err.message[0]);
		return 0;
	}
	fuzz_require(text[0] == '-' ? milli <= 0 : milli >= 0);
	fuzz_require(rh_quantity_from_json(json, &again, NULL) == 0 && again == milli);
	return 0;
}
