/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates and an API server in virtual time, with answers that are refused, fail, are late or lost, and rights
 * that are taken away and given back: never do two work at one time, and somebody works again soon.
 */
#include <stdio.h>

#include "base/os/clock.h"
#include "base/os/random.h"
#include "base/support.h"
#include "kube/lease/lease.h"

/* The wall clock of these tests; the rules must not depend on it. */
#define WALL (INT64_C(1760000000) * RH_SECOND)
#define CANDIDATES 3
/* Sequences of each test by chance; a sanitizer makes each ten times slower. */
#ifndef SEEDS
#define SEEDS 500
#define STRIDE 1 /* of the requests that get a fault in turn */
#endif
/* How long a way takes, there or back. */
#define WAY (RH_SECOND / 50)
/* How long nobody may work: a whole lease after a fence, one answer that was lost, and who died comes back. */
#define GAP_MAX (60 * RH_SECOND)

enum fault_kind {
	FAULT_NONE,
	FAULT_STATUS,
	FAULT_STATUS_DONE,
	FAULT_LOST,
	FAULT_LOST_DONE,
	FAULT_LATE,
	FAULT_LATE_DONE
};

/* What happens to a request. */
struct fault {
	const char *name;
	enum fault_kind kind;
	int32_t status; /* of the answer */
	int64_t delay;  /* how late it comes to the server, or its answer back */
};

static const struct fault faults[] = {
	{"403", FAULT_STATUS, 403, 0},
	{"429", FAULT_STATUS, 429, 0},
	{"500", FAULT_STATUS, 500, 0},
	{"500, done", FAULT_STATUS_DONE, 500, 0},
	{"lost", FAULT_LOST, 0, 5 * RH_SECOND},
	{"lost, done", FAULT_LOST_DONE, 0, 5 * RH_SECOND},
	{"cut", FAULT_LOST, 0, 0},
	{"cut, done", FAULT_LOST_DONE, 0, 0},
	{"late by 1 s", FAULT_LATE, 0, 1 * RH_SECOND},
	{"answer late by 1 s", FAULT_LATE_DONE, 0, 1 * RH_SECOND},
	{"late by 6 s", FAULT_LATE, 0, 6 * RH_SECOND},
	{"answer late by 6 s", FAULT_LATE_DONE, 0, 6 * RH_SECOND},
	{"late by 11 s", FAULT_LATE, 0, 11 * RH_SECOND},
	{"answer late by 11 s", FAULT_LATE_DONE, 0, 11 * RH_SECOND},
	{"late by 16 s", FAULT_LATE, 0, 16 * RH_SECOND},
	{"answer late by 16 s", FAULT_LATE_DONE, 0, 16 * RH_SECOND},
};
#define FAULTS (sizeof(faults) / sizeof(faults[0]))
/* The first of them for which the time limit of a request matters. */
#define LATE_FIRST 8

/* A request on its way. */
struct letter {
	bool out;        /* it was sent, and not answered yet */
	bool served;     /* the server has done what it is to do */
	bool doomed;     /* it never comes to the server */
	int64_t arrives; /* at the server */
	int64_t returns; /* at the candidate; not before it was served, unless it never is */
	int64_t limit;   /* when the candidate waits no longer */
	const struct fault *fault;
	char method[8];
	char *body;
	int32_t status;
	char *answer;
};

struct candidate {
	struct rh_lease *lease; /* NULL: it is not there */
	int64_t starts;         /* when it is to be there, if not */
	struct letter letter;
	struct letter stray; /* one of an earlier life, or given up, that may still come to the server */
	bool ends;           /* it works no longer, and gives the Lease up */
};

/* A play: what happens, and what became of it. */
struct play {
	int64_t now;
	char *stored; /* the Lease; NULL: none */
	int version;
	int names;
	int requests; /* sent so far, which gives each its number */
	struct candidate candidates[CANDIDATES];
	/* what happens */
	int faulty; /* number of the request to which the fault happens; -1: none */
	const struct fault *fault;
	uint64_t random; /* 0: nothing is left to chance */
	uint64_t seed;   /* what random was in the beginning */
	bool patient;    /* requests have no time limit */
	int64_t refused_from, refused_until;
	/* what became of it */
	int64_t judged;     /* when that was looked at last */
	bool works;         /* somebody did then */
	int64_t idle_since; /* since when nobody does, if nobody does */
	int64_t idle_most;
	int64_t worked; /* how long somebody did */
	const char *row;
};

