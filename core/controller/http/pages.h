/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/http/pages.h
 * @brief Pages of the controller's servers, compatible with V1 (v1-behaviour F.4).
 */
#ifndef RH_CONTROLLER_HTTP_PAGES_H
#define RH_CONTROLLER_HTTP_PAGES_H

#include <stdbool.h>

#include "base/json.h"
#include "controller/metrics.h"
#include "httpd/httpd.h"

/** The check of a health page. */
struct rh_pages_check {
	const char *page; /**< "healthz", also the name of its one check */
	bool good;
};

/**
 * Answer "/PAGE", "/PAGE/PAGE", with ?verbose and ?exclude=PAGE, like the library that V1 used.
 * @return whether the request is for this page
 */
bool rh_pages_health(const struct rh_pages_check *check, const struct rh_httpd_request *request,
                     struct rh_httpd_reply *reply);
/** Answer "/metrics". @return whether the request is for it */
bool rh_pages_metrics(const struct rh_metrics *metrics, const struct rh_httpd_request *request,
                      struct rh_httpd_reply *reply);
/**
 * Check access to "/debug/state": allowed from this machine with a Host header of this machine, so that no web page can
 * read it. Sets the status of the reply to 200, or to 403.
 * @return whether the request is for it
 */
bool rh_pages_is_state(const struct rh_httpd_request *request, struct rh_httpd_reply *reply);
/** Answer with @p json; NULL means out of memory. */
void rh_pages_json(const struct rh_json *json, struct rh_httpd_reply *reply);

#endif
