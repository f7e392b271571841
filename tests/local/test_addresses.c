/* SPDX-License-Identifier: Apache-2.0 */
#include "local/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "job/kinds.h"
#include "job/support.h"
#include "local/scratch.h"

/* Two pools, as those of two runs. */
struct fixture {
	char *folder;
	struct rh_config *config;
	struct rh_locks *locks[2];
	struct rh_address_pool *pools[2];
	struct rh_str notes;
	struct rh_kind kind; /* PyTorchJob, whose flags a test may change */
};

static void take_note(void *arg, const char *text)
{
	struct rh_str *notes = arg;

	rh_str_appendf(notes, "%s\n", text);
}

static int set_up(void **state)
{
	struct fixture *fixture = rh_alloc(sizeof(*fixture));

	fixture->folder = test_scratch();
	fixture->config = rh_config_new();
	rh_free(fixture->config->state_dir);
	fixture->config->state_dir = rh_strdup(fixture->folder);
	fixture->kind = test_pytorch;
	for (int i = 0; i < 2; i++) {
		struct rh_address_options options = {.config = fixture->config, .note = take_note, .arg = &fixture->notes};

		assert_int_equal(rh_locks_open(fixture->folder, &fixture->locks[i], NULL), 0);
		options.locks = fixture->locks[i];
		assert_int_equal(rh_address_pool_new(&options, &fixture->pools[i], NULL), 0);
	}
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 2; i++) {
		rh_address_pool_free(fixture->pools[i]);
		rh_locks_free(fixture->locks[i]);
	}
	rh_config_free(fixture->config);
	rh_str_deinit(&fixture->notes);
	test_scratch_remove(fixture->folder);
	rh_free(fixture);
	return 0;
}

/* A job with one Master and some Workers; ports is the text of the containers' further members. */
static struct rh_job *make_job(const struct fixture *fixture, const char *name, int workers, const char *ports)
{
	rh_auto_free char *text =
		rh_asprintf("{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'%s','uid':'uid-%s'},"
	                "'spec':{'pytorchReplicaSpecs':{"
	                "'Master':{'replicas':1,'template':{'spec':{'containers':[{'name':'pytorch','image':'i'%s}]}}},"
	                "'Worker':{'replicas':%d,'template':{'spec':{'containers':[{'name':'pytorch','image':'i'%s}]}}}}}}",
	                name, name, ports, workers, ports);

	assert_non_null(text);
	return test_job(&fixture->kind, text);
}

static void plan(struct rh_address_pool *pool, const struct rh_job *job, int32_t attempt, struct rh_addresses *out)
{
	struct rh_error err = {0};

	if (rh_address_pool_plan(pool, job, attempt, out, &err) < 0)
		fail_msg("%s", err.message);
}

#define auto_addresses __attribute__((cleanup(rh_addresses_deinit))) struct rh_addresses

static void test_addresses__each_replica_has_its_own_place(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = make_job(fixture, "a", 3, "");
	auto_addresses places = {0};

	plan(fixture->pools[0], job, 0, &places);
	assert_int_equal(places.count, 4);
	for (size_t i = 0; i < places.count; i++) {
		const struct rh_address *place = &places.items[i];

		assert_int_equal(strncmp(place->host, "127.", 4), 0);
		assert_int_not_equal(strncmp(place->host, "127.0.", 6), 0);
		assert_in_range(place->port, fixture->config->port_first, fixture->config->port_last);
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(place->host, places.items[k].host);
			assert_int_not_equal(place->port, places.items[k].port);
		}
	}
	assert_ptr_equal(rh_addresses_find(&places, "Worker", 2), &places.items[3]);
}

