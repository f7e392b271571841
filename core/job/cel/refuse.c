/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "base/str.h"
#include "job/cel/ast.h"

int rh_cel_refuse(struct rh_error *err, const char *text, size_t at, const char *fmt, ...)
{
	rh_auto_free char *what = NULL;
	size_t column = 1;
	va_list args;

	va_start(args, fmt);
	what = rh_vasprintf(fmt, args);
	va_end(args);
	for (size_t i = 0; i < at; i++)
		column += ((unsigned char)text[i] & 0xC0) != 0x80;
	return what ? rh_fail(err, RH_EINVAL, "%s; column %zu", what, column) : rh_fail_oom(err);
}
