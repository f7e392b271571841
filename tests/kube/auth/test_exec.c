/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth/exec.h"

#include <stdio.h>

#include "base/os/clock.h"
#include "base/support.h"

#define HEAD "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":"
#define CERTIFICATE "\"clientCertificateData\":\"-----BEGIN CERTIFICATE-----\\nx\\n-----END CERTIFICATE-----\\n\""
#define KEY "\"clientKeyData\":\"-----BEGIN PRIVATE KEY-----\\nx\\n-----END PRIVATE KEY-----\\n\""

static struct rh_kubeconfig *configure(const char *cluster, const char *exec)
{
	rh_auto_free char *text =
		rh_asprintf("{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, "
	                "cluster: {server: 'https://a', %s}}], users: [{name: u, user: {exec: {%s}}}]}",
	                cluster, exec);
	struct rh_kubeconfig *config = NULL;
	struct rh_error err = {0};

	if (rh_kubeconfig_parse("f", text, strlen(text), NULL, &config, &err) < 0)
		fail_msg("%s", err.message);
	return config;
}

static struct rh_kubeconfig *plain(void)
{
	return configure("", "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: a");
}

static void test_exec__answers(void **state)
{
	static const struct {
		const char *name, *text, *token;
		bool certificate;
		int64_t expires; /* seconds; 0: never */
	} rows[] = {
		{"token", HEAD "{\"token\":\"abc\"}}", "abc", false, 0},
		{"token for a while", HEAD "{\"token\":\"abc\",\"expirationTimestamp\":\"2025-10-09T08:53:20Z\"}}", "abc",
	     false, 1760000000},
		{"nothing but a certificate", HEAD "{" CERTIFICATE "," KEY "}}", NULL, true, 0},
		{"both", HEAD "{\"token\":\"abc\"," CERTIFICATE "," KEY "}}\n", "abc", true, 0},
		{"more than we know", HEAD "{\"token\":\"abc\",\"other\":[1]},\"x\":{}}", "abc", false, 0},
		{"nulls", HEAD "{\"token\":\"abc\",\"clientKeyData\":null,\"expirationTimestamp\":null}}", "abc", false, 0},
	};
	rh_auto(kubeconfig) config = plain();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_auth_answer answer = {0};

		(void)support_row(rows[i].name);
		assert_int_equal(rh_auth_answer_parse(config, rows[i].text, strlen(rows[i].text), &answer, NULL), 0);
		assert_true(rh_text_equal(answer.token, rows[i].token));
		assert_int_equal(answer.certificate != NULL, rows[i].certificate);
		assert_int_equal(answer.key != NULL, rows[i].certificate);
		assert_true(answer.expires == (rows[i].expires ? rows[i].expires * RH_SECOND : RH_NEVER));
		rh_auth_answer_deinit(&answer);
		rh_auth_answer_deinit(&answer);
	}
}

static void test_exec__answers_that_do_not_fit(void **state)
{
	static const struct {
		const char *name, *text, *message;
	} rows[] = {
		{"nothing", "", "is not an ExecCredential in JSON"},
		{"no JSON", "token: s3cret", "is not an ExecCredential in JSON"},
		{"same key twice", "{\"s3cret\":1,\"s3cret\":2}", "is not an ExecCredential in JSON"},
		{"another kind", "{\"kind\":\"Pod\"}", "is not an ExecCredential in JSON"},
		{"a list", "[]", "is not an ExecCredential in JSON"},
		{"another version",
	     "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"status\":{}}",
	     "f: users[0].user.exec.apiVersion: is client.authentication.k8s.io/v1, but the plugin answered in another"},
		{"no status", "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"}",
	     "the plugin's answer has no status"},
		{"empty status", HEAD "{}}", "gave neither a token nor a certificate"},
		{"empty token", HEAD "{\"token\":\"\"}}", "gave neither a token nor a certificate"},
		{"token is a number", HEAD "{\"token\":1}}", "the plugin's status.token is not a string"},
		{"token of two lines", HEAD "{\"token\":\"s3cret\\r\\nX: y\"}}", "white space or control characters"},
		{"certificate alone", HEAD "{" CERTIFICATE "}}", "gave only one of clientCertificateData and clientKeyData"},
		{"key alone", HEAD "{\"token\":\"s3cret\"," KEY "}}", "gave only one of clientCertificateData"},
		{"no PEM", HEAD "{\"clientCertificateData\":\"s3cret\"," KEY "}}", "status.clientCertificateData: is not PEM"},
		{"no key", HEAD "{" CERTIFICATE ",\"clientKeyData\":\"s3cret\"}}", "status.clientKeyData: is not PEM"},
		{"time", HEAD "{\"token\":\"s3cret\",\"expirationTimestamp\":\"soon\"}}",
	     "expirationTimestamp is not an RFC 3339"},
	};
	rh_auto(kubeconfig) config = plain();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_auth_answer answer = {0};
		struct rh_error err = {0};

		(void)support_row(rows[i].name);
		assert_int_equal(rh_auth_answer_parse(config, rows[i].text, strlen(rows[i].text), &answer, &err), RH_EINVAL);
		assert_null(answer.token);
		if (!strstr(err.message, rows[i].message) || strstr(err.message, "s3cret"))
			fail_msg("%s", err.message);
		assert_true(rh_starts_with(err.message, "f: users[0].user.exec"));
	}
}

