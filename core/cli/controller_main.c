/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program roundhouse-controller, which `roundhouse controller` becomes.
 *
 * V1's flags with V1's meaning (v1-behaviour F.3), and our own. What a flag does not say, [controller] of the
 * configuration says, under the same name.
 */
#include "controller/controller.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commands/convert.h"
#include "cli/commands/crds.h"
#include "cli/commands/plugins/plugins.h"
#include "cli/session.h"
#include "cli/version.h"
#include "config/first_fault.h"
#include "config/gang.h"
#include "config/keys.h"
#include "config/setting.h"
#include "host/plugin/settings.h"

/* Most names of --enable-scheme. */
#define CONTROLLER_KINDS_MAX 64
/* First word of the program that tries the installed plugins; after it come the words of the command line. */
#define CONTROLLER_TRIAL "try-plugins"
/* Room for a kind's name, or the address of a port. */
#define CONTROLLER_TEXT_SIZE 64

/* What is worked out of the command line. */
struct controller_setup {
	const struct rh_cli *cli;
	struct rh_session session;
	char kinds[CONTROLLER_KINDS_MAX][CONTROLLER_TEXT_SIZE]; /* --enable-scheme; none: all */
	size_t kind_count;
	char webhook_address[CONTROLLER_TEXT_SIZE];
	struct rh_controller_options options;
	char **trial; /* owned; of the first one alone */
};

/* A flag that sets what a plugin reads from its section of the configuration. */
struct controller_setting {
	const char *flag;
	const char *section;
	const char *key;
};

static const struct controller_setting controller_settings[] = {
	{"pytorch-init-container-image", "plugin pytorch", "init-container-image"},
	{"pytorch-init-container-max-tries", "plugin pytorch", "init-container-max-tries"},
	{"pytorch-init-container-template-file", "plugin pytorch", "init-container-template-file"},
	{"mpi-kubectl-delivery-image", "plugin mpi", "kubectl-delivery-image"},
	{RH_CONFIG_FIRST_FAULT, "controller", RH_CONFIG_FIRST_FAULT},
};

/* Flag of a file that V1 did without where it cannot be read. */
#define CONTROLLER_TEMPLATE_FILE "pytorch-init-container-template-file"

/* Flags of V1 that nothing depends on here, and why. */
static const char *const controller_spent[][2] = {
	{"controller-threads", "one thread decides for all jobs"},
	{"zap-stacktrace-level", "there are no stack traces in the log"},
	{"zap-time-encoding", "times in the log are RFC 3339"},
};

/* @return what the command line says, else the configuration, else @p fallback */
static const char *controller_value(const struct controller_setup *setup, const char *name, const char *fallback)
{
	const char *value = rh_cli_option(setup->cli, name);

	if (!value)
		value = rh_config_setting(setup->session.config, "controller", name);
	return value ? value : fallback;
}

static const char *controller_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool controller_serves(void *arg, const struct rh_kind *kind)
{
	const struct controller_setup *setup = arg;

	for (size_t i = 0; i < setup->kind_count; i++) {
		if (strcasecmp(setup->kinds[i], kind->kind) == 0)
			return true;
	}
	return setup->kind_count == 0;
}

static bool controller_is_kind(const struct rh_host *host, const char *name)
{
	for (size_t i = 0; i < rh_host_plugin_count(host); i++) {
		struct rh_plugin_info info;

		rh_host_plugin(host, i, &info);
		for (size_t k = 0; info.kinds[k]; k++) {
			if (strcasecmp(info.kinds[k]->kind, name) == 0)
				return true;
		}
	}
	return false;
}

static int controller_enable(struct controller_setup *setup, const char *name, size_t length, struct rh_error *err)
{
	char *to;

	if (setup->kind_count == CONTROLLER_KINDS_MAX || length >= CONTROLLER_TEXT_SIZE)
		return rh_fail(err, RH_EINVAL, "enable-scheme: too many or too long names");
	to = setup->kinds[setup->kind_count];
	rh_copy(to, length + 1, name);
	if (!controller_is_kind(setup->session.host, to))
		return rh_fail(err, RH_EINVAL, "scheme %s is not supported yet: no plugin serves it; `roundhouse plugins list`",
		               to);
	setup->kind_count++;
	return 0;
}

/* @param list names, separated by commas or white space */
static int controller_enable_list(struct controller_setup *setup, const char *list, struct rh_error *err)
{
	int r = 0;

	while (r == 0 && *(list += strspn(list, ", \t"))) {
		size_t length = strcspn(list, ", \t");

		r = controller_enable(setup, list, length, err);
		list += length;
	}
	return r;
}

