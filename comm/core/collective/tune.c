/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/collective/tune.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"

#define EVERYTHING UINT32_MAX

/* Words of a table. */
struct word {
	const char *text;
	int32_t what;
};

static const struct word tune_names[] = {
	{"allreduce", RH_COMM_ALL_REDUCE}, {"reduce_scatter", RH_COMM_REDUCE_SCATTER},
	{"allgather", RH_COMM_ALL_GATHER}, {"bcast", RH_COMM_BROADCAST},
	{"barrier", RH_COMM_BARRIER},
};

static const char *const tune_algorithms[] = {"flat", "staged", "doubling", "ring", "levels"};

/* A piece of the text. */
struct piece {
	const char *at;
	size_t length;
};

/* Cut the text in front of `mark` off. @return false: there is none left */
static bool tune_cut(const char **text, char mark, struct piece *ret_piece)
{
	const char *end;

	if (!*text)
		return false;
	end = strchr(*text, mark);
	*ret_piece = (struct piece){*text, end ? (size_t)(end - *text) : strlen(*text)};
	*text = end ? end + 1 : NULL;
	return true;
}

static bool piece_is(const struct piece *piece, const char *word)
{
	return strlen(word) == piece->length && memcmp(piece->at, word, piece->length) == 0;
}

static int tune_shift(char unit)
{
	switch (unit) {
	case 'k':
	case 'K':
		return 10;
	case 'm':
	case 'M':
		return 20;
	case 'g':
	case 'G':
		return 30;
	default:
		return 0;
	}
}

/* "64", "64k", "1M", "inf" */
static bool tune_size(const char *at, const char *end, size_t *ret_size)
{
	char text[24];
	char *rest = NULL;
	unsigned long long value;
	int shift;

	if (end <= at || (size_t)(end - at) >= sizeof(text))
		return false;
	memcpy(text, at, (size_t)(end - at));
	text[end - at] = '\0';
	if (strcmp(text, "inf") == 0) {
		*ret_size = SIZE_MAX;
		return true;
	}
	errno = 0;
	value = strtoull(text, &rest, 10);
	shift = tune_shift(*rest);
	if (shift > 0)
		rest++;
	if (errno || rest == text || *rest || text[0] == '-' || value > SIZE_MAX >> 1 >> shift)
		return false;
	*ret_size = (size_t)value << shift;
	return true;
}

static bool tune_range(const struct piece *piece, size_t *ret_from, size_t *ret_to)
{
	const char *dash = memchr(piece->at, '-', piece->length);

	return dash && tune_size(piece->at, dash, ret_from) && tune_size(dash + 1, piece->at + piece->length, ret_to) &&
	       *ret_from <= *ret_to;
}

static bool rule_ranks(struct rh_comm_rule *rule, const struct piece *piece)
{
	struct piece inner = {piece->at + 1, piece->length - 2};
	size_t least;
	size_t most;

	if (piece->length < 2 || piece->at[piece->length - 1] != ']' || !tune_range(&inner, &least, &most))
		return false;
	rule->least = least > INT32_MAX ? INT32_MAX : (int32_t)least;
	rule->most = most > INT32_MAX ? INT32_MAX : (int32_t)most;
	return true;
}

static bool rule_algorithm(struct rh_comm_rule *rule, const struct piece *piece)
{
	struct piece name = {piece->at + 1, piece->length - 1};

	for (size_t i = 0; i < sizeof(tune_algorithms) / sizeof(*tune_algorithms); i++) {
		if (piece_is(&name, tune_algorithms[i]))
			rule->algorithm = tune_algorithms[i];
	}
	return rule->algorithm != NULL;
}

/* Names joined by ','; the text ends where the piece does. */
static bool rule_names(struct rh_comm_rule *rule, const struct piece *piece)
{
	const char *at = piece->at;
	const char *end = piece->at + piece->length;
	uint32_t bits = 0;

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		struct piece name = {at, (size_t)((comma ? comma : end) - at)};
		uint32_t bit = 0;

		for (size_t i = 0; i < sizeof(tune_names) / sizeof(*tune_names); i++)
			bit |= piece_is(&name, tune_names[i].text) ? UINT32_C(1) << tune_names[i].what : 0;
		if (bit == 0)
			return false;
		bits |= bit;
		at = name.at + name.length + 1;
	}
	rule->what = bits;
	return bits != 0;
}

static bool rule_read(struct rh_comm_rule *rule, const struct piece *piece)
{
	static const char chunk[] = "chunk=";
	size_t length = sizeof(chunk) - 1;

	if (piece->length == 0)
		return false;
	if (piece->at[0] == '@')
		return rule_algorithm(rule, piece);
	if (piece->at[0] == '[')
		return rule_ranks(rule, piece);
	if (piece->at[0] >= '0' && piece->at[0] <= '9')
		return tune_range(piece, &rule->from, &rule->to);
	if (piece->length > length && memcmp(piece->at, chunk, length) == 0)
		return tune_size(piece->at + length, piece->at + piece->length, &rule->chunk) && rule->chunk > 0;
	return rule_names(rule, piece);
}

static int32_t tune_read(const char *text, struct rh_comm_rule *rule, struct rh_comm_error *err)
{
	struct piece piece;

	*rule = (struct rh_comm_rule){.what = EVERYTHING, .to = SIZE_MAX, .most = INT32_MAX};
	while (tune_cut(&text, ':', &piece)) {
		if (!rule_read(rule, &piece))
			return rh_comm_fail(
				err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
				"RH_COMM_TUNE: \"%.*s\" is not a collective (allreduce, reduce_scatter, allgather, bcast), "
				"range of bytes (0-8k), range of ranks ([2-8]), algorithm (@flat, @staged, @doubling, "
				"@ring, @levels) or chunk=64k",
				(int)(piece.length < 40 ? piece.length : 40), piece.at);
	}
	return 0;
}

int32_t rh_comm_tune_parse(const char *text, struct rh_comm_tune *ret_tune, struct rh_comm_error *err)
{
	struct rh_comm_tune tune = {0};
	char one[RH_COMM_TUNE_ROOM];
	struct piece piece;
	int32_t r = 0;

	if (strlen(text) >= RH_COMM_TUNE_ROOM)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "RH_COMM_TUNE has %zu bytes, more than %d",
		                    strlen(text), RH_COMM_TUNE_ROOM - 1);
	while (r == 0 && tune_cut(&text, '#', &piece)) {
		if (piece.length == 0)
			continue;
		if (tune.count == RH_COMM_RULES)
			return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "RH_COMM_TUNE has more than %d rules",
			                    RH_COMM_RULES);
		memcpy(one, piece.at, piece.length);
		one[piece.length] = '\0';
		r = tune_read(one, &tune.rules[tune.count++], err);
	}
	if (r == 0)
		*ret_tune = tune;
	return r;
}

struct rh_comm_rule rh_comm_tune_find(const struct rh_comm_tune *tune, int32_t what, size_t bytes, int32_t world)
{
	struct rh_comm_rule found = {0};

	for (size_t i = 0; i < tune->count; i++) {
		const struct rh_comm_rule *rule = &tune->rules[i];

		if ((rule->what & UINT32_C(1) << what) != 0 && bytes >= rule->from && bytes < rule->to &&
		    world >= rule->least && world <= rule->most)
			found = *rule;
	}
	return found;
}
