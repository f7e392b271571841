/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ucx/context.h"

#include <stdio.h>
#include <time.h>

int32_t ucx_fail(const struct ucx *ucx, int32_t code, int32_t rank, const char *what, ucs_status_t status)
{
	char text[200];

	(void)snprintf(text, sizeof(text), "%s: %s", what, ucs_status_string(status));
	return ucx->team->fail(ucx->team->core, code, rank, text);
}

int64_t ucx_now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000) + time.tv_nsec / 1000;
}

void ucx_finish(struct ucx *ucx, ucs_status_ptr_t request)
{
	int64_t until = ucx_now() + UCX_SECOND;

	if (!UCS_PTR_IS_PTR(request))
		return;
	while (ucp_request_check_status(request) == UCS_INPROGRESS && ucx_now() < until)
		(void)ucp_worker_progress(ucx->worker);
	ucp_request_free(request);
}
