/* SPDX-License-Identifier: Apache-2.0 */
/* What pods and further objects get from this plugin, in words (rh_kind.contract). A test holds it against what is
 * rendered. */
#include "xgboost.h"

const char xgboost_contract[] =
	"[{\"what\":\"env\",\"name\":\"MASTER_PORT\",\"value\":\"the Master's port\","
	"\"source\":\"spec.xgbReplicaSpecs[Master].template.spec.containers[].ports\"},"
	"{\"what\":\"env\",\"name\":\"MASTER_ADDR\",\"value\":\"where the Master is reached\"},"
	"{\"what\":\"env\",\"name\":\"WORLD_SIZE\",\"value\":\"all replicas\"},"
	"{\"what\":\"env\",\"name\":\"RANK\",\"value\":\"0 for the Master, index + 1 for a Worker\"},"
	"{\"what\":\"env\",\"name\":\"PYTHONUNBUFFERED\",\"value\":\"1\"},"
	"{\"what\":\"env\",\"name\":\"WORKER_PORT\",\"value\":\"the Workers' port, one for all\","
	"\"when\":\"the job has more than one replica\","
	"\"source\":\"spec.xgbReplicaSpecs[Worker].template.spec.containers[].ports\"},"
	"{\"what\":\"env\",\"name\":\"WORKER_ADDRS\","
	"\"value\":\"where the Workers are reached, with commas between them\","
	"\"when\":\"the job has more than one replica\"}]";
