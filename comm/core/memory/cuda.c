/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on memory of CUDA devices: a second backend beside the one for host memory. */
#include <stdio.h>
#include <stdlib.h>

#include "comm/core/collective/team.h"
#include "comm/core/error.h"
#include "comm/core/memory/cuda.h"

static int32_t cuda_put(void *core, const char *key, const void *value, size_t length)
{
	struct rh_comm *comm = core;

	return comm->size == 1 ? 0 : rh_comm_put(comm, key, value, length, &comm->error);
}

static int64_t cuda_get(void *core, const char *key, void *value, size_t room)
{
	struct rh_comm *comm = core;

	return rh_comm_get(comm, key, value, room, &comm->error);
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

	return rh_comm_fail(&comm->error, code, rank, "%s: %s", comm->cuda.module.backend->name, text);
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
	comm->error.code = 0;
	r = cuda->module.backend->open(&cuda->team, &cuda->self);
	if (r == 0)
		return 0;
	cuda->self = NULL;
	if (rh_comm_world_check(comm->world, err) < 0)
		return rh_comm_world_check(comm->world, err);
	if (comm->error.code == 0)
		return rh_comm_fail(err, r, RH_COMM_NO_RANK, "%s: %s", cuda->module.backend->name, rh_comm_status_text(r));
	if (err)
		*err = comm->error;
	return r;
}

void rh_comm_cuda_close(struct rh_comm *comm)
{
	struct rh_comm_cuda *cuda = &comm->cuda;

	if (cuda->self)
		cuda->module.backend->close(cuda->self);
	cuda->self = NULL;
	if (!comm->is_group)
		rh_comm_module_close(&cuda->module);
}

static int32_t cuda_test(struct rh_comm_request *request)
{
	const struct rh_comm_cuda *cuda = &request->comm->cuda;

	return cuda->module.backend->test(cuda->self, request->work);
}

static const struct rh_comm_executor cuda_executor = {.test = cuda_test, .on_device = true};

int32_t rh_comm_cuda_start(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	const struct rh_comm_cuda *cuda = &comm->cuda;
	bool is_message = rh_comm_op_is_message(&request->op);
	uint64_t id = is_message ? 0 : rh_comm_request_record(comm, &request->op);
	int32_t r;

	if (!is_message)
		request->sequence = comm->posted;
	r = cuda->module.backend->collective(cuda->self, &request->op, id, &request->work);
	if (r == 0 && request->work)
		request->executor = &cuda_executor;
	return r;
}
