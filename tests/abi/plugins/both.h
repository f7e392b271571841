/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file abi/plugins/both.h
 * @brief Tests of a plugin that run twice: with the plugin in this process, and in one of its own.
 *
 * The plugin is the file RH_ABI_PLUGIN of the test's build.
 */
#ifndef RH_TEST_ABI_BOTH_H
#define RH_TEST_ABI_BOTH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/fixture.h"

/** A test whose state says where the plugin runs; BOTH_RUN() makes "remote". */
#define BOTH_TEST(name)                  \
	{                                    \
#name, name, NULL, NULL, &remote \
	}

/** Open the plugin of this test with the job of @p yaml. @param state the state of a BOTH_TEST() */
static inline void both_open(struct fixture *fixture, void **state, const char *yaml)
{
	fixture_open_where(fixture, RH_ABI_PLUGIN, *(const bool *)*state, yaml);
}

/** @return the body of a pod, owned by the caller; the test fails when it cannot be made */
static inline struct rh_json *both_pod(struct fixture *fixture, const char *type, int32_t index)
{
	rh_auto(builder) builder = NULL;
	struct rh_json *pod = NULL;

	assert_int_equal(rh_builder_new(&fixture->snapshot, &builder, NULL), 0);
	if (rh_build_pod(builder, type, index, &pod, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	return pod;
}

/** The text at @p path of @p json must be @p want; NULL: there is none. */
static inline void both_assert_text(const struct rh_json *json, const char *path, const char *want)
{
	const char *got = rh_json_string_at(json, path);

	if (got != want && (!got || !want || strcmp(got, want) != 0))
		fail_msg("%s is \"%s\", not \"%s\"", path, got ? got : "NULL", want ? want : "NULL");
}

/** Run @p run(remote) for both; it gives the number of tests that failed. */
static inline int both_run(int (*run)(bool remote))
{
	return run(false) + run(true);
}

#endif
