/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/scratch.h
 * @brief A folder of its own for one test. A failure in here fails the test that calls.
 */
#ifndef RH_TEST_LOCAL_SCRATCH_H
#define RH_TEST_LOCAL_SCRATCH_H

#include <stddef.h>

/** Make a new folder below $TMPDIR or /tmp. @return its path, owned by the caller; give it to test_scratch_remove() */
char *test_scratch(void);
/** Remove the folder with all below it, and free its path. */
void test_scratch_remove(char *folder);
/** Write @p length bytes of @p text to the end of FOLDER/NAME. */
void test_scratch_append(const char *folder, const char *name, const char *text, size_t length);
/** @return how many entries @p folder has; 0 when it does not exist */
size_t test_scratch_count(const char *folder);

#endif
