/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/messages/snapshot.h"

#include <string.h>

#include "job/expansion.h"

/** Most replicas whose pods are sent. */
#define SNAPSHOT_PODS_MAX (1U << 20)
/** Largest number of things that a message lists. */
#define SNAPSHOT_ANY UINT32_MAX

struct rh_received {
	const struct rh_slot *slot;
	struct rh_config *config; /* has nothing but settings; owned, like all below */
	struct rh_job *job;
	struct rh_lookups *lookups; /* NULL: none were looked up */
	struct rh_addresses addresses;
	struct rh_gang gang;
	struct rh_counts counts[RH_TYPES_MAX];
	struct rh_pod *states; /* one for each replica that has a pod */
	const struct rh_pod **pods;
	size_t offsets[RH_TYPES_MAX + 1];
	struct rh_snapshot snapshot;
};

static void snapshot_put_addresses(struct rh_str *out, const struct rh_addresses *addresses)
{
	size_t count = addresses ? addresses->count : 0;

	rh_wire_put_size(out, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		const struct rh_address *address = &addresses->items[i];

		rh_wire_put_text(out, address->type);
		rh_wire_put_int(out, address->index);
		rh_wire_put_text(out, address->host);
		rh_wire_put_int(out, address->port);
	}
}

/** A later setting of a key replaces an earlier one, so all are sent in their order. */
static void snapshot_put_settings(struct rh_str *out, const struct rh_config *config, const char *section)
{
	uint32_t count = 0;

	for (size_t i = 0; i < config->setting_count; i++)
		count += strcmp(config->settings[i].section, section) == 0;
	rh_wire_put_size(out, count);
	for (size_t i = 0; i < config->setting_count; i++) {
		const struct rh_setting *setting = &config->settings[i];

		if (strcmp(setting->section, section) != 0)
			continue;
		rh_wire_put_text(out, setting->key);
		rh_wire_put_text(out, setting->content ? setting->content : setting->value);
	}
}

static void snapshot_put_lookups(struct rh_str *out, const struct rh_lookups *lookups)
{
	rh_wire_put_size(out, lookups ? (uint32_t)lookups->count : 0);
	for (size_t i = 0; lookups && i < lookups->count; i++) {
		const struct rh_lookup *lookup = &lookups->items[i];
		rh_auto_free char *text = lookup->object ? rh_json_text(lookup->object) : NULL;

		rh_wire_put_int(out, lookup->state);
		rh_wire_put_text(out, text);
		out->failed = out->failed || (lookup->object && !text);
	}
}

void rh_snapshot_put_context(struct rh_str *out, const struct rh_slot *slot, const struct rh_snapshot *snapshot)
{
	uint32_t place = 0;

	while (slot->kinds[place] != snapshot->job->kind)
		place++;
	rh_wire_put_int(out, (int32_t)place);
	snapshot_put_addresses(out, snapshot->addresses);
	snapshot_put_settings(out, snapshot->host->config, slot->section);
	snapshot_put_lookups(out, snapshot->lookups);
	rh_wire_put_text(out, rh_expansion_text(snapshot->job->expansion));
}

static void snapshot_put_conditions(struct rh_str *out, const struct rh_job_status *status)
{
	rh_wire_put_size(out, (uint32_t)status->condition_count);
	for (size_t i = 0; i < status->condition_count; i++) {
		rh_wire_put_text(out, status->conditions[i].type);
		rh_wire_put_byte(out, status->conditions[i].status);
	}
}

static void snapshot_put_counts(struct rh_str *out, const struct rh_snapshot *snapshot)
{
	rh_wire_put_byte(out, snapshot->counts != NULL);
	for (size_t i = 0; snapshot->counts && i < snapshot->job->spec_count; i++) {
		const struct rh_counts *counts = &snapshot->counts[i];

		rh_wire_put_int(out, counts->desired);
		rh_wire_put_int(out, counts->active);
		rh_wire_put_int(out, counts->succeeded);
		rh_wire_put_int(out, counts->failed);
		rh_wire_put_int(out, counts->restarting);
		rh_wire_put_int(out, counts->ready);
	}
}

static void snapshot_put_pod(struct rh_str *out, const struct rh_pod *pod)
{
	rh_wire_put_byte(out, (uint8_t)(pod ? pod->phase : RH_PHASE_ABSENT));
	if (!pod)
		return;
	rh_wire_put_int(out, pod->exit_code);
	rh_wire_put_byte(out, pod->ready);
}

static void snapshot_put_pods(struct rh_str *out, const struct rh_snapshot *snapshot)
{
	bool have =
		snapshot->pods && snapshot->offsets && rh_job_total_replicas(snapshot->job) <= (int64_t)SNAPSHOT_PODS_MAX;

	rh_wire_put_byte(out, have);
	for (size_t i = 0; have && i < snapshot->job->spec_count; i++) {
		for (int32_t k = 0; k < snapshot->job->specs[i].replicas; k++)
			snapshot_put_pod(out, snapshot->pods[snapshot->offsets[i] + (size_t)k]);
	}
}

