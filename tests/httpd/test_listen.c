/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/listen.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/support.h"

static void test_listen__off(void **state)
{
	(void)state;
	assert_true(rh_listen_is_off(""));
	assert_true(rh_listen_is_off("0"));
	/* A port that the system chooses is known to nobody */
	assert_true(rh_listen_is_off(":0"));
	assert_true(rh_listen_is_off("127.0.0.1:0"));
	assert_true(rh_listen_is_off("[::1]:00"));
	assert_false(rh_listen_is_off(":8080"));
	assert_false(rh_listen_is_off("[::]:80"));
	assert_false(rh_listen_is_off("nonsense"));
	assert_false(rh_listen_is_off(":"));
}

static void test_listen__open(void **state)
{
	struct rh_error err = {0};
	rh_auto_close int fd = -1;

	(void)state;
	assert_int_equal(rh_listen_open("127.0.0.1:0", &fd, &err), 0);
	assert_true(rh_listen_port(fd) > 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static void test_listen__taken(void **state)
{
	struct rh_error err = {0};
	rh_auto_close int fd = -1;
	char address[32];
	int second = -1;

	(void)state;
	assert_int_equal(rh_listen_open("127.0.0.1:0", &fd, &err), 0);
	snprintf(address, sizeof(address), "127.0.0.1:%u", rh_listen_port(fd));
	assert_int_equal(rh_listen_open(address, &second, &err), RH_EIO);
	assert_int_equal(second, -1);
	assert_non_null(strstr(err.message, address));
	assert_non_null(strstr(err.message, "in use"));
}

static void test_listen__every_interface(void **state)
{
	struct rh_error err = {0};
	rh_auto_close int fd = -1;

	(void)state;
	assert_int_equal(rh_listen_open(":0", &fd, &err), 0);
	assert_true(rh_listen_port(fd) > 0);
	assert_int_equal(rh_listen_port(-1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listen__off),
		cmocka_unit_test(test_listen__open),
		cmocka_unit_test(test_listen__taken),
		cmocka_unit_test(test_listen__every_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
