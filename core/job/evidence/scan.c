/* SPDX-License-Identifier: Apache-2.0 */
#include "job/evidence/scan.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Longest mark of a line. */
#define SCAN_PREFIX_MAX 40
/* Lines of a message beyond the first. */
#define SCAN_MESSAGE_LINES 40
/* A traceback that more lines follow was survived. */
#define SCAN_SURVIVED 40
/* Least characters that a report of a launcher is framed with. */
#define SCAN_FRAME 20
#define SCAN_STACK "frame #"
#define SCAN_TRACEBACK "Traceback (most recent call last):"

static bool scan_begins(const struct rh_evidence_line *line, const char *text)
{
	size_t length = strlen(text);

	return line->length >= length && memcmp(line->text, text, length) == 0;
}

static bool scan_holds(const struct rh_evidence_line *line, const char *text)
{
	return memmem(line->text, line->length, text, strlen(text)) != NULL;
}

/* The line without its mark. */
static struct rh_evidence_line scan_body(const struct rh_evidence_line *line)
{
	return (struct rh_evidence_line){.text = line->text + line->prefix, .length = line->length - line->prefix};
}

static struct rh_evidence_line scan_trim(struct rh_evidence_line line)
{
	while (line.length > 0 && (unsigned char)line.text[0] <= ' ') {
		line.text++;
		line.length--;
	}
	while (line.length > 0 && (unsigned char)line.text[line.length - 1] <= ' ')
		line.length--;
	return line;
}

struct rh_evidence_line rh_evidence_bare(const struct rh_evidence_line *line)
{
	return scan_trim(scan_body(line));
}

int32_t rh_evidence_number(const char *text, size_t length)
{
	int32_t number = 0;
	size_t at = 0;

	for (; at < length && isdigit((unsigned char)text[at]); at++) {
		if (at == 9)
			return -1;
		number = number * 10 + (text[at] - '0');
	}
	return at > 0 ? number : -1;
}

/* "[rank3]: ", "[default1]:", "[1,3]<stderr>:", "[3]<stdout>:". @return length of one mark at the start; 0: none */
static size_t scan_mark(const char *text, size_t length)
{
	size_t at = 1;
	bool digit = false;

	if (length < 4 || text[0] != '[')
		return 0;
	for (; at < length && at < SCAN_PREFIX_MAX && (isalnum((unsigned char)text[at]) || text[at] == ','); at++)
		digit = isdigit((unsigned char)text[at]);
	if (at >= length || text[at] != ']' || !digit)
		return 0;
	at++;
	if (at < length && text[at] == '<')
		at += strcspn(text + at, ">\n") + 1;
	if (at >= length || text[at] != ':')
		return 0;
	at++;
	return at < length && text[at] == ' ' ? at + 1 : at;
}

/* torchrun --tee puts its mark before that of torch. */
static size_t scan_marks(const char *text, size_t length)
{
	size_t first = scan_mark(text, length);

	return first ? first + scan_mark(text + first, length - first) : 0;
}

/* The rank that the marks name: of "[default1]:" it is a local one. */
static int32_t scan_rank(const struct rh_evidence_line *prefix)
{
	const char *at = memmem(prefix->text, prefix->length, "[rank", 5);
	const char *comma;
	size_t digits;

	if (at)
		return rh_evidence_number(at + 5, prefix->length - (size_t)(at + 5 - prefix->text));
	comma = prefix->length ? memchr(prefix->text, ',', prefix->length) : NULL;
	at = comma ? comma + 1 : prefix->text + 1;
	if (prefix->length < 2 || !memchr(prefix->text, '<', prefix->length))
		return -1;
	digits = prefix->length - (size_t)(at - prefix->text);
	return rh_evidence_number(at, digits);
}

bool rh_evidence_next(const char **at, const char *end, struct rh_evidence_line *ret_line)
{
	const char *start = *at;
	const char *stop = start < end ? memchr(start, '\n', (size_t)(end - start)) : NULL;

	if (start >= end)
		return false;
	*at = stop ? stop + 1 : end;
	stop = stop ? stop : end;
	*ret_line = (struct rh_evidence_line){.text = start, .length = (size_t)(stop - start)};
	ret_line->prefix = scan_marks(start, ret_line->length);
	return true;
}

