/* SPDX-License-Identifier: Apache-2.0 */
#include "host/foreign.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"

/* Other fields under the same kind: a changed apiVersion alone makes a job that is refused, or does something else. */
#define FOREIGN_REWRITE                                                                                         \
	"its fields are not those of kubeflow.org/v1, so a new apiVersion alone does not do: `roundhouse convert` " \
	"rewrites "                                                                                                 \
	"it"

struct foreign_row {
	const char *group;
	const char *versions; /* separated by spaces; NULL: any */
	const char *kinds;    /* likewise */
	const char *text;
};

/* The first row that fits counts. Sources: the CRDs that each of these projects has in its repository. */
static const struct foreign_row foreign_rows[] = {
	{"kubeflow.org", "v2beta1", "MPIJob",
     "it is the API of the MPI Operator (github.com/kubeflow/mpi-operator), which plugin mpi2 serves, too; Training "
     "Operator V1 did not serve it. MPIJob of kubeflow.org/v1 starts its workers in another way and has other fields: "
     "allow plugin mpi2, leave this file as it is for the MPI Operator, or rewrite it with `roundhouse convert`"},
	{"kubeflow.org", "v1alpha1 v1alpha2", "MPIJob",
     "it is an old API of the MPI Operator (github.com/kubeflow/mpi-operator), which Training Operator V1 did not "
     "serve; " FOREIGN_REWRITE},
	{"trainer.kubeflow.org", NULL, NULL,
     "it is the API of Kubeflow Trainer (github.com/kubeflow/trainer), the successor of Training Operator V1, which "
     "plugin trainer serves, too; no field of it means anything to Training Operator V1's kinds: allow plugin trainer, "
     "leave this file as it is for Kubeflow Trainer, or rewrite it with `roundhouse convert`, together with the "
     "runtimes that TrainJobs refer to"},
	{"kubeflow.org", "v2alpha1", NULL,
     "it is an early API of Kubeflow Trainer (github.com/kubeflow/trainer), the successor of Training Operator V1; it "
     "is trainer.kubeflow.org now"},
	{"kubeflow.org", "v1alpha1 v1alpha2 v1beta1 v1beta2", "TFJob PyTorchJob MXJob",
     "it is an old API, of the operators that came before Training Operator V1, which does not serve it any "
     "more; " FOREIGN_REWRITE},
	{"tensorflow.org", "v1alpha1", "TFJob TfJob",
     "it is the API of the first TensorFlow operator, which Training Operator V1 replaced; " FOREIGN_REWRITE},
	{"kubeflow.org", "v1alpha1 v1alpha2 v1beta1 v1beta2", "XGBoostJob ChainerJob CaffeJob",
     "it is an old API, of the operators that came before Training Operator V1, which does not serve it any more; its "
     "fields are not those of kubeflow.org/v1, so a new apiVersion alone does not do: rewrite it"},
	{"xgboostjob.kubeflow.org", NULL, "XGBoostJob",
     "it is the API of the former XGBoost operator (github.com/kubeflow/xgboost-operator), which Training Operator V1 "
     "replaced; " FOREIGN_REWRITE},
	{"kubeflow.org", "v1alpha1 v1alpha2 v1alpha3 v1beta1", "Experiment Suggestion Trial",
     "it is the API of Katib (github.com/kubeflow/katib), which makes jobs of its spec.trialTemplate; check that part "
     "as "
     "a file of its own"},
	{"kubeflow.org", NULL, "Notebook Profile PodDefault ScheduledWorkflow Viewer",
     "it is the API of another component of Kubeflow, and no training job"},
	{"batch.volcano.sh", NULL, "Job", "it is the API of Volcano (github.com/volcano-sh/volcano), which runs it"},
};

static bool foreign_lists(const char *words, const char *word, size_t length)
{
	return !words || rh_words_have(words, ' ', word, length);
}

const char *rh_foreign_api(const char *api_version, const char *kind)
{
	const char *slash = strchr(api_version, '/');
	size_t group = slash ? (size_t)(slash - api_version) : 0;

	for (size_t i = 0; slash && i < sizeof(foreign_rows) / sizeof(foreign_rows[0]); i++) {
		const struct foreign_row *row = &foreign_rows[i];

		if (foreign_lists(row->group, api_version, group) &&
		    foreign_lists(row->versions, slash + 1, strlen(slash + 1)) && foreign_lists(row->kinds, kind, strlen(kind)))
			return row->text;
	}
	return NULL;
}
