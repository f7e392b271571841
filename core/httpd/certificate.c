/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"

/* As V1: v1-behaviour F.5. */
#define CERTIFICATE_BITS 2048
#define CERTIFICATE_AUTHORITY "training-operator-ca"
#define CERTIFICATE_ORGANISATION "training-operator"
#define CERTIFICATE_HOUR INT64_C(3600)
#define CERTIFICATE_DAY (24 * CERTIFICATE_HOUR)
#define CERTIFICATE_YEAR (365 * CERTIFICATE_DAY)
/* Other authorities of a bundle. */
#define CERTIFICATE_OTHERS_MAX 8

/* One certificate that is to be. */
struct certificate_wish {
	const char *name;  /* common name */
	const char *names; /* subjectAltName, as libcrypto reads it */
	EVP_PKEY *key;
	X509 *issuer;         /* NULL: it signs itself, and is an authority */
	EVP_PKEY *issuer_key; /* NULL: likewise */
	int64_t now;          /* seconds since the epoch */
	int64_t lasts;        /* seconds */
};

static void certificate_free_key(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

static void certificate_free_x509(X509 **x509)
{
	X509_free(*x509);
}

static void certificate_free_bio(BIO **bio)
{
	BIO_free(*bio);
}

static void certificate_free_extension(X509_EXTENSION **extension)
{
	X509_EXTENSION_free(*extension);
}

#define certificate_auto_key __attribute__((cleanup(certificate_free_key))) EVP_PKEY *
#define certificate_auto_x509 __attribute__((cleanup(certificate_free_x509))) X509 *
#define certificate_auto_bio __attribute__((cleanup(certificate_free_bio))) BIO *

static void certificate_wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	rh_free(text);
}

void rh_certificates_deinit(struct rh_certificates *certificates)
{
	rh_free(certificates->ca);
	certificate_wipe(certificates->ca_key);
	rh_free(certificates->crt);
	certificate_wipe(certificates->key);
	*certificates = (struct rh_certificates){0};
}

static int certificate_fail(struct rh_error *err, const char *what)
{
	char message[256];

	ERR_error_string_n(ERR_get_error(), message, sizeof(message));
	ERR_clear_error();
	return rh_fail(err, RH_EIO, "certificate: %s: %s", what, message);
}

static bool certificate_extend(X509 *x509, X509 *issuer, int nid, const char *value)
{
	__attribute__((cleanup(certificate_free_extension))) X509_EXTENSION *extension = NULL;
	X509V3_CTX context;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, x509, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	return extension && X509_add_ext(x509, extension, -1) == 1;
}

static bool certificate_name(const struct certificate_wish *wish, X509 *x509)
{
	X509_NAME *subject = X509_get_subject_name(x509);
	const unsigned char *name = (const unsigned char *)wish->name;
	const unsigned char *organisation = (const unsigned char *)CERTIFICATE_ORGANISATION;

	if (!X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name, -1, -1, 0))
		return false;
	if (!wish->issuer && !X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, organisation, -1, -1, 0))
		return false;
	return X509_set_issuer_name(x509, wish->issuer ? X509_get_subject_name(wish->issuer) : subject) == 1;
}

static bool certificate_extensions(const struct certificate_wish *wish, X509 *x509)
{
	X509 *issuer = wish->issuer ? wish->issuer : x509;

	if (!certificate_extend(x509, issuer, NID_subject_alt_name, wish->names) ||
	    !certificate_extend(x509, issuer, NID_basic_constraints,
	                        wish->issuer ? "critical,CA:FALSE" : "critical,CA:TRUE"))
		return false;
	if (!wish->issuer)
		return certificate_extend(x509, issuer, NID_key_usage,
		                          "critical,digitalSignature,keyEncipherment,keyCertSign") &&
		       certificate_extend(x509, issuer, NID_subject_key_identifier, "hash");
	return certificate_extend(x509, issuer, NID_key_usage, "critical,digitalSignature,keyEncipherment") &&
	       certificate_extend(x509, issuer, NID_ext_key_usage, "serverAuth") &&
	       certificate_extend(x509, issuer, NID_authority_key_identifier, "keyid");
}

