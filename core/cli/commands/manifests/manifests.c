/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/manifests/manifests.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/yaml.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/version.h"
#include "config/first_fault.h"
#include "config/gang.h"
#include "job/values/image.h"
#include "job/values/names.h"
#include "schema/crd.h"

/* Marks what is for this program, and is taken out of an object. */
#define MANIFESTS_OURS "x-roundhouse"

/* The namespace that the objects bring along. One of another name is somebody's: to apply its Namespace would label it,
 * and to delete the objects again would delete all that is in it. */
#define MANIFESTS_OWN_NAMESPACE "roundhouse"

/* The ConfigMap with the controller's configuration, and how large that may be: etcd takes no object of 1.5 MiB. */
#define MANIFESTS_CONFIG "roundhouse-config"
#define MANIFESTS_CONFIG_MAX (512u * 1024)

/* What the command line asks for. */
struct manifests_wish {
	const struct rh_cli *cli;
	const struct rh_host *host;
	const char *namespace_;
	const char *image;
	const char *lease;
	const char *plugin; /* name of the plugin whose objects are printed alone; NULL: those of a controller are */
	const char *gang;   /* NULL: none */
	struct rh_gang parsed_gang;
	bool kueue;
	bool evicts;
	const char *first_fault;     /* NULL: what the controller's configuration says */
	enum rh_fault_source source; /* which of the two counts */
	char *config;                /* text of the controller's configuration; owned; NULL: none */
	bool namespaced;
	bool monitor;
};

/* @return the text with what stands for @p name put in; owned by the caller; NULL when memory is out */
static char *manifests_replace(const char *text, const char *name, const char *value)
{
	rh_auto_str out = {0};

	for (const char *at; (at = strstr(text, name)); text = at + strlen(name)) {
		rh_str_append_bytes(&out, text, (size_t)(at - text));
		rh_str_append(&out, value);
	}
	rh_str_append(&out, text);
	return rh_str_take(&out);
}

/* The values were checked: none of them can be anything but text in YAML. @return owned by the caller, or NULL */
static char *manifests_fill(const struct manifests_wish *wish)
{
	const char *const values[][2] = {{"@NAMESPACE@", wish->namespace_},
	                                 {"@IMAGE@", wish->image},
	                                 {"@LEASE@", wish->lease},
	                                 {"@PLUGIN@", wish->plugin ? wish->plugin : ""}};
	size_t length;
	char *text = rh_strdup(rh_manifests_text(&length));

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && text; i++) {
		rh_auto_free char *before = text;

		text = manifests_replace(before, values[i][0], values[i][1]);
	}
	return text;
}

static bool manifests_is_selected(const struct manifests_wish *wish, const struct rh_json *object)
{
	const char *when = rh_json_string_at(object, MANIFESTS_OURS ".when");
	const char *group = rh_json_string_at(object, MANIFESTS_OURS ".group");

	if (group) {
		if (!rh_manifests_has_group(wish->host, group))
			return false;
	} else if ((rh_json_at(object, MANIFESTS_OURS ".plugin") != NULL) != (wish->plugin != NULL)) {
		return false;
	}
	if (!when)
		return true;
	if (strcmp(when, "monitor") == 0)
		return wish->monitor;
	if (strcmp(when, "namespaced") == 0)
		return wish->namespaced;
	if (strcmp(when, "namespace") == 0 && strcmp(wish->namespace_, MANIFESTS_OWN_NAMESPACE) != 0)
		return false;
	return !wish->namespaced; /* "cluster" and "namespace" */
}

