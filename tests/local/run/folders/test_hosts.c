/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

#include "local/run/folders/hosts.h"

#define LOCALHOST "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
#define OWN "127.0.1.1\tbox\n"

struct hosts_row {
	const char *label;
	const char *text;
	const char *name;
	const char *want;
};

static const struct hosts_row hosts_rows[] = {
	{"the machine has no file", NULL, "box", LOCALHOST OWN},
	{"nor a name", NULL, "", LOCALHOST},
	{"empty file", "", "box", "\n" OWN},
	{"the name is missing", "127.0.0.1 localhost\n", "box", "127.0.0.1 localhost\n\n" OWN},
	{"the file ends without a newline", "127.0.0.1 localhost", "box", "127.0.0.1 localhost\n" OWN},
	{"the name is there", "127.0.0.1 localhost\n10.0.0.1 box\n", "box", "127.0.0.1 localhost\n10.0.0.1 box\n\n"},
	{"as a further name", "10.0.0.1\tbig\tbox # here\n", "box", "10.0.0.1\tbig\tbox # here\n\n"},
	{"as the last word", "10.0.0.1 box", "box", "10.0.0.1 box\n"},
	{"as a part of a name", "10.0.0.1 boxer unbox box.lan\n", "box", "10.0.0.1 boxer unbox box.lan\n\n" OWN},
	{"in a comment", "#10.0.0.1 box\n10.0.0.1 a # box\n", "box", "#10.0.0.1 box\n10.0.0.1 a # box\n\n" OWN},
	{"in place of an address", "box a\n", "box", "box a\n\n" OWN},
	{"behind an empty line", "\n\n10.0.0.1 box\n", "box", "\n\n10.0.0.1 box\n\n"},
};

static void test_hosts__machine(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hosts_rows) / sizeof(hosts_rows[0]); i++) {
		const struct hosts_row *row = &hosts_rows[i];
		struct rh_str out = {0};

		rh_run_hosts_machine(&out, row->text, row->name);
		if (strcmp(rh_str_text(&out), row->want) != 0)
			fail_msg("%s: got \"%s\", want \"%s\"", row->label, rh_str_text(&out), row->want);
		rh_str_deinit(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts__machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
