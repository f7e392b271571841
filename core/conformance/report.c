/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/report.h"

#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"

static const struct rh_check_info report_checks[RH_CHECK_COUNT] = {
	[RH_CHECK_LOAD] = {"load", "the file loads and fits this host's ABI",
                       "see \"What the host checks\" in docs/plugin-abi.md"},
	[RH_CHECK_DEFINITION] = {"definition", "schema, rules, columns, rights and contract of each kind are well formed",
                             "correct the JSON texts of struct rh_kind; `roundhouse crds` prints what becomes of them"},
	[RH_CHECK_EXPORTS] = {"exports", "the file exports rh_plugin_entry_v1 alone",
                          "compile with -fvisibility=hidden, or link with a version script, so that two plugins cannot "
                          "use each other's functions"},
	[RH_CHECK_CRASH] = {"crash", "no operation crashes",
                        "every service may return NULL or -1 for what a job does not have: check it"},
	[RH_CHECK_EXIT] = {"exit", "no operation ends the process",
                       "call fail() of the services and return its code instead of exit()"},
	[RH_CHECK_TIME] = {"time", "every operation answers in time and never blocks",
                       "remove endless loops, sleeps and waits; an operation runs between two events of the host"},
	[RH_CHECK_MEMORY] = {"memory", "no operation runs out of memory", "allocate what the job needs, not what it could"},
	[RH_CHECK_LEAK] = {"leak", "no operation keeps memory", "free what an operation allocates before it returns"},
	[RH_CHECK_THREADS] = {"threads", "no operation starts a thread or a process",
                          "answer from the view; what must run belongs into a pod"},
	[RH_CHECK_FILES] = {"files", "no operation reads or writes files, or uses the network",
                        "answer from the view; read what you need through setting()"},
	[RH_CHECK_DESCRIPTORS] = {"descriptors", "no operation leaves a descriptor open", "close it before you return"},
	[RH_CHECK_OUTPUT] = {"output", "no operation writes to standard output or standard error",
                         "use note() of the services"},
	[RH_CHECK_PROCESS] = {"process", "environment, locale, folder, signals and limits of the process stay as they are",
                          "a plugin shares its process with others: leave what belongs to all of it alone"},
	[RH_CHECK_ANSWERS] = {"answers", "the host takes every answer about a job that is valid",
                          "pass texts of the job through quote() before they become part of JSON, and return what "
                          "services return"},
	[RH_CHECK_TEXTS] = {"texts", "every text is UTF-8", "build texts from whole characters; do not cut them by bytes"},
	[RH_CHECK_CORE] = {"core", "what the core writes into pods stays as it is",
                       "edit spec, labels and annotations of your own alone"},
	[RH_CHECK_ENV] = {"env", "environment variables have valid names and values",
                      "a name has letters, digits, '_', '-' and '.', and no digit in front; each is added once"},
	[RH_CHECK_OBJECTS] = {"objects", "objects have what an API server asks for",
                          "apiVersion, kind and a metadata.name that is a DNS-1123 name; namespaced kinds alone, each "
                          "object once"},
	[RH_CHECK_RBAC] = {"rbac", "rbac_rules cover every object",
                       "add the missing rule to rbac_rules of the kind, with create, list, update and delete"},
	[RH_CHECK_CONTRACT] = {"contract", "the contract names what pods and objects get",
                           "correct contract of the kind; `roundhouse explain` shows it to users"},
	[RH_CHECK_VERDICTS] = {"verdicts", "verdicts do not contradict each other",
                           "of RUNNING and RESTARTING give one, RESTARTING never beside SUCCEEDED; a job whose "
                           "replicas all ended has succeeded or failed"},
	[RH_CHECK_PURITY] = {"purity", "the same question has the same answer",
                         "keep nothing between calls; use no clock, no random numbers, no address of memory and no "
                         "environment"},
	[RH_CHECK_GOLDEN] = {"golden", "objects are the recorded ones",
                         "mend the plugin; or, where the change is meant, record again with --record"},
	[RH_CHECK_SERVER] = {"server", "the API server takes definitions, rights, jobs, pods and Services, as dry runs",
                         "mend what its message names"},
};

const struct rh_check_info *rh_check_info(enum rh_check check)
{
	return &report_checks[check];
}

void rh_report_deinit(struct rh_report *report)
{
	rh_free(report->findings);
	*report = (struct rh_report){0};
}

