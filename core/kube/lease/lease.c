/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules are those of k8s.io/client-go/tools/leaderelection/leaderelection.go, and these:
 *
 * The right to work lasts for the renew deadline after the request that proved it: a write of the Lease, or a continued
 * refusal of all Leases. A candidate that was refused long enough for another to start without a Lease waits for a
 * lease duration once it can read the Lease again; meanwhile the other takes the Lease or stops.
 */
#include "kube/lease/lease.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/os/clock.h"
#include "base/os/random.h"
#include "base/str.h"

/* client-go's JitterFactor: up to that many periods are added to one. */
#define LEASE_JITTER_PERCENT 120
/* Attempts to release it while others change it. */
#define LEASE_RELEASE_TRIES 3
/* A candidate reads by this part of a period before the next expected renewal... */
#define LEASE_EARLY 16
/* ... and, when it saw none, again after this part, then after twice that, and so on. */
#define LEASE_AGAIN 8

/* The request in progress. */
enum lease_request { LEASE_IDLE, LEASE_GET, LEASE_CREATE, LEASE_UPDATE, LEASE_RELEASE };

struct rh_lease {
	char *namespace_;
	char *name;
	char *identity;
	char *path;  /* of the Lease */
	char *paths; /* of the namespace's Leases */
	int64_t duration, renew_deadline, retry_period;
	uint64_t random;
	enum rh_lease_state state;
	enum lease_request in_progress;
	enum lease_request next_request; /* chosen after a get; LEASE_IDLE: begin with a get */
	struct rh_json *object;          /* the Lease as it was last read; NULL: never read, or absent */
	bool known;                      /* a Lease existed at some time */
	bool present;                    /* it has not been seen to be gone since */
	int64_t observed;                /* when its spec last changed */
	unsigned silent;                 /* reads since then without a change */
	int64_t sent;                    /* when the request in progress was sent */
	int64_t proof;                   /* when the last successful write, or the last refused request, was sent */
	int64_t refused_since;           /* start of the current refusals; RH_NEVER: none */
	enum lease_request denied;       /* the request that was last refused */
	bool blind;                      /* refused since the last successful read */
	int64_t shown;                   /* when that read was sent; -RH_NEVER: never */
	int64_t fence;                   /* a candidate does not take the Lease before this time */
	int64_t due;                     /* time of the next attempt */
	bool releasing;
	int releases;
	struct rh_str body;
	char message[512];
	int32_t status; /* of the last response; 0: none */
};

static int lease_check(const struct rh_lease *lease, const struct rh_lease_options *options, struct rh_error *err)
{
	const char *const texts[] = {options->namespace_, options->name, options->identity};

	for (size_t i = 0; i < 3; i++) {
		if (!texts[i] || !*texts[i])
			return rh_fail(err, RH_EINVAL, "leader election needs a namespace, a name and an identity");
	}
	if (strpbrk(options->name, "/?#% ") || strpbrk(options->namespace_, "/?#% "))
		return rh_fail(err, RH_EINVAL, "leader election: \"%s\" in \"%s\" is not a name of a Lease", options->name,
		               options->namespace_);
	if (lease->retry_period <= 0 || lease->renew_deadline <= lease->retry_period ||
	    lease->duration <= lease->renew_deadline)
		return rh_fail(err, RH_EINVAL,
		               "leader election: the lease duration must be longer than the renew deadline, and "
		               "that longer than the retry period");
	return 0;
}

int rh_lease_new(const struct rh_lease_options *options, struct rh_lease **ret_lease, struct rh_error *err)
{
	rh_auto(lease) lease = rh_alloc(sizeof(*lease));
	int r;

	if (!lease)
		return rh_fail_oom(err);
	lease->duration = options->duration ? options->duration : RH_LEASE_DURATION;
	lease->renew_deadline = options->renew_deadline ? options->renew_deadline : RH_LEASE_RENEW_DEADLINE;
	lease->retry_period = options->retry_period ? options->retry_period : RH_LEASE_RETRY_PERIOD;
	lease->random = options->seed;
	lease->refused_since = RH_NEVER;
	lease->shown = -RH_NEVER;
	r = lease_check(lease, options, err);
	if (r < 0)
		return r;
	lease->namespace_ = rh_strdup(options->namespace_);
	lease->name = rh_strdup(options->name);
	lease->identity = rh_strdup(options->identity);
	lease->paths = rh_asprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases", options->namespace_);
	lease->path = lease->paths ? rh_asprintf("%s/%s", lease->paths, options->name) : NULL;
	if (!lease->namespace_ || !lease->name || !lease->identity || !lease->path)
		return rh_fail_oom(err);
	*ret_lease = rh_take(lease);
	return 0;
}

