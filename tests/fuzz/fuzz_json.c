/* SPDX-License-Identifier: Apache-2.0 */
/* What the JSON reader accepts prints as JSON that reads back as the same tree, and is as good in YAML. */
#include "base/yaml.h"
#include "fuzz.h"

static void fuzz_read_back(const struct rh_json *json, bool pretty)
{
	rh_auto_str text = {0};
	rh_auto(json) again = NULL;

	rh_json_print(json, pretty, &text);
	fuzz_require(rh_json_parse(text.data, text.length, &again, NULL) == 0);
	fuzz_require(rh_json_equal(json, again));
}

static void fuzz_through_yaml(const struct rh_json *json)
{
	rh_auto_str text = {0};
	rh_auto(json) documents = NULL;
	struct rh_error err = {0};

	fuzz_require(rh_yaml_print(json, &text) == 0);
	if (rh_yaml_parse(text.data, text.length, &documents, &err) < 0) {
		fprintf(stderr, "%s\n%s\n", err.message, text.data);
		abort();
	}
	fuzz_require(rh_json_size(documents) == 1);
	fuzz_require(rh_json_equal(rh_json_first(documents), json));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rh_auto(json) json = NULL;
	rh_auto(json) copy = NULL;
	struct rh_error err = {0};
	int r = rh_json_parse((const char *)data, size, &json, &err);

	fuzz_require((r == 0) == (json != NULL));
	fuzz_require(r != RH_ENOMEM); /* the library refuses what passed the check */
	fuzz_require(r == 0 || (r == err.code && err.message[0] != '\0'));
	if (r < 0)
		return 0;
	fuzz_read_back(json, false);
	fuzz_read_back(json, true);
	fuzz_through_yaml(json);
	copy = rh_json_copy(json);
	fuzz_require(rh_json_equal(json, copy));
	return 0;
}
