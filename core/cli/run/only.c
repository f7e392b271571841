/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/only.h"

#include <string.h>

#include "local/keep/output.h"

/* Most replicas that a message lists. */
#define ONLY_LISTED_MAX 8

/* @return whether it goes on */
typedef bool only_fn(void *arg, const char *job, const char *replica);

static bool only_each(const struct rh_job *job, only_fn *fn, void *arg)
{
	for (size_t i = 0; i < job->spec_count; i++) {
		for (int32_t k = 0; k < job->specs[i].replicas; k++) {
			char name[RH_NAME_SIZE];

			if (!fn(arg, job->name, rh_job_replica_own_name(job, job->specs[i].type, k, name)))
				return false;
		}
	}
	return true;
}

static bool only_differs(void *arg, const char *job, const char *replica)
{
	return !rh_output_is_replica(arg, job, replica);
}

/* The replicas that there are. */
struct only_list {
	struct rh_str text;
	size_t count;
};

static bool only_list(void *arg, const char *job, const char *replica)
{
	struct only_list *list = arg;

	(void)job;
	rh_str_appendf(&list->text, "%s%s", list->count > 0 ? ", " : "", list->count < ONLY_LISTED_MAX ? replica : "...");
	return list->count++ < ONLY_LISTED_MAX;
}

static int only_fail(const char *option, const char *word, const struct rh_jobs *jobs, struct rh_error *err)
{
	struct only_list list = {.count = 0};
	int r;

	for (size_t i = 0; i < jobs->count && only_each(jobs->items[i], only_list, &list);)
		i++;
	r = rh_fail(err, RH_EINVAL, "option --%s: there is no replica \"%s\"; there are %s", option, word,
	            rh_str_text(&list.text));
	rh_str_deinit(&list.text);
	return r;
}

static int only_check(const char *word, const struct rh_jobs *jobs, struct rh_error *err)
{
	for (size_t i = 0; i < jobs->count; i++) {
		if (!only_each(jobs->items[i], only_differs, (void *)word))
			return 0;
	}
	return only_fail("only", word, jobs, err);
}

/* @return how many replicas of a job the word means; the last one is in ret_terminal */
static size_t only_count(const struct rh_job *job, const char *word, struct rh_run_terminal *ret_terminal)
{
	size_t found = 0;

	for (size_t i = 0; i < job->spec_count; i++) {
		for (int32_t k = 0; k < job->specs[i].replicas; k++) {
			char name[RH_NAME_SIZE];
			const char *replica = rh_job_replica_own_name(job, job->specs[i].type, k, name);

			if (!rh_output_is_replica(word, job->name, replica))
				continue;
			found++;
			ret_terminal->job = job;
			ret_terminal->type = job->specs[i].type;
			ret_terminal->index = k;
		}
	}
	return found;
}

int rh_only_find(const struct rh_jobs *jobs, const char *word, struct rh_run_terminal *ret_terminal,
                 struct rh_error *err)
{
	size_t found = 0;

	for (size_t i = 0; i < jobs->count; i++)
		found += only_count(jobs->items[i], word, ret_terminal);
	if (found == 0)
		return only_fail("attach", word, jobs, err);
	if (found > 1)
		return rh_fail(err, RH_EINVAL,
		               "option --attach: \"%s\" means %zu replicas; name one, as worker-1 or JOB-worker-1", word,
		               found);
	return 0;
}

int rh_only_read(const struct rh_cli *cli, const struct rh_jobs *jobs, struct rh_only *ret_only, struct rh_error *err)
{
	const char *word;
	size_t cursor = 0;
	int r = 0;

	ret_only->count = 0;
	while (r == 0 && (word = rh_cli_each(cli, "only", &cursor))) {
		ret_only->words[ret_only->count++] = word;
		r = only_check(word, jobs, err);
	}
	return r;
}

bool rh_only_shows(const struct rh_only *only, const char *job, const char *replica)
{
	for (size_t i = 0; i < only->count; i++) {
		if (rh_output_is_replica(only->words[i], job, replica))
			return true;
	}
	return only->count == 0;
}
