/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ucx/context.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

/* A running peer answers within so many yields; a stopped one does not. */
#define WAIT_YIELDS 64

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

void ucx_wait(const struct ucx *ucx, int rounds, int64_t time)
{
	struct pollfd set = {.events = POLLIN};

	if (rounds < WAIT_YIELDS || ucp_worker_arm(ucx->worker) != UCS_OK ||
	    ucp_worker_get_efd(ucx->worker, &set.fd) != UCS_OK)
		(void)sched_yield();
	else
		(void)poll(&set, 1, (int)((time + 999) / 1000));
}
