/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/server/journals.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

int journals_make_folder(void **state)
{
	struct journals_folder *folder = calloc(1, sizeof(*folder));

	assert_non_null(folder);
	(void)snprintf(folder->path, sizeof(folder->path), "/tmp/rh-test-journal-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	*state = folder;
	return 0;
}

int journals_remove_folder(void **state)
{
	struct journals_folder *folder = *state;
	DIR *listing = opendir(folder->path);
	const struct dirent *file;

	while ((file = readdir(listing)))
		(void)unlinkat(dirfd(listing), file->d_name, 0);
	(void)closedir(listing);
	(void)rmdir(folder->path);
	free(folder);
	return 0;
}

struct rh_ps_journal_plan journals_plan(const struct journals_folder *folder)
{
	return (struct rh_ps_journal_plan){
		.folder = folder->path,
		.config =
			{.servers = 1, .workers = 2, .mode = RH_PS_SYNC, .rule = RH_PS_MOMENTUM, .rate = 0.1, .momentum = 0.9},
		.bytes = 1 << 20,
		.epoch = 77,
	};
}

void journals_open(const struct journals_folder *folder, struct journals_kept *ret_kept)
{
	struct rh_ps_journal_plan plan = journals_plan(folder);
	struct rh_comm_error err = {0};

	if (rh_ps_journal_open(&plan, &ret_kept->journal, &ret_kept->store, &err) < 0)
		fail_msg("%s", err.text);
}

void journals_close(const struct journals_kept *kept)
{
	rh_ps_journal_free(kept->journal);
	rh_ps_store_free(kept->store);
}

static int32_t journals_take(const struct journals_kept *kept, const struct rh_ps_head *head, const uint8_t *payload)
{
	struct rh_ps_entry *entry = NULL;
	struct rh_comm_error err;
	int32_t r;

	assert_int_equal(rh_ps_store_check(kept->store, head, payload, &err), 1);
	r = rh_ps_journal_add(kept->journal, head, payload, &err);
	if (r < 0)
		return r;
	assert_int_equal(rh_ps_store_take(kept->store, head, payload, &entry, &err), 0);
	while (rh_ps_store_settle(kept->store, entry))
		;
	return 0;
}

int32_t journals_put_rows(const struct journals_kept *kept, int32_t worker, uint64_t sequence)
{
	static const uint32_t index[] = {0, 9};
	_Alignas(RH_PS_ALIGN) uint8_t payload[200] = {0};
	float values[2 * JOURNALS_WIDTH];
	struct rh_ps_head head = {.kind = RH_PS_REC_INIT,
	                          .flags = RH_PS_ZEROS,
	                          .bytes = JOURNALS_COUNT * sizeof(float),
	                          .width = JOURNALS_WIDTH,
	                          .key = 6,
	                          .type = RH_COMM_F32,
	                          .sequence = sequence};
	int32_t r = 0;

	if (!rh_ps_store_find(kept->store, 6, 0))
		r = journals_take(kept, &head, payload);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		values[i] = (float)(sequence + 1) / (float)(i + 3);
	memcpy(payload, index, sizeof(index));
	memcpy(payload + rh_ps_rows_offset(2), values, sizeof(values));
	head.kind = RH_PS_REC_PUSH_ROWS;
	head.flags = 0;
	head.rows = 2;
	head.sequence = sequence + 1;
	head.worker = worker;
	head.length = (uint32_t)rh_ps_rows_length(&head, sizeof(float));
	return journals_take(kept, &head, payload);
}

int32_t journals_put(const struct journals_kept *kept, uint32_t kind, int32_t worker, uint64_t sequence)
{
	struct rh_ps_head head = {.kind = (uint16_t)kind,
	                          .length = JOURNALS_COUNT * sizeof(float),
	                          .bytes = JOURNALS_COUNT * sizeof(float),
	                          .key = 5,
	                          .type = RH_COMM_F32,
	                          .sequence = sequence,
	                          .worker = worker};
	float values[JOURNALS_COUNT];

	for (int i = 0; i < JOURNALS_COUNT; i++)
		values[i] = (float)(sequence + 1) / (float)(i + worker + 1);
	return journals_take(kept, &head, (uint8_t *)values);
}

void journals_work(const struct journals_kept *kept)
{
	struct rh_comm_error err;

	assert_int_equal(journals_put(kept, RH_PS_REC_INIT, 0, 1), 0);
	for (uint64_t i = 2; i < 6; i++) {
		assert_int_equal(journals_put(kept, RH_PS_REC_PUSH, 0, i), 0);
		if (i < 5)
			assert_int_equal(journals_put(kept, RH_PS_REC_PUSH, 1, i), 0);
	}
	assert_int_equal(rh_ps_journal_commit(kept->journal, &err), 0);
}

static void journals_assert_same_entry(const struct rh_ps_entry *left, const struct rh_ps_entry *right)
{
	assert_non_null(left);
	assert_non_null(right);
	assert_true(right->known);
	assert_int_equal(left->version, right->version);
	assert_int_equal(left->width, right->width);
	assert_memory_equal(left->value, right->value, left->bytes);
	assert_memory_equal(left->slots[0], right->slots[0], left->bytes);
	assert_memory_equal(left->pushed, right->pushed, 2 * sizeof(*left->pushed));
	assert_int_equal(left->rounds != NULL, right->rounds != NULL);
	if (left->rounds)
		assert_memory_equal(left->rounds->data, right->rounds->data, left->bytes);
	if (left->rounds && left->width > 0)
		assert_memory_equal(left->rounds->touched, right->rounds->touched, sizeof(*left->rounds->touched));
}

void journals_assert_same(const struct rh_ps_store *a, const struct rh_ps_store *b)
{
	assert_int_equal(a->epoch, b->epoch);
	assert_int_equal(a->entry_count, b->entry_count);
	journals_assert_same_entry(rh_ps_store_find(a, 5, 0), rh_ps_store_find(b, 5, 0));
	if (rh_ps_store_find(a, 6, 0))
		journals_assert_same_entry(rh_ps_store_find(a, 6, 0), rh_ps_store_find(b, 6, 0));
	for (int i = 0; i < 2; i++)
		assert_int_equal(a->workers[i].last, b->workers[i].last);
}

off_t journals_size(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_size;
}

void journals_flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	(void)close(fd);
}

void journals_assert_refused(const struct journals_folder *folder, int32_t code, const char *words)
{
	struct rh_ps_journal_plan plan = journals_plan(folder);
	struct rh_comm_error err = {0};
	struct journals_kept kept;
	int32_t r = rh_ps_journal_open(&plan, &kept.journal, &kept.store, &err);

	if (r == 0)
		journals_close(&kept);
	assert_int_equal(r, code);
	if (!strstr(err.text, words))
		fail_msg("%s", err.text);
}
