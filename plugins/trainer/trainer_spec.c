/* SPDX-License-Identifier: Apache-2.0 */
/* What a TrainJob and its runtime say, defaults applied. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../quote.h"
#include "trainer.h"

#define SPEC_LABEL_PATH TRAINER_JOBS "[%" PRId32 "].template.metadata.labels[\"" TRAINER_STEP "\"]"

struct trainer_call trainer_begin(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct trainer_call call = {.host = self, .view = view, .reply = reply, .runtime = "@runtime"};

	if (call.host->lookup(view, "snapshot") == RH_LOOKUP_FOUND)
		call.runtime = "@snapshot.data.runtime";
	return call;
}

static const char *spec_print(const struct trainer_call *call, char *path, const char *format, va_list list)
{
	int length = snprintf(path, TRAINER_TEXT, "%s.spec.", call->runtime);

	vsnprintf(path + length, TRAINER_TEXT - (size_t)length, format, list);
	return path;
}

const char *trainer_path(const struct trainer_call *call, char *path, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	spec_print(call, path, format, list);
	va_end(list);
	return path;
}

const char *trainer_text(const struct trainer_call *call, const char *format, ...)
{
	char path[TRAINER_TEXT];
	va_list list;

	va_start(list, format);
	spec_print(call, path, format, list);
	va_end(list);
	return call->host->text(call->view, path);
}

int32_t trainer_size(const struct trainer_call *call, const char *format, ...)
{
	char path[TRAINER_TEXT];
	va_list list;

	va_start(list, format);
	spec_print(call, path, format, list);
	va_end(list);
	return call->host->size(call->view, path);
}

int64_t trainer_number(const struct trainer_call *call, int64_t fallback, const char *format, ...)
{
	char path[TRAINER_TEXT];
	int64_t number = fallback;
	va_list list;

	va_start(list, format);
	spec_print(call, path, format, list);
	va_end(list);
	(void)call->host->integer(call->view, path, &number);
	return number;
}

const char *trainer_name(const struct trainer_call *call)
{
	const char *name = call->host->text(call->view, "metadata.name");

	return name ? name : "";
}

const char *trainer_subdomain(const struct trainer_call *call)
{
	const char *own = trainer_text(call, "template.spec.network.subdomain");

	return own && *own ? own : trainer_name(call);
}

enum trainer_policy trainer_policy(const struct trainer_call *call)
{
	if (trainer_size(call, "mlPolicy.torch") >= 0)
		return TRAINER_TORCH;
	if (trainer_size(call, "mlPolicy.jax") >= 0)
		return TRAINER_JAX;
	if (trainer_size(call, "mlPolicy.xgboost") >= 0)
		return TRAINER_XGBOOST;
	return trainer_size(call, "mlPolicy.mpi") >= 0 ? TRAINER_MPI : TRAINER_PLAIN;
}

const char *trainer_job_name(const struct trainer_call *call, int32_t place)
{
	return trainer_text(call, TRAINER_JOBS "[%" PRId32 "].name", place);
}

int32_t trainer_job(const struct trainer_call *call, const char *name)
{
	const char *other;

	for (int32_t i = 0; (other = trainer_job_name(call, i)); i++) {
		if (strcmp(other, name) == 0)
			return i;
	}
	return -1;
}

const char *trainer_ancestor(const struct trainer_call *call, const char *step)
{
	const char *name;

	for (int32_t i = 0; (name = trainer_job_name(call, i)); i++) {
		const char *label = trainer_text(call, SPEC_LABEL_PATH, i);

		if (label && strcmp(label, step) == 0)
			return name;
	}
	return NULL;
}

bool trainer_is_ancestor(const struct trainer_call *call, const char *job)
{
	const char *ancestor = trainer_ancestor(call, "trainer");

	return ancestor && strcmp(ancestor, job) == 0;
}

int64_t trainer_nodes(const struct trainer_call *call)
{
	int64_t nodes = trainer_number(call, 1, "mlPolicy.numNodes");

	(void)call->host->integer(call->view, "spec.trainer.numNodes", &nodes);
	return nodes;
}

bool trainer_launcher_works(const struct trainer_call *call)
{
	char path[TRAINER_TEXT];

	return call->host->boolean(call->view, trainer_path(call, path, "mlPolicy.mpi.runLauncherAsNode")) != 0;
}

/** @return pods of a job of MPI: one launcher, and nodes without it where it works, too */
static int64_t spec_mpi_pods(const struct trainer_call *call, const char *name, int64_t own)
{
	int64_t nodes = trainer_nodes(call);

	if (strcmp(name, TRAINER_LAUNCHER) == 0)
		return 1;
	if (strcmp(name, TRAINER_NODE) != 0)
		return own;
	if (nodes > 1 && trainer_launcher_works(call))
		nodes--;
	return nodes;
}

