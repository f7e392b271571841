/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check/verdicts.h"

#include "conformance/check/texts.h"

/** Pairs that cannot both hold. FAILED beside SUCCEEDED is allowed: then the job succeeded. */
static const struct {
	int32_t one;
	int32_t other;
	const char *what;
} verdicts_pairs[] = {
	{RH_VERDICT_RUNNING, RH_VERDICT_RESTARTING, "RUNNING and RESTARTING"},
	{RH_VERDICT_SUCCEEDED, RH_VERDICT_RESTARTING, "SUCCEEDED and RESTARTING"},
};

static bool verdicts_have(const struct rh_judgement *judgement, int32_t verdict)
{
	for (size_t i = 0; i < judgement->count; i++) {
		if (judgement->items[i].verdict == verdict)
			return true;
	}
	return false;
}

/** A restart without a token of a job that has ended would be carried out again and again. */
static void verdicts_check_restarts(struct rh_board *board, const struct rh_judgement *judgement, bool ended)
{
	for (size_t i = 0; i < judgement->restart_count; i++) {
		if (judgement->restarts[i].message)
			rh_check_text(board, "the message of a restart", judgement->restarts[i].message);
		if (ended && !judgement->restarts[i].token && !verdicts_have(judgement, RH_VERDICT_SUCCEEDED) &&
		    !verdicts_have(judgement, RH_VERDICT_FAILED))
			rh_board_add(board, RH_CHECK_VERDICTS,
			             "every replica succeeded, and judge() restarts them without a token: the job never ends");
	}
}

void rh_check_verdicts(struct rh_board *board, const struct rh_job *job, const struct rh_judgement *judgement,
                       bool ended)
{
	for (size_t i = 0; i < sizeof(verdicts_pairs) / sizeof(verdicts_pairs[0]); i++) {
		if (verdicts_have(judgement, verdicts_pairs[i].one) && verdicts_have(judgement, verdicts_pairs[i].other))
			rh_board_add(board, RH_CHECK_VERDICTS, "judge() gives %s in one call", verdicts_pairs[i].what);
	}
	for (size_t i = 0; i < judgement->count; i++) {
		const char *type = judgement->items[i].type;

		rh_check_text(board, "the message of a verdict", judgement->items[i].message);
		if (type && !rh_job_spec(job, type))
			rh_board_add(board, RH_CHECK_VERDICTS,
			             "a verdict names the replica type \"%.60s\", which the job does not have", type);
	}
	verdicts_check_restarts(board, judgement, ended);
	if (ended && !verdicts_have(judgement, RH_VERDICT_SUCCEEDED) && !verdicts_have(judgement, RH_VERDICT_FAILED))
		rh_board_warn(board, RH_CHECK_VERDICTS,
		              "every replica succeeded, and judge() gives neither SUCCEEDED nor FAILED: the job never ends");
}
