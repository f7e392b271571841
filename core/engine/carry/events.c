/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A repeated Event raises the count of its object, and is written less and less often. Only some Events of one reason
 * get objects of their own, so that a thousand creations do not hide a failure.
 */
#include "engine/carry/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/entry.h"

/* Messages of one reason that get an Event each, as with Kubernetes' clients. */
#define EVENTS_SIMILAR_MAX 10
/* How long an Event counts as similar. */
#define EVENTS_SIMILAR_TIME (600 * RH_SECOND)
/* Events that are kept of one job. */
#define EVENTS_MAX 64
/* The longest time between two writes of a count. */
#define EVENTS_PAUSE_MAX (300 * RH_SECOND)
#define EVENTS_COMBINED "(combined from similar events): "

/* One Event and how often it happened. */
struct rh_event_record {
	struct rh_queue_item item; /* in engine->events.pending; first, so that a queue's item is its Event */
	struct rh_event_record *next;
	struct rh_entry *entry;
	char *message; /* owned */
	char *reason;  /* stored behind the name */
	char *uid;     /* of the job; stored behind the reason */
	int64_t first; /* microseconds */
	int64_t last;
	int64_t count;
	int64_t sent_at; /* time of the last write */
	uint32_t writes;
	uint64_t id; /* of the request in flight; 0: none */
	bool warning;
	bool combined; /* stands for all further Events of its reason */
	bool written;  /* the object exists */
	bool dirty;    /* it happened again since the last write */
	char name[];   /* of the Event object */
};

static void events_free(struct rh_event_record *event)
{
	struct rh_entry *entry = event->entry;
	struct rh_event_record **link = &entry->events.list;

	while (*link && *link != event)
		link = &(*link)->next;
	if (*link) {
		*link = event->next;
		entry->events.count--;
	}
	if (event->id) {
		rh_engine_cancel(entry->engine, event->id);
		entry->events.sent--;
		entry->engine->events.sent--;
	}
	rh_queue_leave(&entry->engine->events.pending, &event->item);
	rh_free(event->message);
	rh_free(event);
}

void rh_events_forget(struct rh_entry *entry)
{
	while (entry->events.list)
		events_free(entry->events.list);
}

/* @return whether it is neither in flight nor queued */
static bool events_is_idle(const struct rh_event_record *event)
{
	return !event->id && event->item.place == 0;
}

void rh_events_trim(struct rh_entry *entry)
{
	struct rh_event_record *next;

	for (struct rh_event_record *event = entry->events.list; event; event = next) {
		next = event->next;
		if (events_is_idle(event))
			events_free(event);
	}
}

void rh_events_trim_normal(struct rh_entry *entry)
{
	struct rh_event_record *next;

	for (struct rh_event_record *event = entry->events.list; event; event = next) {
		next = event->next;
		if (events_is_idle(event) && !event->warning && !event->dirty)
			events_free(event);
	}
}

/* Make room by forgetting the oldest idle Event. */
static void events_make_room(struct rh_entry *entry)
{
	struct rh_event_record *oldest = NULL;

	if (entry->events.count < EVENTS_MAX)
		return;
	for (struct rh_event_record *event = entry->events.list; event; event = event->next) {
		if (events_is_idle(event) && (!oldest || event->last < oldest->last))
			oldest = event;
	}
	if (oldest)
		events_free(oldest);
}

static bool events_is_similar(const struct rh_event_record *event, const struct rh_event_spec *spec)
{
	return event->warning == spec->warning && strcmp(event->reason, spec->reason) == 0 &&
	       strcmp(event->uid, spec->uid) == 0;
}

/* @return one that has joined the queue and is not listed, or NULL when memory is out */
static struct rh_event_record *events_new(struct rh_entry *entry, const struct rh_event_spec *spec)
{
	struct rh_engine *engine = entry->engine;
	uint64_t number = (uint64_t)engine->now * 1000 + engine->events.named++ % 1000;
	size_t name_size = strlen(entry->name) + sizeof(".0123456789abcdef");
	size_t reason_size = strlen(spec->reason) + 1;
	struct rh_event_record *event = rh_alloc(sizeof(*event) + name_size + reason_size + strlen(spec->uid) + 1);
	char *message = rh_strdup(spec->message);

