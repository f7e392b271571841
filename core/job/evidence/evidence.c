/* SPDX-License-Identifier: Apache-2.0 */
#include "job/evidence/evidence.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

#include "job/evidence/exit.h"
#include "job/evidence/scan.h"

/* Parts of an output that an excerpt leaves out. */
#define EVIDENCE_CUT "  ...\n"
/* Most of an excerpt that the message of an exception may take, as a part of the whole. */
#define EVIDENCE_MESSAGE_PART 2
/* How many last lines people are shown where nothing was raised. */
#define EVIDENCE_LAST_LINES 12
/* Longest line of a launcher's report that is shown, in bytes. */
#define EVIDENCE_CHILD_MAX 160

static const char *const evidence_names[RH_BLAMES] = {"none",  "cause",     "unknown", "killed", "summary",
                                                      "stuck", "unreached", "late",    "victim", "hung"};

bool rh_blame_is_consequence(enum rh_blame blame)
{
	return blame >= RH_BLAME_SUMMARY && blame <= RH_BLAME_VICTIM;
}

const char *rh_blame_name(enum rh_blame blame)
{
	return evidence_names[blame];
}

enum rh_blame rh_blame_of(const char *name)
{
	for (int i = 0; name && i < RH_BLAMES; i++) {
		if (strcmp(name, evidence_names[i]) == 0)
			return (enum rh_blame)i;
	}
	return RH_BLAME_NONE;
}

/* A crash is its own cause; other signals come from outside. */
static enum rh_blame evidence_of_signal(int number)
{
	switch (number) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
		return RH_BLAME_CAUSE;
	case SIGKILL:
	case SIGTERM:
	case SIGINT:
	case SIGHUP:
		return RH_BLAME_KILLED;
	default:
		return RH_BLAME_UNKNOWN;
	}
}

/* By exit code and reason alone. */
static enum rh_blame evidence_of_code(const struct rh_end *end)
{
	if (strcmp(end->reason, "OOMKilled") == 0 || strcmp(end->reason, "StartError") == 0 || end->exit_code == 126 ||
	    end->exit_code == 127)
		return RH_BLAME_CAUSE;
	if (end->exit_code < 0)
		return RH_BLAME_KILLED;
	if (end->exit_code == 0)
		return RH_BLAME_NONE;
	return evidence_of_signal(rh_exit_signal(end->exit_code));
}

/* The report of a launcher about one of its processes. It ends the others by SIGTERM, so another signal is not a
 * consequence.
 */
static enum rh_blame evidence_of_child(const struct rh_evidence_child *child)
{
	if (child->code == -SIGTERM)
		return RH_BLAME_KILLED;
	return child->code < 0 && evidence_of_signal(-child->code) == RH_BLAME_CAUSE ? RH_BLAME_CAUSE : RH_BLAME_UNKNOWN;
}

/* The process that a launcher reports on and that is likeliest the cause; the first of several. NULL: there is none */
static const struct rh_evidence_child *evidence_child(const struct rh_evidence_scan *scan)
{
	const struct rh_evidence_child *best = NULL;

	for (size_t i = 0; i < scan->child_count; i++) {
		const struct rh_evidence_child *child = &scan->children[i];

		if (!best || best->code == -SIGTERM || evidence_of_child(child) < evidence_of_child(best))
			best = child;
	}
	return best;
}

/* Python ends with 1 where it writes a traceback; any other end of a process says more than the traceback of a victim.
 */
static bool evidence_child_matters(const struct rh_evidence_scan *scan, const struct rh_evidence_child *child)
{
	if (!child || child->code == -SIGTERM)
		return false;
	if (!scan->chosen)
		return true;
	return child->code != 0 && child->code != 1 && evidence_of_child(child) < rh_evidence_block_blame(scan->chosen);
}

/* The only process that torchrun reports as stopped; NULL: it reports none, or several. */
static const struct rh_evidence_child *evidence_stopped_child(const struct rh_evidence_scan *scan)
{
	const struct rh_evidence_child *found = NULL;

	for (size_t i = 0; i < scan->child_count; i++) {
		if (scan->children[i].code != -SIGTERM)
			continue;
		if (found)
			return NULL;
		found = &scan->children[i];
	}
	return found;
}

/* The evidence of the last lines, where no exception was raised. */
static enum rh_blame evidence_of_lines(const struct rh_evidence_scan *scan, enum rh_blame code)
{
	if (scan->row && scan->row->blame != RH_BLAME_SUMMARY)
		return scan->row->blame;
	if (scan->complaint && (code == RH_BLAME_UNKNOWN || code == RH_BLAME_SUMMARY))
		return RH_BLAME_CAUSE;
	return scan->row && !scan->child_count ? RH_BLAME_SUMMARY : code;
}

/* Where it is needed, what was read is chosen from: the traceback, the report on a process, or the last lines. */
struct evidence_choice {
	enum rh_blame blame;
	const struct rh_evidence_block *block;
	const struct rh_evidence_child *child; /* NULL: no launcher names one */
};

