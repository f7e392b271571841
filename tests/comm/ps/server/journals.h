/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/journals.h
 * @brief Folders of parameter servers, for tests of what is in them.
 */
#ifndef RH_TEST_COMM_PS_SERVER_JOURNALS_H
#define RH_TEST_COMM_PS_SERVER_JOURNALS_H

#include <sys/types.h>

#include "comm/ps/server/durable/journal.h"

/** Floats of the one value that they keep. */
#define JOURNALS_COUNT 100
/** Elements of a row of the value of key 6, which has as many rows of them as make as many floats. */
#define JOURNALS_WIDTH 10
/** Bytes of a push of it in a log. */
#define JOURNALS_RECORD (sizeof(struct rh_ps_head) + JOURNALS_COUNT * sizeof(float))

/** A folder of the test's own: cmocka's state. */
struct journals_folder {
	char path[64];
};

/** A server that is killed: nothing is closed in good order. */
struct journals_kept {
	struct rh_ps_journal *journal;
	struct rh_ps_store *store;
};

/** Setup: make the folder. */
int journals_make_folder(void **state);
/** Teardown: remove it, and all that is in it. */
int journals_remove_folder(void **state);
/** @return a server of two workers, synchronous, with momentum */
struct rh_ps_journal_plan journals_plan(const struct journals_folder *folder);
/** Open it as that server; what fails ends the test. */
void journals_open(const struct journals_folder *folder, struct journals_kept *ret_kept);
/** Free both. */
void journals_close(const struct journals_kept *kept);
/** Let a worker's request count, without a commit. @return 0, or how the log refused it */
int32_t journals_put(const struct journals_kept *kept, uint32_t kind, int32_t worker, uint64_t sequence);
/** The same with a push of rows 0 and 9 of key 6, whose value has rows; the first one makes the value, too. */
int32_t journals_put_rows(const struct journals_kept *kept, int32_t worker, uint64_t sequence);
/** Some rounds, the last of which worker 1 has not pushed yet: worker 0 is at request 5, worker 1 at 4. Committed. */
void journals_work(const struct journals_kept *kept);
/** Both stores are the same to the bit. */
void journals_assert_same(const struct rh_ps_store *a, const struct rh_ps_store *b);
/** @return bytes of the file */
off_t journals_size(const char *path);
/** Change one bit of the byte at @p at. */
void journals_flip(const char *path, off_t at);
/** The folder is refused as @p code, in words that hold @p words. */
void journals_assert_refused(const struct journals_folder *folder, int32_t code, const char *words);

#endif
