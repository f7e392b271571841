/* SPDX-License-Identifier: Apache-2.0 */
#include "local/preflight/listeners.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* A socket of this process that is bound to a free port. */
struct bound {
	int fd;
	int32_t port;
	unsigned long inode;
};

/* @return whether this machine has the family */
static bool bind_any(int family, bool loopback, struct bound *bound)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} address = {.any = {.sa_family = (sa_family_t)family}};
	socklen_t length = family == AF_INET ? sizeof(address.four) : sizeof(address.six);
	struct stat st;

	if (family == AF_INET)
		address.four.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
	else
		address.six.sin6_addr = loopback ? in6addr_loopback : in6addr_any;
	bound->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bound->fd < 0 || bind(bound->fd, &address.any, length) < 0) {
		(void)close(bound->fd);
		return false;
	}
	assert_int_equal(getsockname(bound->fd, &address.any, &length), 0);
	bound->port = ntohs(family == AF_INET ? address.four.sin_port : address.six.sin6_port);
	assert_int_equal(fstat(bound->fd, &st), 0);
	bound->inode = st.st_ino;
	return true;
}

/* The kernel's answer, which has to be that of the tables. */
static unsigned long find(int32_t port, bool everywhere)
{
	unsigned long listed = rh_listeners_read(port, everywhere);
	unsigned long inode = 0;

	if (rh_listeners_ask(port, everywhere, &inode))
		assert_int_equal(inode, listed);
	return listed;
}

static void test_listeners__are_found_by_port_and_address(void **state)
{
	static const struct {
		int family;
		bool loopback;
	} cases[] = {{AF_INET, true}, {AF_INET, false}, {AF_INET6, true}, {AF_INET6, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bound bound;

		if (!bind_any(cases[i].family, cases[i].loopback, &bound))
			continue;
		/* bound is not yet in use: nobody is refused there */
		assert_int_equal(find(bound.port, true), 0);
		assert_int_equal(listen(bound.fd, 1), 0);
		assert_int_equal(find(bound.port, true), bound.inode);
		assert_int_equal(find(bound.port, false), cases[i].loopback ? 0 : bound.inode);
		assert_int_equal(close(bound.fd), 0);
		assert_int_equal(find(bound.port, true), 0);
	}
}

/* More than one read of answers: the question is about one port, whatever else listens. */
static void test_listeners__are_found_among_many(void **state)
{
	struct bound bounds[300];
	size_t count = sizeof(bounds) / sizeof(bounds[0]);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		assert_true(bind_any(AF_INET, true, &bounds[i]));
		assert_int_equal(listen(bounds[i].fd, 1), 0);
	}
	assert_int_equal(find(bounds[count - 1].port, true), bounds[count - 1].inode);
	assert_int_equal(find(bounds[0].port, true), bounds[0].inode);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(close(bounds[i].fd), 0);
}

static void test_listeners__are_named(void **state)
{
	char who[RH_PREFLIGHT_WHO_SIZE] = "";
	char self[64];
	struct bound bound;

	(void)state;
	assert_true(bind_any(AF_INET, false, &bound));
	assert_false(rh_preflight_listener(NULL, bound.port, true, who));
	assert_int_equal(listen(bound.fd, 1), 0);
	assert_true(rh_preflight_listener(NULL, bound.port, true, who));
	(void)snprintf(self, sizeof(self), "process %d (", (int)getpid());
	assert_memory_equal(who, self, strlen(self));
	assert_int_equal(close(bound.fd), 0);
}

/* A port that is free on all addresses is not looked for any further; one that is taken on a single address is. */
static void test_listeners__on_one_address(void **state)
{
	const int families[] = {AF_INET, AF_INET6};
	char who[RH_PREFLIGHT_WHO_SIZE] = "";
	struct bound bound;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		if (!bind_any(families[i], true, &bound))
			continue;
		assert_int_equal(listen(bound.fd, 1), 0);
		assert_true(rh_preflight_listener(NULL, bound.port, true, who));
		assert_false(rh_preflight_listener(NULL, bound.port, false, who));
		assert_int_equal(close(bound.fd), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listeners__are_found_by_port_and_address),
		cmocka_unit_test(test_listeners__are_found_among_many),
		cmocka_unit_test(test_listeners__are_named),
		cmocka_unit_test(test_listeners__on_one_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
