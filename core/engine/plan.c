/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/plan.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"

static void plan_free_action(struct rh_action *action)
{
	rh_free(action->type);
	rh_free(action->api_version);
	rh_free(action->kind);
	rh_free(action->name);
	rh_free(action->uid);
}

void rh_plan_deinit(struct rh_plan *plan)
{
	for (size_t i = 0; i < plan->action_count; i++)
		plan_free_action(&plan->actions[i]);
	for (size_t i = 0; i < plan->event_count; i++) {
		rh_free(plan->events[i].reason);
		rh_free(plan->events[i].message);
	}
	for (size_t i = 0; i < plan->log_count; i++)
		rh_free(plan->logs[i]);
	rh_free(plan->stalls_pod);
	rh_free(plan->stalls_container);
	rh_free(plan->stalls_uid);
	rh_free(plan->evict_pod);
	rh_free(plan->evict_uid);
	rh_free(plan->actions);
	rh_free(plan->events);
	rh_ledger_deinit(&plan->ledger);
	rh_job_status_deinit(&plan->status);
	*plan = (struct rh_plan){0};
}

/* Room for one more element. @return the array, or NULL when memory is out and it stays as it was */
static void *plan_room(void *items, size_t count, size_t *capacity, size_t size)
{
	size_t more = *capacity ? *capacity * 2 : 8;

	if (count < *capacity)
		return items;
	items = rh_realloc_array(items, more, size);
	if (items)
		*capacity = more;
	return items;
}

struct rh_action *rh_plan_act(struct rh_plan *plan, enum rh_action_verb verb, const char *type, int32_t index,
                              const char *name)
{
	struct rh_action action = {.verb = verb, .index = index};
	struct rh_action *actions = plan_room(plan->actions, plan->action_count, &plan->action_capacity, sizeof(*actions));

	if (!actions)
		return NULL;
	plan->actions = actions;
	action.type = rh_strdup(type);
	action.name = rh_strdup(name);
	if ((type && !action.type) || (name && !action.name)) {
		plan_free_action(&action);
		return NULL;
	}
	actions[plan->action_count] = action;
	return &actions[plan->action_count++];
}

int rh_plan_delete(struct rh_plan *plan, enum rh_action_verb verb, const char *name, const char *uid, bool force)
{
	struct rh_action *action;

	if (!*uid)
		return 0;
	action = rh_plan_act(plan, verb, NULL, 0, name);
	if (!action)
		return RH_ENOMEM;
	action->force = force;
	action->uid = rh_strdup(uid);
	return action->uid ? 0 : RH_ENOMEM;
}

int rh_plan_emit(struct rh_plan *plan, bool warning, const char *reason, const char *fmt, ...)
{
	struct rh_plan_event *events = plan_room(plan->events, plan->event_count, &plan->event_capacity, sizeof(*events));
	rh_auto_free char *text = NULL;
	rh_auto_free char *why = rh_strdup(reason);
	va_list args;

	if (!events)
		return RH_ENOMEM;
	plan->events = events;
	va_start(args, fmt);
	text = rh_vasprintf(fmt, args);
	va_end(args);
	if (!text || !why)
		return RH_ENOMEM;
	events[plan->event_count++] = (struct rh_plan_event){warning, rh_take(why), rh_take(text)};
	return 0;
}

int rh_plan_read_log(struct rh_plan *plan, const char *uid)
{
	plan->logs[plan->log_count] = rh_strdup(uid);
	return plan->logs[plan->log_count++] ? 0 : RH_ENOMEM;
}

bool rh_plan_is_empty(const struct rh_plan *plan)
{
	return plan->action_count == 0 && plan->event_count == 0 && plan->log_count == 0 && !plan->stalls_pod &&
	       !plan->evict_pod && !plan->write_ledger && !plan->write_status;
}

static void plan_print_set(const char *what, const struct rh_index_set *set, struct rh_str *out)
{
	rh_auto_str text = {0};

	rh_index_set_print(set, &text);
	if (text.failed)
		out->failed = true;
	else if (text.length)
		rh_str_appendf(out, " %s=%s", what, rh_str_text(&text));
}

static void plan_print_ledger_type(const struct rh_ledger_type *type, struct rh_str *out)
{
	rh_str_appendf(out, "; %s", type->type);
	for (int cause = 0; cause < RH_CAUSES; cause++) {
		if (type->restarts[cause])
			rh_str_appendf(out, " %s=%" PRId64, rh_restart_cause_name((enum rh_restart_cause)cause),
			               type->restarts[cause]);
	}
	plan_print_set("succeeded", &type->succeeded, out);
	plan_print_set("lost", &type->lost, out);
	plan_print_set("again", &type->again, out);
	if (type->token)
		rh_str_appendf(out, " token=%s", type->token);
}

