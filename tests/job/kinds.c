/* SPDX-License-Identifier: Apache-2.0 */
#include "job/kinds.h"

#include <string.h>

#include "job/support.h"

#define KINDS_LEADER (RH_REPLICA_LEADER | RH_REPLICA_EXPLICIT)

static const struct rh_replica_type kinds_one_master = {.head = RH_HEAD(struct rh_replica_type),
                                                        .name = "Master",
                                                        .default_replicas = 1,
                                                        .min_replicas = 1,
                                                        .max_replicas = 1,
                                                        .flags = KINDS_LEADER};
static const struct rh_replica_type kinds_xgb_master = {.head = RH_HEAD(struct rh_replica_type),
                                                        .name = "Master",
                                                        .default_replicas = 1,
                                                        .min_replicas = 1,
                                                        .max_replicas = 1,
                                                        .flags = KINDS_LEADER | RH_REPLICA_REQUIRED};
static const struct rh_replica_type kinds_master = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Master", .default_replicas = 1, .flags = RH_REPLICA_LEADER};
static const struct rh_replica_type kinds_chief = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Chief", .default_replicas = 1, .flags = RH_REPLICA_LEADER};
static const struct rh_replica_type kinds_launcher = {.head = RH_HEAD(struct rh_replica_type),
                                                      .name = "Launcher",
                                                      .default_replicas = 1,
                                                      .min_replicas = 1,
                                                      .max_replicas = 1,
                                                      .flags = RH_REPLICA_LEADER | RH_REPLICA_REQUIRED |
                                                               RH_REPLICA_UNINDEXED};
static const struct rh_replica_type kinds_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};
static const struct rh_replica_type kinds_some_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1, .min_replicas = 1};
static const struct rh_replica_type kinds_mpi_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 0};
static const struct rh_replica_type kinds_ps = {
	.head = RH_HEAD(struct rh_replica_type), .name = "PS", .default_replicas = 1};
static const struct rh_replica_type kinds_evaluator = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Evaluator", .default_replicas = 1};

static const struct rh_replica_type *const kinds_pytorch_types[] = {&kinds_one_master, &kinds_some_worker, NULL};
static const struct rh_replica_type *const kinds_tf_types[] = {&kinds_chief,  &kinds_master,    &kinds_ps,
                                                               &kinds_worker, &kinds_evaluator, NULL};
static const struct rh_replica_type *const kinds_xgb_types[] = {&kinds_xgb_master, &kinds_worker, NULL};
static const struct rh_replica_type *const kinds_paddle_types[] = {&kinds_master, &kinds_worker, NULL};
static const struct rh_replica_type *const kinds_jax_types[] = {&kinds_worker, NULL};
static const struct rh_replica_type *const kinds_mpi_types[] = {&kinds_mpi_worker, &kinds_launcher, NULL};

const struct rh_kind test_pytorch = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "PyTorchJob",
	.plural = "pytorchjobs",
	.singular = "pytorchjob",
	.framework = "pytorch",
	.controller = "pytorchjob-controller",
	.replicas_field = "pytorchReplicaSpecs",
	.types = kinds_pytorch_types,
	.leader_fallback = "Worker",
	.container = "pytorch",
	.port_name = "pytorchjob-port",
	.port = 23456,
	.restart_policy = "OnFailure",
	.scale_type = "Worker",
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR,
};

const struct rh_kind test_tensorflow = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "TFJob",
	.plural = "tfjobs",
	.singular = "tfjob",
	.framework = "tensorflow",
	.controller = "tfjob-controller",
	.replicas_field = "tfReplicaSpecs",
	.types = kinds_tf_types,
	.leader_fallback = "Worker",
	.container = "tensorflow",
	.port_name = "tfjob-port",
	.port = 2222,
	.restart_policy = "Never",
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_ANY_CASE | RH_KIND_OPEN_TYPES,
};

const struct rh_kind test_xgboost = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "XGBoostJob",
	.plural = "xgboostjobs",
	.singular = "xgboostjob",
	.framework = "xgboost",
	.controller = "xgboostjob-controller",
	.replicas_field = "xgbReplicaSpecs",
	.types = kinds_xgb_types,
	.container = "xgboost",
	.port_name = "xgboostjob-port",
	.port = 9999,
	.restart_policy = "Never",
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME,
};

const struct rh_kind test_paddle = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "PaddleJob",
	.plural = "paddlejobs",
	.singular = "paddlejob",
	.framework = "paddle",
	.controller = "paddlejob-controller",
	.replicas_field = "paddleReplicaSpecs",
	.types = kinds_paddle_types,
	.container = "paddle",
	.port_name = "master",
	.port = 36543,
	.restart_policy = "OnFailure",
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR,
};

const struct rh_kind test_jax = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "JAXJob",
	.plural = "jaxjobs",
	.singular = "jaxjob",
	.framework = "jax",
	.controller = "jaxjob-controller",
	.replicas_field = "jaxReplicaSpecs",
	.types = kinds_jax_types,
	.leader_fallback = "Worker",
	.container = "jax",
	.port_name = "jaxjob-port",
	.port = 6666,
	.restart_policy = "Never",
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR,
};

const struct rh_kind test_mpi = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "MPIJob",
	.plural = "mpijobs",
	.singular = "mpijob",
	.framework = "mpi",
	.controller = "mpijob-controller",
	.replicas_field = "mpiReplicaSpecs",
	.types = kinds_mpi_types,
	.restart_policy = "Never",
	.spec_schema = "{\"slotsPerWorker\":{\"type\":\"integer\"},\"cleanPodPolicy\":{\"type\":\"string\"}}",
};

const struct rh_kind *test_kind(const char *kind)
{
	static const struct rh_kind *const all[] = {&test_pytorch, &test_tensorflow, &test_xgboost,
	                                            &test_paddle,  &test_jax,        &test_mpi};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i]->kind, kind) == 0)
			return all[i];
	}
	return NULL;
}
