/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/values/names.h
 * @brief Names, label keys and annotation keys: V1's (v1-behaviour C.1) and ours.
 */
#ifndef RH_JOB_VALUES_NAMES_H
#define RH_JOB_VALUES_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"

/** @name V1's label keys @{ */
#define RH_LABEL_OPERATOR "training.kubeflow.org/operator-name"
#define RH_LABEL_JOB "training.kubeflow.org/job-name"
#define RH_LABEL_TYPE "training.kubeflow.org/replica-type"
#define RH_LABEL_INDEX "training.kubeflow.org/replica-index"
#define RH_LABEL_ROLE "training.kubeflow.org/job-role"
/** @} */

/** @name Labels in place of V1's, but for RH_LABEL_JOB, of kinds with RH_KIND_OWN_LABELS @{ */
#define RH_LABEL_OWN_OPERATOR "roundhouse.dev/operator-name"
#define RH_LABEL_OWN_TYPE "roundhouse.dev/replica-type"
#define RH_LABEL_OWN_INDEX "roundhouse.dev/replica-index"
/** @} */

/** @name Our annotations @{ */
#define RH_ANNOTATION_PREFIX "roundhouse.dev/"
#define RH_ANNOTATION_LEDGER "roundhouse.dev/ledger"
/** Of a job: what the core needs of its status, and the status does not show (job/status/shown.h). */
#define RH_ANNOTATION_STATUS "roundhouse.dev/status"
/** Of a job whose resource has several versions: the version that it is of. */
#define RH_ANNOTATION_VERSION "roundhouse.dev/version"
#define RH_ANNOTATION_RESTART "roundhouse.dev/restart"
#define RH_ANNOTATION_TERMINATING_TIMEOUT "roundhouse.dev/terminating-timeout"
/** Of a job: what is done when ranks of rh_comm wait for one that does not come (job/values/stall_policy.h). */
#define RH_ANNOTATION_STALLS "roundhouse.dev/stalls"
/** Likewise: how long that rank must be named before. */
#define RH_ANNOTATION_STALLS_AFTER "roundhouse.dev/stalls-after"
/** Likewise: how often it is done. */
#define RH_ANNOTATION_STALLS_LIMIT "roundhouse.dev/stalls-limit"
/** The backend of rh_comm that the job's processes use: rh_name_may_be_backend(), or "none". */
#define RH_ANNOTATION_COMM "roundhouse.dev/comm"
/** On pods: under which attempt they were made; absent is 0. */
#define RH_ANNOTATION_ATTEMPT "roundhouse.dev/attempt"
/** On further objects that are not kept like others: how they are, see job/keep.h. */
#define RH_ANNOTATION_KEEP "roundhouse.dev/keep"
/** Of a job in a queue of Kueue: what its pods get while it is admitted (build/admitted.h). */
#define RH_ANNOTATION_ADMITTED "roundhouse.dev/kueue-admission"
/** @} */

/** Annotation of Kueue: with how many replicas a job runs at least (kueue/pods/part.h). */
#define RH_ANNOTATION_QUEUE_LEAST "kueue.x-k8s.io/job-min-parallelism"

/** @name Labels of Kueue @{ */
#define RH_LABEL_QUEUE "kueue.x-k8s.io/queue-name"
#define RH_LABEL_QUEUE_PRIORITY "kueue.x-k8s.io/priority-class"
#define RH_LABEL_QUEUE_TIME "kueue.x-k8s.io/max-exec-time-seconds"
#define RH_LABEL_QUEUE_PREBUILT "kueue.x-k8s.io/prebuilt-workload-name"
#define RH_LABEL_QUEUE_JOB "kueue.x-k8s.io/job-uid"
#define RH_LABEL_QUEUE_POD_SET "kueue.x-k8s.io/podset"
/** @} */

/** Our label of further objects without an owner: the UID of their job. */
#define RH_LABEL_JOB_UID "roundhouse.dev/job-uid"

/** Backends of rh_comm, for messages. */
#define RH_BACKENDS "auto, native, ucx, mpi, nccl"

/** The manager of a job whose runPolicy.managedBy is absent. */
#define RH_MANAGER_SELF "kubeflow.org/training-operator"
/** The other value that V1 accepts for managedBy. */
#define RH_MANAGER_KUEUE "kueue.x-k8s.io/multikueue"

/** Longest label value and DNS label, and therefore the longest name of a Service or of a pod with a Service. */
#define RH_LABEL_MAX 63
/** Longest DNS subdomain. */
#define RH_SUBDOMAIN_MAX 253
/** Room for a child's name, terminating zero included; longer names are cut (validation refuses them before). */
#define RH_NAME_SIZE 256

/** Write "{job}-{type in lower case}-{index}"; without the index when it is negative. @return @p buffer */
const char *rh_name_replica(const char *job, const char *type, int32_t index, char buffer[RH_NAME_SIZE]);
/**
 * @return whether @p name is that of a replica of @p type: rh_name_replica() of some job with an index, or without one
 * when @p indexed is not set. @param[out] ret_job then the length of the job's name, which it begins with
 */
bool rh_name_is_replica(const char *name, const char *type, bool indexed, size_t *ret_job);
/** Write @p type in lower case. @return @p buffer */
const char *rh_name_lower(const char *type, char buffer[RH_NAME_SIZE]);
/** @return whether @p name is a DNS-1035 label: `[a-z]([-a-z0-9]*[a-z0-9])?`, at most 63 characters */
bool rh_name_is_dns1035(const char *name);
/** @return whether @p name is a DNS-1123 label, as names of containers and namespaces must be:
 * `[a-z0-9]([-a-z0-9]*[a-z0-9])?`, at most 63 characters */
bool rh_name_is_label(const char *name);
/** @return whether @p name is a DNS-1123 subdomain, as names of jobs, ConfigMaps and Secrets must be: at most 253
 * characters */
bool rh_name_is_dns1123(const char *name);
/** @return whether @p name is one of RH_BACKENDS */
bool rh_name_is_backend(const char *name);
/**
 * @return whether @p name can be that of a backend, ours or one that the job's image brings: lower-case letters,
 * digits,
 * "_" and "-", at most 63 characters, as in librhcomm_NAME.so
 */
bool rh_name_may_be_backend(const char *name);
/** Write V1's selector of a replica type (v1-behaviour E.4): keys sorted, comma-separated. @return @p buffer */
const char *rh_name_selector(const char *job, const char *controller, const char *type, char *buffer, size_t size);

/** How many names rh_name_generate() makes of one text: five characters of 27. */
#define RH_NAME_SUFFIXES 14348907
/**
 * Make a name as an API server does of metadata.generateName: at most 58 characters of @p base, and five of its
 * alphabet (k8s.io/apiserver/pkg/storage/names; apimachinery/pkg/util/rand).
 * @param number which of the suffixes, modulo RH_NAME_SUFFIXES: 0 is "bbbbb", 1 is "bbbbc"; neighbours differ
 * @return @p buffer
 */
const char *rh_name_generate(const char *base, uint32_t number, char buffer[RH_NAME_SIZE]);

#endif
