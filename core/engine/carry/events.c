/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events. One that happens again raises the count of its object; of one reason only so many are told one by one, so
 * that a thousand creations do not drown a failure; and the oftener one is repeated, the rarer it is written.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/parts.h"

/* Messages of one reason that are told one by one, as Kubernetes' clients do. */
#define EVENTS_SIMILAR_MAX 10
/* How long an Event counts as similar. */
#define EVENTS_SIMILAR_TIME (600 * RH_SECOND)
/* Events of one job that are remembered. */
#define EVENTS_MAX 64
/* The longest time between two writes of a count. */
#define EVENTS_PAUSE_MAX (300 * RH_SECOND)
#define EVENTS_COMBINED "(combined from similar events): "

static void events_free(struct rh_engine_event *event)
{
	struct rh_engine_entry *entry = event->entry;
	struct rh_engine_event **link = &entry->events;

	while (*link && *link != event)
		link = &(*link)->next;
	if (*link) {
		*link = event->next;
		entry->event_count--;
	}
	if (event->id) {
		rh_engine_cancel(entry->engine, event->id);
		entry->events_in_flight--;
		entry->engine->events_in_flight--;
	}
	rh_queue_leave(&entry->engine->pending_events, &event->item);
	rh_free(event->message);
	rh_free(event);
}

void rh_engine_forget_events(struct rh_engine_entry *entry)
{
	while (entry->events)
		events_free(entry->events);
}

/* @return whether it is neither under way nor waits to be */
static bool events_is_still(const struct rh_engine_event *event)
{
	return !event->id && event->item.place == 0;
}

void rh_engine_trim_events(struct rh_engine_entry *entry)
{
	struct rh_engine_event *next;

	for (struct rh_engine_event *event = entry->events; event; event = next) {
		next = event->next;
		if (events_is_still(event))
			events_free(event);
	}
}

void rh_engine_trim_good_events(struct rh_engine_entry *entry)
{
	struct rh_engine_event *next;

	for (struct rh_engine_event *event = entry->events; event; event = next) {
		next = event->next;
		if (events_is_still(event) && !event->warning && !event->dirty)
			events_free(event);
	}
}

/* Make room by forgetting the one that happened longest ago. */
static void events_make_room(struct rh_engine_entry *entry)
{
	struct rh_engine_event *oldest = NULL;

	if (entry->event_count < EVENTS_MAX)
		return;
	for (struct rh_engine_event *event = entry->events; event; event = event->next) {
		if (events_is_still(event) && (!oldest || event->last < oldest->last))
			oldest = event;
	}
	if (oldest)
		events_free(oldest);
}

static bool events_is_alike(const struct rh_engine_event *event, const struct rh_event_spec *news)
{
	return event->warning == news->warning && strcmp(event->reason, news->reason) == 0 &&
	       strcmp(event->uid, news->uid) == 0;
}

/* @return one that has joined the queue and is not listed, or NULL when memory is out */
static struct rh_engine_event *events_new(struct rh_engine_entry *entry, const struct rh_event_spec *news)
{
	struct rh_engine *engine = entry->engine;
	uint64_t number = (uint64_t)engine->now * 1000 + engine->events++ % 1000;
	size_t name_size = strlen(entry->name) + sizeof(".0123456789abcdef");
	size_t reason_size = strlen(news->reason) + 1;
	struct rh_engine_event *event = rh_alloc(sizeof(*event) + name_size + reason_size + strlen(news->uid) + 1);
	char *message = rh_strdup(news->message);

	if (!event || !message || rh_queue_join(&engine->pending_events) < 0) {
		rh_free(event);
		rh_free(message);
		return NULL;
	}
	event->entry = entry;
	event->item.flow = &entry->share->pending_events;
	event->message = message;
	event->warning = news->warning;
	event->first = engine->now;
	(void)snprintf(event->name, name_size, "%s.%" PRIx64, entry->name, number);
	event->reason = event->name + name_size;
	event->uid = event->reason + reason_size;
	rh_copy(event->reason, reason_size, news->reason);
	rh_copy(event->uid, strlen(news->uid) + 1, news->uid);
	return event;
}

static struct rh_engine_event *events_add(struct rh_engine_entry *entry, const struct rh_event_spec *news,
                                          bool combined)
{
	struct rh_engine_event *event;

	events_make_room(entry);
	event = events_new(entry, news);
	if (!event)
		return NULL;
	event->combined = combined;
	event->next = entry->events;
	entry->events = event;
	entry->event_count++;
	return event;
}

/* The one that stands for all further ones of its reason, with the words of the latest. */
static struct rh_engine_event *events_combine(struct rh_engine_entry *entry, struct rh_engine_event *combined,
                                              const struct rh_event_spec *news)
{
	char *message = rh_asprintf(EVENTS_COMBINED "%s", news->message);

	if (message && !combined)
		combined = events_add(entry, news, true);
	if (!message || !combined) {
		rh_free(message);
		return NULL;
	}
	rh_free(combined->message);
	combined->message = message;
	return combined;
}

