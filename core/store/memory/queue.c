/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of the store: requests, outcomes and watch events in the order in which they happened. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "store/memory/parts.h"

bool rh_memory_key(const struct rh_resource *resource, const char *namespace_, const char *name,
                   char buffer[RH_MEMORY_KEY_SIZE])
{
	/* the versions of a group have the same objects */
	int group = (int)strcspn(resource->api_version, "/");
	int length = namespace_
	                 ? snprintf(buffer, RH_MEMORY_KEY_SIZE, "%.*s/%s/%s/%s", group, resource->api_version,
	                            resource->kind, namespace_, name)
	                 : snprintf(buffer, RH_MEMORY_KEY_SIZE, "%.*s/%s/", group, resource->api_version, resource->kind);

	return length >= 0 && length < RH_MEMORY_KEY_SIZE;
}

struct rh_memory_event *rh_memory_event_new(struct rh_memory_watch *watch, enum rh_watch_event event,
                                            struct rh_memory_version *version)
{
	struct rh_memory_event *made = rh_alloc(sizeof(*made));

	if (!made)
		return NULL;
	made->item.kind = RH_MEMORY_EVENT;
	made->watch = watch;
	made->event = event;
	made->version = rh_memory_version_ref(version);
	return made;
}

void rh_memory_event_free(struct rh_memory_event *event)
{
	if (!event)
		return;
	rh_memory_version_unref(event->version);
	rh_free(event);
}

void rh_memory_push(struct rh_memory_store *store, struct rh_memory_item *item)
{
	bool was_empty = !store->first;

	item->previous = store->last;
	item->next = NULL;
	if (store->last)
		store->last->next = item;
	else
		store->first = item;
	store->last = item;
	if (was_empty && store->ready)
		store->ready(store->arg);
}

void rh_memory_unlink(struct rh_memory_store *store, struct rh_memory_item *item)
{
	if (item->previous)
		item->previous->next = item->next;
	else
		store->first = item->next;
	if (item->next)
		item->next->previous = item->previous;
	else
		store->last = item->previous;
}

void rh_memory_emit(struct rh_memory_store *store, struct rh_memory_event *event)
{
	struct rh_memory_watch *watch = event->watch;

	if (watch->last) {
		watch->last->next = event;
	} else {
		watch->first = event;
		store->heads++;
	}
	watch->last = event;
	rh_memory_push(store, &event->item);
}
