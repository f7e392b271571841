/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/scheduler/slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"

bool rh_ps_node_send(struct rh_ps_node *node, const struct rh_ps_head *pattern, const void *payload, size_t length)
{
	struct rh_ps_head head = *pattern;
	uint8_t *at;

	head.length = (uint32_t)length;
	at = rh_ps_wire_add(node->wire, &head);
	if (at && length > 0)
		memcpy(at, payload, length);
	/* who does not read a few lines is of no use */
	if (!at || rh_ps_wire_flush(node->wire) < 0)
		node->broken = true;
	return !node->broken;
}

void rh_ps_node_refuse(struct rh_ps_node *node, const struct rh_comm_error *reason)
{
	struct rh_ps_head head = {.kind = RH_PS_REC_REFUSED, .status = reason->code, .worker = reason->rank};

	(void)rh_ps_node_send(node, &head, reason->text, strlen(reason->text) + 1);
	node->broken = true;
}

static bool slots_are_replicated(const struct rh_ps_scheduler *scheduler)
{
	return scheduler->settings.replicas > 1;
}

int32_t rh_ps_slots_servers(const struct rh_ps_scheduler *scheduler)
{
	return scheduler->settings.servers * scheduler->settings.replicas;
}

/* A server of a number gets the place of either replica of it, but never that of one that is there. */
static struct rh_ps_slot *slots_find_replica(const struct rh_ps_scheduler *scheduler, int32_t index)
{
	for (int32_t i = index; i < rh_ps_slots_servers(scheduler); i += scheduler->settings.servers)
		if (!scheduler->servers[i].node)
			return &scheduler->servers[i];
	return NULL;
}

/* A process without a number gets an unused one, or else that of a process that died. */
struct rh_ps_slot *rh_ps_slots_find(const struct rh_ps_scheduler *scheduler, const struct rh_ps_hello *hello)
{
	bool server = hello->role == RH_PS_ROLE_SERVES;
	struct rh_ps_slot *slots = server ? scheduler->servers : scheduler->workers;
	int32_t count = server ? rh_ps_slots_servers(scheduler) : scheduler->settings.workers;
	int32_t index = server ? hello->server : hello->worker;

	if (server && index >= 0 && slots_are_replicated(scheduler))
		return slots_find_replica(scheduler, index);
	if (index >= 0)
		return &slots[index];
	for (int32_t i = 0; i < count; i++)
		if (!slots[i].taken)
			return &slots[i];
	for (int32_t i = 0; i < count; i++)
		if (!slots[i].node && !slots[i].left)
			return &slots[i];
	return NULL;
}

/* @return the slot of the server that workers are to reach; NULL: there is none now */
static const struct rh_ps_slot *slots_primary(const struct rh_ps_scheduler *scheduler, int32_t index)
{
	int32_t replica = slots_are_replicated(scheduler) ? scheduler->shards[index].primary : 0;

	return replica < 0 ? NULL : &scheduler->servers[replica * scheduler->settings.servers + index];
}

bool rh_ps_slots_are_placed(const struct rh_ps_scheduler *scheduler)
{
	for (int32_t i = 0; i < scheduler->settings.servers; i++) {
		const struct rh_ps_slot *slot = slots_primary(scheduler, i);

		if (!slot || slot->place.port == 0)
			return false;
		if (slots_are_replicated(scheduler) && !scheduler->listed && scheduler->shards[i].ready < 0)
			return false;
	}
	return true;
}

/* @return the caller's; NULL: out of memory */
static struct rh_ps_place *slots_list(const struct rh_ps_scheduler *scheduler)
{
	struct rh_ps_place *list = calloc((size_t)scheduler->settings.servers, sizeof(*list));

	for (int32_t i = 0; list && i < scheduler->settings.servers; i++) {
		const struct rh_ps_slot *slot = slots_primary(scheduler, i);

		if (slot)
			list[i] = slot->place;
	}
	return list;
}

