/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: what compiles has a value of its type, or an error, for an object of its schema; twice the same. */
#include <string.h>

#include "fuzz.h"
#include "job/cel/cel.h"

static const char schema_text[] =
	"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"number\"},\"s\":{\"type\":"
	"\"string\"},\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"m\":{\"type\":\"object\","
	"\"additionalProperties\":{\"type\":\"integer\"}},\"d\":{\"type\":\"string\",\"format\":\"duration\"},\"p\":{"
	"\"x-kubernetes-int-or-string\":true}}}";
static const char self_text[] =
	"{\"a\":7,\"b\":2.5,\"s\":\"a-b\",\"l\":[\"x\",\"yy\"],\"m\":{\"k\":1},\"d\":\"1h\",\"p\":\"80%\"}";

static struct rh_cel_value fuzz_run(const struct rh_cel *cel, const struct rh_json *self)
{
	rh_auto_cel_room room = {0};
	struct rh_cel_value value = rh_cel_run(cel, self, &room);

	fuzz_require(value.kind == RH_CEL_BOOL || (value.kind == RH_CEL_ERROR && value.text.length > 0));
	return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rh_auto_free char *text = rh_strndup((const char *)data, size);
	rh_auto(json) schema = NULL;
	rh_auto(json) self = NULL;
	rh_auto(cel) cel = NULL;
	struct rh_error err = {0};
	struct rh_cel_setting setting = {.result_kind = RH_CEL_BOOL};
	struct rh_cel_value one, two;

	fuzz_require(text && rh_json_parse(schema_text, sizeof(schema_text) - 1, &schema, NULL) == 0 &&
	             rh_json_parse(self_text, sizeof(self_text) - 1, &self, NULL) == 0);
	setting.schema = schema;
	if (rh_cel_compile(text, &setting, &cel, &err) != 0) {
		fuzz_require(err.code == RH_EINVAL && strstr(err.message, "; column "));
		return 0;
	}
	one = fuzz_run(cel, self);
	two = fuzz_run(cel, self);
	fuzz_require(one.kind == two.kind && (one.kind != RH_CEL_BOOL || one.flag == two.flag));
	return 0;
}
