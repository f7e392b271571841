/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/verdict/record.h"

#include "job/pod.h"

/* @return whether the replica did not come to its end: it was asked to end before, or goes on */
static bool record_is_cut_off(const struct rh_run_record *record)
{
	return record->deleting || (record->phase != RH_PHASE_SUCCEEDED && record->phase != RH_PHASE_FAILED);
}

bool rh_run_record_failed_before_stop(const struct rh_run_record *record, bool succeeded)
{
	return record_is_cut_off(record) && record->own.container[0] &&
	       (!succeeded || record->own.at >= record->started_at);
}

bool rh_run_record_is_stopped(const struct rh_run_record *record, bool succeeded)
{
	return record_is_cut_off(record) && !rh_run_record_failed_before_stop(record, succeeded) &&
	       (record->started_at != 0 || record->phase == RH_PHASE_FAILED);
}
