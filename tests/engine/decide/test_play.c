/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays plans in a small world in which pods live and die by chance, users delete, scale and suspend, and the carrier
 * of the plans is killed between any two writes. Whatever happens: everything comes to rest, every restart is counted
 * exactly once, what succeeded is not run again, the end is the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/os/random.h"
#include "engine/decide/worlds.h"
#include "job/values/names.h"

/* Most passes until nothing is to do. */
#define PLAY_PASSES 60
#define PLAY_EVENTS 40
/* Sanitizers take ten times as long: fewer games. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLAY_GAMES 15
#else
#define PLAY_GAMES 150
#endif

/* One game. */
struct play {
	struct worlds *worlds;
	const char *base; /* words of the job without Worker and suspend */
	uint64_t random;
	int64_t expected; /* restarts that there were */
	int64_t limit;    /* backoffLimit; -1 is none */
	int workers;
	int uids;
	bool suspended;
	bool ended;
	char log[64 * 1024]; /* what happened, for the message of a failure */
};

static uint32_t play_chance(struct play *play, uint32_t sides)
{
	return (uint32_t)rh_random_below(&play->random, sides);
}

__attribute__((format(printf, 2, 3))) static void play_log(struct play *play, const char *fmt, ...)
{
	size_t length = strlen(play->log);
	va_list args;

	va_start(args, fmt);
	vsnprintf(play->log + length, sizeof(play->log) - length, fmt, args);
	va_end(args);
}

static void play_require(struct play *play, bool condition, const char *what)
{
	if (condition)
		return;
	/* cmocka cuts messages to a kilobyte; the last events are what one wants to see. */
	fputs(play->log, stderr);
	fail_msg("%s", what);
}

static void play_edit(struct play *play)
{
	char words[256];

	snprintf(words, sizeof(words), "%s Worker=OnFailure*%d%s", play->base, play->workers,
	         play->suspended ? " suspend" : "");
	worlds_edit(play->worlds, words);
}

static bool play_stopping(const struct play *play)
{
	return play->worlds->ledger.stopping;
}

static const struct rh_job_status *play_status(const struct play *play)
{
	return &play->worlds->job->status;
}

/* Whether the end of a running pod is a restart that has to be counted. */
static bool play_counts(const struct play *play)
{
	return !rh_job_status_finished(play_status(play)) && !rh_job_status_is(play_status(play), RH_CONDITION_SUSPENDED) &&
	       !play_stopping(play) && !play->suspended;
}

/* As it would come back from a store: through its annotation. */
static void play_write_ledger(struct play *play, const struct rh_ledger *ledger)
{
	struct worlds *worlds = play->worlds;
	rh_auto_free char *text = rh_ledger_text(ledger, worlds->job);
	struct rh_json *annotations = rh_json_at(worlds->job->object, "metadata.annotations");

	assert_non_null(text);
	assert_int_equal(rh_json_set_string(annotations, RH_ANNOTATION_LEDGER, text), 0);
	rh_ledger_deinit(&worlds->ledger);
	assert_int_equal(rh_ledger_read(worlds->job, &worlds->ledger), 0);
	play_require(play, rh_ledger_equal(&worlds->ledger, ledger), "the ledger does not survive its text");
}

static void play_write_status(struct play *play, const struct rh_job_status *status)
{
	struct rh_job_status *own = &play->worlds->job->status;
	rh_auto(json) json = rh_job_status_json(status);

	play_require(play, !rh_job_status_is(own, RH_CONDITION_FAILED) || rh_job_status_is(status, RH_CONDITION_FAILED),
	             "a failed job came back");
	play_require(play,
	             !rh_job_status_is(own, RH_CONDITION_SUCCEEDED) || rh_job_status_is(status, RH_CONDITION_SUCCEEDED),
	             "a succeeded job came back");
	assert_non_null(json);
	rh_job_status_deinit(own);
	assert_int_equal(rh_job_status_parse(json, own), 0);
}

