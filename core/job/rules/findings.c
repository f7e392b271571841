/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rules/findings.h"

#include <stdarg.h>

#include <string.h>

void rh_findings_deinit(struct rh_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		rh_free(findings->items[i].path);
		rh_free(findings->items[i].detail);
	}
	rh_free(findings->items);
	*findings = (struct rh_findings){0};
}

/* Whether the list takes no more: the same is there, or enough of its severity are. */
static bool findings_is_enough(const struct rh_findings *findings, const struct rh_finding *expected)
{
	size_t same = 0;

	for (size_t i = 0; i < findings->count; i++) {
		const struct rh_finding *item = &findings->items[i];

		if (item->severity != expected->severity)
			continue;
		if (strcmp(item->path, expected->path) == 0 && strcmp(item->detail, expected->detail) == 0)
			return true;
		same++;
	}
	return same >= RH_FINDINGS_MAX;
}

static int findings_grow(struct rh_findings *findings)
{
	size_t capacity = findings->capacity ? 2 * findings->capacity : 8;
	struct rh_finding *items;

	if (findings->count < findings->capacity)
		return 0;
	items = rh_realloc_array(findings->items, capacity, sizeof(*items));
	if (!items)
		return RH_ENOMEM;
	findings->items = items;
	findings->capacity = capacity;
	return 0;
}

/* Takes both texts; NULL counts as out of memory. */
static int findings_push(struct rh_findings *findings, enum rh_severity severity, char *path_taken, char *detail_taken)
{
	rh_auto_free char *path = path_taken;
	rh_auto_free char *detail = detail_taken;
	struct rh_finding finding = {.severity = severity, .path = path, .detail = detail};

	if (!path || !detail || findings->failed) {
		findings->failed = true;
		return RH_ENOMEM;
	}
	if (findings_is_enough(findings, &finding))
		return 0;
	if (findings_grow(findings) != 0) {
		findings->failed = true;
		return RH_ENOMEM;
	}
	findings->items[findings->count++] = finding;
	path = NULL;
	detail = NULL;
	return 0;
}

int rh_findings_add(struct rh_findings *findings, enum rh_severity severity, const char *path, const char *fmt, ...)
{
	va_list args;
	char *detail;

	va_start(args, fmt);
	detail = rh_vasprintf(fmt, args);
	va_end(args);
	return findings_push(findings, severity, rh_strdup(path), detail);
}

int rh_findings_at(struct rh_findings *findings, enum rh_severity severity, const struct rh_place *place,
                   const char *fmt, ...)
{
	rh_auto_str path = {0};
	va_list args;
	char *detail;

	rh_place_print(place, false, &path);
	va_start(args, fmt);
	detail = rh_vasprintf(fmt, args);
	va_end(args);
	return findings_push(findings, severity, rh_str_take(&path), detail);
}

size_t rh_findings_errors(const struct rh_findings *findings)
{
	size_t errors = 0;

	for (size_t i = 0; i < findings->count; i++)
		errors += findings->items[i].severity == RH_FINDING_ERROR;
	return errors;
}

void rh_findings_print_v1(const struct rh_findings *findings, struct rh_str *out)
{
	bool several = rh_findings_errors(findings) > 1;
	const char *separator = several ? "[" : "";

	for (size_t i = 0; i < findings->count; i++) {
		const struct rh_finding *item = &findings->items[i];

		if (item->severity != RH_FINDING_ERROR)
			continue;
		rh_str_appendf(out, "%s%s: %s", separator, item->path, item->detail);
		separator = ", ";
	}
	if (several)
		rh_str_append(out, "]");
}

void rh_findings_type(struct rh_findings *findings, const struct rh_place *place, const char *expected,
                      const struct rh_json *found)
{
	rh_auto_str shown = {0};

	rh_fields_show(found, &shown);
	findings->failed = findings->failed || shown.failed;
	(void)rh_findings_at(findings, RH_FINDING_ERROR, place, "Invalid value: %s: must be of type %s",
	                     rh_str_text(&shown), expected);
}
