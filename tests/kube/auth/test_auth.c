/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/support.h"
#include "kube/kubeconfig/kubeconfig.h"

/* A test that waits longer than this waits for ever. */
#define PATIENCE (60 * RH_SECOND)
#define PEM(what) "-----BEGIN " what "-----\n" what "\n-----END " what "-----\n"

/* Credentials, their loop, and a folder. */
struct bench {
	char dir[64];
	struct rh_loop *loop;
	struct rh_kubeconfig *config;
	struct rh_auth *auth;
	int64_t end;
	bool authority; /* the cluster has a file of authorities */
};

static int set_up(void **state)
{
	struct bench *bench = rh_alloc(sizeof(*bench));

	assert_non_null(bench);
	rh_copy(bench->dir, sizeof(bench->dir), "/tmp/rh-auth-XXXXXX");
	assert_non_null(mkdtemp(bench->dir));
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	rh_auth_free(bench->auth);
	rh_loop_free(bench->loop);
	rh_kubeconfig_free(bench->config);
	assert_int_equal(rh_dir_remove(bench->dir, NULL), 0);
	rh_free(bench);
	return 0;
}

static void put(const struct bench *bench, const char *name, const char *text)
{
	rh_auto_free char *path = rh_path_join(bench->dir, name);

	assert_int_equal(rh_file_write_atomic(path, text, strlen(text), 0700, NULL), 0);
}

/* Ends when the program does: the deadline of a program that runs is its time limit, and it is looked at when it
 * writes. */
static int64_t next_turn(void *arg)
{
	const struct bench *bench = arg;
	int64_t due = rh_auth_deadline(bench->auth);

	return due < bench->end ? due : bench->end;
}

static void take_turn(void *arg, int64_t now)
{
	const struct bench *bench = arg;

	rh_auth_step(bench->auth, now);
	if (rh_auth_deadline(bench->auth) == RH_NEVER || now >= bench->end)
		rh_loop_stop(bench->loop);
}

/* @return what rh_auth_new() says */
static int open_auth(struct bench *bench, const char *user, struct rh_error *err)
{
	rh_auto_free char *name = rh_path_join(bench->dir, "config");
	rh_auto_free char *text =
		rh_asprintf("{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], "
	                "clusters: [{name: k, cluster: {server: 'https://a'%s}}], users: [{name: u, user: "
	                "{%s}}]}",
	                bench->authority ? ", certificate-authority: ca" : "", user);

	const struct rh_loop_source source = {.step = take_turn, .deadline = next_turn, .arg = bench};

	if (rh_kubeconfig_parse(name, text, strlen(text), NULL, &bench->config, err) < 0)
		fail_msg("%s", err->message);
	assert_int_equal(rh_loop_new(&bench->loop, NULL), 0);
	assert_int_equal(rh_loop_add(bench->loop, &source, NULL, NULL), 0);
	return rh_auth_new(bench->loop, bench->config, &bench->auth, err);
}

/* Get a credential, waiting for a program if there is one. `later` is added to the clock. */
static int get(struct bench *bench, int64_t later, struct rh_auth_credential *credential, struct rh_error *err)
{
	int r = rh_auth_get(bench->auth, rh_clock_monotonic() + later, credential, err);

	if (r != RH_AUTH_WAIT)
		return r;
	bench->end = rh_clock_monotonic() + PATIENCE;
	rh_loop_run(bench->loop);
	assert_true(rh_clock_monotonic() < bench->end);
	return rh_auth_get(bench->auth, rh_clock_monotonic() + later, credential, err);
}

