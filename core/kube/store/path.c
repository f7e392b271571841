/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/store/path.h"

#include <string.h>

void rh_kube_path_encode(struct rh_str *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

	while (*text) {
		size_t length = strspn(text, plain);

		rh_str_append_bytes(out, text, length);
		text += length;
		if (*text)
			rh_str_appendf(out, "%%%02X", (unsigned char)*text++);
	}
}

static void path_step(struct rh_str *out, const char *text)
{
	rh_str_append(out, "/");
	rh_kube_path_encode(out, text);
}

/* The apiVersion; its slash stays a separator of the path. */
static void path_version(struct rh_str *out, const char *api_version)
{
	const char *slash = strchr(api_version, '/');

	if (slash) {
		rh_str_append(out, "/apis/");
		rh_str_append_bytes(out, api_version, (size_t)(slash - api_version));
		path_step(out, slash + 1);
	} else {
		rh_str_append(out, "/api");
		path_step(out, api_version);
	}
}

void rh_kube_path_append(struct rh_str *out, const struct rh_kube_target *target)
{
	path_version(out, target->resource->api_version);
	if (target->namespace_) {
		rh_str_append(out, "/namespaces");
		path_step(out, target->namespace_);
	}
	path_step(out, target->resource->plural);
	if (target->name)
		path_step(out, target->name);
	if (target->subresource)
		path_step(out, target->subresource);
}

void rh_kube_query_add(struct rh_str *query, const char *key, const char *value)
{
	if (query->length > 0)
		rh_str_append(query, "&");
	rh_kube_path_encode(query, key);
	rh_str_append(query, "=");
	rh_kube_path_encode(query, value);
}

void rh_kube_path_query(struct rh_str *path, const struct rh_str *query)
{
	if (query->length > 0)
		rh_str_append(path, "?");
	rh_str_append_bytes(path, rh_str_text(query), query->length);
	path->failed = path->failed || query->failed;
}

void rh_kube_path_resource(struct rh_str *out, const struct rh_resource *resource)
{
	const char *slash = strchr(resource->api_version, '/');

	rh_str_append(out, resource->plural);
	if (slash) {
		rh_str_append(out, ".");
		rh_str_append_bytes(out, resource->api_version, (size_t)(slash - resource->api_version));
	}
}
