/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/serve.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os/clock.h"
#include "host/call/arena.h"
#include "host/call/view.h"
#include "host/containment/guard.h"
#include "host/worker/messages/hello.h"
#include "host/worker/messages/record.h"
#include "host/worker/messages/snapshot.h"
#include "host/worker/process.h"
#include "host/worker/sandbox.h"
#include "host/worker/worker.h"
#include "job/expansion.h"
#include "job/keep.h"

/** Bytes of an answer from which on a batch of pods takes no more. */
#define SERVE_BATCH_BYTES ((size_t)256 << 10)

/** The worker. */
struct serve {
	struct rh_config config; /* nothing is left out, nothing is limited here */
	struct rh_host *host;
	const struct rh_slot *slot;
	struct rh_received *received;
	struct rh_str notes; /* of init() */
	struct rh_str request;
	struct rh_str answer;
	struct rh_json *pod; /* of a batch; owned */
};

/** What one call works with. */
struct serve_call {
	enum rh_operation operation;
	char object[512];
	struct rh_arena texts;
	struct rh_json_spot spot;
	struct rh_view view;
	struct rh_recorder recorder;
	struct rh_findings findings;
	struct rh_judgement judgement;
	struct rh_json *target; /* the pod, or the list of objects; owned */
	bool looked;
};

static int serve_read(char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t got = read(RH_WORKER_SOCKET, bytes, length);

		if (got <= 0 && errno != EINTR)
			return -1;
		if (got == 0)
			return -1;
		if (got > 0) {
			bytes += got;
			length -= (size_t)got;
		}
	}
	return 0;
}

static int serve_write(const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t sent = write(RH_WORKER_SOCKET, bytes, length);

		if (sent < 0 && errno != EINTR)
			return -1;
		if (sent > 0) {
			bytes += sent;
			length -= (size_t)sent;
		}
	}
	return 0;
}

/** Mostly in one write: each would wake the host. */
static int serve_answer(const struct rh_str *answer, uint32_t request)
{
	uint32_t head[] = {(uint32_t)answer->length, request};
	const struct iovec parts[] = {{head, sizeof(head)}, {answer->data, answer->length}};
	ssize_t sent = -1;
	size_t done;

	if (answer->failed)
		return -1;
	do
		sent = writev(RH_WORKER_SOCKET, parts, 2);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -1;
	done = (size_t)sent;
	if (done < sizeof(head)) {
		if (serve_write((const char *)head + done, sizeof(head) - done) < 0)
			return -1;
		done = sizeof(head);
	}
	return serve_write(answer->data + (done - sizeof(head)), answer->length - (done - sizeof(head)));
}

/** @param[out] ret_number of the request, which its answer repeats. @return 0, or -1 at the end */
static int serve_take(struct serve *serve, uint32_t *ret_number)
{
	uint32_t head[2];

	if (serve_read((char *)head, sizeof(head)) < 0)
		return -1;
	rh_str_deinit(&serve->request);
	serve->request.data = rh_alloc((size_t)head[0] + 1);
	if (!serve->request.data)
		return -1;
	serve->request.length = head[0];
	serve->request.capacity = (size_t)head[0] + 1;
	*ret_number = head[1];
	return serve_read(serve->request.data, serve->request.length);
}

static int serve_begin(struct serve *serve, struct serve_call *call, enum rh_operation operation)
{
	const struct rh_snapshot *snapshot = rh_received_snapshot(serve->received, &call->looked);
	const struct rh_job *job = snapshot->job;

	memset(call, 0, sizeof(*call));
	call->operation = operation;
	call->texts.secret = operation == RH_OPERATION_MAKE;
	(void)snprintf(call->object, sizeof(call->object), "%s %s/%s", job->kind->kind, job->namespace_, job->name);
	call->view = (struct rh_view){snapshot, rh_received_config(serve->received), serve->slot->section, &call->texts,
	                              &call->spot};
	call->recorder.out = &serve->answer;
	call->recorder.reply = (struct rh_reply){.operation = operation,
	                                         .plugin = serve->slot->name,
	                                         .object = call->object,
	                                         .findings = &call->findings,
	                                         .judgement = &call->judgement,
	                                         .job = job,
	                                         .lookups = snapshot->lookups};
	if (operation == RH_OPERATION_POD)
		call->target = call->recorder.reply.pod = rh_json_copy(serve->pod);
	else if (operation == RH_OPERATION_OBJECTS || operation == RH_OPERATION_MAKE)
		call->target = call->recorder.reply.objects = rh_json_new_array();
	else
		return 0;
	return call->target ? 0 : -1;
}

