/* SPDX-License-Identifier: Apache-2.0 */
#include "config/fabric.h"

#include <string.h>

#include "base/str.h"
#include "job/values/image.h"
#include "job/values/names.h"
#include "job/values/quantity.h"

/* White space and commas part the items of a list. */
#define FABRIC_SEPARATORS ", \t"

int rh_fabric_for_each(const char *list, rh_fabric_item_fn *fn, void *arg)
{
	int r = 0;

	while (list && r == 0 && *(list += strspn(list, FABRIC_SEPARATORS))) {
		size_t length = strcspn(list, FABRIC_SEPARATORS);
		struct rh_fabric_item item = {.value = ""};
		char *equals;

		rh_copy(item.name, length < sizeof(item.name) ? length + 1 : sizeof(item.name), list);
		equals = strchr(item.name, '=');
		if (equals) {
			*equals = '\0';
			item.value = equals + 1;
		}
		r = fn(arg, &item);
		list += length;
	}
	return r;
}

bool rh_fabric_is_section(const char *section)
{
	return strcmp(section, RH_FABRIC_SECTION) == 0 ||
	       (rh_starts_with(section, RH_FABRIC_SECTION " ") && section[strlen(RH_FABRIC_SECTION " ")]);
}

/* What is being checked. */
struct fabric_check {
	const char *key;
	struct rh_error *err;
};

static int fabric_check_backend(void *arg, const struct rh_fabric_item *item)
{
	const struct fabric_check *check = arg;

	if (rh_name_is_backend(item->name) && !*item->value)
		return 0;
	return rh_fail(check->err, RH_EINVAL, "%s: \"%s\" is not a backend; there are " RH_BACKENDS, check->key,
	               item->name);
}

static int fabric_check_pair(void *arg, const struct rh_fabric_item *item)
{
	const struct fabric_check *check = arg;

	if (*item->name && *item->value)
		return 0;
	return rh_fail(check->err, RH_EINVAL, "%s: \"%s\" is not a pair; write NAME=VALUE, and commas between them",
	               check->key, item->name);
}

static int fabric_check_resource(void *arg, const struct rh_fabric_item *item)
{
	const struct fabric_check *check = arg;
	int64_t milli;
	int r = fabric_check_pair(arg, item);

	if (r == 0 && rh_quantity_parse(item->value, &milli, NULL) < 0)
		r = rh_fail(check->err, RH_EINVAL, "%s: \"%s\" of %s is not a quantity; write for example 1", check->key,
		            item->value, item->name);
	return r;
}

/* Linux names them CAP_IPC_LOCK, Kubernetes IPC_LOCK. */
static int fabric_check_capability(void *arg, const struct rh_fabric_item *item)
{
	const struct fabric_check *check = arg;
	size_t good = strspn(item->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	if (*item->name && !item->name[good] && !*item->value && !rh_starts_with(item->name, "CAP_"))
		return 0;
	return rh_fail(check->err, RH_EINVAL,
	               "%s: \"%s\" is not a capability; write it in capitals without CAP_, as IPC_LOCK", check->key,
	               item->name);
}

static int fabric_check_size(const char *key, const char *value, struct rh_error *err)
{
	int64_t milli;

	if (rh_quantity_parse(value, &milli, NULL) == 0 && milli > 0)
		return 0;
	return rh_fail(err, RH_EINVAL, "%s: \"%s\" is not a size; write for example 1Gi", key, value);
}

/* Nothing: a profile whose pods have the library already. */
static int fabric_check_image(const char *key, const char *value, struct rh_error *err)
{
	int r = *value ? rh_image_check(value, err) : 0;

	return r < 0 ? rh_wrap(err, r, "%s", key) : 0;
}

static int fabric_refuse_key(const char *section, const char *key, struct rh_error *err)
{
	static const char *const keys[] = {"backend",      "image",         "shm-size", "resources",
	                                   "capabilities", "node-selector", "backends"};
	const char *near = rh_nearest(key, keys, sizeof(keys) / sizeof(*keys));

	if (strcmp(key, "backend") == 0)
		return rh_fail(err, RH_EINVAL, "\"backend\" in section [%s] is of [comm]; a profile has \"backends\"", section);
	if (strcmp(key, "node-selector") == 0 || strcmp(key, "backends") == 0)
		return rh_fail(err, RH_EINVAL, "\"%s\" in section [%s] is of profiles; write it in a section [comm NAME]", key,
		               section);
	return rh_fail(err, RH_EINVAL, "unknown key \"%s\" in section [%s]%s%s%s", key, section,
	               near ? "; did you mean \"" : "; remove it", near ? near : "", near ? "\"?" : "");
}

int rh_fabric_check(const char *section, const char *key, const char *value, struct rh_error *err)
{
	struct fabric_check check = {key, err};
	bool profile = strcmp(section, RH_FABRIC_SECTION) != 0;

	if (rh_starts_with(key, RH_FABRIC_ENV) && key[strlen(RH_FABRIC_ENV)])
		return 0;
	if (strcmp(key, "shm-size") == 0)
		return fabric_check_size(key, value, err);
	if (strcmp(key, "image") == 0)
		return fabric_check_image(key, value, err);
	if (strcmp(key, "resources") == 0)
		return rh_fabric_for_each(value, fabric_check_resource, &check);
	if (strcmp(key, "capabilities") == 0)
		return rh_fabric_for_each(value, fabric_check_capability, &check);
	if (!profile && strcmp(key, "backend") == 0)
		return strcmp(value, "none") == 0 || rh_name_is_backend(value)
		           ? 0
		           : rh_fail(err, RH_EINVAL, "%s: \"%s\" is not a backend; there are none, " RH_BACKENDS, key, value);
	if (profile && strcmp(key, "backends") == 0)
		return rh_fabric_for_each(value, fabric_check_backend, &check);
	if (profile && strcmp(key, "node-selector") == 0)
		return rh_fabric_for_each(value, fabric_check_pair, &check);
	return fabric_refuse_key(section, key, err);
}
