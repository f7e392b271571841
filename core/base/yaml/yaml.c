/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <string.h>
#include <yaml.h>

#include "base/json/build.h"
#include "base/yaml/parts.h"

#define YAML_TAG_PREFIX "tag:yaml.org,2002:"
/* Number of copied values that is allowed whatever their share is. */
#define YAML_COPIES_FREE 1000

/* A parse on its way. Functions that build a node start at its first event and end at its last. */
struct yaml_reader {
	yaml_parser_t parser;
	yaml_event_t event;
	const char *text;
	size_t length;
	struct rh_map *anchors; /* of this document: borrowed trees, each in the document or in `kept` */
	struct rh_json *kept;   /* trees that are not part of the document, but may have anchors in them */
	size_t nodes;
	size_t alias_nodes; /* those of `nodes` that are copies */
	size_t alias_bytes;
	int depth;
	bool secret; /* messages quote nothing of the text */
	struct rh_error *err;
};

/* A mapping on its way. */
struct yaml_mapping {
	struct rh_json *object;
	struct rh_json_keys keys;
	struct rh_json *merges; /* values of its << keys; NULL when it has none */
};

static int yaml_node(struct yaml_reader *reader, struct rh_json **ret_json);

/* Fail at the event that is being read. `detail`, of the text, is quoted after `what`; may be NULL. */
static int yaml_fail_at(struct yaml_reader *reader, yaml_mark_t mark, const char *what, const char *detail)
{
	const char *quote = detail ? "\"" : "";

	if (detail && reader->secret)
		detail = "...";
	return rh_fail(reader->err, RH_EINVAL, "line %zu, column %zu: %s%s%s%.128s%s", mark.line + 1, mark.column + 1, what,
	               detail ? " " : "", quote, detail ? detail : "", quote);
}

static int yaml_fail(struct yaml_reader *reader, const char *what, const char *detail)
{
	return yaml_fail_at(reader, reader->event.start_mark, what, detail);
}

/* Bytes that libyaml cannot decode: it reports their offset, not their line. */
static int yaml_fail_bytes(struct yaml_reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;
	size_t line, column;

	rh_json_position(reader->text, parser->problem_offset, &line, &column);
	return rh_fail(reader->err, RH_EINVAL, "line %zu, column %zu: %s (the text must be UTF-8)", line, column,
	               parser->problem);
}

/* @return whether white space at the start of a line (counted from 0) has a tab in it */
static bool yaml_tab_indents(const struct yaml_reader *reader, size_t line)
{
	const char *at = reader->text, *end = reader->text + reader->length;

	for (; line > 0 && at; line--) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	while (at && at < end && *at == ' ')
		at++;
	return at && at < end && *at == '\t';
}

static int yaml_fail_syntax(struct yaml_reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;
	yaml_mark_t mark = parser->problem_mark;

	if (parser->error == YAML_MEMORY_ERROR)
		return rh_fail_oom(reader->err);
	if (parser->error == YAML_READER_ERROR)
		return yaml_fail_bytes(reader);
	if (yaml_tab_indents(reader, mark.line))
		return yaml_fail_at(reader, mark, "a tab in the indent; indent with spaces", NULL);
	if (!parser->context || parser->context_mark.line == mark.line)
		return rh_fail(reader->err, RH_EINVAL, "line %zu, column %zu: %s%s", mark.line + 1, mark.column + 1,
		               parser->problem, rh_yaml_advice(parser->problem));
	return rh_fail(reader->err, RH_EINVAL, "line %zu, column %zu: %s (%s that starts in line %zu)%s", mark.line + 1,
	               mark.column + 1, parser->problem, parser->context, parser->context_mark.line + 1,
	               rh_yaml_advice(parser->problem));
}

static int yaml_next(struct yaml_reader *reader)
{
	yaml_event_delete(&reader->event);
	return yaml_parser_parse(&reader->parser, &reader->event) ? 0 : yaml_fail_syntax(reader);
}

