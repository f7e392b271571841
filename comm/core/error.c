/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void rh_comm_error_set(struct rh_comm_error *err, int32_t code, int32_t rank, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return;
	err->code = code;
	err->rank = rank;
	va_start(args, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
}

void rh_comm_error_set_os(struct rh_comm_error *err, int32_t code, int number, const char *what)
{
	char words[128];

	rh_comm_error_set(err, code, RH_COMM_NO_RANK, "%s: %s", what, strerror_r(number, words, sizeof(words)));
}

int64_t rh_comm_now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * RH_COMM_SECOND + time.tv_nsec / 1000;
}

const char *rh_comm_status_text(int32_t code)
{
	switch (code) {
	case 0:
		return "done";
	case RH_COMM_BUSY:
		return "RH_COMM_BUSY: not done yet";
	case RH_COMM_EINVAL:
		return "RH_COMM_EINVAL: wrong arguments or configuration";
	case RH_COMM_ENOMEM:
		return "RH_COMM_ENOMEM: out of memory";
	case RH_COMM_EIO:
		return "RH_COMM_EIO: the operating system refused";
	case RH_COMM_EPEER:
		return "RH_COMM_EPEER: a rank died or was cut off";
	case RH_COMM_ETIME:
		return "RH_COMM_ETIME: a time limit is over";
	case RH_COMM_EABORTED:
		return "RH_COMM_EABORTED: a rank aborted the operations of all";
	case RH_COMM_ENOTSUP:
		return "RH_COMM_ENOTSUP: the backend cannot do that";
	case RH_COMM_EBACKEND:
		return "RH_COMM_EBACKEND: the backend failed";
	default:
		return "unknown status";
	}
}
