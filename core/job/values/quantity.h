/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/values/quantity.h
 * @brief Kubernetes quantities: "500m", "1.5Gi", "2e3" (apimachinery pkg/api/resource).
 */
#ifndef RH_JOB_VALUES_QUANTITY_H
#define RH_JOB_VALUES_QUANTITY_H

#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/** The rule for quantities, in the message of Kubernetes (apimachinery, pkg/api/resource). */
#define RH_QUANTITY_RULE "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

/**
 * Read a quantity in thousandths ("1" is 1000), rounded away from zero as Kubernetes does; values beyond the range of
 * the type are clamped.
 * @return 0 or RH_EINVAL
 */
int rh_quantity_parse(const char *text, int64_t *ret_milli, struct rh_error *err);
/** rh_quantity_parse() of a JSON string or number. @return 0 or RH_EINVAL */
int rh_quantity_from_json(const struct rh_json *json, int64_t *ret_milli, struct rh_error *err);

/** How a quantity is written. */
enum rh_quantity_form {
	RH_QUANTITY_DECIMAL, /**< "1500m", "2k" */
	RH_QUANTITY_BINARY,  /**< "2Gi" */
	RH_QUANTITY_EXPONENT /**< "2e3" */
};

/** A sum of quantities, in the form of the first of them that is not zero, as Kubernetes adds them. All zero is "0". */
struct rh_quantity {
	int64_t milli; /**< thousandths */
	enum rh_quantity_form form;
};

/** Room for a quantity as text, terminating zero included. */
#define RH_QUANTITY_SIZE 32

/** Read a quantity, a JSON string or number, with its form. @return 0 or RH_EINVAL */
int rh_quantity_read(const struct rh_json *json, struct rh_quantity *ret_quantity, struct rh_error *err);
/** Add @p times (0 or more) @p quantity to @p sum; what is beyond the range of the type is clamped to it. */
void rh_quantity_add(struct rh_quantity *sum, const struct rh_quantity *quantity, int64_t times);
/**
 * Write it as Kubernetes does: the largest suffix that leaves no fraction, binary ones from 1024 on.
 * @return @p buffer
 */
const char *rh_quantity_print(const struct rh_quantity *quantity, char buffer[RH_QUANTITY_SIZE]);

#endif
