/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "job/values/quantity.h"

static int fields_give(const char *text, char **ret_text, struct rh_error *err)
{
	char *copy = rh_strdup(text ? text : "");

	if (!copy)
		return rh_fail_oom(err);
	*ret_text = copy;
	return 0;
}

static int fields_compare_keys(const void *a, const void *b)
{
	const struct rh_json *const *x = a;
	const struct rh_json *const *y = b;

	return strcmp(rh_json_key(*x), rh_json_key(*y));
}

/* All members, as fieldpath.FormatMap writes them: key="value" lines, sorted. */
static int fields_format_map(const struct rh_json *map, char **ret_text, struct rh_error *err)
{
	rh_auto_free const struct rh_json **members = rh_alloc_array(rh_json_size(map), sizeof(*members));
	rh_auto_str text = {0};
	size_t count = 0;

	if (!members)
		return rh_fail_oom(err);
	for (const struct rh_json *member = rh_json_first(map); member; member = rh_json_next(member))
		members[count++] = member;
	qsort(members, count, sizeof(*members), fields_compare_keys);
	for (size_t i = 0; i < count; i++) {
		const char *value = rh_json_string(members[i]);

		rh_str_appendf(&text, "%s%s=", i > 0 ? "\n" : "", rh_json_key(members[i]));
		rh_json_quote(value ? value : "", &text);
	}
	return text.failed ? rh_fail_oom(err) : fields_give(rh_str_text(&text), ret_text, err);
}

/* `path` is metadata.MAP or metadata.MAP['KEY']. */
static int fields_map(const struct rh_pod_context *context, const char *path, char **ret_text, struct rh_error *err)
{
	const char *map_name = path + strlen("metadata.");
	size_t length = strcspn(map_name, "[");
	const char *subscript = map_name + length;
	rh_auto_free char *name = rh_strndup(map_name, length);
	rh_auto_free char *key = NULL;
	const struct rh_json *map;

	if (!name)
		return rh_fail_oom(err);
	map = rh_json_get(rh_json_get(context->input->pod, "metadata"), name);
	if (*subscript == '\0')
		return fields_format_map(map, ret_text, err);
	length = strlen(subscript);
	if (length < 5 || !rh_starts_with(subscript, "['") || strcmp(subscript + length - 2, "']") != 0)
		return rh_fail(err, RH_EINVAL, "fieldPath \"%s\": write a key as metadata.labels['KEY']", path);
	key = rh_strndup(subscript + 2, length - 4);
	if (!key)
		return rh_fail_oom(err);
	return fields_give(rh_json_string(rh_json_get(map, key)), ret_text, err);
}

static const char *fields_node(const struct rh_pod_context *context, char *buffer, size_t size)
{
	const char *node = rh_json_string(rh_json_get(context->spec, "nodeName"));

	if (node && *node)
		return node;
	if (gethostname(buffer, size) < 0)
		return "localhost";
	buffer[size - 1] = '\0';
	return buffer;
}

int rh_pod_field(const struct rh_pod_context *context, const char *path, char **ret_text, struct rh_error *err)
{
	const char *account = rh_json_string(rh_json_get(context->spec, "serviceAccountName"));
	char host[256];
	const struct {
		const char *path;
		const char *value;
	} plain[] = {
		{"metadata.name", context->name},
		{"metadata.namespace", context->namespace_},
		{"metadata.uid", context->uid},
		{"spec.nodeName", fields_node(context, host, sizeof(host))},
		{"spec.serviceAccountName", account && *account ? account : "default"},
		{"status.hostIP", RH_RUNTIME_SPEC_HOST_IP},
		{"status.hostIPs", RH_RUNTIME_SPEC_HOST_IP},
		{"status.podIP", context->input->pod_ip},
		{"status.podIPs", context->input->pod_ip},
	};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (strcmp(path, plain[i].path) == 0)
			return fields_give(plain[i].value, ret_text, err);
	}
	if (rh_starts_with(path, "metadata.labels") || rh_starts_with(path, "metadata.annotations"))
		return fields_map(context, path, ret_text, err);
	return rh_fail(err, RH_EINVAL,
	               "fieldPath \"%s\" is not supported; use a field such as metadata.name or status.podIP", path);
}

int rh_pod_quantity(const struct rh_json *container, const char *list, const char *resource, int64_t *ret_milli,
                    struct rh_error *err)
{
	const struct rh_json *value = rh_json_get(rh_json_get(rh_json_get(container, "resources"), list), resource);
	const char *name = rh_json_string(rh_json_get(container, "name"));
	int r;

