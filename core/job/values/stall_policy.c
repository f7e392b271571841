/* SPDX-License-Identifier: Apache-2.0 */
#include "job/values/stall_policy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "job/values/names.h"

bool rh_stall_action_parse(const char *word, enum rh_stall_action *ret_action)
{
	static const char *const words[] = {
		[RH_STALL_REPORT] = "report", [RH_STALL_RESTART] = "restart", [RH_STALL_EVICT] = "evict"};

	for (int action = RH_STALL_REPORT; action <= RH_STALL_EVICT; action++) {
		if (rh_text_equal(word, words[action])) {
			*ret_action = (enum rh_stall_action)action;
			return true;
		}
	}
	return false;
}

bool rh_stall_limit_parse(const char *text, int32_t *ret_limit)
{
	char *end;
	long limit;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	limit = strtol(text, &end, 10);
	if (*end || errno || limit > INT32_MAX)
		return false;
	*ret_limit = (int32_t)limit;
	return true;
}

void rh_stall_policy_read(const struct rh_json *annotations, struct rh_stall_policy *ret_policy)
{
	const char *word = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_STALLS));
	const char *after = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_STALLS_AFTER));
	const char *limit = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_STALLS_LIMIT));

	*ret_policy = (struct rh_stall_policy){RH_STALL_IGNORE, RH_STALL_AFTER, RH_STALL_LIMIT};
	(void)rh_stall_action_parse(word, &ret_policy->action);
	if (after)
		(void)rh_duration_parse(after, &ret_policy->after, NULL);
	if (limit)
		(void)rh_stall_limit_parse(limit, &ret_policy->limit);
}