	if (!event || !message || rh_queue_join(&engine->events.pending) < 0) {
		rh_free(event);
		rh_free(message);
		return NULL;
	}
	event->entry = entry;
	event->item.flow = &entry->share->pending_events;
	event->message = message;
	event->warning = spec->warning;
	event->first = engine->now;
	(void)snprintf(event->name, name_size, "%s.%" PRIx64, entry->name, number);
	event->reason = event->name + name_size;
	event->uid = event->reason + reason_size;
	rh_copy(event->reason, reason_size, spec->reason);
	rh_copy(event->uid, strlen(spec->uid) + 1, spec->uid);
	return event;
}

static struct rh_event_record *events_add(struct rh_entry *entry, const struct rh_event_spec *spec, bool combined)
{
	struct rh_event_record *event;

	events_make_room(entry);
	event = events_new(entry, spec);
	if (!event)
		return NULL;
	event->combined = combined;
	event->next = entry->events.list;
	entry->events.list = event;
	entry->events.count++;
	return event;
}

/* The Event that stands for all further ones of its reason has the message of the latest. */
static struct rh_event_record *events_combine(struct rh_entry *entry, struct rh_event_record *combined,
                                              const struct rh_event_spec *spec)
{
	char *message = rh_asprintf(EVENTS_COMBINED "%s", spec->message);

	if (message && !combined)
		combined = events_add(entry, spec, true);
	if (!message || !combined) {
		rh_free(message);
		return NULL;
	}
	rh_free(combined->message);
	combined->message = message;
	return combined;
}

/* @return the record that counts @p spec; NULL when memory is out */
static struct rh_event_record *events_find(struct rh_entry *entry, const struct rh_event_spec *spec)
{
	struct rh_event_record *combined = NULL;
	int64_t since = entry->engine->now - EVENTS_SIMILAR_TIME;
	size_t similar = 0;

	for (struct rh_event_record *event = entry->events.list; event; event = event->next) {
		if (!events_is_similar(event, spec))
			continue;
		if (event->combined)
			combined = event;
		else if (strcmp(event->message, spec->message) == 0)
			return event;
		else
			similar += event->last >= since;
	}
	return similar < EVENTS_SIMILAR_MAX ? events_add(entry, spec, false) : events_combine(entry, combined, spec);
}

static int events_set_times(const struct rh_event_record *event, struct rh_json *body)
{
	char time[RH_TIME_SIZE];

	if (rh_json_set_string(body, "firstTimestamp", rh_time_format(event->first, time)) < 0 ||
	    rh_json_set_string(body, "lastTimestamp", rh_time_format(event->last, time)) < 0)
		return RH_ENOMEM;
	return rh_json_set_integer(body, "count", event->count);
}

static int events_put_object(const struct rh_event_record *event, struct rh_json *object)
{
	const struct rh_entry *entry = event->entry;

	if (rh_json_set_string(object, "apiVersion", entry->kind->resource.api_version) < 0 ||
	    rh_json_set_string(object, "kind", entry->kind->resource.kind) < 0 ||
	    rh_json_set_string(object, "name", entry->name) < 0 ||
	    rh_json_set_string(object, "namespace", entry->namespace_) < 0 ||
	    rh_json_set_string(object, "uid", event->uid) < 0)
		return RH_ENOMEM;
	return entry->job ? rh_json_set_string(object, "resourceVersion", entry->job->resource_version) : 0;
}

static struct rh_json *events_body(const struct rh_event_record *event)
{
	const struct rh_entry *entry = event->entry;
	const char *controller = entry->kind->kind->controller;
	rh_auto(json) body = rh_json_new_object();
	struct rh_json *metadata = rh_json_ensure_object(body, "metadata");
	struct rh_json *object = rh_json_ensure_object(body, "involvedObject");
	struct rh_json *source = rh_json_ensure_object(body, "source");

