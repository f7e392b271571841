/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/progress.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/run/screen/screen.h"

/* Bytes of a line that are read: a bar of 200 columns of three bytes, with what is around it. */
#define PROGRESS_TEXT_MAX 1024
/* Most digits of a number; a double holds them exactly. */
#define PROGRESS_DIGITS_MAX 12
/* Longest number of a metric that is shown: 0.00012345678901 of Python's str(). */
#define PROGRESS_METRIC_MAX 20
/* The bar of Keras 3 is made of U+2501. */
#define PROGRESS_KERAS_BAR "\xe2\x94\x81"

static const char *progress_skip(const char *at, const char *bytes)
{
	return at + strspn(at, bytes);
}

/* Read "37", "28.6M" or "3.00k". @return what follows; NULL: not a number */
static const char *progress_number(const char *at, double *ret_value)
{
	static const char prefixes[] = "kMGTP";
	size_t digits = strspn(at, "0123456789");
	const char *prefix;
	double value = 0;
	double place = 1;

	if (digits == 0 || digits > PROGRESS_DIGITS_MAX)
		return NULL;
	for (; digits > 0; digits--)
		value = 10 * value + (*at++ - '0');
	if (*at == '.' && isdigit((unsigned char)at[1])) {
		for (at++; isdigit((unsigned char)*at); at++)
			value += (*at - '0') * (place /= 10);
	}
	prefix = *at ? strchr(prefixes, *at) : NULL;
	for (const char *p = prefixes; prefix && p <= prefix; p++)
		value *= 1000;
	*ret_value = value;
	return prefix ? at + 1 : at;
}

/* Read "37/100" or "3 of 10". @return what follows; NULL: not a count */
static const char *progress_count(const char *at, struct rh_progress_part *part)
{
	const char *start = at;
	const char *first_end;
	const char *second;
	double done = 0;
	double total = 0;

	first_end = progress_number(at, &done);
	if (!first_end)
		return NULL;
	second = progress_skip(first_end, " ");
	if (*second == '/')
		second = progress_skip(second + 1, " ");
	else if (second > first_end && strncmp(second, "of ", 3) == 0)
		second = progress_skip(second + 3, " ");
	else
		return NULL;
	at = progress_number(second, &total);
	if (!at || total <= 0 || done > total || *at == '/' || *at == '.' || *at == '-')
		return NULL; /* a date or a version */
	*part = (struct rh_progress_part){.share = done / total, .left = -1};
	(void)snprintf(part->count, sizeof(part->count), "%.*s/%.*s", (int)(first_end - start), start, (int)(at - second),
	               second);
	return at;
}

/* Read "00:17", "1:02:03" or "17s". @return seconds; -1: none */
static int64_t progress_time(const char *at)
{
	int64_t total = 0;

	for (int fields = 1; fields <= 3; fields++) {
		double value = 0;
		const char *end = progress_number(at, &value);

		if (!end)
			return -1;
		total = 60 * total + (int64_t)value;
		if (*end == 's' && fields == 1)
			return total;
		if (*end != ':')
			return fields > 1 ? total : -1;
		at = end + 1;
	}
	return -1;
}

static bool progress_starts_with_word(const char *at, const char *word)
{
	return strncasecmp(at, word, strlen(word)) == 0;
}

/* tqdm: "desc:  37%|###7      | 37/100 [00:10<00:17, 3.65it/s]" */
static bool progress_read_bar(const char *text, struct rh_progress *progress)
{
	const char *bar = strstr(text, "%|");
	const char *end = bar ? strchr(bar + 2, '|') : NULL;
	struct rh_progress_part part;
	bool epochs = false;

	if (!bar || bar == text || !isdigit((unsigned char)bar[-1]) || !end)
		return false;
	end = progress_count(progress_skip(end + 1, " "), &part);
	if (!end)
		return false;
	end = strchr(end, '<');
	part.left = end ? progress_time(end + 1) : -1;
	for (const char *at = text; at < bar && !epochs; at++)
		epochs = progress_starts_with_word(at, "epoch");
	if (epochs && progress->epoch.count[0] == '\0')
		*progress = (struct rh_progress){.epoch = part}; /* the bar counts epochs */
	else
		progress->step = part;
	return true;
}

/* Keras: "12/40 [=====>....] - ETA: 17s - loss: 0.1", "12/40 ━━━━━━ 17s 5ms/step", "40/40 - 0s - loss: 0.1" */
static bool progress_read_keras(const char *text, struct rh_progress *progress)
{
	struct rh_progress_part part;
	const char *at = progress_count(text, &part);
	const char *eta = at ? strstr(at, "ETA: ") : NULL;

	if (!at || *at != ' ')
		return false;
	at = progress_skip(at, " ");
	if (eta) {
		part.left = progress_time(eta + strlen("ETA: "));
	} else if (rh_starts_with(at, PROGRESS_KERAS_BAR)) {
		while (rh_starts_with(at, PROGRESS_KERAS_BAR))
			at += strlen(PROGRESS_KERAS_BAR);
		/* what follows the whole bar is the time that it took */
		part.left = part.share < 1 ? progress_time(progress_skip(at, " ")) : 0;
	} else if (*at != '[' && !rh_starts_with(at, "- ")) {
		return false;
	}
	progress->step = part;
	return true;
}

/* "Train Epoch: 1 [640/60000 (1%)]" and "Epoch: [1][ 10/391]": the epoch has no whole, the step stands in brackets.
 * @return what follows; NULL: neither */
