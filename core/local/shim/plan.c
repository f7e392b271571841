/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/plan.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "local/shim.h"

static int plan_text(const struct rh_json *json, const char *key, const char **ret_text, struct rh_error *err)
{
	const char *text = rh_json_string(rh_json_get(json, key));

	if (!text)
		return rh_fail(err, RH_EINVAL, "pod plan: \"%s\" must be a string", key);
	*ret_text = text;
	return 0;
}

/* A missing number is `fallback`. */
static int plan_number(const struct rh_json *json, const char *key, int64_t fallback, int64_t *ret_value,
                       struct rh_error *err)
{
	const struct rh_json *value = rh_json_get(json, key);

	if (!value) {
		*ret_value = fallback;
		return 0;
	}
	if (!rh_json_integer(value, ret_value) || *ret_value < 0 || *ret_value > RH_SHIM_AMOUNT_MAX)
		return rh_fail(err, RH_EINVAL, "pod plan: \"%s\" must be a number from 0 to 2^53", key);
	return 0;
}

static int plan_texts(const struct rh_json *json, const char *key, const char ***ret_texts, struct rh_error *err)
{
	const struct rh_json *list = rh_json_get(json, key);
	const char **texts;
	size_t count = 0;

	if (rh_json_type(list) != RH_JSON_ARRAY)
		return rh_fail(err, RH_EINVAL, "pod plan: \"%s\" must be a list of strings", key);
	texts = rh_alloc_array(rh_json_size(list) + 1, sizeof(*texts));
	if (!texts)
		return rh_fail_oom(err);
	*ret_texts = texts;
	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		texts[count] = rh_json_string(item);
		if (!texts[count++])
			return rh_fail(err, RH_EINVAL, "pod plan: \"%s\" must be a list of strings", key);
	}
	return 0;
}

static int plan_mounts(const struct rh_json *json, struct rh_shim_spec *spec, struct rh_error *err)
{
	const struct rh_json *list = rh_json_get(json, "mounts");
	int r = 0;

	spec->mounts = rh_alloc_array(rh_json_size(list), sizeof(*spec->mounts));
	if (!spec->mounts)
		return rh_fail_oom(err);
	for (const struct rh_json *item = rh_json_first(list); item && r == 0; item = rh_json_next(item)) {
		struct rh_shim_mount *mount = &spec->mounts[spec->mount_count++];

		mount->read_only = rh_json_bool(rh_json_get(item, "readOnly"), false);
		r = plan_text(item, "from", &mount->from, err);
		if (r == 0)
			r = plan_text(item, "to", &mount->to, err);
	}
	return r;
}

static int plan_limits(const struct rh_json *json, struct rh_shim_spec *spec, struct rh_error *err)
{
	int r = plan_number(json, "memory", 0, &spec->memory, err);

	if (r == 0)
		r = plan_number(json, "cpu", 0, &spec->cpu, err);
	if (r == 0)
		r = plan_number(json, "uid", -1, &spec->uid, err);
	if (r == 0)
		r = plan_number(json, "gid", -1, &spec->gid, err);
	return r;
}

static int plan_spec(const struct rh_json *json, struct rh_shim_spec *spec, struct rh_error *err)
{
	int r = plan_text(json, "name", &spec->name, err);

	if (r == 0)
		r = plan_text(json, "cwd", &spec->cwd, err);
	if (r == 0)
		r = plan_text(json, "log", &spec->log, err);
	if (r == 0)
		r = plan_texts(json, "argv", &spec->argv, err);
	if (r == 0)
		r = plan_texts(json, "env", &spec->env, err);
	if (r == 0 && !spec->argv[0])
		r = rh_fail(err, RH_EINVAL, "pod plan: container \"%s\" has no argv", spec->name);
	if (r == 0)
		r = plan_mounts(json, spec, err);
	if (r == 0)
		r = plan_limits(json, spec, err);
	return r;
}

static int plan_specs(const struct rh_json *json, struct rh_shim_plan *plan, struct rh_error *err)
{
	const struct rh_json *lists[2] = {rh_json_get(json, "init"), rh_json_get(json, "containers")};
	int r = 0;

	if (rh_json_size(lists[1]) == 0)
		return rh_fail(err, RH_EINVAL, "pod plan: \"containers\" must have an item");
	plan->specs = rh_alloc_array(rh_json_size(lists[0]) + rh_json_size(lists[1]), sizeof(*plan->specs));
	if (!plan->specs)
		return rh_fail_oom(err);
	for (int l = 0; l < 2; l++) {
		for (const struct rh_json *item = rh_json_first(lists[l]); item && r == 0; item = rh_json_next(item)) {
			struct rh_shim_spec *spec = &plan->specs[plan->spec_count++];

			spec->init = l == 0;
			spec->sidecar = spec->init && rh_json_bool(rh_json_get(item, "sidecar"), false);
			spec->terminal = rh_json_bool(rh_json_get(item, "terminal"), false);
			r = plan_spec(item, spec, err);
		}
	}
	return r;
}

