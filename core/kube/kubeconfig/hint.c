/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kubeconfig/hint.h"

#include <string.h>

static bool hint_is_plain(const struct rh_kubeconfig *config)
{
	return rh_starts_with(config->server, "http://");
}

/* Messages that report the wrong scheme, and the scheme of the address that they imply. */
struct hint_words {
	const char *message;
	bool plain; /* the address begins with http:// */
};

/* Servers in Go, nginx and libcurl; then OpenSSL and GnuTLS. */
static const struct hint_words hint_schemes[] = {
	{"HTTP request to an HTTPS server", true},
	{"plain HTTP request was sent to HTTPS port", true},
	{"Received HTTP/0.9", true},
	{"wrong version number", false},
	{"packet length too long", false},
	{"record layer failure", false},
	{"unexpected TLS packet", false},
};

bool rh_kube_hint_is_scheme(const struct rh_kubeconfig *config, const char *message)
{
	bool plain = hint_is_plain(config);

	for (size_t i = 0; i < sizeof(hint_schemes) / sizeof(hint_schemes[0]); i++) {
		if (hint_schemes[i].plain == plain && strstr(message, hint_schemes[i].message))
			return true;
	}
	return false;
}

void rh_kube_hint_scheme(const struct rh_kubeconfig *config, struct rh_str *out)
{
	if (hint_is_plain(config))
		rh_str_appendf(out, "the server uses TLS, and %s.server begins with http://; write https://",
		               config->cluster_at);
	else
		rh_str_appendf(out,
		               "the server does not speak TLS, and %s.server begins with https://; write its port for TLS, "
		               "or http:// if it has none",
		               config->cluster_at);
}

/* The credential in use, and how to renew it. */
static void hint_credential(const struct rh_kubeconfig *config, struct rh_str *out)
{
	const char *command = rh_json_string(rh_json_get(config->exec, "command"));

	if (config->token_file)
		rh_str_appendf(out, "the token in %s is not accepted; renew it", config->token_file);
	else if (config->token)
		rh_str_appendf(out, "the token in %s.token is not accepted; renew it", config->user_at);
	else if (command)
		rh_str_appendf(out, "the credentials from the program \"%s\" of %s.exec are not accepted; log in again",
		               command, config->user_at);
	else if (config->certificate_file)
		rh_str_appendf(out, "the certificate in %s is not accepted; renew it", config->certificate_file);
	else if (config->certificate)
		rh_str_appendf(out, "the certificate in %s.client-certificate-data is not accepted; renew it", config->user_at);
	else if (config->username)
		rh_str_appendf(out, "username and password in %s are not accepted; correct them", config->user_at);
	else
		rh_str_appendf(out, "%s has no credentials; add a token, a client certificate or exec", config->user_at);
}

static void hint_login(const struct rh_kubeconfig *config, struct rh_str *out)
{
	if (config->context)
		rh_str_appendf(out, "context \"%s\", user \"%s\": ", config->context, config->user ? config->user : "");
	hint_credential(config, out);
	if (config->context)
		rh_str_appendf(out, " (kubectl --context %s auth whoami shows when it is right)", config->context);
}

void rh_kube_hint(const struct rh_kubeconfig *config, int32_t status, const char *message, struct rh_str *out)
{
	if (status == 401)
		hint_login(config, out);
	else if (status == 400 && rh_kube_hint_is_scheme(config, message))
		rh_kube_hint_scheme(config, out);
}