static int manifests_set_rules(const struct manifests_wish *wish, struct rh_json *object, struct rh_error *err)
{
	const char *which = rh_json_string_at(object, MANIFESTS_OURS ".rules");
	const struct rh_manifests_uses uses = {.gang = &wish->parsed_gang,
	                                       .logs = wish->source == RH_FAULT_LOGS,
	                                       .kueue = wish->kueue,
	                                       .evicts = wish->evicts};
	struct rh_json *rules = NULL;
	int r;

	if (!which)
		return 0;
	if (strcmp(which, "work") == 0)
		r = rh_manifests_work_rules(wish->host, &uses, &rules, err);
	else if (strcmp(which, "plugin") == 0)
		r = rh_manifests_plugin_rules(wish->host, &rules, err);
	else
		r = rh_manifests_user_rules(wish->host, strcmp(which, "edit") == 0, &rules, err);
	if (r < 0)
		return r;
	return rh_json_set(object, "rules", rules) < 0 ? rh_fail_oom(err) : 0;
}

static int manifests_add_argument(struct rh_json *args, const char *name, const char *value)
{
	rh_auto_free char *text = rh_asprintf("--%s=%s", name, value);

	return rh_json_append(args, rh_json_new_string(text));
}

/* The pod's own namespace, whatever tool moves the objects to another one. */
static int manifests_set_scope(struct rh_json *container)
{
	static const char env[] = "{\"name\":\"KUBEFLOW_NAMESPACE\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":"
							  "\"metadata.namespace\"}}}";

	return rh_manifests_append(container, "env", env);
}

/* Where the program looks for its configuration. */
static int manifests_set_config(struct rh_json *pod_spec, struct rh_json *container)
{
	static const char volume[] = "{\"name\":\"config\",\"configMap\":{\"name\":\"" MANIFESTS_CONFIG "\"}}";
	static const char mount[] = "{\"name\":\"config\",\"mountPath\":\"/etc/roundhouse\",\"readOnly\":true}";

	if (rh_manifests_append(pod_spec, "volumes", volume) < 0)
		return RH_ENOMEM;
	return rh_manifests_append(container, "volumeMounts", mount);
}

static int manifests_add_config(const struct manifests_wish *wish, struct rh_json *items, struct rh_error *err)
{
	static const char head[] =
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" MANIFESTS_CONFIG
		"\",\"namespace\":\"\",\"labels\":{\"app.kubernetes.io/name\":\"roundhouse\"}}}";
	rh_auto(json) map = NULL;
	int r = rh_json_parse(head, strlen(head), &map, err);
	struct rh_json *data = r == 0 ? rh_json_ensure_object(map, "data") : NULL;

	if (!data || rh_json_set_string(rh_json_get(map, "metadata"), "namespace", wish->namespace_) < 0 ||
	    rh_json_set_string(data, "roundhouse.ini", wish->config) < 0 || rh_json_append(items, rh_take(map)) < 0)
		return rh_fail_oom(err);
	return 0;
}

static int manifests_set_args(const struct manifests_wish *wish, struct rh_json *object)
{
	struct rh_json *container = rh_json_at(object, "spec.template.spec.containers[0]");
	struct rh_json *args = rh_json_get(container, "args");

	if (!args)
		return 0;
	if (rh_json_append(args, rh_json_new_string("controller")) < 0 ||
	    manifests_add_argument(args, "log-format", "json") < 0)
		return RH_ENOMEM;
	if (wish->namespaced && manifests_set_scope(container) < 0)
		return RH_ENOMEM;
	if (wish->config && manifests_set_config(rh_json_at(object, "spec.template.spec"), container) < 0)
		return RH_ENOMEM;
	if (rh_manifests_add_plugin_images(wish->cli, rh_json_at(object, "spec.template.spec")) < 0)
		return RH_ENOMEM;
	if (wish->kueue && manifests_add_argument(args, "kueue", "true") < 0)
		return RH_ENOMEM;
	if (wish->gang && manifests_add_argument(args, "gang-scheduler-name", wish->gang) < 0)
		return RH_ENOMEM;
	return wish->first_fault ? manifests_add_argument(args, RH_CONFIG_FIRST_FAULT, wish->first_fault) : 0;
}

static int manifests_add_object(const struct manifests_wish *wish, const struct rh_json *object, struct rh_json *items,
                                struct rh_error *err)
{
	rh_auto(json) copy = NULL;
	int r;

