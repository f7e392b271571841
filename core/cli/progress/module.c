/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress/module.h"

#include <string.h>

#include "base/os/clock.h"
#include "httpd/certificate.h"
#include "httpd/httpd.h"
#include "local/progress/report.h"
#include "roundhouse/version.h"

/* Most connections at a time; the oldest that does nothing is closed for one more. */
#define MODULE_CONNECTIONS 64

struct rh_progress_server {
	struct rh_httpd *httpd;
	struct rh_certificates certificates;
	rh_progress_answer_fn *answer;
	void *arg;
};

static void module_on_request(void *arg, const struct rh_httpd_request *request, struct rh_httpd_reply *reply)
{
	const struct rh_progress_server *server = arg;
	const struct rh_progress_request passed = {.method = request->method,
	                                           .path = request->path,
	                                           .authorization = request->authorization,
	                                           .body = request->body,
	                                           .body_length = request->body_length};

	reply->content_type = "application/json";
	reply->status = server->answer(server->arg, &passed, &reply->body);
}

static void module_close(struct rh_progress_server *server)
{
	if (!server)
		return;
	rh_httpd_free(server->httpd);
	rh_certificates_deinit(&server->certificates);
	rh_free(server);
}

static int module_open(struct rh_loop *loop, rh_progress_answer_fn *answer, void *arg,
                       struct rh_progress_server **ret_server, struct rh_error *err)
{
	struct rh_progress_server *server = rh_alloc(sizeof(*server));
	struct rh_httpd_options options = {.loop = loop,
	                                   .address = "127.0.0.1:0",
	                                   .handler = module_on_request,
	                                   .arg = server,
	                                   .body_max = RH_REPORT_MAX,
	                                   .connections = MODULE_CONNECTIONS};
	int r;

	if (!server)
		return rh_fail_oom(err);
	*server = (struct rh_progress_server){.answer = answer, .arg = arg};
	r = rh_certificates_make_local(rh_clock_wall(), &server->certificates, err);
	options.certificate = server->certificates.crt;
	options.key = server->certificates.key;
	if (r == 0)
		r = rh_httpd_new(&options, &server->httpd, err);
	if (r < 0)
		module_close(server);
	else
		*ret_server = server;
	return r;
}

static uint16_t module_port(const struct rh_progress_server *server)
{
	return rh_httpd_port(server->httpd);
}

static const char *module_authority(const struct rh_progress_server *server)
{
	return server->certificates.crt;
}

const struct rh_progress_serving *rh_progress_module(const char *version)
{
	static const struct rh_progress_serving serving = {
		.open = module_open, .port = module_port, .authority = module_authority, .close = module_close};

	return strcmp(version, RH_VERSION) == 0 ? &serving : NULL;
}
