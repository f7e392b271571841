/* SPDX-License-Identifier: Apache-2.0 */
/* The CustomResourceDefinition of a row of rh_plugin.resources, which was checked when its plugin was loaded. */
#include "base/str.h"
#include "schema/crd.h"

static int crd_resource_names(const struct rh_json *resource, struct rh_json *spec)
{
	static const char *const texts[] = {"kind", "plural", "singular"};
	struct rh_json *names = rh_json_ensure_object(spec, "names");
	rh_auto_free char *list = rh_asprintf("%sList", rh_json_string_at(resource, "kind"));

	if (!names || !list || rh_json_set_string(names, "listKind", list) < 0)
		return RH_ENOMEM;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (rh_json_set_string(names, texts[i], rh_json_string_at(resource, texts[i])) < 0)
			return RH_ENOMEM;
	}
	if (rh_json_get(resource, "shortNames") &&
	    rh_json_set(names, "shortNames", rh_json_copy(rh_json_get(resource, "shortNames"))) < 0)
		return RH_ENOMEM;
	if (rh_json_set_string(spec, "group", rh_json_string_at(resource, "group")) < 0)
		return RH_ENOMEM;
	return rh_json_set_string(spec, "scope", rh_json_string_at(resource, "scope"));
}

/* apiVersion, kind and metadata are those of every object. */
static int crd_resource_schema(const struct rh_json *resource, struct rh_json *version)
{
	struct rh_json *outer = rh_json_ensure_object(version, "schema");
	struct rh_json *schema = outer ? rh_json_ensure_object(outer, "openAPIV3Schema") : NULL;

	if (!schema || rh_json_set_string(schema, "type", "object") < 0)
		return RH_ENOMEM;
	return rh_json_set(schema, "properties", rh_json_copy(rh_json_get(resource, "schema")));
}

static int crd_resource_version(const struct rh_json *resource, struct rh_json *spec)
{
	struct rh_json *versions = rh_json_ensure_array(spec, "versions");
	struct rh_json *version = rh_json_new_object();
	const struct rh_json *columns = rh_json_get(resource, "columns");
	struct rh_json *subresources;

	if (!versions || rh_json_append(versions, version) < 0)
		return RH_ENOMEM;
	if (rh_json_set_string(version, "name", rh_json_string_at(resource, "version")) < 0 ||
	    rh_json_set_bool(version, "served", true) < 0 || rh_json_set_bool(version, "storage", true) < 0 ||
	    (columns && rh_json_set(version, "additionalPrinterColumns", rh_json_copy(columns)) < 0))
		return RH_ENOMEM;
	if (rh_json_get(rh_json_get(resource, "schema"), "status")) {
		subresources = rh_json_ensure_object(version, "subresources");
		if (!subresources || !rh_json_ensure_object(subresources, "status"))
			return RH_ENOMEM;
	}
	return crd_resource_schema(resource, version);
}

int rh_crd_build_resource(const struct rh_json *resource, struct rh_json **ret_crd, struct rh_error *err)
{
	rh_auto(json) crd = rh_json_new_object();
	rh_auto_free char *name =
		rh_asprintf("%s.%s", rh_json_string_at(resource, "plural"), rh_json_string_at(resource, "group"));
	struct rh_json *metadata;
	struct rh_json *spec;

	if (!crd || !name || rh_json_set_string(crd, "apiVersion", "apiextensions.k8s.io/v1") < 0 ||
	    rh_json_set_string(crd, "kind", "CustomResourceDefinition") < 0)
		return rh_fail_oom(err);
	metadata = rh_json_ensure_object(crd, "metadata");
	spec = rh_json_ensure_object(crd, "spec");
	if (!metadata || !spec || rh_json_set_string(metadata, "name", name) < 0 ||
	    crd_resource_names(resource, spec) < 0 || crd_resource_version(resource, spec) < 0)
		return rh_fail_oom(err);
	*ret_crd = rh_take(crd);
	return 0;
}