static void test_auth__fixed(void **state)
{
	static const struct {
		const char *user, *authorization;
	} rows[] = {
		{"", NULL},
		{"token: abc", "Authorization: Bearer abc"},
		{"username: a, password: b", "Authorization: Basic YTpi"},
		{"username: a", "Authorization: Basic YTo="},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_auth_credential credential = {0};
		struct rh_error err = {0};

		(void)support_row(rows[i].user);
		if (i > 0) {
			(void)tear_down(state);
			(void)set_up(state);
		}
		assert_int_equal(open_auth(*state, rows[i].user, &err), 0);
		assert_int_equal(get(*state, 0, &credential, &err), 0);
		assert_true(rh_text_equal(credential.authorization, rows[i].authorization));
		assert_null(credential.certificate);
		assert_false(rh_auth_refused(((struct bench *)*state)->auth, INT64_MAX, credential.generation));
	}
}

static void test_auth__token_file_is_read_each_minute(void **state)
{
	struct bench *bench = *state;
	struct rh_auth_credential credential = {0};
	struct rh_error err = {0};

	put(bench, "token", "  one\n");
	assert_int_equal(open_auth(bench, "tokenFile: token", &err), 0);
	put(bench, "token", "two");
	assert_int_equal(get(bench, 0, &credential, &err), 0);
	assert_string_equal(credential.authorization, "Authorization: Bearer one");
	assert_int_equal(get(bench, 61 * RH_SECOND, &credential, &err), 0);
	assert_string_equal(credential.authorization, "Authorization: Bearer two");
	/* while the file is being replaced the old token goes on */
	put(bench, "token", "");
	assert_int_equal(get(bench, 200 * RH_SECOND, &credential, &err), 0);
	assert_string_equal(credential.authorization, "Authorization: Bearer two");
}

static void test_auth__refused_token_file(void **state)
{
	struct bench *bench = *state;
	struct rh_auth_credential credential = {0};
	struct rh_error err = {0};
	int64_t later = rh_clock_monotonic() + 5 * RH_SECOND;
	uint64_t first;

	put(bench, "token", "one");
	assert_int_equal(open_auth(bench, "tokenFile: token", &err), 0);
	assert_int_equal(get(bench, 0, &credential, &err), 0);
	first = credential.generation;
	assert_false(rh_auth_refused(bench->auth, later, first));
	put(bench, "token", "two");
	assert_true(rh_auth_refused(bench->auth, later + 5 * RH_SECOND, first));
	assert_true(rh_auth_refused(bench->auth, later + 5 * RH_SECOND, first));
	assert_int_equal(get(bench, 0, &credential, &err), 0);
	assert_string_equal(credential.authorization, "Authorization: Bearer two");
	assert_false(rh_auth_refused(bench->auth, later + 9 * RH_SECOND, credential.generation));
}

static void test_auth__token_files_that_do_not_fit(void **state)
{
	static const struct {
		const char *name, *text, *message;
		int code;
	} rows[] = {
		{"missing", NULL, "cannot open", RH_ENOENT},
		{"empty", " \n", "token\" is empty", RH_EINVAL},
		{"two words", "s3cret x", "must hold one token, and nothing else", RH_EINVAL},
		{"a header", "s3cret\r\nX: y", "must hold one token, and nothing else", RH_EINVAL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};

		(void)support_row(rows[i].name);
		(void)tear_down(state);
		(void)set_up(state);
		if (rows[i].text)
			put(*state, "token", rows[i].text);
		assert_int_equal(open_auth(*state, "tokenFile: token", &err), rows[i].code);
		if (!strstr(err.message, rows[i].message) || !strstr(err.message, "users[0].user"))
			fail_msg("%s", err.message);
		assert_null(strstr(err.message, "s3cret"));
	}
}

static void test_auth__certificate_files_are_read_again(void **state)
{
	struct bench *bench = *state;
	struct rh_auth_credential credential = {0};
	struct rh_error err = {0};
	uint64_t before;

	put(bench, "c", PEM("CERTIFICATE"));
	put(bench, "k", PEM("PRIVATE KEY"));
	assert_int_equal(open_auth(bench, "client-certificate: c, client-key: k", &err), 0);
	assert_int_equal(get(bench, 0, &credential, &err), 0);
	assert_string_equal(credential.certificate, PEM("CERTIFICATE"));
	assert_string_equal(credential.key, PEM("PRIVATE KEY"));
	before = credential.generation;
	put(bench, "c", PEM("CERTIFICATE") "\n");
	assert_int_equal(get(bench, 61 * RH_SECOND, &credential, &err), 0);
	assert_string_equal(credential.certificate, PEM("CERTIFICATE") "\n");
	assert_true(credential.generation > before);
	put(bench, "c", "half a fi");
	assert_int_equal(get(bench, 200 * RH_SECOND, &credential, &err), 0);
	assert_string_equal(credential.certificate, PEM("CERTIFICATE") "\n");
}