static int yaml_count(struct yaml_reader *reader)
{
	if (++reader->nodes > RH_YAML_NODES_MAX)
		return yaml_fail(reader, "the text holds too many values, its aliases expanded", NULL);
	return 0;
}

/* Nearly nothing but copies: the rule that sigs.k8s.io/yaml has against aliases that explode, which ends them early. */
static int yaml_count_copy(struct yaml_reader *reader)
{
	reader->alias_nodes++;
	if (reader->alias_nodes > YAML_COPIES_FREE && reader->nodes - reader->alias_nodes < reader->nodes / 100)
		return yaml_fail(reader, "the aliases expand to too many values", NULL);
	return yaml_count(reader);
}

/* Charge what a copy of `json` will cost, before it is made. */
static int yaml_charge(struct yaml_reader *reader, const struct rh_json *json, int depth)
{
	const char *key = rh_json_key(json), *text = rh_json_string(json);
	int r = yaml_count_copy(reader);

	reader->alias_bytes += (key ? strlen(key) : 0) + (text ? strlen(text) : 0);
	if (r == 0 && reader->alias_bytes > RH_YAML_TEXT_MAX)
		r = yaml_fail(reader, "the aliases expand to too much text", NULL);
	if (r == 0 && rh_json_type(json) >= RH_JSON_ARRAY && depth >= RH_JSON_DEPTH_MAX)
		r = yaml_fail(reader, "nested too deeply, with its aliases expanded", NULL);
	for (const struct rh_json *child = rh_json_first(json); r == 0 && child; child = rh_json_next(child))
		r = yaml_charge(reader, child, depth + 1);
	return r;
}

static int yaml_copy(struct yaml_reader *reader, const struct rh_json *json, struct rh_json **ret_json)
{
	int r = yaml_charge(reader, json, reader->depth);

	if (r < 0)
		return r;
	*ret_json = rh_json_copy(json);
	return *ret_json ? 0 : rh_fail_oom(reader->err);
}

static int yaml_alias(struct yaml_reader *reader, struct rh_json **ret_json)
{
	const char *name = (const char *)reader->event.data.alias.anchor;
	const struct rh_json *anchored = rh_map_get(reader->anchors, name);

	if (!anchored)
		return yaml_fail(reader, "an alias must name an anchor that ends before it:", name);
	return yaml_copy(reader, anchored, ret_json);
}

static int yaml_set_anchor(struct yaml_reader *reader, const char *anchor, struct rh_json *json)
{
	if (!anchor || rh_map_set(reader->anchors, anchor, json, NULL) == 0)
		return 0;
	return rh_fail_oom(reader->err);
}

/* @return the part of a core tag after its prefix, "" for none, or NULL for a custom tag */
static const char *yaml_core_tag(const yaml_char_t *tag)
{
	const char *text = (const char *)tag;

	if (!text)
		return "";
	return rh_starts_with(text, YAML_TAG_PREFIX) ? text + strlen(YAML_TAG_PREFIX) : NULL;
}

static int yaml_check_tag(struct yaml_reader *reader, const yaml_char_t *tag, const char *expected)
{
	const char *core = yaml_core_tag(tag);

	if ((core && (core[0] == '\0' || strcmp(core, expected) == 0)) || rh_text_equal((const char *)tag, "!"))
		return 0;
	return yaml_fail(reader, "unsupported tag", (const char *)tag);
}

static struct rh_json *yaml_new_scalar(enum rh_yaml_kind kind, const char *number, const char *text)
{
	switch (kind) {
	case RH_YAML_NULL:
		return rh_json_new_null();
	case RH_YAML_TRUE:
	case RH_YAML_FALSE:
		return rh_json_new_bool(kind == RH_YAML_TRUE);
	case RH_YAML_INTEGER:
	case RH_YAML_REAL:
		return rh_json_new_literal(number, strlen(number));
	case RH_YAML_STRING:
	case RH_YAML_NOT_FINITE:
	default:
		return rh_json_new_string(text);
	}
}

