/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check/status.h"

#include <string.h>

#include "base/json.h"
#include "job/rules/schema/schema.h"
#include "job/status/shown.h"

/** @return a document whose root is a status with the plugin's members alone; owned by the caller; NULL: memory is out
 */
static struct rh_json *status_document(const struct rh_kind *kind)
{
	const char *text = rh_shown_schema(kind);
	rh_auto(json) document = rh_json_new_object();
	struct rh_json *definitions = document ? rh_json_ensure_object(document, "definitions") : NULL;
	struct rh_json *root = definitions ? rh_json_ensure_object(definitions, "Status") : NULL;
	struct rh_json *properties = NULL;

	if (!root || !text || rh_json_parse(text, strlen(text), &properties, NULL) < 0 ||
	    rh_json_set(root, "properties", properties) < 0 || rh_json_set_string(root, "type", "object") < 0 ||
	    rh_json_set_string(document, "root", "Status") < 0)
		return NULL;
	return rh_take(document);
}

void rh_check_status(struct rh_board *board, const struct rh_kind *kind, const struct rh_judgement *judgement)
{
	rh_auto(json) document = judgement->status ? status_document(kind) : NULL;
	rh_auto(json) value = document ? rh_json_copy(judgement->status) : NULL;
	rh_auto_findings findings = {0};

	if (!value)
		return;
	rh_json_drop_nulls(value);
	if (rh_schema_check(document, value, RH_SCHEMA_FIELDS | RH_SCHEMA_LIMITS | RH_SCHEMA_RULES, &findings) < 0)
		return;
	for (size_t i = 0; i < findings.count; i++)
		rh_board_add(board, RH_CHECK_VERDICTS, "status() gives what status_schema refuses: %s: %s",
		             findings.items[i].path, findings.items[i].detail);
}