static uint64_t play_roll(struct play *play, uint64_t sides)
{
	return rh_random_below(&play->random, sides);
}

static void letter_drop(struct letter *letter)
{
	rh_free(letter->body);
	rh_free(letter->answer);
	*letter = (struct letter){0};
}

static void candidate_start(struct play *play, struct candidate *candidate)
{
	rh_auto_free char *identity = rh_asprintf("candidate-%d", ++play->names);
	struct rh_lease_options options = {
		.namespace_ = "ns", .name = "lead", .identity = identity, .seed = (uint64_t)play->names * 7919};
	struct rh_error err = {0};

	if (rh_lease_new(&options, &candidate->lease, &err) < 0)
		fail_msg("%s", err.message);
}

/* Nobody waits for the answer any more; the request may still arrive. */
static void candidate_forget(struct candidate *candidate)
{
	letter_drop(&candidate->stray);
	if (candidate->letter.out && !candidate->letter.served && !candidate->letter.doomed) {
		candidate->stray = candidate->letter;
		candidate->stray.out = false;
	} else
		letter_drop(&candidate->letter);
	candidate->letter = (struct letter){0};
}

/* It is gone, without a word. @param starts when it comes back */
static void candidate_stop(struct candidate *candidate, int64_t starts)
{
	rh_lease_free(rh_take(candidate->lease));
	candidate->ends = false;
	candidate->starts = starts;
	candidate_forget(candidate);
}

/* What an API server does. @return the status */
static int32_t play_serve(struct play *play, const struct letter *letter)
{
	rh_auto(json) sent = letter->body ? support_json(letter->body) : NULL;
	rh_auto(json) stored = play->stored ? support_json(play->stored) : NULL;
	rh_auto_free char *version = NULL;

	if (play->now >= play->refused_from && play->now < play->refused_until)
		return 403;
	if (strcmp(letter->method, "GET") == 0)
		return play->stored ? 200 : 404;
	if (strcmp(letter->method, "POST") == 0 && play->stored)
		return 409;
	if (strcmp(letter->method, "PUT") == 0 &&
	    !rh_json_equal(rh_json_at(sent, "metadata.resourceVersion"), rh_json_at(stored, "metadata.resourceVersion")))
		return 409;
	version = rh_asprintf("%d", ++play->version);
	assert_int_equal(rh_json_set_string(rh_json_get(sent, "metadata"), "resourceVersion", version), 0);
	rh_free(play->stored);
	play->stored = rh_json_text(sent);
	return strcmp(letter->method, "POST") == 0 ? 201 : 200;
}

/* The request comes to the server. */
static void letter_arrive(struct play *play, struct letter *letter)
{
	if (!letter->method[0] || letter->served || letter->doomed || play->now < letter->arrives)
		return;
	letter->served = true;
	letter->status = play_serve(play, letter);
	letter->answer = rh_strdup(letter->status < 300 ? play->stored : "{}");
	if (letter->fault && letter->fault->kind == FAULT_STATUS_DONE)
		letter->status = letter->fault->status;
}

static bool letter_is_lost(const struct letter *letter)
{
	return letter->fault && (letter->fault->kind == FAULT_LOST || letter->fault->kind == FAULT_LOST_DONE);
}

/* The answer comes back, or it is clear that none will. */
static void letter_return(struct play *play, struct candidate *candidate)
{
	struct letter *letter = &candidate->letter;
	bool lost = letter_is_lost(letter) || play->now >= letter->limit;
	struct rh_http_response response = {.sent = true, .message = "cut", .body = ""};

	if (!letter->out || (play->now < letter->returns && play->now < letter->limit))
		return;
	if (!lost) {
		response.status = letter->served ? letter->status : letter->fault->status;
		response.message = "";
		response.body = letter->answer ? letter->answer : "{}";
	}
	response.body_length = strlen(response.body);
	rh_lease_answer(candidate->lease, play->now, &response);
	candidate_forget(candidate);
}

static const struct fault *play_pick(struct play *play)
{
	int number = play->requests++;

	if (play->random)
		return play_roll(play, 8) ? NULL : &faults[play_roll(play, FAULTS)];
	return number == play->faulty ? play->fault : NULL;
}

