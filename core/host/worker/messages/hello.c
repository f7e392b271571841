/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/messages/hello.h"

#include <string.h>

#include "host/call/reply.h"
#include "host/worker/messages/wire.h"

/** A kind and what it points to. */
struct hello_kind {
	struct rh_kind kind;
	struct rh_replica_type types[RH_TYPES_MAX];
	const struct rh_replica_type *list[RH_TYPES_MAX + 1];
};

/** Kinds of one list. */
struct hello_kinds {
	struct hello_kind *items;
	uint32_t count;
};

struct rh_hello {
	struct rh_str message; /* all texts are in it */
	enum rh_plugin_state state;
	const char *reason;
	struct rh_plugin plugin;
	bool has_plugin;
	uint32_t operations; /* bit RH_OPERATION_* */
	size_t notes;        /* where they begin in the message */
	struct hello_kinds kinds[2];
};

/** Texts of a kind, in the order of messages. */
static const size_t hello_texts[] = {
	offsetof(struct rh_kind, group),
	offsetof(struct rh_kind, version),
	offsetof(struct rh_kind, kind),
	offsetof(struct rh_kind, plural),
	offsetof(struct rh_kind, singular),
	offsetof(struct rh_kind, framework),
	offsetof(struct rh_kind, controller),
	offsetof(struct rh_kind, replicas_field),
	offsetof(struct rh_kind, leader_fallback),
	offsetof(struct rh_kind, container),
	offsetof(struct rh_kind, port_name),
	offsetof(struct rh_kind, restart_policy),
	offsetof(struct rh_kind, scale_type),
	offsetof(struct rh_kind, spec_schema),
	offsetof(struct rh_kind, columns),
	offsetof(struct rh_kind, rbac_rules),
	offsetof(struct rh_kind, cel_rules),
	offsetof(struct rh_kind, contract),
	offsetof(struct rh_kind, replicas_path),
	offsetof(struct rh_kind, run_policy_path),
	offsetof(struct rh_kind, run_policy),
	offsetof(struct rh_kind, managers),
	offsetof(struct rh_kind, spec_required),
	offsetof(struct rh_kind, conditions),
	offsetof(struct rh_kind, status_schema),
	offsetof(struct rh_kind, pod_name),
	offsetof(struct rh_kind, host_name),
	offsetof(struct rh_kind, lookups),
};

#define HELLO_TEXTS (sizeof(hello_texts) / sizeof(hello_texts[0]))

/** The text at @p offset of a kind; NULL where the plugin is older than the field. */
static const char *hello_text(const struct rh_kind *kind, size_t offset)
{
	const char *text = NULL;

	if (kind->head.size >= offset + sizeof(text))
		memcpy(&text, (const char *)kind + offset, sizeof(text));
	return text;
}

static void hello_put_type(struct rh_str *out, const struct rh_replica_type *type)
{
	rh_wire_put_text(out, type->name);
	rh_wire_put_int(out, type->default_replicas);
	rh_wire_put_int(out, type->min_replicas);
	rh_wire_put_int(out, type->max_replicas);
	rh_wire_put_int(out, (int32_t)type->flags);
	rh_wire_put_text(out, RH_HAS(type, struct rh_replica_type, restart_policy) ? type->restart_policy : NULL);
	rh_wire_put_text(out, RH_HAS(type, struct rh_replica_type, path) ? type->path : NULL);
}

static void hello_put_kind(struct rh_str *out, const struct rh_kind *kind)
{
	uint32_t count = 0;

	while (kind->types[count])
		count++;
	for (size_t i = 0; i < HELLO_TEXTS; i++)
		rh_wire_put_text(out, hello_text(kind, hello_texts[i]));
	rh_wire_put_int(out, kind->port);
	rh_wire_put_int(out, (int32_t)kind->flags);
	rh_wire_put_size(out, count);
	for (uint32_t i = 0; i < count; i++)
		hello_put_type(out, kind->types[i]);
}