static void snapshot_put_gang(struct rh_str *out, const struct rh_gang *gang)
{
	rh_wire_put_byte(out, (uint8_t)(rh_gang_is_on(gang) ? gang->kind : RH_GANG_NONE));
	rh_wire_put_text(out, rh_gang_is_on(gang) ? gang->scheduler : "");
}

void rh_snapshot_put_state(struct rh_str *out, const struct rh_snapshot *snapshot)
{
	snapshot_put_gang(out, snapshot->gang);
	rh_wire_put_int(out, snapshot->attempt);
	rh_wire_put_byte(out, snapshot->suspended);
	rh_wire_put_byte(out, snapshot->finished);
	snapshot_put_conditions(out, &snapshot->job->status);
	snapshot_put_counts(out, snapshot);
	snapshot_put_pods(out, snapshot);
}

struct rh_received *rh_received_new(const struct rh_slot *slot)
{
	struct rh_received *received = rh_alloc(sizeof(*received));

	if (received)
		received->slot = slot;
	return received;
}

static void received_drop_pods(struct rh_received *received)
{
	rh_free(rh_take(received->states));
	rh_free(rh_take(received->pods));
}

static void received_drop_job(struct rh_received *received)
{
	received_drop_pods(received);
	rh_addresses_deinit(&received->addresses);
	rh_lookups_free(rh_take(received->lookups));
	rh_job_free(rh_take(received->job));
	rh_config_free(rh_take(received->config));
}

void rh_received_free(struct rh_received *received)
{
	if (!received)
		return;
	received_drop_job(received);
	rh_free(received);
}

static int received_read_object(struct rh_received *received, struct rh_wire *wire, size_t place)
{
	const char *text = rh_wire_text_required(wire);
	struct rh_json *object;
	int r;

	if (wire->malformed || place >= received->slot->kind_count)
		return RH_EINVAL;
	r = rh_json_parse(text, strlen(text), &object, NULL);
	return r < 0 ? r : rh_job_parse(received->slot->kinds[place], object, &received->job, NULL);
}

static int received_read_addresses(struct rh_received *received, struct rh_wire *wire)
{
	struct rh_addresses *addresses = &received->addresses;
	uint32_t count = rh_wire_size(wire, SNAPSHOT_ANY);

	addresses->items = rh_alloc_array((size_t)count + 1, sizeof(*addresses->items));
	if (!addresses->items)
		return RH_ENOMEM;
	addresses->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct rh_address *address = &addresses->items[i];

		rh_copy(address->type, sizeof(address->type), rh_wire_text_required(wire));
		address->index = rh_wire_int(wire);
		rh_copy(address->host, sizeof(address->host), rh_wire_text_required(wire));
		address->port = rh_wire_int(wire);
	}
	return 0;
}

