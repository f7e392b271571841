/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kubeconfig/kubeconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/support.h"

/* base64 of PEM frames; nothing looks inside them. */
#define CERTIFICATE "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
#define CERTIFICATE_TEXT "-----BEGIN CERTIFICATE-----\na\n-----END CERTIFICATE-----\n"
#define KEY "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCmIKLS0tLS1FTkQgRUMgUFJJVkFURSBLRVktLS0tLQo="
#define KEY_TEXT "-----BEGIN EC PRIVATE KEY-----\nb\n-----END EC PRIVATE KEY-----\n"

/* A whole kubeconfig of one cluster and one user. */
#define WITH(cluster, user)                                                                      \
	"{kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], " \
	"clusters: [{name: k, cluster: {" cluster "}}], users: [{name: u, user: {" user "}}]}"
#define CLUSTER(cluster) WITH(cluster, "")
#define USER(user) WITH("server: 'https://a:1'", user)
#define EXEC(exec) USER("exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, " exec "}")

static struct rh_kubeconfig *parse(const char *text)
{
	struct rh_kubeconfig *config = NULL;
	struct rh_error err = {0};

	if (rh_kubeconfig_parse("dir/file", text, strlen(text), NULL, &config, &err) < 0)
		fail_msg("%s", err.message);
	return config;
}

static void test_kubeconfig__cluster(void **state)
{
	rh_auto(kubeconfig) config =
		parse(CLUSTER("server: 'https://[::1]:6443/k8s/', certificate-authority-data: " CERTIFICATE
	                  ", tls-server-name: api, proxy-url: 'socks5://p:1', disable-compression: true, "
	                  "extensions: [{name: other}, {name: client.authentication.k8s.io/exec, extension: {a: 1}}]"));

	(void)state;
	assert_string_equal(config->cluster_at, "dir/file: clusters[0].cluster");
	assert_string_equal(config->server, "https://[::1]:6443/k8s");
	assert_string_equal(config->ca, CERTIFICATE_TEXT);
	assert_null(config->ca_file);
	assert_string_equal(config->tls_server_name, "api");
	assert_string_equal(config->proxy_url, "socks5://p:1");
	assert_true(config->no_compression);
	assert_false(config->insecure);
	assert_null(config->namespace_);
	support_assert_json(config->exec_config, "{\"a\":1}");
}

static void test_kubeconfig__inline_counts_more_than_a_file(void **state)
{
	rh_auto(kubeconfig) config = parse(
		WITH("server: 'http://a', certificate-authority: ca.crt, certificate-authority-data: " CERTIFICATE,
	         "client-certificate: c, client-certificate-data: " CERTIFICATE ", client-key: k, client-key-data: " KEY));

	(void)state;
	assert_string_equal(config->ca, CERTIFICATE_TEXT);
	assert_string_equal(config->certificate, CERTIFICATE_TEXT);
	assert_string_equal(config->key, KEY_TEXT);
	assert_null(config->ca_file);
	assert_null(config->certificate_file);
	assert_null(config->key_file);
}

static void test_kubeconfig__paths_are_the_files_own(void **state)
{
	rh_auto(kubeconfig) config = parse(WITH("server: 'https://a:1', certificate-authority: ../ca.crt",
	                                        "client-certificate: /abs/c, client-key: k, tokenFile: '-'"));

	(void)state;
	assert_string_equal(config->ca_file, "dir/../ca.crt");
	assert_string_equal(config->certificate_file, "/abs/c");
	assert_string_equal(config->key_file, "dir/k");
	assert_string_equal(config->token_file, "dir/-");
}

static void test_kubeconfig__user(void **state)
{
	rh_auto(kubeconfig) token = parse(USER("token: secret"));
	rh_auto(kubeconfig) basic = parse(USER("username: ann, password: 'p:w'"));
	rh_auto(kubeconfig) nobody = parse(USER(""));
	rh_auto(kubeconfig) other =
		parse(USER("token: t, as: bob, as-uid: '7', as-groups: [a, b], as-user-extra: {'x/Y': [v], empty: []}"));

	(void)state;
	assert_string_equal(token->user_at, "dir/file: users[0].user");
	assert_string_equal(token->token, "secret");
	assert_string_equal(basic->username, "ann");
	assert_string_equal(basic->password, "p:w");
	assert_null(nobody->token);
	assert_null(nobody->headers);
	support_assert_json(other->headers, "[\"Impersonate-User: bob\",\"Impersonate-Uid: 7\",\"Impersonate-Group: a\","
	                                    "\"Impersonate-Group: b\",\"Impersonate-Extra-x%2FY: v\"]");
}