	if (!metadata || !object || !source || rh_json_set_string(metadata, "name", event->name) < 0 ||
	    rh_json_set_string(metadata, "namespace", entry->namespace_) < 0 || events_put_object(event, object) < 0)
		return NULL;
	if (rh_json_set_string(body, "reason", event->reason) < 0 ||
	    rh_json_set_string(body, "message", event->message) < 0 ||
	    rh_json_set_string(body, "type", event->warning ? "Warning" : "Normal") < 0 ||
	    rh_json_set_string(source, "component", controller) < 0 ||
	    rh_json_set_string(body, "reportingComponent", controller) < 0 ||
	    rh_json_set_string(body, "reportingInstance", "") < 0 || events_set_times(event, body) < 0)
		return NULL;
	return rh_take(body);
}

static struct rh_json *events_patch(const struct rh_event_record *event)
{
	rh_auto(json) body = rh_json_new_object();

	if (!body || rh_json_set_string(body, "message", event->message) < 0 || events_set_times(event, body) < 0)
		return NULL;
	return rh_take(body);
}

static void events_on_done(void *arg, const struct rh_outcome *outcome);

/* Writes of a count are a second apart at first, then twice as long each time. */
static bool events_may_write(const struct rh_event_record *event)
{
	int64_t pause = RH_SECOND;

	if (event->writes < 2)
		return true;
	for (uint32_t i = 2; i < event->writes && pause < EVENTS_PAUSE_MAX; i++)
		pause *= 2;
	return event->entry->engine->now - event->sent_at >= (pause < EVENTS_PAUSE_MAX ? pause : EVENTS_PAUSE_MAX);
}

static void events_write(struct rh_event_record *event)
{
	struct rh_entry *entry = event->entry;
	struct rh_request request = {.resource = &rh_resource_events, .namespace_ = entry->namespace_};

	if (event->id || !event->dirty || !events_may_write(event))
		return;
	if (entry->engine->events.sent >= entry->engine->options.events) {
		rh_queue_add(&entry->engine->events.pending, &event->item, RH_QUEUE_NOW);
		return;
	}
	request.verb = event->written ? RH_VERB_PATCH : RH_VERB_CREATE;
	request.name = event->name;
	request.body = event->written ? events_patch(event) : events_body(event);
	if (!request.body || rh_engine_submit(entry->engine, &request, events_on_done, event, &event->id) < 0)
		return;
	event->dirty = false;
	event->sent_at = entry->engine->now;
	if (event->writes < UINT32_MAX)
		event->writes++;
	entry->events.sent++;
	entry->engine->events.sent++;
}

bool rh_events_may_send(const struct rh_engine *engine)
{
	return engine->events.pending.count > 0 && engine->events.sent < engine->options.events;
}

void rh_events_send_pending(struct rh_engine *engine)
{
	struct rh_queue_item *item;

	while (engine->events.sent < engine->options.events &&
	       (item = rh_queue_take(&engine->events.pending, RH_QUEUE_NOW)))
		events_write((struct rh_event_record *)item);
}

static void events_on_done(void *arg, const struct rh_outcome *outcome)
{
	struct rh_event_record *event = arg;
	struct rh_entry *entry = event->entry;

	entry->engine->requests--;
	entry->engine->events.sent--;
	entry->events.sent--;
	event->id = 0;
	if (outcome->code == RH_OUTCOME_OK || outcome->code == RH_OUTCOME_EXISTS)
		event->written = true;
	else if (outcome->code == RH_OUTCOME_GONE) /* it has expired: the next write creates it again */
		event->written = false;
	events_write(event);
	if (!rh_entry_is_active(entry) && events_is_idle(event))
		events_free(event);
	rh_entry_release(entry);
}

void rh_events_emit(struct rh_entry *entry, const struct rh_event_spec *spec)
{
	struct rh_event_record *event = events_find(entry, spec);

	if (!event)
		return;
	event->count++;
	event->last = entry->engine->now;
	event->dirty = true;
	events_write(event);
}
