/* SPDX-License-Identifier: Apache-2.0 */
/* What a replica's pod needs to find the others: V1's variables in V1's order (v1-behaviour C.9). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "paddle.h"

/** Room for a number, a path, or a host and a port. */
#define ENV_TEXT_SIZE 320

/** One call of pod(). The first error stays, and ends what follows. */
struct env_call {
	const struct rh_services *host;
	const struct rh_view *view;
	const struct rh_replica *me;
	struct rh_reply *reply;
	int32_t status;
};

static void env_set(struct env_call *call, const char *name, const char *value)
{
	if (call->status == 0)
		call->status = call->host->env(call->reply, NULL, name, value);
}

/** The pod's own address, in every container: it is not known before the pod is placed. */
static void env_set_own_address(struct env_call *call)
{
	static const char json[] =
		"{\"name\":\"POD_IP_DUMMY\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"status.podIP\"}}}";
	char path[ENV_TEXT_SIZE];
	int32_t containers;

	snprintf(path, sizeof(path), "spec.paddleReplicaSpecs.%s.template.spec.containers", call->me->type);
	containers = call->host->size(call->view, path);
	for (int32_t i = 0; call->status == 0 && i < containers; i++) {
		snprintf(path, sizeof(path), "spec.containers[%" PRId32 "].env[+]", i);
		call->status = call->host->edit(call->reply, path, json);
	}
}

/**
 * Address of the rendezvous, which replica 0 of the leader type serves; that replica gets its own address. On one
 * machine a replica that is not there (replicas: 0) has none.
 */
static void env_set_master(struct env_call *call, const char *leader)
{
	int is_first = strcmp(call->me->type, leader) == 0 && call->me->index == 0;
	const char *address = is_first ? "$(POD_IP_DUMMY)" : call->host->host(call->view, leader, 0);
	char text[ENV_TEXT_SIZE];

	if (is_first)
		env_set_own_address(call);
	if (!address)
		return;
	snprintf(text, sizeof(text), "%s:%" PRId32, address, call->host->port(call->view, leader, 0));
	env_set(call, "PADDLE_MASTER", text);
}

/**
 * paddle.distributed.launch serves the rendezvous where PADDLE_MASTER is the address that the machine's name has, which
 * on a cluster is the pod's. On one machine it is not, and all would wait for each other; POD_IP says the address.
 */
static void env_set_machine(struct env_call *call)
{
	if (call->host->state(call->view) & RH_STATE_LOCAL)
		env_set(call, "POD_IP", call->host->host(call->view, call->me->type, call->me->index));
}

int32_t paddle_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	struct env_call call = {self, view, me, reply, 0};
	int32_t masters = call.host->replicas(view, "Master");
	int32_t workers = call.host->replicas(view, "Worker");
	char nodes[ENV_TEXT_SIZE];

	snprintf(nodes, sizeof(nodes), "%" PRId64,
	         (masters > 0 ? masters : INT64_C(0)) + (workers > 0 ? workers : INT64_C(0)));
	env_set(&call, "PYTHONUNBUFFERED", "1");
	env_set(&call, "PADDLE_JOB_ID", call.host->text(view, "metadata.name"));
	env_set(&call, "PADDLE_NNODES", nodes);
	env_set_master(&call, masters < 0 ? "Worker" : "Master");
	if (masters >= 0)
		env_set(&call, strcmp(me->type, "Master") == 0 ? "PADDLE_SERVER_NUM" : "PADDLE_TRAINER_NUM", "1");
	env_set_machine(&call);
	return call.status;
}
