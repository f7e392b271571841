/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod has beside its template: the labels that JobSet and Job would give it, its name, its ports. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../trainer.h"
#include "../values/sha1.h"

#define POD_JOB "batch.kubernetes.io/"
#define POD_TEMPLATE TRAINER_JOBS "[%" PRId32 "].template.spec.template.spec"

static void pod_label(struct trainer_call *call, const char *key, const char *value)
{
	trainer_edit(call, trainer_quote(call, "%s", value), "metadata.labels[\"%s\"]", key);
}

static void pod_annotate(struct trainer_call *call, const char *key, const char *value)
{
	trainer_edit(call, trainer_quote(call, "%s", value), "metadata.annotations[\"%s\"]", key);
}

/** JobSet gives its labels as annotations, too. */
static void __attribute__((format(printf, 3, 4)))
pod_mark(struct trainer_call *call, const char *name, const char *format, ...)
{
	char key[TRAINER_TEXT], value[TRAINER_TEXT];
	va_list list;

	va_start(list, format);
	vsnprintf(value, sizeof(value), format, list);
	va_end(list);
	snprintf(key, sizeof(key), TRAINER_JOBSET "%s", name);
	pod_label(call, key, value);
	pod_annotate(call, key, value);
}

static const char *pod_uid(const struct trainer_call *call)
{
	const char *uid = call->host->text(call->view, "metadata.uid");

	return uid ? uid : "";
}

static void pod_mark_jobset(struct trainer_call *call, const char *job)
{
	const int32_t place = trainer_job(call, job);
	const int32_t jobs = trainer_size(call, TRAINER_JOBS);
	const char *coordinator = trainer_text(call, "template.spec.coordinator.replicatedJob");
	const char *space = call->host->text(call->view, "metadata.namespace");
	char text[TRAINER_TEXT], key[SHA1_TEXT];

	snprintf(text, sizeof(text), "%.63s/%.63s-%.63s-0", space ? space : "default", trainer_name(call), job);
	sha1_print(text, key);
	pod_mark(call, "jobset-name", "%s", trainer_name(call));
	pod_mark(call, "jobset-uid", "%s", pod_uid(call));
	pod_mark(call, "replicatedjob-name", "%s", job);
	pod_mark(call, "replicatedjob-replicas", "1");
	pod_mark(call, "global-replicas", "%" PRId32, jobs);
	pod_mark(call, "group-name", "default");
	pod_mark(call, "group-replicas", "%" PRId32, jobs);
	pod_mark(call, "job-index", "0");
	pod_mark(call, "job-global-index", "%" PRId32, place);
	pod_mark(call, "job-group-index", "%" PRId32, place);
	pod_mark(call, "job-key", "%s", key);
	pod_mark(call, "restart-attempt", "%" PRId32, call->host->attempt(call->view));
	if (coordinator)
		pod_mark(call, "coordinator", "%.63s-%.63s-0-%" PRId64 ".%.63s", trainer_name(call), coordinator,
		         trainer_number(call, 0, "template.spec.coordinator.podIndex"), trainer_subdomain(call));
}

static void pod_mark_job(struct trainer_call *call, const struct rh_replica *me)
{
	char name[TRAINER_TEXT], index[16];

	snprintf(name, sizeof(name), "%.63s-%.63s-0", trainer_name(call), me->type);
	snprintf(index, sizeof(index), "%" PRId32, me->index);
	pod_label(call, POD_JOB "job-name", name);
	pod_label(call, POD_JOB "controller-uid", pod_uid(call));
	pod_label(call, POD_JOB "job-completion-index", index);
	pod_label(call, "job-name", name);
	pod_label(call, "controller-uid", pod_uid(call));
	pod_annotate(call, POD_JOB "job-completion-index", index);
}

/** @return whether a container serves the framework's port */
static bool pod_serves(const struct trainer_call *call, const struct rh_replica *me, const char *container)
{
	const enum trainer_policy policy = trainer_policy(call);

	return policy != TRAINER_PLAIN && policy != TRAINER_MPI && trainer_is_ancestor(call, me->type) &&
	       strcmp(container, TRAINER_NODE) == 0;
}

/**
 * The core has given the main container a port by name, so that each replica has one that is free on one machine. On a
 * cluster the port has no name, and only who serves it has it.
 */
static void pod_set_ports(struct trainer_call *call, const struct rh_replica *me)
{
	const int32_t job = trainer_job(call, me->type);
	int32_t main_container = 0;
	const char *name;
	char path[TRAINER_TEXT];

	for (int32_t i = 0; (name = trainer_text(call, POD_TEMPLATE ".containers[%" PRId32 "].name", job, i)); i++) {
		if (strcmp(name, TRAINER_NODE) == 0)
			main_container = i;
	}
	name = trainer_text(call, POD_TEMPLATE ".containers[%" PRId32 "].name", job, main_container);
	trainer_path(call, path, POD_TEMPLATE ".containers[%" PRId32 "].ports", job, main_container);
	trainer_edit(call, call->host->size(call->view, path) > 0 ? call->host->json(call->view, path) : "[]",
	             "spec.containers[%" PRId32 "].ports", main_container);
	if (name && pod_serves(call, me, name))
		trainer_edit(call, "{\"containerPort\":29500}", "spec.containers[%" PRId32 "].ports[+]", main_container);
}

static void pod_identify(struct trainer_call *call, const struct rh_replica *me)
{
	const int32_t job = trainer_job(call, me->type);
	const char *policy = trainer_text(call, POD_TEMPLATE ".restartPolicy", job);

	trainer_edit(call, trainer_quote(call, "%.63s-%.63s-0-%" PRId32, trainer_name(call), me->type, me->index),
	             "spec.hostname");
	trainer_edit(call, trainer_quote(call, "%s", trainer_subdomain(call)), "spec.subdomain");
	if (policy && strcmp(policy, "Never") == 0)
		trainer_edit(call, "\"Never\"", "spec.restartPolicy");
}

int32_t trainer_make_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	struct trainer_call call = trainer_begin(self, view, reply);

	pod_mark_jobset(&call, me->type);
	pod_mark_job(&call, me);
	if (!trainer_is_local(&call)) {
		pod_identify(&call, me);
		pod_set_ports(&call, me);
	}
	trainer_add_mpi(&call, me);
	trainer_join_gang(&call);
	trainer_add_env(&call, me);
	return call.status;
}
