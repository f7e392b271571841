/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/rules.h"

#define APIS_V1 "kubeflow.org/v1"
#define APIS_MPI2 "kubeflow.org/v2beta1"
#define APIS_TRAINER_GROUP "trainer.kubeflow.org"

/*
 * Sources: the types and defaults of tf-operator (v1alpha1 to v1beta2), pytorch-operator (likewise), mpi-operator
 * (v1alpha1, v1alpha2, v2beta1), mxnet-operator, xgboost-operator and Kubeflow Trainer
 * (v1alpha1 of 2.3).
 */
static const struct rh_convert_rule *const apis_tf_list[] = {rh_convert_tf_list, NULL};
static const struct rh_convert_rule *const apis_pytorch_list[] = {rh_convert_pytorch_list, NULL};
static const struct rh_convert_rule *const apis_running[] = {rh_convert_flat_policy, rh_convert_clean_running, NULL};
static const struct rh_convert_rule *const apis_none[] = {rh_convert_flat_policy, NULL};
static const struct rh_convert_rule *const apis_mpi_units[] = {rh_convert_mpi_units, rh_convert_mpi_backoff,
                                                               rh_convert_flat_policy, NULL};
static const struct rh_convert_rule *const apis_mpi_alpha2[] = {rh_convert_mpi_alpha2, rh_convert_mpi_backoff,
                                                                rh_convert_flat_policy, NULL};
static const struct rh_convert_rule *const apis_mpi2[] = {rh_convert_mpi2_to_v1, NULL};
static const struct rh_convert_rule *const apis_to_mpi2[] = {rh_convert_v1_to_mpi2, NULL};
static const struct rh_convert_rule *const apis_pytorch_to_trainjob[] = {
	rh_convert_pytorch_to_trainjob, rh_convert_backoff_to_trainjob, rh_convert_policy_to_trainjob, NULL};
static const struct rh_convert_rule *const apis_xgboost_to_trainjob[] = {
	rh_convert_xgboost_to_trainjob, rh_convert_backoff_to_trainjob, rh_convert_policy_to_trainjob, NULL};
static const struct rh_convert_rule *const apis_jax_to_trainjob[] = {
	rh_convert_jax_to_trainjob, rh_convert_backoff_to_trainjob, rh_convert_policy_to_trainjob, NULL};
static const struct rh_convert_rule *const apis_mpi_to_trainjob[] = {
	rh_convert_mpi_to_trainjob, rh_convert_backoff_to_trainjob, rh_convert_policy_to_trainjob, NULL};
static const struct rh_convert_rule *const apis_tf_to_trainjob[] = {
	rh_convert_tf_to_trainjob, rh_convert_backoff_to_trainjob, rh_convert_policy_to_trainjob, NULL};
static const struct rh_convert_rule *const apis_paddle_to_trainjob[] = {
	rh_convert_paddle_to_trainjob, rh_convert_backoff_to_trainjob, rh_convert_policy_to_trainjob, NULL};
static const struct rh_convert_rule *const apis_mpi2_to_trainjob[] = {rh_convert_mpi2_to_trainjob,
                                                                      rh_convert_policy_to_trainjob, NULL};
static const struct rh_convert_rule *const apis_torch_to_v1[] = {
	rh_convert_trainjob_first, rh_convert_nodes_backoff, rh_convert_torch_to_v1, rh_convert_trainjob_last, NULL};
static const struct rh_convert_rule *const apis_xgboost_to_v1[] = {
	rh_convert_trainjob_first, rh_convert_nodes_backoff, rh_convert_xgboost_to_v1, rh_convert_trainjob_last, NULL};
static const struct rh_convert_rule *const apis_jax_to_v1[] = {rh_convert_trainjob_first, rh_convert_nodes_backoff,
                                                               rh_convert_jax_to_v1, rh_convert_trainjob_last, NULL};
