/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/reply.h"
#include "host/call/view.h"

static const struct rh_services services_table = {
	.head = RH_HEAD(struct rh_services),
	.text = rh_view_text,
	.integer = rh_view_integer,
	.boolean = rh_view_boolean,
	.size = rh_view_size,
	.json = rh_view_json,
	.quote = rh_view_quote,
	.setting = rh_view_setting,
	.replicas = rh_view_replicas,
	.restart_policy = rh_view_restart_policy,
	.host = rh_view_host,
	.port = rh_view_port,
	.state = rh_view_state,
	.attempt = rh_view_attempt,
	.counts = rh_view_counts,
	.replica = rh_view_replica,
	.condition = rh_view_condition,
	.fail = rh_reply_fail,
	.note = rh_reply_note,
	.refuse = rh_reply_refuse,
	.env = rh_reply_env,
	.edit = rh_reply_edit,
	.object = rh_reply_object,
	.verdict = rh_reply_verdict,
	.type = rh_view_type,
	.pod_name = rh_view_pod_name,
	.key = rh_view_key,
	.member = rh_view_member,
	.gang = rh_view_gang,
	.object_with = rh_reply_object_with,
	.hold = rh_reply_hold,
	.conclude = rh_reply_conclude,
	.status = rh_reply_status,
	.lookup = rh_view_lookup,
	.expansion = rh_reply_expansion,
	.restart = rh_reply_restart,
};

const struct rh_services *rh_services_table(void)
{
	return &services_table;
}