/* @return NULL when it cannot be done; libcrypto knows why */
static X509 *certificate_sign(const struct certificate_wish *wish)
{
	certificate_auto_x509 x509 = X509_new();

	if (!x509 || !X509_set_version(x509, X509_VERSION_3) ||
	    /* one authority may sign again: V1's constant 1 would be there twice */
	    !ASN1_INTEGER_set_int64(X509_get_serialNumber(x509), wish->issuer ? wish->now : 0) ||
	    !ASN1_TIME_set(X509_getm_notBefore(x509), wish->now - CERTIFICATE_HOUR) ||
	    !ASN1_TIME_set(X509_getm_notAfter(x509), wish->now + wish->lasts) || !X509_set_pubkey(x509, wish->key))
		return NULL;
	if (!certificate_name(wish, x509) || !certificate_extensions(wish, x509))
		return NULL;
	if (!X509_sign(x509, wish->issuer_key ? wish->issuer_key : wish->key, EVP_sha256()))
		return NULL;
	return rh_take(x509);
}

/* @return a copy of what was written, owned by the caller; NULL when memory is out */
static char *certificate_text(BIO *bio)
{
	char *bytes = NULL;
	long length = BIO_get_mem_data(bio, &bytes);

	return length > 0 ? rh_strndup(bytes, (size_t)length) : NULL;
}

static char *certificate_print(X509 *x509)
{
	certificate_auto_bio bio = BIO_new(BIO_s_mem());

	return bio && PEM_write_bio_X509(bio, x509) ? certificate_text(bio) : NULL;
}

/* PKCS #1: what V1 reads. */
static char *certificate_print_key(EVP_PKEY *key)
{
	certificate_auto_bio bio = BIO_new(BIO_s_secmem() ? BIO_s_secmem() : BIO_s_mem());

	if (!bio || !PEM_write_bio_PrivateKey_traditional(bio, key, NULL, NULL, 0, NULL, NULL))
		return NULL;
	return certificate_text(bio);
}

static X509 *certificate_read(const char *text)
{
	certificate_auto_bio bio = text ? BIO_new_mem_buf(text, -1) : NULL;

	return bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
}

/* Without the question for a password, which libcrypto would ask at the terminal. */
static int certificate_no_password(char *room, int size, int rw, void *arg)
{
	(void)room;
	(void)size;
	(void)rw;
	(void)arg;
	return -1;
}

static EVP_PKEY *certificate_read_key(const char *text)
{
	certificate_auto_bio bio = text ? BIO_new_mem_buf(text, -1) : NULL;

	return bio ? PEM_read_bio_PrivateKey(bio, NULL, certificate_no_password, NULL) : NULL;
}

static bool certificate_fits(X509 *x509, const char *key_text)
{
	certificate_auto_key key = certificate_read_key(key_text);

	return key && X509_check_private_key(x509, key) == 1;
}

static bool certificate_lasts(X509 *x509, int64_t now, int64_t until)
{
	time_t first = (time_t)(now / RH_SECOND);
	time_t last = (time_t)(until / RH_SECOND);

	/* 0 is an error, 1 is later, -1 is earlier */
	return X509_cmp_time(X509_get0_notBefore(x509), &first) == -1 &&
	       X509_cmp_time(X509_get0_notAfter(x509), &last) == 1;
}

static bool certificate_is_authority(X509 *x509, int64_t now, int64_t until)
{
	return x509 && X509_check_ca(x509) == 1 && certificate_lasts(x509, now, until);
}

/* A server's certificate of the authority @p ca. */
static int certificate_make_server(const char *name, int64_t now, X509 *ca, EVP_PKEY *ca_key,
                                   struct rh_certificates *certificates, struct rh_error *err)
{
	certificate_auto_key key = EVP_RSA_gen(CERTIFICATE_BITS);
	rh_auto_free char *names = rh_asprintf("DNS:%s", name);
	const struct certificate_wish wish = {name, names, key, ca, ca_key, now / RH_SECOND, CERTIFICATE_YEAR};
	certificate_auto_x509 crt = key && names ? certificate_sign(&wish) : NULL;

	if (!crt)
		return certificate_fail(err, "it could not be signed");
	certificates->crt = certificate_print(crt);
	certificates->key = certificate_print_key(key);
	return certificates->crt && certificates->key ? 0 : rh_fail_oom(err);
}

