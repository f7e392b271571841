/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/child/leak.h"

#include <malloc.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "conformance/child/call.h"
#include "conformance/jobs/replicas.h"
#include "job/expansion.h"
#include "job/kind.h"

/** Calls of one round; rh_call() makes two. */
#define LEAK_CALLS 25
/** Rounds. The first fills caches of the C library. */
#define LEAK_ROUNDS 4

static size_t leak_heap(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/** Call an operation many times. @return bytes by which the heap grew in the round in which it grew least; 0: none */
static size_t leak_measure(const struct rh_call *call)
{
	size_t before = 0, least = SIZE_MAX;

	for (int round = 0; round < LEAK_ROUNDS; round++) {
		size_t now;

		for (int i = 0; i < LEAK_CALLS; i++) {
			struct rh_answer answer;

			rh_call(call, &answer);
			rh_answer_deinit(&answer);
		}
		now = leak_heap();
		if (round > 0 && now - before < least)
			least = now > before ? now - before : 0;
		if (round > 0 && now <= before)
			return 0;
		before = now;
	}
	return least;
}

static void leak_operation(struct rh_call *call, enum rh_stage stage)
{
	size_t grown;

	call->stage = stage;
	grown = leak_measure(call);
	if (grown >= (size_t)LEAK_CALLS * 16)
		rh_board_add(call->board, RH_CHECK_LEAK, "it keeps about %zu bytes in each call", grown / (2 * LEAK_CALLS));
}

static int leak_job(struct rh_board *board, const struct rh_host *host, const struct rh_case *item)
{
	rh_auto(job) job = NULL;
	rh_auto(json) before = NULL;
	struct rh_replicas replicas = {0};
	struct rh_snapshot snapshot = {.host = host};
	struct rh_call call = {.board = board, .snapshot = &snapshot, .label = item->label, .state = "", .small = true};
	struct rh_json *copy = rh_json_copy(item->object);
	int r = copy ? rh_host_parse(host, copy, &job, NULL) : RH_ENOMEM;

	if (r < 0)
		return r == RH_ENOMEM ? r : 0;
	snapshot.job = job;
	call.job = job;
	if (rh_kind_expands(job->kind))
		leak_operation(&call, RH_STAGE_EXPAND);
	if (!rh_job_is_expanded(job))
		return 0; /* what it names is not at hand, or the plugin refuses it */
	leak_operation(&call, RH_STAGE_VALIDATE);
	leak_operation(&call, RH_STAGE_OBJECTS);
	r = rh_replicas_make(&replicas, job, 1);
	if (r < 0)
		return r;
	snapshot.counts = replicas.counts;
	snapshot.pods = replicas.pods;
	snapshot.offsets = replicas.offsets;
	leak_operation(&call, RH_STAGE_JUDGE);
	rh_replicas_free(&replicas);
	snapshot.counts = NULL;
	snapshot.pods = NULL;
	snapshot.offsets = NULL;
	if (job->spec_count == 0 || job->specs[0].replicas == 0)
		return 0;
	before = rh_replicas_pod(job, &job->specs[0], 0);
	call.type = job->specs[0].type;
	call.before = before;
	if (before)
		leak_operation(&call, RH_STAGE_POD);
	return before ? 0 : RH_ENOMEM;
}

int rh_leak_check(struct rh_board *board, const struct rh_host *host, const struct rh_kind *kind,
                  const struct rh_cases *cases)
{
	int r = 0;

	for (size_t i = 0; i < cases->count && r == 0; i++) {
		if (cases->items[i].kind == kind && cases->items[i].leak_check)
			r = leak_job(board, host, &cases->items[i]);
	}
	return r;
}
