/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/plugins/plugins.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "cli/output.h"
#include "config/config.h"
#include "conformance/conformance.h"

/* A test that takes no longer shows no progress. */
#define TEST_QUIET RH_SECOND

/* What the progress needs. */
struct test_progress {
	int64_t began;
	bool shown;
};

static void test_show(void *arg, size_t done, size_t total)
{
	struct test_progress *progress = arg;

	if (rh_clock_monotonic() - progress->began < TEST_QUIET || total == 0)
		return;
	fprintf(stderr, "\r%zu of %zu jobs ", done, total);
	progress->shown = true;
}

static int test_print(const struct rh_report *report, const char *format)
{
	rh_auto_str out = {0};
	rh_auto(json) json = NULL;

	if (format && strcmp(format, "json") == 0) {
		json = rh_report_json(report);
		if (rh_cli_put(json, true, &out) < 0)
			return RH_ENOMEM;
	} else if (format && strcmp(format, "junit") == 0) {
		rh_report_junit(report, &out);
	} else {
		rh_report_text(report, rh_cli_colour(STDOUT_FILENO), &out);
	}
	if (out.failed)
		return RH_ENOMEM;
	rh_cli_print(&out);
	return 0;
}

static int test_configure(const struct rh_cli *cli, struct rh_config **ret_config, struct rh_error *err)
{
	const char *limit = rh_cli_option(cli, "time-limit");
	rh_auto(config) config = rh_config_new();
	int r = config ? rh_config_find(config, rh_cli_option(cli, "config"), err) : rh_fail_oom(err);

	if (r == 0 && limit)
		r = rh_duration_parse(limit, &config->plugin_time_limit, err);
	if (r == 0 && config->plugin_time_limit <= 0)
		r = rh_fail(err, RH_EINVAL, "--time-limit \"%s\" must be longer than 0", limit);
	if (r < 0)
		return r;
	/* the author's file need not be on this machine's list, or signed */
	rh_allow_deinit(&config->plugin_allow);
	rh_free(rh_take(config->plugin_public_key));
	*ret_config = rh_take(config);
	return 0;
}

static int test_run(const struct rh_cli *cli, rh_plugins_server_fn *ask, struct rh_report *report, struct rh_error *err)
{
	struct test_progress progress = {.began = rh_clock_monotonic()};
	rh_auto(config) config = NULL;
	struct rh_conformance test = {
		.file = cli->operands[1],
		.record = rh_cli_option(cli, "record"),
		.golden = rh_cli_option(cli, "golden"),
		.jobs = cli->operands + 2,
		.job_count = cli->operand_count - 2,
		.progress = isatty(STDERR_FILENO) ? test_show : NULL,
		.arg = &progress,
	};
	int r = 0;

	if ((test.record || test.golden) && test.job_count == 0)
		r = rh_fail(err, RH_EINVAL, "%s needs files with jobs behind the plugin",
		            test.record ? "--record" : "--golden");
	if (r == 0)
		r = test_configure(cli, &config, err);
	test.config = config;
	if (r == 0)
		r = rh_conformance_run(&test, report, err);
	if (progress.shown)
		fputs("\r\033[K", stderr);
	return r == 0 && ask ? ask(cli, config, report, err) : r;
}

int rh_plugins_test(const struct rh_cli *cli, struct rh_error *err)
{
	if (rh_cli_option(cli, "kubeconfig") || rh_cli_option(cli, "context"))
		return rh_cli_start_again(cli, RH_CLI_CONTROLLER, RH_PLUGINS_PROGRAM);
	return rh_plugins_test_with(cli, NULL, err);
}

int rh_plugins_test_with(const struct rh_cli *cli, rh_plugins_server_fn *ask, struct rh_error *err)
{
	rh_auto_report report = {0};
	int r = test_run(cli, ask, &report, err);

	if (r == 0 && test_print(&report, rh_cli_option(cli, "output")) < 0)
		r = rh_fail_oom(err);
	if (r < 0)
		return r;
	return rh_report_count(&report, false) > 0 ? RH_EXIT_FAILED : RH_EXIT_OK;
}