void rh_lease_free(struct rh_lease *lease)
{
	if (!lease)
		return;
	rh_free(lease->namespace_);
	rh_free(lease->name);
	rh_free(lease->identity);
	rh_free(lease->path);
	rh_free(lease->paths);
	rh_json_free(lease->object);
	rh_str_deinit(&lease->body);
	rh_free(lease);
}

const char *rh_lease_holder(const struct rh_lease *lease)
{
	const char *holder = rh_json_string_at(lease->object, "spec.holderIdentity");

	return holder ? holder : "";
}

int32_t rh_lease_status(const struct rh_lease *lease)
{
	return lease->status;
}

const char *rh_lease_message(const struct rh_lease *lease)
{
	return lease->message;
}

static bool lease_is_ours(const struct rh_lease *lease)
{
	return strcmp(rh_lease_holder(lease), lease->identity) == 0;
}

static bool lease_is_anothers(const struct rh_lease *lease)
{
	return *rh_lease_holder(lease) && !lease_is_ours(lease);
}

/* Whether this process works: with the Lease, or because access to Leases is refused. */
static bool lease_works(const struct rh_lease *lease)
{
	return lease->state == RH_LEASE_LEADING || lease->state == RH_LEASE_FORBIDDEN;
}

/* @return when a candidate may take the Lease. The holder's spec sets the duration. */
static int64_t lease_taken_until(const struct rh_lease *lease)
{
	int64_t seconds = 0;
	int64_t duration = lease->duration;

	if (!lease_is_anothers(lease))
		return lease->fence;
	if (rh_json_integer(rh_json_at(lease->object, "spec.leaseDurationSeconds"), &seconds) && seconds >= 0 &&
	    seconds < 365 * 86400)
		duration = seconds * RH_SECOND;
	return lease->observed + duration > lease->fence ? lease->observed + duration : lease->fence;
}

/*
 * A candidate reads the Lease soon after each renewal, so that it knows accurately when a dead holder renewed last.
 */
static int64_t lease_follow(const struct rh_lease *lease)
{
	unsigned times = lease->silent - 1;

	if (lease->silent == 0)
		return lease->retry_period - lease->retry_period / LEASE_EARLY;
	return times < 4 ? (lease->retry_period / LEASE_AGAIN) << times : lease->retry_period;
}

/* Candidates wait with jitter, the leader does not. */
static int64_t lease_pause(struct rh_lease *lease)
{
	if (lease_works(lease))
		return lease->retry_period;
	return lease->retry_period +
	       lease->retry_period / 100 * (int64_t)rh_random_below(&lease->random, LEASE_JITTER_PERCENT + 1);
}

/* Fill the spec of `object` for a write at `wall`. @return 0 or RH_ENOMEM */
static int lease_fill(const struct rh_lease *lease, struct rh_json *object, int64_t wall, bool release)
{
	struct rh_json *spec = rh_json_ensure_object(object, "spec");
	bool ours = lease_is_ours(lease);
	int64_t transitions = 0;
	char time[RH_TIME_SIZE];

	(void)rh_json_integer(rh_json_get(spec, "leaseTransitions"), &transitions);
	if (lease->object && !ours)
		transitions++;
	(void)rh_time_format_micro(wall, time);
	if (!spec || rh_json_set_string(spec, "holderIdentity", release ? "" : lease->identity) < 0 ||
	    rh_json_set_integer(spec, "leaseDurationSeconds", release ? 1 : (lease->duration + RH_SECOND - 1) / RH_SECOND) <
	        0 ||
	    rh_json_set_string(spec, "renewTime", time) < 0 ||
	    rh_json_set_integer(spec, "leaseTransitions", transitions) < 0)
		return RH_ENOMEM;
	if ((!ours || release || !rh_json_get(spec, "acquireTime")) && rh_json_set_string(spec, "acquireTime", time) < 0)
		return RH_ENOMEM;
	return 0;
}

static struct rh_json *lease_new_object(const struct rh_lease *lease)
{
	rh_auto(json) object = rh_json_new_object();
	struct rh_json *metadata = object ? rh_json_ensure_object(object, "metadata") : NULL;

	if (!metadata || rh_json_set_string(object, "apiVersion", "coordination.k8s.io/v1") < 0 ||
	    rh_json_set_string(object, "kind", "Lease") < 0 ||
	    rh_json_set_string(metadata, "namespace", lease->namespace_) < 0 ||
	    rh_json_set_string(metadata, "name", lease->name) < 0)
		return NULL;
	return rh_take(object);
}