static uint32_t hello_operations(const struct rh_plugin *plugin)
{
	return (plugin->validate ? 1U << RH_OPERATION_VALIDATE : 0) | (plugin->pod ? 1U << RH_OPERATION_POD : 0) |
	       (plugin->objects ? 1U << RH_OPERATION_OBJECTS : 0) | (plugin->judge ? 1U << RH_OPERATION_JUDGE : 0) |
	       (RH_HAS(plugin, struct rh_plugin, make) ? 1U << RH_OPERATION_MAKE : 0) |
	       (RH_HAS(plugin, struct rh_plugin, expand) ? 1U << RH_OPERATION_EXPAND : 0);
}

void rh_hello_put(struct rh_str *out, const struct rh_slot *slot, const struct rh_str *notes)
{
	const struct rh_plugin *plugin = slot->plugin;

	rh_wire_put_byte(out, (uint8_t)slot->state);
	rh_wire_put_text(out, slot->reason.message);
	rh_wire_put_byte(out, plugin != NULL);
	if (plugin) {
		rh_wire_put_text(out, plugin->name);
		rh_wire_put_text(out, plugin->release);
		rh_wire_put_text(out, RH_HAS(plugin, struct rh_plugin, settings) ? plugin->settings : NULL);
		rh_wire_put_text(out, RH_HAS(plugin, struct rh_plugin, resources) ? plugin->resources : NULL);
		rh_wire_put_int(out, (int32_t)hello_operations(plugin));
	}
	rh_wire_put_size(out, (uint32_t)slot->kind_count);
	for (size_t i = 0; i < slot->kind_count; i++)
		hello_put_kind(out, slot->kinds[i]);
	rh_wire_put_size(out, (uint32_t)slot->idle_count);
	for (size_t i = 0; i < slot->idle_count; i++)
		hello_put_kind(out, slot->idle[i]);
	if (notes && notes->length > 0)
		rh_str_append_bytes(out, notes->data, notes->length);
	rh_wire_put_byte(out, 0);
}

static void hello_get_type(struct rh_wire *wire, struct rh_replica_type *type)
{
	*type = (struct rh_replica_type){.head = RH_HEAD(struct rh_replica_type)};
	type->name = rh_wire_text_required(wire);
	type->default_replicas = rh_wire_int(wire);
	type->min_replicas = rh_wire_int(wire);
	type->max_replicas = rh_wire_int(wire);
	type->flags = (uint32_t)rh_wire_int(wire);
	type->restart_policy = rh_wire_text(wire);
	type->path = rh_wire_text(wire);
}

static void hello_get_kind(struct rh_wire *wire, struct hello_kind *made)
{
	uint32_t count;

	made->kind = (struct rh_kind){.head = RH_HEAD(struct rh_kind), .types = made->list};
	for (size_t i = 0; i < HELLO_TEXTS; i++) {
		const char *text = rh_wire_text(wire);

		memcpy((char *)&made->kind + hello_texts[i], &text, sizeof(text));
	}
	made->kind.port = rh_wire_int(wire);
	made->kind.flags = (uint32_t)rh_wire_int(wire);
	count = rh_wire_size(wire, RH_TYPES_MAX);
	for (uint32_t i = 0; i < count; i++) {
		hello_get_type(wire, &made->types[i]);
		made->list[i] = &made->types[i];
	}
}

static int hello_get_kinds(struct rh_wire *wire, struct hello_kinds *kinds)
{
	kinds->count = rh_wire_size(wire, RH_PLUGIN_KINDS_MAX);
	kinds->items = rh_alloc_array(kinds->count + 1, sizeof(*kinds->items));
	if (!kinds->items)
		return RH_ENOMEM;
	for (uint32_t i = 0; i < kinds->count; i++)
		hello_get_kind(wire, &kinds->items[i]);
	return 0;
}

static void hello_get_notes(struct rh_wire *wire)
{
	while (rh_wire_byte(wire) == 1 && !wire->malformed) {
		(void)rh_wire_int(wire);
		(void)rh_wire_text_required(wire);
	}
}

