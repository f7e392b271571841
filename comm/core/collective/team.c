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
#define HOST_ROOM 128
#define BOOT_ROOM 64
#define GROUP_ROOM 120

/* What a rank publishes about its host. */
struct team_place {
	char host[HOST_ROOM];
	cpu_set_t processors; /* that it may run on */
};

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

/*
 * Two processes of one user in the same PID namespace, on the same boot of a machine, share memory: each can open what
 * the other has open. Unless RH_COMM_SHM says "off", or another word than the other's. The first word is the machine;
 * without a second one it shares with none.
 */
static void team_host_id(char *text)
{
	char boot[BOOT_ROOM];
	struct stat space = {0};
	const char *word = getenv("RH_COMM_SHM");

	team_boot_id(boot, sizeof(boot));
	if (stat("/proc/self/ns/pid", &space) < 0 || boot[0] == '\0' || (word && strcmp(word, "off") == 0))
		(void)snprintf(text, HOST_ROOM, "%s", boot);
	else
		(void)snprintf(text, HOST_ROOM, "%s %llx %lx %.20s", boot, (unsigned long long)space.st_ino,
		               (unsigned long)geteuid(), word ? word : "");
}

/* The number of a host is that of its first rank, counted over the hosts found so far. An id of one word shares with
 * none. */
static int32_t team_number(char (*ids)[HOST_ROOM], int32_t *count, const char *id)
{
	for (int32_t i = 0; i < *count && strchr(id, ' '); i++) {
		if (strcmp(ids[i], id) == 0)
			return i;
	}
	(void)snprintf(ids[*count], HOST_ROOM, "%s", id);
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

static int32_t team_collect(struct rh_comm *comm, char (*ids)[HOST_ROOM], struct rh_comm_error *err)
{
	char boot[BOOT_ROOM];
	cpu_set_t processors;
	int32_t count = 0;
	int32_t near = 0;

	team_boot_id(boot, sizeof(boot));
	CPU_ZERO(&processors);
	for (int32_t rank = 0; rank < comm->size; rank++) {
		struct team_place place = {0};
		char key[32];
		int64_t n;

		(void)snprintf(key, sizeof(key), "host/%d", (int)rank);
		n = rh_comm_get(comm, key, &place, sizeof(place), err);
		if (n == RH_COMM_ETIME)
			return rh_comm_fail(err, RH_COMM_ETIME, rank, "rank %d of %d did not come in time", (int)rank,
			                    (int)comm->size);
		if (n < 0)
			return (int32_t)n;
		place.host[HOST_ROOM - 1] = '\0';
		comm->world->hosts[rank] = team_number(ids, &count, place.host);
		if (boot[0] == '\0' || strncmp(place.host, boot, strlen(boot)) != 0)
			continue;
		near++;
		CPU_OR(&processors, &processors, &place.processors);
	}
	comm->world->crowded = team_is_crowded(near, &processors);
	return 0;
}

int32_t rh_comm_find_hosts(struct rh_comm *comm, struct rh_comm_error *err)
{
	char(*ids)[HOST_ROOM] = calloc((size_t)comm->size, sizeof(*ids));
	struct team_place own = {0};
	char key[32];
	int32_t r = 0;

	comm->world->hosts = calloc((size_t)comm->size, sizeof(*comm->world->hosts));
	if (!ids || !comm->world->hosts) {
		free(ids);
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	}
	if (comm->size > 1) {
		team_host_id(own.host);
		(void)sched_getaffinity(0, sizeof(own.processors), &own.processors);
		(void)snprintf(key, sizeof(key), "host/%d", (int)comm->rank);
		r = rh_comm_put(comm, key, &own, sizeof(own), err);
		if (r == 0)
			r = team_collect(comm, ids, err);
	}
	free(ids);
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
	char text[RH_COMM_TUNE_ROOM + 32] = "";
	char *table = NULL;
	int32_t r = 0;
	int64_t n;

	if (comm->rank == 0) {
		r = rh_comm_tune_parse(world->env.tune, &world->tune, err);
		(void)snprintf(text, sizeof(text), "%zu %s", world->env.fusion, world->env.tune);
		return r < 0 || comm->size == 1 ? r : rh_comm_put(comm, "tune", text, strlen(text), err);
	}
	n = rh_comm_get(comm, "tune", text, sizeof(text) - 1, err);
	if (n < 0)
		return (int32_t)n;
	/* buckets of other lengths would never meet */
	world->env.fusion = (size_t)strtoull(text, &table, 10);
	return rh_comm_tune_parse(table + (*table == ' '), &world->tune, err);
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
