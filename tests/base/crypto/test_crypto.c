/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/crypto/crypto.h"
#include "base/os/file.h"
#include "base/support.h"

static int file_with(const char *text)
{
	int fd = memfd_create("crypto", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(rh_fd_write_all(fd, text, strlen(text), NULL), 0);
	return fd;
}

/* FIPS 180-2, appendix B.1. */
static void test_crypto__sha256(void **state)
{
	char hash[RH_SHA256_HEX_SIZE];
	int fd = file_with("abc");

	(void)state;
	assert_int_equal(rh_crypto_sha256(fd, hash, NULL), 0);
	assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(close(fd), 0);
}

/* RFC 7693, appendix A. */
static void test_crypto__blake2b(void **state)
{
	static const uint8_t expected[] = {0xba, 0x80, 0xa5, 0x3f, 0x98, 0x1c, 0x4d, 0x0d};
	uint8_t hash[RH_BLAKE2B_SIZE];
	int fd = file_with("abc");

	(void)state;
	assert_int_equal(rh_crypto_blake2b(fd, hash, NULL), 0);
	assert_memory_equal(hash, expected, sizeof(expected));
	assert_int_equal(close(fd), 0);
}

static void test_crypto__what_cannot_be_hashed(void **state)
{
	char hash[RH_SHA256_HEX_SIZE];
	struct rh_error err = {0};
	int fd = file_with("");

	(void)state;
	assert_int_equal(rh_crypto_sha256(fd, hash, &err), RH_EIO);
	assert_string_equal(err.message, "cannot read it to hash it: it is empty");
	assert_int_equal(close(fd), 0);
	assert_int_equal(rh_crypto_sha256(fd, hash, &err), RH_EIO);
}

/* RFC 8032, section 7.1, test 2. */
static void test_crypto__verify(void **state)
{
	static const uint8_t key[RH_ED25519_KEY_SIZE] = {
		0x3d, 0x40, 0x17, 0xc3, 0xe8, 0x43, 0x89, 0x5a, 0x92, 0xb7, 0x0a, 0xa7, 0x4d, 0x1b, 0x7e, 0xbc,
		0x9c, 0x98, 0x2c, 0xcf, 0x2e, 0xc4, 0x96, 0x8c, 0xc0, 0xcd, 0x55, 0xf1, 0x2a, 0xf4, 0x66, 0x0c,
	};
	uint8_t signature[RH_ED25519_SIGNATURE_SIZE] = {
		0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8, 0x72, 0x0e, 0x82, 0x0b, 0x5f, 0x64, 0x25, 0x40,
		0xa2, 0xb2, 0x7b, 0x54, 0x16, 0x50, 0x3f, 0x8f, 0xb3, 0x76, 0x22, 0x23, 0xeb, 0xdb, 0x69, 0xda,
		0x08, 0x5a, 0xc1, 0xe4, 0x3e, 0x15, 0x99, 0x6e, 0x45, 0x8f, 0x36, 0x13, 0xd0, 0xf1, 0x1d, 0x8c,
		0x38, 0x7b, 0x2e, 0xae, 0xb4, 0x30, 0x2a, 0xee, 0xb0, 0x0d, 0x29, 0x16, 0x12, 0xbb, 0x0c, 0x00,
	};

	(void)state;
	assert_int_equal(rh_crypto_verify(key, "\x72", 1, signature, NULL), 1);
	assert_int_equal(rh_crypto_verify(key, "\x73", 1, signature, NULL), 0);
	signature[63] ^= 1;
	assert_int_equal(rh_crypto_verify(key, "\x72", 1, signature, NULL), 0);
}

/* tests/plugins/mpi2 asks ssh-keygen whether number and point belong together. */
static void test_crypto__pair(void **state)
{
	uint8_t pair[RH_PAIR_SIZE], other[RH_PAIR_SIZE];

	(void)state;
	assert_int_equal(rh_crypto_pair(pair, NULL), 0);
	assert_int_equal(rh_crypto_pair(other, NULL), 0);
	assert_memory_not_equal(pair, other, RH_PAIR_NUMBER_SIZE);
	/* 521 bits in 66 bytes; an uncompressed point begins with 4 */
	assert_true(pair[0] <= 1 && other[0] <= 1);
	assert_int_equal(pair[RH_PAIR_NUMBER_SIZE], 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crypto__sha256),
		cmocka_unit_test(test_crypto__blake2b),
		cmocka_unit_test(test_crypto__what_cannot_be_hashed),
		cmocka_unit_test(test_crypto__verify),
		cmocka_unit_test(test_crypto__pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
