/* SPDX-License-Identifier: Apache-2.0 */
/* What pods and further objects get from this plugin, in words (rh_kind.contract). A test holds it against what is
 * rendered. */
#include "paddle.h"

const char paddle_contract[] =
	"[{\"what\":\"env\",\"name\":\"PYTHONUNBUFFERED\",\"value\":\"1\"},"
	"{\"what\":\"env\",\"name\":\"PADDLE_JOB_ID\",\"value\":\"the job's name\",\"source\":\"metadata.name\"},"
	"{\"what\":\"env\",\"name\":\"PADDLE_NNODES\",\"value\":\"all replicas\"},"
	"{\"what\":\"env\",\"name\":\"POD_IP_DUMMY\",\"value\":\"the pod's own address, by fieldRef\","
	"\"when\":\"it is the leader: Master 0, or Worker 0 where there is no Master\"},"
	"{\"what\":\"env\",\"name\":\"PADDLE_MASTER\","
	"\"value\":\"host and port of the leader; the leader itself has its own address there\"},"
	"{\"what\":\"env\",\"name\":\"PADDLE_SERVER_NUM\",\"value\":\"1\",\"types\":[\"Master\"]},"
	"{\"what\":\"env\",\"name\":\"PADDLE_TRAINER_NUM\",\"value\":\"1\",\"types\":[\"Worker\"],"
	"\"when\":\"the job has a Master\"},"
	"{\"what\":\"env\",\"name\":\"POD_IP\",\"value\":\"the pod's own address\","
	"\"when\":\"the job runs on one machine\"}]";
