/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend is given: who is where, values of the other ranks, settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "comm/core/context.h"
#include "comm/core/error.h"
#include "comm/core/reduce.h"

#define KEY_ROOM 256
#define HOST_ROOM 128

static int32_t team_key(const struct rh_comm *comm, const char *key, char *text)
{
	return snprintf(text, KEY_ROOM, "%s%s", comm->prefix, key) < KEY_ROOM ? 0 : RH_COMM_EINVAL;
}

int32_t rh_comm_put(struct rh_comm *comm, const char *key, const void *value, size_t length, struct rh_comm_error *err)
{
	char text[KEY_ROOM];
	int32_t r = team_key(comm, key, text);

	if (r == 0)
		r = rh_comm_line_put(comm->world->line, text, value, length);
	return r < 0 ? rh_comm_fail(err, r, RH_COMM_NO_RANK, "\"%s\" cannot be published: %s", key, rh_comm_status_text(r))
	             : 0;
}

int64_t rh_comm_get(struct rh_comm *comm, const char *key, void *value, size_t room, struct rh_comm_error *err)
{
	char text[KEY_ROOM];

	if (team_key(comm, key, text) < 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the key \"%s\" is too long", key);
	return rh_comm_line_get(comm->world->line, text, value, room, comm->deadline, err);
}

/* Two processes with the same /dev/shm, on the same boot of a machine, share memory. */
static void team_host_id(char *text)
{
	char boot[64] = "";
	struct stat shm = {0};
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	const char *off = getenv("RH_COMM_SHM");

	if (file) {
		if (!fgets(boot, sizeof(boot), file))
			boot[0] = '\0';
		boot[strcspn(boot, "\n")] = '\0';
		(void)fclose(file);
	}
	if (stat("/dev/shm", &shm) < 0 || boot[0] == '\0' || (off && strcmp(off, "off") == 0))
		text[0] = '\0';
	else
		(void)snprintf(text, HOST_ROOM, "%s %llx %llx", boot, (unsigned long long)shm.st_dev,
		               (unsigned long long)shm.st_ino);
}

/* The number of a host is that of its first rank, counted over the hosts found so far. An empty id shares with none. */
static int32_t team_number(char (*ids)[HOST_ROOM], int32_t *count, const char *id)
{
	for (int32_t i = 0; i < *count && id[0]; i++) {
		if (strcmp(ids[i], id) == 0)
			return i;
	}
	(void)snprintf(ids[*count], HOST_ROOM, "%s", id);
	return (*count)++;
}

static int32_t team_collect(struct rh_comm *comm, char (*ids)[HOST_ROOM], struct rh_comm_error *err)
{
	int32_t count = 0;

	for (int32_t rank = 0; rank < comm->size; rank++) {
		char id[HOST_ROOM] = "";
		char key[32];
		int64_t n;

		(void)snprintf(key, sizeof(key), "host/%d", (int)rank);
		n = rh_comm_get(comm, key, id, sizeof(id) - 1, err);
		if (n < 0)
			return (int32_t)n;
		id[n] = '\0';
		comm->world->hosts[rank] = team_number(ids, &count, id);
	}
	return 0;
}

int32_t rh_comm_find_hosts(struct rh_comm *comm, struct rh_comm_error *err)
{
	char(*ids)[HOST_ROOM] = calloc((size_t)comm->size, sizeof(*ids));
	char own[HOST_ROOM];
	char key[32];
	int32_t r = 0;

	comm->world->hosts = calloc((size_t)comm->size, sizeof(*comm->world->hosts));
	if (!ids || !comm->world->hosts) {
		free(ids);
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	}
	if (comm->size > 1) {
		team_host_id(own);
		(void)snprintf(key, sizeof(key), "host/%d", (int)comm->rank);
		r = rh_comm_put(comm, key, own, strlen(own), err);
		if (r == 0)
			r = team_collect(comm, ids, err);
	}
	free(ids);
	return r;
}

static int32_t team_put(void *core, const char *key, const void *value, size_t length)
{
	struct rh_comm *comm = core;

	return rh_comm_put(comm, key, value, length, &comm->said);
}

static int64_t team_get(void *core, const char *key, void *value, size_t room)
{
	struct rh_comm *comm = core;

	return rh_comm_get(comm, key, value, room, &comm->said);
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

	return rh_comm_fail(&comm->said, code, rank, "%s: %s", comm->module.backend->name, text);
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
	                                   .divide = rh_comm_divide};
}