/* @return whether a scalar that means `kind` may carry the core tag `tag` */
static bool yaml_tag_fits(const char *tag, enum rh_yaml_kind kind)
{
	switch (kind) {
	case RH_YAML_NULL:
		return strcmp(tag, "null") == 0;
	case RH_YAML_TRUE:
	case RH_YAML_FALSE:
		return strcmp(tag, "bool") == 0;
	case RH_YAML_INTEGER:
		return strcmp(tag, "int") == 0 || strcmp(tag, "float") == 0;
	case RH_YAML_REAL:
		return strcmp(tag, "float") == 0;
	case RH_YAML_STRING:
	case RH_YAML_NOT_FINITE:
	default:
		return false;
	}
}

/* Value of the scalar of the current event, by its tag or, when it is plain, by its text. */
static int yaml_scalar_kind(struct yaml_reader *reader, enum rh_yaml_kind *ret_kind, struct rh_yaml_number *ret_number)
{
	const char *text = (const char *)reader->event.data.scalar.value;
	const char *tag = yaml_core_tag(reader->event.data.scalar.tag);
	size_t length = reader->event.data.scalar.length;
	bool plain = reader->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	*ret_kind = RH_YAML_STRING;
	if (rh_text_equal((const char *)reader->event.data.scalar.tag, "!"))
		return 0;
	if (!tag)
		return yaml_fail(reader, "unsupported tag", (const char *)reader->event.data.scalar.tag);
	if (strcmp(tag, "str") == 0 || (tag[0] == '\0' && !plain))
		return 0;
	*ret_kind = rh_yaml_resolve(text, length, ret_number);
	if (*ret_kind == RH_YAML_NOT_FINITE)
		return yaml_fail(reader, "only finite numbers are allowed, not", text);
	if (tag[0] != '\0' && !yaml_tag_fits(tag, *ret_kind))
		return yaml_fail(reader, "the tag does not fit the value, or is not supported:", tag);
	return 0;
}

static int yaml_scalar(struct yaml_reader *reader, struct rh_json **ret_json)
{
	const char *text = (const char *)reader->event.data.scalar.value;
	enum rh_yaml_kind kind;
	struct rh_yaml_number number;
	rh_auto(json) json = NULL;
	int r = yaml_scalar_kind(reader, &kind, &number);

	if (r < 0)
		return r;
	if (strlen(text) != reader->event.data.scalar.length)
		return yaml_fail(reader, "a string must not hold a zero byte", NULL);
	json = yaml_new_scalar(kind, number.text, text);
	if (!json)
		return rh_fail_oom(reader->err);
	r = yaml_set_anchor(reader, (const char *)reader->event.data.scalar.anchor, json);
	if (r == 0)
		*ret_json = rh_take(json);
	return r;
}

static int yaml_sequence(struct yaml_reader *reader, struct rh_json *array)
{
	for (;;) {
		struct rh_json *item = NULL;
		int r = yaml_next(reader);

		if (r < 0 || reader->event.type == YAML_SEQUENCE_END_EVENT)
			return r;
		r = yaml_node(reader, &item);
		if (r < 0)
			return r;
		if (rh_json_append(array, item) < 0)
			return rh_fail_oom(reader->err);
	}
}

/* Keep a tree alive until the document ends. Taken, also on failure. */
static int yaml_keep(struct yaml_reader *reader, struct rh_json *json)
{
	return rh_json_append(reader->kept, json) < 0 ? rh_fail_oom(reader->err) : 0;
}

/* Keys that are numbers or booleans become their JSON text, as in sigs.k8s.io/yaml. */
static char *yaml_key_text(const struct rh_json *key)
{
	const char *text = rh_json_string(key);

	return text ? rh_strdup(text) : rh_json_text(key);
}

