/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/server/durable/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "comm/core/error.h"
#include "comm/ps/server/rows.h"

#define IMAGE_MAGIC UINT64_C(0x32474d4953504852)   /* "RHPSIMG2" */
#define IMAGE_MAGIC_1 UINT64_C(0x31474d4953504852) /* "RHPSIMG1", of protocol 3 */
#define LANES 4
#define PRIME UINT64_C(0x9e3779b97f4a7c15)

struct image_head {
	uint64_t magic;
	struct rh_ps_config config;
	uint64_t epoch;
	uint64_t entries;
};

struct image_entry {
	uint64_t key;
	uint32_t part;
	uint32_t bytes;
	int32_t type;
	int32_t known;
	uint64_t version;
	uint64_t rounds;
	uint32_t width;
	uint32_t reserved;
};

struct image_round {
	int64_t count;
	double rate;
};

/* A file that is read or written from its start to its end. */
struct image_file {
	FILE *file;
	uint64_t sum;
	bool failed;
	int number; /* errno, when it could not be read; 0: it ended too early */
};

static uint64_t sum_word(uint64_t lane, uint64_t word)
{
	lane = (lane ^ word) * PRIME;
	return lane ^ lane >> 29;
}

uint64_t rh_ps_sum(uint64_t sum, const void *data, size_t length)
{
	const uint8_t *at = data;
	uint64_t lanes[LANES] = {sum, sum + 1, sum + 2, sum + 3};
	uint64_t words[LANES];
	uint64_t rest = length;

	for (; rest >= sizeof(words); rest -= sizeof(words), at += sizeof(words)) {
		memcpy(words, at, sizeof(words));
		for (int i = 0; i < LANES; i++)
			lanes[i] = sum_word(lanes[i], words[i]);
	}
	memset(words, 0, sizeof(words));
	if (rest > 0)
		memcpy(words, at, rest);
	for (int i = 0; i < LANES; i++)
		sum = sum_word(sum, sum_word(lanes[i], words[i]));
	return sum_word(sum, length);
}

static void image_put(struct image_file *to, const void *data, size_t length)
{
	to->sum = rh_ps_sum(to->sum, data, length);
	if (length > 0 && fwrite(data, length, 1, to->file) != 1)
		to->failed = true;
}

static void image_get(struct image_file *from, void *data, size_t length)
{
	if (from->failed || (length > 0 && fread(data, length, 1, from->file) != 1)) {
		if (!from->failed && ferror(from->file))
			from->number = errno;
		from->failed = true;
		memset(data, 0, length);
	}
	from->sum = rh_ps_sum(from->sum, data, length);
}

/* Of rows, what was pushed to: the rest is zero. */
static void image_put_sum(struct image_file *to, const struct rh_ps_entry *entry, const struct rh_ps_round *round)
{
	uint32_t count;

	if (entry->width == 0) {
		image_put(to, round->data, entry->bytes);
		return;
	}
	image_put(to, round->touched, rh_ps_rows_words(entry) * sizeof(*round->touched));
	for (uint32_t at = 0; (count = rh_ps_rows_next(entry, round, &at)) > 0; at += count)
		image_put(to, round->data + at * rh_ps_rows_size(entry), count * rh_ps_rows_size(entry));
}

static void image_put_entry(struct image_file *to, const struct rh_ps_store *store, const struct rh_ps_entry *entry)
{
	struct image_entry head = {.key = entry->key,
	                           .part = entry->part,
	                           .bytes = entry->bytes,
	                           .type = entry->type,
	                           .known = entry->known,
	                           .version = entry->version,
	                           .width = entry->width};

	for (const struct rh_ps_round *round = entry->rounds; round; round = round->next)
		head.rounds++;
	image_put(to, &head, sizeof(head));
	image_put(to, entry->pushed, (size_t)store->config.workers * sizeof(*entry->pushed));
	image_put(to, entry->value, entry->bytes);
	for (int32_t i = 0; i < rh_ps_rule_slots(store->config.rule); i++)
		image_put(to, entry->slots[i], entry->bytes);
	if (entry->steps)
		image_put(to, entry->steps, rh_ps_rows_count(entry) * sizeof(*entry->steps));
	for (const struct rh_ps_round *round = entry->rounds; round; round = round->next) {
		struct image_round part = {round->count, round->rate};

		image_put(to, &part, sizeof(part));
		image_put_sum(to, entry, round);
	}
}

