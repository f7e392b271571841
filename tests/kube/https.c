/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/https.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crypto/base64.h"
#include "base/os/clock.h"
#include "base/os/file.h"

/* A test that waits longer than this waits for ever. */
#define HTTPS_PATIENCE (60 * RH_SECOND)

void https_start(struct https_server *server, const char *argument, const char *value)
{
	rh_auto(json) reply = NULL;
	int64_t port = 0;
	int to[2];
	int from[2];
	char line[512] = {0};
	FILE *in;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	server->pid = fork();
	assert_true(server->pid >= 0);
	if (server->pid == 0) {
		(void)dup2(to[0], STDIN_FILENO);
		(void)dup2(from[1], STDOUT_FILENO);
		(void)execlp("python3", "python3", "-B", RH_SOURCE_DIR "/tests/kube/server.py", argument, value, NULL);
		_exit(127);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	server->line = to[1];
	in = fdopen(from[0], "r");
	assert_non_null(fgets(line, sizeof(line), in));
	(void)fclose(in);
	reply = support_json(line);
	assert_true(rh_json_integer(rh_json_get(reply, "port"), &port));
	server->port = (int)port;
	rh_copy(server->dir, sizeof(server->dir), rh_json_string(rh_json_get(reply, "dir")));
}

void https_stop(struct https_server *server)
{
	(void)close(server->line);
	assert_int_equal(waitpid(server->pid, NULL, 0), server->pid);
}

char *https_file64(const struct https_server *server, const char *name)
{
	rh_auto_free char *path = rh_path_join(server->dir, name);
	rh_auto_free char *text = NULL;
	struct rh_str out = {0};
	size_t length = 0;

	assert_int_equal(rh_file_read(path, 1 << 20, &text, &length, NULL), 0);
	rh_base64_encode(text, length, &out);
	return rh_str_take(&out);
}

struct rh_kubeconfig *https_config(const struct https_server *server, const char *cluster, const char *user)
{
	rh_auto_free char *text = rh_asprintf("current-context: c\n"
	                                      "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
	                                      "clusters: [{name: k, cluster: {server: 'https://127.0.0.1:%d', %s}}]\n"
	                                      "users: [{name: u, user: {%s}}]\n",
	                                      server->port, cluster, user);
	struct rh_kubeconfig *config = NULL;
	struct rh_error err = {0};

	if (rh_kubeconfig_parse("test", text, strlen(text), NULL, &config, &err) < 0)
		fail_msg("%s", err.message);
	return config;
}

static void https_step(void *arg, int64_t now)
{
	struct https_client *client = arg;

	client->turns++;
	client->stepping = true;
	rh_http_step(client->http, now);
	client->stepping = false;
	client->other = client->step ? client->step(client->arg, now) : RH_NEVER;
	if (client->open == 0 || client->released)
		rh_loop_stop(client->loop);
	if (now >= client->end) {
		print_error("a call did not end\n");
		rh_loop_stop(client->loop);
	}
}

static int64_t https_deadline(void *arg)
{
	const struct https_client *client = arg;
	int64_t due = rh_http_deadline(client->http);

	due = due < client->other ? due : client->other;
	return due < client->end ? due : client->end;
}

static void https_on_observe(void *arg, const char *method, const char *path, int32_t status, double seconds)
{
	struct https_client *client = arg;

	assert_non_null(method);
	assert_null(strchr(path, '?'));
	assert_true(status == 0 || (status >= 100 && status < 600));
	assert_true(seconds >= 0);
	client->observed++;
}

void https_open(struct https_client *client, struct rh_kubeconfig *config)
{
	struct rh_http_options options = {.config = config, .observe = https_on_observe, .arg = client};
	const struct rh_loop_source source = {.step = https_step, .deadline = https_deadline, .arg = client};
	struct rh_error err = {0};

	client->config = config;
	assert_int_equal(rh_loop_new(&client->loop, NULL), 0);
	assert_int_equal(rh_loop_add(client->loop, &source, NULL, NULL), 0);
	options.loop = client->loop;
	options.body_max = 100000;
	if (rh_http_new(&options, &client->http, &err) < 0)
		fail_msg("%s", err.message);
}

void https_close(struct https_client *client)
{
	rh_http_free(client->http);
	rh_loop_free(client->loop);
	rh_kubeconfig_free(client->config);
}

static int https_on_chunk(void *arg, const char *data, size_t length)
{
	struct https_call *call = arg;

	assert_true(call->client->stepping);
	rh_str_append_bytes(&call->body, data, length);
	call->chunks++;
	if (call->chunks == call->release_after)
		call->client->released = true;
	if (call->chunks == call->cancel_after) {
		rh_http_cancel(call->client->http, call->id);
		call->client->open--;
	}
	return call->chunks == call->stop_after;
}

static void https_on_done(void *arg, const struct rh_http_response *response)
{
	struct https_call *call = arg;

	assert_true(call->client->stepping);
	assert_int_equal(call->status, -1);
	call->status = response->status;
	call->sent = response->sent;
	call->retry_after = response->retry_after;
	rh_copy(call->message, sizeof(call->message), response->message);
	assert_int_equal(response->body[response->body_length], '\0');
	rh_str_append_bytes(&call->body, response->body, response->body_length);
	call->client->open--;
}

void https_send(struct https_client *client, const struct rh_http_request *request, bool chunks,
                struct https_call *call)
{
	struct rh_http_request whole = *request;
	size_t observed = client->observed;

	call->client = client;
	call->status = -1;
	whole.chunk = chunks ? https_on_chunk : NULL;
	assert_int_equal(rh_http_send(client->http, &whole, https_on_done, call, &call->id, NULL), 0);
	assert_true(call->id != 0);
	assert_int_equal(call->status, -1);
	assert_int_equal(client->observed, observed);
	client->open++;
}

void https_wait(struct https_client *client)
{
	client->released = false;
	client->end = rh_clock_monotonic() + HTTPS_PATIENCE;
	if (client->open > 0)
		rh_loop_run(client->loop);
	assert_true(rh_clock_monotonic() < client->end);
}

void https_get(struct https_client *client, const char *path, struct https_call *call)
{
	struct rh_http_request request = {.method = "GET", .path = path};

	https_send(client, &request, false, call);
	https_wait(client);
}

void https_call_deinit(struct https_call *call)
{
	rh_str_deinit(&call->body);
}
