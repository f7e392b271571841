/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file trainer/trainer_texts.h
 * @brief The JSON files of this folder, embedded: static, zero-terminated.
 */
#ifndef RH_TRAINER_TRAINER_TEXTS_H
#define RH_TRAINER_TRAINER_TEXTS_H

extern const char trainer_schema[];     /**< schema.json: rh_kind.spec_schema */
extern const char trainer_columns[];    /**< columns.json: rh_kind.columns */
extern const char trainer_rbac[];       /**< rbac.json: rh_kind.rbac_rules */
extern const char trainer_cel[];        /**< cel.json: rh_kind.cel_rules */
extern const char trainer_contract[];   /**< contract.json: rh_kind.contract */
extern const char trainer_conditions[]; /**< conditions.json: rh_kind.conditions */
extern const char trainer_status[];     /**< status.json: rh_kind.status_schema */
extern const char trainer_lookups[];    /**< lookups.json: rh_kind.lookups */
extern const char trainer_resources[];  /**< resources.json: rh_plugin.resources */

#endif