static int lease_write_body(struct rh_lease *lease, int64_t wall, bool release)
{
	rh_auto(json) object = lease->object ? rh_json_copy(lease->object) : lease_new_object(lease);

	if (!object || lease_fill(lease, object, wall, release) < 0)
		return RH_ENOMEM;
	rh_str_clear(&lease->body);
	rh_json_print(object, false, &lease->body);
	return lease->body.failed ? RH_ENOMEM : 0;
}

static enum lease_request lease_choose(const struct rh_lease *lease)
{
	if (lease->releasing && lease->object)
		return lease->next_request == LEASE_GET ? LEASE_GET : LEASE_RELEASE;
	return lease->next_request == LEASE_IDLE ? LEASE_GET : lease->next_request;
}

int rh_lease_next(struct rh_lease *lease, int64_t now, int64_t wall, struct rh_http_request *ret_request,
                  struct rh_error *err)
{
	bool live = rh_lease_look(lease, now) <= RH_LEASE_FORBIDDEN;
	enum lease_request request = lease_choose(lease);

	if (!live || lease->in_progress != LEASE_IDLE || (now < lease->due && !lease->releasing))
		return 0;
	*ret_request = (struct rh_http_request){.method = "GET", .path = lease->path, .timeout = lease->renew_deadline / 2};
	if (request != LEASE_GET) {
		if (lease_write_body(lease, wall, request == LEASE_RELEASE) < 0) {
			rh_str_deinit(&lease->body);
			return rh_fail_oom(err);
		}
		ret_request->method = request == LEASE_CREATE ? "POST" : "PUT";
		ret_request->path = request == LEASE_CREATE ? lease->paths : lease->path;
		ret_request->content_type = "application/json";
		ret_request->body = lease->body.data;
		ret_request->body_length = lease->body.length;
	}
	lease->in_progress = request;
	lease->sent = now;
	return 1;
}

/* Store a Lease that the server returned. An invalid one counts as a failed attempt. @return whether it is valid */
static bool lease_observe(struct rh_lease *lease, int64_t now, const struct rh_http_response *response)
{
	rh_auto(json) object = NULL;

	if (rh_json_parse_lenient(response->body, response->body_length, &object, NULL) < 0 ||
	    rh_json_type(rh_json_get(object, "metadata")) != RH_JSON_OBJECT) {
		rh_copy(lease->message, sizeof(lease->message), "the server's response is not a valid Lease");
		return false;
	}
	lease->silent++;
	if (!lease->object || !rh_json_equal(rh_json_get(object, "spec"), rh_json_get(lease->object, "spec"))) {
		lease->observed = now;
		lease->silent = lease->known ? 0 : 1;
	}
	rh_json_free(lease->object);
	lease->object = rh_take(object);
	lease->known = lease->present = true;
	return true;
}

/* The server's message for a refusal. */
static void lease_note(struct rh_lease *lease, const struct rh_http_response *response)
{
	rh_auto(json) status = NULL;
	const char *message;

	if (response->status == 0) {
		rh_copy(lease->message, sizeof(lease->message), response->message);
		return;
	}
	(void)rh_json_parse_lenient(response->body, response->body_length, &status, NULL);
	message = rh_json_string(rh_json_get(status, "message"));
	(void)snprintf(lease->message, sizeof(lease->message), "status %" PRId32 "%s%s", response->status,
	               message ? ": " : "", message ? message : "");
}

/* The server refuses access to Leases. The process works without one only if none was ever seen, and only after
 * refusals for a whole lease duration. */
static void lease_refused(struct rh_lease *lease, enum lease_request request, int64_t now)
{
	if (lease->state == RH_LEASE_LEADING)
		return;
	lease->blind = true;
	if (lease->refused_since == RH_NEVER || lease->sent >= lease->proof + lease->renew_deadline)
		lease->refused_since = now;
	lease->proof = lease->sent;
	lease->denied = request;
	if (!lease->known && lease->sent - lease->refused_since >= lease->duration)
		lease->state = RH_LEASE_FORBIDDEN;
	lease->due = now + lease_pause(lease);
	if (lease->state == RH_LEASE_SEEKING && !lease->known && lease->refused_since + lease->duration < lease->due)
		lease->due = lease->refused_since + lease->duration;
}

/* The server returned a Lease, or that there is none. */
static void lease_shown(struct rh_lease *lease, int64_t now)
{
	if (lease->blind && now - lease->duration >= lease->shown)
		lease->fence = now + lease->duration;
	lease->blind = false;
	lease->shown = lease->sent;
	/* a candidate that may read but not create stays refused */
	if (lease->denied == LEASE_GET)
		lease->refused_since = RH_NEVER;
}

