/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file trainer/values/quantity.h
 * @brief Quantities of Kubernetes that are summed.
 */
#ifndef RH_TRAINER_VALUES_QUANTITY_H
#define RH_TRAINER_VALUES_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/** Room for a quantity as text. */
#define QUANTITY_TEXT 32

/** An amount. */
struct quantity {
	int64_t milli; /**< in thousandths */
	bool binary;   /**< written with Ki, Mi ... */
};

/** Read "3500m", "1.5Gi", "64M". @return whether it is a quantity that fits */
bool quantity_read(const char *text, struct quantity *ret_quantity);
/** Print it in the form that an API server gives back. */
void quantity_print(const struct quantity *quantity, char ret_text[QUANTITY_TEXT]);

#endif
