/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a TrainJob needs beside its pods: a copy of its runtime, which is the one that counts from then on, a Service
 * for the names of its pods, claims, and for MPI hostfile and keys.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../mpirun/mpirun.h"
#include "../trainer.h"

/** Name the object that @p json is, and free the text; NULL is out of memory. */
static void objects_add(struct trainer_call *call, char *json, const struct rh_object_options *options)
{
	if (!json)
		trainer_fail_memory(call);
	else if (call->status == 0)
		call->status = call->host->object_with(call->reply, json, options);
	free(json);
}

/** The content is made once: it is what the job was made with. */
static void objects_add_snapshot(struct trainer_call *call)
{
	const struct rh_object_options once = {.head = RH_HEAD(struct rh_object_options), .flags = RH_OBJECT_ONCE};
	const char *runtime = call->host->json(call->view, call->runtime);
	const char *text = runtime ? trainer_quote(call, "%s", runtime) : NULL;
	const char *name = trainer_quote(call, "%s-runtime-snapshot", trainer_name(call));
	char *json = NULL;

	if (!text || !name ||
	    asprintf(&json,
	             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":%s},"
	             "\"data\":{\"runtime\":%s}}",
	             name, text) < 0)
		json = NULL;
	objects_add(call, json, &once);
}

/** @return whether the job has passed its deadline: then nothing is left of it but its status */
static bool objects_are_over(const struct trainer_call *call)
{
	char path[TRAINER_TEXT];
	const char *type;

	for (int32_t i = 0; snprintf(path, sizeof(path), "status.conditions[%" PRId32 "].type", i),
	             (type = call->host->text(call->view, path)) != NULL;
	     i++) {
		const char *reason;

		snprintf(path, sizeof(path), "status.conditions[%" PRId32 "].reason", i);
		reason = call->host->text(call->view, path);
		if (strcmp(type, "Failed") == 0 && reason && strcmp(reason, "DeadlineExceeded") == 0)
			return true;
	}
	return false;
}

static void objects_add_service(struct trainer_call *call)
{
	const char *name = trainer_quote(call, "%s", trainer_subdomain(call));
	const char *job = trainer_quote(call, "%s", trainer_name(call));
	const char *early = trainer_text(call, "template.spec.network.publishNotReadyAddresses");
	char *json = NULL;

	if (!name || !job ||
	    asprintf(
			&json,
			"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":%s},\"spec\":{\"clusterIP\":\"None\","
			"\"selector\":{\"" TRAINER_JOBSET "jobset-name\":%s},\"publishNotReadyAddresses\":%s}}",
			name, job, early && strcmp(early, "false") == 0 ? "false" : "true") < 0)
		json = NULL;
	objects_add(call, json, NULL);
}

/** Claim @p item of volumeClaimPolicies @p policy. */
static void objects_add_claim(struct trainer_call *call, int32_t policy, int32_t item)
{
	const struct rh_object_options retain = {.head = RH_HEAD(struct rh_object_options), .flags = RH_OBJECT_RETAIN};
	const char *kept =
		trainer_text(call, "template.spec.volumeClaimPolicies[%" PRId32 "].retentionPolicy.whenDeleted", policy);
	const char *claim = trainer_text(
		call, "template.spec.volumeClaimPolicies[%" PRId32 "].templates[%" PRId32 "].metadata.name", policy, item);
	char path[TRAINER_TEXT];
	const char *spec = call->host->json(call->view, trainer_path(call, path,
	                                                             "template.spec.volumeClaimPolicies[%" PRId32
	                                                             "].templates[%" PRId32 "].spec",
	                                                             policy, item));
	const char *name = trainer_quote(call, "%s-%s", claim ? claim : "", trainer_name(call));
	const char *job = trainer_quote(call, "%s", trainer_name(call));
	char *json = NULL;

	if (!name || !job ||
	    asprintf(&json,
	             "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\",\"metadata\":{\"name\":%s,\"labels\":{"
	             "\"" TRAINER_JOBSET "jobset-name\":%s}},\"spec\":%s}",
	             name, job, spec ? spec : "{}") < 0)
		json = NULL;
	objects_add(call, json, kept && strcmp(kept, "Retain") == 0 ? &retain : NULL);
}

