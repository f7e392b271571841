/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/str.h"
#include "host/call/reply.h"
#include "host/fixture.h"
#include "job/kinds.h"

static const struct rh_kind *host_describe_tensorflow(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &test_tensorflow : NULL;
}

static const struct rh_kind *host_describe_two(void *self, uint32_t index)
{
	static const struct rh_kind *const kinds[] = {&test_xgboost, &test_paddle};

	(void)self;
	return index < 2 ? kinds[index] : NULL;
}

static const struct rh_kind *host_describe_opt_in(void *self, uint32_t index)
{
	static struct rh_kind kind;

	(void)self;
	kind = test_jax;
	kind.flags |= RH_KIND_OPT_IN;
	return index == 0 ? &kind : NULL;
}

static const struct rh_kind *host_describe_none(void *self, uint32_t index)
{
	(void)self;
	(void)index;
	return NULL;
}

static const struct rh_kind *host_describe_for_ever(void *self, uint32_t index)
{
	(void)self;
	(void)index;
	return &test_jax;
}

static int32_t host_init_badly(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)ret_self;
	return (services->fail)(reply, RH_EIO, "no licence server");
}

static int32_t host_init_silently(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)services;
	(void)ret_self;
	(void)reply;
	return -77;
}

static int host_add(struct rh_host *host, const char *path, const char *name, struct rh_plugin *plugin,
                    struct rh_error *err)
{
	plugin->name = name;
	return rh_host_add(host, path, plugin, err);
}

static void host_assert_state(const struct rh_host *host, size_t index, enum rh_plugin_state want, const char *words)
{
	struct rh_plugin_info info;

	rh_host_plugin(host, index, &info);
	assert_int_equal(info.state, want);
	if (*words ? !strstr(info.reason, words) : *info.reason != '\0')
		fail_msg("\"%s\" does not say \"%s\"", info.reason, words);
	assert_true((info.kinds[0] != NULL) == (want == RH_PLUGIN_READY));
}

static void test_host__a_ready_plugin(void **state)
{
	struct rh_plugin_info info;
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	assert_int_equal(rh_host_plugin_count(fixture.host), 1);
	rh_host_plugin(fixture.host, 0, &info);
	assert_string_equal(info.path, "fake.so");
	assert_string_equal(info.name, "fake");
	assert_string_equal(info.release, "1.2.3");
	assert_string_equal(info.reason, "");
	assert_int_equal(info.state, RH_PLUGIN_READY);
	assert_ptr_equal(info.kinds[0], &test_pytorch);
	assert_null(info.kinds[1]);
}

static void test_host__a_second_plugin_for_a_kind_is_refused(void **state)
{
	struct rh_plugin plugin = *fixture_plugin();
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	assert_int_equal(host_add(fixture.host, "second.so", "second", &plugin, &fixture.err), RH_EPLUGIN);
	assert_string_equal(fixture.err.message,
	                    "plugin \"second.so\": its kind PyTorchJob.kubeflow.org is served by the plugin in "
	                    "\"fake.so\"; remove one of them");
	host_assert_state(fixture.host, 0, RH_PLUGIN_READY, "");
	host_assert_state(fixture.host, 1, RH_PLUGIN_REFUSED, "served by the plugin in \"fake.so\"");
	assert_ptr_equal(rh_host_kind(fixture.host, "kubeflow.org/v1", "PyTorchJob", NULL), &test_pytorch);
}

/* A kind that differs from the fixture's in what a test sets. */
static struct rh_kind host_other;

static const struct rh_kind *host_describe_other(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &host_other : NULL;
}

/* A kind that is to be the storage version. */
static struct rh_kind host_stored;

static const struct rh_kind *host_describe_stored(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &host_stored : NULL;
}

