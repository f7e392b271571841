/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/rules/template.h
 * @brief The rules for a replica's pod template. The list of findings records when memory is out.
 */
#ifndef RH_JOB_RULES_TEMPLATE_H
#define RH_JOB_RULES_TEMPLATE_H

#include "base/json.h"
#include "job/fields.h"
#include "job/rules/findings.h"
#include "roundhouse/plugin.h"

/**
 * V1's rules (v1-behaviour A.5-7 to A.5-9): there are containers, each has an image, one has the kind's name. A kind
 * without a container name asks for none.
 * @param template_ may be NULL
 * @param place of the template
 */
void rh_template_check_containers(const struct rh_kind *kind, const struct rh_json *template_,
                                  const struct rh_place *place, struct rh_findings *findings);
/**
 * Report what an API server would refuse when the pod is created, before any pod is created: types, names, ports,
 * variables, resources, items that are there twice. Mounts are rh_template_check_mounts()'s. Warnings for what the
 * operator overwrites. A container without a name is not reported where rh_template_check_containers() misses that of
 * the kind: V1 says only that.
 * @param template_ may be NULL
 * @param place of the template
 */
void rh_template_check_fields(const struct rh_kind *kind, const struct rh_json *template_, const struct rh_place *place,
                              struct rh_findings *findings);
/**
 * Mounts in the containers of @p spec of volumes that the pod does not have. Never blocks.
 * @param spec of the template; NULL has no containers
 * @param made the spec of a pod that was made from it: what a plugin adds may be mounted; @p spec itself where nothing
 * was added
 * @param place of @p spec
 */
void rh_template_check_mounts(const struct rh_json *spec, const struct rh_json *made, const struct rh_place *place,
                              struct rh_findings *findings);

#endif
