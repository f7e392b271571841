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
#define STALLED_RANKS " ranks"
#define STALLED_LAST " comes last: "
#define STALLED_IN_TIME " no longer comes last"
#define STALLED_MAX 1000

static bool stalled_begins(const char *line, size_t length, const char *with)
{
	return length >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

/* @return what follows "rh_comm: rank 3"; NULL: the line begins otherwise */
static const char *stalled_after_rank(const char *line, size_t length)
{
	size_t at = strlen(STALLED_MARK "rank ");

	if (!stalled_begins(line, length, STALLED_MARK "rank "))
		return NULL;
	at += strspn(line + at, "0123456789");
	return at < length ? line + at : NULL;
}

/* "rh_comm: rank 3 has waited …" */
static bool stalled_is_report(const char *line, size_t length)
{
	const char *rest = stalled_after_rank(line, length);

	return rest && stalled_begins(rest, length - (size_t)(rest - line), STALLED_WAITS);
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

/* "rh_comm: 4 ranks …", the first line of an attempt */
static bool stalled_is_start(const char *line, size_t length)
{
	size_t at = strlen(STALLED_MARK);
	size_t digits;

	if (!stalled_begins(line, length, STALLED_MARK))
		return false;
	digits = strspn(line + at, "0123456789");
	return digits > 0 && stalled_begins(line + at + digits, length - at - digits, STALLED_RANKS);
}

void rh_evidence_slow(const char *log, bool *is_slow)
{
	for (const char *line = log; *line;) {
		size_t length = strcspn(line, "\n");
		const char *rest = stalled_after_rank(line, length);
		size_t left = rest ? length - (size_t)(rest - line) : 0;

		/* "rh_comm: rank 3 at 10.0.0.7 comes last: …" */
		if (rest && stalled_begins(rest, left, " at ") && memmem(rest, left, STALLED_LAST, strlen(STALLED_LAST)))
			*is_slow = true;
		else if (rest && stalled_begins(rest, left, STALLED_IN_TIME))
			*is_slow = false;
		else if (stalled_is_start(line, length))
			*is_slow = false;
		line += length + (line[length] == '\n');
	}
}
