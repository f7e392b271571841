/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three servers of V1: metrics, health, and webhooks with TLS. The certificate of the webhooks is that of V1's
 * Secret, which is looked after here; where there is none, the mounted files count, which somebody may fill or renew at
 * any time: they are looked at again and again. A new certificate is exchanged in the server that runs.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "controller/http/pages.h"
#include "controller/order.h"
#include "controller/parts.h"
#include "httpd/listen.h"

/* Largest certificate or key, bytes. */
#define SERVERS_FILE_MAX ((size_t)1024 * 1024)
/* How often the files of the certificate are looked at: while there is none, and afterwards. */
#define SERVERS_LOOK_SOON RH_SECOND
#define SERVERS_LOOK_LATER (30 * RH_SECOND)
/* How long to wait when the port of the webhooks cannot be had: at first, and at most. */
#define SERVERS_RETRY RH_SECOND
#define SERVERS_RETRY_MAX (30 * RH_SECOND)
/* Connections of each server at a time: probes, a scraper or two, API servers. */
#define SERVERS_CONNECTIONS 128
#define SERVERS_CONNECTIONS_MIN 8
/* Servers that share what descriptors there are, and descriptors that are kept for all else: the API server's
 * connections first of all. */
#define SERVERS_COUNT 3
#define SERVERS_DESCRIPTORS 128

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
	if (!rh_pages_is_state(request, reply) || reply->status != 200)
		return;
	state = rh_controller_show(controller);
	rh_pages_json(state, reply);
}

static void servers_on_webhook(void *arg, const struct rh_httpd_request *request, struct rh_httpd_reply *reply)
{
	const struct rh_controller *controller = arg;

	(void)rh_webhook_answer(&controller->webhook, request, reply);
}

/* Clients must not use up the descriptors that the controller itself needs. */
static size_t servers_connections(void)
{
	struct rlimit limit;
	rlim_t share;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return SERVERS_CONNECTIONS_MIN;
	share = limit.rlim_cur > SERVERS_DESCRIPTORS ? (limit.rlim_cur - SERVERS_DESCRIPTORS) / SERVERS_COUNT : 0;
	if (share > SERVERS_CONNECTIONS)
		return SERVERS_CONNECTIONS;
	return share < SERVERS_CONNECTIONS_MIN ? SERVERS_CONNECTIONS_MIN : (size_t)share;
}

/* Cleanup function for a key. */
static void servers_wipe(char **key)
{
	rh_free_secret(*key);
}

static void servers_forget_pair(struct rh_webhook_server *server)
{
	rh_free(rh_take(server->certificate));
	rh_free_secret(rh_take(server->key));
}

static int servers_read(const char *folder, const char *name, char **ret_text, struct rh_error *err)
{
	rh_auto_free char *path = rh_path_join(folder, name);

	return path ? rh_file_read(path, SERVERS_FILE_MAX, ret_text, NULL, err) : rh_fail_oom(err);
}

static int servers_open_webhook_port(struct rh_controller *controller, struct rh_error *err)
{
	struct rh_webhook_server *server = &controller->webhook_server;
	const struct rh_httpd_options options = {
		.loop = controller->loop,
		.order = RH_ORDER_SERVERS,
		.address = controller->options->webhook_address,
		.certificate = server->certificate,
		.key = server->key,
		.handler = servers_on_webhook,
		.arg = controller,
		.body_max = RH_WEBHOOK_BODY_MAX,
		.connections = servers_connections(),
	};

	return rh_httpd_new(&options, &server->httpd, err);
}

/* Open the server once there is a certificate. Another process may still use the port. */
static void servers_try_webhook(struct rh_controller *controller, int64_t now)
{
	struct rh_webhook_server *server = &controller->webhook_server;
	int r;

	if (!server->certificate || now < server->open_at)
		return;
	server->problem = (struct rh_error){0};
	r = servers_open_webhook_port(controller, &server->problem);
	if (r == 0) {
		rh_log(RH_LOG_INFO, "webhooks", "served at %s", controller->options->webhook_address);
		server->wait = 0;
	} else if (r == RH_EINVAL) {
		rh_log(RH_LOG_ERROR, "webhooks", "not served: %s", server->problem.message);
	} else {
		server->wait = server->wait == 0 ? SERVERS_RETRY : 2 * server->wait;
		server->wait = server->wait < SERVERS_RETRY_MAX ? server->wait : SERVERS_RETRY_MAX;
		server->open_at = now + server->wait;
		rh_log(RH_LOG_ERROR, "webhooks", "not served: %s; the next try is in %d s", server->problem.message,
		       (int)(server->wait / RH_SECOND));
		return;
	}
	servers_forget_pair(server);
}

/* Serve with this pair from now on. @return 0, RH_EINVAL (the former pair, if any, stays) or RH_ENOMEM */
static int servers_take_pair(struct rh_controller *controller, const char *certificate, const char *key,
                             struct rh_error *err)
{
	struct rh_webhook_server *server = &controller->webhook_server;
	int r;