static void candidate_send(struct play *play, struct candidate *candidate)
{
	const int64_t now = play->now;
	struct letter *letter = &candidate->letter;
	struct rh_http_request request;
	int64_t there = now + WAY;
	int64_t back = there + WAY;

	if (rh_lease_next(candidate->lease, now, WALL + now, &request, NULL) == 0)
		return;
	*letter = (struct letter){.out = true, .arrives = there, .returns = back, .fault = play_pick(play)};
	letter->limit = play->patient ? RH_NEVER : now + request.timeout;
	rh_copy(letter->method, sizeof(letter->method), request.method);
	letter->body = request.body ? rh_strdup(request.body) : NULL;
	if (!letter->fault)
		return;
	letter->returns += letter->fault->delay;
	if (letter->fault->kind == FAULT_LATE)
		letter->arrives += letter->fault->delay;
	letter->doomed = letter->fault->kind == FAULT_STATUS || letter->fault->kind == FAULT_LOST;
}

static bool candidate_works(const struct play *play, struct candidate *candidate)
{
	enum rh_lease_state state = candidate->lease ? rh_lease_look(candidate->lease, play->now) : RH_LEASE_RELEASED;

	return !candidate->ends && (state == RH_LEASE_LEADING || state == RH_LEASE_FORBIDDEN);
}

/* What a controller does that is to end: what it had in flight is answered. */
static void candidate_release(struct candidate *candidate)
{
	if (!candidate || !candidate->lease)
		return;
	candidate->ends = true;
	rh_lease_release(candidate->lease);
}

/* Who has lost or given up is started again, as a kubelet does. */
static void candidate_turn(struct play *play, struct candidate *candidate)
{
	letter_arrive(play, &candidate->stray);
	letter_arrive(play, &candidate->letter);
	if (!candidate->lease) {
		if (play->now < candidate->starts)
			return;
		candidate_start(play, candidate);
	}
	letter_return(play, candidate);
	if (rh_lease_look(candidate->lease, play->now) > RH_LEASE_FORBIDDEN) {
		candidate_stop(candidate, play->now + RH_SECOND);
		return;
	}
	if (!candidate->letter.out)
		candidate_send(play, candidate);
}

/* Look whether more than one works. */
static void play_judge(struct play *play)
{
	int working = 0;

	for (int i = 0; i < CANDIDATES; i++)
		working += candidate_works(play, &play->candidates[i]);
	if (working > 1)
		fail_msg("%s: %d work at %.2f s; seed %llu, request %d, fault %s", play->row, working, (double)play->now / 1e6,
		         (unsigned long long)play->seed, play->faulty, play->fault ? play->fault->name : "none");
	if (play->works)
		play->worked += play->now - play->judged;
	if (working || play->works)
		play->idle_since = play->now;
	if (play->now - play->idle_since > play->idle_most)
		play->idle_most = play->now - play->idle_since;
	play->judged = play->now;
	play->works = working > 0;
}

static int64_t letter_next(const struct letter *letter)
{
	int64_t next = RH_NEVER;

	if (letter->method[0] && !letter->served && !letter->doomed)
		next = letter->arrives;
	if (letter->out && letter->returns < next)
		next = letter->returns;
	return letter->out && letter->limit < next ? letter->limit : next;
}

/* @return when something happens next of itself */
static int64_t play_next(const struct play *play)
{
	int64_t next = RH_NEVER;

	for (int i = 0; i < CANDIDATES; i++) {
		const struct candidate *candidate = &play->candidates[i];
		const int64_t times[] = {candidate->lease ? rh_lease_deadline(candidate->lease) : candidate->starts,
		                         letter_next(&candidate->letter), letter_next(&candidate->stray)};

		for (size_t k = 0; k < sizeof(times) / sizeof(times[0]); k++)
			next = times[k] < next ? times[k] : next;
	}
	return next;
}

static void play_turn(struct play *play, void (*judge)(struct play *play))
{
	for (int i = 0; i < CANDIDATES; i++)
		candidate_turn(play, &play->candidates[i]);
	judge(play);
}

static void play_judged_until(struct play *play, int64_t end, void (*judge)(struct play *play))
{
	while (play->now < end) {
		int64_t next;

		play_turn(play, judge);
		next = play_next(play);
		if (next <= play->now)
			next = play->now + RH_SECOND / 1000;
		play->now = next < end ? next : end;
	}
	play_turn(play, judge);
}

static void play_until(struct play *play, int64_t end)
{
	play_judged_until(play, end, play_judge);
}

