/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of one cluster and one user. */
#include <string.h>

#include "base/crypto/base64.h"
#include "base/os/file.h"
#include "base/str.h"
#include "kube/kubeconfig/parts.h"

void rh_kubeconfig_entry_deinit(struct rh_kubeconfig_entry *entry)
{
	rh_free(entry->dir);
	rh_free(entry->at);
	*entry = (struct rh_kubeconfig_entry){0};
}

int rh_kubeconfig_text(const struct rh_kubeconfig_entry *entry, const char *field, const char **ret_text,
                       struct rh_error *err)
{
	const struct rh_json *value = rh_json_get(entry->value, field);
	const char *text = rh_json_string(value);

	if (value && !text && rh_json_type(value) != RH_JSON_NULL)
		return rh_fail(err, RH_EINVAL, "%s.%s: %s must be a string; put it in quotes", entry->at, field,
		               rh_json_type_name(value));
	*ret_text = text && *text ? text : NULL;
	return 0;
}

static int fields_bool(const struct rh_kubeconfig_entry *entry, const char *field, bool *ret_value,
                       struct rh_error *err)
{
	const struct rh_json *value = rh_json_get(entry->value, field);

	if (value && rh_json_type(value) != RH_JSON_BOOL && rh_json_type(value) != RH_JSON_NULL)
		return rh_fail(err, RH_EINVAL, "%s.%s: %s must be true or false", entry->at, field, rh_json_type_name(value));
	*ret_value = rh_json_bool(value, false);
	return 0;
}

static bool fields_has_control(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	}
	return false;
}

/* A string that goes into a header or an address must be one line. The value may be secret and is not shown. */
static int fields_line(const struct rh_kubeconfig_entry *entry, const char *field, char **ret_text,
                       struct rh_error *err)
{
	const char *text;
	int r = rh_kubeconfig_text(entry, field, &text, err);

	if (r < 0 || !text)
		return r;
	if (fields_has_control(text))
		return rh_fail(err, RH_EINVAL, "%s.%s: has a line end or another control character; remove it", entry->at,
		               field);
	*ret_text = rh_strdup(text);
	return *ret_text ? 0 : rh_fail_oom(err);
}

/* A path, made absolute. */
static int fields_path(const struct rh_kubeconfig_entry *entry, const char *field, char **ret_path,
                       struct rh_error *err)
{
	const char *text;
	int r = rh_kubeconfig_text(entry, field, &text, err);

	if (r < 0 || !text)
		return r;
	*ret_path = rh_path_join(entry->dir, text);
	return *ret_path ? 0 : rh_fail_oom(err);
}

int rh_kubeconfig_check_pem(const char *at, const char *text, const char *what, struct rh_error *err)
{
	/* the kind of the key may precede it: "RSA PRIVATE KEY" */
	rh_auto_free char *end = rh_asprintf("%s-----", what);
	const char *begin = strstr(text, "-----BEGIN ");
	const char *head;

	if (!end)
		return rh_fail_oom(err);
	if (strstr(text, "ENCRYPTED"))
		return rh_fail(err, RH_EINVAL, "%s: the key is encrypted; write it without a pass phrase (openssl pkey)", at);
	while (begin) {
		const char *line = begin + strcspn(begin, "\r\n");

		head = strstr(begin, end);
		if (head && head < line && strstr(line, "-----END ") && strstr(line, end))
			return 0;
		begin = strstr(line, "-----BEGIN ");
	}
	return rh_fail(err, RH_EINVAL, "%s: is not PEM; it must have the lines -----BEGIN %s----- and -----END %s-----", at,
	               what, what);
}

/* PEM in base64. @return 0 with *ret_text NULL when the field is absent */
static int fields_data(const struct rh_kubeconfig_entry *entry, const char *field, const char *what, char **ret_text,
                       struct rh_error *err)
{
	rh_auto_free char *at = rh_asprintf("%s.%s", entry->at, field);
	char *bytes;
	const char *text;
	size_t length;
	int r = rh_kubeconfig_text(entry, field, &text, err);

