/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on memory of CUDA devices: a second backend beside the one for host memory. */
#include <stdio.h>
#include <stdlib.h>

#include "comm/core/context.h"
#include "comm/core/error.h"

static int32_t cuda_put(void *core, const char *key, const void *value, size_t length)
{
	struct rh_comm *comm = core;

	return comm->size == 1 ? 0 : rh_comm_put(comm, key, value, length, &comm->said);
}

static int64_t cuda_get(void *core, const char *key, void *value, size_t room)
{
	struct rh_comm *comm = core;

	return rh_comm_get(comm, key, value, room, &comm->said);
}

/* RH_COMM_<NAME>_<KEY> */
static const char *cuda_setting(void *core, const char *key)
{
	const struct rh_comm *comm = core;
	char name[96];

	(void)snprintf(name, sizeof(name), "RH_COMM_%s_%s", comm->cuda.module.backend->name, key);
	for (char *at = name; *at; at++) {
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
	}
	return getenv(name);
}

static int32_t cuda_fail(void *core, int32_t code, int32_t rank, const char *text)
{
	struct rh_comm *comm = core;

	return rh_comm_fail(&comm->said, code, rank, "%s: %s", comm->cuda.module.backend->name, text);
}

int32_t rh_comm_cuda_open(struct rh_comm *comm, struct rh_comm_error *err)
{
	struct rh_comm_cuda *cuda = &comm->cuda;
	int32_t r;

	if (!cuda->module.backend)
		return 0;
	cuda->team = comm->team;
	cuda->team.put = cuda_put;
	cuda->team.get = cuda_get;
	cuda->team.setting = cuda_setting;
	cuda->team.fail = cuda_fail;
	comm->said.code = 0;
	r = cuda->module.backend->open(&cuda->team, &cuda->self);
	if (r == 0)
		return 0;
	cuda->self = NULL;
	if (rh_comm_world_check(comm->world, err) < 0)
		return rh_comm_world_check(comm->world, err);
	if (comm->said.code == 0)
		return rh_comm_fail(err, r, RH_COMM_NO_RANK, "%s: %s", cuda->module.backend->name, rh_comm_status_text(r));
	if (err)
		*err = comm->said;
	return r;
}

void rh_comm_cuda_close(struct rh_comm *comm)
{
	struct rh_comm_cuda *cuda = &comm->cuda;

	if (cuda->self)
		cuda->module.backend->close(cuda->self);
	cuda->self = NULL;
	if (!comm->is_group)
		rh_comm_unload(&cuda->module);
}

int32_t rh_comm_cuda_start(struct rh_comm *comm, struct rh_comm_request *request)
{
	struct rh_comm_cuda *cuda = &comm->cuda;
	bool is_message = request->op.what == RH_COMM_SEND || request->op.what == RH_COMM_RECV;
	uint64_t id = is_message ? 0 : rh_comm_request_note(comm, &request->op);
	int32_t r;

	if (!is_message)
		request->sequence = comm->posted;
	r = cuda->module.backend->collective(cuda->self, &request->op, id, &request->work);
	request->on_device = r == 0 && request->work;
	return r;
}

void rh_comm_cuda_abort(struct rh_comm *comm)
{
	struct rh_comm_cuda *cuda = &comm->cuda;

	if (cuda->self && !cuda->aborted)
		cuda->module.backend->abort(cuda->self);
	cuda->aborted = true;
}
