/* SPDX-License-Identifier: Apache-2.0 */
/* What a PyTorchJob may say beyond the rules of its kind: V1's webhook rules (v1-behaviour A.5, 13 and 14), and what V1
 * let in and then broke on. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pytorch.h"

/** Room for the path or the detail of a finding. */
#define SPEC_TEXT_SIZE 512

/** One call of validate(). */
struct spec_call {
	const struct rh_services *host;
	const struct rh_view *view;
	struct rh_reply *reply;
};

/** A number of the elastic policy. */
struct spec_number {
	const char *path;
	int64_t min;
	int64_t max;
};

int pytorch_is_elastic(const struct rh_services *host, const struct rh_view *view)
{
	return host->size(view, PYTORCH_ELASTIC) >= 0;
}

void pytorch_read_bounds(const struct rh_services *host, const struct rh_view *view, struct pytorch_bounds *ret_bounds)
{
	int64_t workers = host->replicas(view, "Worker");
	struct pytorch_bounds bounds = {workers, workers};
	int has_min = host->integer(view, PYTORCH_ELASTIC ".minReplicas", &bounds.min);
	int has_max = host->integer(view, PYTORCH_ELASTIC ".maxReplicas", &bounds.max);

	if (has_min && !has_max)
		bounds.max = bounds.min;
	if (has_max && !has_min)
		bounds.min = bounds.max;
	*ret_bounds = bounds;
}

/** Refuse a value that is no integer, or not in its range. */
static int32_t spec_check_number(const struct spec_call *call, const struct spec_number *number)
{
	const char *text = call->host->json(call->view, number->path);
	char detail[SPEC_TEXT_SIZE];
	int64_t value;

	if (!text)
		return 0;
	if (!call->host->integer(call->view, number->path, &value)) {
		snprintf(detail, sizeof(detail), "Invalid value: %.200s: must be of type integer", text);
		return call->host->refuse(call->reply, number->path, detail);
	}
	if (value >= number->min && value <= number->max)
		return 0;
	snprintf(detail, sizeof(detail), "Invalid value: %" PRId64 ": must be between %" PRId64 " and %" PRId64, value,
	         number->min, number->max);
	return call->host->refuse(call->reply, number->path, detail);
}

static int32_t spec_check_numbers(const struct spec_call *call)
{
	static const struct spec_number numbers[] = {
		{PYTORCH_ELASTIC ".minReplicas", 1, INT32_MAX}, {PYTORCH_ELASTIC ".maxReplicas", 1, INT32_MAX},
		{PYTORCH_ELASTIC ".rdzvPort", 1, UINT16_MAX},   {PYTORCH_ELASTIC ".maxRestarts", 0, INT32_MAX},
		{PYTORCH_ELASTIC_NPROC, 1, INT32_MAX},
	};
	int32_t r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		r = spec_check_number(call, &numbers[i]);
	return r;
}

/** @return whether @p text is a decimal number that fits an int32_t and is at least 1 */
static int spec_is_count(const char *text)
{
	size_t length = strspn(text, "0123456789");
	long long count = length > 0 && length <= 10 ? strtoll(text, NULL, 10) : 0;

	return !text[length] && count >= 1 && count <= INT32_MAX;
}

/**
 * @return whether torchrun may know the word: torch/distributed/run.py, determine_local_world_size(), has the first
 * four, and the name that a build of PyTorch gives its own device (torch.utils.rename_privateuse1_backend)
 */
static int spec_is_device(const char *text)
{
	static const char *const words[] = {"auto", "cpu", "gpu",  "xpu", "npu",
	                                    "hpu",  "mlu", "musa", "gcu", "privateuseone"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0)
			return 1;
	}
	return 0;
}

/** The API server takes a string only. V1 takes any, and so does this: a device may be newer than the list. */
static int32_t spec_check_nproc(const struct spec_call *call)
{
	const char *json = call->host->json(call->view, PYTORCH_NPROC);
	const char *text = call->host->text(call->view, PYTORCH_NPROC);
	char detail[SPEC_TEXT_SIZE];

	if (!json)
		return 0;
	if (json[0] != '"' || !text) {
		snprintf(detail, sizeof(detail), "Invalid value: %.200s: must be of type string: \"%.200s\"", json,
		         text ? text : "auto");
		return call->host->refuse(call->reply, PYTORCH_NPROC, detail);
	}
	if (spec_is_device(text) || spec_is_count(text))
		return 0;
	snprintf(detail, sizeof(detail),
	         PYTORCH_NPROC
	         " is %.200s: torchrun takes a number of processes from 1, auto, cpu, gpu, xpu, or the name of a "
	         "device that PyTorch was built for, and fails on anything else",
	         json);
	return call->host->note(call->reply, RH_NOTE_WARN, detail);
}

