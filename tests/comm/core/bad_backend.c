/* SPDX-License-Identifier: Apache-2.0 */
/* A backend whose table is wrong in the one way that BAD says; see test_loader.c. */
#include <stdio.h>

#include "roundhouse/comm_backend.h"

/* BAD is one of these words, so one comparison is of a word with itself. NOLINTBEGIN(misc-redundant-expression) */

enum bad { good, vendor, major, minor, shorter, named, lacking, symbol, unwilling, cuda };

static int32_t bad_probe(int32_t rank, int32_t world, char *why, size_t room)
{
	(void)rank;
	(void)world;
	if (BAD != unwilling)
		return 0;
	(void)snprintf(why, room, "the moon is not full");
	return RH_COMM_ENOTSUP;
}

static int32_t bad_open(const struct rh_comm_team *team, void **ret_self)
{
	(void)team;
	(void)ret_self;
	return RH_COMM_EBACKEND;
}

static void bad_nothing(void *self)
{
	(void)self;
}

static int32_t bad_send(void *self, int32_t peer, uint64_t tag, const void *data, size_t length, void **ret_work)
{
	(void)self;
	(void)peer;
	(void)tag;
	(void)data;
	(void)length;
	(void)ret_work;
	return RH_COMM_EBACKEND;
}

static int32_t bad_recv(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work)
{
	return bad_send(self, peer, tag, data, length, ret_work);
}

static int32_t bad_test(void *self, void *work)
{
	(void)self;
	(void)work;
	return RH_COMM_EBACKEND;
}

static const struct rh_comm_backend bad_table = {
	.head = {.size = sizeof(bad_table) - (BAD == shorter ? sizeof(void *) : 0),
             .major = BAD == major ? 7 : RH_COMM_BACKEND_MAJOR,
             .minor = BAD == minor ? 77 : RH_COMM_BACKEND_MINOR,
             .vendor = BAD_VENDOR},
	.name = BAD == named ? "otherwise" : BAD_NAME,
	.release = "1",
	.memories = BAD == cuda ? RH_COMM_MEMORY_CUDA : RH_COMM_MEMORY_HOST,
	.score = 1,
	.probe = bad_probe,
	.open = bad_open,
	.close = bad_nothing,
	.send = bad_send,
	.recv = bad_recv,
	.test = BAD == lacking ? NULL : bad_test,
	.abort = bad_nothing,
};

/* without the right name nobody finds it */
#define ENTRY_OF(name) ENTRY_NAMED(name)
#define ENTRY_NAMED(name) rh_comm_backend_entry_##name

RH_COMM_API const struct rh_comm_backend *ENTRY_OF(BAD_ENTRY)(void);

RH_COMM_API const struct rh_comm_backend *ENTRY_OF(BAD_ENTRY)(void)
{
	return &bad_table;
}
/* NOLINTEND(misc-redundant-expression) */
