/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/fixture.h
 * @brief A host with a plugin that is linked in, and one job, for tests of the host.
 */
#ifndef RH_TEST_HOST_FIXTURE_H
#define RH_TEST_HOST_FIXTURE_H

#include "build/build.h"
#include "host/operations.h"
#include "roundhouse/plugin.h"

/** What a test works with. All zero is empty. */
struct fixture {
	struct rh_config *config;
	struct rh_host *host;
	struct rh_job *job;
	struct rh_snapshot snapshot; /**< of the job on a cluster */
	struct rh_counts counts[RH_TYPES_MAX];
	struct rh_error err;
};

/** A job with one Master and two Workers, as YAML. */
extern const char fixture_job[];

/**
 * @return a plugin "fake" that serves PyTorchJob and has no other operation; static storage, to be copied and changed
 */
const struct rh_plugin *fixture_plugin(void);
/** @return the tree of a YAML text, owned by the caller; the test fails when it does not parse */
struct rh_json *fixture_yaml(const char *text);
/** Make a host with @p plugin and the job of @p yaml. What cannot be made fails the test. */
void fixture_open(struct fixture *fixture, const struct rh_plugin *plugin, const char *yaml);
/** fixture_open() with the plugin in the file @p path, and the configuration @p ini (NULL: none). */
void fixture_open_file(struct fixture *fixture, const char *path, const char *ini, const char *yaml);
/**
 * fixture_open_file() with the plugin in this process, or in one of its own (@p remote), and a time limit that only a
 * hang reaches.
 */
void fixture_open_where(struct fixture *fixture, const char *path, bool remote, const char *yaml);
/** Free it and make it empty. */
void fixture_close(struct fixture *fixture);
/** Compare @p json, printed compactly, with @p text. */
void fixture_assert_json(const struct rh_json *json, const char *text);

/** A local fixture that is closed when it goes out of scope. */
#define auto_fixture __attribute__((cleanup(fixture_close))) struct fixture

#endif
