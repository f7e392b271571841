/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/child/call.h"

#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "job/expansion.h"

/** Bytes of each answer that a difference shows. */
#define CALL_SHOWN 90

static void call_write_findings(const struct rh_findings *findings, struct rh_str *out)
{
	for (size_t i = 0; i < findings->count; i++)
		rh_str_appendf(out, "%d %s: %s\n", (int)findings->items[i].severity, findings->items[i].path,
		               findings->items[i].detail);
}

static const char *call_text(const char *text)
{
	return text ? text : "-";
}

static void call_write_judgement(const struct rh_judgement *judgement, struct rh_str *out)
{
	for (size_t i = 0; i < judgement->count; i++)
		rh_str_appendf(out, "verdict %d %s: %s\n", (int)judgement->items[i].verdict,
		               call_text(judgement->items[i].type), judgement->items[i].message);
}

static void call_write_holds(const struct rh_judgement *judgement, struct rh_str *out)
{
	for (size_t i = 0; i < judgement->hold_count; i++)
		rh_str_appendf(out, "hold %s %d\n", judgement->holds[i].type, (int)judgement->holds[i].index);
}

static void call_write_restarts(const struct rh_judgement *judgement, struct rh_str *out)
{
	for (size_t i = 0; i < judgement->restart_count; i++) {
		const struct rh_restart *restart = &judgement->restarts[i];

		rh_str_appendf(out, "restart %s %d %u %s: %s\n", call_text(restart->type), (int)restart->index,
		               (unsigned)restart->flags, call_text(restart->token), call_text(restart->message));
	}
}

static void call_write_status(const struct rh_judgement *judgement, struct rh_str *out)
{
	if (!judgement->status)
		return;
	rh_str_append(out, "status ");
	rh_json_print(judgement->status, false, out);
	rh_str_append(out, "\n");
}

static char *call_write(const struct rh_answer *answer)
{
	rh_auto_str out = {0};

	if (answer->result < 0)
		rh_str_appendf(&out, "error %d: %s\n", answer->result, answer->error.message);
	call_write_findings(&answer->findings, &out);
	call_write_judgement(&answer->judgement, &out);
	call_write_holds(&answer->judgement, &out);
	call_write_restarts(&answer->judgement, &out);
	call_write_status(&answer->judgement, &out);
	if (answer->json && answer->result == 0)
		rh_json_print(answer->json, false, &out);
	return rh_str_take(&out);
}

/** The text that the plugin gave, or its refusals, are the answer. */
static int call_expand(const struct rh_call *call, struct rh_answer *answer)
{
	const struct rh_findings *refusals;
	int r = rh_host_expand(call->snapshot, call->job, &answer->error);

	if (r < 0)
		return r;
	refusals = call->job->refusals;
	for (size_t i = 0; refusals && i < refusals->count && r == 0; i++)
		r = rh_findings_add(&answer->findings, refusals->items[i].severity, refusals->items[i].path, "%s",
		                    refusals->items[i].detail);
	if (r == 0 && call->job->expansion) {
		answer->json = rh_json_new_string(rh_expansion_text(call->job->expansion));
		r = answer->json ? 0 : RH_ENOMEM;
	}
	return r;
}

static void call_do(const struct rh_call *call, struct rh_answer *answer)
{
	switch (call->stage) {
	case RH_STAGE_VALIDATE:
		answer->result = rh_host_validate(call->snapshot, &answer->findings, &answer->error);
		break;
	case RH_STAGE_POD:
		answer->json = rh_json_copy(call->before);
		answer->result = answer->json
		                     ? rh_host_pod(call->snapshot, call->type, call->index, answer->json, &answer->error)
		                     : RH_ENOMEM;
		break;
	case RH_STAGE_OBJECTS:
		answer->result = rh_host_objects(call->snapshot, &answer->json, &answer->error);
		break;
	case RH_STAGE_JUDGE:
		answer->result = rh_host_judge(call->snapshot, &answer->judgement, &answer->error);
		break;
	case RH_STAGE_EXPAND:
		answer->result = call_expand(call, answer);
		break;
	case RH_STAGE_LOAD:
	case RH_STAGE_FINI:
	case RH_STAGE_COUNT:
		break;
	}
}

