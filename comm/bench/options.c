/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "comm/bench/options.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define SECOND 1e6
#define BENCH_SECONDS 30
#define CHECK_SECONDS 10
#define RATIO 0.5
#define SIZE_MAX_BYTES ((size_t)16 << 30)

/* What is being read. */
struct reader {
	struct rh_bench_options options;
	char *why;
	size_t room;
};

/* One option that takes a value. */
struct reader_row {
	const char *name;
	int32_t (*take)(struct reader *reader, const char *value);
};

static int32_t reader_refuse(const struct reader *reader, const char *option, const char *value, const char *rule)
{
	(void)snprintf(reader->why, reader->room, "%s \"%.100s\" must be %s", option, value, rule);
	return RH_COMM_EINVAL;
}

/* @return whether the whole text is a number from least to most */
static bool reader_number(const char *text, double least, double most, double *ret_value)
{
	char *end = NULL;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || *end || !(value >= least && value <= most))
		return false;
	*ret_value = value;
	return true;
}

static int32_t reader_take_local(struct reader *reader, const char *value)
{
	double number;

	if (!reader_number(value, 1, RH_BENCH_LOCAL_MAX, &number) || number != (double)(int32_t)number)
		return reader_refuse(reader, "--local", value, "a whole number from 1 to 256");
	reader->options.local = (int32_t)number;
	return 0;
}

static int32_t reader_take_time(struct reader *reader, const char *value)
{
	double number;

	if (!reader_number(value, 0.01, 86400, &number))
		return reader_refuse(reader, "--time", value, "seconds, from 0.01 to 86400");
	reader->options.time = (int64_t)(number * SECOND);
	return 0;
}

static int32_t reader_take_timeout(struct reader *reader, const char *value)
{
	double number;

	if (!reader_number(value, 0.1, 86400, &number))
		return reader_refuse(reader, "--timeout", value, "seconds, from 0.1 to 86400");
	reader->options.timeout = (int64_t)(number * SECOND);
	return 0;
}

static int32_t reader_take_ratio(struct reader *reader, const char *value)
{
	if (!reader_number(value, 0, 1, &reader->options.ratio))
		return reader_refuse(reader, "--ratio", value, "a number from 0 to 1");
	return 0;
}

static int32_t reader_take_least(struct reader *reader, const char *value)
{
	if (!reader_number(value, 0, 1e6, &reader->options.least))
		return reader_refuse(reader, "--least", value, "GB/s, from 0 to 1000000");
	return 0;
}

static int32_t reader_take_backend(struct reader *reader, const char *value)
{
	reader->options.backend = value;
	return 0;
}

static int32_t reader_take_svg(struct reader *reader, const char *value)
{
	reader->options.svg = value;
	return 0;
}

static int32_t reader_take_output(struct reader *reader, const char *value)
{
	if (strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
		return reader_refuse(reader, "--output", value, "text or json");
	reader->options.json = strcmp(value, "json") == 0;
	return 0;
}

/* Cut the next word of a list off. @return false: there is none left */
static bool list_next(const char **list, char *word, size_t room)
{
	size_t length = strcspn(*list, ",");

	if (!**list)
		return false;
	(void)snprintf(word, room, "%.*s", (int)length, *list);
	*list += length + ((*list)[length] == ',');
	return true;
}

static bool size_parse(const char *text, size_t *ret_bytes)
{
	static const char units[] = "KMG";
	char *end = NULL;
	const char *unit;
	unsigned long long value;
	unsigned int shift = 0;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || text[0] == '-')
		return false;
	unit = *end ? strchr(units, *end & ~0x20) : NULL;
	if (unit) {
		shift = 10 * (unsigned int)(unit - units + 1);
		end++;
	}
	if (*end || value == 0 || value > SIZE_MAX_BYTES >> shift)
		return false;
	*ret_bytes = (size_t)value << shift;
	return *ret_bytes % sizeof(float) == 0;
}

static int32_t reader_take_sizes(struct reader *reader, const char *value)
{
	struct rh_bench_options *options = &reader->options;
	const char *list = value;
	char word[32];

	options->size_count = 0;
	while (list_next(&list, word, sizeof(word))) {
		size_t bytes = 0;

		if (!size_parse(word, &bytes))
			return reader_refuse(reader, "--sizes", word, "bytes in multiples of 4, such as 64K or 16M, at most 16G");
		if (options->size_count == RH_BENCH_SIZES)
			return reader_refuse(reader, "--sizes", value, "at most 24 sizes");
		if (options->size_count > 0 && bytes <= options->sizes[options->size_count - 1])
			return reader_refuse(reader, "--sizes", value, "in ascending order");
		options->sizes[options->size_count++] = bytes;
	}
	return options->size_count ? 0 : reader_refuse(reader, "--sizes", value, "a list such as 8,64K,16M");
}

static uint32_t part_bit(const char *word)
{
	if (strcmp(word, "pairs") == 0)
		return RH_BENCH_PAIRS;
	if (strcmp(word, "all-reduce") == 0)
		return RH_BENCH_ALL_REDUCE;
	return strcmp(word, "push-pull") == 0 ? RH_BENCH_PUSH_PULL : 0;
}

