/* SPDX-License-Identifier: Apache-2.0 */
/* What an MPIJob of v2beta1 says, and what the MPI Operator refuses beyond the rules of its kind, in its words. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../quote.h"
#include "mpi2.h"

/** Room for a path or the detail of a finding. */
#define SPEC_TEXT_SIZE 512
/** Longest label of a host, and what it may consist of. */
#define SPEC_LABEL_MAX 63
#define SPEC_LABEL_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

bool mpi2_is_local(const struct mpi2_call *call)
{
	return (call->host->state(call->view) & RH_STATE_LOCAL) != 0;
}

bool mpi2_launcher_works(const struct mpi2_call *call)
{
	return call->host->boolean(call->view, "spec.runLauncherAsWorker") != 0;
}

static bool spec_is(const struct mpi2_call *call, const char *path, const char *word)
{
	const char *text = call->host->text(call->view, path);

	return text && strcmp(text, word) == 0;
}

bool mpi2_launcher_waits(const struct mpi2_call *call)
{
	return spec_is(call, "spec.launcherCreationPolicy", "WaitForWorkersReady");
}

int64_t mpi2_slots(const struct mpi2_call *call)
{
	int64_t slots = 1;

	(void)call->host->integer(call->view, MPI2_SLOTS, &slots);
	return slots;
}

int32_t mpi2_workers(const struct mpi2_call *call)
{
	int32_t workers = call->host->replicas(call->view, MPI2_WORKER);

	return workers > 0 ? workers : 0;
}

enum mpi2_implementation mpi2_implementation(const struct mpi2_call *call)
{
	if (spec_is(call, "spec.mpiImplementation", "Intel"))
		return MPI2_INTEL;
	return spec_is(call, "spec.mpiImplementation", "MPICH") ? MPI2_MPICH : MPI2_OPEN_MPI;
}

const char *mpi2_key_folder(const struct mpi2_call *call)
{
	const char *folder = call->host->text(call->view, "spec.sshAuthMountPath");

	return folder && *folder ? folder : "/root/.ssh";
}

const char *mpi2_name(const struct mpi2_call *call)
{
	const char *name = call->host->text(call->view, "metadata.name");

	return name ? name : "";
}

const char *mpi2_namespace(const struct mpi2_call *call)
{
	const char *namespace_ = call->host->text(call->view, "metadata.namespace");

	return namespace_ && *namespace_ ? namespace_ : "default";
}

const char *mpi2_quote(struct mpi2_call *call, const char *format, ...)
{
	const char *quoted;
	va_list list;

	va_start(list, format);
	quoted = rh_quote_format(call->host, call->view, format, list);
	va_end(list);
	if (!quoted && call->status == 0)
		call->status = call->host->fail(call->reply, RH_ENOMEM, "out of memory");
	return quoted;
}

static void spec_refuse(struct mpi2_call *call, const char *path, const char *detail)
{
	if (call->status == 0)
		call->status = call->host->refuse(call->reply, path, detail);
}

/** @param type name of the replica type */
static void spec_check_policy(struct mpi2_call *call, const char *type)
{
	char path[SPEC_TEXT_SIZE];
	char detail[SPEC_TEXT_SIZE];
	const char *word;

	snprintf(path, sizeof(path), "spec.mpiReplicaSpecs.%s.restartPolicy", type);
	word = call->host->text(call->view, path);
	if (!word || !*word || strcmp(word, "Never") == 0 || strcmp(word, "OnFailure") == 0)
		return;
	snprintf(path, sizeof(path), "spec.mpiReplicaSpecs[%s].restartPolicy", type);
	snprintf(detail, sizeof(detail), "Unsupported value: \"%.200s\": supported values: \"Never\", \"OnFailure\"", word);
	spec_refuse(call, path, detail);
}

/** A volume with the name of one of ours: an API server would refuse each pod, for ever. */
static void spec_check_volumes(struct mpi2_call *call, const char *type, const char *name)
{
	char path[SPEC_TEXT_SIZE];
	char detail[SPEC_TEXT_SIZE];
	int32_t size;

	snprintf(path, sizeof(path), "spec.mpiReplicaSpecs.%s.template.spec.volumes", type);
	size = call->host->size(call->view, path);
	for (int32_t i = 0; i < size; i++) {
		snprintf(path, sizeof(path), "spec.mpiReplicaSpecs.%s.template.spec.volumes[%" PRId32 "].name", type, i);
		if (!spec_is(call, path, name))
			continue;
		snprintf(path, sizeof(path), "spec.mpiReplicaSpecs[%s].template.spec.volumes[%" PRId32 "].name", type, i);
		snprintf(detail, sizeof(detail), "Duplicate value: \"%s\": the job adds a volume of this name", name);
		spec_refuse(call, path, detail);
	}
}

/** @return what is wrong with a name of a pod, which is part of a host; NULL: nothing */
static const char *spec_judge_label(const char *name)
{
	size_t length = strlen(name);

	if (length > SPEC_LABEL_MAX)
		return "must be no more than 63 characters";
	if (name[0] < 'a' || name[0] > 'z' || strspn(name, SPEC_LABEL_LETTERS) != length || name[length - 1] == '-')
		return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
			   "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
			   "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
	return NULL;
}

/** The last worker has the longest name; that of the launcher is not looked at, as in the MPI Operator. */
static void spec_check_name(struct mpi2_call *call)
{
	int32_t workers = mpi2_workers(call);
	const char *name = mpi2_name(call);
	const char *wrong;
	char child[SPEC_TEXT_SIZE];
	char detail[2 * SPEC_TEXT_SIZE];

	snprintf(child, sizeof(child), "%.300s-worker-%" PRId32, name, workers > 0 ? workers - 1 : 0);
	wrong = spec_judge_label(child);
	if (!wrong)
		return;
	snprintf(detail, sizeof(detail),
	         "Invalid value: \"%.300s\": will not able to create pod and service with invalid DNS label \"%.320s\": %s",
	         name, child, wrong);
	spec_refuse(call, "metadata.name", detail);
}

/** What is in the template does not count; the launcher's gets a warning, as from the MPI Operator. */
static void spec_warn_policy(struct mpi2_call *call)
{
	const char *word = call->host->text(call->view, MPI2_LAUNCHER_SPEC ".template.spec.restartPolicy");

	if (call->status == 0 && word && *word)
		call->status = call->host->note(call->reply, RH_NOTE_WARN,
		                                "Restart policy in pod template overridden by restart policy in replica spec");
}

int32_t mpi2_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct mpi2_call call = {self, view, reply, 0};
	char detail[SPEC_TEXT_SIZE];
	int64_t slots;

	spec_check_name(&call);
	spec_check_policy(&call, MPI2_LAUNCHER);
	spec_check_policy(&call, MPI2_WORKER);
	spec_check_volumes(&call, MPI2_LAUNCHER, "ssh-auth");
	spec_check_volumes(&call, MPI2_LAUNCHER, "mpi-job-config");
	spec_check_volumes(&call, MPI2_WORKER, "ssh-auth");
	if (call.host->integer(view, MPI2_SLOTS, &slots) && slots < 0) {
		snprintf(detail, sizeof(detail), "Invalid value: %" PRId64 ": must be greater than or equal to 0", slots);
		spec_refuse(&call, MPI2_SLOTS, detail);
	}
	spec_warn_policy(&call);
	return call.status;
}
