/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/request/logs.h"

#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/entry.h"

/* Most bytes of one answer. */
#define LOGS_BYTES (64 * 1024)
/* When a right that was missing is asked for again. */
#define LOGS_PAUSE (10 * 60 * RH_SECOND)
/* When a request is sent again that a server without time refused and named no time for. */
#define LOGS_AGAIN RH_SECOND

/* A text that is too long loses its end, which is what counts: it is read again with fewer lines. */
static const int32_t logs_lines[] = {200, 40, 8, 1};
#define LOGS_STEPS (sizeof(logs_lines) / sizeof(logs_lines[0]))

/* The failed containers of one pod, being read. */
struct rh_log_read {
	struct rh_log_read *next;
	struct rh_engine *engine;
	char *namespace_;
	char *name;
	char *uid;
	struct rh_unread_list unread;      /* rh_pod.unread when it began */
	size_t next_container;             /* in it */
	const struct rh_unread *container; /* the one that is read now; NULL: none is left, the pod itself is read */
	size_t step;                       /* in logs_lines */
	struct rh_written *output;         /* of those that were read */
	uint64_t request;                  /* in flight; 0: none */
	int64_t again;                     /* when it is sent again, because the server had no time for it; 0: it is not */
	int64_t until;
};

/* What is known of the right to read logs in one namespace. */
struct logs_right {
	const struct rh_log_read *tries; /* its answer shows it; NULL: none does */
	int64_t denied_until;            /* it was missing */
	bool granted;
};

static void logs_on_log(void *arg, const struct rh_outcome *outcome);
static void logs_on_pod(void *arg, const struct rh_outcome *outcome);

static struct logs_right *logs_right_known(const struct rh_engine *engine, const char *namespace_)
{
	return engine->logs.rights ? rh_map_get(engine->logs.rights, namespace_) : NULL;
}

/* @return what is known, borrowed; NULL when memory is out */
static struct logs_right *logs_right(struct rh_engine *engine, const char *namespace_)
{
	struct logs_right *right = logs_right_known(engine, namespace_);
	struct rh_map *rights = engine->logs.rights ? engine->logs.rights : rh_map_new();

	engine->logs.rights = rights;
	if (right || !rights)
		return right;
	right = rh_alloc(sizeof(*right));
	if (right && rh_map_set(rights, namespace_, right, NULL) < 0)
		rh_free(rh_take(right));
	return right;
}

bool rh_logs_may_read(const struct rh_entry *entry)
{
	const struct rh_engine *engine = entry->engine;
	const struct logs_right *right = logs_right_known(engine, entry->namespace_);

	return engine->options.reads_logs && (!right || right->denied_until <= engine->now);
}

static void logs_free(struct rh_log_read *read)
{
	if (!read)
		return;
	if (read->request)
		rh_engine_cancel(read->engine, read->request);
	rh_free(read->namespace_);
	rh_free(read->name);
	rh_free(read->uid);
	rh_written_free(read->output);
	rh_free(read);
}

/* The reading is over, with or without a result. */
static void logs_end(struct rh_log_read *read)
{
	struct rh_engine *engine = read->engine;
	struct rh_cached *cached = rh_index_find(&engine->index, read->uid);
	struct logs_right *right = logs_right_known(engine, read->namespace_);
	struct rh_log_read **at = &engine->logs.first;

	if (cached && cached->pod) {
		cached->pod->log_over = true;
		rh_entry_touch(cached->entry);
	}
	if (right && right->tries == read)
		right->tries = NULL;
	while (*at != read)
		at = &(*at)->next;
	*at = read->next;
	logs_free(read);
}

static int logs_send_log(struct rh_log_read *read)
{
	const struct rh_log_query query = {
		.container = read->container->container,
		.previous = read->container->previous,
		.lines = logs_lines[read->step],
		.bytes = LOGS_BYTES,
	};
	struct rh_request request = {
		.verb = RH_VERB_LOG,
		.resource = &rh_resource_pods,
		.namespace_ = read->namespace_,
		.name = read->name,
		.log = &query,
		.answer_size = LOGS_BYTES,
	};

	return rh_engine_submit(read->engine, &request, logs_on_log, read, &read->request);
}

static int logs_send_get(struct rh_log_read *read)
{
	struct rh_request request = {
		.verb = RH_VERB_GET,
		.resource = &rh_resource_pods,
		.namespace_ = read->namespace_,
		.name = read->name,
	};

	return rh_engine_submit(read->engine, &request, logs_on_pod, read, &read->request);
}

/* Ask for what comes next. A reading that cannot go on ends. */
static void logs_send(struct rh_log_read *read)
{
	read->again = 0;
	if ((read->container ? logs_send_log(read) : logs_send_get(read)) < 0)
		logs_end(read);
}

/* Go on with the next container, and after the last one with the pod. */
static void logs_advance(struct rh_log_read *read)
{
	read->step = 0;
	read->container = NULL;
	if (read->next_container < read->unread.count)
		read->container = &read->unread.items[read->next_container++];
	if (!read->container && !read->output)
		logs_end(read);
	else
		logs_send(read);
}

/* @return whether the server had no time for the request, and it is sent again while it is awaited */
static bool logs_send_later(struct rh_log_read *read, const struct rh_outcome *outcome)
{
	int64_t pause = outcome->retry_after > 0 ? outcome->retry_after : LOGS_AGAIN;

	if (outcome->code != RH_OUTCOME_THROTTLED || pause >= read->until - read->engine->now)
		return false;
	read->again = read->engine->now + pause;
	return true;
}