/* Index 0 of each type may be rank 0 of rh_comm: it has a second port, held as the first. */
static void test_addresses__a_port_for_rh_comm(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = make_job(fixture, "a", 2, "");
	auto_addresses none = {0};
	auto_addresses first = {0};
	auto_addresses same = {0};
	auto_addresses later = {0};

	plan(fixture->pools[0], job, 0, &none);
	assert_int_equal(none.items[0].comm_port, 0);
	assert_int_equal(rh_config_set(fixture->config, "comm", "backend", "native", "test"), 0);
	plan(fixture->pools[0], job, 1, &first);
	plan(fixture->pools[0], job, 1, &same);
	assert_memory_equal(first.items, same.items, first.count * sizeof(*first.items));
	for (size_t i = 0; i < first.count; i++) {
		int32_t port = first.items[i].comm_port;

		assert_int_equal(port != 0, first.items[i].index == 0);
		for (size_t k = 0; k < first.count && port != 0; k++) {
			assert_int_not_equal(port, first.items[k].port);
			assert_true(k == i || port != first.items[k].comm_port);
		}
	}
	plan(fixture->pools[0], job, 2, &later);
	assert_int_not_equal(first.items[0].comm_port, later.items[0].comm_port);
}

/* What an attempt held is free again behind it. */
static void test_addresses__ports_for_rh_comm_are_given_back(void **state)
{
	struct fixture *fixture = *state;
	struct rh_address_options options = {.config = fixture->config, .locks = fixture->locks[0]};
	rh_auto(address_pool) pool = NULL;
	rh_auto(job) job = make_job(fixture, "a", 1, "");

	assert_int_equal(rh_config_set(fixture->config, "comm", "backend", "native", "test"), 0);
	fixture->config->port_first = 19520;
	fixture->config->port_last = 19527;
	assert_int_equal(rh_address_pool_new(&options, &pool, NULL), 0);
	for (int32_t attempt = 0; attempt < 9; attempt++) {
		auto_addresses places = {0};

		plan(pool, job, attempt, &places);
	}
}

static void test_addresses__same_attempt_same_plan(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = make_job(fixture, "a", 2, "");
	auto_addresses first = {0};
	auto_addresses second = {0};

	plan(fixture->pools[0], job, 0, &first);
	plan(fixture->pools[0], job, 0, &second);
	assert_int_equal(first.count, second.count);
	assert_memory_equal(first.items, second.items, first.count * sizeof(*first.items));
}

static void test_addresses__scaling_keeps_the_places_that_stay(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) small = make_job(fixture, "a", 2, "");
	rh_auto(job) large = make_job(fixture, "a", 4, "");
	auto_addresses before = {0};
	auto_addresses grown = {0};
	auto_addresses after = {0};

	plan(fixture->pools[0], small, 0, &before);
	plan(fixture->pools[0], large, 0, &grown);
	plan(fixture->pools[0], small, 0, &after);
	assert_int_equal(grown.count, 5);
	assert_memory_equal(before.items, grown.items, before.count * sizeof(*before.items));
	assert_int_equal(after.count, 3);
	assert_memory_equal(before.items, after.items, before.count * sizeof(*before.items));
	/* the ports of the replicas that are gone are free for others again */
	assert_true(rh_locks_take(fixture->locks[1], RH_LOCK_PORT + grown.items[4].port));
	assert_false(rh_locks_take(fixture->locks[1], RH_LOCK_PORT + grown.items[2].port));
}

static void test_addresses__new_attempt_has_fresh_ports(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = make_job(fixture, "a", 2, "");
	auto_addresses first = {0};
	auto_addresses second = {0};

	plan(fixture->pools[0], job, 0, &first);
	plan(fixture->pools[0], job, 1, &second);
	assert_int_equal(second.count, 3);
	for (size_t i = 0; i < second.count; i++) {
		assert_string_equal(first.items[i].host, second.items[i].host);
		for (size_t k = 0; k < first.count; k++)
			assert_int_not_equal(first.items[k].port, second.items[i].port);
		assert_true(rh_locks_take(fixture->locks[1], RH_LOCK_PORT + first.items[i].port));
		assert_false(rh_locks_take(fixture->locks[1], RH_LOCK_PORT + second.items[i].port));
	}
}

