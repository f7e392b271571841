/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "config/keys.h"
#include "config/setting.h"

struct setting_row {
	const char *key;
	const char *value;
	const char *says; /* NULL: it is taken */
};

static const struct setting_row setting_rows[] = {
	{"namespace", "team-1", NULL},
	{"namespace", "", NULL},
	{"namespace", "a.b", "namespace: \"a.b\" is not a name of a namespace; use"},
	{"leader-elect", "true", NULL},
	{"leader-elect", "yes", "leader-elect: \"yes\" is neither true nor false"},
	{"leader-election-id", "a.b", NULL},
	{"leader-election-id", "", "leader-election-id: \"\" is not a name of an object"},
	{"leader-election-id", "A", "is not a name of an object; use small letters"},
	{"metrics-bind-address", "0", NULL},
	{"metrics-bind-address", "", NULL},
	{"metrics-bind-address", "[::1]:80", NULL},
	{"metrics-bind-address", "here", "metrics-bind-address: \"here\" is not an address"},
	{"kube-api-qps", "1.5", NULL},
	{"kube-api-qps", "abc", "kube-api-qps: \"abc\" is not a number from 0 to 1000000"},
	{"kube-api-qps", "-1", "is not a number from 0"},
	{"kube-api-qps", "1e3", "is not a number"},
	{"kube-api-qps", "0x10", "is not a number"},
	{"kube-api-qps", "nan", "is not a number"},
	{"kube-api-qps", " 1", "is not a number"},
	{"kube-api-qps", "1.2.3", "is not a number"},
	{"kube-api-qps", "", "is not a number"},
	{"kube-api-burst", "7", NULL},
	{"kube-api-burst", "1.5", "kube-api-burst: \"1.5\" is not a whole number from 0 to 1000000"},
	{"kube-api-burst", "1000001", "is not a whole number from 0"},
	{"webhook-server-port", "65536", "is not a whole number from 0 to 65535"},
	{"webhook-cert-dir", "", "webhook-cert-dir is empty"},
	{"log-format", "json", NULL},
	{"log-format", "JSON", "log-format: \"JSON\" is not one of text|json"},
	{"log-format", "tex", "is not one of"},
	{"controller-threads", "0", "is not a whole number from 1"},
	{"zap-log-level", "DEBUG", NULL},
	{"zap-log-level", "5", NULL},
	{"zap-log-level", "foo",
     "zap-log-level: \"foo\" is neither one of debug|info|error|panic nor a whole number above 0"},
	{"zap-log-level", "0", "is neither one of"},
	{"zap-log-level", "", "is neither one of"},
	{"zap-stacktrace-level", "warn", "is not one of info|error|panic"},
	{"zap-time-encoding", "iso8601", NULL},
	{"zap-time-encoding", "iso", "is not one of epoch"},
};

static void test_setting__controller(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(setting_rows) / sizeof(setting_rows[0]); i++) {
		const struct setting_row *row = &setting_rows[i];
		const struct rh_setting_rule *rule = rh_config_flag(row->key);
		struct rh_error err = {0};
		int r;

		assert_non_null(rule);
		r = rh_setting_check(rule, row->value, &err);
		if (r != (row->says ? RH_EINVAL : 0) || (row->says && !strstr(err.message, row->says)))
			fail_msg("%s=\"%s\": %d \"%s\", not \"%s\"", row->key, row->value, r, err.message,
			         row->says ? row->says : "");
	}
	assert_null(rh_config_flag("namespaces"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setting__controller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
