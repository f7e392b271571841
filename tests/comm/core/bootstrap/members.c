/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/members.h"

#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

struct rh_comm_env member_env(int32_t rank, int32_t world)
{
	return (struct rh_comm_env){.rank = rank,
	                            .world = world,
	                            .host = "127.0.0.1",
	                            .backend = "native",
	                            .job = "job-1",
	                            .secret = "hush",
	                            .init_timeout = MEMBER_PATIENCE,
	                            .op_timeout = MEMBER_PATIENCE,
	                            .death_timeout = 5 * RH_COMM_SECOND,
	                            .slow = MEMBER_PATIENCE};
}

struct rh_comm_server *members_server(int32_t world, int32_t *ret_port)
{
	struct rh_comm_env env = member_env(0, world);
	struct rh_comm_server *server = NULL;
	struct rh_comm_error err;

	assert_int_equal(rh_comm_server_new(&env, &server, &err), 0);
	*ret_port = rh_comm_server_port(server);
	assert_true(*ret_port > 0);
	assert_string_equal(rh_comm_server_host(server), "127.0.0.1");
	return server;
}

static void *serve(void *arg)
{
	struct member *member = arg;

	while (!atomic_load(&member->stop) && rh_comm_client_serve(member->client, 100000)) {
		struct rh_comm_answer answer = {.reached = atomic_load(&member->reached)};

		if (answer.reached > 0 && rh_comm_client_has_query(member->client, &answer.query))
			rh_comm_client_answer(member->client, &answer);
	}
	return NULL;
}

void member_join(struct member *member, int32_t rank, int32_t world, int32_t port)
{
	struct rh_comm_env env = member_env(rank, world);
	struct rh_comm_error err = {.text = ""};

	env.port = port;
	atomic_init(&member->stop, false);
	atomic_init(&member->reached, 0);
	assert_int_equal(rh_comm_client_new(&env, rh_comm_now() + MEMBER_PATIENCE, &member->client, &err), 0);
	assert_int_equal(pthread_create(&member->thread, NULL, serve, member), 0);
}

void member_part(struct member *member)
{
	atomic_store(&member->stop, true);
	rh_comm_client_wake(member->client);
	(void)pthread_join(member->thread, NULL);
	rh_comm_client_free(member->client);
}

int32_t member_await_end(struct member *member, struct rh_comm_error *err)
{
	for (int i = 0; i < 6000 && rh_comm_client_check(member->client, err) == 0; i++)
		(void)usleep(10000);
	return rh_comm_client_check(member->client, err);
}
