/* SPDX-License-Identifier: Apache-2.0 */
/* The Secret with the SSH keys, one pair for each job of MPI. */
#include "../../ssh/ssh_keys.h"
#include "../trainer.h"

int32_t trainer_make(void *self, const struct rh_view *view, const struct rh_made *made, struct rh_reply *reply)
{
	return ssh_keys_make_secret(self, view, made, NULL, reply);
}
