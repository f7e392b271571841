/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/answers.h"

#include <string.h>

#include "base/mem.h"

/** What one request came to. */
struct answers_item {
	struct answers_item *next;
	uint64_t key;
	int status;
	struct rh_error *error; /* of a status that is not 0; owned; NULL: memory was out */
	struct rh_str answer;
};

struct rh_answers {
	rh_answers_ready_fn *ready;
	void *arg;
	struct answers_item *items;    /* the newest first */
	struct rh_worker_turns *turns; /* where it asks or waits; NULL: nowhere */
	struct rh_answers *next;       /* in turns->first */
	bool called;                   /* it was the first of those that wait */
};

static void answers_free_items(struct answers_item *item)
{
	while (item) {
		struct answers_item *next = item->next;

		rh_free(item->error);
		if (item->answer.data)
			explicit_bzero(item->answer.data, item->answer.length); /* that of make() has keys */
		rh_str_deinit(&item->answer);
		rh_free(item);
		item = next;
	}
}

/** Ask and wait nowhere. */
static void answers_leave(struct rh_answers *answers)
{
	struct rh_worker_turns *turns = rh_take(answers->turns);

	if (!turns)
		return;
	if (turns->asker == answers)
		turns->asker = NULL;
	for (struct rh_answers **at = &turns->first; *at; at = &(*at)->next) {
		if (*at != answers)
			continue;
		*at = answers->next;
		break;
	}
	answers->next = NULL;
}

struct rh_answers *rh_answers_new(rh_answers_ready_fn *ready, void *arg)
{
	struct rh_answers *answers = rh_alloc(sizeof(*answers));

	if (answers) {
		answers->ready = ready;
		answers->arg = arg;
	}
	return answers;
}

void rh_answers_clear(struct rh_answers *answers)
{
	if (!answers)
		return;
	answers_leave(answers);
	answers->called = false;
	answers_free_items(rh_take(answers->items));
}

void rh_answers_free(struct rh_answers *answers)
{
	rh_answers_clear(answers);
	rh_free(answers);
}

bool rh_answers_are_awaited(const struct rh_answers *answers)
{
	return answers && answers->turns;
}

/** A failure counts once: who tries again asks again. */
static int answers_fail(struct answers_item *item, struct rh_error *err)
{
	int status = item->status;

	if (err && item->error)
		*err = *item->error;
	item->next = NULL;
	answers_free_items(item);
	return status;
}

int rh_answers_take(struct rh_answers *answers, uint64_t key, struct rh_str *answer, struct rh_error *err)
{
	struct answers_item **at = &answers->items;
	struct answers_item *item;

	while ((item = *at) && item->key != key)
		at = &item->next;
	if (!item)
		return 1;
	if (item->status < 0) {
		*at = item->next;
		return answers_fail(item, err);
	}
	rh_str_clear(answer);
	rh_str_append_bytes(answer, item->answer.data, item->answer.length);
	return answer->failed ? rh_fail_oom(err) : 0;
}

void rh_worker_turns_ask(struct rh_worker_turns *turns, struct rh_answers *answers)
{
	answers_leave(answers);
	if (turns->asker)
		answers_leave(turns->asker);
	answers->called = false;
	answers->turns = turns;
	turns->asker = answers;
}

void rh_worker_turns_wait(struct rh_worker_turns *turns, struct rh_answers *answers)
{
	struct rh_answers **at = &turns->first;

	if (answers->turns == turns)
		return;
	answers_leave(answers);
	while (*at && !answers->called)
		at = &(*at)->next;
	answers->called = false;
	answers->next = *at;
	answers->turns = turns;
	*at = answers;
}

/** Forget the oldest answers. */
static void answers_trim(struct rh_answers *answers)
{
	struct answers_item **at = &answers->items;

	for (int i = 0; *at && i < RH_ANSWERS_MAX; i++)
		at = &(*at)->next;
	answers_free_items(rh_take(*at));
}

/** Without memory the answer is lost, and the repeated pass asks again. */
static void answers_keep(struct rh_answers *answers, uint64_t key, int status, const struct rh_error *err,
                         struct rh_str *answer)
{
	struct answers_item *item = rh_alloc(sizeof(*item));

	if (!item)
		return;
	*item = (struct answers_item){.next = answers->items, .key = key, .status = status, .answer = *answer};
	*answer = (struct rh_str){0};
	if (status < 0 && (item->error = rh_alloc(sizeof(*item->error))))
		*item->error = *err;
	answers->items = item;
	answers_trim(answers);
}

void rh_worker_turns_answer(struct rh_worker_turns *turns, uint64_t key, int status, const struct rh_error *err,
                            struct rh_str *answer)
{
	if (turns->asker)
		answers_keep(turns->asker, key, status, err, answer);
	rh_str_deinit(answer);
	rh_worker_turns_recall(turns);
}

void rh_worker_turns_recall(struct rh_worker_turns *turns)
{
	struct rh_answers *asker = turns->asker;

	if (!asker)
		return;
	answers_leave(asker);
	asker->ready(asker->arg);
}

void rh_worker_turns_call(struct rh_worker_turns *turns)
{
	struct rh_answers *first = turns->first;

	if (!first)
		return;
	answers_leave(first);
	first->called = true;
	first->ready(first->arg);
}

void rh_worker_turns_deinit(struct rh_worker_turns *turns)
{
	if (turns->asker)
		answers_leave(turns->asker);
	while (turns->first)
		answers_leave(turns->first);
}