static int plan_tmpfs(const struct rh_json *json, struct rh_shim_plan *plan, struct rh_error *err)
{
	const struct rh_json *list = rh_json_get(json, "tmpfs");
	int r = 0;

	plan->tmpfs = rh_alloc_array(rh_json_size(list), sizeof(*plan->tmpfs));
	if (!plan->tmpfs)
		return rh_fail_oom(err);
	for (const struct rh_json *item = rh_json_first(list); item && r == 0; item = rh_json_next(item)) {
		struct rh_shim_tmpfs *tmpfs = &plan->tmpfs[plan->tmpfs_count++];

		r = plan_text(item, "path", &tmpfs->path, err);
		if (r == 0)
			r = plan_number(item, "size", 0, &tmpfs->size, err);
	}
	return r;
}

static int plan_policy(const struct rh_json *json, enum rh_shim_policy *ret_policy, struct rh_error *err)
{
	static const char *const names[] = {"Never", "OnFailure", "Always"};
	const char *text = NULL;
	int r = plan_text(json, "restartPolicy", &text, err);

	if (r < 0)
		return r;
	for (int i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret_policy = (enum rh_shim_policy)i;
			return 0;
		}
	}
	return rh_fail(err, RH_EINVAL, "pod plan: restartPolicy \"%s\" is not one of Never, OnFailure, Always", text);
}

int rh_shim_plan_parse(struct rh_json *json, struct rh_shim_plan *plan, struct rh_error *err)
{
	int r;

	plan->json = json;
	plan->detached = rh_json_bool(rh_json_get(json, "detached"), false);
	r = plan_text(json, "pod", &plan->pod, err);
	if (r == 0)
		r = plan_text(json, "dir", &plan->dir, err);
	if (r == 0)
		r = plan_policy(json, &plan->policy, err);
	if (r == 0)
		r = plan_number(json, "backoff", 0, &plan->backoff, err);
	if (r == 0)
		r = plan_number(json, "backoffMax", 0, &plan->backoff_max, err);
	if (r == 0)
		r = plan_number(json, "grace", 0, &plan->grace, err);
	if (r == 0)
		r = plan_tmpfs(json, plan, err);
	if (r == 0)
		r = plan_specs(json, plan, err);
	return r;
}

int rh_shim_plan_read(int fd, struct rh_shim_plan *plan, struct rh_error *err)
{
	rh_auto_str text = {0};
	struct rh_json *json = NULL;
	char buffer[16384];
	int r;

	for (;;) {
		ssize_t n = read(fd, buffer, sizeof(buffer));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rh_fail(err, RH_EIO, "cannot read the pod plan: %s", strerror(errno));
		if (n == 0)
			break;
		rh_str_append_bytes(&text, buffer, (size_t)n);
	}
	if (text.failed)
		return rh_fail_oom(err);
	r = rh_json_parse(rh_str_text(&text), text.length, &json, err);
	if (r < 0)
		return r;
	return rh_shim_plan_parse(json, plan, err);
}

void rh_shim_plan_deinit(struct rh_shim_plan *plan)
{
	for (size_t i = 0; i < plan->spec_count; i++) {
		rh_free(plan->specs[i].argv);
		rh_free(plan->specs[i].env);
		rh_free(plan->specs[i].mounts);
	}
	rh_free(plan->specs);
	rh_free(plan->tmpfs);
	rh_json_free(plan->json);
	*plan = (struct rh_shim_plan){0};
}

bool rh_shim_plan_mounts(const struct rh_shim_plan *plan)
{
	bool mounts = plan->tmpfs_count > 0;

	for (size_t i = 0; i < plan->spec_count; i++)
		mounts = mounts || plan->specs[i].mount_count > 0;
	return mounts;
}

const char *rh_shim_spec_mark(const struct rh_shim_spec *spec)
{
	for (size_t i = 0; spec->env[i]; i++) {
		if (rh_starts_with(spec->env[i], RH_SHIM_MARK "="))
			return spec->env[i];
	}
	return NULL;
}
