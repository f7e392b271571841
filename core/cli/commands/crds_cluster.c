/* SPDX-License-Identifier: Apache-2.0 */
/* Part of roundhouse-controller: what `roundhouse crds` asks a live API server. */
#include "cli/commands.h"
#include "cli/commands/crds.h"

#include "base/os/clock.h"
#include "base/os/loop.h"
#include "kube/http/http.h"
#include "kube/kubeconfig/hint.h"
#include "kube/kubeconfig/kubeconfig.h"
#include "kube/store/outcome.h"

/* The server may have to put the document together first. */
#define CLUSTER_TIMEOUT (60 * RH_SECOND)

/* One question to the server. */
struct cluster_call {
	struct rh_loop *loop;
	struct rh_http *http;
	const struct rh_kubeconfig *config;
	struct rh_crds_question *question;
	struct rh_error *err;
	int result;
};

/* The server's message, and a hint. */
static int cluster_refuse(const struct cluster_call *call, const struct rh_http_response *response)
{
	char message[256];
	rh_auto_str hint = {0};

	(void)rh_kube_outcome_message(response->status, response->body, message, sizeof(message));
	rh_kube_hint(call->config, response->status, message, &hint);
	return rh_fail(call->err, RH_EIO, "the server answers with %d: %s%s%s", response->status, message,
	               hint.length ? "; " : "", rh_str_text(&hint));
}

static void cluster_done(void *arg, const struct rh_http_response *response)
{
	struct cluster_call *call = arg;

	if (response->status == 200)
		call->result = rh_json_parse(response->body, response->body_length, &call->question->document, call->err);
	else if (response->status == 404 && call->question->optional)
		call->result = 0;
	else if (response->status == 0)
		call->result = rh_fail(call->err, RH_EIO, "%s", response->message);
	else
		call->result = cluster_refuse(call, response);
	rh_loop_stop(call->loop);
}

static int cluster_ask(struct cluster_call *call, struct rh_crds_question *question, struct rh_error *err)
{
	const struct rh_http_request request = {.method = "GET", .path = question->path, .timeout = CLUSTER_TIMEOUT};
	int r;

	call->question = question;
	r = rh_http_send(call->http, &request, cluster_done, call, NULL, err);
	if (r < 0)
		return r;
	rh_loop_run(call->loop);
	return call->result < 0 ? rh_wrap(err, call->result, "%s%s", call->config->server, question->path) : 0;
}

static int cluster_open(struct cluster_call *call, struct rh_error *err)
{
	struct rh_http_options options = {.config = call->config};
	struct rh_loop_source source;
	int r = rh_loop_new(&call->loop, err);

	options.loop = call->loop;
	if (r == 0)
		r = rh_http_new(&options, &call->http, err);
	if (r < 0)
		return r;
	source = rh_http_source(call->http, 0);
	return rh_loop_add(call->loop, &source, NULL, err);
}

static int cluster_fetch(const struct rh_cli *cli, struct rh_crds_question *questions, size_t count,
                         struct rh_error *err)
{
	const struct rh_kubeconfig_options options = {.path = rh_cli_option(cli, "kubeconfig"),
	                                              .context = rh_cli_option(cli, "context")};
	rh_auto(kubeconfig) config = NULL;
	struct cluster_call call = {.err = err};
	int r = rh_kubeconfig_load(&options, &config, err);

	call.config = config;
	if (r == 0)
		r = cluster_open(&call, err);
	for (size_t i = 0; i < count && r == 0; i++)
		r = cluster_ask(&call, &questions[i], err);
	rh_http_free(call.http);
	rh_loop_free(call.loop);
	return r;
}

int rh_crds_cluster_main(int argc, char **argv)
{
	struct rh_cli cli = {.command = &rh_command_crds};
	struct rh_error err = {0};

	if (rh_cli_parse(&rh_command_crds, argc - 1, argv + 1, &cli, &err) < 0)
		return rh_cli_fail(&cli, RH_EXIT_BAD_INPUT, err.message);
	return rh_crds_print(&cli, cluster_fetch);
}