static void test_addresses__two_runs_never_collide(void **state)
{
	struct fixture *fixture = *state;
	struct rh_addresses plans[20] = {{0}};

	for (int i = 0; i < 20; i++) {
		rh_auto_free char *name = rh_asprintf("job-%d", i);
		rh_auto(job) job = make_job(fixture, name, 49, "");

		plan(fixture->pools[i % 2], job, 0, &plans[i]);
	}
	for (size_t i = 0; i < 20 * 50; i++) {
		const struct rh_address *one = &plans[i / 50].items[i % 50];

		for (size_t k = 0; k < i; k++) {
			const struct rh_address *other = &plans[k / 50].items[k % 50];

			if (one->port == other->port || strcmp(one->host, other->host) == 0)
				fail_msg("%s:%d and %s:%d", one->host, one->port, other->host, other->port);
		}
	}
	for (int i = 0; i < 20; i++)
		rh_addresses_deinit(&plans[i]);
}

/* Listen on `port` of `host`. @return the socket */
static int listen_on(const char *host, int32_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, host, &to.sin_addr), 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void test_addresses__ports_in_use_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	struct rh_address_options options = {.config = fixture->config, .locks = fixture->locks[0]};
	rh_auto(address_pool) pool = NULL;
	rh_auto(job) job = make_job(fixture, "a", 1, "");
	auto_addresses places = {0};
	int fd = listen_on("127.9.9.9", 19501);

	fixture->config->port_first = 19500;
	fixture->config->port_last = 19502;
	assert_int_equal(rh_address_pool_new(&options, &pool, NULL), 0);
	plan(pool, job, 0, &places);
	assert_int_not_equal(places.items[0].port, 19501);
	assert_int_not_equal(places.items[1].port, 19501);
	assert_int_equal(close(fd), 0);
}

static void test_addresses__no_port_is_left(void **state)
{
	struct fixture *fixture = *state;
	struct rh_address_options options = {.config = fixture->config, .locks = fixture->locks[0]};
	rh_auto(address_pool) pool = NULL;
	rh_auto(job) job = make_job(fixture, "a", 2, "");
	auto_addresses places = {0};
	struct rh_error err = {0};

	fixture->config->port_first = 19510;
	fixture->config->port_last = 19511;
	assert_int_equal(rh_address_pool_new(&options, &pool, NULL), 0);
	assert_int_equal(rh_address_pool_plan(pool, job, 0, &places, &err), RH_EAGAIN);
	assert_string_equal(err.message, "addresses of PyTorchJob a: no port between 19510 and 19511 is free; set another "
	                                 "range: [local] ports");
	/* nothing stays held */
	assert_true(rh_locks_take(fixture->locks[1], RH_LOCK_PORT + 19510));
	assert_true(rh_locks_take(fixture->locks[1], RH_LOCK_PORT + 19511));
}

static void test_addresses__ephemeral_ports_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	struct rh_address_options options = {
		.config = fixture->config, .locks = fixture->locks[0], .note = take_note, .arg = &fixture->notes};
	rh_auto(address_pool) pool = NULL;
	rh_auto(job) job = make_job(fixture, "a", 6, "");
	auto_addresses places = {0};
	FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
	int first = 0;

	assert_non_null(range);
	assert_int_equal(fscanf(range, "%d", &first), 1);
	assert_int_equal(fclose(range), 0);
	fixture->config->port_first = first - 10;
	fixture->config->port_last = first + 10;
	assert_int_equal(rh_address_pool_new(&options, &pool, NULL), 0);
	plan(pool, job, 0, &places);
	for (size_t i = 0; i < places.count; i++)
		assert_true(places.items[i].port < first);
	assert_string_equal(rh_str_text(&fixture->notes), "");
	fixture->config->port_first = first;
	rh_address_pool_free(rh_take(pool));
	assert_int_equal(rh_address_pool_new(&options, &pool, NULL), 0);
	assert_non_null(strstr(rh_str_text(&fixture->notes), "are ephemeral ports of this machine"));
}

static void test_addresses__range_must_be_one(void **state)
{
	static const int32_t rows[][2] = {{0, 10}, {100, 99}, {1000, 65536}, {-5, 20}};
	struct fixture *fixture = *state;
	struct rh_address_options options = {.config = fixture->config, .locks = fixture->locks[0]};

	for (size_t i = 0; i < 4; i++) {
		rh_auto(address_pool) pool = NULL;

		fixture->config->port_first = rows[i][0];
		fixture->config->port_last = rows[i][1];
		assert_int_equal(rh_address_pool_new(&options, &pool, NULL), RH_EINVAL);
	}
}