/* A new authority of the API server needs no restart. */
static void test_auth__authorities_are_read_again(void **state)
{
	struct bench *bench = *state;
	struct rh_auth_credential credential = {0};
	struct rh_error err = {0};
	uint64_t before;

	bench->authority = true;
	put(bench, "ca", PEM("CERTIFICATE"));
	assert_int_equal(open_auth(bench, "token: abc", &err), 0);
	assert_int_equal(get(bench, 0, &credential, &err), 0);
	assert_string_equal(credential.authority, PEM("CERTIFICATE"));
	before = credential.generation;
	assert_false(rh_auth_distrusted(bench->auth, rh_clock_monotonic() + 2 * RH_SECOND, before));
	put(bench, "ca", "half a fi");
	assert_false(rh_auth_distrusted(bench->auth, rh_clock_monotonic() + 4 * RH_SECOND, before));
	put(bench, "ca", PEM("CERTIFICATE") "\n");
	assert_false(rh_auth_distrusted(bench->auth, rh_clock_monotonic() + 4 * RH_SECOND, before));
	assert_true(rh_auth_distrusted(bench->auth, rh_clock_monotonic() + 6 * RH_SECOND, before));
	assert_int_equal(get(bench, 6 * RH_SECOND, &credential, &err), 0);
	assert_string_equal(credential.authority, PEM("CERTIFICATE") "\n");
	assert_string_equal(credential.authorization, "Authorization: Bearer abc");
	assert_true(credential.generation > before);
}

/* A plugin that counts its runs in the file "runs" and answers with what is in the file "answer". */
#define PLUGIN                                                                                        \
	"exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./plugin, " \
	"provideClusterInfo: "                                                                            \
	"true, env: [{name: WORD, value: 'a b'}]}"
#define SCRIPT                                                                                \
	"#!/bin/sh\ncd \"$(dirname \"$0\")\" && echo x >> runs && echo \"$WORD\" > word && echo " \
	"\"$KUBERNETES_EXEC_INFO\" > info"                                                        \
	" && cat answer\n"

static size_t runs_of(const struct bench *bench)
{
	rh_auto_free char *path = rh_path_join(bench->dir, "runs");
	rh_auto_free char *text = NULL;

	return rh_file_read(path, 1000, &text, NULL, NULL) < 0 ? 0 : strlen(text) / 2;
}

static void put_answer(const struct bench *bench, const char *status)
{
	rh_auto_free char *text = rh_asprintf(
		"{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{%s}}", status);

	put(bench, "answer", text);
}

static void test_auth__plugin_runs_once(void **state)
{
	struct bench *bench = *state;
	struct rh_auth_credential credential = {0};
	struct rh_error err = {0};
	rh_auto_free char *word = NULL;
	rh_auto_free char *info = NULL;
	rh_auto_free char *word_path = rh_path_join(bench->dir, "word");
	rh_auto_free char *info_path = rh_path_join(bench->dir, "info");

	put(bench, "plugin", SCRIPT);
	put_answer(bench, "\"token\":\"abc\"");
	assert_int_equal(open_auth(bench, PLUGIN, &err), 0);
	assert_int_equal(runs_of(bench), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(get(bench, i * 3600 * RH_SECOND, &credential, &err), 0);
		assert_string_equal(credential.authorization, "Authorization: Bearer abc");
	}
	assert_int_equal(runs_of(bench), 1);
	assert_int_equal(rh_file_read(word_path, 1000, &word, NULL, NULL), 0);
	assert_string_equal(word, "a b\n");
	assert_int_equal(rh_file_read(info_path, 1000, &info, NULL, NULL), 0);
	assert_string_equal(info,
	                    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"spec\":"
	                    "{\"interactive\":false,\"cluster\":{\"server\":\"https://a\"}}}\n");
}