int rh_report_add(struct rh_report *report, enum rh_check check, bool warning, const char *where, const char *what)
{
	struct rh_report_finding *grown = rh_realloc_array(report->findings, report->count + 1, sizeof(*grown));
	struct rh_report_finding *finding;

	if (!grown)
		return RH_ENOMEM;
	report->findings = grown;
	finding = &grown[report->count++];
	*finding = (struct rh_report_finding){.check = check, .warning = warning, .count = 1};
	rh_copy(finding->where, sizeof(finding->where), where);
	rh_copy(finding->what, sizeof(finding->what), what);
	return 0;
}

size_t rh_report_count(const struct rh_report *report, bool warnings)
{
	size_t count = 0;

	for (size_t i = 0; i < report->count; i++)
		count += (report->findings[i].warning != 0) == warnings;
	return count;
}

/** How a check ended: "failed" before "warning" before "ok". */
static const char *report_result(const struct rh_report *report, int check)
{
	const char *result = report->skipped[check] ? "skipped" : "ok";

	for (size_t i = 0; i < report->count; i++) {
		if (report->findings[i].check != check)
			continue;
		if (!report->findings[i].warning)
			return "failed";
		result = "warning";
	}
	return result;
}

static const char *report_colour(const char *result)
{
	static const struct {
		const char *result;
		const char *code;
	} colours[] = {{"failed", "\033[31m"}, {"warning", "\033[33m"}, {"ok", "\033[32m"}};

	for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++) {
		if (strcmp(colours[i].result, result) == 0)
			return colours[i].code;
	}
	return "\033[2m";
}

/** Append a text whose further lines are indented like its first. */
static void report_lines(const char *text, struct rh_str *out)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		rh_str_append(out, "          ");
		rh_str_append_line(out, text, length, sizeof(((struct rh_report_finding *)0)->what));
		rh_str_append(out, "\n");
		text += length + (text[length] == '\n');
	}
}

static void report_text_finding(const struct rh_report_finding *finding, struct rh_str *out)
{
	rh_str_append(out, "        - ");
	rh_str_append_line(out, finding->where, strlen(finding->where), sizeof(finding->where));
	if (finding->count > 1)
		rh_str_appendf(out, " (and %d more)", finding->count - 1);
	rh_str_append(out, "\n");
	report_lines(finding->what, out);
}

static void report_text_check(const struct rh_report *report, int check, bool colour, struct rh_str *out)
{
	const char *result = report_result(report, check);
	bool found = false;

	rh_str_appendf(out, "%s%-7s%s %-12s ", colour ? report_colour(result) : "", result, colour ? "\033[0m" : "",
	               report_checks[check].name);
	rh_str_appendf(out, "%s\n", report_checks[check].good);
	for (size_t i = 0; i < report->count; i++) {
		if (report->findings[i].check != check)
			continue;
		report_text_finding(&report->findings[i], out);
		found = true;
	}
	if (found)
		rh_str_appendf(out, "        fix: %s\n", report_checks[check].fix);
}

void rh_report_text(const struct rh_report *report, bool colour, struct rh_str *out)
{
	size_t failed = rh_report_count(report, false);
	size_t warnings = rh_report_count(report, true);
	char took[RH_TIME_SIZE];

	for (int i = 0; i < RH_CHECK_COUNT; i++)
		report_text_check(report, i, colour, out);
	rh_str_appendf(out, "\n%s: %s: %zu failure%s, %zu warning%s; %zu jobs, %zu calls, %s\n", report->file,
	               failed ? "failed" : "passed", failed, failed == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s",
	               report->cases, report->calls, rh_duration_format(report->took, took));
}

static int report_json_finding(const struct rh_report_finding *finding, struct rh_json *list)
{
	struct rh_json *row = rh_json_new_object();

	if (!row)
		return RH_ENOMEM;
	if (rh_json_set_string(row, "severity", finding->warning ? "warning" : "failure") < 0 ||
	    rh_json_set_string(row, "where", finding->where) < 0 || rh_json_set_string(row, "what", finding->what) < 0 ||
	    rh_json_set_integer(row, "count", finding->count) < 0) {
		rh_json_free(row);
		return RH_ENOMEM;
	}
	return rh_json_append(list, row);
}