/* A kernel that kills for want of memory is beyond what was written before. */
static struct evidence_choice evidence_choose(const struct rh_end *end, const struct rh_evidence_scan *scan)
{
	struct evidence_choice choice = {.blame = evidence_of_code(end), .child = evidence_child(scan)};
	enum rh_blame code = choice.blame;

	if (choice.blame == RH_BLAME_NONE || strcmp(end->reason, "OOMKilled") == 0)
		return choice;
	if (scan->chosen && !evidence_child_matters(scan, choice.child)) {
		choice.blame = rh_evidence_block_blame(scan->chosen);
		choice.block = scan->chosen;
	} else if (evidence_child_matters(scan, choice.child)) {
		choice.blame = evidence_of_child(choice.child);
		if (choice.blame == RH_BLAME_UNKNOWN)
			choice.blame = evidence_of_lines(scan, choice.blame);
	} else if (code != RH_BLAME_KILLED) {
		choice.blame = scan->stopped ? RH_BLAME_STUCK : evidence_of_lines(scan, code);
	}
	/* one of those that were stopped had raised nothing: it is the one that the others waited for */
	if (choice.blame == RH_BLAME_LATE && choice.block && scan->stopped >= scan->raised)
		choice = (struct evidence_choice){.blame = RH_BLAME_STUCK, .child = evidence_stopped_child(scan)};
	if (choice.blame == RH_BLAME_UNKNOWN && scan->summary && !choice.child) {
		choice.blame = RH_BLAME_SUMMARY;
		choice.block = scan->summary;
	}
	/* Python ends with 1 for its exception, however much is written after it */
	if (choice.blame == RH_BLAME_UNKNOWN && end->exit_code == 1 && scan->survived && !choice.child) {
		choice.blame = rh_evidence_block_blame(scan->survived);
		choice.block = scan->survived;
	}
	return choice;
}

/* The number after the first "rank " or "Ranks " of the text, or -1. */
static int32_t evidence_accused(const char *text, size_t length)
{
	static const char *const words[] = {"rank ", "Ranks "};

	for (size_t i = 0; i < 2; i++) {
		size_t size = strlen(words[i]);
		const char *at = memmem(text, length, words[i], size);
		size_t rest = at ? length - (size_t)(at + size - text) : 0;
		int32_t rank = at ? rh_evidence_number(at + size, rest) : -1;

		if (rank >= 0)
			return rank;
	}
	return -1;
}

/* Whether no other process ended as this one did. */
static bool evidence_is_only(const struct rh_evidence_scan *scan, const struct rh_evidence_child *child)
{
	for (size_t i = 0; i < scan->child_count; i++) {
		if (&scan->children[i] != child && evidence_of_child(&scan->children[i]) == evidence_of_child(child) &&
		    scan->children[i].code != 1)
			return false;
	}
	return true;
}

/* Whether what is chosen is the end of the one process that the launcher reports on. */
static bool evidence_names_child(const struct rh_evidence_scan *scan, const struct evidence_choice *choice)
{
	if (!choice->child)
		return false;
	if (!choice->block)
		return evidence_is_only(scan, choice->child);
	return choice->block->rank < 0 && scan->child_count == 1 && scan->raised == 1;
}

struct rh_evidence rh_evidence_read(const struct rh_end *end)
{
	struct rh_evidence_scan scan;
	struct evidence_choice choice;
	struct rh_evidence_line line;
	struct rh_evidence evidence = {.rank = -1, .accused = -1};
	const struct rh_evidence_row *row;

	rh_evidence_scan(end->output, &scan);
	choice = evidence_choose(end, &scan);
	line = choice.block ? choice.block->headline : rh_evidence_bare(&scan.decisive);
	if (!choice.block && choice.child && !scan.complaint && (!scan.row || scan.row->blame == RH_BLAME_SUMMARY))
		line = rh_evidence_bare(choice.child->exit.length ? &choice.child->exit : &choice.child->line);
	row = choice.block ? choice.block->row : scan.row;
	evidence.blame = choice.blame;
	evidence.raised = choice.block != NULL;
	evidence.headline = line.text ? line.text : "";
	evidence.headline_length = line.length;
	if (choice.block)
		evidence.rank = choice.block->rank;
	if (evidence_names_child(&scan, &choice))
		evidence.rank = choice.child->rank;
	if (row && row->accuses && evidence.blame >= RH_BLAME_UNREACHED)
		evidence.accused = evidence_accused(evidence.headline, evidence.headline_length);
	return evidence;
}

static void evidence_append_line(const struct rh_evidence_line *line, struct rh_str *out)
{
	rh_str_append_bytes(out, line->text, line->length);
	rh_str_append(out, "\n");
}

