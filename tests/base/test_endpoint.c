/* SPDX-License-Identifier: Apache-2.0 */
#include "base/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

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

static void test_endpoint__parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_storage place = {0};
		struct rh_error err = {0};
		socklen_t length = 0;
		int r = rh_endpoint_parse(rows[i].text, &place, &length, &err);

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

static void test_endpoint__any_v4(void **state)
{
	struct sockaddr_storage place = {0};
	socklen_t length = 0;

	(void)state;
	assert_true(rh_endpoint_any_v4(7, &place, &length));
	check_place(&(struct row){"", AF_INET, "0.0.0.0", 7}, &place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endpoint__parse),
		cmocka_unit_test(test_endpoint__any_v4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
