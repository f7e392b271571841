/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/rules.h"

#define APIS_V1 "kubeflow.org/v1"
#define APIS_MPI2 "kubeflow.org/v2beta1"

/*
 * Sources: the types and defaults of tf-operator (v1alpha1 to v1beta2), pytorch-operator (likewise), mpi-operator
 * (v1alpha1, v1alpha2, v2beta1), mxnet-operator and xgboost-operator.
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

const struct rh_convert_api rh_convert_apis[] = {
	{"kubeflow.org", "v1alpha1", "TFJob", APIS_V1, "TFJob", apis_tf_list},
	{"tensorflow.org", "v1alpha1", "TFJob", APIS_V1, "TFJob", apis_tf_list},
	{"tensorflow.org", "v1alpha1", "TfJob", APIS_V1, "TFJob", apis_tf_list},
	{"kubeflow.org", "v1alpha2 v1beta1 v1beta2", "TFJob", APIS_V1, "TFJob", apis_running},
	{"kubeflow.org", "v1beta1", "MXJob", APIS_V1, "MXJob", apis_running},
	{"kubeflow.org", "v1alpha1", "PyTorchJob", APIS_V1, "PyTorchJob", apis_pytorch_list},
	{"kubeflow.org", "v1alpha2 v1beta1 v1beta2", "PyTorchJob", APIS_V1, "PyTorchJob", apis_none},
	{"xgboostjob.kubeflow.org", "v1alpha1 v1", "XGBoostJob", APIS_V1, "XGBoostJob", apis_none},
	{"kubeflow.org", "v1alpha1", "MPIJob", APIS_V1, "MPIJob", apis_mpi_units},
	{"kubeflow.org", "v1alpha2", "MPIJob", APIS_V1, "MPIJob", apis_mpi_alpha2},
	{"kubeflow.org", "v2beta1", "MPIJob", APIS_V1, "MPIJob", apis_mpi2},
	{"kubeflow.org", "v1", "MPIJob", APIS_MPI2, "MPIJob", apis_to_mpi2},
	{NULL, NULL, NULL, NULL, NULL, NULL},
};