	if (r < 0 || !text)
		return r;
	bytes = rh_alloc(rh_base64_room(strlen(text)));
	if (!bytes || !at) {
		rh_free(bytes);
		return rh_fail_oom(err);
	}
	if (!rh_base64_decode(text, bytes, &length))
		r = rh_fail(err, RH_EINVAL, "%s: is not base64; encode the PEM file with base64 -w0", at);
	else
		r = rh_kubeconfig_check_pem(at, bytes, what, err);
	if (r < 0)
		rh_free_secret(bytes);
	else
		*ret_text = bytes;
	return r;
}

/* Inline data takes precedence over a file. */
static int fields_data_or_path(const struct rh_kubeconfig_entry *entry, const char *field, const char *what,
                               char *ret_text_and_path[2], struct rh_error *err)
{
	rh_auto_free char *data = rh_asprintf("%s-data", field);
	int r;

	if (!data)
		return rh_fail_oom(err);
	r = fields_data(entry, data, what, &ret_text_and_path[0], err);
	if (r < 0 || ret_text_and_path[0])
		return r;
	return fields_path(entry, field, &ret_text_and_path[1], err);
}

static int fields_check_server(const struct rh_kubeconfig *config, struct rh_error *err)
{
	const char *server = config->server;
	size_t scheme;
	size_t host;

	if (!server)
		return rh_fail(err, RH_EINVAL,
		               "%s.server: is not set; write the address of the API server, as "
		               "https://HOST:PORT",
		               config->cluster_at);
	scheme = rh_starts_with(server, "https://") ? 8 : rh_starts_with(server, "http://") ? 7 : 0;
	if (scheme == 0)
		return rh_fail(err, RH_EINVAL, "%s.server: \"%s\" must begin with https:// or http://", config->cluster_at,
		               server);
	host = strcspn(server + scheme, "/?#");
	if (host == 0 || server[scheme] == ':' || strpbrk(server, " ?#@\\"))
		return rh_fail(err, RH_EINVAL,
		               "%s.server: \"%s\" must be https://HOST:PORT, perhaps with a path; no user, query "
		               "or white space",
		               config->cluster_at, strchr(server, '@') ? "…@…" : server);
	return 0;
}

static int fields_check_proxy(const struct rh_kubeconfig *config, struct rh_error *err)
{
	static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};

	if (!config->proxy_url)
		return 0;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (rh_starts_with(config->proxy_url, schemes[i]) && config->proxy_url[strlen(schemes[i])] != '\0')
			return 0;
	}
	return rh_fail(err, RH_EINVAL, "%s.proxy-url: must be http://, https:// or socks5:// with a host",
	               config->cluster_at);
}

static void fields_trim_slashes(char *text)
{
	for (size_t length = text ? strlen(text) : 0; length > 0 && text[length - 1] == '/'; length--)
		text[length - 1] = '\0';
}

static int fields_check_cluster(struct rh_kubeconfig *config, struct rh_error *err)
{
	int r = fields_check_server(config, err);

	if (r == 0)
		r = fields_check_proxy(config, err);
	if (r == 0 && config->insecure && (config->ca || config->ca_file))
		r = rh_fail(err, RH_EINVAL,
		            "%s.insecure-skip-tls-verify: is true although there is a certificate-authority; "
		            "remove one of the two",
		            config->cluster_at);
	fields_trim_slashes(config->server);
	return r;
}

/* Configuration of the cluster for exec plugins (client-go clientcmd/api/types.go: ExecConfig.Config). */
static int fields_read_extension(const struct rh_kubeconfig_entry *entry, struct rh_kubeconfig *config,
                                 struct rh_error *err)
{
	const struct rh_json *item = rh_json_first(rh_json_get(entry->value, "extensions"));

	while (item && !rh_text_equal(rh_json_string(rh_json_get(item, "name")), "client.authentication.k8s.io/exec"))
		item = rh_json_next(item);
	if (!rh_json_get(item, "extension"))
		return 0;
	config->exec_config = rh_json_copy(rh_json_get(item, "extension"));
	return config->exec_config ? 0 : rh_fail_oom(err);
}

