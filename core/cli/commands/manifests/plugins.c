/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that come to the controller from images of their own. */
#include "cli/commands/manifests/manifests.h"

#include <string.h>

#include "job/values/image.h"
#include "job/values/names.h"

/* Folder of the controller's container where plugins of other images lie, and the volume that holds them. */
#define PLUGINS_FOLDER "/var/lib/roundhouse/plugins"
#define PLUGINS_VOLUME "plugins"
/* Names of init containers: "plugin-NAME". */
#define PLUGINS_PREFIX "plugin-"

/* One NAME=IMAGE. */
struct plugins_source {
	char *name; /* owned */
	const char *image;
};

static void plugins_source_deinit(struct plugins_source *source)
{
	rh_free(source->name);
}

static int plugins_parse(const char *value, struct plugins_source *ret_source, struct rh_error *err)
{
	const char *equals = strchr(value, '=');
	int r;

	if (!equals)
		return rh_fail(err, RH_EINVAL, "\"%s\" must be NAME=IMAGE, as in dask=registry.example/dask-plugin:1.0", value);
	ret_source->image = equals + 1;
	ret_source->name = rh_strndup(value, (size_t)(equals - value));
	if (!ret_source->name)
		return rh_fail_oom(err);
	if (!rh_name_is_label(ret_source->name) || strlen(ret_source->name) > RH_LABEL_MAX - strlen(PLUGINS_PREFIX))
		return rh_fail(err, RH_EINVAL, "\"%s\" is not the name of a plugin: lower-case letters, digits and dashes",
		               ret_source->name);
	r = rh_image_check(ret_source->image, err);
	return r < 0 ? rh_wrap(err, r, "%s", ret_source->name) : 0;
}

static bool plugins_is_ready(const struct rh_host *host, const char *name)
{
	struct rh_plugin_info info = {0};
	size_t i;

	for (i = 0; i < rh_host_plugin_count(host); i++) {
		rh_host_plugin(host, i, &info);
		if (info.state == RH_PLUGIN_READY && strcmp(info.name, name) == 0)
			return true;
	}
	return false;
}

/* Whether an earlier --plugin-image names the plugin, too. */
static bool plugins_is_repeated(const struct rh_cli *cli, size_t end, const char *name)
{
	size_t length = strlen(name), cursor = 0;
	const char *value;

	while ((value = rh_cli_each(cli, "plugin-image", &cursor)) && cursor < end) {
		if (strncmp(value, name, length) == 0 && value[length] == '=')
			return true;
	}
	return false;
}

static int plugins_check(const struct rh_cli *cli, const struct rh_host *host, const char *value, size_t cursor,
                         struct rh_error *err)
{
	__attribute__((cleanup(plugins_source_deinit))) struct plugins_source source = {0};
	int r = plugins_parse(value, &source, err);

	if (r < 0)
		return r;
	if (plugins_is_repeated(cli, cursor, source.name))
		return rh_fail(err, RH_EINVAL, "plugin \"%s\" has two images; remove one of them", source.name);
	if (!plugins_is_ready(host, source.name))
		return rh_fail(err, RH_EINVAL,
		               "plugin \"%s\" is not ready here, and its definitions and rights have to be printed; name the "
		               "folder of its file with --plugins DIR",
		               source.name);
	return 0;
}

int rh_manifests_check_plugin_images(const struct rh_cli *cli, const struct rh_host *host, struct rh_error *err)
{
	size_t cursor = 0;
	const char *value;

	while ((value = rh_cli_each(cli, "plugin-image", &cursor))) {
		int r = plugins_check(cli, host, value, cursor, err);

		if (r < 0)
			return rh_wrap(err, r, "--plugin-image");
	}
	return 0;
}

int rh_manifests_append(struct rh_json *object, const char *key, const char *item)
{
	struct rh_json *list = rh_json_ensure_array(object, key);
	struct rh_json *value = NULL;

	if (!list || rh_json_parse(item, strlen(item), &value, NULL) < 0)
		return RH_ENOMEM;
	return rh_json_append(list, value);
}

/* The files belong to the account that loads them, and nobody else may write them: the loader checks both. */
static int plugins_add_copy(struct rh_json *pod_spec, const struct plugins_source *source)
{
	static const char container[] =
		"{\"name\":\"\",\"image\":\"\",\"imagePullPolicy\":\"IfNotPresent\","
		"\"command\":[\"cp\",\"-R\",\"/plugins/.\",\"" PLUGINS_FOLDER "\"],"
		"\"resources\":{\"requests\":{\"cpu\":\"10m\",\"memory\":\"16Mi\"},\"limits\":{\"cpu\":\"1\",\"memory\":"
		"\"64Mi\"}},"
		"\"securityContext\":{\"allowPrivilegeEscalation\":false,\"readOnlyRootFilesystem\":true,"
		"\"capabilities\":{\"drop\":[\"ALL\"]}},"
		"\"volumeMounts\":[{\"name\":\"" PLUGINS_VOLUME "\",\"mountPath\":\"" PLUGINS_FOLDER "\"}]}";
	rh_auto_free char *name = rh_asprintf(PLUGINS_PREFIX "%s", source->name);
	struct rh_json *list = rh_json_ensure_array(pod_spec, "initContainers");
	struct rh_json *copy;

	if (!name || !list || rh_manifests_append(pod_spec, "initContainers", container) < 0)
		return RH_ENOMEM;
	copy = rh_json_item(list, rh_json_size(list) - 1);
	if (rh_json_set_string(copy, "name", name) < 0)
		return RH_ENOMEM;
	return rh_json_set_string(copy, "image", source->image);
}

static int plugins_add_copies(const struct rh_cli *cli, struct rh_json *pod_spec)
{
	size_t cursor = 0;
	const char *value;
	int r = 0;

	while (r == 0 && (value = rh_cli_each(cli, "plugin-image", &cursor))) {
		__attribute__((cleanup(plugins_source_deinit))) struct plugins_source source = {0};

		r = plugins_parse(value, &source, NULL);
		if (r == 0)
			r = plugins_add_copy(pod_spec, &source);
	}
	return r;
}

int rh_manifests_add_plugin_images(const struct rh_cli *cli, struct rh_json *pod_spec)
{
	static const char volume[] = "{\"name\":\"" PLUGINS_VOLUME "\",\"emptyDir\":{\"sizeLimit\":\"256Mi\"}}";
	static const char mount[] =
		"{\"name\":\"" PLUGINS_VOLUME "\",\"mountPath\":\"" PLUGINS_FOLDER "\",\"readOnly\":true}";
	struct rh_json *controller = rh_json_at(pod_spec, "containers[0]");

	if (!rh_cli_option(cli, "plugin-image"))
		return 0;
	if (plugins_add_copies(cli, pod_spec) < 0 || rh_manifests_append(pod_spec, "volumes", volume) < 0 ||
	    rh_manifests_append(controller, "volumeMounts", mount) < 0)
		return RH_ENOMEM;
	return rh_json_append(rh_json_get(controller, "args"), rh_json_new_string("--plugins=" PLUGINS_FOLDER));
}
