/* SPDX-License-Identifier: Apache-2.0 */
/* What a TFJob may say beyond the rules of its kind: V1's webhook rule (v1-behaviour A.5-12), and what V1 let in and
 * then broke on. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tensorflow.h"

/** Room for the path or the detail of a finding. */
#define SPEC_TEXT_SIZE 512
/** Longest TF_CONFIG: Linux takes a variable of 128 KiB, its name, the equals sign and the final zero included. */
#define SPEC_CONFIG_MAX (INT64_C(128) * 1024 - (int64_t)sizeof("TF_CONFIG="))
/** Bytes of a TF_CONFIG of a job with dynamic workers beside the list of parameter servers, rounded up. */
#define SPEC_SPARSE_BYTES 1024

/** One call of validate(). */
struct spec_call {
	const struct rh_services *host;
	const struct rh_view *view;
	struct rh_reply *reply;
	const char *longest; /**< the type with most replicas among those that TF_CONFIG lists; NULL: there is none */
	int64_t count;       /**< how many to take it to have */
};

static int32_t spec_check_chiefs(const struct spec_call *call)
{
	if (call->host->replicas(call->view, "Chief") < 0 || call->host->replicas(call->view, "Master") < 0)
		return 0;
	return call->host->refuse(call->reply, "spec.tfReplicaSpecs",
	                          "Forbidden: must not have more than 1 Chief or Master role");
}

static int32_t spec_check_success(const struct spec_call *call)
{
	const char *json = call->host->json(call->view, TENSORFLOW_SUCCESS);
	char detail[SPEC_TEXT_SIZE];

	if (!json || strcmp(json, "\"\"") == 0 || strcmp(json, "\"AllWorkers\"") == 0)
		return 0;
	snprintf(detail, sizeof(detail), "Unsupported value: %.200s: supported values: \"\", \"AllWorkers\"", json);
	return call->host->refuse(call->reply, TENSORFLOW_SUCCESS, detail);
}

static int32_t spec_check_dynamic(const struct spec_call *call)
{
	const char *json = call->host->json(call->view, TENSORFLOW_DYNAMIC);
	char detail[SPEC_TEXT_SIZE];

	if (!json || strcmp(json, "true") == 0 || strcmp(json, "false") == 0)
		return 0;
	snprintf(detail, sizeof(detail), "Invalid value: %.200s: must be of type boolean", json);
	return call->host->refuse(call->reply, TENSORFLOW_DYNAMIC, detail);
}

/** A job whose success nobody decides about runs until a limit ends it. */
static int32_t spec_check_end(const struct spec_call *call)
{
	static const char *const deciders[] = {"Chief", "Master", "Worker"};

	for (size_t i = 0; i < sizeof(deciders) / sizeof(deciders[0]); i++) {
		if (call->host->replicas(call->view, deciders[i]) >= 0)
			return 0;
	}
	return call->host->note(call->reply, RH_NOTE_WARN,
	                        "spec.tfReplicaSpecs has no Chief, Master or Worker: this job never succeeds");
}

/** @return the decimal digits of all numbers below @p count */
static int64_t spec_digits_below(int64_t count)
{
	int64_t digits = count > 0 ? count : 0;

	for (int64_t power = 10; power < count; power *= 10)
		digits += count - power;
	return digits;
}

static int64_t spec_digits(int64_t number)
{
	return snprintf(NULL, 0, "%" PRId64, number);
}

/** @return the bytes of one entry of a list of hosts, without the replica's index */
static int64_t spec_entry_bytes(const struct spec_call *call, const char *type)
{
	const char *host = call->host->host(call->view, type, 0);
	const char *domain = call->host->setting(call->view, "cluster-domain");
	size_t bytes = host ? strlen(host) - 1 : 0;

	bytes += strlen("\"..svc:\"") + strlen(call->host->text(call->view, "metadata.namespace"));
	if (domain && *domain)
		bytes += strlen(".") + strlen(domain);
	return (int64_t)bytes + spec_digits(call->host->port(call->view, type, 0));
}

