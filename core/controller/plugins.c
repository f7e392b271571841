/* SPDX-License-Identifier: Apache-2.0 */
/* The plugins of a controller are exchanged while it works. */
#include "base/log.h"
#include "base/os/clock.h"
#include "controller/order.h"
#include "controller/parts.h"

/* How long requests in flight may take before plugins are exchanged; those that are cut off are read from the server.
 */
#define PLUGINS_DRAIN (5 * RH_SECOND)

static void plugins_count(const struct rh_controller *controller, bool good)
{
	const char *const labels[] = {good ? "loaded" : "refused"};

	rh_metrics_add(controller->metrics, RH_METRIC_PLUGIN_RELOADS, labels, 1);
	rh_metrics_set(controller->metrics, RH_METRIC_PLUGINS_CURRENT, NULL, good);
}

static void plugins_refuse(const struct rh_controller *controller, const struct rh_error *err)
{
	rh_log(RH_LOG_ERROR, NULL, "the installed plugins are refused, those that were loaded before stay at work: %s",
	       err->message);
	plugins_count(controller, false);
}

int rh_plugins_open(struct rh_controller *controller, struct rh_error *err)
{
	const struct rh_plugin_source *source = &controller->options->source;

	rh_metrics_set(controller->metrics, RH_METRIC_PLUGINS_CURRENT, NULL, 1);
	if (source->fixed)
		return 0;
	return rh_reload_new(controller->loop, source->trial, controller->plugins.config, &controller->reload, err);
}

int rh_plugins_attach(struct rh_controller *controller, struct rh_error *err)
{
	return rh_host_attach(controller->plugins.host, controller->loop, RH_ORDER_HOST, &controller->attachment, err);
}

void rh_plugins_close(struct rh_controller *controller)
{
	const struct rh_controller_options *options = controller->options;

	rh_reload_free(rh_take(controller->reload));
	rh_host_attachment_free(rh_take(controller->attachment));
	if (controller->plugins.owner != options->plugins.owner)
		options->source.unload(options->source.arg, &controller->plugins);
}

void rh_plugins_request(struct rh_controller *controller)
{
	if (controller->reload)
		rh_reload_request(controller->reload);
	else
		rh_log(RH_LOG_WARN, NULL, "SIGHUP: plugins are not loaded anew: %s", controller->options->source.fixed);
}

bool rh_plugins_wait(const struct rh_controller *controller)
{
	return controller->drain_by != 0;
}

/* A folder that is empty for a moment, or not mounted, must not end the work for a kind. */
static int plugins_check_kinds(const struct rh_host *before, const struct rh_host *after, struct rh_error *err)
{
	for (size_t i = 0; i < rh_host_plugin_count(before); i++) {
		struct rh_plugin_info info;

		rh_host_plugin(before, i, &info);
		for (size_t k = 0; info.kinds[k]; k++) {
			const struct rh_kind *kind = info.kinds[k];
			rh_auto_free char *api_version = rh_asprintf("%s/%s", kind->group, kind->version);

			if (!api_version)
				return rh_fail_oom(err);
			if (!rh_host_kind(after, api_version, kind->kind, NULL))
				return rh_fail(err, RH_EINVAL,
				               "no plugin would serve %s of %s any more, which \"%s\" serves now; restart the "
				               "controller to do without it",
				               kind->kind, api_version, info.path);
		}
	}
	return 0;
}

/* @return whether the plugins are loaded */
static bool plugins_load(struct rh_controller *controller, struct rh_plugin_set *ret_next)
{
	const struct rh_plugin_source *source = &controller->options->source;
	struct rh_error err = {0};
	int r = source->load(source->arg, ret_next, &err);

	controller->drain_by = 0;
	if (r == 0) {
		r = plugins_check_kinds(controller->plugins.host, ret_next->host, &err);
		if (r < 0)
			source->unload(source->arg, ret_next);
	}
	rh_reload_done(controller->reload, r == 0 ? ret_next->config : controller->plugins.config);
	if (r < 0)
		plugins_refuse(controller, &err);
	return r == 0;
}

bool rh_plugins_step(struct rh_controller *controller, int64_t now, bool drained, struct rh_plugin_set *ret_next)
{
	struct rh_error err = {0};
	enum rh_reload_verdict verdict =
		controller->reload ? rh_reload_step(controller->reload, now, &err) : RH_RELOAD_NOTHING;

	if (verdict == RH_RELOAD_REFUSED)
		plugins_refuse(controller, &err);
	if (verdict != RH_RELOAD_READY)
		return false;
	if (controller->drain_by == 0)
		controller->drain_by = now + PLUGINS_DRAIN;
	return (drained || now >= controller->drain_by) && plugins_load(controller, ret_next);
}

static void plugins_log(const struct rh_host *host)
{
	rh_auto_str text = {0};

	for (size_t i = 0; i < rh_host_plugin_count(host); i++) {
		struct rh_plugin_info info;

		rh_host_plugin(host, i, &info);
		if (info.state == RH_PLUGIN_READY)
			rh_str_appendf(&text, "%s%s %s", text.length ? ", " : "", info.name, info.release);
	}
	rh_log(RH_LOG_INFO, NULL, "plugins were loaded anew: %s", rh_str_text(&text));
}

void rh_plugins_exchange(struct rh_controller *controller, const struct rh_plugin_set *next)
{
	const struct rh_plugin_source *source = &controller->options->source;
	const struct rh_plugin_set before = controller->plugins;

	rh_host_attachment_free(rh_take(controller->attachment));
	controller->plugins = *next;
	controller->webhook.host = next->host;
	source->unload(source->arg, &before);
	plugins_log(next->host);
	plugins_count(controller, true);
}

int64_t rh_plugins_deadline(const struct rh_controller *controller)
{
	if (controller->drain_by != 0)
		return controller->drain_by;
	return controller->reload ? rh_reload_deadline(controller->reload) : RH_NEVER;
}
