/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kubeconfig/hint.h"

#include <string.h>

#include "base/support.h"

#define HINT_CONFIG(server, user)                                                                                  \
	"{\"current-context\":\"c\",\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"k\",\"user\":\"ann\"}}]," \
	"\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":\"" server "\"}}],"                                     \
	"\"users\":[{\"name\":\"ann\",\"user\":{" user "}}]}"
#define EXEC \
	"\"exec\":{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"command\":\"aws\",\"interactiveMode\":\"Never\"}"
#define WHO "context \"c\", user \"ann\": "
#define CHECK " (kubectl --context c auth whoami shows when it is right)"

struct hint_row {
	const char *name;
	const char *config;
	int32_t status;
	const char *message;
	const char *want; /* "": nothing to say */
};

static const struct hint_row hint_rows[] = {
	{"a token", HINT_CONFIG("https://a:1", "\"token\":\"secret\""), 401, "Unauthorized",
     WHO "the token in dir/f: users[0].user.token is not accepted; renew it" CHECK},
	{"a token's file", HINT_CONFIG("https://a:1", "\"tokenFile\":\"/t\""), 401, "Unauthorized",
     WHO "the token in /t is not accepted; renew it" CHECK},
	{"a program", HINT_CONFIG("https://a:1", EXEC), 401, "Unauthorized",
     WHO "the credentials from the program \"aws\" of dir/f: users[0].user.exec are not accepted; log in again" CHECK},
	{"a password", HINT_CONFIG("https://a:1", "\"username\":\"u\",\"password\":\"secret\""), 401, "Unauthorized",
     WHO "username and password in dir/f: users[0].user are not accepted; correct them" CHECK},
	{"nobody", HINT_CONFIG("https://a:1", ""), 401, "Unauthorized",
     WHO "dir/f: users[0].user has no credentials; add a token, a client certificate or exec" CHECK},
	{"no right", HINT_CONFIG("https://a:1", "\"token\":\"secret\""), 403, "forbidden", ""},
	{"plain to a server of TLS", HINT_CONFIG("http://a:1", ""), 400, "Client sent an HTTP request to an HTTPS server.",
     "the server uses TLS, and dir/f: clusters[0].cluster.server begins with http://; write https://"},
	{"another bad request", HINT_CONFIG("http://a:1", ""), 400, "what?", ""},
	{"the same of a proxy", HINT_CONFIG("https://a:1", ""), 400, "Client sent an HTTP request to an HTTPS server.", ""},
};

static struct rh_kubeconfig *hint_parse(const char *text)
{
	struct rh_kubeconfig *config = NULL;
	struct rh_error err = {0};

	if (rh_kubeconfig_parse("dir/f", text, strlen(text), NULL, &config, &err) < 0)
		fail_msg("%s", err.message);
	return config;
}

static void test_hint__rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hint_rows) / sizeof(hint_rows[0]); i++) {
		const struct hint_row *row = &hint_rows[i];
		rh_auto(kubeconfig) config = hint_parse(row->config);
		rh_auto_str out = {0};

		rh_kube_hint(config, row->status, row->message, &out);
		if (strcmp(rh_str_text(&out), row->want) != 0)
			fail_msg("%s: \"%s\", not \"%s\"", row->name, rh_str_text(&out), row->want);
		assert_null(strstr(rh_str_text(&out), "secret"));
	}
}

static void test_hint__scheme(void **state)
{
	rh_auto(kubeconfig) secure = hint_parse(HINT_CONFIG("https://a:1", ""));
	rh_auto(kubeconfig) plain = hint_parse(HINT_CONFIG("http://a:1", ""));
	rh_auto_str out = {0};

	(void)state;
	assert_true(rh_kube_hint_is_scheme(secure, "OpenSSL/3: error:0A00010B:SSL routines::wrong version number"));
	assert_false(rh_kube_hint_is_scheme(secure, "Connection refused"));
	assert_true(rh_kube_hint_is_scheme(plain, "Received HTTP/0.9 when not allowed"));
	assert_false(rh_kube_hint_is_scheme(plain, "wrong version number"));
	rh_kube_hint_scheme(secure, &out);
	assert_string_equal(rh_str_text(&out),
	                    "the server does not speak TLS, and dir/f: clusters[0].cluster.server begins with https://; "
	                    "write its port for TLS, or http:// if it has none");
}

/* In a pod there is no context: the token's file is named. */
static void test_hint__without_a_context(void **state)
{
	struct rh_kubeconfig config = {.server = (char *)"https://a:1",
	                               .user_at = (char *)"service account of this pod",
	                               .token_file = (char *)"/run/token"};
	rh_auto_str out = {0};

	(void)state;
	rh_kube_hint(&config, 401, "Unauthorized", &out);
	assert_string_equal(rh_str_text(&out), "the token in /run/token is not accepted; renew it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hint__rows),
		cmocka_unit_test(test_hint__scheme),
		cmocka_unit_test(test_hint__without_a_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
