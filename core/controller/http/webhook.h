/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/http/webhook.h
 * @brief V1's validating webhooks (v1-behaviour A.4): AdmissionReview in, AdmissionReview out. A pure function.
 */
#ifndef RH_CONTROLLER_HTTP_WEBHOOK_H
#define RH_CONTROLLER_HTTP_WEBHOOK_H

#include "controller/metrics.h"
#include "host/host.h"
#include "httpd/httpd.h"

/** Longest AdmissionReview that is read: two objects of etcd's maximum size and their envelope; bytes. */
#define RH_WEBHOOK_BODY_MAX ((size_t)8 * 1024 * 1024)

/** Options of the webhooks. */
struct rh_webhook {
	const struct rh_host *host;
	struct rh_metrics *metrics; /**< may be NULL */
	/** @return whether @p kind is served; NULL: every kind of the host */
	bool (*serves)(void *arg, const struct rh_kind *kind);
	void *arg;
};

/**
 * Answer "/validate-GROUP-VERSION-KIND" with V1's spelling ("/validate-kubeflow-org-v1-pytorchjob"). A new job is
 * refused with V1's message; an update only for faults that the old version did not have, so that stored jobs continue.
 * Findings of lint become warnings.
 * @return whether the request is for a webhook
 */
bool rh_webhook_answer(const struct rh_webhook *webhook, const struct rh_httpd_request *request,
                       struct rh_httpd_reply *reply);

#endif