static void play_end(struct play *play)
{
	for (int i = 0; i < CANDIDATES; i++) {
		rh_lease_free(play->candidates[i].lease);
		letter_drop(&play->candidates[i].letter);
		letter_drop(&play->candidates[i].stray);
	}
	rh_free(play->stored);
}

static struct candidate *play_worker(struct play *play)
{
	for (int i = 0; i < CANDIDATES; i++) {
		if (candidate_works(play, &play->candidates[i]))
			return &play->candidates[i];
	}
	return NULL;
}

/* @param count how many there are; the others never come */
static struct play play_open(const char *row, int count)
{
	struct play play = {.faulty = -1, .row = row};

	for (int i = 0; i < CANDIDATES; i++)
		play.candidates[i].starts = i < count ? i * 3 * RH_SECOND : RH_NEVER;
	return play;
}

/* What happens in an election without faults of answers. */
static void script_start(struct play *play)
{
	play_until(play, 30 * RH_SECOND);
}

static void script_hand_over(struct play *play)
{
	play_until(play, 12 * RH_SECOND);
	candidate_release(play_worker(play));
	play_until(play, 40 * RH_SECOND);
}

static void script_death(struct play *play)
{
	struct candidate *worker;

	play_until(play, 12 * RH_SECOND);
	worker = play_worker(play);
	if (worker)
		candidate_stop(worker, play->now + 5 * RH_SECOND);
	play_until(play, 50 * RH_SECOND);
}

/* Only who has read the Lease can know that it is gone, and the first answer may be late. */
static void script_deleted(struct play *play)
{
	play_until(play, 25 * RH_SECOND);
	rh_free(rh_take(play->stored));
	play_until(play, 55 * RH_SECOND);
}

static void script_refused(struct play *play, int64_t seconds)
{
	play->refused_from = 12 * RH_SECOND + RH_SECOND / 3;
	play->refused_until = play->refused_from + seconds * RH_SECOND;
	play_until(play, play->refused_until + 30 * RH_SECOND);
}

static void script_refused_shortly(struct play *play)
{
	script_refused(play, 4);
}

static void script_refused_long(struct play *play)
{
	script_refused(play, 40);
}

static void script_refused_and_handed_over(struct play *play)
{
	play_until(play, 12 * RH_SECOND);
	candidate_release(play_worker(play));
	play->refused_from = play->now + RH_SECOND / 4;
	play->refused_until = play->now + 40 * RH_SECOND;
	play_until(play, play->refused_until + 30 * RH_SECOND);
}

static const struct {
	const char *name;
	void (*play)(struct play *play);
	bool refused; /* for so long that a request without a time limit could be all that somebody ever asked */
} scripts[] = {
	{"start", script_start, false},
	{"hand-over", script_hand_over, false},
	{"death", script_death, false},
	{"the Lease is deleted", script_deleted, false},
	{"refused for 4 s", script_refused_shortly, false},
	{"refused for 40 s", script_refused_long, true},
	{"handed over, and refused for 40 s", script_refused_and_handed_over, true},
};

/* @return how many requests it took */
static int play_script(size_t script, bool patient, int number, const struct fault *fault)
{
	struct play play = play_open(scripts[script].name, 2);

	play.patient = patient;
	play.faulty = number;
	play.fault = fault;
	scripts[script].play(&play);
	if (play.idle_most > GAP_MAX)
		fail_msg("%s: nobody works for %.1f s; request %d, fault %s", play.row, (double)play.idle_most / 1e6, number,
		         fault->name);
	play_end(&play);
	return play.requests;
}

/* Every script, with each fault at each of its requests. */
static void test_faults__one_fault_anywhere(void **state)
{
	(void)state;
	for (size_t script = 0; script < sizeof(scripts) / sizeof(scripts[0]); script++) {
		for (int patient = 0; patient < (scripts[script].refused ? 1 : 2); patient++) {
			int requests = 20;

			for (int number = 0; number < requests; number += STRIDE) {
				for (size_t fault = patient ? LATE_FIRST : 0; fault < FAULTS; fault++) {
					int sent = play_script(script, patient, number, &faults[fault]);

					requests = sent > requests ? sent : requests;
				}
			}
		}
	}
}

