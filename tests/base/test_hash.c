/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include "support.h"

static void test_hash__plain_is_fnv1a(void **state)
{
	(void)state;
	assert_true(rh_hash("", 0) == UINT64_C(0xCBF29CE484222325));
	assert_true(rh_hash("a", 1) == UINT64_C(0xAF63DC4C8601EC8C));
	assert_true(rh_hash("foobar", 6) == UINT64_C(0x85944171F73967E8));
}

static void test_hash__bytes_that_lie_apart(void **state)
{
	(void)state;
	assert_true(rh_hash_more(RH_HASH_START, NULL, 0) == rh_hash("", 0));
	assert_true(rh_hash_more(rh_hash_more(RH_HASH_START, "foo", 3), "bar", 3) == rh_hash("foobar", 6));
}

/* The first vector of the Rust library's test of SipHash-1-3: key 00 01 … 0f, no bytes. */
static void test_hash__keyed_is_siphash13(void **state)
{
	const struct rh_hash_key key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0F0E0D0C0B0A0908)}};

	(void)state;
	assert_true(rh_hash_keyed(&key, "", 0) == UINT64_C(0xABAC0158050FC4DC));
}

static void test_hash__keyed_depends_on_key_length_and_bytes(void **state)
{
	static const char text[] = "abcdefghijklmnopq";
	const struct rh_hash_key one = {{1, 2}};
	const struct rh_hash_key other = {{1, 3}};

	(void)state;
	for (size_t length = 0; length < sizeof(text); length++) {
		uint64_t hash = rh_hash_keyed(&one, text, length);

		assert_true(hash == rh_hash_keyed(&one, text, length));
		assert_true(hash != rh_hash_keyed(&other, text, length));
		assert_true(length == 0 || hash != rh_hash_keyed(&one, text, length - 1));
		assert_true(length == 0 || hash != rh_hash_keyed(&one, text + 1, length));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash__plain_is_fnv1a),
		cmocka_unit_test(test_hash__bytes_that_lie_apart),
		cmocka_unit_test(test_hash__keyed_is_siphash13),
		cmocka_unit_test(test_hash__keyed_depends_on_key_length_and_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
