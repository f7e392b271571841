/* SPDX-License-Identifier: Apache-2.0 */
/* What a user should know of a job that is valid. */
#include "trainer.h"

int32_t trainer_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct trainer_call call = trainer_begin(self, view, reply);

	if (call.status == 0 && trainer_number(&call, -1, "template.spec.ttlSecondsAfterFinished") >= 0)
		call.status = call.host->note(reply, RH_NOTE_WARN,
		                              "ttlSecondsAfterFinished of the runtime has no effect: pods stay until the "
		                              "TrainJob is deleted");
	return call.status;
}