static int report_json_check(const struct rh_report *report, int check, struct rh_json *list)
{
	struct rh_json *row = rh_json_new_object();
	struct rh_json *findings = row ? rh_json_ensure_array(row, "findings") : NULL;
	int r = rh_json_append(list, row);

	if (r < 0 || !findings)
		return RH_ENOMEM;
	if (rh_json_set_string(row, "name", report_checks[check].name) < 0 ||
	    rh_json_set_string(row, "result", report_result(report, check)) < 0 ||
	    rh_json_set_string(row, "fix", report_checks[check].fix) < 0)
		return RH_ENOMEM;
	for (size_t i = 0; i < report->count && r == 0; i++) {
		if (report->findings[i].check == check)
			r = report_json_finding(&report->findings[i], findings);
	}
	return r;
}

struct rh_json *rh_report_json(const struct rh_report *report)
{
	rh_auto(json) json = rh_json_new_object();
	struct rh_json *checks = NULL;
	int r = 0;

	if (!json || rh_json_set_string(json, "file", report->file) < 0 ||
	    rh_json_set_string(json, "plugin", report->plugin) < 0 ||
	    rh_json_set_string(json, "release", report->release) < 0 ||
	    rh_json_set_integer(json, "failures", (int64_t)rh_report_count(report, false)) < 0 ||
	    rh_json_set_integer(json, "warnings", (int64_t)rh_report_count(report, true)) < 0 ||
	    rh_json_set_integer(json, "jobs", (int64_t)report->cases) < 0 ||
	    rh_json_set_integer(json, "calls", (int64_t)report->calls) < 0)
		return NULL;
	checks = rh_json_ensure_array(json, "checks");
	for (int i = 0; i < RH_CHECK_COUNT && checks && r == 0; i++)
		r = report_json_check(report, i, checks);
	return checks && r == 0 ? rh_take(json) : NULL;
}

/** Append text of XML; control characters that XML 1.0 does not have become '?'. */
static void report_xml(const char *text, struct rh_str *out)
{
	for (; *text; text++) {
		if (*text == '<')
			rh_str_append(out, "&lt;");
		else if (*text == '>')
			rh_str_append(out, "&gt;");
		else if (*text == '&')
			rh_str_append(out, "&amp;");
		else if (*text == '"')
			rh_str_append(out, "&quot;");
		else if ((unsigned char)*text < ' ' && !strchr("\n\t", *text))
			rh_str_append(out, "?");
		else
			rh_str_append_bytes(out, text, 1);
	}
}

static void report_junit_check(const struct rh_report *report, int check, struct rh_str *out)
{
	bool failed = strcmp(report_result(report, check), "failed") == 0;

	rh_str_append(out, "  <testcase classname=\"roundhouse.plugins\" name=\"");
	report_xml(report_checks[check].name, out);
	rh_str_append(out, "\">\n");
	if (report->skipped[check] && !failed)
		rh_str_append(out, "    <skipped/>\n");
	if (failed) {
		rh_str_append(out, "    <failure message=\"");
		report_xml(report_checks[check].fix, out);
		rh_str_append(out, "\">");
	}
	for (int warning = 0; warning < 2; warning++) {
		bool open = false;

		for (size_t i = 0; i < report->count; i++) {
			const struct rh_report_finding *finding = &report->findings[i];

			if (finding->check != check || finding->warning != warning)
				continue;
			rh_str_append(out, warning && !open ? "    <system-out>" : "");
			open = true;
			report_xml(finding->where, out);
			rh_str_append(out, ": ");
			report_xml(finding->what, out);
			rh_str_append(out, "\n");
		}
		rh_str_append(out, warning == 0 && failed ? "</failure>\n" : open && warning ? "</system-out>\n" : "");
	}
	rh_str_append(out, "  </testcase>\n");
}

void rh_report_junit(const struct rh_report *report, struct rh_str *out)
{
	size_t failed = 0, skipped = 0;

	for (int i = 0; i < RH_CHECK_COUNT; i++) {
		failed += strcmp(report_result(report, i), "failed") == 0;
		skipped += strcmp(report_result(report, i), "skipped") == 0;
	}
	rh_str_append(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"");
	report_xml(report->file, out);
	rh_str_appendf(out, "\" tests=\"%d\" failures=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n", RH_CHECK_COUNT, failed,
	               skipped, (double)report->took / RH_SECOND);
	for (int i = 0; i < RH_CHECK_COUNT; i++)
		report_junit_check(report, i, out);
	rh_str_append(out, "</testsuite>\n");
}
