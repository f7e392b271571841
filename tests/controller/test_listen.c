/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/listen.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/support.h"

/* An address, and what it means; family 0: it is refused. */
struct row {
	const char *text;
	int family;
	const char *host;
	int port;
};

static const struct row rows[] = {
	{":8080", AF_INET6, "::", 8080},
	{":0", AF_INET6, "::", 0},
	{"127.0.0.1:8081", AF_INET, "127.0.0.1", 8081},
	{"0.0.0.0:65535", AF_INET, "0.0.0.0", 65535},
	{"localhost:1", AF_INET, "127.0.0.1", 1},
	{"[::1]:9443", AF_INET6, "::1", 9443},
	{"[::]:9443", AF_INET6, "::", 9443},
	{"", 0, NULL, 0},
	{"8080", 0, NULL, 0},
	{":", 0, NULL, 0},
	{":65536", 0, NULL, 0},
	{":-1", 0, NULL, 0},
	{": 80", 0, NULL, 0},
	{":80x", 0, NULL, 0},
	{"example.com:80", 0, NULL, 0},
	{"[::1:80", 0, NULL, 0},
	{"::1:80", 0, NULL, 0},
	{"[127.0.0.1]:80", 0, NULL, 0},
	{"0123456789012345678901234567890123456789012345678901234567890123456789:80", 0, NULL, 0},
};

static void check_place(const struct row *row, const struct sockaddr_storage *place)
{
	char host[INET6_ADDRSTRLEN] = "";
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)place;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)place;

	assert_int_equal(place->ss_family, row->family);
	if (row->family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
	else
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
	assert_string_equal(host, row->host);
	assert_int_equal(ntohs(row->family == AF_INET ? v4->sin_port : v6->sin6_port), row->port);
}

static void test_listen__parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_storage place = {0};
		struct rh_error err = {0};
		socklen_t length = 0;
		int r = rh_listen_parse(rows[i].text, &place, &length, &err);

		support_row(rows[i].text);
		if (rows[i].family) {
			assert_int_equal(r, 0);
			check_place(&rows[i], &place);
			continue;
		}
		assert_int_equal(r, RH_EINVAL);
		assert_non_null(strstr(err.message, "HOST:PORT"));
		assert_int_equal(length, 0);
	}
}

static void test_listen__off(void **state)
{
	(void)state;
	assert_true(rh_listen_is_off(""));
	assert_true(rh_listen_is_off("0"));
	assert_false(rh_listen_is_off(":0"));
	assert_false(rh_listen_is_off(":8080"));
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
		cmocka_unit_test(test_listen__parse),
		cmocka_unit_test(test_listen__off),
		cmocka_unit_test(test_listen__open),
		cmocka_unit_test(test_listen__taken),
		cmocka_unit_test(test_listen__every_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
