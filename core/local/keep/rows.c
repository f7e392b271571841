/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/rows.h"

#include <string.h>

#include "base/os/clock.h"
#include "job/values/names.h"

/* Output of a program may hold any bytes; JSON may not. */
void rh_rows_append_clean(struct rh_str *out, const char *text, size_t length)
{
	for (size_t at = 0; at < length;) {
		size_t step = text[at] ? rh_utf8_length(text + at, length - at) : 0;

		if (step)
			rh_str_append_bytes(out, text + at, step);
		else
			rh_str_append(out, "\xef\xbf\xbd");
		at += step ? step : 1;
	}
}

struct rh_json *rh_rows_new(const char *type)
{
	struct rh_json *row = rh_json_new_object();
	char now[RH_TIME_SIZE];

	if (row && (rh_json_set_string(row, "type", type) < 0 ||
	            rh_json_set_string(row, "time", rh_time_format_micro(rh_clock_wall(), now)) < 0)) {
		rh_json_free(row);
		return NULL;
	}
	return row;
}

/* @param sidecars only those of the list */
static int rows_add_containers(struct rh_json *names, const struct rh_json *list, bool sidecars)
{
	int r = 0;

	for (const struct rh_json *item = rh_json_first(list); item && r == 0; item = rh_json_next(item)) {
		const char *name = rh_json_string(rh_json_get(item, "name"));

		if (name && (!sidecars || rh_text_equal(rh_json_string(rh_json_get(item, "restartPolicy")), "Always")))
			r = rh_json_append(names, rh_json_new_string(name));
	}
	return r;
}

struct rh_json *rh_rows_containers(const struct rh_job *job)
{
	rh_auto(json) types = rh_json_new_object();

	for (size_t i = 0; types && i < job->spec_count; i++) {
		const struct rh_json *spec = rh_json_get(job->specs[i].template_, "spec");
		struct rh_json *names = rh_json_ensure_array(types, job->specs[i].type);

		if (!names || rows_add_containers(names, rh_json_get(spec, "containers"), false) < 0 ||
		    rows_add_containers(names, rh_json_get(spec, "initContainers"), true) < 0)
			return NULL;
	}
	return rh_take(types);
}

static int rows_set_known(struct rh_json *json, const char *key, const char *text)
{
	return text && *text ? rh_json_set_string(json, key, text) : rh_json_set(json, key, rh_json_new_null());
}

static int rows_set_number(struct rh_json *json, const char *key, int64_t number, bool known)
{
	return known ? rh_json_set_integer(json, key, number) : rh_json_set(json, key, rh_json_new_null());
}

static int rows_set_lines(struct rh_json *json, const char *text)
{
	struct rh_json *list = rh_json_ensure_array(json, "lines");

	while (list && *text) {
		size_t length = strcspn(text, "\n");
		rh_auto_str line = {0};

		rh_rows_append_clean(&line, text, length);
		if (rh_json_append(list, rh_json_new_string(rh_str_text(&line))) < 0)
			return RH_ENOMEM;
		text += length + (text[length] ? 1 : 0);
	}
	return list ? 0 : RH_ENOMEM;
}

/* Every member is there; null stands for what is not known. */
struct rh_json *rh_rows_fault(const struct rh_run_fault *fault)
{
	rh_auto(json) json = rh_json_new_object();
	char at[RH_TIME_SIZE];

	if (!json || rh_json_set_string(json, "job", fault->job) < 0 ||
	    rows_set_known(json, "replica", fault->replica) < 0 ||
	    rows_set_number(json, "rank", fault->rank, fault->rank >= 0) < 0 ||
	    rows_set_known(json, "container", fault->container) < 0 ||
	    rows_set_number(json, "exitCode", fault->exit_code, fault->exit_code >= 0) < 0 ||
	    rows_set_number(json, "signal", fault->signal, fault->signal != 0) < 0 ||
	    rows_set_known(json, "reason", fault->reason) < 0 || rh_json_set_string(json, "class", fault->blame) < 0 ||
	    rows_set_known(json, "at", fault->at ? rh_time_format_micro(fault->at, at) : NULL) < 0 ||
	    rh_json_set_string(json, "message", fault->text) < 0 || rows_set_lines(json, fault->lines) < 0)
		return NULL;
	return rh_take(json);
}

int rh_rows_fill_replica(struct rh_json *row, const struct rh_run_replica *replica)
{
	double seconds = (double)replica->duration / (double)RH_SECOND;

	if (rh_json_set_string(row, "job", replica->job) < 0 || rh_json_set_string(row, "replicaType", replica->type) < 0 ||
	    rh_json_set_integer(row, "index", replica->index) < 0 ||
	    rh_json_set_string(row, "outcome", replica->outcome) < 0 ||
	    (replica->container && rh_json_set_string(row, "container", replica->container) < 0) ||
	    rh_json_set_integer(row, "exitCode", replica->exit_code) < 0 ||
	    rh_json_set_integer(row, "restarts", replica->restarts) < 0 ||
	    rh_json_set(row, "seconds", rh_json_new_number(seconds)) < 0 ||
	    (replica->log && rh_json_set_string(row, "log", replica->log) < 0))
		return RH_ENOMEM;
	return 0;
}

