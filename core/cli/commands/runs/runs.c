/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "config/config.h"
#include "local/keep/place.h"
#include "local/keep/prune.h"

/* What was removed. */
struct runs_sum {
	int64_t count;
	int64_t bytes;
};

static void runs_on_removed(void *arg, const char *name, int64_t bytes)
{
	struct runs_sum *sum = arg;

	sum->count++;
	sum->bytes += bytes;
	puts(name);
}

static int runs_count(const struct rh_cli *cli, const char *name, int64_t *ret_count, struct rh_error *err)
{
	const char *text = rh_cli_option(cli, name);
	int r = text ? rh_config_count(text, ret_count, err) : 0;

	return r < 0 ? rh_wrap(err, r, "option --%s", name) : 0;
}

static int runs_limits(const struct rh_cli *cli, struct rh_prune *prune, struct rh_error *err)
{
	const char *age = rh_cli_option(cli, "older-than");
	int64_t mebibytes = -1;
	int r = runs_count(cli, "keep", &prune->runs, err);

	if (r == 0)
		r = runs_count(cli, "keep-mebibytes", &mebibytes, err);
	if (r == 0 && age && rh_duration_parse(age, &prune->age, err) < 0)
		r = rh_wrap(err, RH_EINVAL, "option --older-than");
	if (mebibytes >= 0)
		prune->bytes = mebibytes * 1024 * 1024;
	if (rh_cli_option(cli, "all"))
		prune->runs = 0;
	if (r == 0 && prune->runs < 0 && prune->bytes < 0 && prune->age < 0)
		r = rh_fail(err, RH_EINVAL, "which runs? use --keep N, --keep-mebibytes N, --older-than TIME or --all");
	return r;
}

static int runs_prune(const struct rh_cli *cli, struct rh_error *err)
{
	struct runs_sum sum = {0, 0};
	struct rh_prune prune = {.runs = -1,
	                         .bytes = -1,
	                         .age = -1,
	                         .dry = rh_cli_option(cli, "dry-run") != NULL,
	                         .removed = runs_on_removed,
	                         .arg = &sum};
	int r = runs_limits(cli, &prune, err);

	if (r < 0)
		return r;
	r = rh_prune(&prune, err); /* what was removed before a failure counts, too */
	(void)fflush(stdout);      /* the names come first, also where both go into one file */
	if (r < 0 && sum.count == 0)
		return r;
	fprintf(stderr, "%lld run%s %s, %.1f MiB\n", (long long)sum.count, sum.count == 1 ? "" : "s",
	        prune.dry ? "would be removed" : "removed", (double)sum.bytes / (1024 * 1024));
	return r;
}

static int runs_path(const struct rh_cli *cli, struct rh_error *err)
{
	rh_auto_free char *path = NULL;
	int r = rh_keep_place(&path, err);

	(void)cli;
	if (r == 0)
		puts(path);
	return r;
}

static int runs_run(const struct rh_cli *cli)
{
	struct rh_error err = {0};
	int r;

	if (strcmp(cli->operands[0], "prune") == 0)
		r = runs_prune(cli, &err);
	else if (strcmp(cli->operands[0], "path") == 0)
		r = runs_path(cli, &err);
	else
		r = rh_fail(&err, RH_EINVAL, "use `runs prune` or `runs path`; `roundhouse ls` lists the runs");
	return rh_cli_end(cli, r, &err);
}

static void runs_words(void)
{
	fputs("prune path ", stdout);
}

static const struct rh_option runs_options[] = {
	{"keep", 0, "N", NULL, "prune: remove the oldest, but for the newest N"},
	{"keep-mebibytes", 0, "N", NULL, "prune: remove the oldest, until all take N MiB at most"},
	{"older-than", 0, "TIME", NULL, "prune: remove those that ended more than TIME ago (12h)"},
	{"all", 0, NULL, NULL, "prune: remove all that do not go on"},
	{"dry-run", 0, NULL, NULL, "prune: remove nothing, list what would be removed"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_runs = {
	.name = "runs",
	.synopsis = "prune | path",
	.summary = "remove runs that are kept, or print where they are",
	.details = "A run that goes on is never removed. Each `run` removes the oldest by itself, beyond keep-runs and "
			   "keep-mebibytes of\n"
			   "the configuration.",
	.options = runs_options,
	.operands_min = 1,
	.operands_max = 1,
	.run = runs_run,
	.words = runs_words,
};
