/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/env.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/core/error.h"

#define SLOTS 64

/* An environment: "NAME=value NAME=value". What is found is lent for the next SLOTS finds. */
static const char *look_up(void *arg, const char *name)
{
	static char slots[SLOTS][100];
	static size_t used;
	const char *at = arg;
	size_t length = strlen(name);

	while (*at) {
		size_t all = strcspn(at, " ");

		if (all > length && strncmp(at, name, length) == 0 && at[length] == '=') {
			char *slot = slots[used++ % SLOTS];

			memcpy(slot, at + length + 1, all - length - 1);
			slot[all - length - 1] = '\0';
			return slot;
		}
		at += all + (at[all] == ' ');
	}
	return NULL;
}

#define PLACE " RH_COMM_HOST=h RH_COMM_PORT=7"

static void test_env__ranks(void **state)
{
	static const struct {
		const char *name;
		const char *environment;
		int32_t rank;
		int32_t world;
		const char *error; /* NULL: rank and world */
	} rows[] = {
		{"own", "RH_COMM_RANK=1 RH_COMM_WORLD=4" PLACE, 1, 4, NULL},
		{"Open MPI", "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3" PLACE, 2, 3, NULL},
		{"PMI", "PMI_RANK=0 PMI_SIZE=2" PLACE, 0, 2, NULL},
		{"torch", "RANK=3 WORLD_SIZE=4 MASTER_ADDR=m MASTER_PORT=5", 3, 4, NULL},
		{"two that agree", "RANK=1 WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2" PLACE, 1, 2, NULL},
		{"empty is not set", "RANK= WORLD_SIZE= RH_COMM_RANK=0 RH_COMM_WORLD=2" PLACE, 0, 2, NULL},
		{"alone", "RANK=0 WORLD_SIZE=1", 0, 1, NULL},
		{"ranks that disagree", "RANK=1 WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2" PLACE, 0, 0,
	     "OMPI_COMM_WORLD_RANK gives 0 and RANK gives 1"},
		{"worlds that disagree", "RH_COMM_RANK=1 RH_COMM_WORLD=2 RANK=1 WORLD_SIZE=3" PLACE, 0, 0,
	     "RH_COMM_WORLD gives 2 and WORLD_SIZE gives 3"},
		{"half", "RANK=1" PLACE, 0, 0, "RANK is set and WORLD_SIZE is not"},
		{"the other half", "RH_COMM_WORLD=1", 0, 0, "RH_COMM_WORLD is set and RH_COMM_RANK is not"},
		{"nobody", "", 0, 0, "the rank is not known"},
		{"no number", "RANK=one WORLD_SIZE=2", 0, 0, "RANK: \"one\" must be a whole number"},
		{"negative", "RANK=-1 WORLD_SIZE=2", 0, 0, "RANK: \"-1\""},
		{"no world", "RANK=0 WORLD_SIZE=0", 0, 0, "WORLD_SIZE: \"0\""},
		{"beyond the world", "RANK=2 WORLD_SIZE=2" PLACE, 0, 0, "RANK is 2, which is not below WORLD_SIZE, 2"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_comm_error err = {.text = ""};
		struct rh_comm_env env = {.rank = -1};
		int32_t r = rh_comm_env_read(NULL, look_up, (void *)(uintptr_t)rows[i].environment, &env, &err);

		if (rows[i].error ? r != RH_COMM_EINVAL || !strstr(err.text, rows[i].error)
		                  : r != 0 || env.rank != rows[i].rank || env.world != rows[i].world)
			fail_msg("%s: %d: %s", rows[i].name, (int)r, err.text);
	}
}

#define TWO "RANK=1 WORLD_SIZE=2 "
#define MPIRUN "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_MCA_ess_base_jobid=4711 "

static void test_env__addresses(void **state)
{
	static const struct {
		const char *name;
		const char *environment;
		const char *host;
		int32_t port; /* 0: any */
		const char *error;
	} rows[] = {
		{"own", TWO "MASTER_PORT=8 MASTER_ADDR=m RH_COMM_PORT=9 RH_COMM_HOST=h", "h", 9, NULL},
		{"torch's, one port on", TWO "MASTER_ADDR=m MASTER_PORT=29500", "m", 29501, NULL},
		{"the parameter server's", TWO "RH_COMM_PORT=9 DMLC_PS_ROOT_URI=s", "s", 9, NULL},
		{"no host", TWO "RH_COMM_PORT=9", NULL, 0, "the address of rank 0 is missing: set RH_COMM_HOST"},
		{"no port", TWO "RH_COMM_HOST=h", NULL, 0, "the port of rank 0 is missing"},
		{"no port beyond the last", TWO "MASTER_ADDR=m MASTER_PORT=65535", NULL, 0, "MASTER_PORT: \"65535\""},
		{"no such port", TWO "RH_COMM_HOST=h RH_COMM_PORT=70000", NULL, 0, "RH_COMM_PORT: \"70000\""},
		{"mpirun on one host", MPIRUN "OMPI_COMM_WORLD_LOCAL_SIZE=2", "127.0.0.1", 0, NULL},
		{"mpirun on two", MPIRUN "OMPI_COMM_WORLD_LOCAL_SIZE=1", NULL, 0, "its option -x passes the variable on"},
		{"mpirun, with the address", MPIRUN "OMPI_COMM_WORLD_LOCAL_SIZE=1 RH_COMM_PORT=9 RH_COMM_HOST=h", "h", 9, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_comm_error err = {.text = ""};
		struct rh_comm_env env = {.rank = -1};
		int32_t r = rh_comm_env_read(NULL, look_up, (void *)(uintptr_t)rows[i].environment, &env, &err);

		if (rows[i].error ? r != RH_COMM_EINVAL || !strstr(err.text, rows[i].error)
		                  : r != 0 || strcmp(env.host, rows[i].host) != 0 || env.port <= 0 ||
		                        (rows[i].port != 0 && env.port != rows[i].port))
			fail_msg("%s: %d: %s", rows[i].name, (int)r, err.text);
	}
}

/* Two jobs of one machine must not meet. */
static void test_env__mpirun_makes_port_and_job_of_its_own(void **state)
{
	static const char *const jobs[] = {
		"PMI_RANK=0 PMI_SIZE=2 MPI_LOCALNRANKS=2 PMIX_NAMESPACE=a",
		"PMI_RANK=1 PMI_SIZE=2 MPI_LOCALNRANKS=2 PMIX_NAMESPACE=a",
		"PMI_RANK=0 PMI_SIZE=2 MPI_LOCALNRANKS=2 PMIX_NAMESPACE=b",
	};
	struct rh_comm_env env[3];

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(rh_comm_env_read(NULL, look_up, (void *)(uintptr_t)jobs[i], &env[i], NULL), 0);
	assert_int_equal(env[0].port, env[1].port);
	assert_int_not_equal(env[0].port, env[2].port);
	assert_string_equal(env[0].job_text, "mpi a");
	assert_string_equal(env[2].job_text, "mpi b");
	assert_true(env[0].launched_by_mpi);
}

static void test_env__settings(void **state)
{
	static const char environment[] = TWO "RH_COMM_TIMEOUT=7 RH_COMM_INIT_TIMEOUT=8 RH_COMM_DEATH_TIMEOUT=9 "
										  "RH_COMM_SLOW=3 RH_COMM_FUSION=0 RH_COMM_LOG=on" PLACE;
	const struct rh_comm_options options = {
		.op_timeout = -1, .init_timeout = 5, .backend = "ucx", .job = "j", .secret = "s", .host = "o", .port = 3};
	struct rh_comm_env env;

	(void)state;
	assert_int_equal(rh_comm_env_read(NULL, look_up, (void *)(uintptr_t)environment, &env, NULL), 0);
	assert_true(env.op_timeout == 7 * RH_COMM_SECOND && env.init_timeout == 8 * RH_COMM_SECOND);
	assert_true(env.death_timeout == 9 * RH_COMM_SECOND && env.slow == 3 * RH_COMM_SECOND);
	assert_true(env.fusion == 0 && env.log);
	assert_string_equal(env.backend, "auto");
	assert_int_equal(rh_comm_env_read(&options, look_up, (void *)(uintptr_t)environment, &env, NULL), 0);
	assert_true(env.op_timeout == RH_COMM_NEVER && env.init_timeout == 5);
	assert_true(env.port == 3 && strcmp(env.host, "o") == 0 && strcmp(env.backend, "ucx") == 0);
	assert_true(strcmp(env.job, "j") == 0 && strcmp(env.secret, "s") == 0);
	assert_int_equal(rh_comm_env_read(NULL, look_up, (void *)(uintptr_t)(TWO "RH_COMM_LOG=off" PLACE), &env, NULL), 0);
	assert_true(env.fusion == 4 * 1024 * 1024 && env.slow == 10 * RH_COMM_SECOND);
	assert_int_equal(rh_comm_env_read(NULL, look_up, (void *)(uintptr_t)(TWO "RH_COMM_TIMEOUT=soon" PLACE), &env, NULL),
	                 RH_COMM_EINVAL);
}

/* A program that starts its ranks itself inherits variables that have nothing to do with them. */
static void test_env__what_the_caller_gives_counts(void **state)
{
	static const char *const environments[] = {
		TWO PLACE,
		"WORLD_SIZE=4" PLACE,
		"RANK=7" PLACE,
		"RANK=none WORLD_SIZE=none" PLACE,
		"RH_COMM_RANK=1 RH_COMM_WORLD=2" PLACE,
		"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2" PLACE,
		PLACE,
	};
	const struct rh_comm_options options = {.has_rank = 1, .rank = 0, .world = 3};
	struct rh_comm_env env;

	(void)state;
	for (size_t i = 0; i < sizeof(environments) / sizeof(*environments); i++) {
		struct rh_comm_error err = {.text = ""};

		if (rh_comm_env_read(&options, look_up, (void *)(uintptr_t)environments[i], &env, &err) != 0)
			fail_msg("%s: %s", environments[i], err.text);
		assert_true(env.rank == 0 && env.world == 3 && !env.launched_by_mpi);
	}
	assert_int_equal(rh_comm_env_read(&options, look_up,
	                                  (void *)(uintptr_t)("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3" PLACE), &env,
	                                  NULL),
	                 0);
	assert_true(env.launched_by_mpi);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_env__ranks),
		cmocka_unit_test(test_env__addresses),
		cmocka_unit_test(test_env__mpirun_makes_port_and_job_of_its_own),
		cmocka_unit_test(test_env__settings),
		cmocka_unit_test(test_env__what_the_caller_gives_counts),
	};

	return cmocka_run_group_tests_name("comm/core/env", tests, NULL, NULL);
}
