/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/bench/trace/foreign/ras.h"
#include "comm/bench/trace/foreign/recorder.h"
#include "comm/bench/trace/print.h"

#define FINE 0
#define FOUND 1
#define BAD_INPUT 2
#define WHY_ROOM 700

/* The command line. */
struct trace_words {
	bool help;
	bool json;
	char *const *files;
};

static int trace_fail(const char *why)
{
	(void)fprintf(stderr, "roundhouse comm trace: %s\n", why);
	return BAD_INPUT;
}

static bool trace_is_option(const char *word, const char *name)
{
	return strncmp(word, name, strlen(name)) == 0;
}

static int trace_read_format(const char *value, struct trace_words *words)
{
	char why[WHY_ROOM];

	if (!value || (strcmp(value, "text") != 0 && strcmp(value, "json") != 0)) {
		(void)snprintf(why, sizeof(why), "--output \"%.100s\" must be text or json", value ? value : "");
		return trace_fail(why);
	}
	words->json = strcmp(value, "json") == 0;
	return FINE;
}

/* Options come before the files, or a "--" does. */
static int trace_read_words(char *const *given, struct trace_words *ret_words)
{
	struct trace_words words = {.json = false};
	char *const *at = given;
	int status = FINE;

	for (; *at && (*at)[0] == '-' && strcmp(*at, "--") != 0 && status == FINE; at++) {
		if (strcmp(*at, "-h") == 0 || strcmp(*at, "--help") == 0)
			words.help = true;
		else if (strcmp(*at, "-o") == 0 || strcmp(*at, "--output") == 0)
			status = trace_read_format(*++at, &words);
		else if (trace_is_option(*at, "--output="))
			status = trace_read_format(strchr(*at, '=') + 1, &words);
		else
			status = trace_fail("unknown option; --help lists them");
		if (!*at)
			break;
	}
	if (*at && strcmp(*at, "--") == 0)
		at++;
	words.files = at;
	if (status == FINE && !words.help && !*at)
		status = trace_fail("name the files of the ranks, such as FOLDER/*.rhtrace");
	*ret_words = words;
	return status;
}

static int trace_compare(const void *a, const void *b)
{
	const struct rh_trace_rank *left = a;
	const struct rh_trace_rank *right = b;

	return (left->rank > right->rank) - (left->rank < right->rank);
}

/* They must be different ranks of one world. */
static int trace_check(const struct rh_trace_rank *ranks, size_t count)
{
	char why[WHY_ROOM];

	for (size_t i = 1; i < count; i++) {
		if (ranks[i].foreign != ranks[0].foreign)
			return trace_fail("name traces of rh_comm or dumps of a flight recorder, not both");
		if (ranks[i].world != ranks[0].world || strcmp(ranks[i].job, ranks[0].job) != 0) {
			(void)snprintf(
				why, sizeof(why),
				"rank %d is of job \"%s\" with %d ranks, rank %d of job \"%s\" with %d: name the files of one "
				"job",
				(int)ranks[0].rank, ranks[0].job, (int)ranks[0].world, (int)ranks[i].rank, ranks[i].job,
				(int)ranks[i].world);
			return trace_fail(why);
		}
		if (ranks[i].rank == ranks[i - 1].rank) {
			(void)snprintf(why, sizeof(why), "two files are of rank %d", (int)ranks[i].rank);
			return trace_fail(why);
		}
	}
	return FINE;
}

static int trace_print(const struct rh_trace_rank *ranks, size_t count, bool json)
{
	struct rh_trace_findings findings;
	struct rh_comm_pace pace;
	const struct rh_trace_result result = {ranks, count, &findings, &pace};
	int status = FOUND;

	if (rh_trace_find(ranks, count, &findings) < 0 || rh_trace_pace(ranks, count, &pace) < 0) {
		(void)trace_fail("out of memory");
	} else {
		(json ? rh_trace_print_json : rh_trace_print_text)(&result, stdout);
		status = findings.count > 0 || fflush(stdout) != 0 ? FOUND : FINE;
	}
	rh_trace_findings_deinit(&findings);
	return status;
}

/* @return how many were read; fewer than `count`: one cannot be read, and a message was printed */
static size_t trace_load(char *const *files, size_t count, struct rh_trace_rank *ranks)
{
	char why[WHY_ROOM];

	for (size_t i = 0; i < count; i++) {
		if (rh_trace_read(files[i], &ranks[i], why, sizeof(why)) < 0) {
			(void)trace_fail(why);
			return i;
		}
	}
	return count;
}

/* @return whether the only file is the output of NCCL's RAS, which is of a whole job; then it was read and printed */
static bool trace_ras(const struct trace_words *words, int *ret_status)
{
	char why[WHY_ROOM];
	char line[WHY_ROOM + 400];
	struct rh_ras ras;
	char *bytes = NULL;
	size_t length = 0;
	bool is = !words->files[1] && rh_trace_load(words->files[0], &bytes, &length, why, sizeof(why)) == 0 &&
	          rh_ras_is(bytes, length);

	if (is && rh_ras_read(bytes, length, &ras, why, sizeof(why)) == 0) {
		rh_ras_print(&ras, words->json, stdout);
		*ret_status = ras.count > 0 || fflush(stdout) != 0 ? FOUND : FINE;
	} else if (is) {
		(void)snprintf(line, sizeof(line), "\"%.300s\": %s", words->files[0], why);
		*ret_status = trace_fail(line);
	}
	if (is)
		rh_ras_deinit(&ras);
	free(bytes);
	return is;
}

static int trace_files(const struct trace_words *words)
{
	struct rh_trace_rank *ranks;
	size_t count = 0;
	size_t loaded;
	int status = BAD_INPUT;

	if (trace_ras(words, &status))
		return status;
	while (words->files[count])
		count++;
	ranks = calloc(count, sizeof(*ranks));
	if (!ranks)
		return trace_fail("out of memory");
	loaded = trace_load(words->files, count, ranks);
	if (loaded == count) {
		qsort(ranks, count, sizeof(*ranks), trace_compare);
		rh_recorder_agree(ranks, count);
		status = trace_check(ranks, count);
	}
	if (status == FINE)
		status = trace_print(ranks, count, words->json);
	for (size_t i = 0; i < loaded; i++)
		rh_trace_rank_deinit(&ranks[i]);
	free(ranks);
	return status;
}

int rh_trace_run(char *const *words)
{
	struct trace_words read;
	int status = trace_read_words(words, &read);

	if (status != FINE)
		return status;
	if (!read.help)
		return trace_files(&read);
	(void)fputs("usage: roundhouse-comm trace [-o text|json] FILE...\n\n"
	            "Each FILE is what a rank left in the folder that RH_COMM_TRACE named, or what torch's\n"
	            "flight recorder dumps; or one FILE is the output of NCCL's ncclras.\n"
	            "Exit status: 0 all came to the same operations, 1 not so, 2 wrong words or files.\n",
	            stdout);
	return fflush(stdout) == 0 ? FINE : FOUND;
}