static int64_t spec_replicas(const struct spec_call *call, const char *type)
{
	return type == call->longest ? call->count : call->host->replicas(call->view, type);
}

static int64_t spec_list_bytes(const struct spec_call *call, const char *type)
{
	int64_t count = spec_replicas(call, type);

	if (count <= 0)
		return 0;
	return count * spec_entry_bytes(call, type) + spec_digits_below(count) + count - 1;
}

/** @return how long the longest TF_CONFIG of the job is */
static int64_t spec_config_bytes(const struct spec_call *call)
{
	int64_t bytes = (int64_t)strlen("{\"cluster\":{},\"task\":{\"type\":\"\",\"index\":},\"environment\":\"cloud\"}");
	int64_t task = 0;
	const char *type;

	if (call->host->boolean(call->view, TENSORFLOW_DYNAMIC))
		return SPEC_SPARSE_BYTES + (call->longest ? spec_list_bytes(call, call->longest) : 0);
	for (uint32_t i = 0; (type = call->host->type(call->view, i)); i++) {
		int64_t count = spec_replicas(call, type);
		int64_t name = (int64_t)strlen(type);
		int64_t own = count > 0 ? name + spec_digits(count - 1) : 0;

		bytes += name + (int64_t)strlen("\"\":[]") + (i > 0) + spec_list_bytes(call, type);
		task = own > task ? own : task;
	}
	return bytes + task;
}

static const char *spec_longest(const struct spec_call *call)
{
	int sparse = call->host->boolean(call->view, TENSORFLOW_DYNAMIC);
	const char *longest = NULL;
	const char *type;

	for (uint32_t i = 0; (type = call->host->type(call->view, i)); i++) {
		if (sparse && strcmp(type, "PS") != 0)
			continue;
		if (!longest || call->host->replicas(call->view, type) > call->host->replicas(call->view, longest))
			longest = type;
	}
	return longest;
}

/** @return how many replicas of the longest type fit; -1: not even none */
static int64_t spec_count_that_fits(struct spec_call *call)
{
	int64_t fits = -1, too_many = call->count;

	while (too_many - fits > 1) {
		call->count = fits + (too_many - fits) / 2;
		if (spec_config_bytes(call) <= SPEC_CONFIG_MAX)
			fits = call->count;
		else
			too_many = call->count;
	}
	return fits;
}

/** V1 makes pods that cannot start: the kernel refuses a variable that is too long. */
static int32_t spec_check_size(struct spec_call *call)
{
	char path[SPEC_TEXT_SIZE], detail[SPEC_TEXT_SIZE];
	int64_t replicas, bytes, fits;

	call->longest = spec_longest(call);
	if (!call->longest || (call->host->state(call->view) & RH_STATE_LOCAL))
		return 0;
	replicas = call->count = call->host->replicas(call->view, call->longest);
	bytes = spec_config_bytes(call);
	if (bytes <= SPEC_CONFIG_MAX)
		return 0;
	fits = spec_count_that_fits(call);
	snprintf(path, sizeof(path), "spec.tfReplicaSpecs[%.200s].replicas", call->longest);
	snprintf(detail, sizeof(detail),
	         "Invalid value: %" PRId64 ": TF_CONFIG would have %" PRId64 " bytes, and a variable can have %" PRId64
	         ": at most %" PRId64 " replicas of this type fit",
	         replicas, bytes, SPEC_CONFIG_MAX, fits < 0 ? 0 : fits);
	return call->host->refuse(call->reply, path, detail);
}

int32_t tensorflow_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct spec_call call = {.host = self, .view = view, .reply = reply};
	int32_t r = spec_check_chiefs(&call);

	if (r == 0)
		r = spec_check_success(&call);
	if (r == 0)
		r = spec_check_dynamic(&call);
	if (r == 0)
		r = spec_check_end(&call);
	return r == 0 ? spec_check_size(&call) : r;
}
