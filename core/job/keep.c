/* SPDX-License-Identifier: Apache-2.0 */
#include "job/keep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "job/values/names.h"

#define KEEP_ONCE "once"
#define KEEP_RETAIN "retain"
#define KEEP_PAIR "pair"
/* Before the number of random bytes. */
#define KEEP_RANDOM "random="

static const char *keep_text(const struct rh_json *object)
{
	const struct rh_json *annotations = rh_json_get(rh_json_get(object, "metadata"), "annotations");

	return rh_json_string(rh_json_get(annotations, RH_ANNOTATION_KEEP));
}

void rh_keep_clear(struct rh_json *object)
{
	rh_json_remove(rh_json_get(rh_json_get(object, "metadata"), "annotations"), RH_ANNOTATION_KEEP);
}

struct rh_keep rh_keep_read(const struct rh_json *object)
{
	const char *text = keep_text(object);
	const char *random = text ? strstr(text, KEEP_RANDOM) : NULL;
	struct rh_keep keep = {0};

	if (!text)
		return keep;
	keep.once = rh_words_have(text, ',', KEEP_ONCE, strlen(KEEP_ONCE));
	keep.retain = rh_words_have(text, ',', KEEP_RETAIN, strlen(KEEP_RETAIN));
	keep.pair = rh_words_have(text, ',', KEEP_PAIR, strlen(KEEP_PAIR));
	if (random)
		keep.random = (uint32_t)strtoul(random + strlen(KEEP_RANDOM), NULL, 10);
	if (keep.random > RH_KEEP_RANDOM_MAX)
		keep.random = RH_KEEP_RANDOM_MAX;
	return keep;
}

int rh_keep_write(struct rh_json *object, const struct rh_keep *keep)
{
	struct rh_json *annotations = rh_json_ensure_object(rh_json_get(object, "metadata"), "annotations");
	rh_auto_str text = {0};

	if (keep->once)
		rh_str_append(&text, KEEP_ONCE);
	if (keep->random > 0)
		rh_str_appendf(&text, "," KEEP_RANDOM "%" PRIu32, keep->random);
	if (keep->pair)
		rh_str_append(&text, "," KEEP_PAIR);
	if (keep->retain)
		rh_str_append(&text, text.length > 0 ? "," KEEP_RETAIN : KEEP_RETAIN);
	if (text.failed || !annotations)
		return RH_ENOMEM;
	return rh_json_set_string(annotations, RH_ANNOTATION_KEEP, rh_str_text(&text));
}