static const char *progress_bracket(const char *at, struct rh_progress *progress)
{
	double epoch = 0;

	at = progress_number(progress_skip(at, " :["), &epoch);
	at = at ? strchr(progress_skip(at, " ]"), '[') : NULL;
	return at ? progress_count(progress_skip(at + 1, " "), &progress->step) : NULL;
}

/* A word at the start of `at`, and the count behind it. @return what follows; NULL: it is not one */
static const char *progress_word(const char *at, struct rh_progress *progress)
{
	static const char *const words[] = {"epoch",     "step", "global step", "global_step",
	                                    "iteration", "iter", "batch",       "round"};
	struct rh_progress_part part;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *behind = at + strlen(words[i]);
		const char *end;

		if (!progress_starts_with_word(at, words[i]))
			continue;
		behind += *behind == 's' ? 1 : 0;
		end = progress_count(progress_skip(behind, " :=#[("), &part);
		if (end && i == 0)
			*progress = (struct rh_progress){.epoch = part}; /* its step follows, if it has one */
		else if (end)
			progress->step = part;
		else if (i == 0)
			end = progress_bracket(behind, progress);
		if (end)
			return end;
	}
	return NULL;
}

static bool progress_read_words(const char *text, struct rh_progress *progress)
{
	bool found = false;
	const char *at = text;

	while (*at) {
		bool inside = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
		const char *end = inside || !isalpha((unsigned char)*at) ? NULL : progress_word(at, progress);

		found = found || end;
		at = end ? end : at + 1;
	}
	return found;
}

/* Without what colours it: of other sequences rh_screen_clean() leaves nothing. */
static void progress_plain(const char *text, size_t length, struct rh_str *out)
{
	rh_auto_str clean = {0};

	rh_screen_clean(text, length, &clean);
	for (const char *at = rh_str_text(&clean); *at;) {
		size_t run = strcspn(at, "\033");

		rh_str_append_bytes(out, at, run);
		at += run;
		at += strcspn(at, "m");
		at += *at ? 1 : 0;
	}
}

bool rh_progress_is_likely(const char *text, size_t length)
{
	return memchr(text, '/', length) || memmem(text, length, " of ", 4);
}

bool rh_progress_read(struct rh_progress *progress, const char *text, size_t length)
{
	rh_auto_str plain = {0};
	const char *start;
	bool words;

	if (!rh_progress_is_likely(text, length))
		return false;
	progress_plain(text, length > PROGRESS_TEXT_MAX ? PROGRESS_TEXT_MAX : length, &plain);
	start = progress_skip(rh_str_text(&plain), " \b");
	words = progress_read_words(start, progress);
	return progress_read_bar(start, progress) || progress_read_keras(start, progress) || words;
}

bool rh_progress_is_behind(const struct rh_progress *a, const struct rh_progress *b)
{
	if (a->epoch.share < b->epoch.share || a->epoch.share > b->epoch.share)
		return a->epoch.share < b->epoch.share;
	return a->step.share < b->step.share;
}

static void progress_append_part(const char *name, const struct rh_progress_part *part, struct rh_str *out)
{
	if (part->count[0])
		rh_str_appendf(out, "%s%s %s", out->length > 0 ? "  " : "", name, part->count);
}

static void progress_append_left(int64_t left, struct rh_str *out)
{
	if (left < 0)
		return;
	rh_str_append(out, out->length > 0 ? "  " : "");
	if (left >= 3600)
		rh_str_appendf(out, "%d:%02d:%02d left", (int)(left / 3600), (int)(left / 60 % 60), (int)(left % 60));
	else if (left >= 60)
		rh_str_appendf(out, "%d:%02d left", (int)(left / 60), (int)(left % 60));
	else
		rh_str_appendf(out, "%ds left", (int)left);
}

void rh_progress_append(const struct rh_progress *progress, struct rh_str *out)
{
	const struct rh_progress_part *inner = progress->step.count[0] ? &progress->step : &progress->epoch;
	int64_t left = inner->count[0] ? inner->left : -1;
	rh_auto_str text = {0};

	progress_append_part("epoch", &progress->epoch, &text);
	progress_append_part("step", &progress->step, &text);
	progress_append_left(left, &text);
	rh_str_append(out, rh_str_text(&text));
}

/* @return whether it is a number that is short enough to be shown, as Python prints one */
static bool progress_is_short_number(const char *text)
{
	size_t length = text ? strlen(text) : 0;

	return length > 0 && length <= PROGRESS_METRIC_MAX && strspn(text, "0123456789.e+-") == length;
}

void rh_progress_append_report(const struct rh_json *status, struct rh_str *out)
{
	const struct rh_json *metric = rh_json_first(rh_json_get(status, "metrics"));
	rh_auto_str text = {0};
	int64_t percent = 0;
	int64_t left = -1;

	if (rh_json_integer(rh_json_get(status, "progressPercentage"), &percent))
		rh_str_appendf(&text, "%d%%", (int)percent);
	if (rh_json_integer(rh_json_get(status, "estimatedRemainingSeconds"), &left))
		progress_append_left(left, &text);
	for (; metric; metric = rh_json_next(metric)) {
		const char *value = rh_json_string(rh_json_get(metric, "value"));

		if (rh_text_equal(rh_json_string(rh_json_get(metric, "name")), "loss") && progress_is_short_number(value)) {
			rh_str_appendf(&text, "%sloss %s", text.length > 0 ? "  " : "", value);
			break;
		}
	}
	rh_str_append(out, rh_str_text(&text));
}
