/* SPDX-License-Identifier: Apache-2.0 */
/* However the answer of a server is cut into pieces, the splitter hands over the same objects and ends the same way. */
#include <string.h>

#include "base/str.h"
#include "fuzz.h"
#include "kube/watch/split.h"

static int fuzz_note(void *arg, struct rh_json *object, struct rh_error *err)
{
	(void)err;
	rh_json_print(object, false, arg);
	rh_str_append(arg, "\n");
	return 0;
}

/* Feed in pieces of @p step bytes. */
static void fuzz_feed(enum rh_split_form form, const char *text, size_t size, size_t step, struct rh_str *out)
{
	rh_auto(split) split = rh_split_new(form, 1000, fuzz_note, out);
	struct rh_error err = {0};
	int r = 0;

	for (size_t at = 0; at < size && r == 0; at += step)
		r = rh_split_feed(split, text + at, size - at < step ? size - at : step, &err);
	if (r == 0)
		r = rh_split_end(split, &err);
	if (r == 0 && rh_split_metadata(split))
		rh_json_print(rh_split_metadata(split), false, out);
	fuzz_require(r == 0 || (r == err.code && err.message[0] != '\0'));
	rh_str_appendf(out, "%d %s", r, err.message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum rh_split_form forms[] = {RH_SPLIT_LIST, RH_SPLIT_EVENTS};

	for (size_t i = 0; i < 2; i++) {
		rh_auto_str whole = {0};
		rh_auto_str pieces = {0};
		rh_auto_str bytes = {0};

		fuzz_feed(forms[i], (const char *)data, size, size + 1, &whole);
		fuzz_feed(forms[i], (const char *)data, size, size / 3 + 1, &pieces);
		fuzz_feed(forms[i], (const char *)data, size, 1, &bytes);
		fuzz_require(strcmp(rh_str_text(&whole), rh_str_text(&bytes)) == 0);
		fuzz_require(strcmp(rh_str_text(&whole), rh_str_text(&pieces)) == 0);
	}
	return 0;
}
