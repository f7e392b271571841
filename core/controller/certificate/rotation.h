/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/certificate/rotation.h
 * @brief Keeps the certificate of V1's webhooks (COMPAT F.5), so that a V1 Deployment goes on with another image.
 *
 * V1's manifests come with an empty Secret and webhooks that trust nobody; V1 filled both. So does this, with the
 * rights that V1 had: get, update and watch. Where there is no such Secret, or no right to it, there is nothing to do.
 *
 * Several instances may show certificates of different authorities for a while: a new one is shown only when the
 * webhooks trust it beside the former, and the former is trusted for an hour longer. One thread.
 */
#ifndef RH_CONTROLLER_CERTIFICATE_ROTATION_H
#define RH_CONTROLLER_CERTIFICATE_ROTATION_H

#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "kube/http/http.h"

/** Name of V1's ValidatingWebhookConfiguration. */
#define RH_ROTATION_WEBHOOKS "validator.training-operator.kubeflow.org"

/** Opaque. */
struct rh_rotation;

/** What it is about. Texts are copied. */
struct rh_rotation_options {
	struct rh_http *http;   /**< borrowed for its life */
	const char *namespace_; /**< of the Secret and the Service */
	const char *secret;
	const char *service; /**< the certificate is for SERVICE.NAMESPACE.svc */
	/** @return wall-clock microseconds; NULL: rh_clock_wall() */
	int64_t (*wall)(void);
	/** Show this certificate and its key, which the Secret holds, from now on; borrowed, PEM. */
	void (*changed)(void *arg, const char *certificate, const char *key);
	void *arg;
};

/** @return 0 or RH_ENOMEM */
int rh_rotation_new(const struct rh_rotation_options *options, struct rh_rotation **ret_rotation, struct rh_error *err);
/** Free it; what is under way is cancelled. NULL is nothing. */
void rh_rotation_free(struct rh_rotation *rotation);
RH_DEFINE_CLEANUP(rotation);
/** Do what is due. @param now monotonic microseconds */
void rh_rotation_step(struct rh_rotation *rotation, int64_t now);
/** Have the next round begin as soon as one that is under way is over: what was good by the clock may not be any more.
 */
void rh_rotation_hurry(struct rh_rotation *rotation);
/** @return monotonic microseconds when rh_rotation_step() is to be called; RH_NEVER while an answer is waited for */
int64_t rh_rotation_deadline(const struct rh_rotation *rotation);

#endif
