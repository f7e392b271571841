/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of ssh, one pair for each job: ECDSA on P-521, derived from random bytes of the host, so that the plugin
 * needs none of its own. The private scalar is their remainder by the order of the curve less 1, plus 1 (FIPS 186-5,
 * A.2.1: extra random bits).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include "mpi2.h"

#define KEYS_TYPE "ecdsa-sha2-nistp521"
#define KEYS_CURVE "nistp521"
/** An uncompressed point of P-521: 4, and two numbers of 66 bytes. */
#define KEYS_POINT 133
/** Three texts with their lengths. */
#define KEYS_BLOB (3 * 4 + sizeof(KEYS_TYPE) - 1 + sizeof(KEYS_CURVE) - 1 + KEYS_POINT)
/** Characters of base64 for that many bytes, with the final zero. */
#define KEYS_BASE64(size) (((size) + 2) / 3 * 4 + 1)

/** What one derivation holds; all of it is owned. */
struct keys_work {
	EC_GROUP *group;
	BN_CTX *context;
	BIGNUM *scalar;
	BIGNUM *order;
	EC_POINT *point;
	unsigned char octets[KEYS_POINT];
};

static void keys_end(struct keys_work *work)
{
	EC_POINT_free(work->point);
	BN_clear_free(work->scalar);
	BN_free(work->order);
	BN_CTX_free(work->context);
	EC_GROUP_free(work->group);
}

/** @return whether scalar and point were made of the bytes */
static bool keys_compute(struct keys_work *work, const uint8_t *random, uint32_t size)
{
	work->group = EC_GROUP_new_by_curve_name(NID_secp521r1);
	work->context = BN_CTX_secure_new();
	work->scalar = BN_secure_new();
	work->order = BN_new();
	work->point = work->group ? EC_POINT_new(work->group) : NULL;
	if (!work->group || !work->context || !work->scalar || !work->order || !work->point ||
	    !BN_bin2bn(random, (int)size, work->scalar) || !EC_GROUP_get_order(work->group, work->order, work->context) ||
	    !BN_sub_word(work->order, 1) || !BN_mod(work->scalar, work->scalar, work->order, work->context) ||
	    !BN_add_word(work->scalar, 1))
		return false;
	BN_set_flags(work->scalar, BN_FLG_CONSTTIME);
	return EC_POINT_mul(work->group, work->point, work->scalar, NULL, NULL, work->context) &&
	       EC_POINT_point2oct(work->group, work->point, POINT_CONVERSION_UNCOMPRESSED, work->octets, KEYS_POINT,
	                          work->context) == KEYS_POINT;
}

/** @return the pair for libcrypto, owned by the caller; NULL when memory is out */
static EVP_PKEY *keys_pair(const struct keys_work *work)
{
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	OSSL_PARAM *params = NULL;
	EVP_PKEY *pair = NULL;

	if (build && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "P-521", 0) &&
	    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_PRIV_KEY, work->scalar) &&
	    OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, work->octets, KEYS_POINT))
		params = OSSL_PARAM_BLD_to_param(build);
	if (params && context && EVP_PKEY_fromdata_init(context) == 1)
		(void)EVP_PKEY_fromdata(context, &pair, EVP_PKEY_KEYPAIR, params);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(build);
	EVP_PKEY_CTX_free(context);
	return pair;
}

/** @return the private key as ssh reads it, owned by the caller; NULL when memory is out */
static char *keys_print_private(EVP_PKEY *pair)
{
	BIO *out = BIO_new(BIO_s_secmem());
	char *data = NULL;
	char *text = NULL;
	long length = 0;

	if (out && PEM_write_bio_PrivateKey_traditional(out, pair, NULL, NULL, 0, NULL, NULL) == 1)
		length = BIO_get_mem_data(out, &data);
	if (length > 0)
		text = strndup(data, (size_t)length);
	BIO_free(out);
	return text;
}

/** Append a text with its length, as ssh has it. @return what follows */
static unsigned char *keys_append(unsigned char *at, const void *bytes, size_t size)
{
	const unsigned char length[4] = {(unsigned char)(size >> 24), (unsigned char)(size >> 16),
	                                 (unsigned char)(size >> 8), (unsigned char)size};

	memcpy(at, length, sizeof(length));
	memcpy(at + sizeof(length), bytes, size);
	return at + sizeof(length) + size;
}