int rh_kubeconfig_read_cluster(const struct rh_kubeconfig_entry *entry, struct rh_kubeconfig *config,
                               struct rh_error *err)
{
	char *ca[2] = {NULL, NULL};
	int r;

	config->cluster_at = rh_strdup(entry->at);
	if (!config->cluster_at)
		return rh_fail_oom(err);
	r = fields_line(entry, "server", &config->server, err);
	if (r == 0)
		r = fields_data_or_path(entry, "certificate-authority", "CERTIFICATE", ca, err);
	config->ca = ca[0];
	config->ca_file = ca[1];
	if (r == 0)
		r = fields_bool(entry, "insecure-skip-tls-verify", &config->insecure, err);
	if (r == 0)
		r = fields_bool(entry, "disable-compression", &config->no_compression, err);
	if (r == 0)
		r = fields_line(entry, "tls-server-name", &config->tls_server_name, err);
	if (r == 0)
		r = fields_line(entry, "proxy-url", &config->proxy_url, err);
	if (r == 0)
		r = fields_read_extension(entry, config, err);
	return r < 0 ? r : fields_check_cluster(config, err);
}

/* One impersonation header (client-go transport/round_trippers.go: names of extra keys are percent-encoded). */
static int fields_add_header(struct rh_kubeconfig *config, const char *name, const char *extra, const char *value)
{
	rh_auto_str header = {0};

	rh_str_append(&header, name);
	for (; extra && *extra; extra++) {
		if ((*extra >= 'a' && *extra <= 'z') || (*extra >= 'A' && *extra <= 'Z') || (*extra >= '0' && *extra <= '9') ||
		    strchr("!#$&'*+-.^_`|~", *extra))
			rh_str_append_bytes(&header, extra, 1);
		else
			rh_str_appendf(&header, "%%%02X", (unsigned)(unsigned char)*extra);
	}
	rh_str_appendf(&header, ": %s", value);
	if (!config->headers)
		config->headers = rh_json_new_array();
	if (header.failed || !config->headers)
		return RH_ENOMEM;
	return rh_json_append(config->headers, rh_json_new_string(rh_str_text(&header)));
}

static int fields_add_headers(const struct rh_kubeconfig_entry *entry, const char *field, const char *header,
                              struct rh_kubeconfig *config, struct rh_error *err)
{
	const struct rh_json *values = rh_json_get(entry->value, field);
	const struct rh_json *value = rh_json_type(values) == RH_JSON_STRING ? values : rh_json_first(values);

	if (values && rh_json_type(values) == RH_JSON_STRING && !*rh_json_string(values))
		return 0;
	for (; value; value = value == values ? NULL : rh_json_next(value)) {
		const char *text = rh_json_string(value);

		if (!text || fields_has_control(text))
			return rh_fail(err, RH_EINVAL,
			               "%s.%s: must be a string of one line, or a list of them; put numbers in quotes", entry->at,
			               field);
		if (fields_add_header(config, header, NULL, text) < 0)
			return rh_fail_oom(err);
	}
	return 0;
}

static int fields_read_extra(const struct rh_kubeconfig_entry *entry, struct rh_kubeconfig *config,
                             struct rh_error *err)
{
	const struct rh_json *key = rh_json_first(rh_json_get(entry->value, "as-user-extra"));

	for (; key; key = rh_json_next(key)) {
		for (const struct rh_json *value = rh_json_first(key); value; value = rh_json_next(value)) {
			const char *text = rh_json_string(value);

			if (!rh_json_key(key) || !text || fields_has_control(text))
				return rh_fail(err, RH_EINVAL, "%s.as-user-extra: must be a mapping of lists of strings", entry->at);
			if (fields_add_header(config, "Impersonate-Extra-", rh_json_key(key), text) < 0)
				return rh_fail_oom(err);
		}
	}
	return 0;
}

