/* SPDX-License-Identifier: Apache-2.0 */
#include "job/values/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_image__taken(void **state)
{
	static const char *const rows[] = {
		"a",
		"alpine:3.10",
		"kubeflow/kubectl-delivery:latest",
		"localhost/roundhouse:0.1.0",
		"localhost:5000/x",
		"registry.example:5000/team/round__house-a--b.c_d:V1_2.3-x",
		"Registry.EXAMPLE/x",
		"a@sha256:" SHA,
		"r.example/a:1@sha256:" SHA,
		"[::1]:5000/x",
		"[fd00::1]/x",
		"a/b/c/d",
		"a:5000",
		"x@sha512:" SHA SHA,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};

		if (rh_image_check(rows[i], &err) < 0)
			fail_msg("%s", err.message);
	}
}

static void test_image__refused(void **state)
{
	static const char *const rows[][2] = {
		{"", "\"\" is not a reference to an image: \"\" must be small"},
		{"UPPER/x", "\"UPPER\" must be small letters"},
		{"r.example/Team/x:1", "\"Team\" must be small letters"},
		{"a b", "\"a b\" must be"},
		{"a//b", "\"\" must be"},
		{"/a", "\"\" must be"},
		{"a/", "\"\" must be"},
		{"a:", "\"\" is not a tag"},
		{"a:b c", "\"b c\" is not a tag"},
		{"a:-x", "\"-x\" is not a tag"},
		{"-a", "\"-a\" must be"},
		{"a.", "\"a.\" must be"},
		{"a..b", "\"a..b\" must be"},
		{"a___b", "\"a___b\" must be"},
		{"a@sha256:12", "\"sha256:12\" is not a digest"},
		{"a@", "\"\" is not a digest"},
		{"a@sha256", "\"sha256\" is not a digest"},
		{"a@SHA256:" SHA, "is not a digest"},
		{"http://r.example/x", "is not a name of a registry"},
		{"r.example:port/x", "is not a name of a registry"},
		{".example/x", "is not a name of a registry"},
		{"r.-x/x", "is not a name of a registry"},
		{"[::1/x", "is not a name of a registry"},
		{"a:\"x\"", "is not a tag"},
		{"\xc3\xa4", "must be small"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};

		if (rh_image_check(rows[i][0], &err) != RH_EINVAL)
			fail_msg("\"%s\" was taken", rows[i][0]);
		if (!strstr(err.message, rows[i][1]) || !strstr(err.message, "registry.example"))
			fail_msg("\"%s\": %s", rows[i][0], err.message);
	}
}

static void test_image__long(void **state)
{
	char name[400];
	struct rh_error err = {0};

	(void)state;
	memset(name, 'a', sizeof(name));
	name[256] = '\0';
	assert_int_equal(rh_image_check(name, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "is too long"));
	name[255] = '\0';
	assert_int_equal(rh_image_check(name, &err), 0);
	memcpy(name, "a:", 2);
	name[2 + 128] = '\0';
	assert_int_equal(rh_image_check(name, &err), 0);
	memcpy(name + 2 + 128, "a", 2);
	assert_int_equal(rh_image_check(name, &err), RH_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_image__taken),
		cmocka_unit_test(test_image__refused),
		cmocka_unit_test(test_image__long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
