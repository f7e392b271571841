/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/parts.h"

void rh_run_note(const struct rh_run *run, const char *text)
{
	if (run->options->hooks.note)
		run->options->hooks.note(run->options->hooks.arg, text);
}