bool rh_evidence_has_prefix(const struct rh_evidence_line *line, const struct rh_evidence_line *prefix)
{
	return line->prefix == prefix->length && memcmp(line->text, prefix->text, prefix->length) == 0;
}

enum rh_blame rh_evidence_block_blame(const struct rh_evidence_block *block)
{
	return block->row ? block->row->blame : RH_BLAME_CAUSE;
}

/* A line of a log: glog's and torch's begin with a letter for the level and the date. */
static bool scan_is_log(const struct rh_evidence_line *body)
{
	size_t at = body->length > 0 && body->text[0] == '[';

	return body->length > at + 4 && strchr("IWEF", body->text[at]) && isdigit((unsigned char)body->text[at + 1]) &&
	       isdigit((unsigned char)body->text[at + 2]) && isdigit((unsigned char)body->text[at + 3]);
}

/* "  rank      : 3 (local_rank: 1)", torch/distributed/elastic/multiprocessing/errors/__init__.py */
static bool scan_is_child(const struct rh_evidence_line *body)
{
	struct rh_evidence_line line = scan_trim(*body);

	return scan_begins(&line, "rank ") && scan_holds(&line, ": ") && scan_holds(&line, " (local_rank: ");
}

/* A line that a launcher, or the C library's end of a program, writes into what a rank writes. */
static bool scan_is_foreign(const struct rh_evidence_line *body)
{
	const struct rh_evidence_row *row = rh_evidence_row(body->text, body->length);

	if (scan_begins(body, "--------") || scan_begins(body, "========") || scan_begins(body, "terminate called"))
		return true;
	return (row && row->blame == RH_BLAME_SUMMARY) || scan_is_log(body) || scan_is_child(body);
}

static struct rh_evidence_block *scan_open(struct rh_evidence_scan *scan, const struct rh_evidence_line *line)
{
	for (size_t i = scan->block_count; i-- > 0;) {
		struct rh_evidence_block *block = &scan->blocks[i];

		if (rh_evidence_has_prefix(line, &block->prefix))
			return block->stage == RH_EVIDENCE_CLOSED ? NULL : block;
	}
	return NULL;
}

/* @p before is the line of the same stream before this one, or NULL */
static void scan_begin(struct rh_evidence_scan *scan, const struct rh_evidence_line *line, const char *before)
{
	struct rh_evidence_line previous = {.text = before ? before : "", .length = before ? strcspn(before, "\n") : 0};
	struct rh_evidence_block *block;

	if (scan->block_count == RH_EVIDENCE_BLOCKS)
		memmove(scan->blocks, scan->blocks + 1, --scan->block_count * sizeof(*scan->blocks));
	block = &scan->blocks[scan->block_count++];
	*block = (struct rh_evidence_block){
		.prefix = {.text = line->text, .length = line->prefix},
		.start = line->text,
		.end = line->text + line->length,
		.aside = scan_holds(&previous, "Exception ignored in") || scan_holds(&previous, "Exception in thread "),
	};
	block->headline_line.text = block->end;
	block->rank = scan_rank(&block->prefix);
}

static void scan_raise(struct rh_evidence_block *block, const struct rh_evidence_line *line)
{
	struct rh_evidence_line body = scan_body(line);
	const struct rh_evidence_row *row = rh_evidence_row(body.text, body.length);

	block->headline = scan_trim(body);
	block->headline_line = *line;
	block->stage = RH_EVIDENCE_MESSAGE;
	block->more = 0;
	if (row)
		block->row = row;
}

static void scan_message(struct rh_evidence_block *block, const struct rh_evidence_line *body)
{
	const struct rh_evidence_row *row = block->row ? NULL : rh_evidence_row(body->text, body->length);

	if (scan_trim(*body).length == 0)
		block->stage = RH_EVIDENCE_OVER;
	else if (block->more++ >= SCAN_MESSAGE_LINES || scan_is_foreign(body))
		block->stage = RH_EVIDENCE_CLOSED;
	else if (row)
		block->row = row;
}

