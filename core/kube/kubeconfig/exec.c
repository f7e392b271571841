/* SPDX-License-Identifier: Apache-2.0 */
/* The "exec" part of a user: a credential plugin (k8s.io/client-go/tools/clientcmd/validation.go). */
#include <string.h>

#include "base/os/file.h"
#include "base/str.h"
#include "kube/kubeconfig/parts.h"

#define EXEC_GROUP "client.authentication.k8s.io/"

static int exec_check_version(const char *at, const struct rh_json *exec, struct rh_error *err)
{
	const char *version = rh_json_string(rh_json_get(exec, "apiVersion"));
	const char *mode = rh_json_string(rh_json_get(exec, "interactiveMode"));

	if (!version || !rh_starts_with(version, EXEC_GROUP))
		return rh_fail(err, RH_EINVAL, "%s.exec.apiVersion: must be " EXEC_GROUP "v1 or " EXEC_GROUP "v1beta1", at);
	version += strlen(EXEC_GROUP);
	if (strcmp(version, "v1") != 0 && strcmp(version, "v1beta1") != 0)
		return rh_fail(err, RH_EINVAL,
		               "%s.exec.apiVersion: \"%s\" is not supported; update the plugin to " EXEC_GROUP "v1 or v1beta1",
		               at, version);
	if (!rh_json_get(exec, "interactiveMode") && strcmp(version, "v1beta1") == 0)
		return 0;
	if (!mode || (strcmp(mode, "Never") != 0 && strcmp(mode, "IfAvailable") != 0 && strcmp(mode, "Always") != 0))
		return rh_fail(err, RH_EINVAL, "%s.exec.interactiveMode: must be Never, IfAvailable or Always", at);
	return 0;
}

static int exec_check_args(const char *at, const struct rh_json *exec, struct rh_error *err)
{
	const struct rh_json *args = rh_json_get(exec, "args");
	const struct rh_json *env = rh_json_get(exec, "env");

	for (const struct rh_json *arg = rh_json_first(args); arg; arg = rh_json_next(arg)) {
		if (!rh_json_string(arg) || rh_json_key(arg))
			return rh_fail(err, RH_EINVAL, "%s.exec.args: must be a list of strings; put numbers in quotes", at);
	}
	for (const struct rh_json *item = rh_json_first(env); item; item = rh_json_next(item)) {
		const char *name = rh_json_string(rh_json_get(item, "name"));

		if (!name || !*name || strchr(name, '=') || !rh_json_string(rh_json_get(item, "value")))
			return rh_fail(err, RH_EINVAL, "%s.exec.env: must be a list of mappings with name and value, both strings",
			               at);
	}
	return 0;
}

/* A command with a slash is relative to its file, one without is looked up in $PATH. */
static int exec_place_command(const struct rh_kubeconfig_entry *entry, struct rh_json *exec, struct rh_error *err)
{
	const char *command = rh_json_string(rh_json_get(exec, "command"));
	rh_auto_free char *path = NULL;

	if (!command || !*command)
		return rh_fail(err, RH_EINVAL, "%s.exec.command: is not set; name the program that gives the credentials",
		               entry->at);
	if (!strchr(command, '/'))
		return 0;
	path = rh_path_join(entry->dir, command);
	if (!path || rh_json_set_string(exec, "command", path) < 0)
		return rh_fail_oom(err);
	return 0;
}

int rh_kubeconfig_read_exec(const struct rh_kubeconfig_entry *entry, const struct rh_json *exec,
                            struct rh_kubeconfig *config, struct rh_error *err)
{
	int r;

	if (rh_json_type(exec) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EINVAL, "%s.exec: %s must be a mapping", entry->at, rh_json_type_name(exec));
	config->exec = rh_json_copy(exec);
	if (!config->exec)
		return rh_fail_oom(err);
	r = exec_check_version(entry->at, exec, err);
	if (r == 0)
		r = exec_check_args(entry->at, exec, err);
	if (r == 0)
		r = exec_place_command(entry, config->exec, err);
	return r;
}