static void test_host__another_version_of_a_kind(void **state)
{
	struct rh_plugin plugin = *fixture_plugin();
	struct rh_versions versions;
	const char *rest;
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	host_other = test_pytorch;
	host_other.version = "v2";
	plugin.describe = host_describe_other;
	assert_int_equal(host_add(fixture.host, "second.so", "second", &plugin, &fixture.err), 0);
	assert_ptr_equal(rh_host_kind(fixture.host, "kubeflow.org/v1", "PyTorchJob", NULL), &test_pytorch);
	assert_ptr_equal(rh_host_kind(fixture.host, "kubeflow.org/v2", "PyTorchJob", NULL), &host_other);
	rh_host_versions(fixture.host, &test_pytorch, &versions);
	assert_int_equal(versions.count, 2);
	assert_ptr_equal(versions.items[0], &host_other);
	assert_ptr_equal(versions.first, &test_pytorch);
	assert_ptr_equal(rh_host_find_called(fixture.host, "pytorchjobs", NULL), &host_other);
	assert_ptr_equal(rh_host_find_called(fixture.host, "PyTorchJob.kubeflow.org.spec", &rest), &host_other);
	assert_string_equal(rest, ".spec");
	assert_ptr_equal(rh_host_find_called(fixture.host, "pytorchjob.v1.kubeflow.org", NULL), &test_pytorch);
	assert_null(rh_host_find_called(fixture.host, "pytorchjob.v3.kubeflow.org", NULL));
	assert_null(rh_host_find_called(fixture.host, "pytorch", &rest));
}

static void test_host__versions_that_do_not_fit_are_refused(void **state)
{
	static const struct {
		const char *plural, *words;
	} rows[] = {
		{"pytorches", "versions of one kind must have the same names"},
		{"pytorchjobs", "to be the storage version, and so is v3 of the plugin in \"third.so\""},
	};
	struct rh_plugin plugin = *fixture_plugin();
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	host_stored = test_pytorch;
	host_stored.version = "v3";
	host_stored.flags |= RH_KIND_STORAGE;
	plugin.describe = host_describe_stored;
	assert_int_equal(host_add(fixture.host, "third.so", "third", &plugin, &fixture.err), 0);
	plugin.describe = host_describe_other;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};

		host_other = host_stored;
		host_other.version = "v4";
		host_other.plural = rows[i].plural;
		assert_int_equal(host_add(fixture.host, "bad.so", i == 0 ? "bad" : "worse", &plugin, &err), RH_EPLUGIN);
		if (!strstr(err.message, rows[i].words))
			fail_msg("\"%s\" does not say \"%s\"", err.message, rows[i].words);
	}
}

static void test_host__a_second_plugin_of_a_name_is_refused(void **state)
{
	struct rh_plugin plugin = *fixture_plugin();
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	plugin.describe = host_describe_tensorflow;
	assert_int_equal(host_add(fixture.host, "second.so", "fake", &plugin, &fixture.err), RH_EPLUGIN);
	host_assert_state(fixture.host, 1, RH_PLUGIN_REFUSED, "name \"fake\" is that of the plugin in \"fake.so\"");
}

static void test_host__plugins_that_do_not_get_ready(void **state)
{
	static const struct {
		int32_t (*init)(const struct rh_services *services, void **ret_self, struct rh_reply *reply);
		const struct rh_kind *(*describe)(void *self, uint32_t index);
		enum rh_plugin_state state;
		const char *words;
	} rows[] = {
		{NULL, host_describe_none, RH_PLUGIN_REFUSED, "it describes no kind"},
		{NULL, host_describe_for_ever, RH_PLUGIN_REFUSED, "JAXJob.kubeflow.org is served by the plugin in \"bad.so\""},
		{host_init_badly, host_describe_two, RH_PLUGIN_FAILED, "its init() failed: no licence server"},
		{host_init_silently, host_describe_two, RH_PLUGIN_FAILED, "no words"},
	};
	struct rh_plugin plugin = *fixture_plugin();
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const char *const names[] = {"a", "b", "c", "d"};

		plugin.init = rows[i].init;
		plugin.describe = rows[i].describe;
		assert_int_equal(host_add(fixture.host, "bad.so", names[i], &plugin, NULL), RH_EPLUGIN);
		host_assert_state(fixture.host, i + 1, rows[i].state, rows[i].words);
	}
	plugin.init = NULL;
	plugin.describe = host_describe_two;
	assert_int_equal(host_add(fixture.host, "good.so", "good", &plugin, NULL), 0);
	assert_ptr_equal(rh_host_kind(fixture.host, "kubeflow.org/v1", "PaddleJob", NULL), &test_paddle);
}