/* "ValueError: text", "torch.cuda.OutOfMemoryError: text" or a name alone: not what another process writes meanwhile.
 */
static bool scan_is_exception(const struct rh_evidence_line *body)
{
	static const char *const levels[] = {"DEBUG:", "INFO:", "WARNING:", "ERROR:", "CRITICAL:"};
	size_t at = 0;

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		if (scan_begins(body, levels[i]))
			return false;
	}
	while (at < body->length &&
	       (isalnum((unsigned char)body->text[at]) || body->text[at] == '_' || body->text[at] == '.'))
		at++;
	if (at == 0 || isdigit((unsigned char)body->text[0]))
		return false;
	return at == body->length || body->text[at] == ':';
}

static bool scan_links(const struct rh_evidence_line *body)
{
	return scan_begins(body, "During handling of the above exception") ||
	       scan_begins(body, "The above exception was the direct cause");
}

/* A line of the stream of an open traceback. @return whether it is part of it */
static bool scan_continue(struct rh_evidence_block *block, const struct rh_evidence_line *line)
{
	struct rh_evidence_line body = scan_body(line);
	bool header = scan_begins(&body, SCAN_TRACEBACK);
	bool indented = body.length > 0 && (body.text[0] == ' ' || body.text[0] == '\t');

	if (block->stage == RH_EVIDENCE_FRAMES && !indented && !header) {
		if (scan_is_exception(&body) && !scan_is_log(&body))
			scan_raise(block, line);
	} else if (block->stage == RH_EVIDENCE_MESSAGE && !header) {
		scan_message(block, &body);
	} else if (block->stage == RH_EVIDENCE_OVER && scan_links(&body)) {
		block->stage = RH_EVIDENCE_LINKED;
	} else if (block->stage == RH_EVIDENCE_LINKED && header) {
		block->stage = RH_EVIDENCE_FRAMES;
	} else if (!(block->stage == RH_EVIDENCE_FRAMES && indented) && body.length > 0) {
		block->stage = RH_EVIDENCE_CLOSED;
	}
	if (block->stage != RH_EVIDENCE_CLOSED && block->stage != RH_EVIDENCE_OVER)
		block->end = line->text + line->length;
	if (!block->headline_line.length)
		block->headline_line.text = block->end;
	return block->stage != RH_EVIDENCE_CLOSED;
}

static void scan_add_child(struct rh_evidence_scan *scan, int32_t rank, int32_t code,
                           const struct rh_evidence_line *body)
{
	struct rh_evidence_child *child = NULL;

	for (size_t i = 0; i < scan->child_count; i++) {
		if (scan->children[i].rank == rank)
			child = &scan->children[i];
	}
	if (!child && scan->child_count < RH_EVIDENCE_CHILDREN)
		child = &scan->children[scan->child_count++];
	if (child && rank >= 0)
		*child = (struct rh_evidence_child){.rank = rank, .code = code ? code : child->code, .line = *body};
}

/* The number that follows @p word in the line; -1: there is none. */
static int32_t scan_after(const struct rh_evidence_line *line, const char *word)
{
	const char *at = memmem(line->text, line->length, word, strlen(word));

	if (!at)
		return -1;
	at += strlen(word);
	while (at < line->text + line->length && *at == ' ')
		at++;
	return rh_evidence_number(at, (size_t)(line->text + line->length - at));
}

/* Open MPI: a rank, in one line, and how it ended where that is known. */
static void scan_mpi_child(struct rh_evidence_scan *scan, const struct rh_evidence_line *line)
{
	int32_t rank = scan_after(line, "noticed that process rank ");
	int32_t death = scan_after(line, "exited on signal ");
	const char *comma = memrchr(line->text, ',', line->length);

	if (rank < 0)
		rank = scan_after(line, "MPI_ABORT was invoked on rank ");
	if (rank < 0 && comma && scan_begins(line, "Process name: [["))
		rank = rh_evidence_number(comma + 1, line->length - (size_t)(comma + 1 - line->text));
	if (rank >= 0)
		scan_add_child(scan, rank, death > 0 ? -death : 0, line);
}

