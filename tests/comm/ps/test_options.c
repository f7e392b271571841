/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/options.h"

/* An environment: names and values, one after another; NULL ends it. */
#define VARIABLES_MAX 9
#define CHIEF                                                                                                   \
	"{\"cluster\":{\"chief\":[\"c:1\"],\"ps\":[\"ps-0:2222\",\"ps-1:2223\"],\"worker\":[\"w-0:1\",\"w-1:1\"]}," \
	"\"task\":{\"type\":\"chief\",\"index\":0},\"environment\":\"cloud\"}"
#define WORKER                                                                                             \
	"{ \"task\" : {\"index\":1, \"type\":\"worker\"},\n \"cluster\" : {\"worker\":[\"w-0:1\",\"w-1:1\"], " \
	"\"chief\":[\"c:1\"],\"x\":{\"a\":[1,{}],\"b\":null},\"ps\":[\"ps-0:2222\",\"ps-1:2223\"]}}"
#define SERVER                                                                                                  \
	"{\"cluster\":{\"chief\":[\"c:1\"],\"ps\":[\"ps-0:2222\",\"ps-1:2223\"],\"worker\":[\"w-0:1\",\"w-1:1\"]}," \
	"\"task\":{\"type\":\"ps\",\"index\":1}}"

static const char *lookup(void *arg, const char *name)
{
	const char *const *variables = arg;

	for (; variables[0]; variables += 2)
		if (strcmp(variables[0], name) == 0)
			return variables[1];
	return NULL;
}

static void *borrow(const char *const *variables)
{
	union {
		const char *const *from;
		void *to;
	} mark = {.from = variables};

	return mark.to;
}

static const struct rh_ps_sources *sources_of(const char *const *variables, struct rh_ps_sources *sources)
{
	*sources = (struct rh_ps_sources){.variables = {lookup, borrow(variables)}};
	return sources;
}

/* The servers, printed again, are those of the text. */
static void assert_places(const struct rh_ps_settings *settings, const char *expected)
{
	char text[4 * RH_PS_PLACE_TEXT] = "";
	size_t length = 0;

	for (int32_t i = 0; i < settings->server_count && i < 4; i++) {
		if (i > 0)
			text[length++] = ',';
		rh_ps_place_print(&settings->places[i], text + length);
		length += strlen(text + length);
	}
	assert_string_equal(text, expected);
}

static void test_options__workers_read_all_sources(void **state)
{
	static const struct {
		const char *name;
		const char *variables[VARIABLES_MAX];
		int32_t worker;
		int32_t workers;
		const char *servers;
		int32_t count;
	} rows[] = {
		{"own", {"RH_PS_WORKER", "2", "RH_PS_WORKERS", "4", "RH_PS_SERVERS", "a:1"}, 2, 4, "a:1", 1},
		{"chief", {"TF_CONFIG", CHIEF}, 0, 3, "ps-0:2222,ps-1:2223", 2},
		{"second worker", {"TF_CONFIG", WORKER}, 2, 3, "ps-0:2222,ps-1:2223", 2},
		{"agreeing", {"TF_CONFIG", WORKER, "RH_PS_WORKER", "2"}, 2, 3, "ps-0:2222,ps-1:2223", 2},
		{"DMLC",
	     {"DMLC_WORKER_ID", "1", "DMLC_NUM_WORKER", "2", "RH_PS_SERVERS", "[::1]:5,b:6"},
	     1,
	     2,
	     "[::1]:5,b:6",
	     2},
	};

	struct rh_ps_sources sources;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_ps_settings settings;
		struct rh_comm_error err = {0};

		if (rh_ps_settings_read(NULL, sources_of(rows[i].variables, &sources), &settings, &err) < 0)
			fail_msg("%s: %s", rows[i].name, err.text);
		assert_int_equal(settings.worker, rows[i].worker);
		assert_int_equal(settings.workers, rows[i].workers);
		assert_places(&settings, rows[i].servers);
		assert_int_equal(settings.server_count, rows[i].count);
		assert_string_equal(settings.secret, "");
		rh_ps_settings_free(&settings);
	}
}

