/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/kubeconfig/hint.h
 * @brief Hints for responses whose cause is the configuration.
 */
#ifndef RH_KUBE_KUBECONFIG_HINT_H
#define RH_KUBE_KUBECONFIG_HINT_H

#include <stdint.h>

#include "base/str.h"
#include "kube/kubeconfig/kubeconfig.h"

/**
 * Append to @p out how a response relates to @p config, with a hint: rejected credentials (401), with file, context
 * and user, or an http:// address of a server that uses TLS. Appends nothing for other causes, and never a secret.
 * @param message of the response
 */
void rh_kube_hint(const struct rh_kubeconfig *config, int32_t status, const char *message, struct rh_str *out);
/** @return whether @p message, of libcurl or a server, reports a TLS endpoint used without TLS, or the reverse */
bool rh_kube_hint_is_scheme(const struct rh_kubeconfig *config, const char *message);
/** Append the fault in the scheme of the server's address, with a hint. */
void rh_kube_hint_scheme(const struct rh_kubeconfig *config, struct rh_str *out);

#endif
