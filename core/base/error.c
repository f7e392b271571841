/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

int rh_error_set(struct rh_error *err, int code, const char *file, int line, const char *fmt, ...)
{
	/* Not written in place: an argument may be the earlier message. */
	char message[RH_ERROR_MESSAGE_SIZE];
	va_list args;
	int length;

	if (!err)
		return code;
	va_start(args, fmt);
	length = vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	if (length < 0)
		rh_copy(message, sizeof(message), fmt);
	else if ((size_t)length >= sizeof(message))
		rh_mark_cut(message, sizeof(message));
	err->code = code;
	err->topic = RH_ERROR_OTHER;
	err->context = 0;
	err->file = file;
	err->line = line;
	rh_copy(err->message, sizeof(err->message), message);
	return code;
}

int rh_wrap(struct rh_error *err, int code, const char *fmt, ...)
{
	char message[RH_ERROR_MESSAGE_SIZE];
	va_list args;
	int length;

	if (!err)
		return code;
	va_start(args, fmt);
	length = vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	err->context = length >= 0 && (size_t)length + strlen(": ") < sizeof(message) ? length + (int)strlen(": ") : 0;
	if (length >= 0 && (size_t)length < sizeof(message))
		length += snprintf(message + length, sizeof(message) - (size_t)length, ": %s", err->message);
	if (length >= 0 && (size_t)length >= sizeof(message))
		rh_mark_cut(message, sizeof(message));
	err->code = code;
	rh_copy(err->message, sizeof(err->message), message);
	return code;
}

void rh_error_set_topic(struct rh_error *err, enum rh_error_topic topic)
{
	if (err)
		err->topic = topic;
}

const char *rh_error_reason(const struct rh_error *err)
{
	return err->message + err->context;
}

const char *rh_status_name(int code)
{
	static const char *const names[] = {"RH_OK",  "RH_EINVAL", "RH_ENOMEM", "RH_EAGAIN",   "RH_EPLUGIN",
	                                    "RH_EIO", "RH_ENOENT", "RH_EEXIST", "RH_ECONFLICT"};

	if (code > 0)
		return "positive result";
	if (code <= -(int)(sizeof(names) / sizeof(names[0])))
		return "unknown status";
	return names[-code];
}
