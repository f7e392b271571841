/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static bool fault_equal(const struct rh_first_fault *a, const struct rh_first_fault *b)
{
	if (!a->type || !b->type)
		return !a->type && !b->type;
	return a->index == b->index && a->exit_code == b->exit_code && a->attempt == b->attempt && a->at == b->at &&
	       a->blame == b->blame && a->rank == b->rank && a->until == b->until &&
	       a->message_offset == b->message_offset && rh_text_equal(a->reported_by, b->reported_by) &&
	       strcmp(a->type, b->type) == 0 && strcmp(a->pod, b->pod) == 0 && strcmp(a->node, b->node) == 0 &&
	       strcmp(a->container, b->container) == 0 && strcmp(a->reason, b->reason) == 0 &&
	       strcmp(a->last_lines, b->last_lines) == 0;
}

static void ledger_type_deinit(struct rh_ledger_type *type)
{
	rh_free(type->type);
	rh_index_set_deinit(&type->succeeded);
	rh_index_set_deinit(&type->lost);
	rh_index_set_deinit(&type->again);
	rh_free(type->token);
}

void rh_ledger_deinit(struct rh_ledger *ledger)
{
	for (size_t i = 0; i < ledger->type_count; i++)
		ledger_type_deinit(&ledger->types[i]);
	for (size_t i = 0; i < ledger->counted_count; i++)
		rh_free(ledger->counted[i]);
	rh_free(ledger->counted);
	rh_first_fault_deinit(&ledger->fault);
	rh_uid_map_deinit(&ledger->made);
	rh_free(ledger->token);
	*ledger = (struct rh_ledger){0};
}

static int ledger_copy_types(struct rh_ledger *to, const struct rh_ledger *from)
{
	for (size_t i = 0; i < from->type_count; i++) {
		const struct rh_ledger_type *source = &from->types[i];
		struct rh_ledger_type *type = rh_ledger_type_of(to, source->type);

		if (!type || rh_index_set_copy(&type->succeeded, &source->succeeded) < 0 ||
		    rh_index_set_copy(&type->lost, &source->lost) < 0 || rh_index_set_copy(&type->again, &source->again) < 0 ||
		    rh_ledger_set_token(&type->token, source->token) < 0)
			return RH_ENOMEM;
		memcpy(type->restarts, source->restarts, sizeof(type->restarts));
	}
	return 0;
}

static int ledger_copy_counted(struct rh_ledger *to, const struct rh_ledger *from)
{
	if (from->counted_count == 0)
		return 0;
	to->counted = rh_alloc_array(from->counted_count, sizeof(*to->counted));
	if (!to->counted)
		return RH_ENOMEM;
	for (size_t i = 0; i < from->counted_count; i++) {
		to->counted[i] = rh_strdup(from->counted[i]);
		if (!to->counted[i])
			return RH_ENOMEM;
		to->counted_count = i + 1;
	}
	return 0;
}

int rh_ledger_copy(struct rh_ledger *to, const struct rh_ledger *from)
{
	if (ledger_copy_types(to, from) < 0 || ledger_copy_counted(to, from) < 0 ||
	    rh_first_fault_copy(&to->fault, &from->fault) < 0 || rh_uid_map_copy(&to->made, &from->made) < 0 ||
	    rh_ledger_set_token(&to->token, from->token) < 0) {
		rh_ledger_deinit(to);
		return RH_ENOMEM;
	}
	to->attempt = from->attempt;
	to->stopping = from->stopping;
	to->end = from->end;
	return 0;
}

static bool ledger_token_equal(const char *a, const char *b)
{
	return (!a && !b) || rh_text_equal(a, b);
}

static bool ledger_type_equal(const struct rh_ledger_type *a, const struct rh_ledger_type *b)
{
	return memcmp(a->restarts, b->restarts, sizeof(a->restarts)) == 0 &&
	       rh_index_set_equal(&a->succeeded, &b->succeeded) && rh_index_set_equal(&a->lost, &b->lost) &&
	       rh_index_set_equal(&a->again, &b->again) && ledger_token_equal(a->token, b->token);
}

/* A missing entry equals an empty one. */
static bool ledger_types_within(const struct rh_ledger *a, const struct rh_ledger *b)
{
	static const struct rh_ledger_type none;

	for (size_t i = 0; i < a->type_count; i++) {
		const struct rh_ledger_type *other = rh_ledger_find(b, a->types[i].type);

		if (!ledger_type_equal(&a->types[i], other ? other : &none))
			return false;
	}
	return true;
}

bool rh_ledger_equal(const struct rh_ledger *a, const struct rh_ledger *b)
{
	if (a->attempt != b->attempt || a->stopping != b->stopping || a->end != b->end ||
	    a->counted_count != b->counted_count || !fault_equal(&a->fault, &b->fault) ||
	    !rh_uid_map_equal(&a->made, &b->made) || !ledger_token_equal(a->token, b->token))
		return false;
	for (size_t i = 0; i < a->counted_count; i++) {
		if (strcmp(a->counted[i], b->counted[i]) != 0)
			return false;
	}
	return ledger_types_within(a, b) && ledger_types_within(b, a);
}

const struct rh_ledger_type *rh_ledger_find(const struct rh_ledger *ledger, const char *type)
{
	for (size_t i = 0; i < ledger->type_count; i++) {
		if (strcmp(ledger->types[i].type, type) == 0)
			return &ledger->types[i];
	}
	return NULL;
}

