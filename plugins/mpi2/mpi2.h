/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mpi2/mpi2.h
 * @brief What the files of this plugin share.
 */
#ifndef RH_MPI2_MPI2_H
#define RH_MPI2_MPI2_H

#include <stdbool.h>
#include <stdint.h>

#include "../mpirun/mpirun.h"
#include "roundhouse/plugin.h"

/** @name Replica types @{ */
#define MPI2_LAUNCHER "Launcher"
#define MPI2_WORKER "Worker"
/** @} */

/** @name Paths of an MPIJob that more than one file reads @{ */
#define MPI2_LAUNCHER_SPEC "spec.mpiReplicaSpecs.Launcher"
#define MPI2_WORKER_SPEC "spec.mpiReplicaSpecs.Worker"
#define MPI2_SLOTS "spec.slotsPerWorker"
/** @} */

/** @name The launcher's batch/v1 Job, as rh_kind.lookups calls it @{ */
#define MPI2_JOB "launcher"
#define MPI2_JOB_CONDITIONS "@launcher.status.conditions"
/** @} */

/** Labels of the MPI Operator begin so. */
#define MPI2_LABEL "training.kubeflow.org/"
/** Value of its label operator-name. */
#define MPI2_OPERATOR "mpi-operator"

/** Which MPI the job uses. */
enum mpi2_implementation { MPI2_OPEN_MPI, MPI2_INTEL, MPI2_MPICH };

/** One call of an operation. The first error stays in status, and ends what follows. */
struct mpi2_call {
	const struct rh_services *host;
	const struct rh_view *view;
	struct rh_reply *reply;
	int32_t status; /**< 0 or a negative status */
};

/** @name What the job says, defaults applied (mpi2_spec.c) @{ */
/** @return whether it runs on one machine */
bool mpi2_is_local(const struct mpi2_call *call);
/** @return whether the launcher takes part in the work */
bool mpi2_launcher_works(const struct mpi2_call *call);
/** @return whether the launcher starts when all workers are ready */
bool mpi2_launcher_waits(const struct mpi2_call *call);
/** @return processes of one worker */
int64_t mpi2_slots(const struct mpi2_call *call);
/** @return how many workers it wants */
int32_t mpi2_workers(const struct mpi2_call *call);
/** @return which MPI it uses */
enum mpi2_implementation mpi2_implementation(const struct mpi2_call *call);
/** @return where the keys are in a container, borrowed */
const char *mpi2_key_folder(const struct mpi2_call *call);
/** @return the job's name, borrowed; "" when it has none */
const char *mpi2_name(const struct mpi2_call *call);
/** @return the job's namespace, borrowed */
const char *mpi2_namespace(const struct mpi2_call *call);
/**
 * @return printf(@p format) as a JSON string, borrowed from the host; NULL with the status set when memory is out
 */
const char *mpi2_quote(struct mpi2_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** @see rh_plugin.validate @return 0 or a negative status */
int32_t mpi2_validate(void *self, const struct rh_view *view, struct rh_reply *reply);
/** @} */

/** A pod that is edited: that of a replica, or the template of the launcher's Job. */
struct mpi2_pod {
	struct mpi2_call *call;
	struct mpirun_pod mpirun; /**< the same for mpirun; the first container counts */
};

/** @name What pods get (mpi2_pod.c) @{ */
/** @param type replica type @param prefix mpirun_pod.prefix @return a pod for edits, which borrows @p call */
struct mpi2_pod mpi2_begin_pod(struct mpi2_call *call, const char *type, const char *prefix);
/** Edit the pod of worker @p index. */
void mpi2_edit_worker(const struct mpi2_pod *pod, int32_t index);
/** Edit the pod of the launcher, or the template of its Job. */
void mpi2_edit_launcher(const struct mpi2_pod *pod);
/** @see rh_plugin.pod @return 0 or a negative status */
int32_t mpi2_make_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply);
/** @} */

/** Name the launcher's Job (mpi2_launcher.c); @p suspend says whether it has no pod for now. */
void mpi2_name_job(struct mpi2_call *call, bool suspend);

/** @name Further objects (mpi2_objects.c) @{ */
/** @see rh_plugin.objects @return 0 or a negative status */
int32_t mpi2_objects(void *self, const struct rh_view *view, struct rh_reply *reply);
/** @} */

/** @name Keys of ssh (mpi2_keys.c) @{ */
/** @see rh_plugin.make @return 0 or a negative status */
int32_t mpi2_make(void *self, const struct rh_view *view, const struct rh_made *made, struct rh_reply *reply);
/** @} */

/** @see rh_plugin.judge (mpi2_judge.c) @return 0, RH_DEFAULT or a negative status */
int32_t mpi2_judge(void *self, const struct rh_view *view, struct rh_reply *reply);

/** @name Embedded JSON files of this folder: static, zero-terminated @{ */
extern const char mpi2_schema[];     /**< schema.json: rh_kind.spec_schema */
extern const char mpi2_status[];     /**< status.json: rh_kind.status_schema */
extern const char mpi2_conditions[]; /**< conditions.json: rh_kind.conditions */
extern const char mpi2_lookups[];    /**< lookups.json: rh_kind.lookups */
extern const char mpi2_rbac[];       /**< rbac.json: rh_kind.rbac_rules */
extern const char mpi2_contract[];   /**< contract.json: rh_kind.contract */
extern const char mpi2_settings[];   /**< settings.json: rh_plugin.settings */
/** @} */

#endif
