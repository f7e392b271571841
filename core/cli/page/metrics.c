/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page/metrics.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

/* Bytes of a line that are looked at. */
#define METRICS_LINE_MAX 4096
/* Pairs of a line. */
#define METRICS_PAIRS_MAX 32
/* Series of a log. */
#define METRICS_SERIES_MAX 32
/* Bytes between a name and its number: quotes, spaces, '=' and ':'. */
#define METRICS_GAP_MAX 8

/* Characters with which a number starts; all others are skipped at once. */
#define METRICS_STARTS "0123456789-.nNiI"

/* A name and its number, as they stand in a line. */
struct metrics_pair {
	char name[RH_PAGE_METRIC_NAME_SIZE];
	double value;
};

struct rh_page_metrics {
	struct rh_page_metric series[METRICS_SERIES_MAX];
	size_t count;
	size_t most;
	double step; /* the last one of a line; NAN: none */
};

static bool metrics_is_one_of(const char *name, const char *const *words)
{
	while (*words && strcmp(name, *words) != 0)
		words++;
	return *words != NULL;
}

/* Where a point lies: the finer of the two wins when a line has both. */
static bool metrics_is_step(const char *name)
{
	static const char *const words[] = {"step",      "steps",      "global_step", "iter",
	                                    "iteration", "iterations", "batch",       NULL};

	return metrics_is_one_of(name, words);
}

static bool metrics_is_epoch(const char *name)
{
	return strcmp(name, "epoch") == 0 || strcmp(name, "round") == 0;
}

/* Names that need no '=' or ':' before their number. */
static bool metrics_is_plain(const char *name)
{
	static const char *const words[] = {"acc",        "lr",  "auc",    "rmse",  "mse", "mae",
	                                    "perplexity", "ppl", "reward", "score", NULL};

	return metrics_is_step(name) || metrics_is_epoch(name) || metrics_is_one_of(name, words) ||
	       rh_ends_with(name, "loss") || rh_ends_with(name, "accuracy") || strcmp(name, "loss") == 0 ||
	       strcmp(name, "accuracy") == 0;
}

static bool metrics_is_known(const char *name)
{
	static const char *const parts[] = {"loss",          "acc",   "auc",    "rmse",       "mse",        "mae",
	                                    "perplexity",    "ppl",   "reward", "score",      "precision",  "recall",
	                                    "bleu",          "rouge", "norm",   "per_second", "throughput", "error",
	                                    "learning_rate", "f1",    "iou",    NULL};

	for (const char *const *part = parts; *part; part++) {
		if (strstr(name, *part))
			return true;
	}
	return metrics_is_plain(name);
}

static bool metrics_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '/' || c == '-' || c == '@';
}

/* A word that makes another metric of the one that follows it: "val loss". */
static bool metrics_is_prefix(const char *word, size_t length)
{
	return rh_words_have("train,training,val,valid,validation,test,eval,avg,average,mean,best,final", ',', word,
	                     length);
}

static void metrics_copy_lower(char to[RH_PAGE_METRIC_NAME_SIZE], const char *from, size_t length)
{
	size_t at = 0;

	for (; at < length && at + 1 < RH_PAGE_METRIC_NAME_SIZE; at++)
		to[at] = (char)tolower((unsigned char)from[at]);
	to[at] = '\0';
}

/* Extend a name to the left by one such word. @return where it starts */
static const char *metrics_extend(const char *line, const char *name)
{
	const char *start = name - 1;
	char word[RH_PAGE_METRIC_NAME_SIZE];

	if (name < line + 2 || *start != ' ')
		return name;
	while (start > line && isalpha((unsigned char)start[-1]))
		start--;
	metrics_copy_lower(word, start, (size_t)(name - 1 - start));
	return metrics_is_prefix(word, strlen(word)) ? start : name;
}

/* @return the first byte of the text that @p end ends, of which all bytes are of @p set, METRICS_GAP_MAX at most */
static const char *metrics_skip(const char *line, const char *end, const char *set, const char *limit)
{
	while (end > line && end > limit && strchr(set, end[-1]) && end[-1])
		end--;
	return end;
}

