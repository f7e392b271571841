/* SPDX-License-Identifier: Apache-2.0 */
#include "build/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "host/fixture.h"

static const struct rh_replica_type ranks_chief = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Chief", .default_replicas = 1, .flags = RH_REPLICA_RANKED};
static const struct rh_replica_type ranks_server = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Server", .default_replicas = 1};
static const struct rh_replica_type ranks_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1, .flags = RH_REPLICA_RANKED};
static const struct rh_replica_type *const ranks_types[] = {&ranks_chief, &ranks_server, &ranks_worker, NULL};

static const struct rh_kind ranks_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "RankJob",
	.plural = "rankjobs",
	.singular = "rankjob",
	.framework = "rank",
	.controller = "rankjob-controller",
	.replicas_field = "rankReplicaSpecs",
	.types = ranks_types,
	.container = "main",
	.port_name = "rank-port",
	.port = 2222,
	.restart_policy = "Never",
	.flags = RH_KIND_SERVICES,
};

static const struct rh_kind *ranks_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &ranks_kind : NULL;
}

static const struct rh_plugin ranks_plugin = {
	.head = RH_HEAD(struct rh_plugin), .name = "rank", .release = "1", .describe = ranks_describe};

#define RANKS_POD(more) "template: {spec: {containers: [{name: main, image: i" more "}, {name: side, image: i}]}}"
#define RANKS_JOB(annotation, replicas)                                      \
	"apiVersion: example.org/v1\nkind: RankJob\n"                            \
	"metadata: {name: j, namespace: team, uid: u, annotations: {" annotation \
	"}}\nspec:\n  rankReplicaSpecs:\n" replicas
#define NATIVE "roundhouse.dev/comm: native"
#define ALL_TYPES                                                                         \
	"    Worker: {replicas: 2, " RANKS_POD("") "}\n    Server: {replicas: 3, " RANKS_POD( \
		"") "}\n    Chief: {replicas: 1, " RANKS_POD("") "}\n"

struct ranks_row {
	const char *name;
	const char *job;
	const char *type;
	int32_t index;
	const char *want; /* variables of the main container behind RH_COMM_BACKEND and RH_COMM_JOB */
};

static const struct ranks_row ranks_rows[] = {
	{"the first", RANKS_JOB(NATIVE, ALL_TYPES), "Chief", 0, "RANK=0 WORLD=3 HOST=j-chief-0 PORT=2223 "},
	{"the last", RANKS_JOB(NATIVE, ALL_TYPES), "Worker", 1, "RANK=2 WORLD=3 HOST=j-chief-0 PORT=2223 "},
	{"a server", RANKS_JOB(NATIVE, ALL_TYPES), "Server", 2, ""},
	{"no backend", RANKS_JOB("", ALL_TYPES), "Worker", 0, ""},
	{"without a chief", RANKS_JOB(NATIVE, "    Worker: {replicas: 2, " RANKS_POD("") "}\n"), "Worker", 1,
     "RANK=1 WORLD=2 HOST=j-worker-0 PORT=2223 "},
	{"a chief of none",
     RANKS_JOB(NATIVE, "    Chief: {replicas: 0, " RANKS_POD("") "}\n    Worker: {replicas: 2, " RANKS_POD("") "}\n"),
     "Worker", 1, "RANK=1 WORLD=2 HOST=j-worker-0 PORT=2223 "},
	{"a port of the job's own",
     RANKS_JOB(NATIVE,
               "    Worker: {replicas: 1, " RANKS_POD(", ports: [{name: x, containerPort: 1}, {name: rank-port, "
                                                      "containerPort: 77}]") "}\n"),
     "Worker", 0, "RANK=0 WORLD=1 HOST=j-worker-0 PORT=78 "},
	{"the last port of all",
     RANKS_JOB(NATIVE,
               "    Worker: {replicas: 1, " RANKS_POD(", ports: [{name: rank-port, containerPort: 65535}]") "}\n"),
     "Worker", 0, "RANK=0 WORLD=1 HOST=j-worker-0 PORT=65534 "},
	{"ranks of the job's own",
     RANKS_JOB(NATIVE, "    Worker: {replicas: 1, " RANKS_POD(", env: [{name: RANK, value: '7'}]") "}\n"), "Worker", 0,
     ""},
	{"our own ranks of the job's own",
     RANKS_JOB(NATIVE, "    Worker: {replicas: 1, " RANKS_POD(", env: [{name: RH_COMM_RANK, value: '7'}]") "}\n"),
     "Worker", 0, "RANK=7 "},
	{"a host of the job's own",
     RANKS_JOB(NATIVE, "    Worker: {replicas: 1, " RANKS_POD(", env: [{name: RH_COMM_HOST, value: h}]") "}\n"),
     "Worker", 0, "HOST=h RANK=0 WORLD=1 PORT=2223 "},
	{"an address of the framework's",
     RANKS_JOB(NATIVE, "    Worker: {replicas: 1, " RANKS_POD(", env: [{name: MASTER_ADDR, value: h}]") "}\n"),
     "Worker", 0, ""},
};

