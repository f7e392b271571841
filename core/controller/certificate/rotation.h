/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/certificate/rotation.h
 * @brief Maintains the certificate of V1's webhooks (v1-behaviour F.5), so that a V1 Deployment works with this image.
 *
 * V1's manifests have an empty Secret and webhooks without a CA bundle; V1 filled both. This module does the same with
 * V1's permissions: get, update and watch. Without such a Secret, or without permission, it does nothing.
 *
 * Several instances may serve certificates of different CAs for some time: a new certificate is served only when the
 * webhooks trust its CA beside the former one, which stays trusted for another hour. All functions are called on the
 * loop's thread.
 */
#ifndef RH_CONTROLLER_CERTIFICATE_ROTATION_H
#define RH_CONTROLLER_CERTIFICATE_ROTATION_H

#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os/loop.h"
#include "kube/http/http.h"

/** Name of V1's ValidatingWebhookConfiguration. */
#define RH_ROTATION_WEBHOOKS "validator.training-operator.kubeflow.org"

/** Opaque rotation. */
struct rh_rotation;

/** Options of a rotation. Strings are copied. */
struct rh_rotation_options {
	struct rh_loop *loop;   /**< borrowed for the rotation's life */
	int order;              /**< of the rotation and its watches in the loop, see struct rh_loop_source */
	struct rh_http *http;   /**< borrowed for the rotation's life */
	const char *namespace_; /**< of the Secret and the Service */
	const char *secret;
	const char *service; /**< the certificate is for SERVICE.NAMESPACE.svc */
	/** @return wall-clock microseconds; NULL: rh_clock_wall() */
	int64_t (*wall)(void);
	/** Called to serve this certificate and key of the Secret from now on; borrowed, PEM. */
	void (*changed)(void *arg, const char *certificate, const char *key);
	void *arg;
};

/** Create a rotation and register it with the loop, which sends what is due. @param[out] ret_rotation owned by the
 * caller. @return 0 or RH_ENOMEM */
int rh_rotation_new(const struct rh_rotation_options *options, struct rh_rotation **ret_rotation, struct rh_error *err);
/** Cancel the request in progress, end the source and free @p rotation. NULL is ignored. */
void rh_rotation_free(struct rh_rotation *rotation);
RH_DEFINE_CLEANUP(rotation);
/** Start the next round after the one in progress: after a clock change a certificate may not be valid any more.
 */
void rh_rotation_hurry(struct rh_rotation *rotation);

#endif