/** The operations are in another process; rh_abi_check_plugin() asks for this one. */
static const struct rh_kind *hello_describe(void *self, uint32_t index)
{
	(void)self;
	(void)index;
	return NULL;
}

static void hello_get_plugin(struct rh_wire *wire, struct rh_hello *hello)
{
	hello->plugin = (struct rh_plugin){.head = RH_HEAD(struct rh_plugin), .describe = hello_describe};
	hello->plugin.name = rh_wire_text_required(wire);
	hello->plugin.release = rh_wire_text_required(wire);
	hello->plugin.settings = rh_wire_text(wire);
	hello->plugin.resources = rh_wire_text(wire);
	hello->operations = (uint32_t)rh_wire_int(wire);
}

int rh_hello_read(struct rh_str *message, struct rh_hello **ret_hello, struct rh_error *err)
{
	rh_auto(hello) hello = rh_alloc(sizeof(*hello));
	struct rh_wire wire;
	uint8_t state;
	int r = 0;

	if (!hello) {
		rh_str_deinit(message);
		return rh_fail_oom(err);
	}
	hello->message = *message;
	*message = (struct rh_str){0};
	wire = rh_wire_read(hello->message.data, hello->message.length);
	state = rh_wire_byte(&wire);
	hello->state = (enum rh_plugin_state)state;
	hello->reason = rh_wire_text_required(&wire);
	hello->has_plugin = rh_wire_byte(&wire) != 0;
	if (hello->has_plugin)
		hello_get_plugin(&wire, hello);
	for (size_t i = 0; r == 0 && i < 2; i++)
		r = hello_get_kinds(&wire, &hello->kinds[i]);
	if (r < 0)
		return rh_fail_oom(err);
	hello->notes = hello->message.length - wire.left;
	hello_get_notes(&wire);
	if (!rh_wire_is_complete(&wire) || state > RH_PLUGIN_READY || (state == RH_PLUGIN_READY && !hello->has_plugin))
		return rh_fail(err, RH_EPLUGIN, "it describes itself in a malformed message");
	*ret_hello = rh_take(hello);
	return 0;
}

void rh_hello_free(struct rh_hello *hello)
{
	if (!hello)
		return;
	rh_free(hello->kinds[0].items);
	rh_free(hello->kinds[1].items);
	rh_str_deinit(&hello->message);
	rh_free(hello);
}

bool rh_hello_equal(const struct rh_hello *a, const struct rh_hello *b)
{
	return a->notes == b->notes && memcmp(a->message.data, b->message.data, a->notes) == 0;
}

const char *rh_hello_note(const struct rh_hello *hello, size_t *cursor, int32_t *ret_level)
{
	size_t at = *cursor > 0 ? *cursor : hello->notes;
	struct rh_wire wire = rh_wire_read(hello->message.data + at, hello->message.length - at);
	const char *text = NULL;

	if (rh_wire_byte(&wire) == 1) {
		*ret_level = rh_wire_int(&wire);
		text = rh_wire_text(&wire);
		*cursor = hello->message.length - wire.left;
	}
	return text;
}

enum rh_plugin_state rh_hello_state(const struct rh_hello *hello)
{
	return hello->state;
}

const char *rh_hello_reason(const struct rh_hello *hello)
{
	return hello->reason;
}

const struct rh_plugin *rh_hello_plugin(const struct rh_hello *hello)
{
	return hello->has_plugin ? &hello->plugin : NULL;
}

bool rh_hello_has(const struct rh_hello *hello, uint32_t operation)
{
	return (hello->operations >> operation) & 1U;
}

const struct rh_kind *rh_hello_kind(const struct rh_hello *hello, bool idle, size_t index)
{
	const struct hello_kinds *kinds = &hello->kinds[idle];

	return index < kinds->count ? &kinds->items[index].kind : NULL;
}