static void image_put_all(struct image_file *to, const struct rh_ps_store *store)
{
	struct image_head head;
	uint64_t sum;

	memset(&head, 0, sizeof(head));
	head.magic = IMAGE_MAGIC;
	head.config = store->config;
	head.epoch = store->epoch;
	head.entries = store->entry_count;
	image_put(to, &head, sizeof(head));
	for (int32_t i = 0; i < store->config.workers; i++) {
		uint64_t record[3] = {store->workers[i].session, store->workers[i].last, store->workers[i].left};

		image_put(to, record, sizeof(record));
	}
	for (size_t i = 0; i < store->bucket_count; i++)
		for (const struct rh_ps_entry *entry = store->buckets[i]; entry; entry = entry->next)
			image_put_entry(to, store, entry);
	sum = to->sum;
	image_put(to, &sum, sizeof(sum));
}

static FILE *image_open(int folder, const char *name, int flags, const char *mode)
{
	int fd = openat(folder, name, flags | O_CLOEXEC, 0600);
	FILE *file;
	int number;

	if (fd < 0)
		return NULL;
	file = fdopen(fd, mode);
	if (!file) {
		number = errno;
		(void)close(fd);
		errno = number;
	}
	return file;
}

int32_t rh_ps_image_write(const struct rh_ps_store *store, int folder, const char *name, struct rh_comm_error *err)
{
	struct image_file to = {0};
	char other[100];
	char what[200];
	int number;

	(void)snprintf(other, sizeof(other), "%s.new", name);
	(void)snprintf(what, sizeof(what), "parameter server: write %s", name);
	to.file = image_open(folder, other, O_WRONLY | O_CREAT | O_TRUNC, "w");
	if (!to.file)
		return rh_comm_fail_os(err, errno, what);
	errno = 0;
	image_put_all(&to, store);
	if (fflush(to.file) != 0 || to.failed || fsync(fileno(to.file)) < 0)
		to.failed = true;
	number = errno;
	if (fclose(to.file) != 0 && !to.failed) {
		number = errno;
		to.failed = true;
	}
	if (!to.failed && renameat(folder, other, folder, name) == 0 && fsync(folder) == 0)
		return 0;
	number = to.failed ? number : errno;
	(void)unlinkat(folder, other, 0);
	return rh_comm_fail_os(err, number, what);
}

/* @return 0, RH_COMM_ENOMEM or RH_COMM_EIO */
static int32_t image_get_sum(struct image_file *from, const struct rh_ps_entry *entry, struct rh_ps_round *round)
{
	uint32_t count;
	int32_t r;

	if (entry->width == 0) {
		image_get(from, round->data, entry->bytes);
		return from->failed ? RH_COMM_EIO : 0;
	}
	image_get(from, round->touched, rh_ps_rows_words(entry) * sizeof(*round->touched));
	r = from->failed ? RH_COMM_EIO : rh_ps_rows_open(entry, round);
	if (r < 0)
		return r == RH_COMM_EINVAL ? RH_COMM_EIO : r;
	for (uint32_t at = 0; (count = rh_ps_rows_next(entry, round, &at)) > 0; at += count)
		image_get(from, round->data + at * rh_ps_rows_size(entry), count * rh_ps_rows_size(entry));
	return from->failed ? RH_COMM_EIO : 0;
}

/* @return 0, RH_COMM_ENOMEM or RH_COMM_EIO */
static int32_t image_get_rounds(struct image_file *from, struct rh_ps_entry *entry, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct rh_ps_round *round = rh_ps_store_round(entry, entry->version + 1 + i);
		struct image_round part = {0};
		int32_t r;

		if (!round)
			return RH_COMM_ENOMEM;
		image_get(from, &part, sizeof(part));
		r = image_get_sum(from, entry, round);
		if (r < 0)
			return r;
		round->count = (int32_t)part.count;
		round->rate = part.rate;
	}
	return 0;
}

