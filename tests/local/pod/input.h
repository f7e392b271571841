/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/input.h
 * @brief What a pod plan is made from, for tests: everything as YAML. A failure in here fails the test that calls.
 */
#ifndef RH_TEST_LOCAL_POD_INPUT_H
#define RH_TEST_LOCAL_POD_INPUT_H

#include "config/config.h"
#include "local/pod/context.h"

/** Everything that a test needs. */
struct test_pod {
	char *folder; /**< of this test; the pod's directory is "pod" in it, that of claims "claims" */
	char *pod_dir;
	char *claims_dir;
	struct rh_config *config;
	struct rh_json *pod;
	struct rh_json *objects; /**< ConfigMaps, Secrets and claims */
	struct rh_str notes;
	struct rh_runtime_spec_input input;
	struct rh_pod_context context;
};

/** cmocka's setup and teardown: a struct test_pod with a pod of one container, and some ConfigMaps and Secrets (see
 * input.c). */
int test_pod_setup(void **state);
/** @see test_pod_setup */
int test_pod_teardown(void **state);
/** Take another pod's spec, as YAML. */
void test_pod_spec(struct test_pod *test, const char *spec);
/** @return @p text as a tree, owned by the caller */
struct rh_json *test_pod_yaml(const char *text);
/** @return the text of FOLDER/PATH, owned by the caller; NULL when there is none */
char *test_pod_read(const char *folder, const char *path);
/** @return the file mode of FOLDER/PATH; 0 when there is none */
int test_pod_mode(const char *folder, const char *path);

#endif
