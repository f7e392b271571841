/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/quantity.h
 * @brief Kubernetes quantities: "500m", "1.5Gi", "2e3" (apimachinery pkg/api/resource).
 */
#ifndef RH_JOB_QUANTITY_H
#define RH_JOB_QUANTITY_H

#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/**
 * Read a quantity in thousandths ("1" is 1000), rounded away from zero as Kubernetes does; what is beyond the range of
 * the type is clamped to it.
 * @return 0 or RH_EINVAL
 */
int rh_quantity_parse(const char *text, int64_t *ret_milli, struct rh_error *err);
/** rh_quantity_parse() of a JSON string or number. @return 0 or RH_EINVAL */
int rh_quantity_from_json(const struct rh_json *json, int64_t *ret_milli, struct rh_error *err);

#endif