/* @return the record that counts @p news; NULL when memory is out */
static struct rh_engine_event *events_find(struct rh_engine_entry *entry, const struct rh_event_spec *news)
{
	struct rh_engine_event *combined = NULL;
	int64_t since = entry->engine->now - EVENTS_SIMILAR_TIME;
	size_t similar = 0;

	for (struct rh_engine_event *event = entry->events; event; event = event->next) {
		if (!events_is_alike(event, news))
			continue;
		if (event->combined)
			combined = event;
		else if (strcmp(event->message, news->message) == 0)
			return event;
		else
			similar += event->last >= since;
	}
	return similar < EVENTS_SIMILAR_MAX ? events_add(entry, news, false) : events_combine(entry, combined, news);
}

static int events_put_times(const struct rh_engine_event *event, struct rh_json *body)
{
	char time[RH_TIME_SIZE];

	if (rh_json_set_string(body, "firstTimestamp", rh_time_format(event->first, time)) < 0 ||
	    rh_json_set_string(body, "lastTimestamp", rh_time_format(event->last, time)) < 0)
		return RH_ENOMEM;
	return rh_json_set_integer(body, "count", event->count);
}

static int events_put_object(const struct rh_engine_event *event, struct rh_json *object)
{
	const struct rh_engine_entry *entry = event->entry;

	if (rh_json_set_string(object, "apiVersion", entry->kind->resource.api_version) < 0 ||
	    rh_json_set_string(object, "kind", entry->kind->resource.kind) < 0 ||
	    rh_json_set_string(object, "name", entry->name) < 0 ||
	    rh_json_set_string(object, "namespace", entry->namespace_) < 0 ||
	    rh_json_set_string(object, "uid", event->uid) < 0)
		return RH_ENOMEM;
	return entry->job ? rh_json_set_string(object, "resourceVersion", entry->job->resource_version) : 0;
}

static struct rh_json *events_body(const struct rh_engine_event *event)
{
	const struct rh_engine_entry *entry = event->entry;
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
	    rh_json_set_string(body, "reportingInstance", "") < 0 || events_put_times(event, body) < 0)
		return NULL;
	return rh_take(body);
}

static struct rh_json *events_patch(const struct rh_engine_event *event)
{
	rh_auto(json) body = rh_json_new_object();

	if (!body || rh_json_set_string(body, "message", event->message) < 0 || events_put_times(event, body) < 0)
		return NULL;
	return rh_take(body);
}

static void events_on_done(void *arg, const struct rh_outcome *outcome);

/* Twice as long after each write of a count, beginning with a second. */
static bool events_may_write(const struct rh_engine_event *event)
{
	int64_t pause = RH_SECOND;

	if (event->writes < 2)
		return true;
	for (uint32_t i = 2; i < event->writes && pause < EVENTS_PAUSE_MAX; i++)
		pause *= 2;
	return event->entry->engine->now - event->sent >= (pause < EVENTS_PAUSE_MAX ? pause : EVENTS_PAUSE_MAX);
}

static void events_write(struct rh_engine_event *event)
{
	struct rh_engine_entry *entry = event->entry;
	struct rh_request request = {.resource = &rh_resource_events, .namespace_ = entry->namespace_};

	if (event->id || !event->dirty || !events_may_write(event))
		return;
	if (entry->engine->events_in_flight >= entry->engine->options.events) {
		rh_queue_add(&entry->engine->pending_events, &event->item, RH_QUEUE_NOW);
		return;
	}
	request.verb = event->written ? RH_VERB_PATCH : RH_VERB_CREATE;
	request.name = event->name;
	request.body = event->written ? events_patch(event) : events_body(event);
	if (!request.body || rh_engine_submit(entry->engine, &request, events_on_done, event, &event->id) < 0)
		return;
	event->dirty = false;
	event->sent = entry->engine->now;
	if (event->writes < UINT32_MAX)
		event->writes++;
	entry->events_in_flight++;
	entry->engine->events_in_flight++;
}

void rh_engine_emit_pending(struct rh_engine *engine)
{
	struct rh_queue_item *item;

	while (engine->events_in_flight < engine->options.events &&
	       (item = rh_queue_take(&engine->pending_events, RH_QUEUE_NOW)))
		events_write((struct rh_engine_event *)item);
}

static void events_on_done(void *arg, const struct rh_outcome *outcome)
{
	struct rh_engine_event *event = arg;
	struct rh_engine_entry *entry = event->entry;

	entry->engine->requests--;
	entry->engine->events_in_flight--;
	entry->events_in_flight--;
	event->id = 0;
	if (outcome->code == RH_OUTCOME_OK || outcome->code == RH_OUTCOME_EXISTS)
		event->written = true;
	else if (outcome->code == RH_OUTCOME_GONE) /* its time was over: the next one is written anew */
		event->written = false;
	events_write(event);
	if (!rh_engine_is_kept(entry) && events_is_still(event))
		events_free(event);
	rh_engine_reap(entry);
}

void rh_engine_emit(struct rh_engine_entry *entry, const struct rh_event_spec *news)
{
	struct rh_engine_event *event = events_find(entry, news);

	if (!event)
		return;
	event->count++;
	event->last = entry->engine->now;
	event->dirty = true;
	events_write(event);
}