/* What was last seen of a container, as its status has it. */
struct rows_seen {
	char started[RH_TIME_SIZE];
	char finished[RH_TIME_SIZE];
};

/* @return what was seen of the container, which may be changed; NULL: out of memory */
static struct rows_seen *rows_find_seen(struct rh_map *seen, const char *pod, const char *container)
{
	rh_auto_free char *key = rh_asprintf("%s/%s", pod, container);
	struct rows_seen *found = key ? rh_map_get(seen, key) : NULL;

	if (found || !key)
		return found;
	found = rh_alloc(sizeof(*found));
	if (found && rh_map_set(seen, key, found, NULL) < 0)
		rh_free(rh_take(found));
	return found;
}

/* @return whether @p text is there and differs from what was seen, which it replaces */
static bool rows_is_new(char last[RH_TIME_SIZE], const char *text)
{
	if (!text || rh_text_equal(last, text))
		return false;
	rh_copy(last, RH_TIME_SIZE, text);
	return true;
}

/* A pod and the rows that are made of it. */
struct rows_pod {
	struct rh_map *seen;
	const char *replica;
	const struct rh_json *object;
	struct rh_json *rows;
};

/* A new row of a container. @return it, borrowed; NULL: out of memory */
static struct rh_json *rows_add_container(const struct rows_pod *pod, const char *container, const char *state)
{
	const char *job = rh_json_string(rh_json_get(rh_json_at(pod->object, "metadata.labels"), RH_LABEL_JOB));
	struct rh_json *row = rh_rows_new("pod");

	if (!row || rh_json_set_string(row, "job", job ? job : "") < 0 ||
	    rh_json_set_string(row, "replica", pod->replica) < 0 || rh_json_set_string(row, "container", container) < 0 ||
	    rh_json_set_string(row, "state", state) < 0) {
		rh_json_free(row);
		return NULL;
	}
	return rh_json_append(pod->rows, row) < 0 ? NULL : row;
}

/* How a container ended. @return 0 or RH_ENOMEM */
static int rows_add_end(const struct rows_pod *pod, const struct rh_json *status, const struct rh_json *ended)
{
	static const char *const members[] = {"startedAt", "finishedAt", "exitCode", "signal", "reason"};
	struct rh_json *row = rows_add_container(pod, rh_json_string(rh_json_get(status, "name")), "ended");

	for (size_t i = 0; row && i < sizeof(members) / sizeof(members[0]); i++) {
		const struct rh_json *value = rh_json_get(ended, members[i]);

		if (value && rh_json_set(row, members[i], rh_json_copy(value)) < 0)
			return RH_ENOMEM;
	}
	if (row && rh_json_at(pod->object, "metadata.deletionTimestamp") &&
	    rh_json_set(row, "stopped", rh_json_new_bool(true)) < 0)
		return RH_ENOMEM;
	return row ? rh_json_set(row, "restarts", rh_json_copy(rh_json_get(status, "restartCount"))) : RH_ENOMEM;
}

static int rows_see_container(const struct rows_pod *pod, const struct rh_json *status)
{
	const char *name = rh_json_string(rh_json_get(status, "name"));
	const struct rh_json *running = rh_json_at(status, "state.running");
	const struct rh_json *ended = rh_json_at(status, "state.terminated");
	struct rows_seen *last =
		name ? rows_find_seen(pod->seen, rh_json_string_at(pod->object, "metadata.name"), name) : NULL;
	struct rh_json *row;

	if (!last)
		return name ? RH_ENOMEM : 0;
	ended = ended ? ended : rh_json_at(status, "lastState.terminated");
	if (rows_is_new(last->finished, rh_json_string(rh_json_get(ended, "finishedAt"))) &&
	    rows_add_end(pod, status, ended) < 0)
		return RH_ENOMEM;
	if (!rows_is_new(last->started, rh_json_string(rh_json_get(running, "startedAt"))))
		return 0;
	row = rows_add_container(pod, name, "running");
	return row ? rh_json_set_string(row, "startedAt", last->started) : RH_ENOMEM;
}

struct rh_json *rh_rows_pod(struct rh_map *seen, const char *replica, const struct rh_json *pod)
{
	static const char *const lists[] = {"status.initContainerStatuses", "status.containerStatuses"};
	rh_auto(json) rows = rh_json_string_at(pod, "metadata.name") ? rh_json_new_array() : NULL;
	const struct rows_pod made = {seen, replica, pod, rows};

	for (size_t i = 0; rows && i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (const struct rh_json *status = rh_json_first(rh_json_at(pod, lists[i])); status;
		     status = rh_json_next(status)) {
			if (rows_see_container(&made, status) < 0)
				return NULL;
		}
	}
	return rows && rh_json_size(rows) > 0 ? rh_take(rows) : NULL;
}

void rh_rows_forget(struct rh_map *seen)
{
	const char *key;
	void *value;

	for (size_t cursor = 0; seen && rh_map_next(seen, &cursor, &key, &value);)
		rh_free(value);
	rh_map_free(seen);
}
