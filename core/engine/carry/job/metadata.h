/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/job/metadata.h
 * @brief Reading texts of a Kubernetes object; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_JOB_METADATA_H
#define RH_ENGINE_CARRY_JOB_METADATA_H

#include <stdint.h>

#include "base/json.h"

/** @return the text at @p member and @p key of @p object, borrowed; "" when there is none */
const char *rh_object_text(const struct rh_json *object, const char *member, const char *key);
/** @return the value of a label of @p object, borrowed; "" when it is not set */
const char *rh_object_label(const struct rh_json *object, const char *label);
/**
 * @return a resourceVersion as a number; 0 when it is not a number, and then nothing counts as older. Versions are
 * opaque by contract, but every API server counts them up
 */
uint64_t rh_object_revision(const char *text);

#endif
