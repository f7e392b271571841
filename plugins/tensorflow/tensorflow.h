/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tensorflow/tensorflow.h
 * @brief What the files of this plugin share.
 */
#ifndef RH_TENSORFLOW_TENSORFLOW_H
#define RH_TENSORFLOW_TENSORFLOW_H

#include <stdint.h>

#include "roundhouse/plugin.h"

/** @name Paths of a TFJob that more than one file reads @{ */
#define TENSORFLOW_DYNAMIC "spec.enableDynamicWorker"
#define TENSORFLOW_SUCCESS "spec.successPolicy"
/** @} */

/** Room for a replica type in lower case: longer ones are refused, pods are named after them. */
#define TENSORFLOW_TYPE_SIZE 64

/** Write @p type in lower case, as it stands in TF_CONFIG. @return @p buffer */
const char *tensorflow_lower(const char *type, char buffer[TENSORFLOW_TYPE_SIZE]);
/**
 * Find the type that follows @p last in the order of TF_CONFIG, that of the alphabet in lower case.
 * @param last "" finds the first
 * @return borrowed, or NULL after the last
 */
const char *tensorflow_next_type(const struct rh_services *host, const struct rh_view *view, const char *last);
/** @return whether the job gets a TF_CONFIG: all but those with one replica of the types that V1 knows (v1-behaviour
 * C.7) */
int tensorflow_is_distributed(const struct rh_services *host, const struct rh_view *view);
/**
 * Write TF_CONFIG as @p me sees it, byte for byte as V1 does (v1-behaviour C.7).
 * @return to be freed, or NULL when memory is out
 */
char *tensorflow_config(const struct rh_services *host, const struct rh_view *view, const struct rh_replica *me);

/** @name Embedded JSON files of this folder: static, zero-terminated @{ */
extern const char tensorflow_schema[];   /**< schema.json: rh_kind.spec_schema */
extern const char tensorflow_cel[];      /**< cel.json: rh_kind.cel_rules; v1-behaviour A.5, rule 12 */
extern const char tensorflow_contract[]; /**< contract.json: rh_kind.contract */
extern const char tensorflow_settings[]; /**< settings.json: rh_plugin.settings */
/** @} */

/** @see rh_plugin.validate @return 0 or a negative status */
int32_t tensorflow_validate(void *self, const struct rh_view *view, struct rh_reply *reply);
/** @see rh_plugin.pod @return 0 or a negative status */
int32_t tensorflow_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply);
/** @see rh_plugin.judge @return 0 or a negative status */
int32_t tensorflow_judge(void *self, const struct rh_view *view, struct rh_reply *reply);

#endif
