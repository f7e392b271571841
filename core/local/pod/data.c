/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/data.h"

#include <string.h>

#include "base/crypto/base64.h"
#include "base/mem.h"

/* An object's part under work. */
struct data_part {
	const char *kind;
	const char *name;
	const char *member; /* "data" */
	bool encoded;       /* base64 */
};

const char *rh_data_name(const char *kind)
{
	return strcmp(kind, "Secret") == 0 ? "secret" : "configmap";
}

void rh_data_deinit(struct rh_data *data)
{
	for (size_t i = 0; i < data->count; i++) {
		/* it may have been a secret */
		explicit_bzero(data->items[i].bytes, data->items[i].length);
		rh_free(data->items[i].bytes);
	}
	rh_free(data->items);
	*data = (struct rh_data){0};
}

const struct rh_data_item *rh_data_item(const struct rh_data *data, const char *key)
{
	/* later parts count more than earlier ones: stringData than data */
	for (size_t i = data->count; i > 0; i--) {
		if (strcmp(data->items[i - 1].key, key) == 0)
			return &data->items[i - 1];
	}
	return NULL;
}

static int data_add(struct rh_data *data, const struct data_part *part, const struct rh_json *member,
                    struct rh_error *err)
{
	struct rh_data_item *item = &data->items[data->count];
	const char *text = rh_json_string(member);

	if (!text)
		return rh_fail(err, RH_EINVAL, "%s \"%s\": %s[\"%s\"] must be a string", rh_data_name(part->kind), part->name,
		               part->member, rh_json_key(member));
	item->key = rh_json_key(member);
	item->binary = strcmp(part->member, "binaryData") == 0;
	item->length = strlen(text);
	item->bytes = rh_alloc(rh_base64_room(item->length));
	if (!item->bytes)
		return rh_fail_oom(err);
	data->count++;
	if (!part->encoded)
		memcpy(item->bytes, text, item->length);
	else if (!rh_base64_decode(text, item->bytes, &item->length))
		return rh_fail(err, RH_EINVAL, "%s \"%s\": %s[\"%s\"] is not base64", rh_data_name(part->kind), part->name,
		               part->member, rh_json_key(member));
	return 0;
}

static int data_add_part(struct rh_data *data, const struct data_part *part, const struct rh_json *object,
                         struct rh_error *err)
{
	const struct rh_json *members = rh_json_get(object, part->member);
	int r = 0;

	for (const struct rh_json *member = rh_json_first(members); member && r == 0; member = rh_json_next(member))
		r = data_add(data, part, member, err);
	return r;
}

static int data_read(const char *kind, const char *name, const struct rh_json *object, struct rh_data *data,
                     struct rh_error *err)
{
	bool secret = strcmp(kind, "Secret") == 0;
	const struct data_part parts[2] = {{kind, name, "data", secret},
	                                   {kind, name, secret ? "stringData" : "binaryData", !secret}};
	size_t count =
		rh_json_size(rh_json_get(object, parts[0].member)) + rh_json_size(rh_json_get(object, parts[1].member));
	int r;

	data->items = rh_alloc_array(count, sizeof(*data->items));
	if (!data->items)
		return rh_fail_oom(err);
	r = data_add_part(data, &parts[0], object, err);
	return r < 0 ? r : data_add_part(data, &parts[1], object, err);
}

int rh_data_find(const struct rh_pod_context *context, const char *kind, const struct rh_json *reference,
                 struct rh_data *ret_data, struct rh_error *err)
{
	const char *name = rh_json_string(rh_json_get(reference, "name"));
	const struct rh_runtime_spec_input *input = context->input;
	const struct rh_json *object = NULL;
	int r;

	if (!name || !*name)
		return rh_fail(err, RH_EINVAL, "a reference to a %s has no name", rh_data_name(kind));
	if (input->lookup)
		object = input->lookup(input->lookup_arg, kind, context->namespace_, name);
	if (!object && rh_json_bool(rh_json_get(reference, "optional"), false))
		return 0;
	if (!object)
		return rh_fail(err, RH_ENOENT, "%s \"%s\" not found", rh_data_name(kind), name);
	r = data_read(kind, name, object, ret_data, err);
	if (r < 0)
		rh_data_deinit(ret_data);
	return r < 0 ? r : 1;
}
