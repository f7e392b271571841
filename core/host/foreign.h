/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/foreign.h
 * @brief APIs that look like Training Operator V1's and are not: whose they are.
 */
#ifndef RH_HOST_FOREIGN_H
#define RH_HOST_FOREIGN_H

/**
 * Pure, and never blocks.
 * @param api_version "kubeflow.org/v2beta1"
 * @return whose API it is and what follows from that, as the rest of a sentence; NULL when it is not known. Static
 * storage
 */
const char *rh_foreign_api(const char *api_version, const char *kind);

#endif
