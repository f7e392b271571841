/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth/exec.h"

#include <string.h>

#include "base/crypto/base64.h"
#include "base/os/clock.h"
#include "base/str.h"

#define EXEC_INFO "KUBERNETES_EXEC_INFO"

void rh_auth_answer_deinit(struct rh_auth_answer *answer)
{
	rh_free_secret(answer->token);
	rh_free_secret(answer->certificate);
	rh_free_secret(answer->key);
	*answer = (struct rh_auth_answer){.expires = RH_NEVER};
}

static int exec_text(const struct rh_kubeconfig *config, const struct rh_json *status, const char *field,
                     char **ret_text, struct rh_error *err)
{
	const struct rh_json *value = rh_json_get(status, field);
	const char *text = rh_json_string(value);

	if (value && !text && rh_json_type(value) != RH_JSON_NULL)
		return rh_fail(err, RH_EINVAL, "%s.exec: the plugin's status.%s is not a string", config->user_at, field);
	if (!text || !*text)
		return 0;
	*ret_text = rh_strdup(text);
	return *ret_text ? 0 : rh_fail_oom(err);
}

static int exec_check_answer(const struct rh_kubeconfig *config, const struct rh_auth_answer *answer,
                             struct rh_error *err)
{
	int r = 0;

	if (!answer->token && !answer->certificate && !answer->key)
		return rh_fail(err, RH_EINVAL, "%s.exec: the plugin gave neither a token nor a certificate with its key",
		               config->user_at);
	if (!answer->certificate != !answer->key)
		return rh_fail(err, RH_EINVAL, "%s.exec: the plugin gave only one of clientCertificateData and clientKeyData",
		               config->user_at);
	for (const char *at = answer->token; at && *at; at++) {
		if ((unsigned char)*at <= 0x20 || *at == 0x7f)
			return rh_fail(err, RH_EINVAL, "%s.exec: the plugin's token has white space or control characters",
			               config->user_at);
	}
	if (answer->certificate)
		r = rh_kubeconfig_check_pem("status.clientCertificateData", answer->certificate, "CERTIFICATE", err);
	if (r == 0 && answer->key)
		r = rh_kubeconfig_check_pem("status.clientKeyData", answer->key, "PRIVATE KEY", err);
	return r < 0 ? rh_wrap(err, r, "%s.exec: the plugin's answer", config->user_at) : 0;
}

static int exec_read_status(const struct rh_kubeconfig *config, const struct rh_json *status,
                            struct rh_auth_answer *answer, struct rh_error *err)
{
	const char *expires = rh_json_string(rh_json_get(status, "expirationTimestamp"));
	int r = exec_text(config, status, "token", &answer->token, err);

	if (r == 0)
		r = exec_text(config, status, "clientCertificateData", &answer->certificate, err);
	if (r == 0)
		r = exec_text(config, status, "clientKeyData", &answer->key, err);
	if (r == 0 && expires && rh_time_parse(expires, &answer->expires, NULL) < 0)
		r = rh_fail(err, RH_EINVAL, "%s.exec: the plugin's status.expirationTimestamp is not an RFC 3339 time",
		            config->user_at);
	return r < 0 ? r : exec_check_answer(config, answer, err);
}

int rh_auth_answer_parse(const struct rh_kubeconfig *config, const char *text, size_t length,
                         struct rh_auth_answer *ret_answer, struct rh_error *err)
{
	struct rh_auth_answer answer = {.expires = RH_NEVER};
	rh_auto(json) json = NULL;
	const char *version = rh_json_string(rh_json_get(config->exec, "apiVersion"));
	int r = rh_json_parse(text, length, &json, err);

	if (r == RH_ENOMEM)
		return r;
	if (r < 0 || !rh_text_equal(rh_json_string(rh_json_get(json, "kind")), "ExecCredential"))
		return rh_fail(err, RH_EINVAL, "%s.exec: the plugin's output is not an ExecCredential in JSON",
		               config->user_at);
	if (!rh_text_equal(rh_json_string(rh_json_get(json, "apiVersion")), version))
		return rh_fail(err, RH_EINVAL, "%s.exec.apiVersion: is %s, but the plugin answered in another version",
		               config->user_at, version);
	if (rh_json_type(rh_json_get(json, "status")) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EINVAL, "%s.exec: the plugin's answer has no status", config->user_at);
	r = exec_read_status(config, rh_json_get(json, "status"), &answer, err);
	if (r < 0)
		rh_auth_answer_deinit(&answer);
	else
		*ret_answer = answer;
	return r;
}

/* spec.cluster: what the plugin may need to reach the server itself. */
static int exec_describe_cluster(const struct rh_kubeconfig *config, struct rh_json *cluster)
{
	rh_auto_str ca = {0};

	if (config->ca)
		rh_base64_encode(config->ca, strlen(config->ca), &ca);
	if (ca.failed || rh_json_set_string(cluster, "server", config->server) < 0 ||
	    (ca.length && rh_json_set_string(cluster, "certificate-authority-data", rh_str_text(&ca)) < 0) ||
	    (config->tls_server_name && rh_json_set_string(cluster, "tls-server-name", config->tls_server_name) < 0) ||
	    (config->proxy_url && rh_json_set_string(cluster, "proxy-url", config->proxy_url) < 0) ||
	    (config->insecure && rh_json_set_bool(cluster, "insecure-skip-tls-verify", true) < 0) ||
	    (config->no_compression && rh_json_set_bool(cluster, "disable-compression", true) < 0) ||
	    (config->exec_config && rh_json_set(cluster, "config", rh_json_copy(config->exec_config)) < 0))
		return RH_ENOMEM;
	return 0;
}