static void test_options__workers_name_what_is_wrong(void **state)
{
	static const struct {
		const char *variables[VARIABLES_MAX];
		const char *words;
	} rows[] = {
		{{NULL}, "number of workers is missing: set RH_PS_WORKERS"},
		{{"RH_PS_WORKERS", "2"}, "index of the worker is missing: set RH_PS_WORKER"},
		{{"RH_PS_WORKERS", "2", "RH_PS_WORKER", "1"}, "set RH_PS_SERVERS"},
		{{"RH_PS_WORKERS", "2", "RH_PS_WORKER", "2", "RH_PS_SERVERS", "a:1"}, "2, of 2 workers"},
		{{"RH_PS_WORKERS", "two"}, "RH_PS_WORKERS: \"two\""},
		{{"RH_PS_WORKERS", "2", "DMLC_NUM_WORKER", "3"}, "RH_PS_WORKERS gives 2 and DMLC_NUM_WORKER gives 3"},
		{{"TF_CONFIG", CHIEF, "RH_PS_WORKER", "1"}, "RH_PS_WORKER gives 1 and TF_CONFIG gives 0"},
		{{"TF_CONFIG", CHIEF, "RH_PS_SERVERS", "x:1"}, "RH_PS_SERVERS gives x:1 and TF_CONFIG gives ps-0:2222"},
		{{"TF_CONFIG", CHIEF, "RH_PS_SERVERS", "ps-0:2222"}, "RH_PS_SERVERS gives 1 servers and TF_CONFIG gives 2"},
		{{"RH_PS_WORKERS", "2", "RH_PS_WORKER", "1", "RH_PS_SERVERS", "a:1,:2"}, "\":2\" must be host:port"},
		{{"RH_PS_WORKERS", "2", "RH_PS_WORKER", "1", "RH_PS_SERVERS", "a:1,"}, "\"\" must be host:port"},
		{{"RH_PS_WORKERS", "2", "RH_PS_WORKER", "1", "RH_PS_SERVERS", "a:65536"}, "\"a:65536\" must be host:port"},
		{{"RH_PS_WORKERS", "2", "RH_PS_WORKER", "1", "RH_PS_SERVERS", "a:1x"}, "\"a:1x\" must be host:port"},
		{{"RH_PS_WORKERS", "2", "RH_PS_WORKER", "1", "RH_PS_SERVERS", "[]:1"}, "\"[]:1\" must be host:port"},
		{{"RH_PS_WORKERS", "2", "RH_PS_WORKER", "1", "RH_PS_SERVERS", "[::1:1"}, "\"[::1:1\" must be host:port"},
		{{"TF_CONFIG", "{\"cluster\":{\"ps\":[\"a\"]},\"task\":{\"type\":\"ps\",\"index\":0}}"},
	     "the addresses of cluster.ps must be host:port"},
		{{"TF_CONFIG", CHIEF, "RH_PS_PART", "100"}, "parts have 100 bytes"},
		{{"TF_CONFIG", CHIEF, "RH_PS_TIMEOUT", "-1"}, "RH_PS_TIMEOUT"},
		{{"TF_CONFIG", "{\"cluster\":{\"ps\":[\"a:1\",]},\"task\":{\"index\":0}}"}, "TF_CONFIG is malformed"},
		{{"TF_CONFIG", "{\"cluster\":{\"ps\":[\"a:1\"],\"worker\":[1]},\"task\":{\"index\":0}}"},
	     "TF_CONFIG is malformed"},
	};

	struct rh_ps_sources sources;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_ps_settings settings;
		struct rh_comm_error err = {0};

		assert_int_equal(rh_ps_settings_read(NULL, sources_of(rows[i].variables, &sources), &settings, &err),
		                 RH_COMM_EINVAL);
		if (!strstr(err.text, rows[i].words))
			fail_msg("row %zu: %s", i, err.text);
	}
}