static int received_read_settings(struct rh_received *received, struct rh_wire *wire)
{
	uint32_t count = rh_wire_size(wire, SNAPSHOT_ANY);

	received->config = rh_alloc(sizeof(*received->config));
	if (!received->config)
		return RH_ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const char *key = rh_wire_text_required(wire);

		if (rh_config_set(received->config, received->slot->section, key, rh_wire_text_required(wire), "") < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/* What a message says of the entries of a kind; they follow from the job, which is read later. */
struct received_lookups {
	uint32_t count;
	int32_t states[RH_LOOKUPS_MAX];
	const char *texts[RH_LOOKUPS_MAX];
};

static void received_get_lookups(struct rh_wire *wire, struct received_lookups *sent)
{
	sent->count = rh_wire_size(wire, RH_LOOKUPS_MAX);
	for (uint32_t i = 0; i < sent->count; i++) {
		sent->states[i] = rh_wire_int(wire);
		sent->texts[i] = rh_wire_text(wire);
	}
}

/* @param text of the object that the job sees */
static int received_find(struct rh_lookup *lookup, const char *text)
{
	struct rh_json *object = NULL;
	int r = rh_json_parse(text, strlen(text), &object, NULL);

	if (r == 0)
		r = rh_found_take(object, &lookup->found);
	lookup->object = r == 0 ? lookup->found->object : NULL;
	return r;
}

static int received_make_lookups(struct rh_received *received, const struct received_lookups *sent)
{
	int r = sent->count > 0 ? rh_lookups_new(received->job, &received->lookups) : 0;

	if (r == 0 && sent->count != (received->lookups ? received->lookups->count : 0))
		return RH_EINVAL;
	for (uint32_t i = 0; i < sent->count && r == 0; i++) {
		struct rh_lookup *lookup = &received->lookups->items[i];

		lookup->state = sent->states[i];
		if (sent->texts[i])
			r = received_find(lookup, sent->texts[i]);
	}
	return r;
}

/* @param text NULL: the job has none */
static int received_expand(struct rh_received *received, const char *text)
{
	struct rh_expansion *expansion = NULL;
	int r = text ? rh_expansion_parse(received->job->kind, text, &expansion, NULL) : 0;

	if (expansion)
		rh_job_set_expansion(received->job, expansion);
	return r;
}

int rh_received_read_job(struct rh_received *received, struct rh_wire *wire)
{
	size_t place = (size_t)(uint32_t)rh_wire_int(wire);
	struct received_lookups sent = {0};
	const char *expansion = NULL;
	int r;

	received_drop_job(received);
	r = received_read_addresses(received, wire);
	if (r == 0)
		r = received_read_settings(received, wire);
	if (r == 0)
		received_get_lookups(wire, &sent);
	if (r == 0)
		expansion = rh_wire_text(wire);
	if (r == 0)
		r = received_read_object(received, wire, place);
	if (r == 0)
		r = received_make_lookups(received, &sent);
	if (r == 0)
		r = received_expand(received, expansion);
	return r == 0 && wire->malformed ? RH_EINVAL : r;
}

/** What the host knows of conditions can be newer than the object. */
static int received_read_conditions(struct rh_job_status *status, struct rh_wire *wire)
{
	uint32_t count = rh_wire_size(wire, RH_CONDITIONS_MAX);

	rh_job_status_deinit(status);
	for (uint32_t i = 0; i < count; i++) {
		struct rh_condition *condition = &status->conditions[status->condition_count];

		condition->type = rh_strdup(rh_wire_text_required(wire));
		if (!condition->type)
			return RH_ENOMEM;
		condition->status = rh_wire_byte(wire) != 0;
		status->condition_count++;
	}
	return 0;
}

static void received_read_counts(struct rh_received *received, struct rh_wire *wire)
{
	bool have = rh_wire_byte(wire) != 0;

	for (size_t i = 0; have && i < received->job->spec_count; i++) {
		struct rh_counts *counts = &received->counts[i];

		*counts = (struct rh_counts){.head = RH_HEAD(struct rh_counts)};
		counts->desired = rh_wire_int(wire);
		counts->active = rh_wire_int(wire);
		counts->succeeded = rh_wire_int(wire);
		counts->failed = rh_wire_int(wire);
		counts->restarting = rh_wire_int(wire);
		counts->ready = rh_wire_int(wire);
	}
	received->snapshot.counts = have ? received->counts : NULL;
}

static int received_read_pods(struct rh_received *received, struct rh_wire *wire)
{
	const struct rh_job *job = received->job;
	bool have = rh_wire_byte(wire) != 0;
	size_t total = 0;

	received_drop_pods(received);
	if (!have)
		return 0;
	for (size_t i = 0; i < job->spec_count; i++) {
		received->offsets[i] = total;
		total += (size_t)(job->specs[i].replicas > 0 ? job->specs[i].replicas : 0);
	}
	if (total > wire->left)
		return RH_EINVAL;
	received->states = rh_alloc_array(total + 1, sizeof(*received->states));
	received->pods = rh_alloc_array(total + 1, sizeof(*received->pods));
	if (!received->states || !received->pods)
		return RH_ENOMEM;
	for (size_t i = 0; i < total; i++) {
		struct rh_pod *pod = &received->states[i];

		pod->phase = rh_wire_byte(wire);
		if (pod->phase == RH_PHASE_ABSENT)
			continue;
		pod->exit_code = rh_wire_int(wire);
		pod->ready = rh_wire_byte(wire) != 0;
		received->pods[i] = pod;
	}
	return 0;
}

int rh_received_read_state(struct rh_received *received, struct rh_wire *wire)
{
	int r;

	if (!received->job)
		return RH_EINVAL;
	received->snapshot =
		(struct rh_snapshot){.job = received->job, .addresses = &received->addresses, .lookups = received->lookups};
	received->gang.kind = (enum rh_gang_kind)rh_wire_byte(wire);
	rh_copy(received->gang.scheduler, sizeof(received->gang.scheduler), rh_wire_text_required(wire));
	received->snapshot.gang = &received->gang;
	received->snapshot.attempt = rh_wire_int(wire);
	received->snapshot.suspended = rh_wire_byte(wire) != 0;
	received->snapshot.finished = rh_wire_byte(wire) != 0;
	r = received_read_conditions(&received->job->status, wire);
	if (r < 0)
		return r;
	received_read_counts(received, wire);
	r = received_read_pods(received, wire);
	if (r == 0 && received->pods) {
		received->snapshot.pods = received->pods;
		received->snapshot.offsets = received->offsets;
	}
	return r == 0 && wire->malformed ? RH_EINVAL : r;
}

const struct rh_snapshot *rh_received_snapshot(struct rh_received *received, bool *looked)
{
	received->snapshot.looked = looked;
	return &received->snapshot;
}

const struct rh_config *rh_received_config(const struct rh_received *received)
{
	return received->config;
}
