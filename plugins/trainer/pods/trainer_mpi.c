/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launcher and nodes of MPI need so that mpirun starts processes in the nodes: keys of ssh on a cluster, and on
 * one machine an agent in its place.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../mpirun/mpirun.h"
#include "../runtime/runtime.h"

#define MPI_PODS TRAINER_JOBS "[%" PRId32 "].template.spec.template.spec"
/** Modes of the files of ssh, in decimal: 0640, 0644; of the folder 0400; of the hostfile 0444. */
#define MPI_KEYS                                                        \
	"[{\"key\":\"ssh-privatekey\",\"path\":\"id_rsa\",\"mode\":416},"   \
	"{\"key\":\"ssh-publickey\",\"path\":\"id_rsa.pub\",\"mode\":420}," \
	"{\"key\":\"ssh-publickey\",\"path\":\"authorized_keys\",\"mode\":420}]"

/** A pod on one machine. */
struct mpi_pod {
	struct mpirun_pod mpirun;
	struct trainer_call *call;
	struct tree tree;                  /**< owned */
	const struct tree_node *spec;      /**< of the pod, with all that the job says; NULL: memory is out */
	const struct tree_node *container; /**< of spec; likewise */
};

/** @return the place of container node in the pods of a replicated job; -1: there is none */
static int32_t mpi_find_container(const struct trainer_call *call, int32_t job)
{
	const char *name;

	for (int32_t i = 0; (name = trainer_text(call, MPI_PODS ".containers[%" PRId32 "].name", job, i)); i++) {
		if (strcmp(name, TRAINER_NODE) == 0)
			return i;
	}
	return -1;
}

static void mpi_add_keys(struct trainer_call *call, const struct mpirun_pod *pod)
{
	const char *own = trainer_text(call, "mlPolicy.mpi.sshAuthMountPath");
	const char *folder = trainer_quote(call, "%s", own && *own ? own : "/root/.ssh");
	const char *secret = trainer_quote(call, "%s-mpi-ssh-auth", trainer_name(call));
	char mounts[64];

	if (!folder || !secret)
		return;
	mpirun_print(pod, "spec.volumes[+]",
	             "{\"name\":\"mpi-ssh-auth\",\"secret\":{\"secretName\":%s,\"items\":" MPI_KEYS
	             ",\"defaultMode\":256}}",
	             secret);
	snprintf(mounts, sizeof(mounts), "spec.containers[%" PRId32 "].volumeMounts[+]", pod->container);
	mpirun_print(pod, mounts, "{\"name\":\"mpi-ssh-auth\",\"mountPath\":%s}", folder);
}

static void mpi_add_hosts(struct trainer_call *call, const struct mpirun_pod *pod)
{
	const char *name = trainer_quote(call, "%s-mpi-hostfile", trainer_name(call));

	if (!name)
		return;
	mpirun_print(pod, "spec.volumes[+]",
	             "{\"name\":\"mpi-hostfile\",\"configMap\":{\"name\":%s,\"items\":[" MPIRUN_FILE_HOSTS "]}}", name);
	mpirun_edit_container(pod, "volumeMounts[+]", "{\"name\":\"mpi-hostfile\",\"mountPath\":\"" MPIRUN_FOLDER "\"}");
}

/** @see mpirun_pod.says */
static bool mpi_says(const struct mpirun_pod *mpirun, const char *name)
{
	const struct mpi_pod *pod = mpirun->arg;

	return tree_find(tree_get(pod->container, "env"), "name", name) != NULL;
}

/** @param mpirun of the pod, whose says is set @param pod deinit by tree_deinit() of its tree */
static void mpi_begin(struct mpi_pod *pod, struct trainer_call *call, const char *job, const struct mpirun_pod *mpirun)
{
	struct tree_node *runtime;

	*pod = (struct mpi_pod){.mpirun = *mpirun, .call = call};
	pod->mpirun.says = mpi_says;
	pod->mpirun.arg = pod;
	runtime = trainer_read(call, &pod->tree);
	if (runtime)
		trainer_complete(call, &pod->tree, runtime);
	else
		trainer_fail_memory(call);
	pod->spec = tree_at(tree_find(tree_at(runtime, TRAINER_JOBS), "name", job), "template.spec.template.spec");
	pod->container = tree_find(tree_get(pod->spec, "containers"), "name", TRAINER_NODE);
	if (pod->tree.failed)
		trainer_fail_memory(call);
}

/**
 * The user of an image is for its sshd. Without it all processes of a job belong to the user who runs it, or those of
 * the launcher could not start any in the nodes.
 */
static void mpi_drop_user(const struct mpi_pod *pod)
{
	static const char *const members[] = {"runAsUser", "runAsGroup"};
	char path[64];

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		snprintf(path, sizeof(path), "securityContext.%s", members[i]);
		if (tree_at(pod->container, path))
			mpirun_edit_container(&pod->mpirun, path, "null");
		snprintf(path, sizeof(path), "spec.securityContext.%s", members[i]);
		if (tree_at(pod->spec, path + strlen("spec.")))
			mpirun_edit(&pod->mpirun, path, "null");
	}
}

static void mpi_edit_launcher(const struct mpi_pod *pod)
{
	mpirun_use_open_mpi(&pod->mpirun, trainer_slots(pod->call), NULL);
	mpirun_use_agent(&pod->mpirun);
	mpirun_stay_in_launcher(&pod->mpirun);
	mpirun_make_kubectl(&pod->mpirun);
	mpirun_mount_kubectl(&pod->mpirun);
}

static void mpi_edit_node(struct mpi_pod *pod)
{
	const struct tree_node *command = tree_get(pod->container, "command");
	const char *program = command && command->first ? tree_text(&pod->tree, command->first) : NULL;

	if (mpirun_is_sshd(program, tree_get(pod->container, "args") != NULL))
		mpirun_sleep(&pod->mpirun);
	mpirun_stay_in_worker(&pod->mpirun);
}

static void mpi_add_local(struct trainer_call *call, const char *job, const struct mpirun_pod *mpirun)
{
	struct mpi_pod pod;

	mpi_begin(&pod, call, job, mpirun);
	mpi_drop_user(&pod);
	if (strcmp(job, TRAINER_LAUNCHER) == 0)
		mpi_edit_launcher(&pod);
	else
		mpi_edit_node(&pod);
	/* mpirun gives its variables on, and its daemon in a node looks whether the agent is there */
	mpirun_mount_config(&pod.mpirun, trainer_quote(call, "%s-mpi-hostfile", trainer_name(call)),
	                    MPIRUN_FILE_HOSTS "," MPIRUN_FILE_AGENT);
	tree_deinit(&pod.tree);
}

void trainer_add_mpi(struct trainer_call *call, const struct rh_replica *me)
{
	const bool launches = strcmp(me->type, TRAINER_LAUNCHER) == 0;
	const struct mpirun_pod pod = {
		.host = call->host,
		.view = call->view,
		.reply = call->reply,
		.status = &call->status,
		.prefix = "",
		.container = mpi_find_container(call, trainer_job(call, me->type)),
	};

	if (trainer_policy(call) != TRAINER_MPI || pod.container < 0 || (!launches && strcmp(me->type, TRAINER_NODE) != 0))
		return;
	if (trainer_is_local(call)) {
		mpi_add_local(call, me->type, &pod);
		return;
	}
	mpi_add_keys(call, &pod);
	if (launches)
		mpi_add_hosts(call, &pod);
}
