/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/http/parts.h
 * @brief What the files of the HTTP client share; for core/kube/http/http*.c alone.
 */
#ifndef RH_KUBE_HTTP_PARTS_H
#define RH_KUBE_HTTP_PARTS_H

#include <curl/curl.h>

#include "base/str.h"
#include "kube/auth/auth.h"
#include "kube/http/http.h"
#include "kube/kubeconfig/kubeconfig.h"

/** What is constant for a client, in libcurl's forms. */
struct rh_http_target {
	const struct rh_kubeconfig *config; /**< borrowed */
	char *base;                         /**< what a path is put behind */
	char *host_header;                  /**< "Host: …" where the address has another name; NULL: libcurl's own */
	struct curl_slist *connect_to;      /**< where that other name is found; NULL: where the address says */
	bool local;                         /**< on this machine: the environment's proxy is not asked */
};

/** @return 0, RH_EINVAL when libcurl does not understand the server's address, or RH_ENOMEM */
int rh_http_target_init(struct rh_http_target *target, const struct rh_kubeconfig *config, struct rh_error *err);
/** Free what @p target owns. */
void rh_http_target_deinit(struct rh_http_target *target);

/** Where a call stands. */
enum rh_http_call_state {
	RH_HTTP_WAITING, /**< not yet libcurl's: new, or for want of a credential */
	RH_HTTP_FLYING,  /**< libcurl has it */
	RH_HTTP_OVER     /**< its end is still to be told */
};

/** Why a call ended without libcurl. */
enum rh_http_call_cut { RH_HTTP_NOT_CUT, RH_HTTP_CUT_TIME, RH_HTTP_CUT_IDLE, RH_HTTP_CUT_SIZE, RH_HTTP_CUT_CHUNK };

/** One request on its way. */
struct rh_http_call {
	struct rh_http_call *next, *prev;
	uint64_t id;
	enum rh_http_call_state state;
	bool forgotten; /**< cancelled from inside libcurl; to be freed when libcurl has returned */
	bool again;     /**< it is the second try, after a 401 */
	uint64_t generation;
	char *method;
	char *path;
	char *content_type;
	char *body;
	size_t body_length;
	size_t body_max; /**< of the answer */
	int64_t timeout, idle_timeout;
	int64_t began, heard; /**< monotonic */
	rh_http_chunk_fn *chunk;
	rh_http_done_fn *done;
	void *arg;
	CURL *easy;
	struct curl_slist *headers;
	long *ret_version; /**< where the answer's CURL_HTTP_VERSION_… goes */
	enum rh_http_call_cut cut;
	struct rh_str answer;
	int32_t status;
	bool sent;
	int64_t retry_after;
	char words[CURL_ERROR_SIZE + 512];
	char curl_words[CURL_ERROR_SIZE];
};

/** @return 0 or RH_ENOMEM */
int rh_http_call_new(const struct rh_http_request *request, struct rh_http_call **ret_call, struct rh_error *err);
/** Free it; libcurl must not have it any more. NULL is nothing. */
void rh_http_call_free(struct rh_http_call *call);
RH_DEFINE_CLEANUP(http_call);
/** Make call->easy with the credential. @return 0 or RH_ENOMEM */
int rh_http_call_prepare(struct rh_http_call *call, const struct rh_http_target *target,
                         const struct rh_auth_credential *credential, struct rh_error *err);
/** Take over from call->easy, which libcurl is done with, or which was cut, how it ended. */
void rh_http_call_conclude(struct rh_http_call *call, const struct rh_http_target *target, CURLcode code);
/** @return monotonic microseconds when it is to be cut; RH_NEVER */
int64_t rh_http_call_deadline(const struct rh_http_call *call);
/** Tell its owner how it ended. */
void rh_http_call_complete(const struct rh_http_call *call);

#endif
