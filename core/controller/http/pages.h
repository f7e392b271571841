/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/http/pages.h
 * @brief The answers of the controller's servers, as V1 gave them (COMPAT F.4).
 */
#ifndef RH_CONTROLLER_HTTP_PAGES_H
#define RH_CONTROLLER_HTTP_PAGES_H

#include <stdbool.h>

#include "base/json.h"
#include "controller/http/httpd.h"
#include "controller/metrics.h"

/** What stands behind a health page. */
struct rh_pages_check {
	const char *page; /**< "healthz", also the name of its one check */
	bool good;
};

/**
 * Answer "/PAGE", "/PAGE/PAGE", with ?verbose and ?exclude=PAGE, as the library that V1 used did.
 * @return whether the request is for this page
 */
bool rh_pages_health(const struct rh_pages_check *check, const struct rh_httpd_request *request,
                     struct rh_httpd_reply *reply);
/** Answer "/metrics". @return whether the request is for it */
bool rh_pages_metrics(const struct rh_metrics *metrics, const struct rh_httpd_request *request,
                      struct rh_httpd_reply *reply);
/**
 * Say who may have "/debug/state": who asks from this machine, by a Host that is this machine's own, so that no web
 * page can ask. The status of the reply is 200 then, else 403.
 * @return whether the request is for it
 */
bool rh_pages_is_state(const struct rh_httpd_request *request, struct rh_httpd_reply *reply);
/** Answer with @p json, which may be NULL when memory is out. */
void rh_pages_json(const struct rh_json *json, struct rh_httpd_reply *reply);

#endif
