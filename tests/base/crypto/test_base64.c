/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/base64.h"

#include "base/support.h"

/* RFC 4648 section 10, and what Go's decoder takes and refuses. */
static const struct {
	const char *name;
	const char *text;
	const char *bytes; /* NULL: it is no base64 */
	bool back;         /* the bytes are written as the text */
} rows[] = {
	{"nothing", "", "", true},
	{"one byte", "Zg==", "f", true},
	{"two bytes", "Zm8=", "fo", true},
	{"three bytes", "Zm9v", "foo", true},
	{"more groups", "Zm9vYmFy", "foobar", true},
	{"all bits", "/+/+", "\xff\xef\xfe", true},
	{"line ends", "Zm9v\r\nYmFy\n", "foobar", false},
	{"URL alphabet", "_-_-", NULL, false},
	{"no padding", "Zg", NULL, false},
	{"padding inside", "Zg==Zg==", NULL, false},
	{"padding alone", "====", NULL, false},
	{"three paddings", "Z===", NULL, false},
	{"white space", "Zm 9v", NULL, false},
};

static void test_base64__decode(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *to = rh_alloc(rh_base64_room(strlen(rows[i].text)));
		size_t length = 0;

		(void)support_row(rows[i].name);
		assert_non_null(to);
		assert_int_equal(rh_base64_decode(rows[i].text, to, &length), rows[i].bytes != NULL);
		if (!rows[i].bytes)
			continue;
		assert_string_equal(to, rows[i].bytes);
		assert_int_equal(length, strlen(rows[i].bytes));
	}
}

static void test_base64__encode(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str out = {0};

		if (!rows[i].back)
			continue;
		(void)support_row(rows[i].name);
		rh_base64_encode(rows[i].bytes, strlen(rows[i].bytes), &out);
		assert_string_equal(rh_str_text(&out), rows[i].text);
	}
}

static void test_base64__every_byte_comes_back(void **state)
{
	rh_auto_str out = {0};
	char bytes[256];
	char to[512];
	size_t length = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	rh_base64_encode(bytes, sizeof(bytes), &out);
	assert_true(rh_base64_decode(rh_str_text(&out), to, &length));
	assert_int_equal(length, sizeof(bytes));
	assert_memory_equal(to, bytes, sizeof(bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base64__decode),
		cmocka_unit_test(test_base64__encode),
		cmocka_unit_test(test_base64__every_byte_comes_back),
	};

	return cmocka_run_group_tests_name("base/base64", tests, NULL, NULL);
}