static void test_exec__info(void **state)
{
	rh_auto(kubeconfig) small = plain();
	rh_auto(kubeconfig) large =
		configure("tls-server-name: b, proxy-url: 'http://p', disable-compression: true, certificate-authority-data: "
	              "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=, extensions: [{name: "
	              "client.authentication.k8s.io/exec, extension: {audience: x}}]",
	              "apiVersion: client.authentication.k8s.io/v1beta1, command: a, provideClusterInfo: true");
	rh_auto(kubeconfig) insecure =
		configure("insecure-skip-tls-verify: true",
	              "apiVersion: client.authentication.k8s.io/v1beta1, command: a, provideClusterInfo: true");
	rh_auto_free char *small_text = rh_auth_exec_info(small, false);
	rh_auto_free char *large_text = rh_auth_exec_info(large, true);
	rh_auto_free char *insecure_text = rh_auth_exec_info(insecure, true);

	(void)state;
	assert_string_equal(small_text,
	                    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"spec\":"
	                    "{\"interactive\":false}}");
	assert_string_equal(
		large_text,
		"{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"
		"v1beta1\",\"spec\":{\"interactive\":true,"
		"\"cluster\":{\"server\":\"https://a\",\"certificate-authority-data\":"
		"\"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=\",\"tls-server-name\":\"b\","
		"\"proxy-url\":\"http://p\",\"disable-compression\":true,\"config\":{\"audience\":\"x\"}}}}");
	assert_non_null(strstr(insecure_text, "\"insecure-skip-tls-verify\":true"));
}

static void test_exec__terminal(void **state)
{
	static const struct {
		const char *mode;
		bool terminal;
		int result; /* of 0, 1 and RH_EINVAL */
	} rows[] = {
		{"Never", true, 0},        {"Never", false, 0}, {"IfAvailable", true, 1},
		{"IfAvailable", false, 0}, {"Always", true, 1}, {"Always", false, RH_EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *exec =
			rh_asprintf("apiVersion: client.authentication.k8s.io/v1, command: a, interactiveMode: %s", rows[i].mode);
		rh_auto(kubeconfig) config = configure("", exec);
		bool interactive = false;
		int r;

		(void)support_row(rows[i].mode);
		r = rh_auth_exec_interactive(config, rows[i].terminal, &interactive, NULL);
		assert_int_equal(r < 0 ? r : interactive, rows[i].result);
	}
}

static void test_exec__command(void **state)
{
	static const char *const environment[] = {"PATH=/bin", "A=old", "AB=kept", "KUBERNETES_EXEC_INFO=old", NULL};
	rh_auto(kubeconfig) config = configure(
		"", "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: tool, args: [a, '$(b)'], "
			"env: [{name: A, value: 'new one'}, {name: B, value: ''}]");
	struct rh_auth_command command = {0};

	(void)state;
	assert_int_equal(rh_auth_command_init(&command, config, false, (char *const *)(uintptr_t)environment), 0);
	assert_string_equal(command.argv[0], "tool");
	assert_string_equal(command.argv[1], "a");
	assert_string_equal(command.argv[2], "$(b)");
	assert_null(command.argv[3]);
	assert_true(rh_starts_with(command.envp[0], "KUBERNETES_EXEC_INFO={\"kind\""));
	assert_string_equal(command.envp[1], "A=new one");
	assert_string_equal(command.envp[2], "B=");
	assert_string_equal(command.envp[3], "PATH=/bin");
	assert_string_equal(command.envp[4], "AB=kept");
	assert_null(command.envp[5]);
	rh_auth_command_deinit(&command);
	rh_auth_command_deinit(&command);
}

static int exec_all(void *arg)
{
	static char *const environment[] = {NULL};
	static const char text[] = HEAD "{\"token\":\"abc\"," CERTIFICATE "," KEY "}}";
	struct rh_kubeconfig *config = arg;
	struct rh_auth_answer answer = {0};
	struct rh_auth_command command = {0};
	int r = rh_auth_answer_parse(config, text, strlen(text), &answer, NULL);

	if (r == 0)
		r = rh_auth_command_init(&command, config, true, environment);
	rh_auth_answer_deinit(&answer);
	rh_auth_command_deinit(&command);
	return r;
}

static void test_exec__without_memory(void **state)
{
	rh_auto(kubeconfig) config =
		configure("", "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: tool, args: [a], "
	                  "env: [{name: A, value: b}], provideClusterInfo: true");

	(void)state;
	support_fail_each(exec_all, config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exec__answers), cmocka_unit_test(test_exec__answers_that_do_not_fit),
		cmocka_unit_test(test_exec__info),    cmocka_unit_test(test_exec__terminal),
		cmocka_unit_test(test_exec__command), cmocka_unit_test(test_exec__without_memory),
	};

	return cmocka_run_group_tests_name("kube/auth/exec", tests, NULL, NULL);
}
