/* SPDX-License-Identifier: Apache-2.0 */
/* Where a replica is reached, and edits of its pod. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "../trainer.h"

bool trainer_is_local(const struct trainer_call *call)
{
	return (call->host->state(call->view) & RH_STATE_LOCAL) != 0;
}

const char *trainer_host(const struct trainer_call *call, const char *job, int32_t index, char *text)
{
	const char *address = call->host->host(call->view, job, index);

	if (trainer_is_local(call))
		snprintf(text, TRAINER_TEXT, "%s", address ? address : "");
	else
		snprintf(text, TRAINER_TEXT, "%.63s-%.63s-0-%" PRId32 ".%.63s", trainer_name(call), job, index,
		         trainer_subdomain(call));
	return text;
}

void trainer_edit(struct trainer_call *call, const char *json, const char *format, ...)
{
	char path[TRAINER_TEXT];
	va_list list;

	va_start(list, format);
	vsnprintf(path, sizeof(path), format, list);
	va_end(list);
	if (call->status == 0 && json)
		call->status = call->host->edit(call->reply, path, json);
}