static int fields_read_impersonation(const struct rh_kubeconfig_entry *entry, struct rh_kubeconfig *config,
                                     struct rh_error *err)
{
	bool user = rh_json_string(rh_json_get(entry->value, "as")) && *rh_json_string(rh_json_get(entry->value, "as"));
	int r = fields_add_headers(entry, "as", "Impersonate-User", config, err);

	if (r == 0)
		r = fields_add_headers(entry, "as-uid", "Impersonate-Uid", config, err);
	if (r == 0)
		r = fields_add_headers(entry, "as-groups", "Impersonate-Group", config, err);
	if (r == 0)
		r = fields_read_extra(entry, config, err);
	if (r == 0 && config->headers && !user)
		return rh_fail(err, RH_EINVAL, "%s.as: must be set where as-uid, as-groups or as-user-extra is", entry->at);
	return r;
}

static int fields_check_user(const struct rh_kubeconfig *config, struct rh_error *err)
{
	const char *at = config->user_at;
	bool certificate = config->certificate || config->certificate_file;
	bool key = config->key || config->key_file;
	int ways = (config->token || config->token_file ? 1 : 0) + (config->username ? 1 : 0) + (config->exec ? 1 : 0);

	if (certificate && !key)
		return rh_fail(err, RH_EINVAL,
		               "%s.client-key: is not set although there is a client-certificate; set it or "
		               "client-key-data",
		               at);
	if (key && !certificate)
		return rh_fail(err, RH_EINVAL,
		               "%s.client-certificate: is not set although there is a client-key; set it or "
		               "client-certificate-data",
		               at);
	if (config->password && !config->username)
		return rh_fail(err, RH_EINVAL, "%s.username: is not set although there is a password", at);
	if (config->username && strchr(config->username, ':'))
		return rh_fail(err, RH_EINVAL, "%s.username: must not have a colon", at);
	if (ways > 1)
		return rh_fail(err, RH_EINVAL, "%s: has more than one of token, username and exec; keep one", at);
	return 0;
}

static int fields_read_certificate(const struct rh_kubeconfig_entry *entry, struct rh_kubeconfig *config,
                                   struct rh_error *err)
{
	char *certificate[2] = {NULL, NULL};
	char *key[2] = {NULL, NULL};
	int r = fields_data_or_path(entry, "client-certificate", "CERTIFICATE", certificate, err);

	config->certificate = certificate[0];
	config->certificate_file = certificate[1];
	if (r == 0)
		r = fields_data_or_path(entry, "client-key", "PRIVATE KEY", key, err);
	config->key = key[0];
	config->key_file = key[1];
	return r;
}

static int fields_read_names(const struct rh_kubeconfig_entry *entry, struct rh_kubeconfig *config,
                             struct rh_error *err)
{
	int r = fields_line(entry, "token", &config->token, err);

	if (r == 0)
		r = fields_path(entry, "tokenFile", &config->token_file, err);
	if (r == 0)
		r = fields_line(entry, "username", &config->username, err);
	if (r == 0)
		r = fields_line(entry, "password", &config->password, err);
	return r;
}

int rh_kubeconfig_read_user(const struct rh_kubeconfig_entry *entry, struct rh_kubeconfig *config, struct rh_error *err)
{
	const struct rh_json *provider = rh_json_get(entry->value, "auth-provider");
	const struct rh_json *exec = rh_json_get(entry->value, "exec");
	int r;

	config->user_at = rh_strdup(entry->at);
	if (!config->user_at)
		return rh_fail_oom(err);
	if (provider && rh_json_type(provider) != RH_JSON_NULL)
		return rh_fail(err, RH_EINVAL,
		               "%s.auth-provider: Kubernetes removed these in 1.26; use an exec credential "
		               "plugin (users[].user.exec)",
		               entry->at);
	r = fields_read_certificate(entry, config, err);
	if (r == 0)
		r = fields_read_names(entry, config, err);
	if (r == 0)
		r = fields_read_impersonation(entry, config, err);
	if (r == 0 && exec && rh_json_type(exec) != RH_JSON_NULL)
		r = rh_kubeconfig_read_exec(entry, exec, config, err);
	return r < 0 ? r : fields_check_user(config, err);
}
