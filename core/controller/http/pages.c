/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/pages.h"

#include <string.h>
#include <strings.h>

#define PAGES_OK 200
#define PAGES_FORBIDDEN 403
#define PAGES_NOT_ALLOWED 405
#define PAGES_FAILED 500

/* @return whether the query has @p key, alone or with a value; *@p ret_value is what follows the =, up to the next & */
static bool pages_asks(const char *query, const char *key, const char **ret_value)
{
	size_t length = strlen(key);

	for (const char *at = query; at && *at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL) {
		if (strncmp(at, key, length) != 0 || !strchr("=&", at[length]))
			continue;
		*ret_value = at[length] == '=' ? at + length + 1 : "";
		return true;
	}
	return false;
}

static bool pages_reads(const struct rh_httpd_request *request, struct rh_httpd_reply *reply)
{
	if (strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0)
		return true;
	reply->status = PAGES_NOT_ALLOWED;
	rh_str_append(&reply->body, "method not allowed\n");
	return false;
}

static bool pages_excludes(const struct rh_pages_check *check, const struct rh_httpd_request *request)
{
	size_t length = strlen(check->page);
	const char *value;

	return pages_asks(request->query, "exclude", &value) && strncmp(value, check->page, length) == 0 &&
	       strchr("&", value[length]);
}

/* The list of checks, which here is one. */
static void pages_all(const struct rh_pages_check *check, const struct rh_httpd_request *request,
                      struct rh_httpd_reply *reply)
{
	bool excluded = pages_excludes(check, request);
	bool good = check->good || excluded;
	const char *value;

	reply->status = good ? PAGES_OK : PAGES_FAILED;
	if (good && !pages_asks(request->query, "verbose", &value)) {
		rh_str_append(&reply->body, "ok");
		return;
	}
	if (excluded)
		rh_str_appendf(&reply->body, "[+]%s excluded: ok\n", check->page);
	else
		rh_str_appendf(&reply->body, good ? "[+]%s ok\n" : "[-]%s failed: reason withheld\n", check->page);
	rh_str_appendf(&reply->body, "%s check %s\n", check->page, good ? "passed" : "failed");
}

bool rh_pages_health(const struct rh_pages_check *check, const struct rh_httpd_request *request,
                     struct rh_httpd_reply *reply)
{
	size_t length = strlen(check->page);
	const char *rest = request->path + 1 + length;

	if (request->path[0] != '/' || strncmp(request->path + 1, check->page, length) != 0)
		return false;
	if (*rest && *rest != '/')
		return false;
	if (!pages_reads(request, reply))
		return true;
	if (!*rest || strcmp(rest, "/") == 0) {
		pages_all(check, request, reply);
	} else if (strcmp(rest + 1, check->page) == 0) {
		reply->status = check->good ? PAGES_OK : PAGES_FAILED;
		rh_str_append(&reply->body, check->good ? "ok" : "internal server error: reason withheld\n");
	}
	return true;
}

bool rh_pages_metrics(const struct rh_metrics *metrics, const struct rh_httpd_request *request,
                      struct rh_httpd_reply *reply)
{
	if (strcmp(request->path, "/metrics") != 0)
		return false;
	if (!pages_reads(request, reply))
		return true;
	reply->status = PAGES_OK;
	reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
	rh_metrics_print(metrics, &reply->body);
	return true;
}

/* A web page whose name leads to this machine (DNS rebinding) shows in the Host of its requests. */
static bool pages_is_own_host(const char *host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		if (strncasecmp(host, names[i], length) == 0 && strchr(":", host[length]))
			return true;
	}
	return false;
}

bool rh_pages_is_state(const struct rh_httpd_request *request, struct rh_httpd_reply *reply)
{
	if (strcmp(request->path, "/debug/state") != 0)
		return false;
	if (!request->loopback) {
		reply->status = PAGES_FORBIDDEN;
		rh_str_append(&reply->body, "only for this machine; use kubectl port-forward\n");
	} else if (!pages_is_own_host(request->host)) {
		reply->status = PAGES_FORBIDDEN;
		rh_str_append(&reply->body, "the header Host must be localhost, 127.0.0.1 or [::1]\n");
	} else {
		reply->status = PAGES_OK;
	}
	return true;
}

void rh_pages_json(const struct rh_json *json, struct rh_httpd_reply *reply)
{
	reply->status = json ? PAGES_OK : PAGES_FAILED;
	reply->content_type = "application/json";
	if (json)
		rh_json_print(json, true, &reply->body);
	rh_str_append(&reply->body, "\n");
}