/** v1-behaviour A.5, rule 14. */
static int32_t spec_check_old_nproc(const struct spec_call *call)
{
	int32_t r;

	if (!call->host->json(call->view, PYTORCH_ELASTIC_NPROC))
		return 0;
	r = call->host->note(call->reply, RH_NOTE_WARN,
	                     "spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead");
	if (r < 0 || !call->host->json(call->view, PYTORCH_NPROC))
		return r;
	return call->host->refuse(call->reply, PYTORCH_ELASTIC_NPROC, "Forbidden: must not be used with spec.nprocPerNode");
}

static int32_t spec_check_bounds(const struct spec_call *call)
{
	struct pytorch_bounds bounds;
	char detail[SPEC_TEXT_SIZE];

	pytorch_read_bounds(call->host, call->view, &bounds);
	if (bounds.min <= bounds.max)
		return 0;
	snprintf(detail, sizeof(detail), "Invalid value: %" PRId64 ": must not be greater than maxReplicas %" PRId64,
	         bounds.min, bounds.max);
	return call->host->refuse(call->reply, PYTORCH_ELASTIC ".minReplicas", detail);
}

static int32_t spec_check_backend(const struct spec_call *call)
{
	static const char *const known[] = {"c10d", "etcd", "etcd-v2", "static"};
	const char *backend = call->host->text(call->view, PYTORCH_ELASTIC ".rdzvBackend");
	char text[SPEC_TEXT_SIZE];

	for (size_t i = 0; backend && i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(backend, known[i]) == 0)
			return 0;
	}
	if (!backend)
		return 0;
	snprintf(
		text, sizeof(text),
		"spec.elasticPolicy.rdzvBackend \"%.200s\" is not one that torch brings along: c10d, etcd, etcd-v2, static",
		backend);
	return call->host->note(call->reply, RH_NOTE_WARN, text);
}

/** One entry of rdzvConf becomes key=value between commas. */
static int32_t spec_check_conf_entry(const struct spec_call *call, int32_t index)
{
	static const char *const members[] = {"key", "value"};
	char path[SPEC_TEXT_SIZE];
	int32_t r = 0;

	for (size_t i = 0; r == 0 && i < 2; i++) {
		const char *text;

		snprintf(path, sizeof(path), PYTORCH_ELASTIC ".rdzvConf[%" PRId32 "].%s", index, members[i]);
		text = call->host->text(call->view, path);
		if (!text || !*text)
			r = call->host->refuse(call->reply, path, "Required value: must be a text that is not empty");
		else if (strpbrk(text, i == 0 ? ",=" : ","))
			r = call->host->refuse(call->reply, path,
			                       i == 0 ? "Invalid value: must contain no comma and no equals sign"
			                              : "Invalid value: must contain no comma");
	}
	return r;
}

static int32_t spec_check_conf(const struct spec_call *call)
{
	int32_t size = call->host->size(call->view, PYTORCH_ELASTIC ".rdzvConf");
	int32_t r = 0;

	for (int32_t i = 0; r == 0 && i < size; i++)
		r = spec_check_conf_entry(call, i);
	return r;
}

static int32_t spec_check_elastic(const struct spec_call *call)
{
	int32_t r;

	if (!pytorch_is_elastic(call->host, call->view))
		return 0;
	r = spec_check_old_nproc(call);
	if (r == 0 && call->host->replicas(call->view, "Worker") < 0)
		r = call->host->refuse(call->reply, "spec.pytorchReplicaSpecs[Worker]",
		                       "Required value: must be configured if elastic policy is used");
	if (r == 0)
		r = spec_check_numbers(call);
	if (r == 0)
		r = spec_check_bounds(call);
	if (r == 0)
		r = spec_check_backend(call);
	return r == 0 ? spec_check_conf(call) : r;
}

int32_t pytorch_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct spec_call call = {self, view, reply};
	int32_t r = spec_check_nproc(&call);

	if (r == 0)
		r = pytorch_check_launch(call.host, view, reply);
	return r == 0 ? spec_check_elastic(&call) : r;
}
