/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mpi/mpi.h
 * @brief What the files of this plugin share.
 */
#ifndef RH_MPI_MPI_H
#define RH_MPI_MPI_H

#include <stdint.h>

#include "roundhouse/plugin.h"

/** @name Paths of an MPIJob that more than one file reads @{ */
#define MPI_LAUNCHER_SPEC "spec.mpiReplicaSpecs.Launcher.template.spec"
#define MPI_WORKER_SPEC "spec.mpiReplicaSpecs.Worker.template.spec"
#define MPI_SLOTS "spec.slotsPerWorker"
#define MPI_MAIN_CONTAINER "spec.mainContainer"
/** @} */

/** @return whether the job is to run on one machine */
int mpi_is_local(const struct rh_services *host, const struct rh_view *view);
/** @return the job's name with @p suffix behind it as a JSON string, borrowed; NULL when memory is out */
const char *mpi_quote_name(const struct rh_services *host, const struct rh_view *view, const char *suffix);
/** @return the job's namespace as a JSON string, borrowed; NULL when memory is out */
const char *mpi_quote_namespace(const struct rh_services *host, const struct rh_view *view);
/**
 * Which account the launcher runs under: the template's, or one that is made for it.
 * @return a JSON string, borrowed; NULL when memory is out
 */
const char *mpi_quote_account(const struct rh_services *host, const struct rh_view *view);
/** @return whether the template names the launcher's account itself */
int mpi_has_account(const struct rh_services *host, const struct rh_view *view);
/** @return whether the launcher asks for GPUs, and so takes part in the work (v1-behaviour C.11) */
int mpi_launcher_works(const struct rh_services *host, const struct rh_view *view);

/** @name Embedded JSON files of this folder: static, zero-terminated @{ */
extern const char mpi_schema[]; /**< schema.json: rh_kind.spec_schema */
/** cel.json: rh_kind.cel_rules. A stored job with a wrong mainContainer can still be updated. */
extern const char mpi_cel[];
/** columns.json: rh_kind.columns. V1 lists Age before State for this kind (v1-behaviour A.7). */
extern const char mpi_columns[];
/** rbac.json: rh_kind.rbac_rules. It has pods/exec, which the launcher's role grants: RBAC lets only a holder grant. */
extern const char mpi_rbac[];
extern const char mpi_contract[]; /**< contract.json: rh_kind.contract */
extern const char mpi_settings[]; /**< settings.json: rh_plugin.settings */
/** @} */

/** @see rh_plugin.validate @return 0 or a negative status */
int32_t mpi_validate(void *self, const struct rh_view *view, struct rh_reply *reply);
/** @see rh_plugin.pod @return 0 or a negative status */
int32_t mpi_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply);
/** @see rh_plugin.objects @return 0 or a negative status */
int32_t mpi_objects(void *self, const struct rh_view *view, struct rh_reply *reply);

#endif
