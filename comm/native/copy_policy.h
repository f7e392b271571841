/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/native/copy_policy.h
 * @brief Chooses between cached and non-temporal stores for copies to shared memory, from measured times. Pure.
 */
#ifndef RH_COMM_NATIVE_COPY_POLICY_H
#define RH_COMM_NATIVE_COPY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Size classes: powers of two. */
#define NATIVE_COPY_CLASSES 32

/** Measurements of operations of similar size. All zero: none yet. */
struct native_copy_class {
	bool cached;       /**< current choice: cached stores */
	uint32_t trial;    /**< operations left that try the other choice */
	uint32_t count;    /**< operations since the last trial */
	uint32_t interval; /**< operations until the next one */
	uint32_t slow;     /**< operations in a row that took long */
	double best;       /**< nanoseconds per byte of the current choice, recent */
	double tried;      /**< nanoseconds per byte of the trial */
};

/** The policy of one rank. All zero is the initial state. */
struct native_copy_policy {
	struct native_copy_class classes[NATIVE_COPY_CLASSES];
	bool latest; /**< result of the latest trial of any class; the initial choice of new classes */
};

/** @return the size class of an operation of @p bytes, 0 to NATIVE_COPY_CLASSES - 1 */
uint32_t native_copy_class(size_t bytes);
/** @return whether the next operation of @p bytes, at least 1, uses cached stores */
bool native_copy_policy_choose(struct native_copy_policy *policy, size_t bytes);
/** Record that the operation of the latest native_copy_policy_choose() took @p time nanoseconds. */
void native_copy_policy_update(struct native_copy_policy *policy, size_t bytes, int64_t time);

#endif
