/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three servers of V1: metrics, health, and webhooks with TLS. The certificate of the webhooks is that of V1's
 * Secret, which is looked after here; where there is none, the mounted files count, which somebody may fill or renew at
 * any time: they are looked at again and again, and the server is started anew.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "controller/listen.h"
#include "controller/pages.h"
#include "controller/parts.h"

/* Largest certificate or key, bytes. */
#define SERVERS_FILE_MAX ((size_t)1024 * 1024)
/* How often the files of the certificate are looked at: while there is none, and afterwards. */
#define SERVERS_LOOK_SOON RH_SECOND
#define SERVERS_LOOK_LATER (30 * RH_SECOND)

static void servers_on_metrics(void *arg, const struct rh_httpd_request *request, struct rh_httpd_reply *reply)
{
	const struct rh_controller *controller = arg;

	if (strcmp(request->path, "/metrics") == 0)
		rh_controller_measure(controller);
	(void)rh_pages_metrics(controller->metrics, request, reply);
}

static void servers_on_health(void *arg, const struct rh_httpd_request *request, struct rh_httpd_reply *reply)
{
	const struct rh_controller *controller = arg;
	const struct rh_pages_check live = {"healthz", true};
	const struct rh_pages_check ready = {"readyz", rh_controller_is_ready(controller)};
	rh_auto(json) state = NULL;

	if (rh_pages_health(&live, request, reply) || rh_pages_health(&ready, request, reply))
		return;
	if (!rh_pages_is_state(request, reply) || !request->loopback)
		return;
	state = rh_controller_show(controller);
	rh_pages_json(state, reply);
}

static void servers_on_webhook(void *arg, const struct rh_httpd_request *request, struct rh_httpd_reply *reply)
{
	const struct rh_controller *controller = arg;

	(void)rh_webhook_answer(&controller->webhook, request, reply);
}

/* Text that was a key is wiped. */
static void servers_wipe(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	rh_free(*text);
}

static int servers_read(const char *folder, const char *name, char **ret_text, struct rh_error *err)
{
	rh_auto_free char *path = rh_path_join(folder, name);

	return path ? rh_file_read(path, SERVERS_FILE_MAX, ret_text, NULL, err) : rh_fail_oom(err);
}

static int servers_start_webhook(struct rh_controller *controller, const char *certificate, const char *key,
                                 struct rh_error *err)
{
	const struct rh_httpd_options options = {
		.loop = controller->loop,
		.address = controller->options->webhook_address,
		.certificate = certificate,
		.key = key,
		.handler = servers_on_webhook,
		.arg = controller,
		.body_max = RH_WEBHOOK_BODY_MAX,
	};
	bool again = controller->webhook_server.httpd != NULL;
	int r;

	rh_httpd_free(rh_take(controller->webhook_server.httpd));
	r = rh_httpd_new(&options, &controller->webhook_server.httpd, err);
	if (r == 0)
		rh_log(RH_LOG_INFO, "webhooks", again ? "the certificate was renewed" : "served at %s", options.address);
	return r;
}

/* @return 1 when the server runs with what is in the files now, 0 when they are not there, or a negative status */
static int servers_look(struct rh_controller *controller, struct rh_error *err)
{
	struct rh_webhook_server *server = &controller->webhook_server;
	const char *folder = controller->options->webhook_dir;
	__attribute__((cleanup(servers_wipe))) char *key = NULL;
	rh_auto_free char *certificate = NULL;
	uint64_t hash;
	int r = servers_read(folder, "tls.crt", &certificate, err);

	if (r == 0)
		r = servers_read(folder, "tls.key", &key, err);
	if (r == RH_ENOENT)
		return 0;
	if (r < 0 || !certificate || !key)
		return r;
	hash = rh_hash(certificate, strlen(certificate)) ^ rh_hash(key, strlen(key));
	if (server->httpd && server->hash == hash)
		return 1;
	r = servers_start_webhook(controller, certificate, key, err);
	server->hash = hash;
	return r < 0 ? r : 1;
}

static void servers_on_certificate(void *arg, const char *certificate, const char *key)
{
	struct rh_controller *controller = arg;
	struct rh_error err = {0};

	controller->webhook_server.held = true;
	if (servers_start_webhook(controller, certificate, key, &err) < 0)
		rh_log(RH_LOG_ERROR, "webhooks", "not served: %s", err.message);
}

