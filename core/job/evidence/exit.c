/* SPDX-License-Identifier: Apache-2.0 */
#include "job/evidence/exit.h"

#include <inttypes.h>
#include <string.h>

/* Signals 1 to 31 have names on Linux; 128 + n beyond them is just an exit code. */
#define EXIT_SIGNAL_MAX 31

int rh_exit_signal(int32_t exit_code)
{
	return exit_code > 128 && exit_code <= 128 + EXIT_SIGNAL_MAX ? exit_code - 128 : 0;
}

void rh_exit_print(int32_t exit_code, const char *reason, struct rh_str *out)
{
	int number = rh_exit_signal(exit_code);
	bool specific = *reason && strcmp(reason, "Error") != 0 && strcmp(reason, "Completed") != 0;

	if (exit_code < 0) {
		rh_str_appendf(out, "failed (%s)", specific ? reason : "no exit code is known");
		return;
	}
	rh_str_appendf(out, "exited with code %" PRId32, exit_code);
	if (number)
		rh_str_appendf(out, " (SIG%s%s%s)", sigabbrev_np(number), specific ? ", " : "", specific ? reason : "");
	else if (specific)
		rh_str_appendf(out, " (%s)", reason);
}

bool rh_exit_retryable(int32_t exit_code)
{
	return exit_code < 0 || exit_code >= 128;
}