/* Find the name whose number starts at @p number. @return whether there is one */
static bool metrics_find_name(const char *line, const char *number, char name[RH_PAGE_METRIC_NAME_SIZE])
{
	const char *limit = number - line > METRICS_GAP_MAX ? number - METRICS_GAP_MAX : line;
	const char *end = metrics_skip(line, number, " \t([", limit);
	bool joined = end > line && end > limit && (end[-1] == '=' || end[-1] == ':');
	const char *start;

	if (joined)
		end = metrics_skip(line, end - 1, " \t\"'", limit);
	start = end;
	while (start > line && metrics_is_name(start[-1]))
		start--;
	while (start < end && !isalpha((unsigned char)*start))
		start++;
	if (end - start < 2 && !(end - start == 1 && joined))
		return false;
	if (end - start >= RH_PAGE_METRIC_NAME_SIZE || end == number)
		return false;
	metrics_copy_lower(name, start, (size_t)(end - start));
	if (!joined && !metrics_is_plain(name))
		return false;
	/* "[3/10]" is where a training is, and "loss[3]" is an element of a list */
	if (metrics_is_step(name) || metrics_is_epoch(name))
		return true;
	start = metrics_extend(line, start);
	if (end - start < RH_PAGE_METRIC_NAME_SIZE)
		metrics_copy_lower(name, start, (size_t)(end - start));
	return !strchr("([", number[-1]);
}

/* What is a part of a longer word is not a number: a version, a date, an address, a hash. */
static bool metrics_ends_well(const char *end)
{
	if (strchr(".:-", *end) && *end)
		return !isdigit((unsigned char)end[1]) && end[1] != '/';
	return !isalnum((unsigned char)*end) && *end != '_';
}

/* @return whether a number may start here */
static bool metrics_starts(const char *line, const char *at)
{
	bool digit = isdigit((unsigned char)*at) || ((*at == '-' || *at == '.') && isdigit((unsigned char)at[1])) ||
	             (*at == '-' && at[1] == '.' && isdigit((unsigned char)at[2]));
	bool word = strncasecmp(at, "nan", 3) == 0 || strncasecmp(at, "inf", 3) == 0 || strncasecmp(at, "-inf", 4) == 0;

	if (!digit && !word)
		return false;
	return at > line && strchr(" \t=:([", at[-1]) && at[-1];
}

/* Read the pair whose number may start at *@p at, and go on behind it. @return whether it is one */
static bool metrics_read_pair(const char *line, const char **at, struct metrics_pair *pair)
{
	const char *number = *at;
	char *end;

	(*at)++;
	if (!metrics_starts(line, number) || (number[0] == '0' && (number[1] == 'x' || number[1] == 'X')) ||
	    !metrics_find_name(line, number, pair->name))
		return false;
	pair->value = strtod(number, &end);
	if (end == number)
		return false;
	*at = end;
	if (*end == '/' && isdigit((unsigned char)end[1])) {
		char *rest;
		double whole = strtod(end + 1, &rest);

		*at = rest;
		/* "9911/10000" is a share; "3/10" of steps says how far it is */
		if (whole > 0 && !metrics_is_step(pair->name) && !metrics_is_epoch(pair->name))
			pair->value /= whole;
		return metrics_ends_well(rest);
	}
	return metrics_ends_well(end) || metrics_is_known(pair->name);
}

static struct rh_page_metric *metrics_find(struct rh_page_metrics *metrics, const char *name)
{
	struct rh_page_metric *found;

	for (size_t i = 0; i < metrics->count; i++) {
		if (strcmp(metrics->series[i].name, name) == 0)
			return &metrics->series[i];
	}
	if (metrics->count == METRICS_SERIES_MAX)
		return NULL;
	found = &metrics->series[metrics->count];
	found->points = rh_alloc_array(metrics->most, sizeof(*found->points));
	if (!found->points)
		return NULL;
	metrics->count++;
	rh_copy(found->name, sizeof(found->name), name);
	found->known = metrics_is_known(name);
	found->every = 1;
	return found;
}

