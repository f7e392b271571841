/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tests/kube/https.h
 * @brief For tests: a server that does what it is asked to (server.py), and a client of it on a loop of its own.
 */
#ifndef RH_TESTS_KUBE_HTTPS_H
#define RH_TESTS_KUBE_HTTPS_H

#include "base/support.h"

#include <sys/types.h>

#include "kube/http/http.h"
#include "kube/kubeconfig/kubeconfig.h"

/** A server.py that runs. */
struct https_server {
	pid_t pid;
	int line; /**< its standard input: it ends when this does */
	int port;
	char dir[256]; /**< its certificates */
};

/** Start one. @param argument "--h2", "--plain" or NULL; @param value of the argument, may be NULL */
void https_start(struct https_server *server, const char *argument, const char *value);
/** End it. */
void https_stop(struct https_server *server);
/** @return a kubeconfig of @p server whose cluster and user have the further YAML flow members @p cluster and @p user
 */
struct rh_kubeconfig *https_config(const struct https_server *server, const char *cluster, const char *user);
/** @return base64 of a file of the server's folder, owned by the caller */
char *https_file64(const struct https_server *server, const char *name);

/** How one call ended. */
struct https_call {
	struct https_client *client;
	uint64_t id;
	int32_t status; /**< -1: not yet */
	bool sent;
	int64_t retry_after;
	char message[512];
	struct rh_str body;   /**< what the response had, or the chunks */
	size_t chunks;        /**< how many came */
	size_t stop_after;    /**< the chunk function refuses this one; 0: none */
	size_t cancel_after;  /**< the call cancels itself in this chunk; 0: never */
	size_t release_after; /**< the loop is to stop after this chunk; 0: never */
};

/** A client and its loop. */
struct https_client {
	struct rh_loop *loop;
	struct rh_kubeconfig *config;
	struct rh_http *http;
	size_t open;     /**< calls that have not ended */
	size_t observed; /**< calls that the observer received */
	size_t turns;    /**< of the loop */
	bool released;   /**< somebody wants the loop to stop */
	int64_t other;   /**< deadline that step returned last */
	bool stepping;   /**< rh_http_step() runs: no callback comes outside of it */
	int64_t end;     /**< monotonic, when a test that hangs is given up */
	/** Something else that has its turn; may be NULL. @return its deadline */
	int64_t (*step)(void *arg, int64_t now);
	void *arg;
};

/** Open a client of @p config, which is taken. */
void https_open(struct https_client *client, struct rh_kubeconfig *config);
/** Close it. */
void https_close(struct https_client *client);
/** Send a request; @p call gets what comes. */
void https_send(struct https_client *client, const struct rh_http_request *request, bool chunks,
                struct https_call *call);
/** Turn the loop until no call is open, or one released it. */
void https_wait(struct https_client *client);
/** Send a GET and wait for its end. */
void https_get(struct https_client *client, const char *path, struct https_call *call);
/** Free what @p call gathered. */
void https_call_deinit(struct https_call *call);

/** A local call that is freed when it goes out of scope. */
#define auto_https_call __attribute__((cleanup(https_call_deinit))) struct https_call

#endif
