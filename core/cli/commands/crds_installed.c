/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/crds_installed.h"

#include <string.h>

#include "base/mem.h"
#include "job/manifest.h"

#define INSTALLED_KIND "CustomResourceDefinition"
#define INSTALLED_PATH "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

static bool installed_has_version(const struct rh_json *definition, const char *version)
{
	return rh_json_find(rh_json_at(definition, "spec.versions"), "name", version);
}

/* @param installed of the same name; NULL: there is none */
static void installed_warn(const struct rh_json *definition, const struct rh_json *installed, struct rh_str *out)
{
	const struct rh_json *item = rh_json_first(rh_json_at(installed, "status.storedVersions"));

	for (; item; item = rh_json_next(item)) {
		const char *version = rh_json_string(item);

		if (version && !installed_has_version(definition, version))
			rh_str_appendf(out,
			               "warning: %s: the cluster may have objects that are stored as %s (status.storedVersions), "
			               "which no loaded plugin serves: the API server refuses a definition without it, so load "
			               "the plugin that has it, too\n",
			               rh_json_string_at(definition, "metadata.name"), version);
	}
}

static int installed_compare_file(const char *path, const struct rh_json *definitions, struct rh_str *out,
                                  struct rh_error *err)
{
	struct rh_manifest manifest = {0};
	int r = rh_manifest_read(&manifest, path, err);

	for (const struct rh_json *own = rh_json_first(definitions); own && r == 0; own = rh_json_next(own)) {
		const char *name = rh_json_string_at(own, "metadata.name");

		for (size_t i = 0; i < manifest.count; i++) {
			const struct rh_json *object = manifest.items[i].object;

			if (rh_text_equal(rh_json_string_at(object, "kind"), INSTALLED_KIND) &&
			    rh_text_equal(rh_json_string_at(object, "metadata.name"), name))
				installed_warn(own, object, out);
		}
	}
	rh_manifest_deinit(&manifest);
	return r;
}

/* @param[out] questions one for each definition. @return 0 or RH_ENOMEM */
static int installed_ask(const struct rh_json *definitions, struct rh_crds_question *questions)
{
	for (const struct rh_json *own = rh_json_first(definitions); own; own = rh_json_next(own), questions++) {
		questions->optional = true;
		questions->path = rh_asprintf(INSTALLED_PATH "%s", rh_json_string_at(own, "metadata.name"));
		if (!questions->path)
			return RH_ENOMEM;
	}
	return 0;
}

static int installed_compare_cluster(const struct rh_cli *cli, rh_crds_fetch_fn *fetch,
                                     const struct rh_json *definitions, struct rh_str *out, struct rh_error *err)
{
	size_t count = rh_json_size(definitions), i = 0;
	struct rh_crds_question *questions = rh_alloc_array(count + 1, sizeof(*questions));
	int r =
		questions && installed_ask(definitions, questions) == 0 ? fetch(cli, questions, count, err) : rh_fail_oom(err);

	for (const struct rh_json *own = rh_json_first(definitions); own && r == 0; own = rh_json_next(own))
		installed_warn(own, questions[i++].document, out);
	for (i = 0; questions && i < count; i++) {
		rh_json_free(questions[i].document);
		rh_free(questions[i].path);
	}
	rh_free(questions);
	return r;
}

int rh_crds_compare(const struct rh_cli *cli, rh_crds_fetch_fn *fetch, const struct rh_json *definitions,
                    struct rh_str *ret_warnings, struct rh_error *err)
{
	const char *source = rh_cli_option(cli, "installed");
	int r = 0;

	if (source && fetch && strcmp(source, "cluster") == 0)
		r = installed_compare_cluster(cli, fetch, definitions, ret_warnings, err);
	else if (source)
		r = installed_compare_file(source, definitions, ret_warnings, err);
	return r == 0 && ret_warnings->failed ? rh_fail_oom(err) : r;
}
