/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/native/work.h
 * @brief Kinds of work that a backend with shared-memory collectives returns to the core.
 */
#ifndef RH_COMM_NATIVE_WORK_H
#define RH_COMM_NATIVE_WORK_H

/** What a piece of work is; the first member of each kind. */
enum native_kind { NATIVE_MESSAGE, NATIVE_SHM };

#endif