static void play_create_pod(struct play *play, const struct rh_action *action)
{
	struct worlds *worlds = play->worlds;
	char name[RH_NAME_SIZE], uid[32];

	play_require(play, !worlds_pod(worlds, action->name + strlen("j-")), "a second pod for one index");
	play_require(play, !rh_ledger_succeeded(&worlds->ledger, action->type, action->index), "what succeeded runs again");
	play_require(play, !rh_job_status_finished(play_status(play)), "a finished job makes a pod");
	for (size_t i = 0; i < worlds->pod_count; i++)
		play_require(play, worlds->pods[i]->attempt == worlds->ledger.attempt, "two attempts at once");
	snprintf(uid, sizeof(uid), "p%d", play->uids++);
	worlds_add_pod(worlds, action->type, action->index, uid)->attempt = worlds->ledger.attempt;
	assert_string_equal(action->name, rh_name_replica("j", action->type, action->index, name));
}

static void play_act(struct play *play, const struct rh_action *action)
{
	struct worlds *worlds = play->worlds;

	play_log(play, "    act %d %s\n", action->verb, action->name);
	if (action->verb == RH_CREATE_POD)
		play_create_pod(play, action);
	else if (action->verb == RH_CREATE_SERVICE)
		worlds_add_service(worlds, action->type, action->index);
	else if (action->verb == RH_DELETE_SERVICE)
		worlds_remove_child(worlds, action->uid);
	for (size_t i = 0; action->verb == RH_DELETE_POD && i < worlds->pod_count; i++) {
		struct rh_pod *pod = worlds->pods[i];

		if (strcmp(pod->uid, action->uid) != 0)
			continue;
		pod->deleting = true;
		pod->deleted_at = worlds->now + 30 * RH_SECOND;
	}
}

/* One pass. The carrier may be killed after any of its writes. @return whether there was nothing to do */
static bool play_pass(struct play *play)
{
	uint32_t lives = play_chance(play, 3) ? UINT32_MAX : play_chance(play, 8);
	rh_auto_plan plan = {0};
	rh_auto_str text = {0};

	worlds_decide(play->worlds, &plan);
	rh_plan_print(&plan, &text);
	play_log(play, "  pass, killed after %d\n%s", (int)lives, rh_str_text(&text));
	if (rh_plan_is_empty(&plan))
		return true;
	if (plan.write_ledger && lives > 0) {
		play_write_ledger(play, &plan.ledger);
		lives--;
	}
	for (size_t i = 0; i < plan.action_count && lives > 0; i++, lives--)
		play_act(play, &plan.actions[i]);
	if (plan.write_status && lives > 0)
		play_write_status(play, &plan.status);
	return false;
}

/* Pods that we delete go; a pod that runs may end first, as one does that gets a signal. */
static bool play_reap(struct play *play)
{
	struct worlds *worlds = play->worlds;

	for (size_t i = 0; i < worlds->pod_count; i++) {
		struct rh_pod *pod = worlds->pods[i];

		if (!pod->deleting || play_chance(play, 2))
			continue;
		if (pod->phase == RH_PHASE_RUNNING && play_chance(play, 2)) {
			pod->phase = RH_PHASE_FAILED;
			pod->exit_code = pod->failed_code = 143;
			pod->finished_at = worlds->now;
			play_log(play, "  %s ends\n", pod->name);
			return true;
		}
		play_log(play, "  %s is gone\n", pod->name);
		worlds_remove_pod(worlds, pod->uid);
		return true;
	}
	return false;
}

static bool play_has_deleting(const struct play *play)
{
	for (size_t i = 0; i < play->worlds->pod_count; i++) {
		if (play->worlds->pods[i]->deleting)
			return true;
	}
	return false;
}

static void play_check_rest(struct play *play)
{
	const struct rh_ledger *ledger = &play->worlds->ledger;
	int64_t counted = rh_ledger_restarts(ledger) - rh_ledger_restarts_of(ledger, RH_CAUSE_IN_PLACE);

	if (rh_job_status_finished(play_status(play))) {
		play->ended = true;
		play_require(play,
		             play->limit < 0 || play->expected <= play->limit || ledger->end == RH_END_BACKOFF ||
		                 rh_job_status_is(play_status(play), RH_CONDITION_SUCCEEDED),
		             "it failed for another reason than the limit");
		return;
	}
	play_log(play, "  at rest: %d restarts, counted %d\n", (int)play->expected, (int)counted);
	play_require(play, counted == play->expected, "restarts were not counted exactly once");
	play_require(play, play->limit < 0 || play->expected <= play->limit, "it goes on beyond the limit");
}