	if (!manifests_is_selected(wish, object))
		return 0;
	copy = rh_json_copy(object);
	r = copy ? manifests_set_rules(wish, copy, err) : rh_fail_oom(err);
	if (r < 0)
		return r;
	rh_json_remove(copy, MANIFESTS_OURS);
	if (manifests_set_args(wish, copy) < 0 || rh_json_append(items, rh_take(copy)) < 0)
		return rh_fail_oom(err);
	return 0;
}

static int manifests_add_resources(const struct manifests_wish *wish, struct rh_json *items, struct rh_error *err)
{
	const struct rh_json *resource;
	int r = 0;

	for (size_t i = 0; r == 0 && (resource = rh_host_resource(wish->host, i)); i++) {
		struct rh_json *crd = NULL;

		r = rh_crd_build_resource(resource, &crd, err);
		if (r == 0 && rh_json_append(items, crd) < 0)
			r = rh_fail_oom(err);
	}
	return r;
}

/* Definitions come before what uses them, behind the Namespace. */
static int manifests_add_crds(const struct manifests_wish *wish, struct rh_json *items, struct rh_error *err)
{
	int r = 0;

	for (size_t i = 0; i < rh_host_plugin_count(wish->host) && r == 0; i++) {
		struct rh_plugin_info info;

		rh_host_plugin(wish->host, i, &info);
		for (size_t k = 0; info.kinds[k] && r == 0; k++) {
			struct rh_json *crd = NULL;
			struct rh_versions versions;

			rh_host_versions(wish->host, info.kinds[k], &versions);
			if (versions.first != info.kinds[k])
				continue;
			r = rh_crd_build_versions(&versions, NULL, &crd, err);
			if (r == 0 && rh_json_append(items, crd) < 0)
				r = rh_fail_oom(err);
		}
	}
	return r < 0 ? r : manifests_add_resources(wish, items, err);
}

static int manifests_collect(const struct manifests_wish *wish, struct rh_json *items, struct rh_error *err)
{
	rh_auto_free char *text = manifests_fill(wish);
	rh_auto(json) documents = NULL;
	int r = text ? rh_yaml_parse(text, strlen(text), &documents, err) : rh_fail_oom(err);

	if (r == 0 && !rh_cli_option(wish->cli, "without-crds"))
		r = manifests_add_crds(wish, items, err);
	for (const struct rh_json *object = rh_json_first(documents); object && r == 0; object = rh_json_next(object))
		r = manifests_add_object(wish, object, items, err);
	return r == 0 && wish->config ? manifests_add_config(wish, items, err) : r;
}

static int manifests_check(struct manifests_wish *wish, struct rh_error *err)
{
	int r;

	if (!rh_name_is_label(wish->namespace_))
		return rh_fail(
			err, RH_EINVAL,
			"--namespace: \"%s\" is not the name of a namespace: use at most 63 small letters, digits and dashes",
			wish->namespace_);
	r = rh_image_check(wish->image, err);
	if (r < 0)
		return rh_wrap(err, r, "--image");
	if (wish->namespaced && rh_cli_option(wish->cli, "cluster-scope"))
		return rh_fail(err, RH_EINVAL, "--cluster-scope and --namespaced exclude each other");
	if (wish->namespaced && wish->kueue)
		return rh_fail(err, RH_EINVAL,
		               "--namespaced and --kueue exclude each other: flavors and priorities are no "
		               "objects of a namespace");
	r = wish->gang ? rh_gang_parse_flag(wish->gang, &wish->parsed_gang, err) : 0;
	return r < 0 ? rh_wrap(err, r, "--gang-scheduler-name") : 0;
}