static int controller_kinds(struct controller_setup *setup, struct rh_error *err)
{
	const struct rh_setting *configured = rh_config_find_setting(setup->session.config, "controller", "enable-scheme");
	const char *value;
	size_t cursor = 0;
	int r = 0;

	while (r == 0 && (value = rh_cli_each(setup->cli, "enable-scheme", &cursor)))
		r = *value ? controller_enable_list(setup, value, err)
		           : rh_fail(err, RH_EINVAL, "--enable-scheme is empty; name a kind, or leave it out for all");
	if (r == 0 && !rh_cli_option(setup->cli, "enable-scheme") && configured) {
		r = controller_enable_list(setup, configured->value, err);
		r = r < 0 ? rh_wrap(err, r, "%s: enable-scheme", configured->origin) : 0;
	}
	return r;
}

/* The message begins with the name. */
static int controller_name_flag(int r, struct rh_error *err)
{
	struct rh_error inner = *err;

	return rh_fail(err, r, "--%s", inner.message);
}

/* What flags say; the configuration was checked when it was read. */
static int controller_check_flags(const struct rh_cli *cli, struct rh_error *err)
{
	for (size_t i = 0; i < cli->given_count; i++) {
		const struct rh_setting_rule *rule = rh_config_flag(cli->given[i].option->name);
		int r = rule ? rh_setting_check(rule, cli->given[i].value, err) : 0;

		if (r < 0)
			return controller_name_flag(r, err);
	}
	return 0;
}

static double controller_number(const struct controller_setup *setup, const char *name, double fallback)
{
	const char *text = controller_value(setup, name, NULL);

	return text ? strtod(text, NULL) : fallback;
}

/* V1's rate limit is kept only where somebody asked for one; without, the window adapts to what the server can do. */
static void controller_rates(struct controller_setup *setup)
{
	struct rh_controller_options *options = &setup->options;

	options->qps = controller_number(setup, "kube-api-qps", 0);
	options->burst = (int32_t)controller_number(setup, "kube-api-burst", 0);
	if (options->burst > 0 && options->qps == 0)
		options->qps = 20; /* V1's default, beside a burst that was asked for */
	if (options->qps > 0 && options->burst == 0)
		options->burst = 30;
}

/* zap: a number above 0 is how much more than debug is wanted */
static enum rh_log_level controller_zap_level(const char *word)
{
	if (!word || strcasecmp(word, "info") == 0)
		return RH_LOG_INFO;
	return strcasecmp(word, "error") == 0 || strcasecmp(word, "panic") == 0 ? RH_LOG_ERROR : RH_LOG_DEBUG;
}

static void controller_log(const struct controller_setup *setup)
{
	const char *format = controller_value(setup, "log-format", NULL);
	const char *encoder = rh_cli_option(setup->cli, "zap-encoder");
	const char *develops = rh_cli_option(setup->cli, "zap-devel");
	const char *word = rh_cli_option(setup->cli, "log-level");
	enum rh_log_level level = RH_LOG_INFO;
	bool json = encoder ? strcmp(encoder, "json") == 0 : develops && strcmp(develops, "false") == 0;

	if (word)
		(void)rh_log_level_parse(word, &level);
	else
		level = controller_zap_level(rh_cli_option(setup->cli, "zap-log-level"));
	rh_log_setup(level, format ? strcmp(format, "json") == 0 : json);
}

/* V1 goes on without the file, and its Deployments name one that need not be there. */
static bool controller_is_absent(const char *flag, const char *value)
{
	if (strcmp(flag, CONTROLLER_TEMPLATE_FILE) != 0 || access(value, R_OK) == 0)
		return false;
	rh_log(RH_LOG_WARN, NULL, "--%s: \"%s\" cannot be read: %s; the built-in container is used", flag, value,
	       strerror(errno));
	return true;
}

static int controller_set_flag(struct rh_config *config, const struct controller_setting *setting, const char *value)
{
	rh_auto_free char *origin = rh_asprintf("--%s", setting->flag);

	return origin ? rh_config_set(config, setting->section, setting->key, value, origin) : RH_ENOMEM;
}

/* Flags and variables of V1 that plugins read as settings. */
static int controller_plugins(struct controller_setup *setup, struct rh_error *err)
{
	struct rh_config *config = setup->session.config;
	const char *gang = rh_cli_option(setup->cli, "gang-scheduler-name");
	int r = rh_session_take_variables(&setup->session, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(controller_settings) / sizeof(controller_settings[0]) && r == 0; i++) {
		const struct controller_setting *setting = &controller_settings[i];
		const char *value = rh_cli_option(setup->cli, setting->flag);

		if (value && !controller_is_absent(setting->flag, value))
			r = controller_set_flag(config, setting, value);
	}
	if (r < 0)
		return rh_fail_oom(err);
	r = rh_plugin_settings_check(config, setup->session.host, err);
	if (r == 0 && gang) {
		r = rh_gang_parse_flag(gang, &config->gang, err);
		r = r < 0 ? rh_wrap(err, r, "--gang-scheduler-name") : 0;
	}
	return r;
}