static void serve_end(struct serve *serve, struct serve_call *call, int32_t result)
{
	const struct rh_reply *reply = &call->recorder.reply;
	const struct rh_outcome outcome = {
		.result = result,
		.status = reply->status,
		.message = reply->status < 0 ? reply->error.message : NULL,
		.looked = call->looked,
		.no_memory = call->texts.failed,
	};

	rh_record_put_outcome(&serve->answer, &outcome);
	rh_arena_deinit(&call->texts);
	rh_findings_deinit(&call->findings);
	rh_judgement_deinit(&call->judgement);
	rh_expansion_free(reply->expansion);
	if (call->operation == RH_OPERATION_MAKE)
		rh_json_free_secret(call->target);
	else
		rh_json_free(call->target);
}

/** What some operations are asked about. */
struct serve_subject {
	const struct rh_replica *me; /**< for pod() */
	const struct rh_made *made;  /**< for make() */
};

/** Call one operation. @return 0, or -1 when memory is out */
static int serve_call(struct serve *serve, enum rh_operation operation, const struct serve_subject *subject)
{
	const struct rh_plugin *plugin = serve->slot->plugin;
	void *self = serve->slot->self;
	struct serve_call call;
	struct rh_reply *reply = &call.recorder.reply;
	int32_t result = 0;

	if (serve_begin(serve, &call, operation) < 0)
		return -1;
	rh_wire_put_byte(&serve->answer, 1);
	if (operation == RH_OPERATION_VALIDATE && plugin->validate)
		result = plugin->validate(self, &call.view, reply);
	else if (operation == RH_OPERATION_POD && plugin->pod)
		result = plugin->pod(self, &call.view, subject->me, reply);
	else if (operation == RH_OPERATION_OBJECTS && plugin->objects)
		result = plugin->objects(self, &call.view, reply);
	else if (operation == RH_OPERATION_JUDGE && plugin->judge)
		result = plugin->judge(self, &call.view, reply);
	else if (operation == RH_OPERATION_MAKE && RH_HAS(plugin, struct rh_plugin, make))
		result = plugin->make(self, &call.view, subject->made, reply);
	else if (operation == RH_OPERATION_EXPAND && RH_HAS(plugin, struct rh_plugin, expand))
		result = plugin->expand(self, &call.view, reply);
	serve_end(serve, &call, result);
	return 0;
}

/** Answer for as many replicas as were asked for and fit; the first one is always among them. */
static int serve_pods(struct serve *serve, struct rh_wire *wire)
{
	const char *text = rh_wire_text_required(wire);
	const char *type = rh_wire_text_required(wire);
	int32_t index = rh_wire_int(wire), count = rh_wire_int(wire);
	const struct rh_job *job = rh_received_snapshot(serve->received, NULL)->job;
	int r = 0;

	rh_json_free(rh_take(serve->pod));
	if (!rh_wire_is_complete(wire) || rh_json_parse(text, strlen(text), &serve->pod, NULL) < 0)
		return -1;
	for (int32_t i = 0; r == 0 && i < count && (i == 0 || serve->answer.length < SERVE_BATCH_BYTES); i++) {
		const struct rh_replica me = {
			.head = RH_HEAD(struct rh_replica),
			.type = type,
			.index = index + i,
			.rank = rh_job_rank(job, type, index + i),
		};

		r = serve_call(serve, RH_OPERATION_POD, &(struct serve_subject){.me = &me});
	}
	return r;
}

/** Room for the answer of make(), so that its text is not moved, which would leave copies. */
#define SERVE_SECRET_ROOM ((size_t)64 << 10)

