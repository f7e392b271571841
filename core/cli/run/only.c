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
			const char *pod = rh_job_replica_name(job, job->specs[i].type, k, name);
			size_t skip = strlen(job->name) + 1;

			if (!fn(arg, job->name, strlen(pod) > skip ? pod + skip : pod))
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

static int only_check(const char *word, const struct rh_jobs *jobs, struct rh_error *err)
{
	struct only_list list = {.count = 0};
	int r;

	for (size_t i = 0; i < jobs->count; i++) {
		if (!only_each(jobs->items[i], only_differs, (void *)word))
			return 0;
	}
	for (size_t i = 0; i < jobs->count && only_each(jobs->items[i], only_list, &list);)
		i++;
	r = rh_fail(err, RH_EINVAL, "option --only: there is no replica \"%s\"; there are %s", word,
	            rh_str_text(&list.text));
	rh_str_deinit(&list.text);
	return r;
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
