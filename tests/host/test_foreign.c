/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "host/foreign.h"

/* A part of the message; NULL: there is none. */
static const struct row {
	const char *api_version, *kind, *part;
} rows[] = {
	{"kubeflow.org/v2beta1", "MPIJob", "MPI Operator"},
	{"kubeflow.org/v1alpha2", "MPIJob", "MPI Operator"},
	{"trainer.kubeflow.org/v1alpha1", "TrainJob", "Kubeflow Trainer"},
	{"trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "Kubeflow Trainer"},
	{"kubeflow.org/v2alpha1", "TrainJob", "Kubeflow Trainer"},
	{"kubeflow.org/v1beta2", "TFJob", "came before Training Operator V1"},
	{"kubeflow.org/v1beta1", "PyTorchJob", "came before Training Operator V1"},
	{"kubeflow.org/v1alpha1", "TFJob", "came before Training Operator V1"},
	{"xgboostjob.kubeflow.org/v1alpha1", "XGBoostJob", "former XGBoost operator"},
	{"kubeflow.org/v1beta1", "Experiment", "Katib"},
	{"kubeflow.org/v1", "PyTorchJob", NULL},
	{"kubeflow.org/v1", "MPIJob", NULL},
	{"kubeflow.org/v1", "TFJobs", NULL},
	{"kubeflow.org/v1beta", "TFJob", NULL},
	{"kubeflow.or/v1beta1", "TFJob", NULL},
	{"v1", "ConfigMap", NULL},
	{"", "", NULL},
	{"/", "", NULL},
};

static void test_foreign__rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = rh_foreign_api(rows[i].api_version, rows[i].kind);

		if (!text != !rows[i].part || (text && !strstr(text, rows[i].part)))
			fail_msg("%s %s: %s", rows[i].api_version, rows[i].kind, text ? text : "nothing");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_foreign__rows)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