static int serve_make(struct serve *serve, struct rh_wire *wire)
{
	struct rh_made made = {.head = RH_HEAD(struct rh_made)};

	made.api_version = rh_wire_text_required(wire);
	made.kind = rh_wire_text_required(wire);
	made.name = rh_wire_text_required(wire);
	made.random_bytes = rh_wire_size(wire, RH_KEEP_RANDOM_MAX);
	made.random = (const uint8_t *)wire->at;
	if (wire->malformed || wire->left != made.random_bytes)
		return -1;
	rh_str_reserve(&serve->answer, SERVE_SECRET_ROOM);
	return serve_call(serve, RH_OPERATION_MAKE, &(struct serve_subject){.made = &made});
}

/** Overwrite request and answer, which had secrets. */
static void serve_wipe(struct serve *serve)
{
	explicit_bzero(serve->request.data, serve->request.length);
	if (serve->answer.data)
		explicit_bzero(serve->answer.data, serve->answer.capacity);
}

static int serve_operation(struct serve *serve, enum rh_operation operation, struct rh_wire *wire)
{
	if (operation == RH_OPERATION_POD)
		return serve_pods(serve, wire);
	if (operation == RH_OPERATION_MAKE)
		return serve_make(serve, wire);
	return serve_call(serve, operation, &(struct serve_subject){.me = NULL});
}

/** @param[out] ret_operation which one was asked for */
static int serve_request(struct serve *serve, enum rh_operation *ret_operation)
{
	struct rh_wire wire = rh_wire_read(serve->request.data, serve->request.length);
	enum rh_operation operation = (enum rh_operation)rh_wire_byte(&wire);
	int r;

	rh_str_clear(&serve->answer);
	if (rh_wire_byte(&wire) && rh_received_read_job(serve->received, &wire) < 0)
		return -1;
	if (rh_received_read_state(serve->received, &wire) < 0)
		return -1;
	*ret_operation = operation;
	r = serve_operation(serve, operation, &wire);
	rh_wire_put_byte(&serve->answer, 0);
	return r;
}

/** The page in which the host reads which operation was in progress when the process ended. */
static void serve_note_operations(void)
{
	struct rh_guard_trace *trace = mmap(NULL, sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED, RH_WORKER_PAGE, 0);

	(void)close(RH_WORKER_PAGE);
	if (trace != MAP_FAILED)
		rh_guard_trace(trace);
}

static int serve_load(struct serve *serve, const char *path, bool has_copy)
{
	int r;

	serve->config.plugin_time_limit = RH_NEVER;
	if (rh_host_new(&serve->config, &serve->host, NULL) < 0 || !serve->host)
		return -1;
	serve->host->services = rh_recorder_services();
	serve->host->notes = &serve->notes;
	r = has_copy ? rh_host_load_copy(serve->host, path, RH_WORKER_COPY, NULL)
	             : rh_host_load_file(serve->host, path, NULL);
	if (r == RH_ENOMEM)
		return -1;
	rh_sandbox_close_files();
	serve->slot = serve->host->slots[0];
	serve->received = rh_received_new(serve->slot);
	rh_hello_put(&serve->answer, serve->slot, &serve->notes);
	rh_str_deinit(&serve->notes);
	return serve->received ? serve_answer(&serve->answer, 0) : -1;
}

int rh_serve(const char *path, bool has_copy)
{
	struct serve serve = {0};
	enum rh_operation operation = RH_OPERATION_INIT;
	uint32_t number;
	int r;

	rh_log_setup(RH_LOG_ERROR, false); /* the host logs what a plugin notes, when it replays it */
	serve_note_operations();
	r = serve_load(&serve, path, has_copy);
	rh_str_deinit(&serve.answer);
	(void)malloc_trim(0);
	while (r == 0 && serve_take(&serve, &number) == 0) {
		r = serve_request(&serve, &operation);
		if (r == 0)
			r = serve_answer(&serve.answer, number);
		if (operation == RH_OPERATION_MAKE)
			serve_wipe(&serve);
	}
	rh_json_free(serve.pod);
	rh_str_deinit(&serve.request);
	rh_str_deinit(&serve.answer);
	rh_received_free(serve.received);
	rh_host_free(serve.host);
	return r < 0;
}
