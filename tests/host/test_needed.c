/* SPDX-License-Identifier: Apache-2.0 */
#include "host/needed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "host/host.h"

/* The release's plugins, beside this program as beside the release's. */
static const char *const needed_files[] = {
	RH_PLUGIN_DIR "/mpi.so",     RH_PLUGIN_DIR "/mpi2.so",       RH_PLUGIN_DIR "/paddle.so",
	RH_PLUGIN_DIR "/pytorch.so", RH_PLUGIN_DIR "/tensorflow.so", RH_PLUGIN_DIR "/trainer.so",
	RH_PLUGIN_DIR "/xgboost.so",
};
#define NEEDED_FILES (sizeof(needed_files) / sizeof(needed_files[0]))

#define OBJECT(version, kind) "---\napiVersion: " version "\nkind: " kind "\nmetadata: {name: n-" kind "}\n"
#define PYTORCH OBJECT("kubeflow.org/v1", "PyTorchJob")

/* The release says what each of its plugins serves without loading it: that has to be so. */
static void test_needed__what_the_release_says_of_its_plugins(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEEDED_FILES; i++) {
		const char *kinds = rh_files_own_kinds(needed_files[i]);
		rh_auto(config) config = rh_config_new();
		rh_auto(host) host = NULL;
		struct rh_plugin_info info;
		rh_auto_str served = {0};

		assert_int_equal(rh_host_new(config, &host, NULL), 0);
		assert_int_equal(rh_host_load_file(host, needed_files[i], NULL), 0);
		rh_host_plugin(host, 0, &info);
		for (size_t k = 0; info.kinds[k]; k++) {
			if (!rh_words_have(rh_str_text(&served), '|', info.kinds[k]->kind, strlen(info.kinds[k]->kind)))
				rh_str_appendf(&served, "%s%s", served.length ? "|" : "", info.kinds[k]->kind);
		}
		assert_non_null(kinds);
		assert_string_equal(kinds, rh_str_text(&served));
	}
}

static void test_needed__who_is_not_of_the_release(void **state)
{
	(void)state;
	assert_null(rh_files_own_kinds("pytorch.so"));
	assert_null(rh_files_own_kinds("/nowhere/pytorch.so"));
	assert_null(rh_files_own_kinds(RH_PLUGIN_DIR "/other.so"));
	assert_null(rh_files_own_kinds(RH_PLUGIN_DIR));
}

/** @return the plugins that are needed, with a space behind each; owned by the caller */
static char *needed_names(const char *ini, const char *yaml, const char *more)
{
	rh_auto(config) config = rh_config_new();
	rh_auto_manifest manifest = {0};
	bool unneeded[NEEDED_FILES + 1] = {false};
	const char *paths[NEEDED_FILES + 1];
	struct rh_files files = {(char **)paths, NEEDED_FILES};
	rh_auto_str names = {0};
	struct rh_error err = {0};

	memcpy(paths, needed_files, sizeof(needed_files));
	if (more)
		paths[files.count++] = more;
	if (rh_config_parse(config, "test.ini", ini, strlen(ini), &err) < 0 ||
	    rh_manifest_parse(&manifest, "test.yaml", yaml, strlen(yaml), &err) < 0)
		fail_msg("%s", err.message);
	rh_needed_find(config, &files, &manifest, unneeded);
	for (size_t i = 0; i < files.count; i++) {
		rh_auto_free char *name = rh_files_name(files.items[i]);

		if (!unneeded[i])
			rh_str_appendf(&names, "%s ", name);
	}
	return rh_strdup(rh_str_text(&names));
}

static void test_needed__find(void **state)
{
	static const char all[] = "mpi mpi2 paddle pytorch tensorflow trainer xgboost ";
	static const struct {
		const char *ini;
		const char *yaml;
		const char *more;
		const char *names;
	} rows[] = {
		{"", PYTORCH, NULL, "pytorch "},
		/* a version of one kind, whatever the object says */
		{"", OBJECT("kubeflow.org/v1", "MPIJob"), NULL, "mpi mpi2 "},
		{"", OBJECT("kubeflow.org/v3", "PyTorchJob"), NULL, "pytorch "},
		{"", PYTORCH OBJECT("kubeflow.org/v1", "TFJob"), NULL, "pytorch tensorflow "},
		{"", PYTORCH OBJECT("v1", "ConfigMap"), NULL, "pytorch "},
		/* a plugin that the configuration speaks of: it is checked */
		{"[plugin xgboost]\nx = y\n", PYTORCH, NULL, "pytorch xgboost "},
		{"[plugins]\nallow = pytorch, mpi, mpi2, paddle, tensorflow, trainer, xgboost\n", PYTORCH, NULL, "pytorch "},
		/* what is missed may be in any of them, or its message names them all */
		{"[plugins]\nallow = mpi\n", PYTORCH, NULL, all},
		{"", OBJECT("v1", "ConfigMap"), NULL, all},
		{"", PYTORCH OBJECT("kubeflow.org/v1", "PyTorchjob"), NULL, all},
		{"", PYTORCH OBJECT("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"), NULL, all},
		/* whose jobs may make others */
		{"", PYTORCH, "/opt/foreign/other.so", "mpi mpi2 paddle pytorch tensorflow trainer xgboost other "},
	};

	(void)state;
	unsetenv("ROUNDHOUSE_PLUGIN_PATH");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *names = needed_names(rows[i].ini, rows[i].yaml, rows[i].more);

		assert_string_equal(names, rows[i].names);
	}
}

/* @return the states of a host's plugins, in the order of their files */
static void needed_assert_states(const char *yaml, enum rh_plugin_state pytorch, enum rh_plugin_state others)
{
	rh_auto(config) config = rh_config_new();
	rh_auto_manifest manifest = {0};
	rh_auto(host) host = NULL;

	assert_int_equal(rh_manifest_parse(&manifest, "test.yaml", yaml, strlen(yaml), NULL), 0);
	assert_int_equal(rh_host_new(config, &host, NULL), 0);
	assert_int_equal(rh_host_load_for(host, &manifest, NULL), 0);
	assert_int_equal(rh_host_plugin_count(host), NEEDED_FILES);
	for (size_t i = 0; i < NEEDED_FILES; i++) {
		struct rh_plugin_info info;

		rh_host_plugin(host, i, &info);
		assert_int_equal(info.state, strstr(info.path, "/pytorch.so") ? pytorch : others);
	}
}

static void test_needed__the_others_are_not_loaded(void **state)
{
	(void)state;
	unsetenv("ROUNDHOUSE_PLUGIN_PATH");
	needed_assert_states(PYTORCH, RH_PLUGIN_READY, RH_PLUGIN_UNNEEDED);
	needed_assert_states(OBJECT("kubeflow.org/v1", "Xyz"), RH_PLUGIN_READY, RH_PLUGIN_READY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_needed__what_the_release_says_of_its_plugins),
		cmocka_unit_test(test_needed__who_is_not_of_the_release),
		cmocka_unit_test(test_needed__find),
		cmocka_unit_test(test_needed__the_others_are_not_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
