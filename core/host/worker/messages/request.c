/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/messages/request.h"

#include <string.h>

#include "host/worker/messages/snapshot.h"
#include "host/worker/messages/wire.h"

void rh_request_deinit(struct rh_worker_request *request)
{
	rh_str_deinit(&request->context);
	rh_str_deinit(&request->head);
	rh_str_deinit(&request->state);
	rh_str_deinit(&request->tail);
	rh_free(request->job);
	rh_free(request->pod);
}

static int request_put_pods(struct rh_worker_request *request, const struct rh_ask *ask)
{
	request->pod = rh_json_text(ask->pod);
	if (!request->pod)
		return RH_ENOMEM;
	rh_wire_put_text_head(&request->state, strlen(request->pod));
	rh_wire_put_text(&request->tail, ask->type);
	rh_wire_put_int(&request->tail, ask->index);
	rh_wire_put_int(&request->tail, ask->count);
	return 0;
}

/*
 * The random bytes are the last piece of the message, from where the caller wipes them. They are not part of the key:
 * an answer that comes late was made from the bytes of the first request, which are as good.
 */
static void request_put_made(struct rh_worker_request *request, const struct rh_made *made)
{
	rh_wire_put_text(&request->tail, made->api_version);
	rh_wire_put_text(&request->tail, made->kind);
	rh_wire_put_text(&request->tail, made->name);
	rh_wire_put_size(&request->tail, made->random_bytes);
}

static uint64_t request_hash(const struct rh_hash_key *seed, const char *data, size_t length)
{
	return length > 0 ? rh_hash_keyed(seed, data, length) : 0;
}

/** Identify the job with its addresses and settings, without its text where its version identifies it. */
static int request_put_job(struct rh_worker_request *request, const struct rh_ask *ask, const struct rh_hash_key *seed)
{
	const struct rh_job *job = ask->snapshot->job;
	bool versioned = ask->snapshot->stored && *job->uid && *job->resource_version;
	rh_auto_str version = {0};
	uint64_t keys[2];

	rh_snapshot_put_context(&request->context, ask->slot, ask->snapshot);
	if (versioned)
		rh_str_appendf(&version, "%s/%s", job->uid, job->resource_version);
	else if (!(request->job = rh_json_text(job->object)))
		return RH_ENOMEM;
	keys[0] = request_hash(seed, request->context.data, request->context.length);
	keys[1] = versioned ? request_hash(seed, version.data, version.length)
	                    : request_hash(seed, request->job, strlen(request->job));
	request->job_key = rh_hash_keyed(seed, keys, sizeof(keys));
	return version.failed ? RH_ENOMEM : 0;
}

int rh_request_make(struct rh_worker_request *request, const struct rh_ask *ask, const struct rh_hash_key *seed)
{
	uint64_t keys[5];
	int r = request_put_job(request, ask, seed);

	rh_snapshot_put_state(&request->state, ask->snapshot);
	if (r == 0 && ask->operation == RH_OPERATION_POD)
		r = request_put_pods(request, ask);
	if (ask->made)
		request_put_made(request, ask->made);
	if (r < 0 || request->context.failed || request->state.failed || request->tail.failed)
		return RH_ENOMEM;
	keys[0] = (uint64_t)ask->operation;
	keys[1] = request->job_key;
	keys[2] = request_hash(seed, request->state.data, request->state.length);
	keys[3] = request->pod ? request_hash(seed, request->pod, strlen(request->pod)) : 0;
	keys[4] = request_hash(seed, request->tail.data, request->tail.length);
	request->key = rh_hash_keyed(seed, keys, sizeof(keys));
	return 0;
}

int rh_request_finish(struct rh_worker_request *request, const struct rh_ask *ask, uint64_t job,
                      struct rh_piece ret_pieces[RH_REQUEST_PIECES])
{
	bool is_new = request->job_key != job;

	if (!is_new)
		rh_free(rh_take(request->job));
	else if (!request->job && !(request->job = rh_json_text(ask->snapshot->job->object)))
		return RH_ENOMEM;
	rh_wire_put_byte(&request->head, (uint8_t)ask->operation);
	rh_wire_put_byte(&request->head, is_new);
	if (is_new) {
		rh_str_append_bytes(&request->head, request->context.data, request->context.length);
		rh_wire_put_text_head(&request->head, strlen(request->job));
	}
	ret_pieces[0] = (struct rh_piece){request->head.data, request->head.length};
	ret_pieces[1] = (struct rh_piece){request->job, request->job ? strlen(request->job) + 1 : 0};
	ret_pieces[2] = (struct rh_piece){request->state.data, request->state.length};
	ret_pieces[3] = (struct rh_piece){request->pod, request->pod ? strlen(request->pod) + 1 : 0};
	ret_pieces[4] = (struct rh_piece){request->tail.data, request->tail.length};
	ret_pieces[5] = ask->made ? (struct rh_piece){(const char *)ask->made->random, ask->made->random_bytes}
	                          : (struct rh_piece){NULL, 0};
	return request->head.failed ? RH_ENOMEM : 0;
}
