/* SPDX-License-Identifier: Apache-2.0 */
#include "job/evidence/stalled.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define STALLED_MARK "rh_comm: "
#define STALLED_GO_ON STALLED_MARK "ranks go on"
#define STALLED_WAITS " has waited "
#define STALLED_FOR "; it waited for rank "
#define STALLED_AT " at "
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

void rh_evidence_stalled_rank(const char *report, int32_t *ret_rank, char ret_address[RH_STALLED_ADDRESS_SIZE])
{
	const char *at = strstr(report, STALLED_FOR);
	char *end = NULL;
	long rank = -1;

	*ret_rank = -1;
	ret_address[0] = '\0';
	if (at && at[strlen(STALLED_FOR)] >= '0' && at[strlen(STALLED_FOR)] <= '9')
		rank = strtol(at + strlen(STALLED_FOR), &end, 10);
	if (rank < 0 || rank > INT32_MAX)
		return;
	*ret_rank = (int32_t)rank;
	if (rh_starts_with(end, STALLED_AT)) {
		size_t length = strcspn(end + strlen(STALLED_AT), " ");

		if (length < RH_STALLED_ADDRESS_SIZE)
			rh_copy(ret_address, length + 1, end + strlen(STALLED_AT));
	}
}