	if (rh_json_type(value) == RH_JSON_ABSENT || rh_json_type(value) == RH_JSON_NULL)
		return 0;
	r = rh_quantity_from_json(value, ret_milli, err);
	if (r < 0)
		return rh_wrap(err, r, "container \"%s\": resources.%s[\"%s\"]", name ? name : "", list, resource);
	return 1;
}

static int64_t fields_thousand_times(int64_t value)
{
	return value > INT64_MAX / 1000 ? INT64_MAX : value * 1000;
}

/* What the machine has, in thousandths; -1: no such resource. */
static int64_t fields_capacity(const struct rh_pod_context *context, const char *resource)
{
	struct statvfs st;

	if (strcmp(resource, "cpu") == 0)
		return fields_thousand_times(sysconf(_SC_NPROCESSORS_ONLN));
	if (strcmp(resource, "memory") == 0)
		return fields_thousand_times((int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
	if (strcmp(resource, "ephemeral-storage") == 0)
		return statvfs(context->input->pod_dir, &st) < 0
		           ? 0
		           : fields_thousand_times((int64_t)st.f_bavail * (int64_t)st.f_frsize);
	return rh_starts_with(resource, "hugepages-") ? 0 : -1;
}

static const struct rh_json *fields_container(const struct rh_pod_context *context, const char *name)
{
	static const char *const lists[] = {"containers", "initContainers"};

	for (int l = 0; l < 2; l++) {
		const struct rh_json *list = rh_json_get(context->spec, lists[l]);

		for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
			if (rh_text_equal(rh_json_string(rh_json_get(item, "name")), name))
				return item;
		}
	}
	return NULL;
}

/* The amount that "limits.cpu" means for a container, in thousandths. */
static int fields_amount(const struct rh_pod_context *context, const struct rh_json *container, const char *what,
                         int64_t *ret_milli, struct rh_error *err)
{
	bool limits = rh_starts_with(what, "limits.");
	const char *resource = what + strlen(limits ? "limits." : "requests.");
	int64_t capacity;
	int r = 0;

	if (!limits && !rh_starts_with(what, "requests."))
		return rh_fail(err, RH_EINVAL, "resource \"%s\": write limits.cpu, requests.memory or the like", what);
	capacity = fields_capacity(context, resource);
	if (capacity < 0)
		return rh_fail(err, RH_EINVAL, "resource \"%s\" is not supported; use one such as limits.cpu", what);
	if (!limits)
		r = rh_pod_quantity(container, "requests", resource, ret_milli, err);
	if (r == 0)
		r = rh_pod_quantity(container, "limits", resource, ret_milli, err);
	if (r == 0)
		*ret_milli = limits ? capacity : 0;
	return r < 0 ? r : 0;
}

static int fields_divisor(const struct rh_json *reference, int64_t *ret_milli, struct rh_error *err)
{
	const struct rh_json *divisor = rh_json_get(reference, "divisor");
	int r;

	*ret_milli = 1000;
	if (rh_json_type(divisor) == RH_JSON_ABSENT || rh_json_type(divisor) == RH_JSON_NULL)
		return 0;
	r = rh_quantity_from_json(divisor, ret_milli, err);
	if (r < 0)
		return rh_wrap(err, r, "divisor");
	if (*ret_milli < 0)
		return rh_fail(err, RH_EINVAL, "divisor must not be negative");
	if (*ret_milli == 0)
		*ret_milli = 1000;
	return 0;
}

int rh_pod_resource(const struct rh_pod_context *context, const struct rh_json *container,
                    const struct rh_json *reference, char **ret_text, struct rh_error *err)
{
	const char *name = rh_json_string(rh_json_get(reference, "containerName"));
	const char *what = rh_json_string(rh_json_get(reference, "resource"));
	int64_t amount = 0;
	int64_t divisor;
	int r;

	if (!what)
		return rh_fail(err, RH_EINVAL, "resourceFieldRef has no resource");
	if (name && *name)
		container = fields_container(context, name);
	if (!container)
		return rh_fail(err, RH_EINVAL, "resourceFieldRef: there is no container \"%s\"", name ? name : "");
	r = fields_amount(context, container, what, &amount, err);
	if (r == 0)
		r = fields_divisor(reference, &divisor, err);
	if (r < 0)
		return rh_wrap(err, r, "resourceFieldRef");
	*ret_text = rh_asprintf("%" PRId64, amount / divisor + (amount % divisor > 0 ? 1 : 0));
	return *ret_text ? 0 : rh_fail_oom(err);
}