int rh_certificates_make(const char *name, int64_t now, struct rh_certificates *ret_certificates, struct rh_error *err)
{
	certificate_auto_key ca_key = EVP_RSA_gen(CERTIFICATE_BITS);
	certificate_auto_x509 ca = NULL;
	const struct certificate_wish wish = {CERTIFICATE_AUTHORITY, "DNS:" CERTIFICATE_AUTHORITY, ca_key, NULL, NULL,
	                                      now / RH_SECOND,       10 * CERTIFICATE_YEAR};
	rh_auto_certificates made = {0};
	int r;

	if (!ca_key)
		return certificate_fail(err, "no key could be made");
	ca = certificate_sign(&wish);
	if (!ca)
		return certificate_fail(err, "it could not be signed");
	made.ca = certificate_print(ca);
	made.ca_key = certificate_print_key(ca_key);
	r = made.ca && made.ca_key ? certificate_make_server(name, now, ca, ca_key, &made, err) : rh_fail_oom(err);
	if (r < 0)
		return r;
	*ret_certificates = made;
	made = (struct rh_certificates){0};
	return 0;
}

int rh_certificates_make_local(int64_t now, struct rh_certificates *ret_certificates, struct rh_error *err)
{
	certificate_auto_key key = EVP_EC_gen("P-256");
	const struct certificate_wish wish = {
		"roundhouse run", "IP:127.0.0.1,DNS:localhost", key, NULL, NULL, now / RH_SECOND, CERTIFICATE_YEAR};
	certificate_auto_x509 crt = key ? certificate_sign(&wish) : NULL;
	rh_auto_certificates made = {0};

	if (!crt)
		return certificate_fail(err, "it could not be signed");
	made.crt = certificate_print(crt);
	made.key = certificate_print_key(key);
	if (!made.crt || !made.key)
		return rh_fail_oom(err);
	*ret_certificates = made;
	made = (struct rh_certificates){0};
	return 0;
}

int rh_certificates_renew(struct rh_certificates *certificates, const char *name, int64_t now, int64_t ahead,
                          struct rh_error *err)
{
	certificate_auto_x509 ca = certificate_read(certificates->ca);
	certificate_auto_key ca_key = certificate_read_key(certificates->ca_key);
	bool keep = certificate_is_authority(ca, now, now + ahead) && ca_key && X509_check_private_key(ca, ca_key) == 1;
	rh_auto_certificates made = {0};
	int r;

	ERR_clear_error();
	if (keep) {
		made.ca = rh_strdup(certificates->ca);
		made.ca_key = rh_strdup(certificates->ca_key);
		r = made.ca && made.ca_key ? certificate_make_server(name, now, ca, ca_key, &made, err) : rh_fail_oom(err);
	} else {
		r = rh_certificates_make(name, now, &made, err);
	}
	if (r < 0)
		return r;
	rh_certificates_deinit(certificates);
	*certificates = made;
	made = (struct rh_certificates){0};
	return 0;
}

int rh_certificates_trust(const char *own, const char *bundle, int64_t now, struct rh_str *out)
{
	certificate_auto_x509 own_x509 = certificate_read(own);
	certificate_auto_bio bio = bundle ? BIO_new_mem_buf(bundle, -1) : NULL;
	int others = 0;

	rh_str_append(out, own);
	while (bio && others < CERTIFICATE_OTHERS_MAX) {
		certificate_auto_x509 other = PEM_read_bio_X509(bio, NULL, NULL, NULL);
		rh_auto_free char *text = NULL;

		if (!other)
			break;
		if ((own_x509 && X509_cmp(other, own_x509) == 0) || !certificate_is_authority(other, now, now))
			continue;
		text = certificate_print(other);
		if (out->length > 0 && out->data[out->length - 1] != '\n')
			rh_str_append(out, "\n");
		rh_str_append(out, text ? text : "");
		out->failed = out->failed || !text;
		others++;
	}
	ERR_clear_error();
	return out->failed ? RH_ENOMEM : others;
}

bool rh_certificates_good(const struct rh_certificates *certificates, const char *name, int64_t now, int64_t ahead)
{
	certificate_auto_x509 ca = certificate_read(certificates->ca);
	certificate_auto_x509 crt = certificate_read(certificates->crt);
	bool good = ca && crt && certificate_fits(ca, certificates->ca_key) && certificate_fits(crt, certificates->key) &&
	            X509_check_ca(ca) == 1 && X509_verify(crt, X509_get0_pubkey(ca)) == 1 &&
	            X509_check_host(crt, name, 0, 0, NULL) == 1 && certificate_lasts(ca, now, now + ahead) &&
	            certificate_lasts(crt, now, now + ahead);

	ERR_clear_error();
	return good;
}