static void plan_print_ledger(const struct rh_ledger *ledger, struct rh_str *out)
{
	const struct rh_first_fault *fault = &ledger->fault;

	rh_str_appendf(out, "ledger: attempt %" PRId32 "%s%s", ledger->attempt, ledger->stopping ? " stopping" : "",
	               ledger->end == RH_END_BACKOFF    ? " end=backoff"
	               : ledger->end == RH_END_DEADLINE ? " end=deadline"
	                                                : "");
	if (ledger->token)
		rh_str_appendf(out, " token=%s", ledger->token);
	for (size_t i = 0; i < ledger->type_count; i++)
		plan_print_ledger_type(&ledger->types[i], out);
	for (size_t i = 0; i < ledger->counted_count; i++)
		rh_str_appendf(out, "%s%s", i ? " " : "; counted ", ledger->counted[i]);
	for (size_t i = 0; i < ledger->made.count; i++)
		rh_str_appendf(out, "%s%s=%s", i ? " " : "; made ", ledger->made.items[i].key, ledger->made.items[i].uid);
	if (fault->type)
		rh_str_appendf(out, "; fault %s-%" PRId32 " code %" PRId32 " attempt %" PRId32, fault->type, fault->index,
		               fault->exit_code, fault->attempt);
	rh_str_append(out, "\n");
}

static void plan_print_action(const struct rh_action *action, struct rh_str *out)
{
	static const char *const verbs[] = {"create pod", "create service", "create object",  "update object",
	                                    "delete pod", "delete service", "delete object",  "delete job",
	                                    "adopt pod",  "adopt service",  "look at object", "make object"};

	rh_str_appendf(out, "%s", verbs[action->verb]);
	if (action->kind)
		rh_str_appendf(out, " %s %s", action->api_version, action->kind);
	rh_str_appendf(out, " %s", action->name);
	if (action->uid)
		rh_str_appendf(out, " uid %s", action->uid);
	rh_str_append(out, action->force ? " by force\n" : "\n");
}

static void plan_print_status(const struct rh_job_status *status, struct rh_str *out)
{
	rh_str_append(out, "status:");
	for (size_t i = 0; i < status->condition_count; i++) {
		const struct rh_condition *condition = &status->conditions[i];

		rh_str_appendf(out, " %s=%s/%s", condition->type, condition->status ? "True" : "False", condition->reason);
	}
	for (size_t i = 0; i < status->replica_count; i++) {
		const struct rh_replica_status *replica = &status->replicas[i];

		rh_str_appendf(out, "; %s %" PRId32 "/%" PRId32 "/%" PRId32, replica->type, replica->active, replica->succeeded,
		               replica->failed);
	}
	if (rh_json_size(status->own) > 0) {
		rh_str_append(out, "; own ");
		rh_json_print(status->own, false, out);
	}
	rh_str_appendf(out, "%s%s\n", status->started_at ? "; started" : "", status->completed_at ? "; completed" : "");
}

void rh_plan_print(const struct rh_plan *plan, struct rh_str *out)
{
	char time[RH_TIME_SIZE];

	if (plan->write_ledger)
		plan_print_ledger(&plan->ledger, out);
	for (size_t i = 0; i < plan->action_count; i++)
		plan_print_action(&plan->actions[i], out);
	for (size_t i = 0; i < plan->log_count; i++)
		rh_str_appendf(out, "read log of pod uid %s\n", plan->logs[i]);
	if (plan->stalls_pod)
		rh_str_appendf(out, "read log of rank 0, %s/%s\n", plan->stalls_pod, plan->stalls_container);
	if (plan->evict_pod)
		rh_str_appendf(out, "evict pod %s uid %s\n", plan->evict_pod, plan->evict_uid);
	for (size_t i = 0; i < plan->event_count; i++) {
		const struct rh_plan_event *event = &plan->events[i];

		rh_str_appendf(out, "event %s %s: %s\n", event->warning ? "Warning" : "Normal", event->reason, event->message);
	}
	if (plan->write_status)
		plan_print_status(&plan->status, out);
	if (plan->wake_at != RH_NEVER)
		rh_str_appendf(out, "wake at %s\n", rh_time_format(plan->wake_at, time));
	if (plan->done)
		rh_str_append(out, "done\n");
}