/* A report of a launcher on one of its processes: torchrun's has a line for its rank, and one for its exit code. */
static void scan_child(struct rh_evidence_scan *scan, const struct rh_evidence_line *body)
{
	struct rh_evidence_line line = scan_trim(*body);
	struct rh_evidence_child *last = scan->child_count ? &scan->children[scan->child_count - 1] : NULL;
	int32_t code;

	if (line.length == 0)
		return;
	scan_mpi_child(scan, &line);
	if (scan_is_child(&line)) {
		scan_add_child(scan, scan_after(&line, ": "), 0, body);
		return;
	}
	if (!last || (!scan_begins(&line, "exitcode ") && !scan_begins(&line, "Exit code: ")))
		return;
	code = scan_after(&line, ": -");
	last->code = code > 0 ? -code : scan_after(&line, ": ");
	last->exit = *body;
}

/* Under @record torchrun's report repeats what a rank raised: then it is known whose traceback is whose. */
static void scan_repeated(struct rh_evidence_scan *scan, const struct rh_evidence_line *body)
{
	struct rh_evidence_line line = scan_trim(*body);

	for (size_t i = 0; i < scan->block_count && scan->child_count > 0; i++) {
		struct rh_evidence_block *block = &scan->blocks[i];

		if (block->rank < 0 && block->headline.length > 0 && block->headline.length == line.length &&
		    memcmp(block->headline.text, line.text, line.length) == 0)
			block->rank = scan->children[scan->child_count - 1].rank;
	}
}

static bool scan_is_frame(const struct rh_evidence_line *body)
{
	struct rh_evidence_line line = scan_trim(*body);
	size_t at = 0;

	while (at < line.length && line.text[at] == line.text[0])
		at++;
	return at == line.length && at >= SCAN_FRAME && (line.text[0] == '-' || line.text[0] == '=');
}

/* Reports of launchers are between two lines of - or =. @return whether the line belongs to one on their processes */
static bool scan_report(struct rh_evidence_scan *scan, const struct rh_evidence_line *body)
{
	struct rh_evidence_line line = scan_trim(*body);
	const struct rh_evidence_row *row;

	if (line.length > 0 && scan_is_frame(body) && (!scan->frame || scan->frame == line.text[0])) {
		bool report = scan->report;

		scan->frame = scan->frame ? '\0' : line.text[0];
		scan->framed = scan->report = false;
		return report || scan->frame;
	}
	if (scan->frame && !scan->framed) {
		row = rh_evidence_row(line.text, line.length);
		scan->framed = true;
		scan->report = (row && row->blame == RH_BLAME_SUMMARY) ||
		               (line.length > 7 && memcmp(line.text + line.length - 7, " FAILED", 7) == 0);
		scan->launcher = scan->launcher || scan->report;
	}
	return scan->report;
}

/* A line of a stack of C++, as c10 writes it below the message of an error or warning: dozens of them say nothing. */
static bool scan_is_stack(const struct rh_evidence_line *body)
{
	return scan_begins(body, SCAN_STACK) && scan_holds(body, ": ") &&
	       isdigit((unsigned char)body->text[strlen(SCAN_STACK)]);
}

static void scan_keep(struct rh_evidence_scan *scan, const struct rh_evidence_line *line)
{
	struct rh_evidence_line body = scan_body(line);

	if (scan_trim(body).length == 0)
		return;
	if (scan->last_count == RH_EVIDENCE_LAST)
		memmove(scan->last, scan->last + 1, --scan->last_count * sizeof(*scan->last));
	scan->last[scan->last_count++] = *line;
}

static void scan_outside(struct rh_evidence_scan *scan, const struct rh_evidence_line *line)
{
	struct rh_evidence_line body = scan_body(line);
	bool report;

	if (scan_is_stack(&body))
		return;
	report = scan_report(scan, &body);
	scan_child(scan, &body);
	scan->stopped += scan_holds(&body, " closing signal SIGTERM");
	if (report)
		scan_repeated(scan, &body);
	if (report || scan_is_child(&body) ||
	    (scan->child_count && scan->children[scan->child_count - 1].exit.text == body.text))
		return;
	scan_keep(scan, line);
	for (size_t i = 0; i < scan->block_count; i++)
		scan->blocks[i].after += rh_evidence_has_prefix(line, &scan->blocks[i].prefix);
}