/* As much of one line as fits, in whole characters. @return whether all of it did */
static bool evidence_append_fitting(const struct rh_evidence_line *line, size_t room, struct rh_str *out)
{
	size_t length = line->length;

	if (length + 1 <= room) {
		evidence_append_line(line, out);
		return true;
	}
	length = room > 0 ? room - 1 : 0;
	while (length > 0 && ((unsigned char)line->text[length] & 0xC0) == 0x80)
		length--;
	if (length > 0) {
		rh_str_append_bytes(out, line->text, length);
		rh_str_append(out, "\n");
	}
	return false;
}

/* Lines of one stream between two places. */
struct evidence_part {
	struct rh_evidence_line prefix;
	const char *start;
	const char *end;
};

/* Lines from the start on. */
static void evidence_append_head(const struct evidence_part *part, size_t room, struct rh_str *out)
{
	const char *at = part->start;
	size_t limit = out->length + room;
	struct rh_evidence_line line;

	while (rh_evidence_next(&at, part->end, &line)) {
		if (!rh_evidence_has_prefix(&line, &part->prefix))
			continue;
		if (!evidence_append_fitting(&line, limit - out->length, out))
			return;
	}
}

static size_t evidence_size(const struct evidence_part *part)
{
	const char *at = part->start;
	struct rh_evidence_line line;
	size_t size = 0;

	while (rh_evidence_next(&at, part->end, &line))
		size += rh_evidence_has_prefix(&line, &part->prefix) ? line.length + 1 : 0;
	return size;
}

/* The last whole lines; the first line and a mark replace those for which there is no room. */
static void evidence_append_tail(const struct evidence_part *part, size_t room, struct rh_str *out)
{
	size_t size = evidence_size(part);
	struct evidence_part rest = *part;
	struct rh_evidence_line line;
	size_t first;

	if (size <= room) {
		evidence_append_head(part, room, out);
		return;
	}
	(void)rh_evidence_next(&rest.start, part->end, &line);
	first = line.length + 1 + strlen(EVIDENCE_CUT);
	if (first > room) {
		(void)evidence_append_fitting(&line, room, out);
		return;
	}
	evidence_append_line(&line, out);
	rh_str_append_bytes(out, part->prefix.text, part->prefix.length);
	rh_str_append(out, EVIDENCE_CUT);
	first += part->prefix.length;
	while (evidence_size(&rest) > (room > first ? room - first : 0))
		(void)rh_evidence_next(&rest.start, part->end, &line);
	evidence_append_head(&rest, room, out);
}

/* A traceback: of its frames and of its message the first line and the last ones. */
static void evidence_append_block(const struct rh_evidence_block *block, size_t limit, struct rh_str *out)
{
	const char *headline = block->headline_line.text;
	struct evidence_part frames = {block->prefix, block->start, headline};
	struct evidence_part message = {block->prefix, headline, block->end};
	size_t needed = evidence_size(&message);
	size_t most = limit / EVIDENCE_MESSAGE_PART;

	evidence_append_tail(&frames, limit - (needed < most ? needed : most), out);
	evidence_append_tail(&message, limit - out->length, out);
}

/* The last lines, and before them the most specific one. */
static void evidence_append_last(const struct rh_evidence_scan *scan, size_t limit, struct rh_str *out)
{
	size_t first = scan->last_count;
	size_t size = 0;

	while (first > 0 && scan->last_count - first < EVIDENCE_LAST_LINES &&
	       size + scan->last[first - 1].length + 1 <= limit / 2)
		size += scan->last[--first].length + 1;
	if (first == scan->last_count || scan->decisive.text < scan->last[first].text)
		(void)evidence_append_fitting(&scan->decisive, first == scan->last_count ? limit : limit / 2, out);
	for (; first < scan->last_count; first++)
		evidence_append_line(&scan->last[first], out);
}

/* Where a launcher names the process. */
static void evidence_append_child(const struct rh_evidence_child *child, bool exit, struct rh_str *out)
{
	if (child->line.length < EVIDENCE_CHILD_MAX)
		evidence_append_line(&child->line, out);
	if (exit && child->exit.length > 0 && child->exit.length < EVIDENCE_CHILD_MAX)
		evidence_append_line(&child->exit, out);
}

void rh_evidence_excerpt(const struct rh_end *end, size_t limit, struct rh_str *out)
{
	struct rh_evidence_scan scan;
	struct evidence_choice choice;
	rh_auto_str text = {0};
	size_t room = limit - 2 * EVIDENCE_CHILD_MAX;

	rh_evidence_scan(end->output, &scan);
	choice = evidence_choose(end, &scan);
	if (choice.block)
		evidence_append_block(choice.block, room, &text);
	else
		evidence_append_last(&scan, room, &text);
	if (evidence_names_child(&scan, &choice))
		evidence_append_child(choice.child, !choice.block, &text);
	while (text.length > 0 && (unsigned char)text.data[text.length - 1] <= ' ')
		rh_str_cut(&text, text.length - 1);
	if (text.failed)
		out->failed = true;
	else
		rh_str_append(out, rh_str_text(&text));
}