static void test_kubeconfig__exec_command(void **state)
{
	static const struct {
		const char *command, *expected;
	} rows[] = {{"aws", "aws"}, {"./bin/tool", "dir/./bin/tool"}, {"bin/tool", "dir/bin/tool"}, {"/usr/x", "/usr/x"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *text =
			rh_asprintf(EXEC("command: %s, args: [a, 'b c'], env: [{name: NAME, value: ''}]"), rows[i].command);
		rh_auto(kubeconfig) config = parse(text);

		(void)support_row(rows[i].command);
		assert_string_equal(rh_json_string(rh_json_get(config->exec, "command")), rows[i].expected);
		assert_int_equal(rh_json_size(rh_json_get(config->exec, "args")), 2);
	}
}

static void test_kubeconfig__refused(void **state)
{
	static const struct {
		const char *name, *text, *message;
	} rows[] = {
		{"no YAML", "{", "dir/file: "},
		{"nothing", "", "dir/file: current-context: is not set; set it or name one with --context; there are none"},
		{"a text", "hello", "dir/file: is string, not a kubeconfig"},
		{"two documents", "a: 1\n---\nb: 1\n", "dir/file: has more than one document"},
		{"another kind", "{kind: Pod}", "dir/file: kind: must be Config"},
		{"list of clusters", "{clusters: {}}", "dir/file: clusters: object must be a list"},
		{"item of users", "{users: [1]}", "dir/file: users[0]: integer must be a mapping"},
		{"name of a context", "{contexts: [{name: a}, {}]}", "dir/file: contexts[1].name: must be a string"},
		{"no current context", "{contexts: [{name: a}, {name: b}]}", "one with --context; there are \"a\", \"b\""},
		{"context is a number", "{current-context: 1}", "dir/file: current-context: integer must be a string"},
		{"unknown context", "{current-context: x, contexts: [{name: a}]}",
	     "dir/file: current-context: \"x\" is not among the contexts; there are \"a\""},
		{"context without cluster", "{current-context: a, contexts: [{name: a}]}",
	     "dir/file: contexts[0].context.cluster: is not set; name one of the clusters"},
		{"unknown cluster", "{current-context: a, contexts: [{name: a, context: {cluster: z}}]}",
	     "dir/file: contexts[0].context.cluster: \"z\" is not among the clusters; there are none"},
		{"context is a list", "{current-context: a, contexts: [{name: a, context: []}]}",
	     "dir/file: contexts[0].context: array must be a mapping"},
		{"unknown user",
	     "{current-context: a, contexts: [{name: a, context: {cluster: k, user: z}}], clusters: [{name: k, cluster: "
	     "{server: 'https://a'}}]}",
	     "dir/file: contexts[0].context.user: \"z\" is not among the users"},
		{"namespace is a number", "{current-context: a, contexts: [{name: a, context: {cluster: k, namespace: 1}}]}",
	     "dir/file: contexts[0].context.namespace: integer must be a string; put it in quotes"},
		{"no server", CLUSTER(""), "dir/file: clusters[0].cluster.server: is not set; write the address"},
		{"no scheme", CLUSTER("server: 'a:6443'"), ".server: \"a:6443\" must begin with https:// or http://"},
		{"no host", CLUSTER("server: 'https://:1'"), ".server: \"https://:1\" must be https://HOST:PORT"},
		{"no host at all", CLUSTER("server: 'https://'"), ".server: \"https://\" must be https://HOST:PORT"},
		{"a query", CLUSTER("server: 'https://a/?b'"), "no user, query or white space"},
		{"white space", CLUSTER("server: 'https://a b'"), "no user, query or white space"},
		{"line end", CLUSTER("server: \"https://a\\nb\""), ".server: has a line end"},
		{"server is a list", CLUSTER("server: []"), "dir/file: clusters[0].cluster.server: array must be a string"},
		{"no base64", CLUSTER("server: 'https://a', certificate-authority-data: '***'"),
	     "dir/file: clusters[0].cluster.certificate-authority-data: is not base64; encode the PEM file"},
		{"no PEM", CLUSTER("server: 'https://a', certificate-authority-data: YWJj"),
	     "certificate-authority-data: is not PEM; it must have the lines -----BEGIN CERTIFICATE-----"},
		{"a key for a certificate", CLUSTER("server: 'https://a', certificate-authority-data: " KEY), "is not PEM"},
		{"insecure is a text", CLUSTER("server: 'https://a', insecure-skip-tls-verify: 'true'"),
	     ".insecure-skip-tls-verify: string must be true or false"},
		{"insecure with authority",
	     CLUSTER("server: 'https://a', insecure-skip-tls-verify: true, certificate-authority: x"),
	     ".insecure-skip-tls-verify: is true although there is a certificate-authority; remove one"},
		{"proxy", CLUSTER("server: 'https://a', proxy-url: 'ftp://x'"), ".proxy-url: must be http://, https://"},
		{"proxy without host", CLUSTER("server: 'https://a', proxy-url: 'http://'"), ".proxy-url: must be http://"},
		{"certificate alone", USER("client-certificate: x"), "users[0].user.client-key: is not set although"},
		{"key alone", USER("client-key: x"), "users[0].user.client-certificate: is not set although"},
		{"encrypted key",
	     USER("client-certificate: x, client-key-data: "
	          "LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURSBLRVktLS0tLQphCi0tLS0tRU5EIEVOQ1JZUFRFRCBQUklWQVRFIEtFWS0tLS0tCg="
	          "="),
	     "client-key-data: the key is encrypted; write it without a pass phrase"},
		{"token is a number", USER("token: 12345"), "users[0].user.token: integer must be a string"},
		{"token of two lines", USER("token: \"a\\nb\""), "users[0].user.token: has a line end"},
		{"password alone", USER("password: x"), "users[0].user.username: is not set although"},
		{"colon in the name", USER("username: 'a:b'"), "users[0].user.username: must not have a colon"},
		{"two ways", USER("token: a, username: b"), "users[0].user: has more than one of token, username and exec"},
		{"groups of nobody", USER("as-groups: [a]"), "users[0].user.as: must be set where as-uid"},
		{"groups of numbers", USER("as: a, as-groups: [1]"), "users[0].user.as-groups: must be a string"},
		{"extra that is no mapping", USER("as: a, as-user-extra: [[b]]"), "as-user-extra: must be a mapping of lists"},
		{"extra of numbers", USER("as: a, as-user-extra: {b: [1]}"), "as-user-extra: must be a mapping of lists"},
		{"auth provider", USER("auth-provider: {name: gcp}"), "auth-provider: Kubernetes removed these in 1.26; use"},
		{"exec is a text", USER("exec: aws"), "users[0].user.exec: string must be a mapping"},
		{"no version", USER("exec: {command: a}"),
	     "users[0].user.exec.apiVersion: must be client.authentication.k8s.io/v1"},
		{"old version", USER("exec: {command: a, apiVersion: client.authentication.k8s.io/v1alpha1}"),
	     ".exec.apiVersion: \"v1alpha1\" is not supported; update the plugin"},
		{"no mode", USER("exec: {command: a, apiVersion: client.authentication.k8s.io/v1}"),
	     ".exec.interactiveMode: must be Never, IfAvailable or Always"},
		{"wrong mode",
	     USER("exec: {command: a, apiVersion: client.authentication.k8s.io/v1beta1, interactiveMode: No}"),
	     ".exec.interactiveMode: must be Never, IfAvailable or Always"},
		{"no command", EXEC(""), "users[0].user.exec.command: is not set"},
		{"args of numbers", EXEC("command: a, args: [1]"), ".exec.args: must be a list of strings"},
		{"env without name", EXEC("command: a, env: [{value: b}]"), ".exec.env: must be a list of mappings"},
		{"env with =", EXEC("command: a, env: [{name: 'a=b', value: c}]"), ".exec.env: must be a list of mappings"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_kubeconfig *config = NULL;
		struct rh_error err = {0};

		(void)support_row(rows[i].name);
		assert_int_equal(rh_kubeconfig_parse("dir/file", rows[i].text, strlen(rows[i].text), NULL, &config, &err),
		                 RH_EINVAL);
		assert_null(config);
		assert_true(rh_starts_with(err.message, "dir/file: "));
		if (!strstr(err.message, rows[i].message))
			fail_msg("\"%s\" is not in \"%s\"", rows[i].message, err.message);
	}
}

/* Whatever is wrong, what is secret is not shown. */
static void test_kubeconfig__messages_keep_secrets(void **state)
{
	static const char *const texts[] = {
		USER("token: \"s3cret\\nx\""),
		USER("token: s3cret, username: a"),
		USER("password: s3cret"),
		USER("password: [s3cret]"),
		USER("client-key-data: 's3cret***'"),
		USER("token: s3cret, client-key-data: s3cret"),
		CLUSTER("server: 'https://ann:s3cret@a'"),
		CLUSTER("server: 'https://a', proxy-url: 'ftp://ann:s3cret@p'"),
		"{users: [{name: u, user: {token: s3cret, token: s3cret}}]}",
		"users: [{name: u, user: {token: s3cret}}",
		"users:\n- name: u\n  user:\n    token: 's3cret\n",
		"users:\n- name: u\n  user:\n    token: !s3cret x\n",
		"users:\n- name: u\n  user:\n    token: *s3cret\n",
		"users:\n- name: u\n  user:\n    token: s3cret: x\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct rh_kubeconfig *config = NULL;
		struct rh_error err = {0};

		assert_int_equal(rh_kubeconfig_parse("f", texts[i], strlen(texts[i]), NULL, &config, &err), RH_EINVAL);
		if (strstr(err.message, "s3cret"))
			fail_msg("shows the secret: %s", err.message);
	}
}

static void test_kubeconfig__context_of_the_caller(void **state)
{
	static const char text[] =
		"{current-context: a, contexts: [{name: a, context: {cluster: k}}, {name: b, context: {cluster: l, namespace: "
		"ns}}],"
		" clusters: [{name: k, cluster: {server: 'https://k'}}, {name: l, cluster: {server: 'https://l'}}]}";
	rh_auto(kubeconfig) config = NULL;
	struct rh_kubeconfig *none = NULL;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_kubeconfig_parse("f", text, strlen(text), "b", &config, NULL), 0);
	assert_string_equal(config->server, "https://l");
	assert_string_equal(config->namespace_, "ns");
	assert_string_equal(config->cluster_at, "f: clusters[1].cluster");
	assert_string_equal(config->user_at, "f: contexts[1].context.user");
	assert_int_equal(rh_kubeconfig_parse("f", text, strlen(text), "z", &none, &err), RH_EINVAL);
	assert_string_equal(err.message, "f: --context: \"z\" is not among the contexts; there are \"a\", \"b\"");
}

/* A folder, and an environment of which nothing points to an API server. */
struct place {
	char dir[64];
};

static int set_up(void **state)
{
	struct place *place = rh_alloc(sizeof(*place));

	assert_non_null(place);
	rh_copy(place->dir, sizeof(place->dir), "/tmp/rh-kubeconfig-XXXXXX");
	assert_non_null(mkdtemp(place->dir));
	assert_int_equal(unsetenv("KUBECONFIG"), 0);
	assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
	assert_int_equal(unsetenv("KUBERNETES_SERVICE_PORT"), 0);
	assert_int_equal(setenv("HOME", place->dir, 1), 0);
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	assert_int_equal(rh_dir_remove(place->dir, NULL), 0);
	rh_free(place);
	return 0;
}

/* @return the path, owned by the caller */
static char *put(void **state, const char *name, const char *text)
{
	const struct place *place = *state;
	char *path = rh_path_join(place->dir, name);

	assert_int_equal(rh_file_write_atomic(path, text, strlen(text), 0600, NULL), 0);
	return path;
}

static struct rh_kubeconfig *load(const struct rh_kubeconfig_options *options)
{
	struct rh_kubeconfig *config = NULL;
	struct rh_error err = {0};

	if (rh_kubeconfig_load(options, &config, &err) < 0)
		fail_msg("%s", err.message);
	return config;
}

static void test_kubeconfig__files_are_merged(void **state)
{
	rh_auto_free char *one = put(state, "one",
	                             "{contexts: [{name: c, context: {cluster: k, user: u}}], users: [{name: u, "
	                             "user: {token: first}}]}");
	rh_auto_free char *two = put(state, "two",
	                             "{current-context: c, clusters: [{name: k, cluster: {server: 'https://two'}}],"
	                             " users: [{name: u, user: {token: second, as: bob}}]}");
	rh_auto_free char *three = put(state, "three",
	                               "{current-context: d, clusters: [{name: k, cluster: {server: "
	                               "'https://three'}}]}");
	rh_auto_free char *list = rh_asprintf("%s:/no/such/file::%s:%s", one, two, three);
	rh_auto(kubeconfig) config = NULL;

	assert_int_equal(setenv("KUBECONFIG", list, 1), 0);
	config = load(&(struct rh_kubeconfig_options){0});
	assert_string_equal(config->server, "https://two");
	assert_string_equal(config->token, "first");
	assert_null(config->headers);
	assert_true(rh_starts_with(config->user_at, one));
	assert_true(rh_starts_with(config->cluster_at, two));
}

static void test_kubeconfig__order_of_places(void **state)
{
	rh_auto_free char *flag = put(state, "flag", CLUSTER("server: 'https://flag'"));
	rh_auto_free char *listed = put(state, "listed", CLUSTER("server: 'https://listed'"));
	rh_auto_free char *dir = rh_asprintf("%s/.kube", ((struct place *)*state)->dir);
	rh_auto_free char *home = NULL;
	rh_auto(kubeconfig) by_flag = NULL;
	rh_auto(kubeconfig) by_list = NULL;
	rh_auto(kubeconfig) by_home = NULL;

	assert_int_equal(mkdir(dir, 0700), 0);
	home = put(state, ".kube/config", CLUSTER("server: 'https://home'"));
	assert_int_equal(setenv("KUBECONFIG", listed, 1), 0);
	by_flag = load(&(struct rh_kubeconfig_options){.path = flag});
	assert_string_equal(by_flag->server, "https://flag");
	by_list = load(&(struct rh_kubeconfig_options){.path = "", .context = ""});
	assert_string_equal(by_list->server, "https://listed");
	assert_int_equal(unsetenv("KUBECONFIG"), 0);
	by_home = load(&(struct rh_kubeconfig_options){0});
	assert_string_equal(by_home->server, "https://home");
}

static void test_kubeconfig__nowhere(void **state)
{
	struct rh_kubeconfig *config = NULL;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_kubeconfig_load(&(struct rh_kubeconfig_options){0}, &config, &err), RH_ENOENT);
	assert_non_null(strstr(err.message, "no API server is known"));
	assert_non_null(strstr(err.message, "/.kube/config\" does not exist; name a file with --kubeconfig"));
	assert_int_equal(setenv("KUBECONFIG", "/no/a:/no/b", 1), 0);
	assert_int_equal(rh_kubeconfig_load(&(struct rh_kubeconfig_options){0}, &config, &err), RH_ENOENT);
	assert_non_null(strstr(err.message, "none of the files in $KUBECONFIG exists: \"/no/a:/no/b\""));
	assert_int_equal(rh_kubeconfig_load(&(struct rh_kubeconfig_options){.path = "/no/c"}, &config, &err), RH_ENOENT);
	assert_non_null(strstr(err.message, "\"/no/c\""));
}

