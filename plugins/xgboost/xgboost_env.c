/* SPDX-License-Identifier: Apache-2.0 */
/* What a replica's pod needs to find the others: V1's variables in V1's order (v1-behaviour C.8). LightGBM's are the
 * last two. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xgboost.h"

/** Room for a number. */
#define ENV_NUMBER_SIZE 24

/** One call of pod(). The first error stays, and ends what follows. */
struct env_call {
	const struct rh_services *host;
	const struct rh_view *view;
	struct rh_reply *reply;
	int32_t status;
};

static void env_set(struct env_call *call, const char *name, const char *value)
{
	if (call->status == 0)
		call->status = call->host->env(call->reply, NULL, name, value);
}

static void env_set_number(struct env_call *call, const char *name, int64_t number)
{
	char text[ENV_NUMBER_SIZE];

	snprintf(text, sizeof(text), "%" PRId64, number);
	env_set(call, name, text);
}

static int64_t env_replicas(const struct env_call *call, const char *type)
{
	int32_t replicas = call->host->replicas(call->view, type);

	return replicas > 0 ? replicas : 0;
}

/** Where all workers are reached, with commas between them. */
static void env_set_workers(struct env_call *call, int64_t workers)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	for (int32_t i = 0; out && i < workers; i++) {
		const char *address = call->host->host(call->view, "Worker", i);

		fprintf(out, "%s%s", i ? "," : "", address ? address : "");
	}
	if ((!out || fclose(out) != 0) && call->status == 0)
		call->status = call->host->fail(call->reply, RH_ENOMEM, "out of memory");
	env_set(call, "WORKER_ADDRS", text);
	free(text);
}

int32_t xgboost_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	struct env_call call = {self, view, reply, 0};
	int64_t masters = env_replicas(&call, "Master");
	int64_t workers = env_replicas(&call, "Worker");

	env_set_number(&call, "MASTER_PORT", call.host->port(view, "Master", 0));
	env_set(&call, "MASTER_ADDR", call.host->host(view, "Master", 0));
	env_set_number(&call, "WORLD_SIZE", masters + workers);
	env_set_number(&call, "RANK", me->index + (strcmp(me->type, "Master") == 0 ? 0 : masters));
	env_set(&call, "PYTHONUNBUFFERED", "1");
	if (masters + workers > 1) {
		env_set_number(&call, "WORKER_PORT", call.host->port(view, "Worker", 0));
		env_set_workers(&call, workers);
	}
	return call.status;
}
