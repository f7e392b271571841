/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config/first_fault.h
 * @brief Where a controller learns what a failed container wrote: [controller] first-fault.
 */
#ifndef RH_CONFIG_FIRST_FAULT_H
#define RH_CONFIG_FIRST_FAULT_H

struct rh_config;

/** The key, and the flag of that name. */
#define RH_CONFIG_FIRST_FAULT "first-fault"
/** What it may say, in the order of enum rh_fault_source. */
#define RH_CONFIG_FIRST_FAULT_WORDS "status|messages|logs"

/** Where it is learned. */
enum rh_fault_source {
	RH_FAULT_STATUS,   /**< from the status of pods as they are */
	RH_FAULT_MESSAGES, /**< likewise, and pods are made so that it has the end of the output */
	RH_FAULT_LOGS      /**< from logs, where the status does not show it */
};

/** @return where the configuration has it learned. NULL: from the status */
enum rh_fault_source rh_config_fault_source(const struct rh_config *config);
/** @return what @p word of RH_CONFIG_FIRST_FAULT_WORDS means; NULL: the status */
enum rh_fault_source rh_fault_source_of(const char *word);

#endif
