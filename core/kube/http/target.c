/* SPDX-License-Identifier: Apache-2.0 */
/* The server's address, in the forms that libcurl needs. */
#include <string.h>

#include "kube/http/parts.h"

/* The parts of the address. Strings are owned by libcurl. */
struct http_url {
	CURLU *handle;
	char *scheme;
	char *host;
	char *port;
	char *path;
};

static void target_url_deinit(struct http_url *url)
{
	curl_free(url->scheme);
	curl_free(url->host);
	curl_free(url->port);
	curl_free(url->path);
	curl_url_cleanup(url->handle);
}

#define auto_http_url __attribute__((cleanup(target_url_deinit))) struct http_url

static int target_url_parse(struct http_url *url, const struct rh_kubeconfig *config, struct rh_error *err)
{
	CURLUcode code;

	url->handle = curl_url();
	if (!url->handle)
		return rh_fail_oom(err);
	code = curl_url_set(url->handle, CURLUPART_URL, config->server, 0);
	if (code == CURLUE_OK)
		code = curl_url_get(url->handle, CURLUPART_SCHEME, &url->scheme, 0);
	if (code == CURLUE_OK)
		code = curl_url_get(url->handle, CURLUPART_HOST, &url->host, 0);
	if (code == CURLUE_OK)
		code = curl_url_get(url->handle, CURLUPART_PORT, &url->port, CURLU_DEFAULT_PORT);
	if (code == CURLUE_OK)
		code = curl_url_get(url->handle, CURLUPART_PATH, &url->path, 0);
	if (code == CURLUE_OUT_OF_MEMORY)
		return rh_fail_oom(err);
	if (code != CURLUE_OK)
		return rh_fail(err, RH_EINVAL, "%s.server: \"%s\": %s; write https://HOST:PORT", config->cluster_at,
		               config->server, curl_url_strerror(code));
	return 0;
}

/* libcurl checks a certificate against the name in the address, so the address has that name and the connection goes
 * elsewhere.
 */
static int target_target_rename(struct rh_http_target *target, const struct http_url *url)
{
	rh_auto_free char *to = rh_asprintf("::%s:%s", url->host, url->port);
	const char *path = strcmp(url->path, "/") == 0 ? "" : url->path;

	target->base = rh_asprintf("%s://%s:%s%s", url->scheme, target->config->tls_server_name, url->port, path);
	target->host_header = rh_asprintf("Host: %s:%s", url->host, url->port);
	target->connect_to = to ? curl_slist_append(NULL, to) : NULL;
	return target->base && target->host_header && target->connect_to ? 0 : RH_ENOMEM;
}

int rh_http_target_init(struct rh_http_target *target, const struct rh_kubeconfig *config, struct rh_error *err)
{
	auto_http_url url = {0};
	int r = target_url_parse(&url, config, err);

	if (r < 0)
		return r;
	target->config = config;
	target->local =
		strcmp(url.host, "localhost") == 0 || rh_starts_with(url.host, "127.") || strcmp(url.host, "[::1]") == 0;
	if (config->tls_server_name)
		return target_target_rename(target, &url) < 0 ? rh_fail_oom(err) : 0;
	target->base = rh_strdup(config->server);
	return target->base ? 0 : rh_fail_oom(err);
}

void rh_http_target_deinit(struct rh_http_target *target)
{
	rh_free(target->base);
	rh_free(target->host_header);
	curl_slist_free_all(target->connect_to);
	*target = (struct rh_http_target){0};
}