/** @return the line of the public key, owned by the caller; NULL when memory is out */
static char *keys_print_public(const struct keys_work *work)
{
	unsigned char blob[KEYS_BLOB];
	unsigned char base64[KEYS_BASE64(KEYS_BLOB)];
	unsigned char *at = keys_append(blob, KEYS_TYPE, sizeof(KEYS_TYPE) - 1);
	char *line = NULL;

	at = keys_append(at, KEYS_CURVE, sizeof(KEYS_CURVE) - 1);
	at = keys_append(at, work->octets, KEYS_POINT);
	EVP_EncodeBlock(base64, blob, (int)(at - blob));
	return asprintf(&line, KEYS_TYPE " %s\n", (const char *)base64) < 0 ? NULL : line;
}

int32_t mpi2_keys_derive(const uint8_t *random, uint32_t size, struct mpi2_keys *ret_keys)
{
	struct keys_work work = {.group = NULL};
	EVP_PKEY *pair = NULL;

	*ret_keys = (struct mpi2_keys){NULL, NULL};
	if (!random || size < MPI2_RANDOM)
		return RH_EINVAL;
	if (keys_compute(&work, random, size))
		pair = keys_pair(&work);
	if (pair) {
		ret_keys->private_key = keys_print_private(pair);
		ret_keys->public_key = keys_print_public(&work);
	}
	EVP_PKEY_free(pair);
	keys_end(&work);
	if (ret_keys->private_key && ret_keys->public_key)
		return 0;
	mpi2_keys_free(ret_keys);
	return RH_ENOMEM;
}

static void keys_wipe(char *text)
{
	if (text)
		OPENSSL_cleanse(text, strlen(text));
	free(text);
}

void mpi2_keys_free(struct mpi2_keys *keys)
{
	keys_wipe(keys->private_key);
	keys_wipe(keys->public_key);
	*keys = (struct mpi2_keys){NULL, NULL};
}

/** @return the bytes of a text in base64, owned by the caller; NULL when memory is out */
static char *keys_encode(const char *text)
{
	size_t size = strlen(text);
	char *base64 = malloc(KEYS_BASE64(size));

	if (base64)
		EVP_EncodeBlock((unsigned char *)base64, (const unsigned char *)text, (int)size);
	return base64;
}

/** @return the Secret, owned by the caller; NULL when memory is out */
static char *keys_print_secret(struct mpi2_call *call, const struct rh_made *made, const struct mpi2_keys *keys)
{
	const char *name = mpi2_quote(call, "%s", made->name);
	const char *app = mpi2_quote(call, "%s", mpi2_name(call));
	char *private_key = keys_encode(keys->private_key);
	char *public_key = keys_encode(keys->public_key);
	char *json = NULL;

	if (!name || !app || !private_key || !public_key ||
	    asprintf(&json,
	             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":%s,\"labels\":{\"app\":%s}},"
	             "\"type\":\"kubernetes.io/ssh-auth\",\"immutable\":true,"
	             "\"data\":{\"ssh-privatekey\":\"%s\",\"ssh-publickey\":\"%s\"}}",
	             name, app, private_key, public_key) < 0)
		json = NULL;
	keys_wipe(private_key);
	keys_wipe(public_key);
	return json;
}

int32_t mpi2_make(void *self, const struct rh_view *view, const struct rh_made *made, struct rh_reply *reply)
{
	struct mpi2_call call = {self, view, reply, 0};
	struct mpi2_keys keys;
	char *json;
	int32_t r = mpi2_keys_derive(made->random, made->random_bytes, &keys);

	if (r < 0)
		return call.host->fail(reply, r, r == RH_ENOMEM ? "out of memory" : "too few random bytes for a key");
	json = keys_print_secret(&call, made, &keys);
	r = json ? call.host->object(reply, json) : call.host->fail(reply, RH_ENOMEM, "out of memory");
	keys_wipe(json);
	mpi2_keys_free(&keys);
	return r;
}