static void logs_begin(struct rh_log_read *read)
{
	struct logs_right *right = logs_right(read->engine, read->namespace_);

	if (!right || right->denied_until > read->engine->now) {
		logs_end(read);
		return;
	}
	if (!right->granted && right->tries)
		return;
	if (!right->granted)
		right->tries = read;
	logs_advance(read);
}

/* Begin with those that waited for the answer to another one. */
static void logs_begin_all(struct rh_engine *engine)
{
	struct rh_log_read *next;

	for (struct rh_log_read *read = engine->logs.first; read; read = next) {
		next = read->next;
		if (!read->request && !read->again)
			logs_begin(read);
	}
}

/* An error that is not about the right comes after it was checked; without an answer nothing is known. */
static void logs_note_right(const struct rh_log_read *read, const struct rh_outcome *outcome)
{
	struct logs_right *right = logs_right_known(read->engine, read->namespace_);

	if (right->tries == read)
		right->tries = NULL;
	if (outcome->forbidden) {
		right->granted = false;
		right->denied_until = read->engine->now + LOGS_PAUSE;
	} else if (outcome->code == RH_OUTCOME_OK || outcome->code == RH_OUTCOME_GONE ||
	           outcome->code == RH_OUTCOME_DENIED) {
		right->granted = true;
	}
}

/* @return whether the answer was cut, and fewer lines are read now */
static bool logs_read_less(struct rh_log_read *read, const char *text)
{
	if (strlen(text) < LOGS_BYTES || read->step + 1 >= LOGS_STEPS)
		return false;
	read->step++;
	return logs_send_log(read) == 0;
}

static void logs_on_log(void *arg, const struct rh_outcome *outcome)
{
	struct rh_log_read *read = arg;
	struct rh_engine *engine = read->engine;
	bool good = outcome->code == RH_OUTCOME_OK && outcome->text;

	engine->requests--;
	read->request = 0;
	if (logs_send_later(read, outcome))
		return;
	logs_note_right(read, outcome);
	if (outcome->forbidden) {
		logs_end(read);
	} else if (!good || !logs_read_less(read, outcome->text)) {
		if (good)
			(void)rh_written_add(&read->output, read->container, outcome->text);
		logs_advance(read);
	}
	logs_begin_all(engine);
}

static void logs_on_pod(void *arg, const struct rh_outcome *outcome)
{
	struct rh_log_read *read = arg;
	struct rh_engine *engine = read->engine;
	struct rh_cached *cached = rh_index_find(&engine->index, read->uid);

	engine->requests--;
	read->request = 0;
	if (logs_send_later(read, outcome))
		return;
	/* a log has no UID: the name may have another pod by now */
	if (cached && cached->pod && outcome->code == RH_OUTCOME_OK &&
	    rh_text_equal(rh_json_string_at(outcome->object, "metadata.uid"), read->uid) &&
	    rh_children_reread(cached, rh_take(read->output), outcome->object) < 0)
		engine->lost = true;
	logs_end(read);
}

static struct rh_log_read *logs_new(struct rh_entry *entry, const struct rh_pod *pod)
{
	struct rh_log_read *read = rh_alloc(sizeof(*read));

	if (!read)
		return NULL;
	*read = (struct rh_log_read){
		.engine = entry->engine,
		.namespace_ = rh_strdup(entry->namespace_),
		.name = rh_strdup(pod->name),
		.uid = rh_strdup(pod->uid),
		.until = pod->log_until,
	};
	if (pod->unread)
		read->unread = *pod->unread;
	if (read->namespace_ && read->name && read->uid)
		return read;
	logs_free(read);
	return NULL;
}

void rh_logs_ask(struct rh_entry *entry, const struct rh_plan *plan)
{
	struct rh_engine *engine = entry->engine;
	struct rh_log_read **end = &engine->logs.first;

	while (*end)
		end = &(*end)->next;
	for (size_t i = 0; i < plan->log_count; i++) {
		const struct rh_cached *cached = rh_index_find(&engine->index, plan->logs[i]);

		if (!cached || !cached->pod)
			continue;
		cached->pod->log_until = engine->now + RH_PLAN_LOG_PATIENCE;
		*end = logs_new(entry, cached->pod);
		cached->pod->log_over = !*end;
		end = *end ? &(*end)->next : end;
	}
	if (plan->log_count > 0)
		logs_begin_all(engine);
}

void rh_logs_step(struct rh_engine *engine)
{
	struct rh_log_read *next;
	bool ended = false;

	for (struct rh_log_read *read = engine->logs.first; read; read = next) {
		next = read->next;
		if (read->until <= engine->now) {
			logs_end(read);
			ended = true;
		} else if (read->again && read->again <= engine->now) {
			logs_send(read);
		}
	}
	if (ended)
		logs_begin_all(engine);
}

int64_t rh_logs_deadline(const struct rh_engine *engine)
{
	int64_t deadline = RH_NEVER;

	for (const struct rh_log_read *read = engine->logs.first; read; read = read->next) {
		if (read->again && read->again < deadline)
			deadline = read->again;
	}
	return deadline;
}

void rh_logs_deinit(struct rh_engine *engine)
{
	struct rh_log_read *read;
	size_t cursor = 0;
	void *right;

	while ((read = engine->logs.first)) {
		engine->logs.first = read->next;
		logs_free(read);
	}
	while (engine->logs.rights && rh_map_next(engine->logs.rights, &cursor, NULL, &right))
		rh_free(right);
	rh_map_free(engine->logs.rights);
}
