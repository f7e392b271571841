/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/crypto.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>

/* The version that the headers are of, as libcrypto.so.3. */
#define CRYPTO_TEXT(number) #number
#define CRYPTO_NUMBER(number) CRYPTO_TEXT(number)
#define CRYPTO_LIBRARY "libcrypto.so." CRYPTO_NUMBER(OPENSSL_SHLIB_VERSION)

/* What is called of libcrypto. */
struct crypto {
	__typeof__(&EVP_Digest) digest;
	__typeof__(&EVP_sha256) sha256;
	__typeof__(&EVP_blake2b512) blake2b;
	__typeof__(&EVP_PKEY_new_raw_public_key) key_new;
	__typeof__(&EVP_PKEY_free) key_free;
	__typeof__(&EVP_MD_CTX_new) context_new;
	__typeof__(&EVP_MD_CTX_free) context_free;
	__typeof__(&EVP_DigestVerifyInit) verify_init;
	__typeof__(&EVP_DigestVerify) verify;
	__typeof__(&EVP_PKEY_Q_keygen) generate;
	__typeof__(&EVP_PKEY_get_bn_param) get_number;
	__typeof__(&EVP_PKEY_get_octet_string_param) get_octets;
	__typeof__(&BN_bn2binpad) print_number;
	__typeof__(&BN_clear_free) number_free;
};

/* ISO C has no cast from the object pointer of dlsym() to a function pointer; POSIX promises equal representation. */
static int crypto_find(void *library, const char *name, void *ret_function, struct rh_error *err)
{
	void *symbol = dlsym(library, name);

	if (!symbol)
		return rh_fail(err, RH_EIO, CRYPTO_LIBRARY " lacks %s; install that of OpenSSL 3", name);
	memcpy(ret_function, &symbol, sizeof(symbol));
	return 0;
}

/* It stays loaded: OpenSSL does not support being unloaded. */
static int crypto_load(struct crypto *crypto, struct rh_error *err)
{
	const struct {
		const char *name;
		void *function;
	} rows[] = {
		{"EVP_Digest", &crypto->digest},
		{"EVP_sha256", &crypto->sha256},
		{"EVP_blake2b512", &crypto->blake2b},
		{"EVP_PKEY_new_raw_public_key", &crypto->key_new},
		{"EVP_PKEY_free", &crypto->key_free},
		{"EVP_MD_CTX_new", &crypto->context_new},
		{"EVP_MD_CTX_free", &crypto->context_free},
		{"EVP_DigestVerifyInit", &crypto->verify_init},
		{"EVP_DigestVerify", &crypto->verify},
		{"EVP_PKEY_Q_keygen", &crypto->generate},
		{"EVP_PKEY_get_bn_param", &crypto->get_number},
		{"EVP_PKEY_get_octet_string_param", &crypto->get_octets},
		{"BN_bn2binpad", &crypto->print_number},
		{"BN_clear_free", &crypto->number_free},
	};
	void *library = dlopen(CRYPTO_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	int r = 0;

	if (!library)
		return rh_fail(err, RH_EIO,
		               "hashes, signatures and keys need " CRYPTO_LIBRARY ", which does not load: %s; install "
		               "OpenSSL 3 (Debian: libssl3)",
		               dlerror());
	for (size_t i = 0; r == 0 && i < sizeof(rows) / sizeof(rows[0]); i++)
		r = crypto_find(library, rows[i].name, rows[i].function, err);
	(void)dlclose(library);
	return r;
}

void rh_crypto_prepare(void)
{
	struct crypto crypto;
	uint8_t hash[EVP_MAX_MD_SIZE];

	if (crypto_load(&crypto, NULL) == 0)
		(void)crypto.digest("", 0, hash, NULL, crypto.sha256(), NULL);
}

/* Hash a file in one piece. */
static int crypto_digest(const struct crypto *crypto, int fd, const EVP_MD *type, uint8_t *ret_hash,
                         struct rh_error *err)
{
	struct stat st;
	void *bytes = MAP_FAILED;
	int good;

	if (fstat(fd, &st) == 0 && st.st_size > 0)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return rh_fail(err, RH_EIO, "cannot read it to hash it: %s", st.st_size == 0 ? "it is empty" : strerror(errno));
	good = crypto->digest(bytes, (size_t)st.st_size, ret_hash, NULL, type, NULL);
	(void)munmap(bytes, (size_t)st.st_size);
	return good == 1 ? 0 : rh_fail(err, RH_EIO, "libcrypto cannot hash; is this hash switched off in openssl.cnf?");
}

int rh_crypto_sha256(int fd, char ret_hex[RH_SHA256_HEX_SIZE], struct rh_error *err)
{
	struct crypto crypto;
	uint8_t hash[EVP_MAX_MD_SIZE];
	int r = crypto_load(&crypto, err);

	if (r == 0)
		r = crypto_digest(&crypto, fd, crypto.sha256(), hash, err);
	for (size_t i = 0; r == 0 && i < RH_SHA256_HEX_SIZE / 2; i++)
		(void)snprintf(ret_hex + 2 * i, 3, "%02x", hash[i]);
	return r;
}

int rh_crypto_blake2b(int fd, uint8_t ret_hash[RH_BLAKE2B_SIZE], struct rh_error *err)
{
	struct crypto crypto;
	int r = crypto_load(&crypto, err);

	return r < 0 ? r : crypto_digest(&crypto, fd, crypto.blake2b(), ret_hash, err);
}

int rh_crypto_verify(const uint8_t key[RH_ED25519_KEY_SIZE], const void *message, size_t length,
                     const uint8_t signature[RH_ED25519_SIGNATURE_SIZE], struct rh_error *err)
{
	struct crypto crypto;
	EVP_PKEY *owner;
	EVP_MD_CTX *context;
	int r = crypto_load(&crypto, err);

	if (r < 0)
		return r;
	owner = crypto.key_new(EVP_PKEY_ED25519, NULL, key, RH_ED25519_KEY_SIZE);
	context = crypto.context_new();
	r = owner && context && crypto.verify_init(context, NULL, NULL, NULL, owner) == 1 &&
	    crypto.verify(context, signature, RH_ED25519_SIGNATURE_SIZE, message, length) == 1;
	crypto.context_free(context);
	crypto.key_free(owner);
	return r;
}

int rh_crypto_pair(uint8_t ret_pair[RH_PAIR_SIZE], struct rh_error *err)
{
	const int point = RH_PAIR_SIZE - RH_PAIR_NUMBER_SIZE;
	BIGNUM *number = NULL;
	struct crypto crypto;
	size_t length = 0;
	EVP_PKEY *pair;
	int r = crypto_load(&crypto, err);

	if (r < 0)
		return r;
	pair = crypto.generate(NULL, NULL, "EC", "P-521");
	r = pair && crypto.get_number(pair, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1 &&
	    crypto.print_number(number, ret_pair, RH_PAIR_NUMBER_SIZE) == RH_PAIR_NUMBER_SIZE &&
	    crypto.get_octets(pair, OSSL_PKEY_PARAM_PUB_KEY, ret_pair + RH_PAIR_NUMBER_SIZE, (size_t)point, &length) == 1 &&
	    length == (size_t)point;
	crypto.number_free(number);
	crypto.key_free(pair);
	return r ? 0 : rh_fail(err, RH_EIO, "libcrypto makes no keys on P-521; are they switched off in openssl.cnf?");
}
