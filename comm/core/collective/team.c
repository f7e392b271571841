/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend is given: who is where, values of the other ranks, settings. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/collective/team.h"
#include "comm/core/error.h"
#include "comm/core/group.h"
#include "comm/core/thread.h"

#define KEY_ROOM 256
/* a UUID, and its end */
#define BOOT_ROOM 40
#define WORD_ROOM 24
#define GROUP_ROOM 120

/*
 * What a rank publishes about its host. Two processes of one user in the same PID namespace, on the same boot of a
 * machine, share memory: each can open what the other has open. Unless RH_COMM_SHM says "off", or another word than the
 * other's.
 */
struct team_host {
	uint32_t shares_memory; /* 0: with nobody */
	uint32_t user;
	uint64_t pid_namespace; /* its inode */
	char boot[BOOT_ROOM];   /* boot id of the machine; "": not known */
	char word[WORD_ROOM];   /* of RH_COMM_SHM; "": none */
	cpu_set_t processors;   /* that it may run on */
};
_Static_assert(sizeof(struct team_host) == 16 + BOOT_ROOM + WORD_ROOM + 128, "no padding");

/* What rank 0 publishes for collectives. */
struct team_tune {
	uint64_t fusion; /* bytes of a bucket: buckets of other lengths would never meet */
	char table[RH_COMM_TUNE_ROOM];
};
_Static_assert(sizeof(struct team_tune) == 8 + RH_COMM_TUNE_ROOM, "no padding");

static int32_t team_key(const struct rh_comm *comm, const char *key, char *text)
{
	return snprintf(text, KEY_ROOM, "%s%s", comm->prefix, key) < KEY_ROOM ? 0 : RH_COMM_EINVAL;
}

int32_t rh_comm_put(struct rh_comm *comm, const char *key, const void *value, size_t length, struct rh_comm_error *err)
{
	char text[KEY_ROOM];
	int32_t r = team_key(comm, key, text);

	if (r == 0)
		r = rh_comm_client_put(comm->world->client, text, value, length);
	/* the reason for the end of the world is the better message */
	if (r < 0 && rh_comm_world_check(comm->world, err) < 0)
		return rh_comm_world_check(comm->world, NULL);
	return r < 0 ? rh_comm_fail(err, r, RH_COMM_NO_RANK, "\"%s\" cannot be published: %s", key, rh_comm_status_text(r))
	             : 0;
}

int64_t rh_comm_get(struct rh_comm *comm, const char *key, void *value, size_t room, struct rh_comm_error *err)
{
	char text[KEY_ROOM];

	if (team_key(comm, key, text) < 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the key \"%s\" is too long", key);
	return rh_comm_client_get(comm->world->client, text, value, room, comm->deadline, err);
}

static void team_boot_id(char *text, size_t room)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	text[0] = '\0';
	if (!file)
		return;
	if (!fgets(text, (int)room, file))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	(void)fclose(file);
}

static void team_find_host(struct team_host *host)
{
	struct stat space = {0};
	const char *word = getenv("RH_COMM_SHM");

	*host = (struct team_host){.user = geteuid()};
	team_boot_id(host->boot, sizeof(host->boot));
	(void)sched_getaffinity(0, sizeof(host->processors), &host->processors);
	if (word)
		(void)snprintf(host->word, sizeof(host->word), "%s", word);
	if (stat("/proc/self/ns/pid", &space) == 0)
		host->pid_namespace = space.st_ino;
	host->shares_memory = host->pid_namespace != 0 && host->boot[0] != '\0' && (!word || strcmp(word, "off") != 0);
}

static bool team_share_memory(const struct team_host *a, const struct team_host *b)
{
	return a->shares_memory && b->shares_memory && a->user == b->user && a->pid_namespace == b->pid_namespace &&
	       strcmp(a->boot, b->boot) == 0 && strcmp(a->word, b->word) == 0;
}

/* The number of a host is that of its first rank, counted over the hosts found so far. */
static int32_t team_number(struct team_host *hosts, int32_t *count, const struct team_host *host)
{
	for (int32_t i = 0; i < *count; i++) {
		if (team_share_memory(&hosts[i], host))
			return i;
	}
	hosts[*count] = *host;
	return (*count)++;
}

/*
 * A launcher may have bound each rank to a processor of its own: what counts are those of all ranks of the machine,
 * unless a quota of the cgroup allows less.
 */
static bool team_is_crowded(int32_t ranks, const cpu_set_t *processors)
{
	int count = rh_comm_processors();
	cpu_set_t own;

	if (sched_getaffinity(0, sizeof(own), &own) == 0 && count >= CPU_COUNT(&own))
		count = CPU_COUNT(processors);
	return ranks > count;
}

static int32_t team_get_host(struct rh_comm *comm, int32_t rank, struct team_host *host, struct rh_comm_error *err)
{
	char key[32];
	int64_t n;

	(void)snprintf(key, sizeof(key), "host/%d", (int)rank);
	n = rh_comm_get(comm, key, host, sizeof(*host), err);
	if (n == RH_COMM_ETIME)
		return rh_comm_fail(err, RH_COMM_ETIME, rank, "rank %d of %d did not come in time", (int)rank, (int)comm->size);
	if (n < 0)
		return (int32_t)n;
	if (n != sizeof(*host) || !memchr(host->boot, '\0', BOOT_ROOM) || !memchr(host->word, '\0', WORD_ROOM))
		return rh_comm_fail(err, RH_COMM_EIO, rank, "what rank %d published about its host is malformed", (int)rank);
	return 0;
}