static const struct rh_convert_rule *const apis_mpi_to_v1[] = {rh_convert_trainjob_first, rh_convert_mpi_to_v1,
                                                               rh_convert_trainjob_last, NULL};

const struct rh_convert_api rh_convert_apis[] = {
	{"kubeflow.org", {"v1alpha1"}, "TFJob", NULL, APIS_V1, "TFJob", apis_tf_list},
	{"tensorflow.org", {"v1alpha1"}, "TFJob", NULL, APIS_V1, "TFJob", apis_tf_list},
	{"tensorflow.org", {"v1alpha1"}, "TfJob", NULL, APIS_V1, "TFJob", apis_tf_list},
	{"kubeflow.org", {"v1alpha2", "v1beta1", "v1beta2"}, "TFJob", NULL, APIS_V1, "TFJob", apis_running},
	{"kubeflow.org", {"v1beta1"}, "MXJob", NULL, APIS_V1, "MXJob", apis_running},
	{"kubeflow.org", {"v1alpha1"}, "PyTorchJob", NULL, APIS_V1, "PyTorchJob", apis_pytorch_list},
	{"kubeflow.org", {"v1alpha2", "v1beta1", "v1beta2"}, "PyTorchJob", NULL, APIS_V1, "PyTorchJob", apis_none},
	{"xgboostjob.kubeflow.org", {"v1alpha1", "v1"}, "XGBoostJob", NULL, APIS_V1, "XGBoostJob", apis_none},
	{"kubeflow.org", {"v1alpha1"}, "MPIJob", NULL, APIS_V1, "MPIJob", apis_mpi_units},
	{"kubeflow.org", {"v1alpha2"}, "MPIJob", NULL, APIS_V1, "MPIJob", apis_mpi_alpha2},
	{"kubeflow.org", {"v2beta1"}, "MPIJob", NULL, APIS_V1, "MPIJob", apis_mpi2},
	{"kubeflow.org", {"v1"}, "MPIJob", NULL, APIS_MPI2, "MPIJob", apis_to_mpi2},
	{"kubeflow.org", {"v1"}, "PyTorchJob", NULL, RH_CONVERT_TRAINER, "TrainJob", apis_pytorch_to_trainjob},
	{"kubeflow.org", {"v1"}, "XGBoostJob", NULL, RH_CONVERT_TRAINER, "TrainJob", apis_xgboost_to_trainjob},
	{"kubeflow.org", {"v1"}, "JAXJob", NULL, RH_CONVERT_TRAINER, "TrainJob", apis_jax_to_trainjob},
	{"kubeflow.org", {"v1"}, "MPIJob", NULL, RH_CONVERT_TRAINER, "TrainJob", apis_mpi_to_trainjob},
	{"kubeflow.org", {"v2beta1"}, "MPIJob", NULL, RH_CONVERT_TRAINER, "TrainJob", apis_mpi2_to_trainjob},
	{"kubeflow.org", {"v1"}, "TFJob", NULL, RH_CONVERT_TRAINER, "TrainJob", apis_tf_to_trainjob},
	{"kubeflow.org", {"v1"}, "PaddleJob", NULL, RH_CONVERT_TRAINER, "TrainJob", apis_paddle_to_trainjob},
	{APIS_TRAINER_GROUP, {"v1alpha1"}, "TrainJob", "torch", APIS_V1, "PyTorchJob", apis_torch_to_v1},
	{APIS_TRAINER_GROUP, {"v1alpha1"}, "TrainJob", "xgboost", APIS_V1, "XGBoostJob", apis_xgboost_to_v1},
	{APIS_TRAINER_GROUP, {"v1alpha1"}, "TrainJob", "jax", APIS_V1, "JAXJob", apis_jax_to_v1},
	{APIS_TRAINER_GROUP, {"v1alpha1"}, "TrainJob", "mpi", APIS_V1, "MPIJob", apis_mpi_to_v1},
	{.group = NULL},
};
