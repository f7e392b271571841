/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/values/version.h
 * @brief Kinds that are versions of one resource, and which of them a job is of.
 *
 * An API server shows every job in every version, so the version in which a job arrives says nothing about the kind
 * that it is of.
 */
#ifndef RH_JOB_VALUES_VERSION_H
#define RH_JOB_VALUES_VERSION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "roundhouse/plugin.h"

/** Most versions of one resource. */
#define RH_VERSIONS_MAX 8

/** The kinds of one group and plural: the storage version first, the others in Kubernetes' order. Borrowed. */
struct rh_versions {
	const struct rh_kind *items[RH_VERSIONS_MAX];
	size_t count;
	const struct rh_kind *first; /**< the one that was added first */
};

/** @return whether both are versions of one resource */
bool rh_kind_is_version_of(const struct rh_kind *a, const struct rh_kind *b);
/**
 * Compare versions as Kubernetes does: v2, v1, v2beta1, v1beta2, v1alpha1, then others as texts.
 * @return less than 0 when @p a comes before @p b
 */
int rh_version_compare(const char *a, const char *b);
/** Add a kind at its place. @return 0, or RH_EINVAL when there are RH_VERSIONS_MAX */
int rh_versions_add(struct rh_versions *versions, const struct rh_kind *kind);
/**
 * Find the kind that a job is of: by the annotation roundhouse.dev/version; else by a managedBy that one version alone
 * knows; else by the version in which its spec was first written (the oldest entry of metadata.managedFields with
 * f:spec); else the kind with RH_KIND_FALLBACK; else the storage version.
 * @return NULL when the annotation names a version that is not among them: such a job is nobody's here
 */
const struct rh_kind *rh_versions_route(const struct rh_versions *versions, const struct rh_json *object);

#endif
