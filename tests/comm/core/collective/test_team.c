/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank does when what another one published is not what this version writes. */
#include "comm/core/collective/team.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/core/bootstrap/members.h"

static void put(struct member *rank, const char *key, const void *value, size_t length)
{
	assert_int_equal(rh_comm_client_put(rank->client, key, value, length), 0);
}

/* Rank 0 is of the test, and publishes what it likes; rank 1 is a real one, in a thread of its own. */
struct world {
	struct rh_comm_server *server;
	struct member rank;
	pthread_t thread;
	int32_t port;
	struct rh_comm_error err; /* of rank 1 */
};

static void *open_rank_1(void *arg)
{
	struct world *world = arg;
	struct rh_comm_env env = member_env(1, 2);
	struct rh_comm_options options = {.size = sizeof(options),
	                                  .has_rank = 1,
	                                  .rank = 1,
	                                  .world = 2,
	                                  .backend = env.backend,
	                                  .host = env.host,
	                                  .port = world->port,
	                                  .job = env.job,
	                                  .secret = env.secret,
	                                  .init_timeout = env.init_timeout};
	struct rh_comm *comm = NULL;

	if (rh_comm_init(&options, &comm, &world->err) == 0)
		rh_comm_free(comm);
	return NULL;
}

static void world_begin(struct world *world)
{
	*world = (struct world){0};
	world->server = members_server(2, &world->port);
	member_join(&world->rank, 0, 2, world->port);
	assert_int_equal(pthread_create(&world->thread, NULL, open_rank_1, world), 0);
}

/* Wait until rank 1 has refused what it got. */
static void world_end(struct world *world, const char *error)
{
	(void)pthread_join(world->thread, NULL);
	if (world->err.code != RH_COMM_EIO || !strstr(world->err.text, error))
		fail_msg("%d %s", world->err.code, world->err.text);
	member_part(&world->rank);
	rh_comm_server_free(world->server);
}

/* @return bytes of what rank 1 published about its host */
static size_t host_of_rank_1(struct world *world, uint8_t *value, size_t room)
{
	struct rh_comm_error err;
	int64_t n = rh_comm_client_get(world->rank.client, "host/1", value, room, rh_comm_now() + MEMBER_PATIENCE, &err);

	assert_true(n > 0);
	return (size_t)n;
}

static void test_team__a_malformed_host(void **state)
{
	struct world world;
	uint8_t value[512];
	size_t length;

	(void)state;
	world_begin(&world);
	length = host_of_rank_1(&world, value, sizeof(value));
	put(&world.rank, "host/0", value, length - 1);
	world_end(&world, "what rank 0 published about its host is malformed");

	world_begin(&world);
	length = host_of_rank_1(&world, value, sizeof(value));
	memset(value, 'x', length);
	put(&world.rank, "host/0", value, length);
	world_end(&world, "what rank 0 published about its host is malformed");
}

static void test_team__a_malformed_table_of_algorithms(void **state)
{
	struct world world;
	uint8_t value[512];

	(void)state;
	world_begin(&world);
	put(&world.rank, "host/0", value, host_of_rank_1(&world, value, sizeof(value)));
	put(&world.rank, "tune", "4096 @ring", 10);
	world_end(&world, "the table of algorithms that rank 0 published is malformed");
}

/* An address in the key-value store of the caller. */
struct store {
	const void *value;
	size_t length;
};

static int32_t store_set(void *arg, const char *key, const void *value, size_t length)
{
	(void)arg;
	(void)key;
	(void)value;
	(void)length;
	return -1;
}

static int64_t store_get(void *arg, const char *key, void *value, size_t room, int64_t timeout)
{
	const struct store *store = arg;

	(void)key;
	(void)timeout;
	assert_true(store->length <= room);
	memcpy(value, store->value, store->length);
	return (int64_t)store->length;
}

static void test_team__an_address_of_another_version(void **state)
{
	struct rh_comm_published_address later = {.protocol = 99, .port = 7, .host = "127.0.0.1"};
	struct {
		struct store store;
		const char *error;
	} rows[] = {
		{{"29500 127.0.0.1", 15}, "rank 0 uses protocol 7 or older and this rank 8: use one version"},
		{{&later, sizeof(later)}, "rank 0 uses protocol 99 and this rank 8: use one version"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_comm_options options = {.size = sizeof(options),
		                                  .has_rank = 1,
		                                  .rank = 1,
		                                  .world = 2,
		                                  .kv_set = store_set,
		                                  .kv_get = store_get,
		                                  .kv_arg = &rows[i].store};
		struct rh_comm_error err = {0};
		struct rh_comm *comm = NULL;

		assert_int_equal(rh_comm_init(&options, &comm, &err), RH_COMM_EINVAL);
		assert_non_null(strstr(err.text, rows[i].error));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_team__a_malformed_host),
		cmocka_unit_test(test_team__a_malformed_table_of_algorithms),
		cmocka_unit_test(test_team__an_address_of_another_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
