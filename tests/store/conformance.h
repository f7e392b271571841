/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file store/conformance.h
 * @brief The rules of store/store.h as a test suite for every store.
 */
#ifndef RH_TEST_STORE_CONFORMANCE_H
#define RH_TEST_STORE_CONFORMANCE_H

/* cmocka.h needs the headers before it. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdbool.h>

#include "base/str.h"
#include "store/store.h"

/** A store under test. */
struct conformance_target {
	/** Make an empty store. @return the argument of the other callbacks */
	void *(*open)(void);
	/** Free it. */
	void (*close)(void *sut);
	/** @return its interface */
	struct rh_store *(*face)(void *sut);
	/** Wait until everything that was submitted is done and delivered. */
	void (*settle)(void *sut);
	bool graceful; /**< a kubelet is expected: deleted pods stay until they are deleted with grace period 0 */
	bool server;   /**< an API server alone: nobody collects what a removed object owned */
};

/** Run the suite. @return number of failed tests, as cmocka_run_group_tests() */
int conformance_run(const struct conformance_target *target);

/** A copy of the outcome of a request. All zero: not completed. */
struct answer {
	int calls;
	enum rh_outcome_code code;
	struct rh_json *object; /**< owned; NULL when there was none */
	char message[512];
	int64_t retry_after;
};

/** rh_done_fn whose @p arg is a struct answer. */
void answer_take(void *arg, const struct rh_outcome *outcome);
/** Free what it holds and make it empty. */
void answer_deinit(struct answer *answer);
/** A local answer that is freed when it goes out of scope. */
#define auto_answer __attribute__((cleanup(answer_deinit))) struct answer

/**
 * rh_watch_fn whose @p arg is a struct rh_str: appends "ADDED name", "MODIFIED name", "DELETED name" or "SYNCED", one a
 * line.
 */
void watch_note(void *arg, enum rh_watch_event event, const struct rh_json *object);
/** @return the tree of JSON text in which ' stands for "; owned by the caller */
struct rh_json *conformance_json(const char *text);

#endif
