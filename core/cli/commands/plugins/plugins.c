/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commands/plugins/plugins.h"
#include "cli/config/pin.h"
#include "cli/output.h"
#include "cli/session.h"

/* Most operands: the verb and its files. */
#define PLUGINS_OPERANDS_MAX 1000

static const char *plugins_state(enum rh_plugin_state state)
{
	static const char *const names[] = {"refused", "disabled", "broken", "failed", "unneeded", "ready"};

	return names[state];
}

/* "MPIJob.v1.kubeflow.org", as kubectl takes it: two plugins may serve two versions of one kind. */
static void plugins_append_kind(struct rh_str *out, const struct rh_kind *kind)
{
	rh_str_appendf(out, "%s.%s.%s", kind->kind, kind->version, kind->group);
}

/* All kinds, separated by commas; "-": none. */
static void plugins_append_kinds(struct rh_str *out, const struct rh_plugin_info *info)
{
	for (size_t i = 0; info->kinds && info->kinds[i]; i++) {
		rh_str_append(out, i ? "," : "");
		plugins_append_kind(out, info->kinds[i]);
	}
	if (!info->kinds || !info->kinds[0])
		rh_str_append(out, "-");
}

static void plugins_print_text(const struct rh_host *host)
{
	printf("%-14s %-9s %-8s %-30s %s\n", "NAME", "STATE", "RELEASE", "KINDS", "FILE");
	for (size_t i = 0; i < rh_host_plugin_count(host); i++) {
		struct rh_plugin_info info = {0};
		rh_auto_str kinds = {0};

		rh_host_plugin(host, i, &info);
		plugins_append_kinds(&kinds, &info);
		printf("%-14s %-9s %-8s %-30s %s\n", info.name, plugins_state(info.state), *info.release ? info.release : "-",
		       rh_str_text(&kinds), info.path);
		if (*info.reason)
			printf("  %s\n", info.reason);
	}
}

static int plugins_json_row(struct rh_json *list, const struct rh_plugin_info *info)
{
	rh_auto(json) row = rh_json_new_object();
	struct rh_json *kinds = row ? rh_json_ensure_array(row, "kinds") : NULL;
	int r = kinds ? 0 : RH_ENOMEM;

	for (size_t i = 0; info->kinds && info->kinds[i] && r == 0; i++) {
		rh_auto_str kind = {0};

		plugins_append_kind(&kind, info->kinds[i]);
		r = rh_json_append(kinds, kind.failed ? NULL : rh_json_new_string(rh_str_text(&kind)));
	}
	if (r < 0 || rh_json_set_string(row, "name", info->name) < 0 ||
	    rh_json_set_string(row, "state", plugins_state(info->state)) < 0 ||
	    rh_json_set_string(row, "release", info->release) < 0 || rh_json_set_string(row, "file", info->path) < 0 ||
	    rh_json_set_string(row, "reason", info->reason) < 0)
		return RH_ENOMEM;
	return rh_json_append(list, rh_take(row));
}

static int plugins_print_json(const struct rh_host *host)
{
	rh_auto(json) list = rh_json_new_array();
	int r = list ? 0 : RH_ENOMEM;

	for (size_t i = 0; i < rh_host_plugin_count(host) && r == 0; i++) {
		struct rh_plugin_info info = {0};

		rh_host_plugin(host, i, &info);
		r = plugins_json_row(list, &info);
	}
	return r < 0 ? r : rh_cli_put_json(list);
}

static int plugins_list(const struct rh_cli *cli, struct rh_error *err)
{
	rh_auto_session session = {0};
	const char *format = rh_cli_option(cli, "output");
	int r = rh_session_load(cli, &session, err);

	if (r < 0)
		return r;
	if (format && strcmp(format, "junit") == 0)
		return rh_fail(err, RH_EINVAL, "-o junit is for `plugins test`; use -o json");
	if (rh_cli_wants_json(cli))
		return plugins_print_json(session.host) < 0 ? rh_fail_oom(err) : 0;
	plugins_print_text(session.host);
	return 0;
}

/* Loaded into a host of its own, so that the installed plugins cannot clash with it. */
static int plugins_check(const struct rh_cli *cli, const char *file, struct rh_error *err)
{
	rh_auto(config) config = rh_config_new();
	rh_auto(host) host = NULL;
	rh_auto_str kinds = {0};
	struct rh_plugin_info info = {0};
	const char *isolation = rh_cli_option(cli, "plugin-isolation");
	int r = config ? rh_host_new(config, &host, err) : rh_fail_oom(err);

	if (r == 0 && isolation)
		r = rh_isolation_parse(isolation, &config->plugin_isolation, err);
	if (r == 0 && access(file, F_OK) != 0)
		r = rh_fail(err, RH_ENOENT, "plugin \"%s\": %s", file, strerror(errno));
	if (r == 0)
		r = rh_host_try_file(host, file, err);
	if (r < 0)
		return r;
	rh_host_plugin(host, 0, &info);
	plugins_append_kinds(&kinds, &info);
	printf("%s: plugin \"%s\" %s fits plugin ABI %d.%d and serves %s\n", file, info.name, info.release, RH_ABI_MAJOR,
	       RH_ABI_MINOR, rh_str_text(&kinds));
	return kinds.failed ? rh_fail_oom(err) : 0;
}

static int plugins_check_operand(const struct rh_cli *cli, struct rh_error *err)
{
	return plugins_check(cli, cli->operands[1], err);
}

