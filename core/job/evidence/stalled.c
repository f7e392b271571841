/* SPDX-License-Identifier: Apache-2.0 */
#include "job/evidence/stalled.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define STALLED_MARK "rh_comm: "
#define STALLED_GO_ON STALLED_MARK "ranks go on"
#define STALLED_WAITS " has waited "
#define STALLED_MAX 1000

static bool stalled_begins(const char *line, size_t length, const char *with)
{
	return length >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

/* "rh_comm: rank 3 has waited …" */
static bool stalled_is_report(const char *line, size_t length)
{
	size_t at = strlen(STALLED_MARK "rank ");

	if (!stalled_begins(line, length, STALLED_MARK "rank "))
		return false;
	at += strspn(line + at, "0123456789");
	return at < length && stalled_begins(line + at, length - at, STALLED_WAITS);
}

char *rh_evidence_stalled(const char *log)
{
	const char *report = NULL;
	size_t report_length = 0;
	char *text;

	for (const char *line = log; *line;) {
		size_t length = strcspn(line, "\n");

		if (stalled_begins(line, length, STALLED_GO_ON))
			report = NULL;
		if (stalled_is_report(line, length)) {
			report = line + strlen(STALLED_MARK);
			report_length = length - strlen(STALLED_MARK);
		}
		line += length + (line[length] == '\n');
	}
	if (!report)
		return NULL;
	text = rh_strndup(report, report_length < STALLED_MAX ? report_length : STALLED_MAX);
	for (char *at = text; at && *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	return text;
}