static void test_kubeconfig__files_that_it_names(void **state)
{
	rh_auto_free char *ca = put(state, "ca.crt", CERTIFICATE_TEXT);
	rh_auto_free char *key = put(state, "client.key", KEY_TEXT);
	rh_auto_free char *good = put(state, "good",
	                              WITH("server: 'https://a', certificate-authority: ca.crt",
	                                   "client-certificate: ca.crt, client-key: client.key"));
	rh_auto(kubeconfig) config = load(&(struct rh_kubeconfig_options){.path = good});

	assert_string_equal(config->ca, CERTIFICATE_TEXT);
	assert_string_equal(config->certificate, CERTIFICATE_TEXT);
	assert_string_equal(config->key, KEY_TEXT);
	assert_string_equal(config->key_file, key);
	assert_string_equal(config->ca_file, ca);
}

static void test_kubeconfig__files_that_do_not_fit(void **state)
{
	static const struct {
		const char *text, *message;
		int code;
	} rows[] = {
		{CLUSTER("server: 'https://a', certificate-authority: none.crt"),
	     "clusters[0].cluster.certificate-authority: cannot", RH_ENOENT},
		{CLUSTER("server: 'https://a', certificate-authority: client.key"),
	     "clusters[0].cluster.certificate-authority: \"/tmp/", RH_EINVAL},
		{USER("client-certificate: client.key, client-key: client.key"), "client.key\": is not PEM", RH_EINVAL},
		{USER("client-certificate: ., client-key: client.key"), "is a directory", RH_EINVAL},
	};
	rh_auto_free char *key = put(state, "client.key", KEY_TEXT);

	assert_non_null(key);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *path = put(state, "config", rows[i].text);
		struct rh_kubeconfig *config = NULL;
		struct rh_error err = {0};

		assert_int_equal(rh_kubeconfig_load(&(struct rh_kubeconfig_options){.path = path}, &config, &err),
		                 rows[i].code);
		if (!strstr(err.message, rows[i].message))
			fail_msg("\"%s\" is not in \"%s\"", rows[i].message, err.message);
	}
}