/* What the controller would refuse there is refused here. */
static int manifests_read_config(struct manifests_wish *wish, struct rh_error *err)
{
	const char *path = rh_cli_option(wish->cli, "controller-config");
	rh_auto(config) config = path ? rh_config_new() : NULL;
	size_t length;
	int r;

	wish->source = rh_fault_source_of(wish->first_fault);
	if (!path)
		return 0;
	if (!config)
		return rh_fail_oom(err);
	r = rh_file_read(path, MANIFESTS_CONFIG_MAX, &wish->config, &length, err);
	if (r == 0)
		r = rh_config_parse(config, path, wish->config, length, err);
	if (r == 0 && !wish->first_fault)
		wish->source = rh_config_fault_source(config);
	return r < 0 ? rh_wrap(err, r, "--controller-config") : 0;
}

/* What a plugin adds to a controller that is there already. Its file is loaded into a host of its own. */
static int manifests_collect_plugin(struct manifests_wish *wish, const char *path, struct rh_json *items,
                                    struct rh_error *err)
{
	rh_auto_session session = {0};
	struct rh_plugin_info info = {0};
	int r = rh_session_configure(wish->cli, rh_cli_option(wish->cli, "config"), &session, err);

	if (r == 0)
		r = rh_host_new(session.config, &session.host, err);
	if (r == 0 && access(path, F_OK) != 0)
		r = rh_fail(err, RH_ENOENT, "%s", strerror(errno));
	if (r == 0)
		r = rh_host_try_file(session.host, path, err);
	if (r < 0)
		return rh_wrap(err, r, "--plugin: \"%s\"", path);
	rh_host_plugin(session.host, 0, &info);
	wish->host = session.host;
	wish->plugin = info.name;
	return manifests_collect(wish, items, err);
}

/* Options about a controller say nothing of a plugin. */
static int manifests_check_plugin(const struct rh_cli *cli, struct rh_error *err)
{
	static const char *const others[] = {"image",        "gang-scheduler-name", "kueue",
	                                     "plugin-image", "service-monitor",     "controller-config",
	                                     "plugins",      RH_CONFIG_FIRST_FAULT, "evict-stalled"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (rh_cli_option(cli, others[i]))
			return rh_fail(err, RH_EINVAL,
			               "--plugin prints what a plugin adds to a controller that is installed; leave out --%s",
			               others[i]);
	}
	return 0;
}

static int manifests_collect_plugins(struct manifests_wish *wish, struct rh_json *items, struct rh_error *err)
{
	size_t cursor = 0;
	const char *path;
	int r = manifests_check_plugin(wish->cli, err);

	while (r == 0 && (path = rh_cli_each(wish->cli, "plugin", &cursor)))
		r = manifests_collect_plugin(wish, path, items, err);
	return r;
}

static int manifests_collect_controller(struct manifests_wish *wish, struct rh_json *items, struct rh_error *err)
{
	rh_auto_session session = {0};
	int r = manifests_read_config(wish, err);

	if (r == 0 && wish->evicts && wish->source != RH_FAULT_LOGS)
		r = rh_fail(err, RH_EINVAL,
		            "--evict-stalled: stalled ranks are found in logs of pods; add --" RH_CONFIG_FIRST_FAULT " logs");
	if (r == 0)
		r = rh_session_open(wish->cli, &session, err);
	wish->host = session.host;
	if (r == 0)
		r = rh_manifests_check_plugin_images(wish->cli, session.host, err);
	return r == 0 ? manifests_collect(wish, items, err) : r;
}

static const char *manifests_value(const struct rh_cli *cli, const char *name, const char *fallback)
{
	const char *value = rh_cli_option(cli, name);

	return value ? value : fallback;
}

