/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/job/parsed.h"

#include "engine/carry/entry.h"
#include "engine/carry/job/invalid.h"

int rh_parsed_read(const struct rh_kind *kind, struct rh_json *object, struct rh_job **ret_job,
                   struct rh_ledger *ret_ledger, struct rh_error *err)
{
	rh_auto(job) job = NULL;
	int r = rh_job_parse(kind, object, &job, err);

	if (r == 0)
		r = rh_ledger_read(job, ret_ledger);
	if (r != 0)
		return r;
	rh_invalid_forgive(kind, &job->status);
	*ret_job = rh_take(job);
	return 0;
}

void rh_parsed_set_ledger(struct rh_entry *entry, struct rh_ledger *ledger)
{
	if (entry->ledger)
		rh_ledger_deinit(entry->ledger);
	rh_free(entry->ledger);
	entry->ledger = ledger;
}
