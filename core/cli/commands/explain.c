/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/explain.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"

static const char *explain_text(const struct rh_json *object, const char *key)
{
	const char *text = rh_json_string_at(object, key);

	return text ? text : "";
}

/* "default X; rules" of a field, or what of it there is, in its own line. */
static void explain_print_limits(const struct rh_json *row, const char *indent)
{
	const char *fallback = explain_text(row, "default");
	const char *rules = explain_text(row, "rules");

	if (*fallback || *rules)
		printf("%s%s%s%s%s\n", indent, *fallback ? "default " : "", fallback, *fallback && *rules ? "; " : "", rules);
}

static void explain_print_head(const struct rh_json *page)
{
	const char *api_version = explain_text(page, "apiVersion");
	int64_t port;

	printf("KIND       %s (%s), %s\n", explain_text(page, "kind"), explain_text(page, "plural"), api_version);
	for (const struct rh_json *version = rh_json_first(rh_json_get(page, "otherVersions")); version;
	     version = rh_json_next(version))
		printf("ALSO       %s.%s.%.*s, another version with a page of its own\n", explain_text(page, "singular"),
		       rh_json_string(version), (int)strcspn(api_version, "/"), api_version);
	printf("PLUGIN     %s %s, %s\n", explain_text(page, "plugin.name"), explain_text(page, "plugin.release"),
	       explain_text(page, "plugin.file"));
	if (rh_json_get(page, "container"))
		printf("CONTAINER  %s\n", explain_text(page, "container"));
	if (rh_json_integer(rh_json_at(page, "port.number"), &port))
		printf("PORT       %s %d\n", explain_text(page, "port.name"), (int)port);
}

static void explain_print_field(const struct rh_json *page)
{
	printf("FIELD      %s <%s>\n", explain_text(page, "path"), explain_text(page, "type"));
	if (rh_json_get(page, "description"))
		printf("           %s\n", explain_text(page, "description"));
	explain_print_limits(page, "           ");
}

static void explain_print_types(const struct rh_json *types)
{
	const struct rh_json *row = rh_json_first(types);

	if (row)
		puts("\nREPLICA TYPES");
	for (; row; row = rh_json_next(row)) {
		int64_t replicas = 0;

		(void)rh_json_integer(rh_json_get(row, "replicas"), &replicas);
		printf("  %-10s default %d%s%s\n", explain_text(row, "name"), (int)replicas,
		       rh_json_get(row, "rules") ? "; " : "", explain_text(row, "rules"));
	}
}

static void explain_print_rules(const struct rh_json *rules)
{
	const struct rh_json *rule = rh_json_first(rules);

	if (rule)
		puts("\nRULES");
	for (; rule; rule = rh_json_next(rule))
		printf("  %s\n", rh_json_string(rule));
}

static void explain_print_fields(const struct rh_json *fields)
{
	const struct rh_json *row = rh_json_first(fields);

	if (row)
		puts("\nFIELDS");
	for (; row; row = rh_json_next(row)) {
		printf("  %s <%s>\n", explain_text(row, "path"), explain_text(row, "type"));
		if (rh_json_get(row, "description"))
			printf("      %s\n", explain_text(row, "description"));
		explain_print_limits(row, "      ");
	}
}

/* One thing that the plugin adds; @p what stands before its name, unless it is a variable. */
static void explain_print_added(const struct rh_json *row, const char *what)
{
	const struct rh_json *type = rh_json_first(rh_json_get(row, "types"));

	printf("  %s%s%s", what, *what ? " " : "", explain_text(row, "name"));
	for (const char *comma = " ("; type; type = rh_json_next(type), comma = ", ")
		printf("%s%s%s", comma, rh_json_string(type), rh_json_next(type) ? "" : ")");
	printf("\n      %s%s%s\n", explain_text(row, "value"), rh_json_get(row, "when") ? "; when " : "",
	       explain_text(row, "when"));
	if (rh_json_get(row, "source"))
		printf("      from %s\n", explain_text(row, "source"));
}

/* Variables first, then whatever else there is, in the plugin's order. */
static void explain_print_contract(const struct rh_json *contract, bool variables)
{
	bool titled = false;

	for (const struct rh_json *row = rh_json_first(contract); row; row = rh_json_next(row)) {
		const char *what = explain_text(row, "what");

		if ((strcmp(what, "env") == 0) != variables)
			continue;
		if (!titled)
			puts(variables ? "\nENVIRONMENT" : "\nFURTHER ADDITIONS");
		titled = true;
		explain_print_added(row, variables ? "" : what);
	}
}

static void explain_print_settings(const struct rh_json *page)
{
	const struct rh_json *row = rh_json_first(rh_json_get(page, "settings"));

	if (row)
		printf("\nSETTINGS in section [plugin %s] of roundhouse.ini\n", explain_text(page, "plugin.name"));
	for (; row; row = rh_json_next(row)) {
		const struct rh_json *fallback = rh_json_get(row, "default");
		rh_auto_free char *text = fallback ? rh_json_text(fallback) : NULL;

		printf("  %s <%s>\n      %s\n", rh_json_key(row), explain_text(row, "type"), explain_text(row, "description"));
		if (text)
			printf("      default %s\n", rh_json_string(fallback) ? rh_json_string(fallback) : text);
	}
}

static void explain_print(const struct rh_json *page)
{
	explain_print_head(page);
	if (rh_json_get(page, "path"))
		explain_print_field(page);
	explain_print_types(rh_json_get(page, "replicaTypes"));
	explain_print_rules(rh_json_get(page, "rules"));
	explain_print_fields(rh_json_get(page, "fields"));
	explain_print_contract(rh_json_get(page, "contract"), true);
	explain_print_contract(rh_json_get(page, "contract"), false);
	explain_print_settings(page);
}

static int explain_run(const struct rh_cli *cli)
{
	rh_auto_session session = {0};
	rh_auto(json) page = NULL;
	struct rh_error err = {0};
	int r = rh_session_open(cli, &session, &err);

	if (r == 0)
		r = rh_explain(session.host, cli->operands[0], &page, &err);
	if (r < 0)
		return rh_cli_end(cli, r, &err);
	if (rh_cli_wants_json(cli))
		return rh_cli_put_json(page) < 0 ? rh_cli_fail(cli, RH_EXIT_FAILED, "out of memory") : RH_EXIT_OK;
	explain_print(page);
	return RH_EXIT_OK;
}

static const struct rh_option explain_options[] = {
	{"output", 'o', "FORMAT", "text|json", "how to print the page"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_explain = {
	.name = "explain",
	.synopsis = "KIND[.FIELD...]",
	.summary = "show the fields, defaults, rules and environment of a kind, or one field",
	.details = "KIND is the kind, its plural or its singular, in any case, with or without its group as in "
			   "pytorchjobs.kubeflow.org.\nOf several versions it is the stored one; "
			   "mpijob.v1.kubeflow.org names one. What is shown is the plugin's own "
			   "description: its\n"
			   "replica types, the fields of spec, and what its pods get beside what the job says: variables, init\n"
			   "containers, volumes, further objects, and its settings. With a path, as in "
			   "`pytorchjob.spec.elasticPolicy` or\n"
			   "`tfjob.spec.tfReplicaSpecs.Worker.template.spec.containers`, that field and what is below it.\n\n"
			   "Exit status: 0 shown, 2 wrong arguments, no such kind or field.",
	.options = explain_options,
	.operands_min = 1,
	.operands_max = 1,
	.run = explain_run,
};
