/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/messages/record.h"

#include "host/call/view.h"

/** What a record begins with. */
enum record_code {
	RECORD_OUTCOME,
	RECORD_NOTE,
	RECORD_REFUSE,
	RECORD_ENV,
	RECORD_EDIT,
	RECORD_OBJECT,
	RECORD_VERDICT,
	RECORD_OBJECT_WITH,
	RECORD_HOLD,
	RECORD_STATUS,
	RECORD_EXPANSION,
	RECORD_RESTART
};

/** One call of a service that answers. */
struct record_call {
	enum record_code code;
	int32_t number; /* a level, a verdict, options of an object or a restart, or an index */
	const char *texts[3];
};

/** Write down a call that was accepted; one that was not is in the reply's status. @return @p result */
static int32_t record_keep(struct rh_reply *reply, int32_t result, const struct record_call *call)
{
	const struct rh_recorder *recorder = (struct rh_recorder *)reply;

	if (reply->operation == RH_OPERATION_INIT || result != 0 || reply->status != 0)
		return result;
	rh_wire_put_byte(recorder->out, (uint8_t)call->code);
	rh_wire_put_int(recorder->out, call->number);
	for (size_t i = 0; i < sizeof(call->texts) / sizeof(call->texts[0]); i++)
		rh_wire_put_text(recorder->out, call->texts[i]);
	return result;
}

static int32_t record_note(struct rh_reply *reply, int32_t level, const char *text)
{
	int32_t r = rh_reply_note(reply, level, text);

	if (r == 0 && reply->notes) {
		rh_wire_put_byte(reply->notes, 1);
		rh_wire_put_int(reply->notes, level);
		rh_wire_put_text(reply->notes, text);
	}
	return record_keep(reply, r, &(struct record_call){RECORD_NOTE, level, {text}});
}

static int32_t record_refuse(struct rh_reply *reply, const char *path, const char *detail)
{
	return record_keep(reply, rh_reply_refuse(reply, path, detail),
	                   &(struct record_call){RECORD_REFUSE, 0, {path, detail}});
}

static int32_t record_env(struct rh_reply *reply, const char *container, const char *name, const char *value)
{
	return record_keep(reply, rh_reply_env(reply, container, name, value),
	                   &(struct record_call){RECORD_ENV, 0, {container, name, value}});
}

static int32_t record_edit(struct rh_reply *reply, const char *path, const char *json)
{
	return record_keep(reply, rh_reply_edit(reply, path, json), &(struct record_call){RECORD_EDIT, 0, {path, json}});
}

static int32_t record_object(struct rh_reply *reply, const char *json)
{
	return record_keep(reply, rh_reply_object(reply, json), &(struct record_call){RECORD_OBJECT, 0, {json}});
}

static int32_t record_verdict(struct rh_reply *reply, int32_t verdict, const char *type, const char *message)
{
	return record_keep(reply, rh_reply_verdict(reply, verdict, type, message),
	                   &(struct record_call){RECORD_VERDICT, verdict, {type, message}});
}

/** Options of an object as one number: flags, and above these the random bytes. */
static int32_t record_pack(const struct rh_object_options *options)
{
	return options ? (int32_t)(options->flags | options->random_bytes << 8) : 0;
}

static int32_t record_object_with(struct rh_reply *reply, const char *json, const struct rh_object_options *options)
{
	return record_keep(reply, rh_reply_object_with(reply, json, options),
	                   &(struct record_call){RECORD_OBJECT_WITH, record_pack(options), {json}});
}

static int32_t record_conclude(struct rh_reply *reply, int32_t verdict, const char *type, const char *reason,
                               const char *message)
{
	return record_keep(reply, rh_reply_conclude(reply, verdict, type, reason, message),
	                   &(struct record_call){RECORD_VERDICT, verdict, {type, message, reason}});
}

static int32_t record_hold(struct rh_reply *reply, const char *type, int32_t index, const char *reason)
{
	return record_keep(reply, rh_reply_hold(reply, type, index, reason),
	                   &(struct record_call){RECORD_HOLD, index, {type, reason}});
}

static int32_t record_status(struct rh_reply *reply, const char *field, const char *json)
{
	return record_keep(reply, rh_reply_status(reply, field, json),
	                   &(struct record_call){RECORD_STATUS, 0, {field, json}});
}

static int32_t record_expansion(struct rh_reply *reply, const char *json)
{
	return record_keep(reply, rh_reply_expansion(reply, json), &(struct record_call){RECORD_EXPANSION, 0, {json}});
}

/** Index and flags of a restart as one number: a job that is judged has fewer than 2^23 replicas. */
static int32_t record_restart(struct rh_reply *reply, const char *type, int32_t index, uint32_t flags,
                              const char *token, const char *message)
{
	int32_t number = (int32_t)(((uint32_t)index + 1) << 8 | flags);

	return record_keep(reply, rh_reply_restart(reply, type, index, flags, token, message),
	                   &(struct record_call){RECORD_RESTART, number, {type, token, message}});
}