void rh_ps_slots_send(struct rh_ps_scheduler *scheduler, struct rh_ps_node *node)
{
	const struct rh_ps_head head = {.kind = RH_PS_REC_PLACES};
	struct rh_ps_place *list = rh_ps_slots_are_placed(scheduler) ? slots_list(scheduler) : NULL;
	struct rh_ps_node *at;

	if (!list)
		return;
	scheduler->listed = true;
	LIST_FOREACH(at, &scheduler->nodes, link)
	{
		if (at->phase == RH_PS_NODE_ASSIGNED && at->slot && (!node || node == at))
			(void)rh_ps_node_send(at, &head, list, (size_t)scheduler->settings.servers * sizeof(*list));
	}
	free(list);
}

/* The primary is informed of what was decided about its values. */
static void slots_send_role(struct rh_ps_scheduler *scheduler, int32_t index)
{
	const struct rh_ps_head head = {.kind = RH_PS_REC_ROLE};
	struct rh_ps_shard *shard = &scheduler->shards[index];
	const struct rh_ps_slot *primary = slots_primary(scheduler, index);
	int32_t peer = rh_ps_shard_peer(shard);
	struct rh_ps_role_note note;

	if (!shard->due || !primary || !primary->node)
		return;
	memset(&note, 0, sizeof(note));
	note.term = shard->term;
	note.fresh = !scheduler->listed;
	if (peer >= 0)
		note.peer = scheduler->servers[peer * scheduler->settings.servers + index].place;
	shard->due = false;
	(void)rh_ps_node_send(primary->node, &head, &note, sizeof(note));
}

/* @return the number of a server's values; -1: it is a worker's slot, or there are no replicas */
static int32_t slots_shard(const struct rh_ps_scheduler *scheduler, const struct rh_ps_slot *slot, int32_t *ret_replica)
{
	int32_t count = rh_ps_slots_servers(scheduler);

	for (int32_t i = 0; slots_are_replicated(scheduler) && i < count; i++) {
		if (slot == &scheduler->servers[i]) {
			*ret_replica = i / scheduler->settings.servers;
			return i % scheduler->settings.servers;
		}
	}
	return -1;
}

void rh_ps_slots_come(struct rh_ps_scheduler *scheduler, const struct rh_ps_slot *slot)
{
	int32_t replica = 0;
	int32_t index = slots_shard(scheduler, slot, &replica);

	if (index < 0) {
		rh_ps_slots_send(scheduler, NULL);
		return;
	}
	rh_ps_shard_come(&scheduler->shards[index], replica);
	slots_send_role(scheduler, index);
}

/* @param what of the server; then @p slot is where it is */
static void slots_print(const struct rh_ps_scheduler *scheduler, int32_t index, const char *what,
                        const struct rh_ps_slot *slot)
{
	char place[RH_PS_PLACE_TEXT];

	rh_ps_place_print(&slot->place, place);
	if (!scheduler->settings.quiet)
		(void)fprintf(stderr, "rh_ps: server %d: %s %s\n", (int)index, what, place);
}

/* A server is lost for good. */
static void slots_fail(struct rh_ps_scheduler *scheduler, int32_t index, const struct rh_ps_slot *slot,
                       const char *what)
{
	char place[RH_PS_PLACE_TEXT];

	rh_ps_place_print(&slot->place, place);
	(void)rh_comm_fail(&scheduler->failed, RH_COMM_EPEER, index, "server %d at %s %s", (int)index, place, what);
}

static void slots_on_loss(struct rh_ps_scheduler *scheduler, int32_t index, const struct rh_ps_slot *slot, bool moved)
{
	const struct rh_ps_slot *primary = slots_primary(scheduler, index);

	if (primary && moved) {
		slots_print(scheduler, index, "it died, and its backup has taken over at", primary);
		rh_ps_slots_send(scheduler, NULL);
	} else if (primary) {
		slots_print(scheduler, index, "it goes on without its backup, which died at", slot);
	} else if (scheduler->failed.code == 0) {
		slots_fail(scheduler, index, slot, "died, and no backup has all its values");
	}
}