static void test_kubeconfig__service_account(void **state)
{
	const struct place *place = *state;
	struct rh_kubeconfig_options options = {.service_account_dir = place->dir};
	rh_auto_free char *ca = put(state, "ca.crt", CERTIFICATE_TEXT);
	rh_auto_free char *token = put(state, "token", "abc\n");
	rh_auto_free char *namespace_ = put(state, "namespace", "kubeflow");
	rh_auto(kubeconfig) config = NULL;
	rh_auto(kubeconfig) v6 = NULL;

	assert_true(ca && namespace_);
	assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1), 0);
	assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
	config = load(&options);
	assert_string_equal(config->server, "https://10.0.0.1:443");
	assert_string_equal(config->token, "abc");
	assert_string_equal(config->token_file, token);
	assert_string_equal(config->ca, "-----BEGIN CERTIFICATE-----\na\n-----END CERTIFICATE-----");
	assert_string_equal(config->namespace_, "kubeflow");
	assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), 0);
	v6 = load(&options);
	assert_string_equal(v6->server, "https://[fd00::1]:443");
}

static void test_kubeconfig__service_account_that_is_not_whole(void **state)
{
	const struct place *place = *state;
	struct rh_kubeconfig_options options = {.service_account_dir = place->dir};
	struct rh_kubeconfig *config = NULL;
	struct rh_error err = {0};

	assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1), 0);
	assert_int_equal(rh_kubeconfig_load(&options, &config, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "$KUBERNETES_SERVICE_PORT: \"\" must be a port"));
	assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
	assert_int_equal(rh_kubeconfig_load(&options, &config, &err), RH_ENOENT);
	assert_non_null(strstr(err.message, "automountServiceAccountToken"));
}

