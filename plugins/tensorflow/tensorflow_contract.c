/* SPDX-License-Identifier: Apache-2.0 */
/* What pods and further objects get from this plugin, in words (rh_kind.contract). A test holds it against what is
 * rendered. */
#include "tensorflow.h"

const char tensorflow_contract[] =
	"[{\"what\":\"env\",\"name\":\"TF_CONFIG\","
	"\"value\":\"the cluster and the place of the replica in it as JSON, in the container tensorflow alone\","
	"\"when\":\"the job has more than one replica\","
	"\"source\":\"spec.tfReplicaSpecs, spec.enableDynamicWorker\"}]";