static void test_host__the_allow_list(void **state)
{
	static const char ini[] = "[plugins]\nallow = other, fake\n";
	struct rh_plugin plugin = *fixture_plugin();
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	assert_int_equal(rh_config_parse(fixture.config, "x.ini", ini, strlen(ini), NULL), 0);
	plugin.describe = host_describe_tensorflow;
	plugin.init = host_init_badly;
	assert_int_equal(host_add(fixture.host, "tf.so", "tensorflow", &plugin, NULL), RH_EPLUGIN);
	host_assert_state(fixture.host, 1, RH_PLUGIN_DISABLED,
	                  "\"tensorflow\" is not among those that [plugins] allow names; add it there");
	assert_null(rh_host_kind(fixture.host, "kubeflow.org/v1", "TFJob", &fixture.err));
	assert_non_null(strstr(fixture.err.message, "; [plugins] allow leaves out \"tf.so\""));
	plugin.init = NULL;
	assert_int_equal(host_add(fixture.host, "other.so", "other", &plugin, NULL), 0);
}

/* On a cluster another operator may serve its kind. */
static void test_host__a_kind_that_is_served_where_it_is_named(void **state)
{
	static const struct {
		const char *ini;
		bool cluster;
		bool ready;
	} rows[] = {
		{"", false, true},
		{"", true, false},
		{"[plugins]\nallow = fake\n", true, false},
		{"[plugins]\nallow = fake, rare\n", true, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_plugin plugin = *fixture_plugin();
		auto_fixture fixture;

		fixture_open(&fixture, fixture_plugin(), fixture_job);
		assert_int_equal(rh_config_parse(fixture.config, "x.ini", rows[i].ini, strlen(rows[i].ini), NULL), 0);
		if (rows[i].cluster)
			rh_host_set_cluster(fixture.host);
		plugin.describe = host_describe_opt_in;
		assert_int_equal(host_add(fixture.host, "rare.so", "rare", &plugin, NULL), rows[i].ready ? 0 : RH_EPLUGIN);
		assert_int_equal(rh_host_kind(fixture.host, "kubeflow.org/v1", "JAXJob", &fixture.err) != NULL, rows[i].ready);
		if (!rows[i].ready)
			host_assert_state(fixture.host, 1, RH_PLUGIN_DISABLED, "[plugins] allow");
	}
}

static void test_host__kinds_that_are_not_there(void **state)
{
	static const struct {
		const char *api_version;
		const char *kind;
		const char *words;
	} rows[] = {
		{"kubeflow.org/v1", "PyTorchjob", "did you mean PyTorchJob?"},
		{"kubeflow.org/v2", "PyTorchJob", "PyTorchJob is there as kubeflow.org/v1"},
		{"kubeflow.org", "PyTorchJob", "PyTorchJob is there as kubeflow.org/v1"},
		{"batch/v1", "PyTorchJob", "PyTorchJob is there as kubeflow.org/v1"},
		{"kubeflow.org/v1", "Xyz", "there are PyTorchJob"},
		{"kubeflow.org/v1", "TFJob",
	     "kind \"TFJob\" of kubeflow.org/v1 is served by plugin \"tensorflow\" in \"tf.so\", which is not loaded: its "
	     "init() failed: no licence server"},
		{"kubeflow.org/v1", "Xyz", "plugin \"tf.so\" is not available: its init() failed: no licence server"},
		{"kubeflow.org/v1", "Xyz", "; plugins are looked for in \"/a\", \"/b\""},
	};
	static const char ini[] = "[plugins]\npath = /a:/b\n";
	struct rh_plugin plugin = *fixture_plugin();
	auto_fixture fixture;

	(void)state;
	unsetenv("ROUNDHOUSE_PLUGIN_PATH");
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	assert_int_equal(rh_config_parse(fixture.config, "x.ini", ini, strlen(ini), NULL), 0);
	plugin.describe = host_describe_tensorflow;
	plugin.init = host_init_badly;
	(void)host_add(fixture.host, "tf.so", "tensorflow", &plugin, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_null(rh_host_kind(fixture.host, rows[i].api_version, rows[i].kind, &fixture.err));
		assert_int_equal(fixture.err.code, RH_ENOENT);
		if (!strstr(fixture.err.message, rows[i].words))
			fail_msg("\"%s\" does not say \"%s\"", fixture.err.message, rows[i].words);
	}
}

static void test_host__parse_needs_kind_and_version(void **state)
{
	struct rh_job *job = NULL;
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	assert_int_equal(rh_host_parse(fixture.host, fixture_yaml("{kind: PyTorchJob}"), &job, &fixture.err), RH_EINVAL);
	assert_string_equal(fixture.err.message, "apiVersion is missing, or no text");
	assert_int_equal(rh_host_parse(fixture.host, fixture_yaml("{apiVersion: a/v1, kind: 1}"), &job, &fixture.err),
	                 RH_EINVAL);
	assert_int_equal(rh_host_parse(fixture.host, fixture_yaml("{apiVersion: a/v1, kind: B}"), &job, &fixture.err),
	                 RH_ENOENT);
	assert_int_equal(rh_host_parse(fixture.host, NULL, &job, &fixture.err), RH_EINVAL);
	assert_null(job);
}

static void test_host__an_empty_host_says_so(void **state)
{
	rh_auto(config) config = rh_config_new();
	rh_auto(host) host = NULL;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_host_new(config, &host, NULL), 0);
	assert_null(rh_host_kind(host, "kubeflow.org/v1", "PyTorchJob", &err));
	assert_non_null(strstr(err.message, "no plugin is loaded"));
}