void rh_ps_slots_lose(struct rh_ps_scheduler *scheduler, const struct rh_ps_slot *slot)
{
	int32_t replica = 0;
	int32_t index = slots_shard(scheduler, slot, &replica);
	struct rh_ps_shard *shard = index < 0 ? NULL : &scheduler->shards[index];
	bool moved;

	if (!shard || !shard->here[replica])
		return;
	moved = rh_ps_shard_lose(shard, replica, scheduler->listed);
	if (scheduler->listed)
		slots_on_loss(scheduler, index, slot, moved);
	slots_send_role(scheduler, index);
}

void rh_ps_slots_report(struct rh_ps_scheduler *scheduler, const struct rh_ps_slot *slot, const struct rh_ps_head *head)
{
	int32_t replica = 0;
	int32_t index = slots_shard(scheduler, slot, &replica);
	struct rh_ps_shard *shard;

	if (index < 0)
		return;
	shard = &scheduler->shards[index];
	if (head->kind == RH_PS_REC_ALONE) {
		rh_ps_shard_part(shard, replica, head->sequence);
	} else if (rh_ps_shard_sync(shard, replica, head->sequence)) {
		slots_print(scheduler, index, "it has a backup at",
		            &scheduler->servers[shard->ready * scheduler->settings.servers + index]);
		if (!scheduler->listed)
			rh_ps_slots_send(scheduler, NULL);
	}
	slots_send_role(scheduler, index);
}

/* Names of those slots that are not (or no more) taken, from the first on. @return how many those are */
static int32_t slots_name_missing(const struct rh_ps_slot *slots, int32_t count, const char *what, char *names)
{
	size_t length = strlen(names);
	int32_t missing = 0;

	for (int32_t i = 0; i < count; i++) {
		if (slots[i].node || slots[i].left)
			continue;
		missing++;
		if (length < RH_PS_NAMES_MAX - 40)
			length += (size_t)snprintf(names + length, RH_PS_NAMES_MAX - length, "%s%s %d", length > 0 ? ", " : "",
			                           what, (int)i);
	}
	return missing;
}

int32_t rh_ps_slots_list_missing(const struct rh_ps_scheduler *scheduler, char *names)
{
	const struct rh_ps_scheduler_settings *settings = &scheduler->settings;
	int32_t missing = slots_name_missing(scheduler->servers, settings->servers, "server", names);

	if (slots_are_replicated(scheduler))
		missing +=
			slots_name_missing(scheduler->servers + settings->servers, settings->servers, "a backup of server", names);
	return missing + slots_name_missing(scheduler->workers, settings->workers, "worker", names);
}

/* @return the index of one that has died and did not come back in time; -1: none */
static int32_t slots_find_lost(const struct rh_ps_slot *slots, int32_t count, int64_t before)
{
	for (int32_t i = 0; i < count; i++)
		if (slots[i].taken && !slots[i].node && !slots[i].left && slots[i].lost <= before)
			return i;
	return -1;
}

void rh_ps_slots_check_lost(struct rh_ps_scheduler *scheduler, int64_t now)
{
	int64_t before = now - scheduler->settings.grace;
	/* with a backup it is decided at once what a lost server means */
	int32_t servers = slots_are_replicated(scheduler) ? 0 : scheduler->settings.servers;
	int32_t server = slots_find_lost(scheduler->servers, servers, before);
	int32_t worker = slots_find_lost(scheduler->workers, scheduler->settings.workers, before);

	if (server >= 0)
		slots_fail(scheduler, server, &scheduler->servers[server], "died and did not come back");
	else if (worker >= 0)
		(void)rh_comm_fail(&scheduler->failed, RH_COMM_EPEER, worker, "worker %d died and did not come back",
		                   (int)worker);
}