/* Chance: who comes, goes, gives up, and which answers fail; rights go and come. */
static void play_by_chance(struct play *play)
{
	while (play->now < 120 * RH_SECOND) {
		struct candidate *candidate = &play->candidates[play_roll(play, CANDIDATES)];

		play_until(play, play->now + RH_SECOND + (int64_t)play_roll(play, 15 * RH_SECOND));
		switch (play_roll(play, 8)) {
		case 0:
			if (candidate->lease)
				candidate_stop(candidate, play->now + (int64_t)play_roll(play, 20 * RH_SECOND));
			break;
		case 1:
			candidate_release(candidate);
			break;
		default:
			break;
		}
	}
}

static void test_faults__by_chance(void **state)
{
	int64_t worked = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct play play = play_open("chance", CANDIDATES);

		play.random = play.seed = seed;
		play_by_chance(&play);
		worked += play.worked;
		play_end(&play);
	}
	/* half of the time, under one fault in eight requests and a death or hand-over each half minute */
	assert_true(worked > SEEDS * 60 * RH_SECOND);
}

/* Whether all that are there have seen that there is a Lease. */
static bool play_all_know(struct play *play)
{
	for (int i = 0; i < CANDIDATES; i++) {
		const struct candidate *candidate = &play->candidates[i];

		if (candidate->starts != RH_NEVER && (!candidate->lease || !*rh_lease_holder(candidate->lease)))
			return false;
	}
	return true;
}

/*
 * Rights go and come while answers fail. Two that are started in a time without rights cannot know of each other, so
 * nobody dies but by losing the Lease; and rights that are back stay until everybody has seen that.
 */
static void test_faults__rights_by_chance(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct play play = play_open("rights", 2 + (int)(seed % 2));

		play.random = play.seed = seed;
		while (play.now < 200 * RH_SECOND) {
			play_until(&play, play.now + (int64_t)play_roll(&play, 40 * RH_SECOND));
			while (!play_all_know(&play))
				play_until(&play, play.now + RH_SECOND);
			play.refused_from = play.now;
			play.refused_until = play.now + (int64_t)play_roll(&play, 60 * RH_SECOND);
			play_until(&play, play.refused_until);
		}
		play_end(&play);
	}
}

static void play_look_away(struct play *play)
{
	(void)play;
}

/* Two that never saw a Lease: each works, loudly; as soon as they may, one of them has it and the other ends. */
static void test_faults__two_without_rights(void **state)
{
	struct play play = play_open("two without rights", 2);
	struct rh_lease *first, *other;

	(void)state;
	play.refused_until = 40 * RH_SECOND;
	play_judged_until(&play, play.refused_until, play_look_away);
	first = play.candidates[0].lease;
	other = play.candidates[1].lease;
	assert_int_equal(rh_lease_look(first, play.now), RH_LEASE_FORBIDDEN);
	assert_int_equal(rh_lease_look(other, play.now), RH_LEASE_FORBIDDEN);
	play_judged_until(&play, play.now + RH_LEASE_RETRY_PERIOD + 4 * WAY, play_look_away);
	assert_int_equal(candidate_works(&play, &play.candidates[0]) + candidate_works(&play, &play.candidates[1]), 1);
	play_until(&play, play.now + 60 * RH_SECOND);
	play_end(&play);
}

/* From the death of who works until another does: a lease duration, and less than a quarter of a second to see it. */
static void test_faults__time_without_a_leader(void **state)
{
	(void)state;
	for (int tenth = 0; tenth < 40; tenth++) {
		struct play play = play_open("time without a leader", 2);
		struct candidate *worker;

		play_until(&play, 40 * RH_SECOND + tenth * RH_SECOND / 10);
		worker = play_worker(&play);
		assert_non_null(worker);
		candidate_stop(worker, RH_NEVER);
		play.idle_most = 0;
		play_until(&play, play.now + 30 * RH_SECOND);
		assert_non_null(play_worker(&play));
		assert_in_range(play.idle_most, RH_LEASE_DURATION - 3 * RH_SECOND, RH_LEASE_DURATION + RH_SECOND / 2);
		play_end(&play);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults__one_fault_anywhere),    cmocka_unit_test(test_faults__by_chance),
		cmocka_unit_test(test_faults__rights_by_chance),      cmocka_unit_test(test_faults__two_without_rights),
		cmocka_unit_test(test_faults__time_without_a_leader),
	};

	return cmocka_run_group_tests_name("kube/lease_faults", tests, NULL, NULL);
}