static void test_host__survives_allocation_failures(void **state)
{
	int r = RH_ENOMEM;

	(void)state;
	for (long n = 0; r == RH_ENOMEM && n < 200; n++) {
		rh_auto(config) config = rh_config_new();
		rh_auto(host) host = NULL;

		rh_mem_fail_after(n);
		r = rh_host_new(config, &host, NULL);
		if (r == 0)
			r = rh_host_add(host, "fake.so", fixture_plugin(), NULL);
		rh_mem_fail_after(-1);
	}
	assert_int_equal(r, 0);
}

/* Work of processes that this one has waited for. */
static long host_children(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
	return usage.ru_minflt + usage.ru_majflt;
}

/* They are reviewed and tested with the program, and it is what loads them: a trial of them takes as long as a run. */
static void test_host__plugins_of_the_release_are_not_tried(void **state)
{
	static const enum rh_isolation places[] = {RH_ISOLATION_FOREIGN, RH_ISOLATION_NONE};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		rh_auto(config) config = rh_config_new();
		rh_auto(host) host = NULL;
		long before = host_children();

		assert_non_null(config);
		config->plugin_isolation = places[i];
		assert_int_equal(rh_host_new(config, &host, NULL), 0);
		assert_int_equal(rh_host_load_all(host, NULL), 0);
		assert_int_equal(rh_host_plugin_count(host), 7);
		for (size_t k = 0; k < 7; k++)
			host_assert_state(host, k, RH_PLUGIN_READY, "");
		assert_int_equal(host_children(), before);
	}
}

/* What a start does not check. */
static void test_host__the_texts_of_plugins_of_the_release_are_whole(void **state)
{
	static const char *const names[] = {"mpi", "paddle", "pytorch", "tensorflow", "xgboost"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		rh_auto_free char *path = rh_asprintf("%s/%s.so", RH_PLUGIN_DIR, names[i]);
		rh_auto(config) config = rh_config_new();
		rh_auto(host) host = NULL;
		struct rh_error err = {0};

		assert_int_equal(rh_host_new(config, &host, &err), 0);
		if (rh_host_load_file(host, path, &err) < 0)
			fail_msg("%s", err.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host__a_ready_plugin),
		cmocka_unit_test(test_host__a_second_plugin_for_a_kind_is_refused),
		cmocka_unit_test(test_host__another_version_of_a_kind),
		cmocka_unit_test(test_host__versions_that_do_not_fit_are_refused),
		cmocka_unit_test(test_host__a_second_plugin_of_a_name_is_refused),
		cmocka_unit_test(test_host__plugins_that_do_not_get_ready),
		cmocka_unit_test(test_host__the_allow_list),
		cmocka_unit_test(test_host__a_kind_that_is_served_where_it_is_named),
		cmocka_unit_test(test_host__kinds_that_are_not_there),
		cmocka_unit_test(test_host__parse_needs_kind_and_version),
		cmocka_unit_test(test_host__an_empty_host_says_so),
		cmocka_unit_test(test_host__survives_allocation_failures),
		cmocka_unit_test(test_host__plugins_of_the_release_are_not_tried),
		cmocka_unit_test(test_host__the_texts_of_plugins_of_the_release_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