static int32_t image_get_entry(struct image_file *from, struct rh_ps_store *store)
{
	struct image_entry head = {0};
	struct rh_ps_head shape = {0};
	struct rh_ps_entry *entry = NULL;
	int32_t r;

	image_get(from, &head, sizeof(head));
	shape.key = head.key;
	shape.part = head.part;
	shape.bytes = head.bytes;
	shape.type = head.type;
	shape.width = head.width;
	if (from->failed)
		return RH_COMM_EIO;
	r = rh_ps_store_open(store, &shape, &entry, NULL);
	if (r < 0)
		return r == RH_COMM_EINVAL ? RH_COMM_EIO : r;
	entry->known = head.known != 0;
	entry->version = head.version;
	image_get(from, entry->pushed, (size_t)store->config.workers * sizeof(*entry->pushed));
	image_get(from, entry->value, entry->bytes);
	for (int32_t i = 0; i < rh_ps_rule_slots(store->config.rule); i++)
		image_get(from, entry->slots[i], entry->bytes);
	if (entry->steps)
		image_get(from, entry->steps, rh_ps_rows_count(entry) * sizeof(*entry->steps));
	r = image_get_rounds(from, entry, head.rounds);
	/* what an answer had held back needs to wait no more */
	while (r == 0 && !from->failed && rh_ps_store_settle(store, entry))
		;
	return r;
}

static int32_t image_get_all(struct image_file *from, const struct image_head *head, struct rh_ps_store *store)
{
	uint64_t expected;
	uint64_t sum = 0;
	int32_t r = 0;

	for (int32_t i = 0; i < store->config.workers; i++) {
		uint64_t record[3] = {0};

		image_get(from, record, sizeof(record));
		store->workers[i] = (struct rh_ps_worker_record){record[0], record[1], record[2] != 0};
	}
	for (uint64_t i = 0; i < head->entries && r == 0; i++)
		r = image_get_entry(from, store);
	expected = from->sum;
	image_get(from, &sum, sizeof(sum));
	return r < 0 ? r : from->failed || sum != expected ? RH_COMM_EIO : 0;
}

static int32_t image_check(const struct rh_ps_config *file, const struct rh_ps_config *config, const char *name,
                           struct rh_comm_error *err)
{
	const struct {
		const char *what;
		int32_t file;
		int32_t here;
	} rows[] = {
		{"index of the server", file->index, config->index},
		{"number of servers", file->servers, config->servers},
		{"number of workers", file->workers, config->workers},
		{"mode", file->mode, config->mode},
		{"rule", file->rule, config->rule},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].file != rows[i].here)
			return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			                    "%s is of another server: the %s is %d there and %d here; use another folder, or start "
			                    "as before",
			                    name, rows[i].what, (int)rows[i].file, (int)rows[i].here);
	}
	return 0;
}

static int32_t image_damaged(const struct image_file *from, const char *name, struct rh_comm_error *err)
{
	char what[200];

	(void)snprintf(what, sizeof(what), "parameter server: read %s", name);
	if (from->number != 0)
		return rh_comm_fail_os(err, from->number, what);
	return rh_comm_fail(err, RH_COMM_EIO, RH_COMM_NO_RANK,
	                    "%s is damaged: bring back a copy of the folder, or remove the file and begin anew", name);
}

static int32_t image_read_file(struct image_file *from, const char *name, const struct rh_ps_config *config,
                               struct rh_ps_store **ret_store, struct rh_comm_error *err)
{
	struct rh_ps_config merged = *config;
	struct image_head head = {0};
	struct rh_ps_store *store;
	int32_t r;

	image_get(from, &head, sizeof(head));
	if (!from->failed && head.magic == IMAGE_MAGIC_1)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "%s was written by an earlier version of the library, whose records this one does not "
		                    "read: end the job with that version, or begin with another folder",
		                    name);
	if (from->failed || head.magic != IMAGE_MAGIC || head.epoch == 0)
		return image_damaged(from, name, err);
	r = image_check(&head.config, config, name, err);
	if (r < 0)
		return r;
	merged.rate = head.config.rate;
	store = rh_ps_store_new(&merged, head.epoch);
	r = store ? image_get_all(from, &head, store) : RH_COMM_ENOMEM;
	if (r == 0) {
		*ret_store = store;
		return 0;
	}
	rh_ps_store_free(store);
	return r == RH_COMM_EIO ? image_damaged(from, name, err) : rh_comm_fail(err, r, RH_COMM_NO_RANK, "out of memory");
}

int32_t rh_ps_image_read(int folder, const char *name, const struct rh_ps_config *config,
                         struct rh_ps_store **ret_store, struct rh_comm_error *err)
{
	struct image_file from = {0};
	char what[200];
	int32_t r;

	(void)snprintf(what, sizeof(what), "parameter server: read %s", name);
	from.file = image_open(folder, name, O_RDONLY, "r");
	if (!from.file)
		return rh_comm_fail_os(err, errno, what);
	r = image_read_file(&from, name, config, ret_store, err);
	(void)fclose(from.file);
	return r;
}
