/* SPDX-License-Identifier: Apache-2.0 */
/* What keys mean, as `kubectl explain` does of fields. */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "cli/config/parts.h"
#include "cli/config/rows.h"
#include "cli/output.h"
#include "cli/wrap.h"

/* Most keys that a "did you mean" looks at. */
#define EXPLAIN_NAMES_MAX 256
#define EXPLAIN_WIDTH 80

/* A walk over all keys. */
struct explain {
	const char *word; /* NULL: all */
	struct rh_str *out;
	struct rh_json *list; /* NULL: text */
	char *names[EXPLAIN_NAMES_MAX];
	size_t name_count;
	size_t found;
};

/* "local.ports", "ports", "local", "plugin pytorch.KEY", "pytorch" */
static bool explain_fits(const char *word, const struct rh_row *row)
{
	const char *section = row->section;
	const char *name = rh_starts_with(section, "plugin ") ? section + strlen("plugin ") : section;
	size_t length = strlen(section), short_length = strlen(name);

	if (!word || strcasecmp(word, row->key) == 0 || strcasecmp(word, section) == 0 || strcasecmp(word, name) == 0)
		return true;
	if (strncasecmp(word, section, length) == 0 && word[length] == '.')
		return strcasecmp(word + length + 1, row->key) == 0;
	return strncasecmp(word, name, short_length) == 0 && word[short_length] == '.' &&
	       strcasecmp(word + short_length + 1, row->key) == 0;
}

static int explain_json(struct rh_json *list, const struct rh_row *row)
{
	rh_auto(json) item = rh_json_new_object();

	if (!item || rh_json_set_string(item, "section", row->section) < 0 ||
	    rh_json_set_string(item, "key", row->key) < 0 || rh_json_set_string(item, "type", row->type) < 0 ||
	    rh_json_set(item, "default", row->value ? rh_json_new_string(row->value) : rh_json_new_null()) < 0 ||
	    rh_json_set_string(item, "description", row->help) < 0 ||
	    (row->page && rh_json_set_string(item, "page", row->page) < 0))
		return RH_ENOMEM;
	return rh_json_append(list, rh_take(item));
}

static void explain_text(const struct explain *explain, const struct rh_row *row)
{
	struct rh_str *out = explain->out;

	if (!explain->word) {
		rh_str_appendf(out, "%-16s %-30s %-30s %s\n", row->section, row->key, row->value ? row->value : "-", row->type);
		return;
	}
	rh_str_appendf(out, "%sKEY      [%s] %s\nTYPE     %s\n", explain->found > 1 ? "\n" : "", row->section, row->key,
	               row->type);
	if (row->value)
		rh_str_appendf(out, "DEFAULT  %s\n", *row->value ? row->value : "(empty)");
	else
		rh_str_appendf(out, "EXAMPLE  %s\n", row->example);
	if (row->page)
		rh_str_appendf(out, "PAGE     docs/%s\n", row->page);
	rh_str_append(out, "\n");
	rh_cli_wrap(row->help, "", 0, EXPLAIN_WIDTH, out);
}

static int explain_row(void *arg, const struct rh_row *row)
{
	struct explain *explain = arg;

	if (explain->name_count < EXPLAIN_NAMES_MAX) {
		explain->names[explain->name_count] = rh_strdup(row->key);
		if (!explain->names[explain->name_count])
			return RH_ENOMEM;
		explain->name_count++;
	}
	if (!explain_fits(explain->word, row))
		return 0;
	explain->found++;
	if (explain->list)
		return explain_json(explain->list, row);
	explain_text(explain, row);
	return 0;
}

static int explain_refuse(const struct explain *explain, struct rh_error *err)
{
	const char *dot = strchr(explain->word, '.');
	const char *key = dot ? dot + 1 : explain->word;
	const char *near = rh_nearest(key, (const char *const *)explain->names, explain->name_count);

	if (near)
		return rh_fail(err, RH_ENOENT, "there is no key or section \"%s\"; did you mean \"%s\"?", explain->word, near);
	return rh_fail(err, RH_ENOENT, "there is no key or section \"%s\"; `roundhouse config explain` lists them",
	               explain->word);
}

int rh_config_explain(const struct rh_session *session, const char *word, bool json, struct rh_str *out,
                      struct rh_error *err)
{
	rh_auto(json) list = json ? rh_json_new_array() : NULL;
	struct explain explain = {.word = word, .out = out, .list = list};
	int r = json && !list ? RH_ENOMEM : 0;

	if (r == 0 && !json && !word)
		rh_str_appendf(out, "%-16s %-30s %-30s %s\n", "SECTION", "KEY", "DEFAULT", "TYPE");
	if (r == 0)
		r = rh_rows_each(session->host, explain_row, &explain);
	if (r == 0 && explain.found == 0)
		r = explain_refuse(&explain, err);
	if (r == 0 && json)
		r = rh_cli_put(list, true, out);
	for (size_t i = 0; i < explain.name_count; i++)
		rh_free(explain.names[i]);
	if (r == RH_ENOMEM || out->failed)
		return rh_fail_oom(err);
	return r;
}