static int32_t reader_take_only(struct reader *reader, const char *value)
{
	const char *list = value;
	char word[32];

	reader->options.parts = 0;
	while (list_next(&list, word, sizeof(word))) {
		uint32_t bit = part_bit(word);

		if (!bit)
			return reader_refuse(reader, "--only", word, "of pairs, all-reduce, push-pull");
		reader->options.parts |= bit;
	}
	return reader->options.parts ? 0 : reader_refuse(reader, "--only", value, "of pairs, all-reduce, push-pull");
}

static const struct reader_row reader_rows[] = {
	{"--local", reader_take_local}, {"--backend", reader_take_backend}, {"--only", reader_take_only},
	{"--sizes", reader_take_sizes}, {"--time", reader_take_time},       {"--timeout", reader_take_timeout},
	{"--ratio", reader_take_ratio}, {"--least", reader_take_least},     {"--output", reader_take_output},
	{"-o", reader_take_output},     {"--svg", reader_take_svg},         {NULL, NULL},
};

static void reader_default_sizes(struct rh_bench_options *options)
{
	static const size_t bench[] = {8, KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB};
	static const size_t check[] = {8, MIB, 16 * MIB};

	options->size_count = options->check ? sizeof(check) / sizeof(*check) : sizeof(bench) / sizeof(*bench);
	memcpy(options->sizes, options->check ? check : bench, options->size_count * sizeof(size_t));
}

static int32_t reader_take_command(struct reader *reader, const char *word)
{
	struct rh_bench_options *options = &reader->options;

	if (!word || (strcmp(word, "bench") != 0 && strcmp(word, "check") != 0)) {
		(void)snprintf(reader->why, reader->room, "the first word must be bench or check%s%.50s%s",
		               word ? ", not \"" : "", word ? word : "", word ? "\"" : "");
		return RH_COMM_EINVAL;
	}
	options->check = strcmp(word, "check") == 0;
	options->parts = RH_BENCH_PAIRS | RH_BENCH_ALL_REDUCE | (options->check ? 0 : RH_BENCH_PUSH_PULL);
	options->time = (int64_t)((options->check ? CHECK_SECONDS : BENCH_SECONDS) * SECOND);
	options->ratio = RATIO;
	reader_default_sizes(options);
	return 0;
}

static const struct reader_row *reader_find(const char *word, size_t length)
{
	const struct reader_row *row = reader_rows;

	while (row->name && (strlen(row->name) != length || strncmp(row->name, word, length) != 0))
		row++;
	return row->name ? row : NULL;
}

/* One option with its value, "--x y" or "--x=y". @return how many words it had, or RH_COMM_EINVAL */
static int32_t reader_take_option(struct reader *reader, char *const *words)
{
	size_t length = strcspn(words[0], "=");
	const struct reader_row *row = reader_find(words[0], length);
	const char *value = words[0][length] ? words[0] + length + 1 : words[1];
	int32_t r;

	if (!row) {
		(void)snprintf(reader->why, reader->room, "unknown option \"%.100s\"; --help lists them", words[0]);
		return RH_COMM_EINVAL;
	}
	if (!value || !value[0]) {
		(void)snprintf(reader->why, reader->room, "%s needs a value", row->name);
		return RH_COMM_EINVAL;
	}
	r = row->take(reader, value);
	return r < 0 ? r : words[0][length] ? 1 : 2;
}

static bool is_help(const char *word)
{
	return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

int32_t rh_bench_options_read(char *const *words, struct rh_bench_options *ret_options, char *why, size_t room)
{
	struct reader reader = {.why = why, .room = room};
	int32_t r;

	for (char *const *word = words; *word; word++)
		reader.options.help |= is_help(*word);
	r = reader.options.help ? 0 : reader_take_command(&reader, words[0]);
	for (char *const *word = words + 1; r >= 0 && !reader.options.help && *word; word += r)
		r = reader_take_option(&reader, word);
	if (r < 0)
		return r;
	*ret_options = reader.options;
	return 0;
}

void rh_bench_options_help(FILE *out)
{
	(void)fputs("usage: roundhouse-comm bench|check [OPTION...]\n"
	            "       roundhouse-comm trace [-o text|json] FILE...\n\n"
	            "  --local N          start N ranks on this machine instead of being one of a job's\n"
	            "  --backend NAME     native, ucx, mpi, nccl or auto\n"
	            "  --only LIST        of pairs, all-reduce, push-pull\n"
	            "  --sizes LIST       bytes of the all-reduces: 8,64K,16M\n"
	            "  --time SECONDS     for all measurements (bench 30, check 10)\n"
	            "  --timeout SECONDS  for all ranks to come, and for one operation\n"
	            "  --ratio R          what is below R of the median is slow (0.5)\n"
	            "  --least GBPS       bandwidth that every pair must reach (none)\n"
	            "  -o, --output FORM  text or json\n"
	            "  --svg FILE         picture of the bandwidths of all pairs\n\n"
	            "Exit status: 0 fine, 1 slow, 2 a rank cannot be reached, 3 wrong configuration.\n",
	            out);
}