static void metrics_halve(struct rh_page_metric *series)
{
	for (size_t i = 0; 2 * i < series->count; i++)
		series->points[i] = series->points[2 * i];
	series->count = (series->count + 1) / 2;
	series->every *= 2;
}

static void metrics_add(struct rh_page_metrics *metrics, const struct metrics_pair *pair, int64_t at)
{
	struct rh_page_metric *series = metrics_find(metrics, pair->name);

	if (!series)
		return; /* out of memory, or too many names for a person to read */
	series->last = (struct rh_page_point){pair->value, metrics->step, at};
	if (series->seen++ % series->every != 0)
		return;
	if (series->count == metrics->most)
		metrics_halve(series);
	if ((series->seen - 1) % series->every == 0)
		series->points[series->count++] = series->last;
}

/* XGBoost writes "[12]\ttrain-logloss:0.34". */
static double metrics_leading_step(const char *line)
{
	char *end;
	double step;

	if (line[0] != '[' || !isdigit((unsigned char)line[1]))
		return NAN;
	step = strtod(line + 1, &end);
	return end[0] == ']' && end[1] == '\t' ? step : NAN;
}

static double metrics_step(const char *line, const struct metrics_pair *pairs, size_t count)
{
	double step = metrics_leading_step(line);
	bool fine = !isnan(step);

	for (size_t i = 0; i < count; i++) {
		bool finer = metrics_is_step(pairs[i].name);

		if (!isfinite(pairs[i].value) || (!finer && !metrics_is_epoch(pairs[i].name)) || (fine && !finer))
			continue;
		step = pairs[i].value;
		fine = finer;
	}
	return step;
}

void rh_page_metrics_line(struct rh_page_metrics *metrics, const char *text, size_t length, int64_t at)
{
	char line[METRICS_LINE_MAX + 1];
	struct metrics_pair pairs[METRICS_PAIRS_MAX];
	size_t count = 0;
	double step;

	length = length < METRICS_LINE_MAX ? length : METRICS_LINE_MAX;
	memcpy(line, text, length);
	line[length] = '\0';
	for (const char *next = strpbrk(line, METRICS_STARTS); next && count < METRICS_PAIRS_MAX;
	     next = strpbrk(next, METRICS_STARTS))
		count += metrics_read_pair(line, &next, &pairs[count]) ? 1 : 0;
	step = metrics_step(line, pairs, count);
	if (!isnan(step))
		metrics->step = step;
	for (size_t i = 0; i < count; i++) {
		if (!metrics_is_step(pairs[i].name) && !metrics_is_epoch(pairs[i].name))
			metrics_add(metrics, &pairs[i], at);
	}
}

static bool metrics_is_worth(const struct rh_page_metric *series)
{
	if (series->known)
		return true;
	for (size_t i = 1; series->seen >= 3 && i < series->count; i++) {
		if (series->points[i].value < series->points[0].value || series->points[i].value > series->points[0].value)
			return true;
	}
	return false;
}

const struct rh_page_metric *rh_page_metrics_item(const struct rh_page_metrics *metrics, size_t index)
{
	for (size_t i = 0; i < metrics->count; i++) {
		if (metrics_is_worth(&metrics->series[i]) && index-- == 0)
			return &metrics->series[i];
	}
	return NULL;
}

struct rh_page_metrics *rh_page_metrics_new(size_t most)
{
	struct rh_page_metrics *metrics = rh_alloc(sizeof(*metrics));

	if (metrics) {
		metrics->most = most;
		metrics->step = NAN;
	}
	return metrics;
}

void rh_page_metrics_free(struct rh_page_metrics *metrics)
{
	for (size_t i = 0; metrics && i < metrics->count; i++)
		rh_free(metrics->series[i].points);
	rh_free(metrics);
}
