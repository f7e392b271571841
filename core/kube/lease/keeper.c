/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/lease/keeper.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/os/clock.h"

/* After what time a request that could not be made for want of memory is tried again. */
#define KEEPER_AGAIN (RH_SECOND / 10)

struct rh_lease_keeper {
	struct rh_lease_keeper_options options;
	struct rh_lease *lease;
	enum rh_lease_state reported;
	bool troubled;       /* trouble() was called last with a message */
	uint64_t request_id; /* id of the request under way; 0: none */
	int64_t again;       /* not before this; 0: at once */
	bool fresh;          /* something happened since the last step */
};

/* A name that no other process has or had: as client-go's users make it, host name and something unique. */
static char *keeper_identity(void)
{
	uint64_t unique[2];
	char host[256];

	if (gethostname(host, sizeof(host)) < 0 || getrandom(unique, sizeof(unique), 0) != (ssize_t)sizeof(unique))
		return NULL;
	host[sizeof(host) - 1] = '\0';
	return rh_asprintf("%s_%016" PRIx64 "%016" PRIx64, host, unique[0], unique[1]);
}

int rh_lease_keeper_new(const struct rh_lease_keeper_options *options, struct rh_lease_keeper **ret_keeper,
                        struct rh_error *err)
{
	rh_auto(lease_keeper) keeper = rh_alloc(sizeof(*keeper));
	rh_auto_free char *identity = options->lease.identity ? rh_strdup(options->lease.identity) : keeper_identity();
	struct rh_lease_options lease = options->lease;
	int r;

	if (!keeper || !identity)
		return rh_fail_oom(err);
	keeper->options = *options;
	keeper->reported = RH_LEASE_SEEKING;
	keeper->fresh = true;
	lease.identity = identity;
	if (lease.seed == 0)
		lease.seed = (uint64_t)rh_clock_wall() ^ (uint64_t)getpid() << 32;
	r = rh_lease_new(&lease, &keeper->lease, err);
	if (r == 0)
		*ret_keeper = rh_take(keeper);
	return r;
}

void rh_lease_keeper_free(struct rh_lease_keeper *keeper)
{
	if (!keeper)
		return;
	if (keeper->request_id)
		rh_http_cancel(keeper->options.http, keeper->request_id);
	rh_lease_free(keeper->lease);
	rh_free(keeper);
}

static void keeper_on_done(void *arg, const struct rh_http_response *response)
{
	struct rh_lease_keeper *keeper = arg;

	keeper->request_id = 0;
	keeper->fresh = true;
	rh_lease_answer(keeper->lease, rh_clock_monotonic(), response);
}

void rh_lease_keeper_release(struct rh_lease_keeper *keeper)
{
	rh_lease_release(keeper->lease);
	keeper->fresh = true;
}

static void keeper_send(struct rh_lease_keeper *keeper, int64_t now)
{
	static const struct rh_http_response unsent = {.message = "out of memory", .body = ""};
	struct rh_http_request request;
	int r;

	if (keeper->request_id || now < keeper->again)
		return;
	keeper->again = 0;
	r = rh_lease_next(keeper->lease, now, rh_clock_wall(), &request, NULL);
	if (r < 0)
		keeper->again = now + KEEPER_AGAIN;
	if (r <= 0)
		return;
	if (rh_http_send(keeper->options.http, &request, keeper_on_done, keeper, &keeper->request_id, NULL) < 0)
		rh_lease_answer(keeper->lease, now, &unsent);
}

static void keeper_report_trouble(struct rh_lease_keeper *keeper)
{
	const char *message = rh_lease_message(keeper->lease);
	bool troubled = *message != '\0';

	if (!keeper->options.trouble || troubled == keeper->troubled)
		return;
	keeper->troubled = troubled;
	keeper->options.trouble(keeper->options.arg, rh_lease_status(keeper->lease), message);
}

void rh_lease_keeper_step(struct rh_lease_keeper *keeper, int64_t now)
{
	enum rh_lease_state state;

	keeper->fresh = false;
	keeper_send(keeper, now);
	state = rh_lease_look(keeper->lease, now);
	if (state <= RH_LEASE_FORBIDDEN)
		keeper_report_trouble(keeper);
	if (state == keeper->reported)
		return;
	keeper->reported = state;
	keeper->options.changed(keeper->options.arg, state, rh_lease_message(keeper->lease));
}

int64_t rh_lease_keeper_deadline(const struct rh_lease_keeper *keeper)
{
	int64_t due = rh_lease_deadline(keeper->lease);

	if (keeper->fresh)
		return 0;
	return due < keeper->again ? keeper->again : due;
}

const struct rh_lease *rh_lease_keeper_lease(const struct rh_lease_keeper *keeper)
{
	return keeper->lease;
}
