/* SPDX-License-Identifier: Apache-2.0 */
#include "local/preflight/frameworks.h"

#include <fnmatch.h>
#include <stddef.h>

/* The first row that fits counts: an image of Horovod often has TensorFlow in its name, too. */
static const struct {
	const char *image;
	const char *framework;
} frameworks[] = {
	{"*horovod*", "horovod"},
	{"*mpioperator/tensorflow-benchmarks*", "horovod"},
	{"*mpioperator/mpi-pi*", "openmpi"},
	{"*openmpi*", "openmpi"},
	{"*lightgbm*", "lightgbm"},
	{"*xgboost*", "xgboost"},
	{"*paddle*", "paddle"},
	{"*pytorch*", "pytorch"},
	{"*tensorflow*", "tensorflow"},
	{"*/tf-*", "tensorflow"},
	{"*/tf_*", "tensorflow"},
	{"*kubeflow*/multi_worker_strategy*", "tensorflow"},
	{"*jax*", "jax"},
	{"*rayproject/ray*", "ray"},
	{"example/ray:*", "ray"},
	{"*dask*", "dask"},
};

const char *rh_framework_of_image(const char *image)
{
	for (size_t i = 0; i < sizeof(frameworks) / sizeof(frameworks[0]); i++) {
		if (fnmatch(frameworks[i].image, image, 0) == 0)
			return frameworks[i].framework;
	}
	return NULL;
}
