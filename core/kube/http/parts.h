/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/http/parts.h
 * @brief Shared declarations of the HTTP client; for core/kube/http/http*.c alone.
 */
#ifndef RH_KUBE_HTTP_PARTS_H
#define RH_KUBE_HTTP_PARTS_H

#include <curl/curl.h>

#include "base/str.h"
#include "kube/auth/auth.h"
#include "kube/http/http.h"
#include "kube/kubeconfig/kubeconfig.h"

/** The constant options of a client, in libcurl's forms. */
struct rh_http_target {
	const struct rh_kubeconfig *config; /**< borrowed */
	char *base;                         /**< prefix of each path */
	char *host_header;                  /**< "Host: …" where the address has another name; NULL: libcurl's own */
	struct curl_slist *connect_to;      /**< address of that other name; NULL: that of the server */
	bool local;                         /**< on this machine: the environment's proxy is not used */
};

/** @return 0, RH_EINVAL when libcurl does not understand the server's address, or RH_ENOMEM */
int rh_http_target_init(struct rh_http_target *target, const struct rh_kubeconfig *config, struct rh_error *err);
/** Free what @p target owns. */
void rh_http_target_deinit(struct rh_http_target *target);

/** Message of a request that may not be sent any more. */
#define RH_HTTP_LATE "it was not sent: the time in which this process may write is over"

/** State of a call. */
enum rh_http_call_state {
	RH_HTTP_WAITING, /**< not given to libcurl yet: new, or waiting for a credential */
	RH_HTTP_FLYING,  /**< in progress in libcurl */
	RH_HTTP_OVER     /**< ended; its owner has not been called yet */
};

/** Why a call ended without libcurl. */
enum rh_http_call_cut {
	RH_HTTP_NOT_CUT,
	RH_HTTP_CUT_TIME,
	RH_HTTP_CUT_IDLE,
	RH_HTTP_CUT_SIZE,
	RH_HTTP_CUT_CHUNK,
	RH_HTTP_CUT_LATE
};

/** One request in progress. */
struct rh_http_call {
	struct rh_http_call *next, *prev;
	uint64_t id;
	enum rh_http_call_state state;
	bool forgotten; /**< cancelled from inside libcurl; freed when libcurl has returned */
	bool again;     /**< this is the second attempt, after a 401 */
	uint64_t generation;
	char *method;
	char *path;
	char *content_type;
	const char *accept; /**< NULL: JSON; static storage */
	bool secret;        /**< body is overwritten before it is freed */
	char *body;
	size_t body_length;
	size_t body_at;  /**< how much of it libcurl has taken */
	size_t body_max; /**< of the response */
	int64_t timeout, idle_timeout;
	int64_t began, received_at; /**< monotonic */
	rh_http_chunk_fn *chunk;
	rh_http_may_fn *may; /**< NULL: it may always be sent */
	void *may_arg;
	rh_http_done_fn *done;
	void *arg;
	CURL *easy;
	struct curl_slist *headers;
	long *ret_version; /**< receives the response's CURL_HTTP_VERSION_… */
	enum rh_http_call_cut cut;
	struct rh_str answer;
	int32_t status;
	bool sent;
	int64_t retry_after;
	char message[CURL_ERROR_SIZE + 512];
	char curl_message[CURL_ERROR_SIZE];
};

/** @return 0 or RH_ENOMEM */
int rh_http_call_new(const struct rh_http_request *request, struct rh_http_call **ret_call, struct rh_error *err);
/** Free @p call, which libcurl must not use any more. NULL is ignored. */
void rh_http_call_free(struct rh_http_call *call);
RH_DEFINE_CLEANUP(http_call);
/** @return whether it may be sent now; if not, call->cut says so */
bool rh_http_call_may(struct rh_http_call *call);
/** Create call->easy with the credential. @return 0 or RH_ENOMEM */
int rh_http_call_prepare(struct rh_http_call *call, const struct rh_http_target *target,
                         const struct rh_auth_credential *credential, struct rh_error *err);
/** Store the result of call->easy, which libcurl has finished or which was cut off. */
void rh_http_call_conclude(struct rh_http_call *call, const struct rh_http_target *target, CURLcode code);
/** @return monotonic microseconds when it is cut off; RH_NEVER: no limit */
int64_t rh_http_call_deadline(const struct rh_http_call *call);
/** Call the owner's done function with the result. */
void rh_http_call_complete(const struct rh_http_call *call);

#endif