struct rh_ledger_type *rh_ledger_type_of(struct rh_ledger *ledger, const char *type)
{
	const struct rh_ledger_type *found = rh_ledger_find(ledger, type);
	char *copy;

	if (found)
		return &ledger->types[found - ledger->types];
	if (ledger->type_count == RH_TYPES_MAX)
		return NULL;
	copy = rh_strdup(type);
	if (!copy)
		return NULL;
	ledger->types[ledger->type_count].type = copy;
	return &ledger->types[ledger->type_count++];
}

int rh_ledger_set_token(char **last, const char *token)
{
	char *copy = rh_strdup(token);

	if (token && !copy)
		return RH_ENOMEM;
	if (copy) {
		rh_free(*last);
		*last = copy;
	}
	return 0;
}

bool rh_ledger_stops(const struct rh_ledger *ledger, const char *type, int32_t index)
{
	const struct rh_ledger_type *found = rh_ledger_find(ledger, type);

	return found && rh_index_set_has(&found->again, index);
}

bool rh_ledger_succeeded(const struct rh_ledger *ledger, const char *type, int32_t index)
{
	const struct rh_ledger_type *found = rh_ledger_find(ledger, type);

	return found && rh_index_set_has(&found->succeeded, index);
}

int rh_ledger_set_succeeded(struct rh_ledger *ledger, const char *type, int32_t index)
{
	struct rh_ledger_type *found = rh_ledger_type_of(ledger, type);

	return found ? rh_index_set_add(&found->succeeded, index) : RH_ENOMEM;
}

/* @return the first place whose text does not sort before @p uid */
static size_t ledger_lower_bound(const struct rh_ledger *ledger, const char *uid)
{
	size_t low = 0, high = ledger->counted_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(ledger->counted[middle], uid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t rh_ledger_place(const struct rh_ledger *ledger, const char *uid)
{
	size_t place = ledger_lower_bound(ledger, uid);

	return place < ledger->counted_count && strcmp(ledger->counted[place], uid) == 0 ? place : RH_LEDGER_COUNTED_MAX;
}

bool rh_ledger_counted(const struct rh_ledger *ledger, const char *uid)
{
	return ledger->counted_count > 0 && rh_ledger_place(ledger, uid) < ledger->counted_count;
}

size_t rh_ledger_room(const struct rh_ledger *ledger)
{
	return RH_LEDGER_COUNTED_MAX - ledger->counted_count;
}

int rh_ledger_note(struct rh_ledger *ledger, const char *uid)
{
	size_t place = ledger_lower_bound(ledger, uid);
	rh_auto_free char *copy = NULL;
	char **counted;

	if (rh_ledger_counted(ledger, uid) || rh_ledger_room(ledger) == 0)
		return 0;
	copy = rh_strdup(uid);
	counted = copy ? rh_realloc_array(ledger->counted, ledger->counted_count + 1, sizeof(*counted)) : NULL;
	if (!counted)
		return RH_ENOMEM;
	memmove(counted + place + 1, counted + place, (ledger->counted_count - place) * sizeof(*counted));
	counted[place] = rh_take(copy);
	ledger->counted = counted;
	ledger->counted_count++;
	return 1;
}

void rh_ledger_unnote(struct rh_ledger *ledger, const char *uid)
{
	size_t place = ledger_lower_bound(ledger, uid);

	if (!rh_ledger_counted(ledger, uid))
		return;
	rh_free(ledger->counted[place]);
	ledger->counted_count--;
	memmove(ledger->counted + place, ledger->counted + place + 1,
	        (ledger->counted_count - place) * sizeof(*ledger->counted));
}

int rh_ledger_count(struct rh_ledger *ledger, const char *type, enum rh_restart_cause cause, const char *uid)
{
	struct rh_ledger_type *found = rh_ledger_type_of(ledger, type);
	int r = 1;

	if (!found)
		return RH_ENOMEM;
	if (uid)
		r = rh_ledger_note(ledger, uid);
	if (r == 1)
		found->restarts[cause]++;
	return r;
}

void rh_ledger_retain(struct rh_ledger *ledger, const bool *keep)
{
	size_t kept = 0;

	for (size_t i = 0; i < ledger->counted_count; i++) {
		if (keep[i])
			ledger->counted[kept++] = ledger->counted[i];
		else
			rh_free(ledger->counted[i]);
	}
	ledger->counted_count = kept;
}

void rh_ledger_forget_indices(struct rh_ledger *ledger)
{
	for (size_t i = 0; i < ledger->type_count; i++) {
		rh_index_set_deinit(&ledger->types[i].succeeded);
		rh_index_set_deinit(&ledger->types[i].lost);
		rh_index_set_deinit(&ledger->types[i].again);
	}
}

int64_t rh_ledger_restarts_of(const struct rh_ledger *ledger, enum rh_restart_cause cause)
{
	int64_t sum = 0;

	for (size_t i = 0; i < ledger->type_count; i++)
		sum += ledger->types[i].restarts[cause];
	return sum;
}

int64_t rh_ledger_restarts(const struct rh_ledger *ledger)
{
	int64_t sum = 0;

	for (int cause = 0; cause < RH_CAUSES; cause++) {
		if (cause != RH_CAUSE_JOB && cause != RH_CAUSE_STALLED)
			sum += rh_ledger_restarts_of(ledger, (enum rh_restart_cause)cause);
	}
	return sum;
}