static struct rh_json *ranks_build(struct fixture *fixture, const char *type, int32_t index)
{
	rh_auto(builder) builder = NULL;
	struct rh_json *pod = NULL;

	assert_int_equal(rh_builder_new(&fixture->snapshot, &builder, &fixture->err), 0);
	if (rh_build_pod(builder, type, index, &pod, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	return pod;
}

static void ranks_print(const struct rh_json *container, struct rh_str *out)
{
	static const char prefix[] = "RH_COMM_";
	const struct rh_json *item = rh_json_first(rh_json_get(container, "env"));

	for (; item; item = rh_json_next(item)) {
		const char *name = rh_json_string(rh_json_get(item, "name"));

		if (rh_starts_with(name, prefix) && strcmp(name, "RH_COMM_JOB") != 0 && strcmp(name, "RH_COMM_BACKEND") != 0)
			rh_str_appendf(out, "%s=%s ", name + strlen(prefix), rh_json_string(rh_json_get(item, "value")));
	}
}

static void test_ranks__on_a_cluster(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ranks_rows) / sizeof(ranks_rows[0]); i++) {
		const struct ranks_row *row = &ranks_rows[i];
		auto_fixture fixture;
		rh_auto_str have = {0};

		fixture_open(&fixture, &ranks_plugin, row->job);
		rh_auto(json) pod = ranks_build(&fixture, row->type, row->index);
		ranks_print(rh_json_at(pod, "spec.containers[0]"), &have);
		if (strcmp(rh_str_text(&have), row->want) != 0)
			fail_msg("%s: %s, not %s", row->name, rh_str_text(&have), row->want);
	}
}

static void test_ranks__in_every_container(void **state)
{
	auto_fixture fixture;
	rh_auto_str have = {0};

	(void)state;
	fixture_open(&fixture, &ranks_plugin, RANKS_JOB(NATIVE, ALL_TYPES));
	rh_auto(json) pod = ranks_build(&fixture, "Worker", 0);
	ranks_print(rh_json_at(pod, "spec.containers[1]"), &have);
	assert_string_equal(rh_str_text(&have), "RANK=1 WORLD=3 HOST=j-chief-0 PORT=2223 ");
}

/* Ports are held for the run: the one behind the framework's may be another replica's. */
static void test_ranks__on_one_machine(void **state)
{
	struct rh_address places[] = {
		{.type = "Chief", .host = "127.1.0.1", .port = 20000, .comm_port = 20007},
		{.type = "Worker", .host = "127.1.0.2", .port = 20001, .comm_port = 20008},
		{.type = "Worker", .index = 1, .host = "127.1.0.3", .port = 20002},
	};
	const struct rh_addresses plan = {places, 3};
	auto_fixture fixture, other;
	rh_auto_str have = {0}, torch = {0};

	(void)state;
	fixture_open(&fixture, &ranks_plugin, RANKS_JOB(NATIVE, ALL_TYPES));
	fixture.snapshot.addresses = &plan;
	rh_auto(json) pod = ranks_build(&fixture, "Worker", 1);
	ranks_print(rh_json_at(pod, "spec.containers[0]"), &have);
	assert_string_equal(rh_str_text(&have), "RANK=2 WORLD=3 HOST=127.1.0.1 PORT=20007 ");
	fixture_open(&other, &ranks_plugin,
	             RANKS_JOB(NATIVE, "    Chief: {replicas: 1, " RANKS_POD(
									   ", env: [{name: MASTER_ADDR, value: h}, {name: RANK, value: '0'}]") "}\n"));
	other.snapshot.addresses = &plan;
	rh_auto(json) known = ranks_build(&other, "Chief", 0);
	ranks_print(rh_json_at(known, "spec.containers[0]"), &torch);
	assert_string_equal(rh_str_text(&torch), "PORT=20007 ");
}

static void test_ranks__memory(void **state)
{
	auto_fixture fixture;
	int r = RH_ENOMEM;

	(void)state;
	fixture_open(&fixture, &ranks_plugin, RANKS_JOB(NATIVE, ALL_TYPES));
	rh_auto(json) pod = ranks_build(&fixture, "Server", 0);
	for (long n = 0; r == RH_ENOMEM; n++) {
		rh_auto(json) copy = rh_json_copy(pod);

		assert_in_range(n, 0, 1000);
		rh_mem_fail_after(n);
		r = rh_ranks_add(&fixture.snapshot, "Worker", 0, copy);
		rh_mem_fail_after(-1);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranks__on_a_cluster),
		cmocka_unit_test(test_ranks__in_every_container),
		cmocka_unit_test(test_ranks__on_one_machine),
		cmocka_unit_test(test_ranks__memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
