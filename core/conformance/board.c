/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/board.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/** The finding to count instead of adding one; NULL: it is to be added. */
static struct rh_report_finding *board_find(struct rh_board *board, enum rh_check check, bool warning, const char *what)
{
	struct rh_report_finding *last = NULL;
	size_t of_check = 0;

	for (size_t i = 0; i < board->count; i++) {
		struct rh_report_finding *finding = &board->findings[i];

		if (finding->check != (int32_t)check)
			continue;
		if (finding->warning == (int32_t)warning && strcmp(finding->what, what) == 0)
			return finding;
		last = finding;
		of_check++;
	}
	return of_check < RH_REPORT_PER_CHECK && board->count < RH_BOARD_FINDINGS ? NULL : last;
}

static void board_put(struct rh_board *board, enum rh_check check, bool warning, const char *fmt, va_list args)
	__attribute__((format(printf, 4, 0)));

static void board_put(struct rh_board *board, enum rh_check check, bool warning, const char *fmt, va_list args)
{
	char what[sizeof(board->findings[0].what)];
	struct rh_report_finding *finding;

	if (vsnprintf(what, sizeof(what), fmt, args) >= (int)sizeof(what))
		rh_mark_cut(what, sizeof(what));
	finding = board_find(board, check, warning, what);
	if (finding) {
		finding->count++;
		return;
	}
	if (board->count >= RH_BOARD_FINDINGS)
		return;
	finding = &board->findings[board->count++];
	*finding = (struct rh_report_finding){.check = (int32_t)check, .warning = warning, .count = 1};
	rh_copy(finding->where, sizeof(finding->where), board->where);
	rh_copy(finding->what, sizeof(finding->what), what);
}

void rh_board_add(struct rh_board *board, enum rh_check check, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	board_put(board, check, false, fmt, args);
	va_end(args);
}

void rh_board_warn(struct rh_board *board, enum rh_check check, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	board_put(board, check, true, fmt, args);
	va_end(args);
}