static void test_options__servers_read_all_sources(void **state)
{
	/* SERVER is one long text. NOLINTBEGIN(bugprone-suspicious-missing-comma) */
	static const char *const variables[] = {
		"TF_CONFIG",  SERVER, "RH_PS_MODE",   "stale", "RH_PS_STALENESS", "3",      "RH_PS_RULE",  "adam",
		"RH_PS_RATE", "0.5",  "RH_PS_FOLDER", "/x",    "RH_PS_DURABLE",   "synced", "RH_PS_GRACE", "7",
		NULL};
	/* NOLINTEND(bugprone-suspicious-missing-comma) */
	struct rh_ps_server_settings settings;
	struct rh_comm_error err = {0};

	struct rh_ps_sources sources;

	(void)state;
	assert_int_equal(rh_ps_server_settings_read(NULL, sources_of(variables, &sources), &settings, &err), 0);
	assert_int_equal(settings.config.index, 1);
	assert_int_equal(settings.config.servers, 2);
	assert_int_equal(settings.config.workers, 3);
	assert_int_equal(settings.config.mode, RH_PS_STALE);
	assert_int_equal(settings.config.staleness, 3);
	assert_int_equal(settings.config.rule, RH_PS_ADAM);
	assert_float_equal(settings.config.rate, 0.5, 0);
	assert_float_equal(settings.config.beta2, 0.999, 0);
	assert_int_equal(settings.port, 2223);
	assert_string_equal(settings.folder, "/x");
	assert_int_equal(settings.durable, RH_PS_SYNCED);
	assert_int_equal(settings.grace, 7000000);
}

static void test_options__servers_name_what_is_wrong(void **state)
{
	static const struct {
		const char *variables[VARIABLES_MAX];
		const char *words;
	} rows[] = {
		{{NULL}, "number of workers is missing: set RH_PS_WORKERS"},
		{{"RH_PS_WORKERS", "1", "RH_PS_SERVER", "1"}, "1, of 1 servers"},
		{{"RH_PS_WORKERS", "1", "RH_PS_MODE", "fast"}, "RH_PS_MODE: \"fast\""},
		{{"RH_PS_WORKERS", "1", "RH_PS_RULE", "mean", "RH_PS_MODE", "async"}, "only mode sync"},
		{{"RH_PS_WORKERS", "1", "RH_PS_RATE", "much"}, "RH_PS_RATE: \"much\""},
		{{"RH_PS_WORKERS", "1", "RH_PS_RATE", "-1"}, "RH_PS_RATE: \"-1\""},
		{{"RH_PS_WORKERS", "1", "RH_PS_DURABLE", "maybe"}, "RH_PS_DURABLE"},
		{{"TF_CONFIG", SERVER, "DMLC_NUM_SERVER", "3"}, "DMLC_NUM_SERVER gives 3 and TF_CONFIG gives 2"},
	};

	struct rh_ps_sources sources;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_ps_server_settings settings;
		struct rh_comm_error err = {0};

		assert_int_equal(rh_ps_server_settings_read(NULL, sources_of(rows[i].variables, &sources), &settings, &err),
		                 RH_COMM_EINVAL);
		if (!strstr(err.text, rows[i].words))
			fail_msg("row %zu: %s", i, err.text);
	}
}

static void test_options__structs_of_another_size_are_refused(void **state)
{
	static const char *const none[] = {NULL};
	struct rh_ps_server_options server = {.size = 8};
	struct rh_ps_options worker = {.size = 8};
	struct rh_ps_server_settings server_settings;
	struct rh_ps_settings settings;
	struct rh_comm_error err;

	struct rh_ps_sources sources;

	(void)state;
	assert_int_equal(rh_ps_settings_read(&worker, sources_of(none, &sources), &settings, &err), RH_COMM_EINVAL);
	assert_int_equal(rh_ps_server_settings_read(&server, sources_of(none, &sources), &server_settings, &err),
	                 RH_COMM_EINVAL);
}

/* Cut anywhere, TF_CONFIG is malformed or without servers, and never read behind its end. */
static void test_options__survives_every_cut_of_tf_config(void **state)
{
	static const char whole[] = WORKER;

	(void)state;
	for (size_t length = 0; length < sizeof(whole) - 1; length++) {
		struct rh_ps_cluster cluster = {0};
		struct rh_comm_error err;
		char *text = strndup(whole, length);

		if (rh_ps_cluster_read(text, &cluster, &err) == 0)
			assert_true(cluster.server_count == 0 || length > sizeof(whole) - 6);
		free(cluster.places);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options__workers_read_all_sources),
		cmocka_unit_test(test_options__workers_name_what_is_wrong),
		cmocka_unit_test(test_options__servers_read_all_sources),
		cmocka_unit_test(test_options__servers_name_what_is_wrong),
		cmocka_unit_test(test_options__structs_of_another_size_are_refused),
		cmocka_unit_test(test_options__survives_every_cut_of_tf_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
