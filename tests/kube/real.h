/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tests/kube/real.h
 * @brief For tests: a store on the real API server of $KUBECONFIG, with a loop of its own.
 */
#ifndef RH_TESTS_KUBE_REAL_H
#define RH_TESTS_KUBE_REAL_H

#include "base/os/loop.h"
#include "kube/http/http.h"
#include "kube/kubeconfig/kubeconfig.h"
#include "kube/store/store.h"

/** A store with what it stands on. */
struct real {
	struct rh_loop *loop;
	struct rh_kubeconfig *config;
	struct rh_http *http;
	struct rh_kube_store *store;
	/** Called in each turn. @return whether to go on */
	bool (*turn)(void *arg);
	void *arg;
	int64_t end; /**< monotonic microseconds after which the loop stops; RH_NEVER */
};

/** Open it, with @p options but for the client. Ends the program with a message when that fails. */
void real_open(struct real *real, const struct rh_kube_store_options *options);
/** Close it. */
void real_close(struct real *real);
/** Run until the turn function returns false, or @p patience is over. @return whether the turn function returned false
 */
bool real_run(struct real *real, int64_t patience);

#endif