static int parse_all(void *arg)
{
	static const char text[] =
		WITH("server: 'https://a', certificate-authority-data: " CERTIFICATE ", proxy-url: 'http://p', "
	         "extensions: [{name: client.authentication.k8s.io/exec, extension: {a: 1}}]",
	         "client-certificate-data: " CERTIFICATE
	         ", client-key: k, as: bob, as-groups: [a], as-user-extra: {b: [c]}, exec: "
	         "{apiVersion: client.authentication.k8s.io/v1beta1, command: ./a, args: [b]}");
	struct rh_kubeconfig *config = NULL;
	int r = rh_kubeconfig_parse("dir/file", text, strlen(text), NULL, &config, NULL);

	(void)arg;
	rh_kubeconfig_free(config);
	return r;
}

static void test_kubeconfig__without_memory(void **state)
{
	(void)state;
	support_fail_each(parse_all, NULL);
	rh_kubeconfig_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kubeconfig__cluster),
		cmocka_unit_test(test_kubeconfig__inline_counts_more_than_a_file),
		cmocka_unit_test(test_kubeconfig__paths_are_the_files_own),
		cmocka_unit_test(test_kubeconfig__user),
		cmocka_unit_test(test_kubeconfig__exec_command),
		cmocka_unit_test(test_kubeconfig__refused),
		cmocka_unit_test(test_kubeconfig__messages_keep_secrets),
		cmocka_unit_test(test_kubeconfig__context_of_the_caller),
		cmocka_unit_test_setup_teardown(test_kubeconfig__files_are_merged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kubeconfig__order_of_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kubeconfig__nowhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kubeconfig__files_that_it_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kubeconfig__files_that_do_not_fit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kubeconfig__service_account, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kubeconfig__service_account_that_is_not_whole, set_up, tear_down),
		cmocka_unit_test(test_kubeconfig__without_memory),
	};

	return cmocka_run_group_tests_name("kube/kubeconfig/kubeconfig", tests, NULL, NULL);
}
