/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/protocol/sha256.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static void assert_digest(const uint8_t *digest, const char *hex)
{
	char text[2 * RH_COMM_DIGEST + 1];

	for (int i = 0; i < RH_COMM_DIGEST; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", digest[i]);
	assert_string_equal(text, hex);
}

static void hash_in_pieces(const char *text, size_t piece, uint8_t *ret_digest)
{
	struct rh_comm_sha256 hash;
	size_t length = strlen(text);

	rh_comm_sha256_init(&hash);
	for (size_t at = 0; at < length; at += piece)
		rh_comm_sha256_add(&hash, text + at, length - at < piece ? length - at : piece);
	rh_comm_sha256_end(&hash, ret_digest);
}

/* The examples of FIPS 180-4 and its test vectors. */
static void test_sha256__knows_the_published_vectors(void **state)
{
	static const struct {
		const char *text;
		const char *hex;
	} rows[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqr"
	     "stu",
	     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	uint8_t digest[RH_COMM_DIGEST];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (size_t piece = 1; piece < 130; piece++) {
			hash_in_pieces(rows[i].text, piece, digest);
			assert_digest(digest, rows[i].hex);
		}
	}
}

/* RFC 4231, cases 1, 2 and 6. */
static void test_sha256__hmac_knows_the_published_vectors(void **state)
{
	uint8_t key[131];
	uint8_t digest[RH_COMM_DIGEST];
	const char *long_text = "Test Using Larger Than Block-Size Key - Hash Key First";

	(void)state;
	memset(key, 0x0b, sizeof(key));
	rh_comm_hmac(key, 20, "Hi There", 8, digest);
	assert_digest(digest, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	rh_comm_hmac("Jefe", 4, "what do ya want for nothing?", 28, digest);
	assert_digest(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	rh_comm_hmac(key, sizeof(key), long_text, strlen(long_text), digest);
	assert_digest(digest, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void test_sha256__digests_are_compared_whole(void **state)
{
	uint8_t a[RH_COMM_DIGEST] = {0};
	uint8_t b[RH_COMM_DIGEST] = {0};

	(void)state;
	assert_true(rh_comm_digest_equal(a, b));
	for (int i = 0; i < RH_COMM_DIGEST; i++) {
		b[i] = 1;
		assert_false(rh_comm_digest_equal(a, b));
		b[i] = 0;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256__knows_the_published_vectors),
		cmocka_unit_test(test_sha256__hmac_knows_the_published_vectors),
		cmocka_unit_test(test_sha256__digests_are_compared_whole),
	};

	return cmocka_run_group_tests_name("comm/core/bootstrap/protocol/sha256", tests, NULL, NULL);
}
