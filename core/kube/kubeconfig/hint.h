/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/kubeconfig/hint.h
 * @brief What a user can do about an answer that the configuration is the reason of.
 */
#ifndef RH_KUBE_KUBECONFIG_HINT_H
#define RH_KUBE_KUBECONFIG_HINT_H

#include <stdint.h>

#include "base/str.h"
#include "kube/kubeconfig/kubeconfig.h"

/**
 * Append to @p out what an answer has to do with @p config, and the cure: credentials that are not accepted (401), with
 * file, context and user, and an address that begins with http:// where the server speaks TLS. Nothing where it is
 * about something else. No secret gets into it.
 * @param words of the answer
 */
void rh_kube_hint(const struct rh_kubeconfig *config, int32_t status, const char *words, struct rh_str *out);
/** @return whether @p words, libcurl's or a server's, say that TLS was expected where there is none, or the reverse */
bool rh_kube_hint_is_scheme(const struct rh_kubeconfig *config, const char *words);
/** Append what is wrong with the scheme of the server's address, and the cure. */
void rh_kube_hint_scheme(const struct rh_kubeconfig *config, struct rh_str *out);

#endif