static void call_once(const struct rh_call *call, struct rh_answer *answer)
{
	struct rh_board *board = call->board;

	atomic_store(&board->began, rh_clock_monotonic());
	call_do(call, answer);
	atomic_store(&board->began, 0);
	board->calls++;
	answer->text = call_write(answer);
}

void rh_answer_deinit(struct rh_answer *answer)
{
	rh_findings_deinit(&answer->findings);
	rh_json_free(answer->json);
	rh_judgement_deinit(&answer->judgement);
	rh_free(answer->text);
	*answer = (struct rh_answer){0};
}

/** Show the first difference of two texts. */
static void call_report_difference(struct rh_board *board, const char *one, const char *other)
{
	size_t at = 0, from;
	rh_auto_str first = {0}, second = {0};

	while (one[at] && one[at] == other[at])
		at++;
	from = at > CALL_SHOWN / 3 ? at - CALL_SHOWN / 3 : 0;
	rh_str_append_line(&first, one + from, strlen(one + from), CALL_SHOWN);
	rh_str_append_line(&second, other + from, strlen(other + from), CALL_SHOWN);
	rh_board_add(board, RH_CHECK_PURITY, "two calls with the same view differ:\nfirst:  %s\nsecond: %s",
	             rh_str_text(&first), rh_str_text(&second));
}

/** @return the check that an answer fails by what its error is about; RH_CHECK_COUNT: by none of its own */
static enum rh_check call_check_of(const struct rh_call *call, enum rh_error_topic topic)
{
	switch (topic) {
	case RH_ERROR_CORE_FIELD:
		return RH_CHECK_CORE;
	case RH_ERROR_UTF8:
		return RH_CHECK_TEXTS;
	case RH_ERROR_IDENTITY:
		return RH_CHECK_OBJECTS;
	case RH_ERROR_ENV_SIZE:
		return call->small ? RH_CHECK_ENV : RH_CHECK_COUNT;
	case RH_ERROR_OTHER:
	case RH_ERROR_DEFINITION:
		break;
	}
	return RH_CHECK_COUNT;
}

/** The host did not take an answer about a job that validate() accepts. */
static void call_report_error(const struct rh_call *call, const struct rh_answer *answer)
{
	/* every finding has the names of job, plugin and operation already */
	const char *message = rh_error_reason(&answer->error);
	enum rh_check check = call_check_of(call, answer->error.topic);
	struct rh_board *board = call->board;

	if (answer->result == RH_ENOMEM)
		rh_board_add(board, RH_CHECK_MEMORY, "it runs out of memory: %s", message);
	else if (check != RH_CHECK_COUNT)
		rh_board_add(board, check, "%s", message);
	else if (answer->result == RH_EPLUGIN && call->small)
		rh_board_add(board, RH_CHECK_ANSWERS, "%s", message);
	else if (call->small)
		rh_board_warn(board, RH_CHECK_ANSWERS, "validate() accepts a job for which it fails later: %s", message);
}

static void call_place(const struct rh_call *call)
{
	static const char *const names[RH_STAGE_COUNT] = {"load",    "validate()", "pod()", "objects()",
	                                                  "judge()", "expand()",   "fini()"};
	struct rh_board *board = call->board;

	board->stage = (uint32_t)call->stage;
	if (call->type)
		snprintf(board->where, sizeof(board->where), "%s of %.40s %d: %.120s%.40s", names[call->stage], call->type,
		         (int)call->index, call->label, call->state);
	else
		snprintf(board->where, sizeof(board->where), "%s: %.140s%.40s", names[call->stage], call->label, call->state);
}

void rh_call(const struct rh_call *call, struct rh_answer *ret_answer)
{
	struct rh_answer again = {0};

	*ret_answer = (struct rh_answer){0};
	if (call->board->skip & (UINT32_C(1) << call->stage))
		return;
	call_place(call);
	call_once(call, ret_answer);
	call_once(call, &again);
	if (ret_answer->text && again.text && strcmp(ret_answer->text, again.text) != 0)
		call_report_difference(call->board, ret_answer->text, again.text);
	else if (ret_answer->result < 0 && call->valid)
		call_report_error(call, ret_answer);
	rh_answer_deinit(&again);
}