/* Continue at once with @p request if the Lease is free, else read again later. */
static void lease_aim(struct rh_lease *lease, enum lease_request request, int64_t now)
{
	int64_t until = lease_taken_until(lease);

	if (lease_works(lease) || now >= until) {
		lease->next_request = request;
		lease->due = now;
		return;
	}
	lease->due = now + (lease_is_anothers(lease) ? lease_follow(lease) : lease_pause(lease));
	if (until < lease->due)
		lease->due = until;
}

static void lease_lose(struct rh_lease *lease, const char *holder)
{
	lease->state = RH_LEASE_LOST;
	(void)snprintf(lease->message, sizeof(lease->message), "it is held by %.300s", holder);
}

static void lease_got(struct rh_lease *lease, int64_t now, const struct rh_http_response *response)
{
	lease->next_request = LEASE_IDLE;
	if (response->status == 404) {
		lease_shown(lease, now);
		/* its holder may not have noticed that it is gone */
		if (lease->present)
			lease->fence = now + lease->duration;
		lease->present = false;
		rh_json_free(rh_take(lease->object));
		lease_aim(lease, LEASE_CREATE, now);
		return;
	}
	if (response->status != 200) {
		lease_note(lease, response);
		return;
	}
	if (!lease_observe(lease, now, response))
		return;
	lease_shown(lease, now);
	if (lease_works(lease) && lease_is_anothers(lease))
		lease_lose(lease, rh_lease_holder(lease));
	else
		lease_aim(lease, LEASE_UPDATE, now);
}

static void lease_wrote(struct rh_lease *lease, int64_t now, const struct rh_http_response *response)
{
	/* after a refusal, or without data, read the Lease first */
	lease->next_request = LEASE_IDLE;
	if (response->status == 409) {
		lease->known = lease->present = true;
		/* another candidate wrote it, and may work already */
		if (lease->state == RH_LEASE_FORBIDDEN)
			lease_lose(lease, "another instance");
		return;
	}
	if (response->status != 200 && response->status != 201) {
		lease_note(lease, response);
		return;
	}
	if (!lease_observe(lease, now, response))
		return;
	lease_shown(lease, now);
	/* a response this late proves only that the lease was ours */
	if (!lease_is_ours(lease) || now >= lease->sent + lease->renew_deadline)
		return;
	if (!lease->releasing) /* a candidate that is releasing does not become leader */
		lease->state = RH_LEASE_LEADING;
	lease->proof = lease->sent;
	lease->next_request = LEASE_UPDATE;
}

static void lease_gave_up(struct rh_lease *lease, const struct rh_http_response *response)
{
	bool again = response->status == 409 && ++lease->releases < LEASE_RELEASE_TRIES;

	lease->next_request = LEASE_GET;
	if (response->status != 200)
		lease_note(lease, response);
	if (!again)
		lease->state = RH_LEASE_RELEASED;
}

void rh_lease_answer(struct rh_lease *lease, int64_t now, const struct rh_http_response *response)
{
	enum lease_request request = lease->in_progress;

	lease->in_progress = LEASE_IDLE;
	if (rh_lease_look(lease, now) > RH_LEASE_FORBIDDEN)
		return;
	lease->message[0] = '\0';
	lease->status = response->status;
	if (request == LEASE_RELEASE) {
		lease_gave_up(lease, response);
		return;
	}
	lease->due = RH_NEVER;
	if (request == LEASE_GET)
		lease_got(lease, now, response);
	else
		lease_wrote(lease, now, response);
	if (response->status == 403)
		lease_refused(lease, request, now);
	if (lease->due == RH_NEVER)
		lease->due = now + lease_pause(lease);
	/* the read before the release showed that another holds it, or that it is gone */
	if (lease->releasing && !lease_is_ours(lease))
		lease->state = RH_LEASE_RELEASED;
}

void rh_lease_release(struct rh_lease *lease)
{
	lease->releasing = true;
	if (lease->in_progress == LEASE_IDLE && lease->state <= RH_LEASE_FORBIDDEN && !lease_is_ours(lease))
		lease->state = RH_LEASE_RELEASED;
}

bool rh_lease_works(const struct rh_lease *lease, int64_t now)
{
	return lease_works(lease) && now < lease->proof + lease->renew_deadline;
}

enum rh_lease_state rh_lease_look(struct rh_lease *lease, int64_t now)
{
	if (lease_works(lease) && !rh_lease_works(lease, now))
		lease->state = RH_LEASE_LOST;
	return lease->state;
}

int64_t rh_lease_deadline(const struct rh_lease *lease)
{
	int64_t lost = lease_works(lease) ? lease->proof + lease->renew_deadline : RH_NEVER;
	int64_t next = lease->releasing ? 0 : lease->due;

	if (lease->state > RH_LEASE_FORBIDDEN)
		return RH_NEVER;
	if (lease->in_progress != LEASE_IDLE)
		return lost;
	return next < lost ? next : lost;
}
