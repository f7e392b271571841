/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin's process may send: the host reads no byte beyond it, and checks the kinds. */
#include <string.h>

#include "fuzz.h"
#include "host/registry.h"
#include "host/worker/messages/hello.h"
#include "host/worker/messages/record.h"

static void fuzz_hello(const char *bytes, size_t size)
{
	rh_auto_str message = {0};
	rh_auto(hello) hello = NULL;
	const struct rh_kind *kind;

	rh_str_append_bytes(&message, bytes, size);
	if (rh_hello_read(&message, &hello, NULL) < 0)
		return;
	fuzz_require(rh_hello_state(hello) <= RH_PLUGIN_READY && rh_hello_reason(hello));
	for (size_t i = 0; (kind = rh_hello_kind(hello, false, i)); i++)
		(void)rh_abi_check_kind(kind, NULL);
	if (rh_hello_plugin(hello))
		(void)rh_abi_check_plugin(rh_hello_plugin(hello), NULL);
}

static void fuzz_record(enum rh_operation operation, const char *bytes, size_t size)
{
	static const char pod[] = "{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}";
	rh_auto(json) target = NULL;
	rh_auto_findings findings = {0};
	struct rh_judgement judgement = {0};
	struct rh_reply reply = {.operation = operation, .plugin = "p", .findings = &findings, .judgement = &judgement};
	struct rh_wire wire = rh_wire_read(bytes, size);
	struct rh_outcome outcome;

	fuzz_require(rh_json_parse(operation == RH_OPERATION_POD ? pod : "[]",
	                           operation == RH_OPERATION_POD ? strlen(pod) : 2, &target, NULL) == 0);
	reply.pod = reply.objects = target;
	if (rh_record_replay(&wire, &reply, &outcome) == 0)
		fuzz_require((outcome.status < 0) == (outcome.message != NULL));
	rh_judgement_deinit(&judgement);
}

/* The first byte says what is read: a description, or the answer of an operation. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;

	if (size == 0)
		return 0;
	if (data[0] % 6 == 0)
		fuzz_hello(bytes + 1, size - 1);
	else
		fuzz_record((enum rh_operation)(data[0] % 6), bytes + 1, size - 1);
	return 0;
}