static void test_auth__plugin_runs_again_when_refused(void **state)
{
	struct bench *bench = *state;
	struct rh_auth_credential credential = {0};
	struct rh_error err = {0};
	int64_t later;

	put(bench, "plugin", SCRIPT);
	put_answer(bench, "\"token\":\"abc\"");
	assert_int_equal(open_auth(bench, PLUGIN, &err), 0);
	assert_int_equal(get(bench, 0, &credential, &err), 0);
	later = rh_clock_monotonic() + 2 * RH_SECOND;
	put_answer(bench, "\"token\":\"def\"");
	assert_true(rh_auth_refused(bench->auth, later, credential.generation));
	assert_int_equal(get(bench, 0, &credential, &err), 0);
	assert_string_equal(credential.authorization, "Authorization: Bearer def");
	assert_int_equal(runs_of(bench), 2);
	/* right after it ran, its answer is not asked for again */
	assert_false(rh_auth_refused(bench->auth, 0, credential.generation));
}

static void test_auth__plugin_runs_again_when_expired(void **state)
{
	struct bench *bench = *state;
	struct rh_auth_credential credential = {0};
	struct rh_error err = {0};

	put(bench, "plugin", SCRIPT);
	put_answer(bench, "\"token\":\"abc\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"");
	assert_int_equal(open_auth(bench, PLUGIN, &err), 0);
	assert_int_equal(get(bench, 0, &credential, &err), 0);
	assert_string_equal(credential.authorization, "Authorization: Bearer abc");
	assert_int_equal(runs_of(bench), 1);
	put_answer(bench, "\"token\":\"def\",\"expirationTimestamp\":\"2090-01-01T00:00:00Z\"");
	assert_int_equal(get(bench, 2 * RH_SECOND, &credential, &err), 0);
	assert_string_equal(credential.authorization, "Authorization: Bearer def");
	assert_int_equal(runs_of(bench), 2);
	assert_int_equal(get(bench, 100 * RH_SECOND, &credential, &err), 0);
	assert_int_equal(runs_of(bench), 2);
}

static void test_auth__plugin_gives_a_certificate(void **state)
{
	struct bench *bench = *state;
	struct rh_auth_credential credential = {0};
	struct rh_error err = {0};

	put(bench, "plugin", SCRIPT);
	put_answer(bench, "\"clientCertificateData\":\"-----BEGIN CERTIFICATE-----\\nx\\n-----END CERTIFICATE-----\\n\","
	                  "\"clientKeyData\":\"-----BEGIN RSA PRIVATE KEY-----\\nx\\n-----END RSA PRIVATE KEY-----\\n\"");
	assert_int_equal(open_auth(bench, PLUGIN, &err), 0);
	assert_int_equal(get(bench, 0, &credential, &err), 0);
	assert_null(credential.authorization);
	assert_true(rh_starts_with(credential.certificate, "-----BEGIN CERTIFICATE"));
	assert_true(rh_starts_with(credential.key, "-----BEGIN RSA"));
}

static void test_auth__plugins_that_fail(void **state)
{
	static const struct {
		const char *name, *user, *script, *message;
	} rows[] = {
		{"status", PLUGIN, "#!/bin/sh\nexit 7\n", "users[0].user.exec: the plugin: it ended with status 7"},
		{"signal", PLUGIN, "#!/bin/sh\nkill -9 $$\n", "users[0].user.exec: the plugin: it was killed by signal 9"},
		{"silent", PLUGIN, "#!/bin/sh\n", "the plugin's output is not an ExecCredential"},
		{"babble", PLUGIN, "#!/bin/sh\necho s3cret\n", "the plugin's output is not an ExecCredential"},
		{"closes early", PLUGIN, "#!/bin/sh\nexec >&-\nsleep 0.2\nexit 5\n", "it ended with status 5"},
		{"too much", PLUGIN, "#!/bin/sh\nhead -c 3000000 /dev/zero\n", "its output cannot be read: File too large"},
		{"missing", "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./nothing}", "",
	     "users[0].user.exec.command: cannot start \""},
		{"hint",
	     "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: rh-no-such-program, installHint: get it}",
	     "", "users[0].user.exec.command: get it: cannot start \"rh-no-such-program\""},
		{"not executable", "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: /etc/passwd}", "",
	     "cannot start \"/etc/passwd\": Permission denied"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_auth_credential credential = {0};
		struct rh_error err = {0};

		(void)support_row(rows[i].name);
		(void)tear_down(state);
		(void)set_up(state);
		put(*state, "plugin", rows[i].script);
		assert_int_equal(open_auth(*state, rows[i].user, &err), 0);
		assert_true(get(*state, 0, &credential, &err) < 0);
		if (!strstr(err.message, rows[i].message) || strstr(err.message, "s3cret"))
			fail_msg("%s", err.message);
	}
}

static void test_auth__plugin_that_failed_is_tried_later(void **state)
{
	struct bench *bench = *state;
	struct rh_auth_credential credential = {0};
	struct rh_error err = {0};

	put(bench, "plugin", "#!/bin/sh\ncd \"$(dirname \"$0\")\" && echo x >> runs; exit 1\n");
	assert_int_equal(open_auth(bench, PLUGIN, &err), 0);
	assert_int_equal(get(bench, 0, &credential, &err), RH_EAGAIN);
	assert_int_equal(rh_auth_get(bench->auth, 0, &credential, &err), RH_EAGAIN);
	assert_int_equal(runs_of(bench), 1);
	put(bench, "plugin", SCRIPT);
	put_answer(bench, "\"token\":\"abc\"");
	assert_int_equal(get(bench, 2 * RH_SECOND, &credential, &err), 0);
	assert_int_equal(runs_of(bench), 2);
}

/* A program that runs while its owner ends is killed, with what it started. */
static void test_auth__free_kills_the_plugin(void **state)
{
	struct bench *bench = *state;
	struct rh_auth_credential credential = {0};
	struct rh_error err = {0};

	put(bench, "plugin", "#!/bin/sh\nsleep 1000\n");
	assert_int_equal(open_auth(bench, PLUGIN, &err), 0);
	assert_int_equal(rh_auth_get(bench->auth, 0, &credential, &err), RH_AUTH_WAIT);
	assert_int_equal(rh_auth_get(bench->auth, 0, &credential, &err), RH_AUTH_WAIT);
	assert_true(rh_auth_refused(bench->auth, 0, 1));
	assert_true(rh_auth_deadline(bench->auth) < rh_clock_monotonic() + 61 * RH_SECOND);
	rh_auth_step(bench->auth, rh_clock_monotonic() + 61 * RH_SECOND);
	assert_int_equal(rh_auth_get(bench->auth, rh_clock_monotonic() + 61 * RH_SECOND, &credential, &err), RH_EAGAIN);
	assert_non_null(strstr(err.message, "the plugin: it did not end within 1m00s"));
	assert_int_equal(rh_auth_get(bench->auth, rh_clock_monotonic() + 90 * RH_SECOND, &credential, &err), RH_AUTH_WAIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_auth__fixed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__token_file_is_read_each_minute, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__refused_token_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__token_files_that_do_not_fit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__certificate_files_are_read_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__authorities_are_read_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__plugin_runs_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__plugin_runs_again_when_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__plugin_runs_again_when_expired, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__plugin_gives_a_certificate, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__plugins_that_fail, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__plugin_that_failed_is_tried_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_auth__free_kills_the_plugin, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("kube/auth/auth", tests, NULL, NULL);
}
