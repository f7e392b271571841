/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: the first line is the expression, the rest a text. What is found is what is searched. */
#include <string.h>

#include "fuzz.h"
#include "job/cel/regex/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t length = end ? (size_t)(end - data) : size;
	rh_auto(regex) regex = NULL;
	struct rh_error err = {0};
	struct rh_regex_match match = {0};
	bool found = false, again = false;

	if (rh_regex_compile((const char *)data, length, &regex, &err) != 0) {
		fuzz_require(err.code == RH_EINVAL && strstr(err.message, "regular expression: "));
		return 0;
	}
	length += end != NULL;
	if (rh_regex_search(regex, (const char *)data + length, size - length, &found) == 0 &&
	    rh_regex_find(regex, (const char *)data + length, size - length, &match, &again) == 0) {
		fuzz_require(found == again);
		fuzz_require(!found || (match.start <= match.end && match.end <= size - length));
	}
	return 0;
}
