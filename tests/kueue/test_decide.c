/* SPDX-License-Identifier: Apache-2.0 */
#include "kueue/decide.h"

/* cmocka.h needs the headers before it. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

/* What is known, by letters. */
static struct rh_kueue_facts facts_of(const char *words)
{
	struct rh_kueue_facts facts = {0};
	const struct {
		const char *word;
		bool *fact;
	} rows[] = {
		{"job", &facts.job},           {"queued", &facts.queued},     {"finished", &facts.finished},
		{"still", &facts.still},       {"pods", &facts.pods},         {"suspend", &facts.suspend},
		{"noted", &facts.noted},       {"ready", &facts.ready},       {"other", &facts.other},
		{"workload", &facts.workload}, {"deleting", &facts.deleting}, {"locked", &facts.locked},
		{"same", &facts.same},         {"current", &facts.current},   {"ended", &facts.ended},
		{"reserved", &facts.reserved}, {"admitted", &facts.admitted}, {"evicted", &facts.evicted},
		{"agreed", &facts.agreed},     {"reported", &facts.reported}, {"spare", &facts.spare},
		{"over", &facts.over},
	};

	while (*words) {
		size_t length = strcspn(words, " "), i = 0;

		while (i < sizeof(rows) / sizeof(rows[0]) &&
		       (strlen(rows[i].word) != length || strncmp(rows[i].word, words, length) != 0))
			i++;
		if (i == sizeof(rows) / sizeof(rows[0]))
			fail_msg("no such fact: %s", words);
		*rows[i].fact = true;
		words += length + (words[length] == ' ');
	}
	return facts;
}

#define GRANTED "job queued workload locked same current reserved admitted"

static void test_decide__each_state_has_its_action(void **state)
{
	static const struct {
		const char *facts;
		enum rh_kueue_action action;
		bool runs;
	} rows[] = {
		{"job", RH_KUEUE_NOTHING, false},
		/* a new job is suspended, and asks once it has no pod */
		{"job queued", RH_KUEUE_SUSPEND, false},
		{"job queued noted suspend", RH_KUEUE_SUSPEND, false},
		{"job queued suspend", RH_KUEUE_NOTHING, false},
		{"job queued suspend still", RH_KUEUE_CREATE, false},
		{"job suspend still", RH_KUEUE_NOTHING, false},
		{"job queued suspend still workload same current", RH_KUEUE_NOTHING, false},
		{"job queued suspend still workload same", RH_KUEUE_UPDATE, false},
		{"job queued suspend still workload current", RH_KUEUE_UPDATE, false},
		/* quota is not an admission: checks are left */
		{"job queued suspend still workload same current reserved", RH_KUEUE_NOTHING, false},
		{GRANTED " suspend still", RH_KUEUE_RESUME, false},
		{GRANTED " agreed noted", RH_KUEUE_NOTHING, true},
		{GRANTED " agreed noted suspend", RH_KUEUE_RESUME, true},
		{GRANTED " noted", RH_KUEUE_RESUME, false},
		{GRANTED " agreed noted ready", RH_KUEUE_REPORT, true},
		{GRANTED " agreed noted ready reported", RH_KUEUE_NOTHING, true},
		/* of replicas that have succeeded it goes back while the others run, not before they are admitted again */
		{GRANTED " agreed noted reported spare", RH_KUEUE_RECLAIM, true},
		{GRANTED " agreed noted ready spare", RH_KUEUE_REPORT, true},
		{GRANTED " suspend still spare", RH_KUEUE_RESUME, false},
		{GRANTED " agreed noted spare evicted", RH_KUEUE_SUSPEND, false},
		/* who needs it again queues for it */
		{GRANTED " agreed noted over", RH_KUEUE_SUSPEND, false},
		{GRANTED " suspend over", RH_KUEUE_NOTHING, false},
		{GRANTED " suspend over still", RH_KUEUE_DELETE, false},
		{GRANTED " suspend over still evicted", RH_KUEUE_RELEASE, false},
		/* quota goes back when the last pod is gone */
		{GRANTED " agreed noted evicted", RH_KUEUE_SUSPEND, false},
		{GRANTED " evicted suspend", RH_KUEUE_NOTHING, false},
		{GRANTED " evicted suspend still", RH_KUEUE_RELEASE, false},
		{"job queued workload same current evicted suspend still", RH_KUEUE_NOTHING, false},
		/* the pods are others than those that were admitted */
		{"job queued workload locked current reserved admitted agreed noted", RH_KUEUE_SUSPEND, false},
		{"job queued workload locked current reserved admitted suspend", RH_KUEUE_NOTHING, false},
		{"job queued workload locked current reserved admitted suspend still", RH_KUEUE_DELETE, false},
		{GRANTED " agreed noted deleting", RH_KUEUE_SUSPEND, false},
		{GRANTED " suspend deleting", RH_KUEUE_NOTHING, false},
		{GRANTED " suspend deleting still", RH_KUEUE_UNLOCK, false},
		{"job queued workload deleting suspend still", RH_KUEUE_NOTHING, false},
		{GRANTED " ended suspend still", RH_KUEUE_NOTHING, false},
		{GRANTED " agreed noted finished", RH_KUEUE_NOTHING, true},
		{GRANTED " agreed noted finished still", RH_KUEUE_FINISH, true},
		{GRANTED " agreed noted finished still ended", RH_KUEUE_UNLOCK, false},
		{"job queued workload finished still ended", RH_KUEUE_NOTHING, false},
		{GRANTED " finished still deleting", RH_KUEUE_UNLOCK, false},
		{"job queued finished still", RH_KUEUE_NOTHING, false},
		/* the job is gone */
		{"workload locked pods", RH_KUEUE_NOTHING, false},
		{"workload locked", RH_KUEUE_UNLOCK, false},
		{"workload", RH_KUEUE_NOTHING, false},
		{"", RH_KUEUE_FORGET, false},
		/* Kueue's own integration says when it runs */
		{"job queued other workload", RH_KUEUE_NOTHING, false},
		{"job queued other noted", RH_KUEUE_SUSPEND, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rh_kueue_facts facts = facts_of(rows[i].facts);

		if (rh_kueue_decide(&facts) != rows[i].action || rh_kueue_may_run(&facts) != rows[i].runs)
			fail_msg("\"%s\": action %d, runs %d", rows[i].facts, (int)rh_kueue_decide(&facts),
			         rh_kueue_may_run(&facts));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide__each_state_has_its_action),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
