/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plugins/pytorch/jobs.h
 * @brief Parts from which tests put PyTorchJobs together, as YAML.
 */
#ifndef RH_TEST_PYTORCH_JOBS_H
#define RH_TEST_PYTORCH_JOBS_H

#include "host/fixture.h"

/** A job with further members of spec and with its replica types. */
#define JOBS_JOB(spec, replicas)                 \
	"apiVersion: kubeflow.org/v1\n"              \
	"kind: PyTorchJob\n"                         \
	"metadata: {name: mnist, namespace: team}\n" \
	"spec:\n" spec "  pytorchReplicaSpecs:\n" replicas

/** One Master. */
#define JOBS_MASTER "    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: i}]}}}\n"
/** As many Workers as the text says. */
#define JOBS_WORKERS(replicas) \
	"    Worker: {replicas: " replicas ", template: {spec: {containers: [{name: pytorch, image: i}]}}}\n"

/** Open a fixture with the built plugin and this job. */
static inline void jobs_open(struct fixture *fixture, const char *ini, const char *yaml)
{
	fixture_open_file(fixture, RH_PLUGIN_DIR "/pytorch.so", ini, yaml);
}

#endif
