/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/harness.h
 * @brief A shim under test: a child of the test that runs rh_shim_main() with a plan and a lifeline. Waits are bounded;
 * a failure in here fails the test that calls.
 */
#ifndef RH_TEST_LOCAL_SHIM_HARNESS_H
#define RH_TEST_LOCAL_SHIM_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"
#include "local/shim.h"

/** A plan under work, and the shim that carries it out. */
struct test_shim {
	char *folder; /**< the pod's directory; logs lie in it as CONTAINER.log */
	struct rh_json *plan;
	pid_t pid; /**< 0: not started, or waited for */
	int line;  /**< the runner's end; -1: closed */
	struct rh_str input;
	struct rh_str notes; /**< those that came, a line each */
	size_t nudges;       /**< empty lines that came */
};

/** cmocka's setup: a struct test_shim with an empty plan of policy Never, back-off 1 ms up to 4 ms, grace 20 s. */
int test_shim_setup(void **state);
/** cmocka's teardown: ends what still runs, and fails when a process of a container is left. */
int test_shim_teardown(void **state);
/** Add a container that runs `sh -c SCRIPT`. @param list "init" or "containers". @return it, for changes */
struct rh_json *test_shim_add(struct test_shim *shim, const char *list, const char *name, const char *script);
/** Start it. */
void test_shim_start(struct test_shim *shim);
/** Wait for the next report. @return false when the line was closed instead */
bool test_shim_receive(struct test_shim *shim, struct rh_shim_report *ret_report);
/** Wait for reports until one says that container @p name ended for good. */
void test_shim_receive_end(struct test_shim *shim, const char *name, struct rh_shim_report *ret_report);
/** Wait for the next report, which must be of a start of container @p name. */
void test_shim_receive_start(struct test_shim *shim, const char *name);
/** Send the command that ends the pod. @param grace microseconds; 0: at once */
void test_shim_stop(const struct test_shim *shim, int64_t grace);
/** Close the runner's end of the lifeline. */
void test_shim_hang_up(struct test_shim *shim);
/** Wait for the shim's end. @return its wait status */
int test_shim_wait(struct test_shim *shim);
/** @return the log of a container, owned by the caller; "" when there is none */
char *test_shim_log(const struct test_shim *shim, const char *name);
/** Wait until the log of a container has @p text. */
void test_shim_await_log(const struct test_shim *shim, const char *name, const char *text);
/** @return how many processes carry the mark of container @p name, or of any of this pod for NULL */
size_t test_shim_alive(const struct test_shim *shim, const char *name);
/** Wait until test_shim_alive() says @p count. */
void test_shim_await_alive(const struct test_shim *shim, const char *name, size_t count);
/** Sleep for a moment of a bounded wait. @return false when its time is over; *@p cursor is 0 at first */
bool test_shim_pause(int *cursor);

#endif
