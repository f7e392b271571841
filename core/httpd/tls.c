/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/tls.h"

#include <gnutls/gnutls.h>

#include <string.h>

struct rh_httpd_tls {
	gnutls_certificate_credentials_t credentials;
	size_t owners;
};

/* A datum does not write to its text. */
static gnutls_datum_t httpd_tls_datum(const char *text)
{
	union {
		const char *text;
		unsigned char *data;
	} shape = {text};

	return (gnutls_datum_t){shape.data, (unsigned int)strlen(text)};
}

int rh_httpd_tls_new(const char *certificate, const char *key, struct rh_httpd_tls **ret_tls, struct rh_error *err)
{
	rh_auto(httpd_tls) tls = rh_alloc(sizeof(*tls));
	gnutls_datum_t certificate_datum = httpd_tls_datum(certificate);
	gnutls_datum_t key_datum = httpd_tls_datum(key);
	int r;

	if (!tls)
		return rh_fail_oom(err);
	tls->owners = 1;
	if (gnutls_certificate_allocate_credentials(&tls->credentials) < 0)
		return rh_fail_oom(err);
	r = gnutls_certificate_set_x509_key_mem2(tls->credentials, &certificate_datum, &key_datum, GNUTLS_X509_FMT_PEM,
	                                         NULL, 0);
	if (r == GNUTLS_E_MEMORY_ERROR)
		return rh_fail_oom(err);
	if (r < 0)
		return rh_fail(err, RH_EINVAL, "certificate and key cannot be used: they must be PEM, and belong together: %s",
		               gnutls_strerror(r));
	*ret_tls = rh_take(tls);
	return 0;
}

struct rh_httpd_tls *rh_httpd_tls_keep(struct rh_httpd_tls *tls)
{
	if (tls)
		tls->owners++;
	return tls;
}

void rh_httpd_tls_free(struct rh_httpd_tls *tls)
{
	if (!tls || --tls->owners > 0)
		return;
	if (tls->credentials)
		gnutls_certificate_free_credentials(tls->credentials);
	rh_free(tls);
}

int rh_httpd_tls_use(const struct rh_httpd_tls *tls, void *session)
{
	return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->credentials) < 0 ? RH_ENOMEM : 0;
}
