/* SPDX-License-Identifier: Apache-2.0 */
/* What a replica's pod needs to find the others: TF_CONFIG in the container named tensorflow (v1-behaviour C.4, C.7).
 */
#include <stdlib.h>

#include "tensorflow.h"

int32_t tensorflow_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const struct rh_services *host = self;
	char *config;
	int32_t r;

	if (!tensorflow_is_distributed(host, view))
		return RH_OK;
	config = tensorflow_config(host, view, me);
	r = config ? host->env(reply, "tensorflow", "TF_CONFIG", config) : host->fail(reply, RH_ENOMEM, "out of memory");
	free(config);
	return r;
}
