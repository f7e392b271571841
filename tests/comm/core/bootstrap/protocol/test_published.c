/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/protocol/published.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/core/bootstrap/protocol/frame.h"

#define WHOLE ((int64_t)sizeof(struct rh_comm_published_address))

static void test_published__what_is_made_is_accepted(void **state)
{
	struct rh_comm_published_address address;
	struct rh_comm_error err = {0};

	(void)state;
	assert_int_equal(rh_comm_published_address_make(&address, "10.0.0.1", 65535, &err), 0);
	assert_int_equal(rh_comm_published_address_check(&address, WHOLE, 0, &err), 0);
	assert_string_equal(address.host, "10.0.0.1");
	assert_int_equal(address.port, 65535);
	/* the key-value store of the caller may replace the host */
	assert_int_equal(rh_comm_published_address_make(&address, "", 1, &err), 0);
	assert_int_equal(rh_comm_published_address_check(&address, WHOLE, 0, &err), 0);
}

static void test_published__a_host_that_does_not_fit(void **state)
{
	struct rh_comm_published_address address;
	struct rh_comm_error err = {0};
	char host[RH_COMM_ADDRESS_ROOM + 1];

	(void)state;
	memset(host, 'h', sizeof(host));
	host[RH_COMM_ADDRESS_ROOM] = '\0';
	assert_int_equal(rh_comm_published_address_make(&address, host, 1, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "has more than 303 bytes"));
	host[RH_COMM_ADDRESS_ROOM - 1] = '\0';
	assert_int_equal(rh_comm_published_address_make(&address, host, 1, &err), 0);
	assert_int_equal(rh_comm_published_address_check(&address, WHOLE, 0, &err), 0);
}

static void test_published__what_is_refused(void **state)
{
	static const struct {
		const char *name;
		uint32_t protocol;
		int32_t port;
		int64_t length;
		char end; /* last byte of the host */
		int32_t code;
		const char *error;
	} rows[] = {
		{"a later version", 99, 7, WHOLE, 0, RH_COMM_EINVAL,
	     "rank 3 uses protocol 99 and this rank 8: use one version"},
		{"a later and longer one", 9, 7, WHOLE + 8, 0, RH_COMM_EINVAL, "rank 3 uses protocol 9 and this rank 8"},
		{"nothing", RH_COMM_PROTOCOL, 7, 0, 0, RH_COMM_EIO, "the address that rank 3 published is malformed"},
		{"a part", RH_COMM_PROTOCOL, 7, 20, 0, RH_COMM_EIO, "malformed"},
		{"port 0", RH_COMM_PROTOCOL, 0, WHOLE, 0, RH_COMM_EIO, "malformed"},
		{"a negative port", RH_COMM_PROTOCOL, -1, WHOLE, 0, RH_COMM_EIO, "malformed"},
		{"a port that is too large", RH_COMM_PROTOCOL, 65536, WHOLE, 0, RH_COMM_EIO, "malformed"},
		{"a host without an end", RH_COMM_PROTOCOL, 7, WHOLE, 'h', RH_COMM_EIO, "malformed"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_comm_published_address address = {.protocol = rows[i].protocol, .port = rows[i].port};
		struct rh_comm_error err = {0};

		memset(address.host, 'h', sizeof(address.host));
		address.host[RH_COMM_ADDRESS_ROOM - 1] = rows[i].end;
		if (rh_comm_published_address_check(&address, rows[i].length, 3, &err) != rows[i].code ||
		    !strstr(err.text, rows[i].error) || err.rank != 3)
			fail_msg("%s: %d %s", rows[i].name, err.code, err.text);
	}
}

/* Up to protocol 7 it was "29500 10.0.0.1". */
static void test_published__text_of_protocol_7(void **state)
{
	struct rh_comm_published_address address = {0};
	struct rh_comm_error err = {0};

	(void)state;
	memcpy(&address, "7 h", 3);
	assert_int_equal(rh_comm_published_address_check(&address, 3, 0, &err), RH_COMM_EINVAL);
	assert_string_equal(err.text,
	                    "rank 0 uses protocol 7 or older and this rank 8: use one version of rh_comm everywhere");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published__what_is_made_is_accepted),
		cmocka_unit_test(test_published__a_host_that_does_not_fit),
		cmocka_unit_test(test_published__what_is_refused),
		cmocka_unit_test(test_published__text_of_protocol_7),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
