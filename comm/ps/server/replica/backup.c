/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/server/replica/backup.h"

#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"
#include "comm/ps/server/replica/entry.h"

void rh_ps_backup_deinit(struct rh_ps_backup *backup)
{
	free(backup->entry);
	memset(backup, 0, sizeof(*backup));
}

void rh_ps_backup_restart(struct rh_ps_backup *backup)
{
	rh_ps_backup_deinit(backup);
}

static int32_t backup_malformed(const struct rh_ps_head *head, struct rh_comm_error *err)
{
	return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "a record of kind %u from the primary is malformed",
	                    (unsigned int)head->kind);
}

/* The learning rate and the constants of the rule are the primary's. */
static int32_t backup_check(const struct rh_ps_config *primary, const struct rh_ps_config *config,
                            struct rh_comm_error *err)
{
	const struct {
		const char *what;
		int32_t primary;
		int32_t here;
	} rows[] = {
		{"index of the server", primary->index, config->index},
		{"number of servers", primary->servers, config->servers},
		{"number of workers", primary->workers, config->workers},
		{"mode (RH_PS_MODE)", primary->mode, config->mode},
		{"staleness (RH_PS_STALENESS)", primary->staleness, config->staleness},
		{"rule (RH_PS_RULE)", primary->rule, config->rule},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].primary != rows[i].here)
			return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			                    "this is the backup of server %d: the %s is %d there and %d here; start all servers "
			                    "with the same options",
			                    (int)config->index, rows[i].what, (int)rows[i].primary, (int)rows[i].here);
	}
	return 0;
}

static void backup_take_workers(struct rh_ps_store *store, const uint8_t *payload)
{
	for (int32_t i = 0; i < store->config.workers; i++) {
		struct rh_ps_copy_worker worker;

		memcpy(&worker, payload + (size_t)i * sizeof(worker), sizeof(worker));
		store->workers[i] = (struct rh_ps_worker_record){worker.session, worker.last, worker.left != 0};
	}
}

static size_t backup_workers_size(const struct rh_ps_store *store)
{
	return (size_t)store->config.workers * sizeof(struct rh_ps_copy_worker);
}

static int32_t backup_begin(struct rh_ps_backup *backup, struct rh_ps_store **store, const struct rh_ps_head *head,
                            const uint8_t *payload, struct rh_comm_error *err)
{
	struct rh_ps_copy_begin begin;
	struct rh_ps_store *fresh;
	int32_t r;

	if (backup->begun || head->length != sizeof(begin) + backup_workers_size(*store))
		return backup_malformed(head, err);
	memcpy(&begin, payload, sizeof(begin));
	r = backup_check(&begin.config, &(*store)->config, err);
	if (r < 0)
		return r;
	fresh = begin.epoch == 0 ? NULL : rh_ps_store_new(&begin.config, begin.epoch);
	if (!fresh)
		return begin.epoch == 0 ? backup_malformed(head, err)
		                        : rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	rh_ps_store_free(*store);
	*store = fresh;
	backup_take_workers(fresh, payload + sizeof(begin));
	backup->begun = true;
	return 0;
}

/* What is kept is never more than what was received. */
static int32_t backup_piece(struct rh_ps_backup *backup, struct rh_ps_store *store, const struct rh_ps_head *head,
                            const uint8_t *payload, struct rh_comm_error *err)
{
	size_t length = backup->length + head->length;
	int32_t r;

	if (length > backup->room) {
		uint8_t *entry = realloc(backup->entry, 2 * length);

		if (!entry)
			return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory for the copy of an entry");
		backup->entry = entry;
		backup->room = 2 * length;
	}
	if (head->length > 0)
		memcpy(backup->entry + backup->length, payload, head->length);
	backup->length = length;
	if (!(head->flags & RH_PS_LAST))
		return 0;
	r = rh_ps_entry_read(store, backup->entry, length, err);
	backup->length = 0;
	return r;
}

static int32_t backup_complete(struct rh_ps_backup *backup, struct rh_ps_store *store, const struct rh_ps_head *head,
                               const uint8_t *payload, struct rh_comm_error *err)
{
	if (backup->complete || backup->length > 0 || head->length != backup_workers_size(store))
		return backup_malformed(head, err);
	backup_take_workers(store, payload);
	backup->complete = true;
	return 0;
}

static int32_t backup_change(struct rh_ps_store *store, const struct rh_ps_head *head, const uint8_t *payload,
                             struct rh_comm_error *err)
{
	struct rh_ps_entry *entry = NULL;
	int32_t r = rh_ps_store_check(store, head, payload, err);

	if (r > 0)
		r = rh_ps_store_take(store, head, payload, &entry, err);
	while (r == 0 && entry && rh_ps_store_settle(store, entry))
		;
	return r < 0 ? r : 0;
}

int32_t rh_ps_backup_take(struct rh_ps_backup *backup, struct rh_ps_store **store, const struct rh_ps_head *head,
                          const uint8_t *payload, struct rh_comm_error *err)
{
	int32_t r;

	if (head->kind == RH_PS_REC_BEGIN)
		r = backup_begin(backup, store, head, payload, err);
	else if (!backup->begun)
		r = backup_malformed(head, err);
	else if (head->kind == RH_PS_REC_PIECE)
		r = backup_piece(backup, *store, head, payload, err);
	else if (head->kind == RH_PS_REC_COPIED)
		r = backup_complete(backup, *store, head, payload, err);
	else
		r = backup_change(*store, head, payload, err);
	if (r == 0)
		backup->received++;
	return r;
}
