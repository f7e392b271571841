/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tests/kube/fake_http.h
 * @brief kube/http/http.h without a network: a test sees each request and says what is answered, and when.
 */
#ifndef RH_TESTS_KUBE_FAKE_HTTP_H
#define RH_TESTS_KUBE_FAKE_HTTP_H

#include "kube/http/http.h"

/** A request that was sent and is neither answered nor cancelled. */
struct fake_call {
	struct fake_call *next;
	uint64_t id;
	char *method;
	char *path;
	char *content_type; /**< NULL: none */
	char *body;         /**< NULL: none */
	int64_t timeout;
	int64_t idle_timeout;
	rh_http_chunk_fn *chunk;
	rh_http_may_fn *may;
	rh_http_done_fn *done;
	void *arg;
};

/** @return a client without calls; freed by rh_http_free() */
struct rh_http *fake_http_new(void);
/** @return how many calls are open */
size_t fake_http_count(const struct rh_http *http);
/** @return the argument of the last rh_http_close_silent(); 0: there was none */
int64_t fake_http_silent_since(const struct rh_http *http);
/** @return the open call number @p index, oldest first, or NULL */
struct fake_call *fake_http_call(struct rh_http *http, size_t index);
/** @return the oldest open call of @p method whose path contains @p part, or NULL */
struct fake_call *fake_http_find(struct rh_http *http, const char *method, const char *part);
/** Let piece by piece of the body come. @return whether the call is still open: its listener may end it */
bool fake_http_feed(struct rh_http *http, struct fake_call *call, const char *text, size_t length);
/** Answer: a good answer's body goes to the chunk function if there is one. */
void fake_http_answer(struct rh_http *http, struct fake_call *call, int32_t status, const char *body);
/** End with this response, its body as it is. */
void fake_http_end(struct rh_http *http, struct fake_call *call, const struct rh_http_response *response);
/** Break the connection. */
void fake_http_cut(struct rh_http *http, struct fake_call *call, bool sent);

#endif