static const struct rh_services record_services = {
	.head = RH_HEAD(struct rh_services),
	.text = rh_view_text,
	.integer = rh_view_integer,
	.boolean = rh_view_boolean,
	.size = rh_view_size,
	.json = rh_view_json,
	.quote = rh_view_quote,
	.setting = rh_view_setting,
	.type = rh_view_type,
	.replicas = rh_view_replicas,
	.restart_policy = rh_view_restart_policy,
	.pod_name = rh_view_pod_name,
	.host = rh_view_host,
	.port = rh_view_port,
	.state = rh_view_state,
	.attempt = rh_view_attempt,
	.counts = rh_view_counts,
	.replica = rh_view_replica,
	.condition = rh_view_condition,
	.fail = rh_reply_fail,
	.note = record_note,
	.refuse = record_refuse,
	.env = record_env,
	.edit = record_edit,
	.object = record_object,
	.verdict = record_verdict,
	.key = rh_view_key,
	.member = rh_view_member,
	.gang = rh_view_gang,
	.object_with = record_object_with,
	.hold = record_hold,
	.conclude = record_conclude,
	.status = record_status,
	.lookup = rh_view_lookup,
	.expansion = record_expansion,
	.restart = record_restart,
};

const struct rh_services *rh_recorder_services(void)
{
	return &record_services;
}

void rh_record_put_outcome(struct rh_str *out, const struct rh_outcome *outcome)
{
	rh_wire_put_byte(out, RECORD_OUTCOME);
	rh_wire_put_int(out, outcome->result);
	rh_wire_put_int(out, outcome->status);
	rh_wire_put_text(out, outcome->message);
	rh_wire_put_byte(out, outcome->looked);
	rh_wire_put_byte(out, outcome->no_memory);
}

static void record_get_outcome(struct rh_wire *wire, struct rh_outcome *ret_outcome)
{
	ret_outcome->result = rh_wire_int(wire);
	ret_outcome->status = rh_wire_int(wire);
	ret_outcome->message = rh_wire_text(wire);
	ret_outcome->looked = rh_wire_byte(wire) != 0;
	ret_outcome->no_memory = rh_wire_byte(wire) != 0;
	/* Every failure has words, and nothing but a negative status is one. */
	if (ret_outcome->status > 0 || (ret_outcome->status < 0) != (ret_outcome->message != NULL))
		wire->malformed = true;
}

static void record_apply_object_with(struct rh_reply *reply, const struct record_call *call)
{
	const struct rh_object_options options = {
		.head = RH_HEAD(struct rh_object_options),
		.flags = (uint32_t)call->number & 0xFF,
		.random_bytes = (uint32_t)call->number >> 8,
	};

	(void)rh_reply_object_with(reply, call->texts[0], &options);
}

/** Do in the host what the worker accepted; @p reply keeps the first error itself. */
static void record_apply(struct rh_reply *reply, const struct record_call *call)
{
	const char *const *texts = call->texts;

	if (call->code == RECORD_NOTE)
		(void)rh_reply_note(reply, call->number, texts[0]);
	else if (call->code == RECORD_REFUSE)
		(void)rh_reply_refuse(reply, texts[0], texts[1]);
	else if (call->code == RECORD_ENV)
		(void)rh_reply_env(reply, texts[0], texts[1], texts[2]);
	else if (call->code == RECORD_EDIT)
		(void)rh_reply_edit(reply, texts[0], texts[1]);
	else if (call->code == RECORD_OBJECT)
		(void)rh_reply_object(reply, texts[0]);
	else if (call->code == RECORD_OBJECT_WITH)
		record_apply_object_with(reply, call);
	else if (call->code == RECORD_HOLD)
		(void)rh_reply_hold(reply, texts[0], call->number, texts[1]);
	else if (call->code == RECORD_STATUS)
		(void)rh_reply_status(reply, texts[0], texts[1]);
	else if (call->code == RECORD_EXPANSION)
		(void)rh_reply_expansion(reply, texts[0]);
	else if (call->code == RECORD_RESTART)
		(void)rh_reply_restart(reply, texts[0], (int32_t)((uint32_t)call->number >> 8) - 1,
		                       (uint32_t)call->number & 0xFF, texts[1], texts[2]);
	else
		(void)rh_reply_conclude(reply, call->number, texts[0], texts[2], texts[1]);
}

int rh_record_replay(struct rh_wire *wire, struct rh_reply *reply, struct rh_outcome *ret_outcome)
{
	uint8_t code;

	*ret_outcome = (struct rh_outcome){0};
	while ((code = rh_wire_byte(wire)) != RECORD_OUTCOME && !wire->malformed) {
		struct record_call call = {.code = (enum record_code)code, .number = rh_wire_int(wire)};

		for (size_t i = 0; i < sizeof(call.texts) / sizeof(call.texts[0]); i++)
			call.texts[i] = rh_wire_text(wire);
		wire->malformed = wire->malformed || code > RECORD_RESTART;
		if (reply && !wire->malformed && reply->status == 0)
			record_apply(reply, &call);
	}
	record_get_outcome(wire, ret_outcome);
	return wire->malformed ? RH_EPLUGIN : 0;
}
