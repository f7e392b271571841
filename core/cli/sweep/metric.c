/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sweep/metric.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "local/keep/kept.h"
#include "local/keep/output.h"

struct rh_sweep_metric {
	regex_t regex;
	double last; /* of the run that is read */
	bool found;
};

int rh_sweep_metric_new(const char *expression, struct rh_sweep_metric **ret_metric, struct rh_error *err)
{
	struct rh_sweep_metric *metric = rh_alloc(sizeof(*metric));
	char reason[200];
	int r;

	if (!metric)
		return rh_fail_oom(err);
	r = regcomp(&metric->regex, expression, REG_EXTENDED);
	if (r != 0) {
		(void)regerror(r, &metric->regex, reason, sizeof(reason));
		rh_free(metric);
		return rh_fail(err, RH_EINVAL, "option --metric: \"%s\": %s", expression, reason);
	}
	if (metric->regex.re_nsub == 0) {
		rh_sweep_metric_free(metric);
		return rh_fail(err, RH_EINVAL,
		               "option --metric: \"%s\" has no group; put the number in parentheses, as 'loss ([0-9.]+)'",
		               expression);
	}
	*ret_metric = metric;
	return 0;
}

void rh_sweep_metric_free(struct rh_sweep_metric *metric)
{
	if (!metric)
		return;
	regfree(&metric->regex);
	rh_free(metric);
}

/* Of several matches in a line the last one counts, as in a progress bar that is written over. */
static void metric_on_line(void *arg, const struct rh_output_line *line)
{
	struct rh_sweep_metric *metric = arg;
	rh_auto_free char *text = rh_strndup(line->text, line->length);
	regmatch_t groups[2];
	const char *at = text;

	while (at && *at && regexec(&metric->regex, at, 2, groups, at == text ? 0 : REG_NOTBOL) == 0) {
		rh_auto_free char *number =
			groups[1].rm_so >= 0 ? rh_strndup(at + groups[1].rm_so, (size_t)(groups[1].rm_eo - groups[1].rm_so)) : NULL;
		char *end = NULL;
		double value = number ? strtod(number, &end) : NAN;

		if (end && end != number && isfinite(value)) {
			metric->last = value;
			metric->found = true;
		}
		at += groups[0].rm_eo > 0 ? groups[0].rm_eo : 1;
	}
}

struct rh_json *rh_sweep_metric_find(struct rh_sweep_metric *metric, const char *path)
{
	const struct rh_output_options options = {.tail = -1, .line = metric_on_line, .arg = metric};
	rh_auto_kept kept = {0};
	rh_auto(output) output = NULL;

	metric->found = false;
	if (rh_kept_read(path, &kept) < 0)
		return NULL;
	if (!kept.state)
		return rh_json_new_null();
	if (rh_output_new(&kept, &options, &output, NULL) < 0 || rh_output_read(output, true) < 0)
		return NULL;
	return metric->found ? rh_json_new_number(metric->last) : rh_json_new_null();
}