static int yaml_key(struct yaml_reader *reader, char **ret_key)
{
	rh_auto(json) key = NULL;
	int r;

	if (reader->event.type != YAML_SCALAR_EVENT && reader->event.type != YAML_ALIAS_EVENT)
		return yaml_fail(reader, "a key must be a scalar", NULL);
	r = yaml_node(reader, &key);
	if (r < 0)
		return r;
	if (rh_json_type(key) == RH_JSON_NULL || rh_json_type(key) >= RH_JSON_ARRAY)
		return yaml_fail(reader, "a key must be text, not", rh_json_type_name(key));
	*ret_key = yaml_key_text(key);
	if (!*ret_key)
		return rh_fail_oom(reader->err);
	if (reader->event.type == YAML_SCALAR_EVENT && reader->event.data.scalar.anchor)
		return yaml_keep(reader, rh_take(key));
	return 0;
}

static bool yaml_is_merge(const yaml_event_t *event)
{
	const char *tag;

	if (event->type != YAML_SCALAR_EVENT || strcmp((const char *)event->data.scalar.value, "<<") != 0)
		return false;
	tag = yaml_core_tag(event->data.scalar.tag);
	return tag &&
	       (strcmp(tag, "merge") == 0 || (tag[0] == '\0' && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE));
}

static bool yaml_can_merge(const struct rh_json *source)
{
	if (rh_json_type(source) == RH_JSON_OBJECT)
		return true;
	if (rh_json_type(source) != RH_JSON_ARRAY)
		return false;
	for (const struct rh_json *item = rh_json_first(source); item; item = rh_json_next(item))
		if (rh_json_type(item) != RH_JSON_OBJECT)
			return false;
	return true;
}

/* Note the value of a << key; it is merged when all keys of the mapping are known, since those win. */
static int yaml_note_merge(struct yaml_reader *reader, struct yaml_mapping *mapping)
{
	yaml_mark_t mark = reader->event.start_mark;
	rh_auto(json) source = NULL;
	int r = yaml_next(reader);

	if (r == 0)
		r = yaml_node(reader, &source);
	if (r < 0)
		return r;
	if (!yaml_can_merge(source))
		return yaml_fail_at(reader, mark, "<< needs a mapping or a list of mappings", NULL);
	if (!mapping->merges)
		mapping->merges = rh_json_new_array();
	return rh_json_append(mapping->merges, rh_take(source)) < 0 ? rh_fail_oom(reader->err) : 0;
}

static int yaml_merge_object(struct yaml_reader *reader, struct yaml_mapping *mapping, const struct rh_json *source)
{
	for (const struct rh_json *member = rh_json_first(source); member; member = rh_json_next(member)) {
		struct rh_json *copy = NULL;
		int r;

		if (rh_json_keys_have(&mapping->keys, mapping->object, rh_json_key(member)))
			continue;
		r = yaml_copy(reader, member, &copy);
		if (r < 0)
			return r;
		if (rh_json_keys_add(&mapping->keys, mapping->object, rh_json_key(member), copy) < 0)
			return rh_fail_oom(reader->err);
	}
	return 0;
}

static int yaml_merge(struct yaml_reader *reader, struct yaml_mapping *mapping, const struct rh_json *source)
{
	int r = 0;

	if (rh_json_type(source) == RH_JSON_OBJECT)
		return yaml_merge_object(reader, mapping, source);
	for (const struct rh_json *item = rh_json_first(source); r == 0 && item; item = rh_json_next(item))
		r = yaml_merge_object(reader, mapping, item);
	return r;
}

static int yaml_merge_all(struct yaml_reader *reader, struct yaml_mapping *mapping)
{
	int r = 0;

	for (const struct rh_json *source = rh_json_first(mapping->merges); r == 0 && source; source = rh_json_next(source))
		r = yaml_merge(reader, mapping, source);
	return r;
}

