/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tests/fuzz/fuzz.h
 * @brief What every fuzz target has: the entry point that libFuzzer and replay.c call, and a check.
 */
#ifndef RH_TESTS_FUZZ_H
#define RH_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>

/** Try one input of @p size bytes. @return 0 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Abort, which the fuzzer reports with the input, unless @p condition holds. It is checked in every kind of build. */
#define fuzz_require(condition)                                                            \
	do {                                                                                   \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                       \
		}                                                                                  \
	} while (0)

#endif