/* @param hosts room for one of each rank. @param own of this rank */
static int32_t team_collect(struct rh_comm *comm, struct team_host *hosts, const struct team_host *own,
                            struct rh_comm_error *err)
{
	cpu_set_t processors;
	int32_t count = 0;
	int32_t near = 0;

	CPU_ZERO(&processors);
	for (int32_t rank = 0; rank < comm->size; rank++) {
		struct team_host host;
		int32_t r = team_get_host(comm, rank, &host, err);

		if (r < 0)
			return r;
		comm->world->hosts[rank] = team_number(hosts, &count, &host);
		if (own->boot[0] == '\0' || strcmp(host.boot, own->boot) != 0)
			continue;
		near++;
		CPU_OR(&processors, &processors, &host.processors);
	}
	comm->world->crowded = team_is_crowded(near, &processors);
	return 0;
}

int32_t rh_comm_find_hosts(struct rh_comm *comm, struct rh_comm_error *err)
{
	struct team_host *hosts = calloc((size_t)comm->size, sizeof(*hosts));
	struct team_host own;
	char key[32];
	int32_t r = 0;

	comm->world->hosts = calloc((size_t)comm->size, sizeof(*comm->world->hosts));
	if (!hosts || !comm->world->hosts) {
		free(hosts);
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	}
	if (comm->size > 1) {
		team_find_host(&own);
		(void)snprintf(key, sizeof(key), "host/%d", (int)comm->rank);
		r = rh_comm_put(comm, key, &own, sizeof(own), err);
		if (r == 0)
			r = team_collect(comm, hosts, &own, err);
	}
	free(hosts);
	return r;
}

static int32_t team_put(void *core, const char *key, const void *value, size_t length)
{
	struct rh_comm *comm = core;

	return rh_comm_put(comm, key, value, length, &comm->error);
}

static int64_t team_get(void *core, const char *key, void *value, size_t room)
{
	struct rh_comm *comm = core;

	return rh_comm_get(comm, key, value, room, &comm->error);
}

/* RH_COMM_<NAME>_<KEY> */
static const char *team_setting(void *core, const char *key)
{
	const struct rh_comm *comm = core;
	char name[96];

	(void)snprintf(name, sizeof(name), "RH_COMM_%s_%s", comm->module.backend->name, key);
	for (char *at = name; *at; at++) {
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
	}
	return getenv(name);
}

static int32_t team_fail(void *core, int32_t code, int32_t rank, const char *text)
{
	struct rh_comm *comm = core;
	const char *name = comm->module.backend->name;
	char group[GROUP_ROOM];

	/* a backend knows ranks of its team, and people those of the world */
	rank = rh_comm_world_rank(comm, rank);
	if (rank == RH_COMM_NO_RANK)
		return rh_comm_fail(&comm->error, code, rank, "%s: %s", name, text);
	return rh_comm_fail(&comm->error, code, rank, "%s: rank %d%s: %s", name, (int)rank,
	                    rh_comm_group_text(comm, group, sizeof(group)), text);
}

static void team_tuned(void *core, int32_t what, size_t bytes, const char **ret_algorithm, size_t *ret_chunk)
{
	const struct rh_comm *comm = core;
	struct rh_comm_rule rule = {0};

	if (comm->world->tune.count > 0)
		rule = rh_comm_tune_find(&comm->world->tune, what, bytes, comm->size);
	*ret_algorithm = rule.algorithm;
	*ret_chunk = rule.chunk;
}

static int32_t team_check(void *core)
{
	const struct rh_comm *comm = core;

	return rh_comm_world_check(comm->world, NULL);
}

int32_t rh_comm_share_tune(struct rh_comm *comm, struct rh_comm_error *err)
{
	struct rh_comm_world *world = comm->world;
	struct team_tune tune = {.fusion = world->env.fusion};
	int64_t n;

	if (comm->rank == 0) {
		int32_t r = rh_comm_tune_parse(world->env.tune, &world->tune, err);

		if (r < 0 || comm->size == 1)
			return r;
		memcpy(tune.table, world->env.tune, strlen(world->env.tune));
		return rh_comm_put(comm, "tune", &tune, sizeof(tune), err);
	}
	n = rh_comm_get(comm, "tune", &tune, sizeof(tune), err);
	if (n < 0)
		return (int32_t)n;
	if (n != sizeof(tune) || !memchr(tune.table, '\0', sizeof(tune.table)))
		return rh_comm_fail(err, RH_COMM_EIO, 0, "the table of algorithms that rank 0 published is malformed");
	world->env.fusion = (size_t)tune.fusion;
	return rh_comm_tune_parse(tune.table, &world->tune, err);
}

void rh_comm_team_init(struct rh_comm *comm)
{
	comm->local_rank = 0;
	comm->local_world = 0;
	for (int32_t rank = 0; rank < comm->size; rank++) {
		if (comm->hosts[rank] != comm->hosts[comm->rank])
			continue;
		comm->local_rank += rank < comm->rank;
		comm->local_world++;
	}
	comm->team = (struct rh_comm_team){.head = RH_COMM_HEAD(struct rh_comm_team),
	                                   .rank = comm->rank,
	                                   .world = comm->size,
	                                   .local_rank = comm->local_rank,
	                                   .local_world = comm->local_world,
	                                   .hosts = comm->hosts,
	                                   .deadline = comm->deadline,
	                                   .death_timeout = comm->world->env.death_timeout,
	                                   .address = comm->world->address,
	                                   .core = comm,
	                                   .put = team_put,
	                                   .get = team_get,
	                                   .setting = team_setting,
	                                   .fail = team_fail,
	                                   .reduce = rh_comm_reduce,
	                                   .divide = rh_comm_divide,
	                                   .tuned = team_tuned,
	                                   .crowded = comm->world->crowded,
	                                   .check = team_check};
}
