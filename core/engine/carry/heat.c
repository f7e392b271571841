/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trees of jobs. A tree takes ten times the memory of its text, and most jobs have nothing to do most of the time:
 * only those that were looked at last keep theirs.
 */
#include <string.h>

#include "engine/carry/parts.h"

void rh_engine_forget_heat(struct rh_engine_entry *entry)
{
	struct rh_engine *engine = entry->engine;

	if (!entry->hot)
		return;
	*(entry->colder ? &entry->colder->hotter : &engine->coldest) = entry->hotter;
	*(entry->hotter ? &entry->hotter->colder : &engine->hottest) = entry->colder;
	entry->hotter = entry->colder = NULL;
	entry->hot = false;
	engine->hot_count--;
}

static bool heat_is_quiet(const struct rh_engine_entry *entry)
{
	return entry->stage == RH_STAGE_IDLE && !entry->plan && entry->flight_count == 0 && entry->job && !entry->refresh;
}

/* Keep the text in place of the tree. Without memory for it the tree stays. */
static void heat_chill(struct rh_engine_entry *entry)
{
	if (!entry->text)
		entry->text = rh_json_text(entry->job->object);
	if (!entry->text)
		return;
	rh_builder_free(rh_take(entry->builder));
	rh_json_free(rh_take(entry->wanted));
	rh_job_free(rh_take(entry->job));
	rh_engine_set_ledger(entry, NULL);
	rh_engine_forget_heat(entry);
}

void rh_engine_heat(struct rh_engine_entry *entry)
{
	struct rh_engine *engine = entry->engine;

	rh_engine_forget_heat(entry);
	entry->colder = engine->hottest;
	*(engine->hottest ? &engine->hottest->hotter : &engine->coldest) = entry;
	engine->hottest = entry;
	entry->hot = true;
	engine->hot_count++;
}

/*
 * Those in use have been looked at just now: they are the hottest. Where there are many jobs their Events are forgotten
 * too, as Kubernetes' clients do.
 */
void rh_engine_chill(struct rh_engine *engine, size_t most)
{
	size_t count = engine->hot_count > most ? engine->hot_count - most : 0;

	for (; count > 0; count--) {
		struct rh_engine_entry *cold = engine->coldest;

		if (heat_is_quiet(cold))
			heat_chill(cold);
		if (cold->hot)
			rh_engine_heat(cold);
		else if (most > 0)
			rh_engine_trim_good_events(cold);
	}
}

/* @return 0, RH_EINVAL or RH_ENOMEM */
static int heat_parse(const struct rh_engine_entry *entry, struct rh_job **ret_job, struct rh_ledger *ret_ledger)
{
	rh_auto(job) job = NULL;
	struct rh_json *object;
	int r = rh_json_parse(entry->text, strlen(entry->text), &object, NULL);

	if (r == 0)
		r = rh_job_parse(entry->kind->kind, object, &job, NULL);
	if (r == 0)
		r = rh_ledger_read(job, ret_ledger);
	if (r == 0)
		*ret_job = rh_take(job);
	return r;
}

int rh_engine_warm(struct rh_engine_entry *entry)
{
	struct rh_ledger *ledger = NULL;
	int r = 0;

	if (entry->job || !entry->text)
		return 0;
	ledger = rh_alloc(sizeof(*ledger));
	r = ledger ? heat_parse(entry, &entry->job, ledger) : RH_ENOMEM;
	if (r == 0) {
		rh_engine_set_ledger(entry, ledger);
		rh_engine_heat(entry);
		return 0;
	}
	rh_free(ledger);
	if (r == RH_ENOMEM)
		return r;
	/* It cannot be read back: the store has it. */
	rh_free(rh_take(entry->text));
	entry->refresh = true;
	return 0;
}

void rh_engine_set_ledger(struct rh_engine_entry *entry, struct rh_ledger *ledger)
{
	if (entry->ledger)
		rh_ledger_deinit(entry->ledger);
	rh_free(entry->ledger);
	entry->ledger = ledger;
}