char *rh_auth_exec_info(const struct rh_kubeconfig *config, bool interactive)
{
	rh_auto(json) info = rh_json_new_object();
	struct rh_json *spec;

	if (!info || rh_json_set_string(info, "kind", "ExecCredential") < 0 ||
	    rh_json_set_string(info, "apiVersion", rh_json_string(rh_json_get(config->exec, "apiVersion"))) < 0)
		return NULL;
	spec = rh_json_ensure_object(info, "spec");
	if (!spec || rh_json_set_bool(spec, "interactive", interactive) < 0)
		return NULL;
	if (rh_json_bool(rh_json_get(config->exec, "provideClusterInfo"), false)) {
		struct rh_json *cluster = rh_json_ensure_object(spec, "cluster");

		if (!cluster || exec_describe_cluster(config, cluster) < 0)
			return NULL;
	}
	return rh_json_text(info);
}

int rh_auth_exec_interactive(const struct rh_kubeconfig *config, bool terminal, bool *ret_interactive,
                             struct rh_error *err)
{
	const char *mode = rh_json_string(rh_json_get(config->exec, "interactiveMode"));

	if (mode && strcmp(mode, "Always") == 0 && !terminal)
		return rh_fail(err, RH_EINVAL,
		               "%s.exec.interactiveMode: is Always, but standard input is not a terminal; use a "
		               "plugin that needs none",
		               config->user_at);
	/* v1beta1 may omit it; the default is IfAvailable */
	*ret_interactive = terminal && !(mode && strcmp(mode, "Never") == 0);
	return 0;
}

static void exec_free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		rh_free_secret(list[i]);
	rh_free(list);
}

void rh_auth_command_deinit(struct rh_auth_command *command)
{
	exec_free_list(command->argv);
	exec_free_list(command->envp);
	*command = (struct rh_auth_command){0};
}

static int exec_fill_argv(struct rh_auth_command *command, const struct rh_json *exec)
{
	const struct rh_json *args = rh_json_get(exec, "args");
	size_t count = 0;

	command->argv = rh_alloc_array(rh_json_size(args) + 2, sizeof(*command->argv));
	if (!command->argv)
		return RH_ENOMEM;
	command->argv[count] = rh_strdup(rh_json_string(rh_json_get(exec, "command")));
	for (const struct rh_json *arg = rh_json_first(args); command->argv[count] && arg; arg = rh_json_next(arg))
		command->argv[++count] = rh_strdup(rh_json_string(arg));
	return command->argv[count] ? 0 : RH_ENOMEM;
}

/* Whether the kubeconfig, or this program, overrides the variable of the entry "NAME=value". */
static bool exec_replaces(const struct rh_json *env, const char *entry)
{
	size_t length = strcspn(entry, "=");

	for (const struct rh_json *item = rh_json_first(env); item; item = rh_json_next(item)) {
		const char *name = rh_json_string(rh_json_get(item, "name"));

		if (strlen(name) == length && strncmp(name, entry, length) == 0)
			return true;
	}
	return length == strlen(EXEC_INFO) && strncmp(EXEC_INFO, entry, length) == 0;
}

static int exec_fill_envp(struct rh_auth_command *command, const struct rh_json *env, const char *info,
                          char *const *environment)
{
	size_t count = 0;
	size_t total = 0;

	while (environment[total])
		total++;
	command->envp = rh_alloc_array(total + rh_json_size(env) + 2, sizeof(*command->envp));
	if (!command->envp)
		return RH_ENOMEM;
	command->envp[count++] = rh_asprintf(EXEC_INFO "=%s", info);
	for (const struct rh_json *item = rh_json_first(env); command->envp[count - 1] && item; item = rh_json_next(item))
		command->envp[count++] =
			rh_asprintf("%s=%s", rh_json_string(rh_json_get(item, "name")), rh_json_string(rh_json_get(item, "value")));
	for (size_t i = 0; command->envp[count - 1] && i < total; i++) {
		if (!exec_replaces(env, environment[i]))
			command->envp[count++] = rh_strdup(environment[i]);
	}
	return command->envp[count - 1] ? 0 : RH_ENOMEM;
}

int rh_auth_command_init(struct rh_auth_command *command, const struct rh_kubeconfig *config, bool interactive,
                         char *const *environment)
{
	char *info = rh_auth_exec_info(config, interactive);
	int r = info ? exec_fill_argv(command, config->exec) : RH_ENOMEM;

	if (r == 0)
		r = exec_fill_envp(command, rh_json_get(config->exec, "env"), info, environment);
	rh_free_secret(info);
	if (r < 0)
		rh_auth_command_deinit(command);
	return r;
}
