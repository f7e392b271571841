/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/values.h
 * @brief Elements of every type as plain numbers, for tests of rh_comm.
 */
#ifndef RH_TEST_COMM_VALUES_H
#define RH_TEST_COMM_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Number of element types, RH_COMM_F32 (1) … RH_COMM_F8_E5M2. */
#define VALUES_TYPES 14

/** @return whether it is a floating type */
bool values_is_float(int32_t type);
/** Write a small whole number, which every type holds exactly, as element @p at of type @p type. Any alignment. */
void values_put(void *data, size_t at, int32_t type, int value);
/** Write @p value, rounded, as element @p at of floating type @p type. Any alignment. */
void values_put_float(void *data, size_t at, int32_t type, float value);
/** @return element @p at of type @p type, whatever it is, as a number. Any alignment */
double values_take(const void *values, size_t at, int32_t type);
/** @return whether they are equal as far as the type is exact: averages are no whole numbers */
bool values_are_close(double a, double b, int32_t type);
/** @return what a reduction makes of two numbers; AVG is SUM here */
double values_combine(double a, double b, int32_t reduce);

#endif
