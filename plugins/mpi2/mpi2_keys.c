/* SPDX-License-Identifier: Apache-2.0 */
/* The Secret with the SSH keys, one pair for each job. */
#include <stdio.h>
#include <stdlib.h>

#include "../ssh/ssh_keys.h"
#include "mpi2.h"

int32_t mpi2_make(void *self, const struct rh_view *view, const struct rh_made *made, struct rh_reply *reply)
{
	struct mpi2_call call = {self, view, reply, 0};
	const char *app = mpi2_quote(&call, "%s", mpi2_name(&call));
	char *labels = NULL;
	int32_t r;

	if (!app)
		return call.status;
	if (asprintf(&labels, "{\"app\":%s}", app) < 0)
		return call.host->fail(reply, RH_ENOMEM, "out of memory");
	r = ssh_keys_make_secret(call.host, view, made, labels, reply);
	free(labels);
	return r;
}