static int yaml_pair(struct yaml_reader *reader, struct yaml_mapping *mapping)
{
	yaml_mark_t mark = reader->event.start_mark;
	rh_auto(json) value = NULL;
	rh_auto_free char *key = NULL;
	int r;

	if (yaml_is_merge(&reader->event))
		return yaml_note_merge(reader, mapping);
	r = yaml_key(reader, &key);
	if (r < 0)
		return r;
	if (rh_json_keys_have(&mapping->keys, mapping->object, key))
		return yaml_fail_at(reader, mark, "this key stands twice in one mapping:", key);
	r = yaml_next(reader);
	if (r == 0)
		r = yaml_node(reader, &value);
	if (r < 0)
		return r;
	r = rh_json_keys_add(&mapping->keys, mapping->object, key, rh_take(value));
	return r < 0 ? rh_fail_oom(reader->err) : 0;
}

static int yaml_pairs(struct yaml_reader *reader, struct yaml_mapping *mapping)
{
	for (;;) {
		int r = yaml_next(reader);

		if (r == 0 && reader->event.type == YAML_MAPPING_END_EVENT)
			return yaml_merge_all(reader, mapping);
		if (r == 0)
			r = yaml_pair(reader, mapping);
		if (r < 0)
			return r;
	}
}

static int yaml_mapping(struct yaml_reader *reader, struct rh_json *object)
{
	struct yaml_mapping mapping = {.object = object};
	int r = yaml_pairs(reader, &mapping);

	rh_json_keys_deinit(&mapping.keys);
	if (!mapping.merges)
		return r;
	if (r < 0) {
		rh_json_free(mapping.merges);
		return r;
	}
	return yaml_keep(reader, mapping.merges);
}

static int yaml_collection(struct yaml_reader *reader, struct rh_json **ret_json)
{
	bool array = reader->event.type == YAML_SEQUENCE_START_EVENT;
	const yaml_char_t *anchor =
		array ? reader->event.data.sequence_start.anchor : reader->event.data.mapping_start.anchor;
	const yaml_char_t *tag = array ? reader->event.data.sequence_start.tag : reader->event.data.mapping_start.tag;
	rh_auto(json) json = array ? rh_json_new_array() : rh_json_new_object();
	rh_auto_free char *name = rh_strdup((const char *)anchor);
	int r = yaml_check_tag(reader, tag, array ? "seq" : "map");

	if (r < 0)
		return r;
	if (!json || (anchor && !name))
		return rh_fail_oom(reader->err);
	if (reader->depth >= RH_JSON_DEPTH_MAX)
		return yaml_fail(reader, "nested too deeply", NULL);
	reader->depth++;
	r = array ? yaml_sequence(reader, json) : yaml_mapping(reader, json);
	reader->depth--;
	if (r == 0)
		r = yaml_set_anchor(reader, name, json);
	if (r == 0)
		*ret_json = rh_take(json);
	return r;
}

static int yaml_node(struct yaml_reader *reader, struct rh_json **ret_json)
{
	int r;

	if (reader->event.type == YAML_ALIAS_EVENT)
		return yaml_alias(reader, ret_json);
	r = yaml_count(reader);
	if (r < 0)
		return r;
	return reader->event.type == YAML_SCALAR_EVENT ? yaml_scalar(reader, ret_json) : yaml_collection(reader, ret_json);
}

