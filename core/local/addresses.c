/* SPDX-License-Identifier: Apache-2.0 */
#include "local/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/os/random.h"
#include "build/fabric.h"
#include "job/values/names.h"
#include "job/values/patterns.h"

#define ADDRESSES_EPHEMERAL "/proc/sys/net/ipv4/ip_local_port_range"
/* Blocks 127.1.*.* to 127.254.*.*: distributions use 127.0.*.* themselves. */
#define ADDRESSES_BLOCK_FIRST 0x100
#define ADDRESSES_BLOCK_COUNT 0xfe00
#define ADDRESSES_BLOCK_TRIES 2048
#define ADDRESSES_HOSTS_PER_BLOCK 254
#define ADDRESSES_PORTS 65536

/* The plan of one job. */
struct addresses_job {
	const struct rh_kind *kind;
	char *uid;
	char *name;
	char *namespace_;
	int32_t attempt;
	struct rh_addresses plan;
	bool *held; /* for each place of the plan whether its port is held: shared ports are held once, a user's own may not
	               be */
};

struct rh_address_pool {
	const struct rh_config *config;
	struct rh_locks *locks;
	rh_address_note_fn *note;
	void *arg;
	int32_t first; /* range of ports */
	int32_t last;
	int32_t skip_first; /* ephemeral ports, which are left out */
	int32_t skip_last;
	int32_t cursor; /* next port to try */
	int32_t block;  /* block that addresses come from; -1: none yet */
	int32_t hosts;  /* addresses of it in use */
	struct addresses_job *jobs;
	size_t job_count;
	uint8_t taken[ADDRESSES_PORTS / 8]; /* ports that this process holds */
};

/* One plan under construction. */
struct addresses_draft {
	struct rh_address_pool *pool;
	const struct rh_job *job;
	const struct addresses_job *old; /* NULL: the job has no plan yet */
	struct addresses_job next;
	size_t capacity;
	struct rh_error *err;
};

static bool addresses_is_taken(const struct rh_address_pool *pool, int32_t port)
{
	return (pool->taken[port / 8] >> (port % 8) & 1) != 0;
}

static void addresses_set_taken(struct rh_address_pool *pool, int32_t port, bool taken)
{
	uint8_t bit = (uint8_t)(1U << (port % 8));

	pool->taken[port / 8] = (uint8_t)(taken ? pool->taken[port / 8] | bit : pool->taken[port / 8] & ~bit);
}

bool rh_address_is_free(int32_t port)
{
	struct sockaddr_in6 to = {
		.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = IN6ADDR_ANY_INIT};
	struct sockaddr_in to4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	rh_auto_close int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int off = 0;

	if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0)
		return bind(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
	if (fd >= 0)
		(void)close(fd);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && bind(fd, (const struct sockaddr *)&to4, sizeof(to4)) == 0;
}

