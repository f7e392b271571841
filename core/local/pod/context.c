/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/context.h"

#include <stdarg.h>
#include <stdio.h>

#include "local/shim/plan.h"

void rh_pod_note(const struct rh_pod_context *context, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (!context->notes)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	rh_str_appendf(context->notes, "%s\n", text);
}

int rh_pod_set_amount(struct rh_json *object, const char *key, int64_t amount)
{
	return rh_json_set_integer(object, key, amount > RH_SHIM_AMOUNT_MAX ? RH_SHIM_AMOUNT_MAX : amount);
}