static bool yaml_is_nothing(const yaml_event_t *event)
{
	return event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0 && !event->data.scalar.tag &&
	       event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static void yaml_forget_document(struct yaml_reader *reader)
{
	rh_map_free(reader->anchors);
	rh_json_free(reader->kept);
	reader->anchors = NULL;
	reader->kept = NULL;
}

/* Read from the document's start event to its end event. */
static int yaml_document(struct yaml_reader *reader, struct rh_json *documents)
{
	rh_auto(json) document = NULL;
	int r;

	yaml_forget_document(reader);
	reader->anchors = rh_map_new();
	reader->kept = rh_json_new_array();
	if (!reader->anchors || !reader->kept)
		return rh_fail_oom(reader->err);
	r = yaml_next(reader);
	if (r == 0 && !yaml_is_nothing(&reader->event)) {
		r = yaml_node(reader, &document);
		if (r == 0 && rh_json_append(documents, rh_take(document)) < 0)
			r = rh_fail_oom(reader->err);
	}
	return r < 0 ? r : yaml_next(reader);
}

static int yaml_stream(struct yaml_reader *reader, struct rh_json *documents)
{
	int r = yaml_next(reader);

	while (r == 0 && reader->event.type != YAML_STREAM_END_EVENT) {
		r = yaml_next(reader);
		if (r == 0 && reader->event.type == YAML_DOCUMENT_START_EVENT)
			r = yaml_document(reader, documents);
	}
	return r;
}

static int yaml_parse_yaml(const struct rh_json_span *whole, struct rh_json *documents, struct rh_error *err)
{
	struct yaml_reader reader = {.text = whole->text, .length = whole->end, .secret = whole->secret, .err = err};
	int r;

	if (!yaml_parser_initialize(&reader.parser))
		return rh_fail_oom(err);
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)reader.text, reader.length);
	r = yaml_stream(&reader, documents);
	yaml_forget_document(&reader);
	yaml_event_delete(&reader.event);
	yaml_parser_delete(&reader.parser);
	return r;
}

typedef int yaml_parse_fn(const struct rh_json_span *whole, struct rh_json *documents, struct rh_error *err);

/* Parse into an array of its own. @return what `parse` returned, or RH_ENOMEM */
static int yaml_try(yaml_parse_fn *parse, const struct rh_json_span *whole, struct rh_json **ret_documents,
                    struct rh_error *err)
{
	rh_auto(json) documents = rh_json_new_array();
	int r = documents ? parse(whole, documents, err) : rh_fail_oom(err);

	if (r == 0)
		*ret_documents = rh_take(documents);
	return r;
}

static int yaml_parse_span(struct rh_json_span whole, struct rh_json **ret_documents, struct rh_error *err)
{
	struct rh_error json_err = {0};
	int json_r = 1, r;

	/* Editors of Windows write a byte order mark. It has no meaning in UTF-8, and libyaml refuses it. */
	if (whole.end >= 3 && memcmp(whole.text, "\xef\xbb\xbf", 3) == 0) {
		whole.text += 3;
		whole.end -= 3;
	}
	if (whole.end > RH_YAML_TEXT_MAX)
		return rh_fail(err, RH_EINVAL, "the text has %zu bytes, more than the limit of %u bytes", whole.end,
		               RH_YAML_TEXT_MAX);
	if (rh_yaml_looks_like_json(whole.text, whole.end))
		json_r = yaml_try(rh_yaml_parse_json, &whole, ret_documents, &json_err);
	if (json_r == 0)
		return 0;
	if (json_r == RH_ENOMEM)
		return rh_fail_oom(err);
	r = yaml_try(yaml_parse_yaml, &whole, ret_documents, err);
	/*
	 * A text in braces that is not JSON may be YAML in flow style. If it is neither, the message of JSON helps more.
	 */
	if (r == RH_EINVAL && json_r == RH_EINVAL && err)
		*err = json_err;
	return r;
}

int rh_yaml_parse(const char *text, size_t length, struct rh_json **ret_documents, struct rh_error *err)
{
	const struct rh_json_span whole = {.text = text, .end = length, .values = RH_YAML_NODES_MAX};

	return yaml_parse_span(whole, ret_documents, err);
}

int rh_yaml_parse_secret(const char *text, size_t length, struct rh_json **ret_documents, struct rh_error *err)
{
	const struct rh_json_span whole = {.text = text, .end = length, .values = RH_YAML_NODES_MAX, .secret = true};

	return yaml_parse_span(whole, ret_documents, err);
}