	if (server->httpd) {
		r = rh_httpd_exchange(server->httpd, certificate, key, err);
		if (r == 0)
			rh_log(RH_LOG_INFO, "webhooks", "the certificate was renewed");
		return r;
	}
	servers_forget_pair(server);
	server->certificate = rh_strdup(certificate);
	server->key = rh_strdup(key);
	if (!server->certificate || !server->key) {
		servers_forget_pair(server);
		return rh_fail_oom(err);
	}
	servers_try_webhook(controller, rh_clock_monotonic());
	return 0;
}

/* @return 1 when what is in the files now was taken, 0 when they are not there or still the pair that was refused, or
 * a negative status */
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
	if (server->hash == hash)
		return !server->refused;
	/* a pair of two ages is seen when the files are replaced one after the other: the next look finds the second */
	r = servers_take_pair(controller, certificate, key, err);
	server->hash = hash;
	server->refused = r < 0;
	return r < 0 ? r : 1;
}

static void servers_on_certificate(void *arg, const char *certificate, const char *key)
{
	struct rh_controller *controller = arg;
	struct rh_error err = {0};

	controller->webhook_server.held = true;
	if (servers_take_pair(controller, certificate, key, &err) < 0)
		rh_log(RH_LOG_ERROR, "webhooks", "the Secret: %s", err.message);
}

static void servers_step_files(void *arg, int64_t now)
{
	struct rh_controller *controller = arg;
	struct rh_webhook_server *server = &controller->webhook_server;
	struct rh_error err = {0};
	int r;

	if (now < server->look_at || server->held)
		return;
	r = servers_look(controller, &err);
	if (r < 0)
		rh_log(RH_LOG_ERROR, "webhooks", "%s in %s: %s", server->httpd ? "the former pair is kept" : "not served",
		       controller->options->webhook_dir, err.message);
	server->look_at = now + (server->httpd && r > 0 ? SERVERS_LOOK_LATER : SERVERS_LOOK_SOON);
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
		.loop = controller->loop,
		.order = RH_ORDER_CERTIFICATE,
		.http = controller->http,
		.namespace_ = rh_controller_namespace(controller),
		.secret = options->webhook_secret,
		.service = options->webhook_service,
		.changed = servers_on_certificate,
		.arg = controller,
	};

	return rh_rotation_new(&rotation, &controller->webhook_server.rotation, err);
}

static int64_t servers_files_deadline(void *arg)
{
	const struct rh_webhook_server *server = &((const struct rh_controller *)arg)->webhook_server;

	return server->held ? RH_NEVER : server->look_at;
}

static void servers_step_webhook(void *arg, int64_t now)
{
	servers_try_webhook(arg, now);
}

static int64_t servers_webhook_deadline(void *arg)
{
	const struct rh_webhook_server *server = &((const struct rh_controller *)arg)->webhook_server;

	return server->certificate ? server->open_at : RH_NEVER;
}

static int servers_add_sources(struct rh_controller *controller, struct rh_error *err)
{
	const struct rh_loop_source sources[] = {
		{servers_step_files, servers_files_deadline, controller, RH_ORDER_CERTIFICATE_FILES},
		{servers_step_webhook, servers_webhook_deadline, controller, RH_ORDER_WEBHOOK},
	};

	return rh_loop_add_all(controller->loop, sources, sizeof(sources) / sizeof(sources[0]), err);
}

static int servers_open_webhook(struct rh_controller *controller, struct rh_error *err)
{
	const struct rh_controller_options *options = controller->options;
	int r;

	controller->webhook =
		(struct rh_webhook){controller->plugins.host, controller->metrics, options->serves, options->arg};
	controller->webhook_server.look_at = RH_NEVER;
	if (!options->webhook_dir || rh_listen_is_off(options->webhook_address) || access(options->webhook_dir, F_OK) < 0)
		return 0;
	r = servers_open_rotation(controller, err);
	if (r == 0)
		r = servers_add_sources(controller, err);
	if (r < 0)
		return r;
	controller->webhook_server.look_at = 0;
	servers_step_files(controller, rh_clock_monotonic());
	if (rh_controller_webhooks_pending(controller))
		rh_log(RH_LOG_INFO, "webhooks", "waiting for tls.crt and tls.key in %s", options->webhook_dir);
	return 0;
}

static int servers_open(struct rh_controller *controller, const char *address, rh_httpd_fn *handler,
                        struct rh_httpd **ret_httpd, struct rh_error *err)
{
	const struct rh_httpd_options options = {
		.loop = controller->loop,
		.order = RH_ORDER_SERVERS,
		.address = address,
		.handler = handler,
		.arg = controller,
		.connections = servers_connections(),
	};

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
	servers_forget_pair(&controller->webhook_server);
	rh_httpd_free(rh_take(controller->health_server));
	rh_httpd_free(rh_take(controller->metrics_server));
}