int64_t trainer_pods(const struct trainer_call *call, int32_t place)
{
	const char *name = trainer_job_name(call, place);
	int64_t own = trainer_number(call, 1, TRAINER_JOBS "[%" PRId32 "].template.spec.parallelism", place);
	int64_t nodes = own;

	if (!name)
		return 0;
	if (trainer_policy(call) == TRAINER_MPI)
		return spec_mpi_pods(call, name, own);
	if (!trainer_is_ancestor(call, name))
		return own;
	if (trainer_size(call, "mlPolicy") >= 0)
		return trainer_nodes(call);
	(void)call->host->integer(call->view, "spec.trainer.numNodes", &nodes);
	return nodes;
}

/** Print where the resources of one node stand: the job's, or those of the runtime's container. */
static void spec_resources(const struct trainer_call *call, char *path)
{
	const char *job = trainer_ancestor(call, "trainer");
	int32_t place = job ? trainer_job(call, job) : 0;
	const char *name;

	snprintf(path, TRAINER_TEXT, "spec.trainer.resourcesPerNode");
	if (call->host->size(call->view, path) >= 0)
		return;
	for (int32_t i = 0;
	     (name = trainer_text(
			  call, TRAINER_JOBS "[%" PRId32 "].template.spec.template.spec.containers[%" PRId32 "].name", place, i));
	     i++) {
		if (strcmp(name, TRAINER_NODE) == 0)
			trainer_path(call, path,
			             TRAINER_JOBS "[%" PRId32 "].template.spec.template.spec.containers[%" PRId32 "].resources",
			             place, i);
	}
}

/** @return the first resource of a list that has @p word in its name, or is it; borrowed; NULL: none */
static const char *spec_find(const struct trainer_call *call, const char *list, const char *word, bool whole)
{
	char below[2 * TRAINER_TEXT];
	char resources[TRAINER_TEXT];
	const char *key;

	spec_resources(call, resources);
	snprintf(below, sizeof(below), "%s.%s", resources, list);
	for (uint32_t i = 0; (key = call->host->key(call->view, below, i)); i++) {
		if (whole ? strcmp(key, word) == 0 : strstr(key, word) != NULL)
			return call->host->text(call->view, call->host->member(call->view, below, key));
	}
	return NULL;
}

/** @return what requests, then limits say of a resource; NULL: nothing */
static const char *spec_quantity(const struct trainer_call *call, const char *word, bool whole)
{
	const char *text = spec_find(call, "requests", word, whole);

	return text ? text : spec_find(call, "limits", word, whole);
}

int64_t trainer_gpus(const struct trainer_call *call)
{
	const char *text = spec_quantity(call, "gpu", false);

	return text ? strtoll(text, NULL, 10) : 0;
}

/** @return whole CPUs of a quantity, rounded up */
static int64_t spec_round_cpu(const char *text)
{
	char *end;
	double number = strtod(text, &end);
	int64_t whole;

	if (*end == 'm')
		number /= 1000;
	if (!(number > 0 && number < INT32_MAX))
		return 1;
	whole = (int64_t)number;
	return (double)whole < number ? whole + 1 : whole;
}

const char *trainer_processes(const struct trainer_call *call, char *text)
{
	int64_t number = 0;
	const char *cpu;

	if (!call->host->integer(call->view, "spec.trainer.numProcPerNode", &number)) {
		if (spec_quantity(call, "gpu", false))
			return "auto";
		cpu = spec_quantity(call, "cpu", true);
		number = cpu ? spec_round_cpu(cpu) : 1;
	}
	snprintf(text, 32, "%" PRId64, number);
	return text;
}

int64_t trainer_slots(const struct trainer_call *call)
{
	int64_t slots = trainer_number(call, 1, "mlPolicy.mpi.numProcPerNode");
	int64_t gpus = trainer_gpus(call);

	if (call->host->integer(call->view, "spec.trainer.numProcPerNode", &slots))
		return slots;
	return slots == 1 && gpus > 0 ? gpus : slots;
}

void trainer_fail_memory(struct trainer_call *call)
{
	if (call->status == 0)
		call->status = call->host->fail(call->reply, RH_ENOMEM, "out of memory");
}

const char *trainer_quote(struct trainer_call *call, const char *format, ...)
{
	const char *quoted;
	va_list list;

	va_start(list, format);
	quoted = rh_quote_format(call->host, call->view, format, list);
	va_end(list);
	if (!quoted)
		trainer_fail_memory(call);
	return quoted;
}

void trainer_refuse(struct trainer_call *call, const char *path, const char *format, ...)
{
	char detail[2 * TRAINER_TEXT];
	va_list list;

	va_start(list, format);
	vsnprintf(detail, sizeof(detail), format, list);
	va_end(list);
	call->refused = true;
	if (call->status == 0)
		call->status = call->host->refuse(call->reply, path, detail);
}