static int manifests_run(const struct rh_cli *cli)
{
	rh_auto(json) items = rh_json_new_array();
	struct rh_error err = {0};
	struct manifests_wish wish = {
		.cli = cli,
		.namespace_ = manifests_value(cli, "namespace", MANIFESTS_OWN_NAMESPACE),
		.image = manifests_value(cli, "image", "localhost/roundhouse:" RH_VERSION),
		.lease = "1ca428e5.training-operator.kubeflow.org",
		.gang = rh_cli_option(cli, "gang-scheduler-name"),
		.first_fault = rh_cli_option(cli, RH_CONFIG_FIRST_FAULT),
		.kueue = rh_cli_option(cli, "kueue") != NULL,
		.evicts = rh_cli_option(cli, "evict-stalled") != NULL,
		.namespaced = rh_cli_option(cli, "namespaced") != NULL,
		.monitor = rh_cli_option(cli, "service-monitor") != NULL,
	};
	int r = items ? manifests_check(&wish, &err) : rh_fail_oom(&err);

	if (r == 0 && rh_cli_option(cli, "plugin"))
		r = manifests_collect_plugins(&wish, items, &err);
	else if (r == 0)
		r = manifests_collect_controller(&wish, items, &err);
	if (r == 0)
		r = rh_cli_put_objects_out(rh_take(items), rh_cli_wants_json(cli), &err);
	rh_free(wish.config);
	return rh_cli_end(cli, r, &err);
}

static const struct rh_option manifests_options[] = {
	{"namespace", 'n', "NAME", NULL,
     "where the controller runs (default roundhouse, which is among the objects); another has to exist"},
	{"cluster-scope", 0, NULL, NULL, "serve jobs of all namespaces (default)"},
	{"namespaced", 0, NULL, NULL, "serve jobs of that namespace alone, with rights there alone; it has to exist"},
	{"image", 0, "IMAGE", NULL, "image of the controller (default localhost/roundhouse:VERSION)"},
	{"gang-scheduler-name", 0, "NAME", NULL, "as for `roundhouse controller`, with the right to its PodGroups"},
	{RH_CONFIG_FIRST_FAULT, 0, "SOURCE", RH_CONFIG_FIRST_FAULT_WORDS,
     "as for `roundhouse controller`; logs: with the right to read logs of pods"},
	{"evict-stalled", 0, NULL, NULL,
     "with the right to evict pods, for jobs with roundhouse.dev/stalls: evict; needs --first-fault logs"},
	{"kueue", 0, NULL, NULL, "queue labelled jobs by Kueue, with the right to its Workloads (not with --namespaced)"},
	{"plugin-image", 0, "NAME=IMAGE", NULL,
     "take plugin NAME from folder /plugins of IMAGE; needs a copy here (--plugins DIR); may be repeated"},
	{"plugin", 0, "FILE", NULL,
     "print what plugin FILE adds to a controller that is installed: definitions and rights; may be repeated"},
	{"controller-config", 0, "FILE", NULL, "add a ConfigMap with FILE as the controller's roundhouse.ini"},
	{"service-monitor", 0, NULL, NULL, "add a ServiceMonitor for the Prometheus operator"},
	{"without-crds", 0, NULL, NULL, "leave out the definitions of the kinds (`roundhouse crds`)"},
	{"output", 'o', "FORMAT", "yaml|json", "how to print the objects (default: yaml)"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_manifests = {
	.name = "manifests",
	.synopsis = "",
	.summary = "print the objects that install the controller in a cluster",
	.details =
		"Prints what `kubectl apply --server-side -f -` takes: the definitions of the kinds, a Deployment, its "
		"account with\n"
		"the rights that the plugins' kinds need and no other, a Service, a PodDisruptionBudget, a NetworkPolicy "
		"and roles for\n"
		"users.\n\n"
		"A plugin that is not in the controller's image comes with --plugin-image: an init container copies the files "
		"of\n"
		"/plugins of that image with the image's own `cp` into a volume, which the controller mounts read-only.\n\n"
		"With --plugin FILE only what that plugin adds is printed, for a controller that is installed: the "
		"definitions of its\n"
		"kinds, a role with the rights that the controller needs for them, bound to its account, and roles for "
		"users.\n\n"
		"Exit status: 0 printed, 1 it could not be done, 2 wrong arguments or configuration.",
	.options = manifests_options,
	.run = manifests_run,
};