#define OWN_PORT ",'ports':[{'name':'pytorchjob-port','containerPort':19777}]"

static void test_addresses__own_port_is_kept(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = NULL;
	auto_addresses places = {0};

	fixture->kind.flags &= ~RH_KIND_BINDS_ALL;
	job = make_job(fixture, "a", 1, OWN_PORT);
	plan(fixture->pools[0], job, 0, &places);
	assert_int_equal(places.items[0].port, 19777);
	assert_int_equal(places.items[1].port, 19777);
	assert_string_equal(rh_str_text(&fixture->notes), "");
}

static void test_addresses__own_port_of_those_that_bind_all(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = NULL;
	rh_auto(job) other = NULL;
	auto_addresses places = {0};
	auto_addresses again = {0};
	auto_addresses others = {0};

	fixture->kind.flags |= RH_KIND_BINDS_ALL;
	job = make_job(fixture, "a", 1, OWN_PORT);
	other = make_job(fixture, "b", 1, OWN_PORT);
	plan(fixture->pools[0], job, 0, &places);
	assert_int_equal(places.items[0].port, 19777);
	assert_int_not_equal(places.items[1].port, 19777);
	plan(fixture->pools[0], job, 1, &again);
	assert_int_equal(again.items[0].port, 19777);
	assert_int_not_equal(again.items[1].port, places.items[1].port);
	plan(fixture->pools[1], other, 0, &others);
	assert_int_not_equal(others.items[0].port, 19777);
	assert_non_null(
		strstr(rh_str_text(&fixture->notes), "b: port 19777 of Master 0 is in use on this machine; it gets port "));
}

static void test_addresses__own_port_that_is_in_use(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = NULL;
	auto_addresses places = {0};
	int fd = listen_on("0.0.0.0", 19777);

	fixture->kind.flags &= ~RH_KIND_BINDS_ALL;
	job = make_job(fixture, "a", 1, OWN_PORT);
	plan(fixture->pools[0], job, 0, &places);
	assert_int_not_equal(places.items[0].port, 19777);
	assert_int_not_equal(places.items[1].port, 19777);
	assert_int_equal(close(fd), 0);
}

static void test_addresses__shared_port(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = NULL;
	auto_addresses places = {0};
	auto_addresses next = {0};

	fixture->kind.flags = (fixture->kind.flags & ~RH_KIND_BINDS_ALL) | RH_KIND_SHARED_PORT;
	job = make_job(fixture, "a", 3, "");
	plan(fixture->pools[0], job, 0, &places);
	assert_int_equal(places.items[1].port, places.items[2].port);
	assert_int_equal(places.items[1].port, places.items[3].port);
	assert_int_not_equal(places.items[0].port, places.items[1].port);
	plan(fixture->pools[0], job, 1, &next);
	assert_int_not_equal(places.items[1].port, next.items[1].port);
	assert_true(rh_locks_take(fixture->locks[1], RH_LOCK_PORT + places.items[1].port));
	assert_false(rh_locks_take(fixture->locks[1], RH_LOCK_PORT + next.items[3].port));
}

static void test_addresses__found_by_label(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = make_job(fixture, "a", 2, "");
	auto_addresses places = {0};

	plan(fixture->pools[0], job, 0, &places);
	assert_string_equal(rh_address_pool_find(fixture->pools[0], "uid-a", "worker", 1)->host, places.items[2].host);
	assert_string_equal(rh_address_pool_find(fixture->pools[0], "uid-a", "Master", 0)->host, places.items[0].host);
	assert_null(rh_address_pool_find(fixture->pools[0], "uid-a", "worker", 2));
	assert_null(rh_address_pool_find(fixture->pools[0], "uid-a", "chief", 0));
	assert_null(rh_address_pool_find(fixture->pools[0], "uid-b", "worker", 0));
}