static void controller_webhook(struct controller_setup *setup)
{
	struct rh_controller_options *options = &setup->options;

	options->webhook_secret = controller_value(setup, "webhook-secret-name", "training-operator-webhook-cert");
	options->webhook_service = controller_value(setup, "webhook-service-name", "training-operator");
	options->webhook_dir = controller_value(setup, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs");
	(void)snprintf(setup->webhook_address, sizeof(setup->webhook_address), ":%d",
	               (int)controller_number(setup, "webhook-server-port", 9443));
	options->webhook_address = setup->webhook_address;
}

static void controller_note_spent(const struct rh_cli *cli)
{
	for (size_t i = 0; i < sizeof(controller_spent) / sizeof(controller_spent[0]); i++) {
		if (rh_cli_option(cli, controller_spent[i][0]))
			rh_log(RH_LOG_WARN, NULL, "--%s has no effect: %s", controller_spent[i][0], controller_spent[i][1]);
	}
}

/* Reject an invalid object name here; otherwise the API server rejects it again and again. */
static int controller_check_variable(const char *name, const char *value, struct rh_error *err)
{
	const struct rh_setting_rule *rule = rh_config_flag("namespace");
	int r = value ? rh_setting_check(rule, value, err) : 0;

	return r < 0 ? rh_wrap(err, r, "$%s", name) : 0;
}

static int controller_options(struct controller_setup *setup, struct rh_error *err)
{
	struct rh_controller_options *options = &setup->options;
	const char *variable = controller_variable("KUBEFLOW_NAMESPACE");
	int r = controller_check_variable("KUBEFLOW_NAMESPACE", variable, err);

	options->version = RH_VERSION;
	options->kubeconfig = rh_cli_option(setup->cli, "kubeconfig");
	options->context = rh_cli_option(setup->cli, "context");
	options->namespace_ = controller_value(setup, "namespace", variable);
	options->metrics_address = controller_value(setup, "metrics-bind-address", ":8080");
	options->health_address = controller_value(setup, "health-probe-bind-address", ":8081");
	options->kueue = strcmp(controller_value(setup, "kueue", "false"), "true") == 0;
	options->elect = strcmp(controller_value(setup, "leader-elect", "true"), "true") == 0;
	options->lease_name = controller_value(setup, "leader-election-id", "1ca428e5.training-operator.kubeflow.org");
	options->lease_namespace = controller_value(setup, "leader-election-namespace", NULL);
	options->own_namespace = controller_variable("MY_POD_NAMESPACE");
	options->serves = controller_serves;
	options->arg = setup;
	options->plugins = (struct rh_plugin_set){setup->session.config, setup->session.host, setup};
	controller_webhook(setup);
	controller_rates(setup);
	if (r == 0)
		r = controller_kinds(setup, err);
	return r < 0 ? r : controller_plugins(setup, err);
}

/* --- plugins that are exchanged while the controller works */

/* A set is taken as a whole, so that none is missed because of a typing error or half a copy. */
static int controller_check_set(const struct rh_session *session, struct rh_error *err)
{
	if (session->config->plugin_isolation != RH_ISOLATION_PROCESS)
		return rh_fail(err, RH_EINVAL, "[plugins] isolation is not process; restart the controller");
	for (size_t i = 0; i < rh_host_plugin_count(session->host); i++) {
		struct rh_plugin_info info;

		rh_host_plugin(session->host, i, &info);
		if (info.state != RH_PLUGIN_READY && info.state != RH_PLUGIN_DISABLED)
			return rh_fail(err, RH_EPLUGIN, "plugin \"%s\": %s", info.path, info.reason);
	}
	return 0;
}

static void controller_forget(struct controller_setup *setup)
{
	rh_session_close(&setup->session);
	rh_free(setup->trial);
}

/* Configuration and plugins as they are installed now, with the flags of the start. */
static int controller_load_setup(struct controller_setup *setup, struct rh_error *err)
{
	int r = rh_session_load(setup->cli, &setup->session, err);

	controller_log(setup);
	if (r == 0)
		r = controller_check_set(&setup->session, err);
	return r < 0 ? r : controller_options(setup, err);
}

static int controller_load(void *arg, struct rh_plugin_set *ret_set, struct rh_error *err)
{
	const struct controller_setup *first = arg;
	struct controller_setup *setup = rh_alloc(sizeof(*setup));
	int r;

	if (!setup)
		return rh_fail_oom(err);
	setup->cli = first->cli;
	r = controller_load_setup(setup, err);
	if (r == 0) {
		*ret_set = setup->options.plugins;
		return 0;
	}
	controller_forget(setup);
	rh_free(setup);
	return r;
}

/* The options of the controller are texts of the first configuration, so that one stays. */
static void controller_unload(void *arg, const struct rh_plugin_set *set)
{
	struct controller_setup *setup = set->owner;

	if (setup == arg) {
		rh_host_free(rh_take(setup->session.host));
		return;
	}
	controller_forget(setup);
	rh_free(setup);
}

/* Standard input and pipes can be read once. @return why plugins stay as they are; NULL: they can be exchanged */
static const char *controller_fixed(const struct rh_config *config)
{
	struct stat st;

	if (config->plugin_isolation != RH_ISOLATION_PROCESS)
		return "they are not in processes of their own ([plugins] isolation); restart the controller";
	if (config->file && (stat(config->file, &st) < 0 || !S_ISREG(st.st_mode)))
		return "the configuration is not a file that can be read again; restart the controller";
	return NULL;
}

static int controller_prepare_exchange(struct controller_setup *setup, struct rh_error *err)
{
	struct rh_plugin_source *source = &setup->options.source;
	size_t count = 0;

	while (setup->cli->words[count])
		count++;
	setup->trial = rh_alloc_array(count + 3, sizeof(*setup->trial));
	if (!setup->trial)
		return rh_fail_oom(err);
	setup->trial[0] = (char *)(uintptr_t) "/proc/self/exe";
	setup->trial[1] = (char *)(uintptr_t)CONTROLLER_TRIAL;
	memcpy(setup->trial + 2, setup->cli->words, (count + 1) * sizeof(*setup->trial));
	*source = (struct rh_plugin_source){.trial = setup->trial,
	                                    .load = controller_load,
	                                    .unload = controller_unload,
	                                    .arg = setup,
	                                    .fixed = controller_fixed(setup->session.config)};
	return 0;
}

/* Load what is installed as the controller would, and print why that cannot be done. @return the exit status */
static int controller_try(const struct rh_cli *cli)
{
	struct controller_setup setup = {.cli = cli};
	struct rh_error err = {0};
	int r = controller_load_setup(&setup, &err);

	if (r < 0)
		(void)printf("%s\n", err.message);
	controller_forget(&setup);
	return r < 0 ? rh_cli_status(r) : RH_EXIT_OK;
}

/* @return the exit status */
static int controller_end(struct controller_setup *setup, int r, const struct rh_error *err)
{
	controller_forget(setup);
	return rh_cli_end(setup->cli, r, err);
}

static int controller_run(const struct rh_cli *cli)
{
	struct controller_setup setup = {.cli = cli};
	struct rh_error err = {0};
	int r = controller_check_flags(cli, &err);

	if (r == 0)
		r = rh_session_open(cli, &setup.session, &err);
	if (r == 0) {
		controller_log(&setup);
		controller_note_spent(cli);
		r = controller_options(&setup, &err);
	}
	if (r == 0)
		r = controller_prepare_exchange(&setup, &err);
	if (r == 0)
		r = rh_controller_run(&setup.options, &err);
	return controller_end(&setup, r, &err);
}

int main(int argc, char **argv)
{
	struct rh_cli cli = {.command = &rh_command_controller};
	struct rh_error err = {0};
	bool tries = argc > 1 && strcmp(argv[1], CONTROLLER_TRIAL) == 0;

	rh_cli_prepare();
	if (argc > 0 && strcmp(argv[0], RH_CRDS_PROGRAM) == 0)
		return rh_cli_finish(rh_crds_cluster_main(argc, argv));
	if (argc > 0 && strcmp(argv[0], RH_CONVERT_PROGRAM) == 0)
		return rh_cli_finish(rh_convert_cluster_main(argc, argv));
	if (argc > 0 && strcmp(argv[0], RH_PLUGINS_PROGRAM) == 0)
		return rh_cli_finish(rh_plugins_server_main(argc, argv));
	argv += tries;
	argc -= tries;
	if (rh_cli_parse(&rh_command_controller, argc - 1, argv + 1, &cli, &err) < 0)
		return rh_cli_fail(&cli, RH_EXIT_BAD_INPUT, err.message);
	if (tries)
		return rh_cli_finish(controller_try(&cli));
	if (!rh_cli_option(&cli, "help"))
		return rh_cli_finish(controller_run(&cli));
	rh_cli_help(&rh_command_controller);
	return rh_cli_finish(RH_EXIT_OK);
}