static void servers_watch_webhook(struct rh_controller *controller, int64_t now)
{
	struct rh_webhook_server *server = &controller->webhook_server;
	struct rh_error err = {0};
	int r;

	if (now < server->look_at || server->held)
		return;
	r = servers_look(controller, &err);
	if (r < 0)
		rh_log(RH_LOG_ERROR, "webhooks", "not served: %s", err.message);
	server->look_at = now + (server->httpd ? SERVERS_LOOK_LATER : SERVERS_LOOK_SOON);
}

bool rh_servers_pending(const struct rh_controller *controller)
{
	return controller->webhook_server.look_at != RH_NEVER && !controller->webhook_server.httpd;
}

void rh_servers_clock_set(struct rh_controller *controller)
{
	if (controller->webhook_server.rotation)
		rh_rotation_hurry(controller->webhook_server.rotation);
}

static int servers_open_rotation(struct rh_controller *controller, struct rh_error *err)
{
	const struct rh_controller_options *options = controller->options;
	const struct rh_rotation_options rotation = {
		.http = controller->http,
		.namespace_ = rh_controller_namespace(controller),
		.secret = options->webhook_secret,
		.service = options->webhook_service,
		.changed = servers_on_certificate,
		.arg = controller,
	};

	return rh_rotation_new(&rotation, &controller->webhook_server.rotation, err);
}

static int servers_open_webhook(struct rh_controller *controller, struct rh_error *err)
{
	const struct rh_controller_options *options = controller->options;
	int r;

	controller->webhook = (struct rh_webhook){options->host, controller->metrics, options->serves, options->arg};
	controller->webhook_server.look_at = RH_NEVER;
	if (!options->webhook_dir || rh_listen_is_off(options->webhook_address) || access(options->webhook_dir, F_OK) < 0)
		return 0;
	r = servers_open_rotation(controller, err);
	if (r < 0)
		return r;
	controller->webhook_server.look_at = 0;
	servers_watch_webhook(controller, rh_clock_monotonic());
	if (rh_servers_pending(controller))
		rh_log(RH_LOG_INFO, "webhooks", "waiting for tls.crt and tls.key in %s", options->webhook_dir);
	return 0;
}

static int servers_open(struct rh_controller *controller, const char *address, rh_httpd_fn *handler,
                        struct rh_httpd **ret_httpd, struct rh_error *err)
{
	const struct rh_httpd_options options = {
		.loop = controller->loop, .address = address, .handler = handler, .arg = controller};

	return rh_listen_is_off(address) ? 0 : rh_httpd_new(&options, ret_httpd, err);
}

int rh_servers_open(struct rh_controller *controller, struct rh_error *err)
{
	const struct rh_controller_options *options = controller->options;
	int r = servers_open(controller, options->metrics_address, servers_on_metrics, &controller->metrics_server, err);

	if (r < 0)
		return rh_wrap(err, r, "metrics-bind-address");
	r = servers_open(controller, options->health_address, servers_on_health, &controller->health_server, err);
	if (r < 0)
		return rh_wrap(err, r, "health-probe-bind-address");
	return servers_open_webhook(controller, err);
}

void rh_servers_close(struct rh_controller *controller)
{
	rh_rotation_free(rh_take(controller->webhook_server.rotation));
	rh_httpd_free(rh_take(controller->webhook_server.httpd));
	rh_httpd_free(rh_take(controller->health_server));
	rh_httpd_free(rh_take(controller->metrics_server));
}

static int64_t servers_turn_webhook(struct rh_controller *controller, int64_t now, int64_t delay)
{
	struct rh_webhook_server *server = &controller->webhook_server;
	int64_t next;

	if (server->look_at == RH_NEVER)
		return delay;
	rh_rotation_step(server->rotation, now);
	servers_watch_webhook(controller, now);
	next = rh_rotation_deadline(server->rotation);
	if (!server->held && server->look_at < next)
		next = server->look_at;
	return next - now < delay ? next - now : delay;
}

int64_t rh_servers_turn(struct rh_controller *controller, int64_t now)
{
	struct rh_httpd *const servers[] = {controller->metrics_server, controller->health_server,
	                                    controller->webhook_server.httpd};
	int64_t delay = RH_NEVER;

	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		int64_t own = servers[i] ? rh_httpd_turn(servers[i]) : RH_NEVER;

		if (own < delay)
			delay = own;
	}
	return servers_turn_webhook(controller, now, delay);
}
