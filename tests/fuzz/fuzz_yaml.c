/* SPDX-License-Identifier: Apache-2.0 */
/* What the YAML reader accepts, the printer prints so that it reads back as the same tree. */
#include "base/yaml.h"
#include "fuzz.h"

static void fuzz_print(const struct rh_json *json)
{
	rh_auto_str text = {0};
	rh_auto(json) again = NULL;
	struct rh_error err = {0};

	fuzz_require(rh_yaml_print(json, &text) == 0);
	/* Quoting and indenting can make a text longer than the limit. */
	if (text.length > RH_YAML_TEXT_MAX)
		return;
	if (rh_yaml_parse(text.data, text.length, &again, &err) < 0) {
		fprintf(stderr, "%s\n%s\n", err.message, text.data);
		abort();
	}
	fuzz_require(rh_json_size(again) == 1);
	fuzz_require(rh_json_equal(rh_json_first(again), json));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rh_auto(json) documents = NULL;
	struct rh_error err = {0};
	int r = rh_yaml_parse((const char *)data, size, &documents, &err);

	fuzz_require((r == 0) == (documents != NULL));
	fuzz_require(r == 0 || (r == err.code && err.message[0] != '\0'));
	for (const struct rh_json *document = rh_json_first(documents); document; document = rh_json_next(document))
		fuzz_print(document);
	return 0;
}
