/* SPDX-License-Identifier: Apache-2.0 */
/* The known sums of FIPS 180, and lengths around the end of a block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../plugins/trainer/values/sha1.h"

static void sha1_assert(const char *text, const char *want)
{
	char sum[SHA1_TEXT];

	sha1_print(text, sum);
	assert_string_equal(sum, want);
}

static void test_sha1__known(void **state)
{
	(void)state;
	sha1_assert("", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
	sha1_assert("abc", "a9993e364706816aba3e25717850c26c9cd0d89d");
	sha1_assert("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

static void test_sha1__blocks(void **state)
{
	char text[130];

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = 'a';
	text[55] = '\0';
	sha1_assert(text, "c1c8bbdc22796e28c0e15163d20899b65621d65a");
	text[55] = 'a';
	text[56] = '\0';
	sha1_assert(text, "c2db330f6083854c99d4b5bfb6e8f29f201be699");
	text[56] = 'a';
	text[64] = '\0';
	sha1_assert(text, "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha1__known),
		cmocka_unit_test(test_sha1__blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