static void play_user_event(struct play *play)
{
	if (play_chance(play, 2))
		play->suspended = !play->suspended;
	else
		play->workers = 1 + (int)play_chance(play, 3);
	play_log(play, "the user wants %d workers%s\n", play->workers, play->suspended ? ", suspended" : "");
	play_edit(play);
}

/* Passes until nothing is to do and nothing is being deleted. A user who is at it may change his mind meanwhile. */
static void play_settle(struct play *play, bool edited)
{
	for (int i = 0; i < PLAY_PASSES; i++) {
		bool quiet = play_pass(play);

		if (edited && i < PLAY_PASSES / 3 && play_chance(play, 3) == 0) {
			play_user_event(play);
			quiet = false;
		}
		if (quiet && !play_has_deleting(play)) {
			play_check_rest(play);
			return;
		}
		if (quiet || play_chance(play, 3) == 0)
			play_reap(play);
	}
	play_require(play, false, "it does not come to rest");
}

/* A pod that runs ends by itself. */
static void play_end_pod(struct play *play, struct rh_pod *pod)
{
	bool well = play_chance(play, 4) == 0;

	play_log(play, "%s exits %s\n", pod->name, well ? "well" : "badly");
	if (!well && play_counts(play))
		play->expected++;
	pod->phase = well ? RH_PHASE_SUCCEEDED : RH_PHASE_FAILED;
	pod->exit_code = pod->failed_code = well ? 0 : 1;
	pod->finished_at = play->worlds->now;
}

static void play_delete_pod(struct play *play, struct rh_pod *pod)
{
	play_log(play, "%s is deleted by a user\n", pod->name);
	if (pod->phase == RH_PHASE_RUNNING && play_counts(play))
		play->expected++;
	pod->deleting = true;
	pod->deleted_at = play->worlds->now + 30 * RH_SECOND;
}

static void play_pod_event(struct play *play)
{
	struct worlds *worlds = play->worlds;
	struct rh_pod *pod;

	if (worlds->pod_count == 0)
		return;
	pod = worlds->pods[play_chance(play, (uint32_t)worlds->pod_count)];
	if (pod->phase == RH_PHASE_PENDING)
		pod->phase = RH_PHASE_RUNNING;
	else if (play_chance(play, 3) == 0)
		play_delete_pod(play, pod);
	else if (pod->phase == RH_PHASE_RUNNING && play_chance(play, 2) == 0)
		play_end_pod(play, pod);
}

static void play_game(const char *base, int64_t limit, uint64_t seed)
{
	struct play play = {.base = base, .random = seed, .limit = limit, .workers = 2};
	rh_auto_free char *words = rh_asprintf("%s Worker=OnFailure*2", base);

	play.worlds = worlds_new(words, "");
	play_settle(&play, false);
	for (int i = 0; i < PLAY_EVENTS && !play.ended; i++) {
		bool edit = play_chance(&play, 8) == 0;

		if (edit)
			play_user_event(&play);
		else
			play_pod_event(&play);
		play.worlds->now += (int64_t)play_chance(&play, 3) * RH_SECOND;
		play_settle(&play, edit);
	}
	worlds_free(play.worlds);
}

static void test_play__scope_replica(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= PLAY_GAMES; seed++)
		play_game("Master=OnFailure", -1, seed);
}

static void test_play__scope_job(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= PLAY_GAMES; seed++)
		play_game("Master=OnFailure scope=job", -1, seed);
}

static void test_play__limit(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= PLAY_GAMES; seed++) {
		play_game("Master=OnFailure backoff=2 clean=All", 2, seed);
		play_game("Master=OnFailure backoff=2 clean=Running scope=job", 2, seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_play__scope_replica),
		cmocka_unit_test(test_play__scope_job),
		cmocka_unit_test(test_play__limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
