/* SPDX-License-Identifier: Apache-2.0 */
/* The Secret with the keys of ssh, one pair for each job of MPI. */
#include <stdio.h>
#include <stdlib.h>

#include "../../ssh/ssh_keys.h"
#include "../trainer.h"

/** @return the Secret, owned by the caller; NULL when memory is out */
static char *keys_print_secret(struct trainer_call *call, const struct rh_made *made, const struct ssh_keys *keys)
{
	const char *name = trainer_quote(call, "%s", made->name);
	char *private_key = ssh_keys_encode(keys->private_key);
	char *public_key = ssh_keys_encode(keys->public_key);
	char *json = NULL;

	if (!name || !private_key || !public_key ||
	    asprintf(&json,
	             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":%s},"
	             "\"type\":\"kubernetes.io/ssh-auth\",\"immutable\":true,"
	             "\"data\":{\"ssh-privatekey\":\"%s\",\"ssh-publickey\":\"%s\"}}",
	             name, private_key, public_key) < 0)
		json = NULL;
	ssh_keys_wipe(private_key);
	ssh_keys_wipe(public_key);
	return json;
}

int32_t trainer_make(void *self, const struct rh_view *view, const struct rh_made *made, struct rh_reply *reply)
{
	struct trainer_call call = {.host = self, .view = view, .reply = reply};
	struct ssh_keys keys;
	char *json;
	int32_t r = ssh_keys_print(made->random, made->random_bytes, &keys);

	if (r < 0)
		return call.host->fail(reply, r, r == RH_ENOMEM ? "out of memory" : "these bytes are no pair of keys");
	json = keys_print_secret(&call, made, &keys);
	r = json ? call.host->object(reply, json) : call.host->fail(reply, RH_ENOMEM, "out of memory");
	ssh_keys_wipe(json);
	ssh_keys_free(&keys);
	return r;
}
