/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/parts.h"

void rh_run_note(const struct rh_run *run, const char *text)
{
	if (run->options->hooks.note)
		run->options->hooks.note(run->options->hooks.arg, text);
}

const char *rh_run_result_name(int result)
{
	if (result == RH_RUN_SUCCEEDED)
		return "Succeeded";
	if (result == RH_RUN_TIMED_OUT)
		return "TimedOut";
	return result == RH_RUN_INTERRUPTED ? "Interrupted" : "Failed";
}