/* What the first operand may be. */
static const struct {
	const char *name;
	size_t operands_min; /* with the name */
	size_t operands_max;
	const char *options; /* its own ones, separated by '|' */
	/* -> an exit status, or a negative status */
	int (*run)(const struct rh_cli *cli, struct rh_error *err);
} plugins_verbs[] = {
	{"list", 0, 1, "output", plugins_list},
	{"check", 2, 2, "", plugins_check_operand},
	{"test", 2, PLUGINS_OPERANDS_MAX, "output|record|golden|time-limit|kubeconfig|context", rh_plugins_test},
	{"pin", 1, PLUGINS_OPERANDS_MAX, "write", rh_plugins_pin},
	{"new", 1, 2, "kind|replicas|lang|group|dir", rh_plugins_new},
};

/* An option that the verb would not look at is a mistake. */
static int plugins_check_options(const struct rh_cli *cli, const char *verb, const char *options, struct rh_error *err)
{
	for (const struct rh_option *row = cli->command->options; row->name; row++) {
		if (rh_cli_option(cli, row->name) && !rh_words_have(options, '|', row->name, strlen(row->name)))
			return rh_fail(err, RH_EINVAL, "option --%s does not belong to `plugins %s`", row->name, verb);
	}
	return 0;
}

static int plugins_run(const struct rh_cli *cli)
{
	struct rh_error err = {0};
	const char *what = cli->operand_count > 0 ? cli->operands[0] : "list";

	for (size_t i = 0; i < sizeof(plugins_verbs) / sizeof(plugins_verbs[0]); i++) {
		int r;

		if (strcmp(what, plugins_verbs[i].name) != 0 || cli->operand_count < plugins_verbs[i].operands_min ||
		    cli->operand_count > plugins_verbs[i].operands_max)
			continue;
		r = plugins_check_options(cli, what, plugins_verbs[i].options, &err);
		if (r == 0)
			r = plugins_verbs[i].run(cli, &err);
		return r < 0 ? rh_cli_end(cli, r, &err) : r;
	}
	return rh_cli_fail(cli, RH_EXIT_BAD_INPUT,
	                   "use `plugins list`, `check FILE`, `test FILE [JOB...]`, `pin [FILE...]` or `new NAME`");
}

static const struct rh_option plugins_options[] = {
	{"output", 'o', "FORMAT", "text|json|junit", "list, test: how to print it (junit: test alone)"},
	{"record", 0, "DIR", NULL, "test: write the objects that the jobs get into files of DIR"},
	{"golden", 0, "DIR", NULL, "test: compare the objects that the jobs get with those that were recorded in DIR"},
	{"time-limit", 0, "DURATION", NULL, "test: longest that one operation may take (default: as configured, 10s)"},
	{"kubeconfig", 0, "FILE", NULL,
     "test: also try what the plugin makes on the API server of FILE; nothing is kept there"},
	{"context", 0, "NAME", NULL, "test: likewise, which context of the kubeconfig"},
	{"kind", 0, "KIND", NULL, "new: the kind of jobs that the plugin serves, as FooJob"},
	{"replicas", 0, "TYPES", NULL, "new: its replica types, separated by commas; the first of several leads"},
	{"lang", 0, "LANGUAGE", "c|cpp|rust", "new: the language of the plugin"},
	{"group", 0, "GROUP", NULL, "new: the API group of the kind (default example.org)"},
	{"write", 0, NULL, NULL, "pin: change the configuration file"},
	{"dir", 0, "DIR", NULL, "new: the folder to make (default ./NAME)"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_plugins = {
	.name = "plugins",
	.synopsis = "[list] | check FILE | test FILE [JOB...] | pin [FILE...] | new NAME",
	.summary = "list the plugins, check, test or pin files, or begin a new one",
	.details =
		"`list` shows every plugin file that was found, its state and, where it is not ready, "
		"why:\n"
		"disabled by the allow-list, refused (it does not fit), broken (it crashed, hung or ended the process when "
		"it was\n"
		"tried in one of its own) or failed (its init() reported an error). `check FILE` tries one file, loads it and "
		"says "
		"whether it\n"
		"fits this host. `pin` prints lines of [plugins] allow with the SHA-256 of each FILE, or of all files that may "
		"be\n"
		"loaded; with --write it puts them into the configuration file. It runs no code of a plugin. `new NAME --kind "
		"FooJob\n"
		"--replicas Leader,Worker --lang cpp` writes a project that builds, passes its tests and makes a package, into "
		"a "
		"folder\n"
		"that must not exist yet (docs/writing-a-plugin.md).\n\n"
		"`test FILE` is for authors of plugins. It calls every operation with generated jobs, and with those of the "
		"files\n"
		"JOB, in processes of its own, and reports what breaks the rules of plugin.h: crashes, exits, endless loops, "
		"threads,\n"
		"files, leaks, answers that an API server refuses, answers that change from call to call, and what the "
		"contract "
		"does\n"
		"not name. With --kubeconfig or --context an API server checks definitions, CEL rules, rights, jobs and pods, "
		"too,\n"
		"as dry runs. docs/plugin-testing.md explains each check.\n\n"
		"Exit status: 0 fine, 1 the checked plugin was refused or a test failed, 2 wrong arguments, no such file, or "
		"the folder exists.",
	.options = plugins_options,
	.operands_max = PLUGINS_OPERANDS_MAX,
	.run = plugins_run,
};