static void test_addresses__hosts(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = make_job(fixture, "a", 1, "");
	auto_addresses places = {0};
	rh_auto_str hosts = {0};
	rh_auto_str other = {0};
	rh_auto_free char *wanted = NULL;

	plan(fixture->pools[0], job, 0, &places);
	rh_address_pool_hosts(fixture->pools[0], "default", &hosts);
	rh_address_pool_hosts(fixture->pools[0], "elsewhere", &other);
	wanted =
		rh_asprintf("%s\ta-master-0 a-master-0.default a-master-0.default.svc a-master-0.default.svc.cluster.local\n"
	                "%s\ta-worker-0 a-worker-0.default a-worker-0.default.svc a-worker-0.default.svc.cluster.local\n",
	                places.items[0].host, places.items[1].host);
	assert_string_equal(rh_str_text(&hosts), wanted);
	assert_string_equal(rh_str_text(&other), "");
}

static void test_addresses__a_type_without_index_is_named_without(void **state)
{
	struct fixture *fixture = *state;
	struct rh_replica_type master = *test_pytorch.types[0];
	const struct rh_replica_type *const types[] = {&master, test_pytorch.types[1], NULL};
	rh_auto(job) job = NULL;
	auto_addresses places = {0};
	rh_auto_str hosts = {0};

	master.flags |= RH_REPLICA_UNINDEXED;
	fixture->kind.types = types;
	job = make_job(fixture, "a", 1, "");
	plan(fixture->pools[0], job, 0, &places);
	rh_address_pool_hosts(fixture->pools[0], "default", &hosts);
	assert_non_null(strstr(rh_str_text(&hosts), "\ta-master a-master.default "));
	assert_non_null(strstr(rh_str_text(&hosts), "\ta-worker-0 a-worker-0.default "));
}

static void test_addresses__many_replicas_need_several_blocks(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = make_job(fixture, "a", 600, "");
	auto_addresses places = {0};

	plan(fixture->pools[0], job, 0, &places);
	assert_int_equal(places.count, 601);
	for (size_t i = 0; i < places.count; i++) {
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(places.items[i].host, places.items[k].host);
	}
}

static void test_addresses__without_memory(void **state)
{
	struct fixture *fixture = *state;
	rh_auto(job) job = make_job(fixture, "a", 9, "");
	int r = RH_ENOMEM;

	for (long count = 0; count < 100 && r < 0; count++) {
		auto_addresses places = {0};

		(void)rh_mem_fail_after(count);
		r = rh_address_pool_plan(fixture->pools[0], job, 0, &places, NULL);
		(void)rh_mem_fail_after(-1);
		assert_int_equal(places.count, r < 0 ? 0 : 10);
		assert_true(r == 0 || r == RH_ENOMEM);
	}
	assert_int_equal(r, 0);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_addresses__each_replica_has_its_own_place),
		ROW(test_addresses__a_port_for_rh_comm),
		ROW(test_addresses__ports_for_rh_comm_are_given_back),
		ROW(test_addresses__same_attempt_same_plan),
		ROW(test_addresses__scaling_keeps_the_places_that_stay),
		ROW(test_addresses__new_attempt_has_fresh_ports),
		ROW(test_addresses__two_runs_never_collide),
		ROW(test_addresses__ports_in_use_are_left_out),
		ROW(test_addresses__no_port_is_left),
		ROW(test_addresses__ephemeral_ports_are_left_out),
		ROW(test_addresses__range_must_be_one),
		ROW(test_addresses__own_port_is_kept),
		ROW(test_addresses__own_port_of_those_that_bind_all),
		ROW(test_addresses__own_port_that_is_in_use),
		ROW(test_addresses__shared_port),
		ROW(test_addresses__found_by_label),
		ROW(test_addresses__hosts),
		ROW(test_addresses__a_type_without_index_is_named_without),
		ROW(test_addresses__many_replicas_need_several_blocks),
		ROW(test_addresses__without_memory),
	};

	return cmocka_run_group_tests_name("local/addresses", tests, NULL, NULL);
}