static void objects_add_claims(struct trainer_call *call)
{
	const int32_t policies = trainer_size(call, "template.spec.volumeClaimPolicies");

	for (int32_t i = 0; i < policies; i++) {
		const int32_t items = trainer_size(call, "template.spec.volumeClaimPolicies[%" PRId32 "].templates", i);

		for (int32_t k = 0; k < items; k++)
			objects_add_claim(call, i, k);
	}
}

/** How mpirun names a replica: on a cluster by its host, on one machine by its pod, which the agent asks for. */
static const char *objects_host(const struct trainer_call *call, const char *job, int32_t index, char *text)
{
	const char *pod = call->host->pod_name(call->view, job, index);

	if (!trainer_is_local(call))
		return trainer_host(call, job, index, text);
	return pod ? pod : "";
}

/** Lines of the hostfile, in the order of the runtime's jobs. */
static void objects_write_hosts(const struct trainer_call *call, FILE *out)
{
	const int64_t slots = trainer_slots(call);
	const char *job;

	for (int32_t i = 0; (job = trainer_job_name(call, i)); i++) {
		const int64_t pods = trainer_pods(call, i);
		const bool works =
			strcmp(job, TRAINER_NODE) == 0 || (strcmp(job, TRAINER_LAUNCHER) == 0 && trainer_launcher_works(call));
		char host[TRAINER_TEXT];

		for (int32_t k = 0; works && k < pods; k++)
			fprintf(out, "%s slots=%" PRId64 "\n", objects_host(call, job, k, host), slots);
	}
}

static void objects_add_hostfile(struct trainer_call *call)
{
	char *text = NULL, *json = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	const char *name = trainer_quote(call, "%s-mpi-hostfile", trainer_name(call));
	const char *agent = trainer_quote(call, "%s", MPIRUN_AGENT_SCRIPT);
	const bool local = trainer_is_local(call);
	const char *hosts = NULL;

	if (out) {
		objects_write_hosts(call, out);
		if (fclose(out) == 0)
			hosts = trainer_quote(call, "%s", text);
	}
	free(text);
	if (!name || !hosts || !agent ||
	    asprintf(&json,
	             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":%s},\"data\":{"
	             "\"hostfile\":%s%s%s}}",
	             name, hosts, local ? ",\"" MPIRUN_AGENT "\":" : "", local ? agent : "") < 0)
		json = NULL;
	objects_add(call, json, NULL);
}

static void objects_add_keys(struct trainer_call *call)
{
	const struct rh_object_options pair = {.head = RH_HEAD(struct rh_object_options),
	                                       .flags = RH_OBJECT_ONCE | RH_OBJECT_PAIR,
	                                       .random_bytes = RH_PAIR_BYTES};
	const char *name = trainer_quote(call, "%s-mpi-ssh-auth", trainer_name(call));
	char *json = NULL;

	if (!name || asprintf(&json,
	                      "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":%s},"
	                      "\"type\":\"kubernetes.io/ssh-auth\",\"immutable\":true}",
	                      name) < 0)
		json = NULL;
	objects_add(call, json, &pair);
}

int32_t trainer_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct trainer_call call = trainer_begin(self, view, reply);

	const bool mpi = trainer_policy(&call) == TRAINER_MPI;

	if (!trainer_is_local(&call))
		objects_add_snapshot(&call);
	if (mpi)
		objects_add_hostfile(&call);
	if (trainer_is_local(&call))
		return call.status;
	if (mpi)
		objects_add_keys(&call);
	objects_add_claims(&call);
	if (objects_are_over(&call))
		return call.status;
	objects_add_service(&call);
	trainer_add_gang(&call);
	return call.status;
}