static bool addresses_bind_one(const char *host, int32_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	rh_auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && inet_pton(AF_INET, host, &to.sin_addr) == 1 &&
	       bind(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
}

/* Hold `port` on every interface. */
static bool addresses_hold(struct rh_address_pool *pool, int32_t port)
{
	if (addresses_is_taken(pool, port) || !rh_locks_take(pool->locks, RH_LOCK_PORT + port))
		return false;
	if (!rh_address_is_free(port)) {
		rh_locks_drop(pool->locks, RH_LOCK_PORT + port);
		return false;
	}
	addresses_set_taken(pool, port, true);
	return true;
}

static void addresses_drop(struct rh_address_pool *pool, int32_t port)
{
	rh_locks_drop(pool->locks, RH_LOCK_PORT + port);
	addresses_set_taken(pool, port, false);
}

static int addresses_fresh_port(struct rh_address_pool *pool, int32_t *ret_port, struct rh_error *err)
{
	for (int32_t tries = pool->last - pool->first; tries >= 0; tries--) {
		int32_t port = pool->cursor;

		pool->cursor = port == pool->last ? pool->first : port + 1;
		if (port >= pool->skip_first && port <= pool->skip_last)
			continue;
		if (addresses_hold(pool, port)) {
			*ret_port = port;
			return 0;
		}
	}
	return rh_fail(err, RH_EAGAIN, "no port between %d and %d is free; set another range: [local] ports",
	               (int)pool->first, (int)pool->last);
}

static uint32_t addresses_random(uint32_t below)
{
	uint64_t state = rh_random_seed();

	return (uint32_t)rh_random_below(&state, below);
}

static int addresses_take_block(struct rh_address_pool *pool, struct rh_error *err)
{
	uint32_t start = addresses_random(ADDRESSES_BLOCK_COUNT);

	for (uint32_t i = 0; i < ADDRESSES_BLOCK_TRIES; i++) {
		int32_t block = (int32_t)(ADDRESSES_BLOCK_FIRST + (start + i) % ADDRESSES_BLOCK_COUNT);

		/* blocks are released only at the end, so one that is found again is our own */
		if (block != pool->block && rh_locks_take(pool->locks, RH_LOCK_BLOCK + block)) {
			pool->block = block;
			pool->hosts = 0;
			return 0;
		}
	}
	return rh_fail(err, RH_EAGAIN, "no block of loopback addresses is free");
}

static int addresses_fresh_host(struct rh_address_pool *pool, char *host, size_t size, struct rh_error *err)
{
	if (pool->block < 0 || pool->hosts == ADDRESSES_HOSTS_PER_BLOCK) {
		int r = addresses_take_block(pool, err);

		if (r < 0)
			return r;
	}
	pool->hosts++;
	(void)snprintf(host, size, "127.%d.%d.%d", (int)(pool->block / 256), (int)(pool->block % 256), (int)pool->hosts);
	return 0;
}

static bool addresses_binds_all(const struct rh_job *job)
{
	return (job->kind->flags & RH_KIND_BINDS_ALL) != 0;
}

static bool addresses_shares_port(const struct rh_job *job)
{
	return (job->kind->flags & RH_KIND_SHARED_PORT) != 0 && !addresses_binds_all(job);
}

static void addresses_note_moved(const struct addresses_draft *draft, const struct rh_address *place, int32_t requested)
{
	char text[256];

	if (!draft->pool->note)
		return;
	(void)snprintf(text, sizeof(text), "%s: port %d of %s %d is in use on this machine; it gets port %d",
	               draft->job->name, (int)requested, place->type, (int)place->index, (int)place->port);
	draft->pool->note(draft->pool->arg, text);
}

/* Whether `job` holds `port` for one of its places. */
static bool addresses_holds(const struct addresses_job *job, int32_t port)
{
	for (size_t i = 0; job && i < job->plan.count; i++) {
		if (job->held[i] && job->plan.items[i].port == port)
			return true;
	}
	return false;
}

static bool addresses_holds_comm(const struct addresses_job *job, int32_t port)
{
	for (size_t i = 0; job && i < job->plan.count; i++) {
		if (job->plan.items[i].comm_port == port)
			return true;
	}
	return false;
}

/* Keep the user's own port where it is free: on the replica's address, or everywhere when the kind's servers bind
 * everywhere. */
static bool addresses_keep_own(const struct addresses_draft *draft, struct rh_address *place, int32_t own,
                               bool *ret_held)
{
	bool everywhere = addresses_binds_all(draft->job);

	if (own == 0)
		return false;
	if (everywhere && addresses_holds(draft->old, own) && !addresses_holds(&draft->next, own)) {
		place->port = own; /* the attempt before had it */
		*ret_held = true;
		return true;
	}
	if (everywhere ? !addresses_hold(draft->pool, own) : !addresses_bind_one(place->host, own))
		return false;
	place->port = own;
	*ret_held = everywhere;
	return true;
}

static int addresses_choose_port(const struct addresses_draft *draft, const struct rh_replica_spec *spec,
                                 struct rh_address *place, bool *ret_held)
{
	int32_t own = rh_job_own_port(draft->job, spec);
	int r;

	if (place->index > 0 && addresses_shares_port(draft->job)) {
		place->port = place[-1].port; /* that of index 0, the previous place */
		return 0;
	}
	if (addresses_keep_own(draft, place, own, ret_held))
		return 0;
	r = addresses_fresh_port(draft->pool, &place->port, draft->err);
	if (r < 0)
		return r;
	*ret_held = true;
	/* replicas of one type cannot share the port of their template when every interface is bound: no note */
	if (own != 0 && place->index == 0)
		addresses_note_moved(draft, place, own);
	return 0;
}

static int addresses_grow(struct addresses_draft *draft)
{
	struct addresses_job *next = &draft->next;
	size_t capacity = draft->capacity > 0 ? draft->capacity * 2 : 8;
	struct rh_address *items;
	bool *held;

	if (next->plan.count < draft->capacity)
		return 0;
	items = rh_realloc_array(next->plan.items, capacity, sizeof(*items));
	if (!items)
		return rh_fail_oom(draft->err);
	next->plan.items = items;
	held = rh_realloc_array(next->held, capacity, sizeof(*held));
	if (!held)
		return rh_fail_oom(draft->err);
	next->held = held;
	draft->capacity = capacity;
	return 0;
}

static bool addresses_held(const struct addresses_job *job, const struct rh_address *place)
{
	return job->held[place - job->plan.items];
}

/* Of index 0 of each type: which of them is rank 0 is not known here. */
static int addresses_comm_port(const struct addresses_draft *draft, struct rh_address *place)
{
	if (place->index > 0 || !rh_fabric_backend(draft->pool->config, draft->job))
		return 0;
	return addresses_fresh_port(draft->pool, &place->comm_port, draft->err);
}

/* Append the place of one replica; on failure nothing is appended and nothing held. */
static int addresses_place(struct addresses_draft *draft, const struct rh_replica_spec *spec, int32_t index)
{
	const struct addresses_job *old = draft->old;
	struct rh_address *place;
	const struct rh_address *before;
	bool held = false;
	int r = addresses_grow(draft);

	if (r < 0)
		return r;
	place = &draft->next.plan.items[draft->next.plan.count];
	*place = (struct rh_address){
		.index = index,
		.unindexed = spec->known && (spec->known->flags & RH_REPLICA_UNINDEXED),
	};
	rh_copy(place->type, sizeof(place->type), spec->type);
	before = old ? rh_addresses_find(&old->plan, place->type, index) : NULL;
	if (before)
		rh_copy(place->host, sizeof(place->host), before->host);
	else
		r = addresses_fresh_host(draft->pool, place->host, sizeof(place->host), draft->err);
	if (before && old->attempt == draft->next.attempt) {
		place->port = before->port;
		place->comm_port = before->comm_port;
		held = addresses_held(old, before);
	} else {
		if (r == 0)
			r = addresses_comm_port(draft, place);
		if (r == 0)
			r = addresses_choose_port(draft, spec, place, &held);
		if (r < 0 && place->comm_port)
			addresses_drop(draft->pool, place->comm_port);
	}
	if (r < 0)
		return r;
	draft->next.held[draft->next.plan.count++] = held;
	return 0;
}

/* Give back the ports that `job` holds, but not those that `keeper` (may be NULL) took over. */
static void addresses_release(struct rh_address_pool *pool, const struct addresses_job *job,
                              const struct addresses_job *keeper)
{
	for (size_t i = 0; i < job->plan.count; i++) {
		int32_t port = job->plan.items[i].port;

		if (job->held[i] && !addresses_holds(keeper, port))
			addresses_drop(pool, port);
		if (job->plan.items[i].comm_port && !addresses_holds_comm(keeper, job->plan.items[i].comm_port))
			addresses_drop(pool, job->plan.items[i].comm_port);
	}
}

static void addresses_job_deinit(struct addresses_job *job)
{
	rh_free(job->uid);
	rh_free(job->name);
	rh_free(job->namespace_);
	rh_addresses_deinit(&job->plan);
	rh_free(job->held);
	*job = (struct addresses_job){0};
}

static struct addresses_job *addresses_job_of(const struct rh_address_pool *pool, const char *uid)
{
	for (size_t i = 0; i < pool->job_count; i++) {
		if (strcmp(pool->jobs[i].uid, uid) == 0)
			return &pool->jobs[i];
	}
	return NULL;
}

/* The kind's order of types is not that of the alphabet, which the plan has: so spec by spec, smallest name first. */
static const struct rh_replica_spec *addresses_next_spec(const struct rh_job *job, const struct rh_replica_spec *after)
{
	const struct rh_replica_spec *found = NULL;

	for (size_t i = 0; i < job->spec_count; i++) {
		const struct rh_replica_spec *spec = &job->specs[i];

		if ((!after || strcmp(spec->type, after->type) > 0) && (!found || strcmp(spec->type, found->type) < 0))
			found = spec;
	}
	return found;
}

static int addresses_draft_all(struct addresses_draft *draft)
{
	struct addresses_job *next = &draft->next;
	const struct rh_replica_spec *spec = NULL;

	next->kind = draft->job->kind;
	next->uid = rh_strdup(draft->job->uid);
	next->name = rh_strdup(draft->job->name);
	next->namespace_ = rh_strdup(draft->job->namespace_);
	if (!next->uid || !next->name || !next->namespace_)
		return rh_fail_oom(draft->err);
	while ((spec = addresses_next_spec(draft->job, spec))) {
		for (int32_t i = 0; i < spec->replicas; i++) {
			int r = addresses_place(draft, spec, i);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int addresses_copy(const struct rh_addresses *from, struct rh_addresses *to, struct rh_error *err)
{
	if (from->count == 0)
		return 0;
	to->items = rh_alloc_array(from->count, sizeof(*to->items));
	if (!to->items)
		return rh_fail_oom(err);
	memcpy(to->items, from->items, from->count * sizeof(*to->items));
	to->count = from->count;
	return 0;
}

/* Put the finished draft into the pool, in the place of the job's former plan. */
static int addresses_commit(struct rh_address_pool *pool, struct addresses_job *next, struct rh_error *err)
{
	struct addresses_job *old = addresses_job_of(pool, next->uid);
	struct addresses_job *jobs;

	if (old) {
		addresses_release(pool, old, next);
		addresses_job_deinit(old);
		*old = *next;
		return 0;
	}
	jobs = rh_realloc_array(pool->jobs, pool->job_count + 1, sizeof(*jobs));
	if (!jobs)
		return rh_fail_oom(err);
	pool->jobs = jobs;
	pool->jobs[pool->job_count++] = *next;
	return 0;
}

int rh_address_pool_plan(struct rh_address_pool *pool, const struct rh_job *job, int32_t attempt,
                         struct rh_addresses *ret_addresses, struct rh_error *err)
{
	struct addresses_draft draft = {.pool = pool, .job = job, .err = err};
	int r;

	draft.old = addresses_job_of(pool, job->uid);
	draft.next.attempt = attempt;
	r = addresses_draft_all(&draft);
	if (r == 0)
		r = addresses_copy(&draft.next.plan, ret_addresses, err);
	if (r == 0) {
		r = addresses_commit(pool, &draft.next, err);
		if (r == 0)
			return 0;
		rh_addresses_deinit(ret_addresses);
	}
	addresses_release(pool, &draft.next, draft.old);
	addresses_job_deinit(&draft.next);
	return rh_wrap(err, r, "addresses of %s %s", job->kind->kind, job->name);
}

const struct rh_address *rh_address_pool_find(const struct rh_address_pool *pool, const char *uid, const char *type,
                                              int32_t index)
{
	const struct addresses_job *job = addresses_job_of(pool, uid);

	for (size_t i = 0; job && i < job->plan.count;) {
		const struct rh_address *place = &job->plan.items[i];

		if (strcasecmp(place->type, type) == 0)
			return rh_addresses_find(&job->plan, place->type, index);
		while (i < job->plan.count && strcmp(job->plan.items[i].type, place->type) == 0)
			i++;
	}
	return NULL;
}

static void addresses_print_host(const struct addresses_job *job, const struct rh_address *place, struct rh_str *out)
{
	const struct rh_pattern_replica replica = {job->name, job->namespace_, job->uid, place->type,
	                                           place->unindexed ? -1 : place->index};
	char name[RH_NAME_SIZE];

	(void)rh_patterns_pod(job->kind, &replica, name);
	rh_str_appendf(out, "%s\t%s %s.%s %s.%s.svc %s.%s.svc.cluster.local", place->host, name, name, job->namespace_,
	               name, job->namespace_, name, job->namespace_);
	if (rh_patterns_has_host(job->kind)) {
		rh_str_append(out, " ");
		rh_patterns_host(job->kind, &replica, NULL, out);
	}
	rh_str_append(out, "\n");
}

void rh_address_pool_hosts(const struct rh_address_pool *pool, const char *namespace_, struct rh_str *out)
{
	for (size_t i = 0; i < pool->job_count; i++) {
		const struct addresses_job *job = &pool->jobs[i];

		for (size_t k = 0; k < job->plan.count && strcmp(job->namespace_, namespace_) == 0; k++)
			addresses_print_host(job, &job->plan.items[k], out);
	}
}

/* Ephemeral ports are given to any program's outgoing connections, so a server could find its port gone. */
static void addresses_read_ephemeral(struct rh_address_pool *pool)
{
	rh_auto_free char *text = NULL;
	int first = 0;
	int last = -1;

	if (rh_file_read(ADDRESSES_EPHEMERAL, 256, &text, NULL, NULL) < 0 || sscanf(text, "%d %d", &first, &last) != 2)
		last = -1;
	pool->skip_first = first;
	pool->skip_last = last;
	if (last < first || first > pool->first || last < pool->last)
		return;
	pool->skip_last = -1;
	if (pool->note)
		pool->note(pool->arg, "all ports of [local] ports are ephemeral ports of this machine (ip_local_port_range); "
		                      "an outgoing connection may take a replica's port");
}

int rh_address_pool_new(const struct rh_address_options *options, struct rh_address_pool **ret_pool,
                        struct rh_error *err)
{
	rh_auto(address_pool) pool = rh_alloc(sizeof(*pool));

	if (!pool)
		return rh_fail_oom(err);
	pool->config = options->config;
	pool->note = options->note;
	pool->arg = options->arg;
	pool->locks = options->locks;
	pool->first = options->config->port_first;
	pool->last = options->config->port_last;
	pool->block = -1;
	if (pool->first < 1 || pool->last >= ADDRESSES_PORTS || pool->first > pool->last)
		return rh_fail(err, RH_EINVAL,
		               "[local] ports = %d-%d is not a range of ports: write FIRST-LAST, from 1 to 65535",
		               (int)pool->first, (int)pool->last);
	pool->cursor = pool->first + (int32_t)addresses_random((uint32_t)(pool->last - pool->first + 1));
	addresses_read_ephemeral(pool);
	*ret_pool = rh_take(pool);
	return 0;
}

void rh_address_pool_free(struct rh_address_pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < pool->job_count; i++) {
		addresses_release(pool, &pool->jobs[i], NULL);
		addresses_job_deinit(&pool->jobs[i]);
	}
	rh_free(pool->jobs);
	rh_free(pool);
}