static void scan_line(struct rh_evidence_scan *scan, const struct rh_evidence_line *line, const char *before)
{
	struct rh_evidence_line body = scan_body(line);
	struct rh_evidence_block *block = scan_open(scan, line);

	if (block && scan_continue(block, line))
		return;
	if (scan_begins(&body, SCAN_TRACEBACK))
		scan_begin(scan, line, before);
	else
		scan_outside(scan, line);
}

/* Whether one belongs rather to the end than the other. Of one process the last one does, of several the first. */
static bool scan_better(const struct rh_evidence_scan *scan, const struct rh_evidence_block *a,
                        const struct rh_evidence_block *b)
{
	bool same = a->prefix.length == b->prefix.length && memcmp(a->prefix.text, b->prefix.text, a->prefix.length) == 0;

	if (a->aside != b->aside)
		return b->aside;
	if (same && !scan->launcher)
		return true;
	if (rh_evidence_block_blame(a) != rh_evidence_block_blame(b))
		return rh_evidence_block_blame(a) < rh_evidence_block_blame(b);
	return false;
}

static void scan_choose(struct rh_evidence_scan *scan)
{
	for (size_t i = 0; i < scan->block_count; i++) {
		const struct rh_evidence_block *block = &scan->blocks[i];

		if (block->row && block->row->blame == RH_BLAME_SUMMARY) {
			scan->launcher = true;
			scan->summary = block;
			continue;
		}
		if (block->headline.length == 0)
			continue;
		scan->raised++;
		if (block->after > SCAN_SURVIVED)
			scan->survived = block;
		else if (!scan->chosen || scan_better(scan, block, scan->chosen))
			scan->chosen = block;
	}
}

static bool scan_complains(const struct rh_evidence_line *line)
{
	static const char *const words[] = {
		"error", "exception", "fatal",     "panic",        "abort",  "fail",   "cannot",
		"can't", "invalid",   "not found", "no such file", "denied", "assert", "terminate called",
		"usage:"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t length = strlen(words[i]);

		for (size_t at = 0; at + length <= line->length; at++) {
			if (strncasecmp(line->text + at, words[i], length) == 0)
				return true;
		}
	}
	return false;
}

/* One of the last lines. Of reports of launchers the last one counts, of all others the first. */
static void scan_loose(struct rh_evidence_scan *scan, const struct rh_evidence_line *line)
{
	struct rh_evidence_line body = rh_evidence_bare(line);
	const struct rh_evidence_row *row = rh_evidence_row(body.text, body.length);
	bool complains = !row && scan_complains(&body);

	if (row && (!scan->row || row->blame < scan->row->blame)) {
		scan->row = row;
		scan->decisive = *line;
	} else if ((!scan->row || scan->row->blame == RH_BLAME_SUMMARY) && (complains || !(scan->row || scan->complaint))) {
		scan->decisive = *line;
	}
	scan->complaint = scan->complaint || complains;
}

/* The start of the part that is looked at: where it is cut, with a whole line. */
static const char *scan_start(const char *output, size_t length)
{
	const char *start = output;
	const char *line;

	if (length <= RH_EVIDENCE_TEXT_MAX)
		return start;
	start += length - RH_EVIDENCE_TEXT_MAX;
	line = strchr(start, '\n');
	return line ? line + 1 : start;
}

void rh_evidence_scan(const char *output, struct rh_evidence_scan *scan)
{
	size_t length = strlen(output);
	const char *start = scan_start(output, length);
	struct rh_evidence_line line;
	const char *before = NULL;
	const char *at = start;

	*scan = (struct rh_evidence_scan){.end = output + length};
	while (rh_evidence_next(&at, scan->end, &line)) {
		scan_line(scan, &line, before);
		before = line.text;
	}
	scan_choose(scan);
	for (size_t i = 0; i < scan->last_count; i++)
		scan_loose(scan, &scan->last[i]);
}
