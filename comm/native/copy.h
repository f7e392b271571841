/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/native/copy.h
 * @brief Copies with non-temporal stores, for memory that another processor reads next.
 */
#ifndef RH_COMM_NATIVE_COPY_H
#define RH_COMM_NATIVE_COPY_H

#include <stddef.h>

/** Copy to memory that another processor reads next. Call native_copy_settle() before publishing a counter. */
void native_copy_for_others(void *to, const void *from, size_t length);
/** Order all earlier native_copy_for_others() before later stores. */
void native_copy_settle(void);

#endif
