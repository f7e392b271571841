/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "host/allow.h"
#include "host/plugin/settings.h"

/* --plugins DIR stands in front of the configured folders. */
static int session_add_plugin_dir(struct rh_config *config, const char *dir, struct rh_error *err)
{
	char **dirs = rh_realloc_array(config->plugin_dirs, config->plugin_dir_count + 1, sizeof(*dirs));
	char *copy = rh_strdup(dir);

	if (dirs)
		config->plugin_dirs = dirs;
	if (!dirs || !copy) {
		rh_free(copy);
		return rh_fail_oom(err);
	}
	memmove(dirs + 1, dirs, config->plugin_dir_count * sizeof(*dirs));
	dirs[0] = copy;
	config->plugin_dir_count++;
	return 0;
}

/* What runs in a cluster, or is made for one, does not depend on who starts it where. */
static bool session_is_of_cluster(const struct rh_cli *cli)
{
	return cli->command == &rh_command_controller || cli->command == &rh_command_manifests;
}

int rh_session_configure(const struct rh_cli *cli, const char *file, struct rh_session *session, struct rh_error *err)
{
	const char *dir = rh_cli_option(cli, "plugins");
	const char *isolation = rh_cli_option(cli, "plugin-isolation");
	struct stat st;
	int r;

	session->config = rh_config_new();
	if (!session->config)
		return rh_fail_oom(err);
	/* A controller runs for everybody: there no plugin is near another one, unless the configuration says so. */
	if (cli->command == &rh_command_controller)
		session->config->plugin_isolation = RH_ISOLATION_PROCESS;
	r = rh_config_find(session->config, file, err);
	if (r == 0 && !file && !session_is_of_cluster(cli))
		r = rh_config_find_own(session->config, err);
	if (r == 0 && isolation)
		r = rh_isolation_parse(isolation, &session->config->plugin_isolation, err);
	if (r < 0 || !dir)
		return r;
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return rh_fail(err, RH_EINVAL, "option --plugins: there is no folder \"%s\"", dir);
	return session_add_plugin_dir(session->config, dir, err);
}

int rh_session_load_file(const struct rh_cli *cli, const char *file, const struct rh_manifest *manifest,
                         struct rh_session *session, struct rh_error *err)
{
	const char *word = rh_cli_option(cli, "log-level");
	enum rh_log_level level = RH_LOG_WARN;
	int r;

	/* The words were checked when the command line was parsed. */
	if (word)
		(void)rh_log_level_parse(word, &level);
	rh_log_setup(level, false);
	r = rh_session_configure(cli, file, session, err);
	if (r == 0)
		r = rh_host_new(session->config, &session->host, err);
	if (r == 0 && (session_is_of_cluster(cli) || cli->command == &rh_command_crds))
		rh_host_set_cluster(session->host);
	if (r == 0)
		r = manifest ? rh_host_load_for(session->host, manifest, err) : rh_host_load_all(session->host, err);
	if (r == 0)
		rh_host_set_retry(session->host, cli->command == &rh_command_controller);
	if (r == 0)
		r = rh_host_check_allow(session->host, err);
	if (r == 0)
		r = rh_plugin_settings_check(session->config, session->host, err);
	return r;
}

int rh_session_load(const struct rh_cli *cli, struct rh_session *session, struct rh_error *err)
{
	return rh_session_load_file(cli, rh_cli_option(cli, "config"), NULL, session, err);
}

/* A plugin that is missing without being disabled is a fault of the installation. */
static void session_warn(const struct rh_session *session)
{
	for (size_t i = 0; i < rh_host_plugin_count(session->host); i++) {
		struct rh_plugin_info info = {0};

		rh_host_plugin(session->host, i, &info);
		if (info.state == RH_PLUGIN_BROKEN || info.state == RH_PLUGIN_REFUSED || info.state == RH_PLUGIN_FAILED)
			rh_log(RH_LOG_WARN, NULL, "plugin \"%s\" is left out: %s", info.path, info.reason);
	}
}

int rh_session_open(const struct rh_cli *cli, struct rh_session *session, struct rh_error *err)
{
	return rh_session_open_for(cli, NULL, session, err);
}

int rh_session_open_for(const struct rh_cli *cli, const struct rh_manifest *manifest, struct rh_session *session,
                        struct rh_error *err)
{
	int r = rh_session_load_file(cli, rh_cli_option(cli, "config"), manifest, session, err);

	if (r == 0)
		session_warn(session);
	return r;
}

int rh_session_take_variables(struct rh_session *session, struct rh_error *err)
{
	static const char section[] = "plugin tensorflow", key[] = "cluster-domain";
	const char *domain = getenv("CUSTOM_CLUSTER_DOMAIN");

	if (!domain || !*domain || rh_config_setting(session->config, section, key))
		return 0;
	if (rh_config_set(session->config, section, key, domain, "$CUSTOM_CLUSTER_DOMAIN") < 0)
		return rh_fail_oom(err);
	return rh_plugin_settings_check(session->config, session->host, err);
}

void rh_session_close(struct rh_session *session)
{
	rh_host_free(session->host);
	rh_config_free(session->config);
	*session = (struct rh_session){NULL, NULL};
}
