/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/env.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"

/* Longest time that a variable may set. */
#define SECONDS_MAX 1000000000
#define PORT_MAX 65535
#define SLOW (10 * RH_COMM_SECOND)
#define FUSION (4 * 1024 * 1024)
#define FUSION_MAX (1024 * 1024 * 1024)
/* Ports for jobs whose launcher passes no address: below the ephemeral range. */
#define LAUNCHER_PORTS 20000
#define LAUNCHER_PORT_COUNT 12000

/* Sources of the rank. */
struct env_source {
	const char *rank;
	const char *world;
	bool mpi;
};

static const struct env_source env_sources[] = {
	{"RH_COMM_RANK", "RH_COMM_WORLD", false},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
	{"PMI_RANK", "PMI_SIZE", true},
	{"RANK", "WORLD_SIZE", false},
};

/* What is read, and the first source of it. */
struct env_reader {
	const struct rh_comm_options *options;
	struct rh_comm_variables variables;
	struct rh_comm_env env;
	const char *rank_source;
	const char *world_source;
	struct rh_comm_error *err;
};

const char *rh_comm_env_text(const struct rh_comm_variables *variables, const char *name)
{
	const char *text = variables->lookup(variables->arg, name);

	return text && text[0] ? text : NULL;
}

int32_t rh_comm_env_number(const struct rh_comm_variables *variables, const char *name, int64_t min, int64_t max,
                           int64_t *ret_value, struct rh_comm_error *err)
{
	const char *text = rh_comm_env_text(variables, name);
	char *end = NULL;
	long long value;

	if (!text)
		return 0;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || *end || value < min || value > max)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "%s: \"%s\" must be a whole number from %lld to %lld",
		                    name, text, (long long)min, (long long)max);
	*ret_value = value;
	return 1;
}

/* Take one number, unless another source has a different one. */
static int32_t env_agree(const struct env_reader *reader, int32_t *known, const char **source, const char *name,
                         int64_t value)
{
	if (*source && *known != value)
		return rh_comm_fail(
			reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			"%s gives %d and %s gives %lld: unset one of them, or set RH_COMM_RANK and RH_COMM_WORLD and "
			"unset both",
			*source, (int)*known, name, (long long)value);
	if (!*source) {
		*known = (int32_t)value;
		*source = name;
	}
	return 0;
}

static int32_t env_take_source(struct env_reader *reader, const struct env_source *source)
{
	int64_t rank = 0;
	int64_t world = 0;
	int32_t has_rank =
		rh_comm_env_number(&reader->variables, source->rank, 0, RH_COMM_WORLD_MAX - 1, &rank, reader->err);
	int32_t has_world =
		has_rank < 0 ? has_rank
					 : rh_comm_env_number(&reader->variables, source->world, 1, RH_COMM_WORLD_MAX, &world, reader->err);
	int32_t r;

	if (has_world < 0)
		return has_world;
	if (has_rank != has_world)
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "%s is set and %s is not: both are needed",
		                    has_rank ? source->rank : source->world, has_rank ? source->world : source->rank);
	if (!has_rank)
		return 0;
	reader->env.launched_by_mpi |= source->mpi;
	r = env_agree(reader, &reader->env.rank, &reader->rank_source, source->rank, rank);
	return r < 0 ? r : env_agree(reader, &reader->env.world, &reader->world_source, source->world, world);
}

/* Whether this launcher of MPI has the rank and world that the caller gave. */
static bool env_launcher_agrees(const struct env_reader *reader, const struct env_source *source)
{
	int64_t rank = -1;
	int64_t world = -1;

	return source->mpi &&
	       rh_comm_env_number(&reader->variables, source->rank, 0, RH_COMM_WORLD_MAX - 1, &rank, NULL) > 0 &&
	       rh_comm_env_number(&reader->variables, source->world, 1, RH_COMM_WORLD_MAX, &world, NULL) > 0 &&
	       rank == reader->env.rank && world == reader->env.world;
}

/* What the caller gives counts, whatever the variables have: a program that starts its ranks itself inherits some. */
static void env_take_options(struct env_reader *reader)
{
	reader->rank_source = "options.rank";
	reader->world_source = "options.world";
	reader->env.rank = reader->options->rank;
	reader->env.world = reader->options->world;
	for (size_t i = 0; i < sizeof(env_sources) / sizeof(*env_sources); i++)
		reader->env.launched_by_mpi |= env_launcher_agrees(reader, &env_sources[i]);
}

static int32_t env_take_sources(struct env_reader *reader)
{
	int32_t r = 0;

	for (size_t i = 0; i < sizeof(env_sources) / sizeof(*env_sources) && r == 0; i++)
		r = env_take_source(reader, &env_sources[i]);
	return r;
}

static int32_t env_read_ranks(struct env_reader *reader)
{
	int32_t r = 0;

	if (reader->options && reader->options->has_rank)
		env_take_options(reader);
	else
		r = env_take_sources(reader);
	if (r < 0)
		return r;
	if (!reader->rank_source)
		return rh_comm_fail(
			reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			"the rank is not known: set RH_COMM_RANK and RH_COMM_WORLD, or RANK and WORLD_SIZE, or start the "
			"program with mpirun");
	if (reader->env.world < 1 || reader->env.world > RH_COMM_WORLD_MAX || reader->env.rank < 0 ||
	    reader->env.rank >= reader->env.world)
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "%s is %d, which is not below %s, %d (at most %d)", reader->rank_source,
		                    (int)reader->env.rank, reader->world_source, (int)reader->env.world, RH_COMM_WORLD_MAX);
	return 0;
}

static int32_t env_read_address(struct env_reader *reader)
{
	const struct rh_comm_options *options = reader->options;
	int64_t port = options ? options->port : 0;
	int64_t master = 0;
	int32_t r = 0;

	reader->env.host = options && options->host ? options->host : rh_comm_env_text(&reader->variables, "RH_COMM_HOST");
	if (!reader->env.host)
		reader->env.host = rh_comm_env_text(&reader->variables, "MASTER_ADDR");
	if (!reader->env.host)
		reader->env.host = rh_comm_env_text(&reader->variables, "DMLC_PS_ROOT_URI");
	if (port == 0)
		r = rh_comm_env_number(&reader->variables, "RH_COMM_PORT", 1, PORT_MAX, &port, reader->err);
	/* the key-value store passes the port to the others */
	if (r == 0 && port == 0 && !(options && options->kv_set)) {
		/* MASTER_PORT itself is torch's */
		r = rh_comm_env_number(&reader->variables, "MASTER_PORT", 1, PORT_MAX - 1, &master, reader->err);
		port = r > 0 ? master + 1 : 0;
	}
	reader->env.port = (int32_t)port;
	return r < 0 ? r : 0;
}

/* What the launcher of MPI calls the job: equal in all its ranks, and in no other job's. */
static const char *env_launch(const struct env_reader *reader)
{
	static const char *const names[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_JOB_ID"};
	const char *text = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !text; i++)
		text = rh_comm_env_text(&reader->variables, names[i]);
	return text;
}

/* A launcher of MPI names no address. On one host none is needed: the job's name makes the port. */
static int32_t env_guess_address(struct env_reader *reader)
{
	const char *launch = env_launch(reader);
	int64_t local = 0;
	uint32_t hash = 2166136261U;
	int32_t r = 0;

	if (reader->env.host || !reader->env.launched_by_mpi || !launch)
		return 0;
	r = rh_comm_env_number(&reader->variables, "OMPI_COMM_WORLD_LOCAL_SIZE", 1, RH_COMM_WORLD_MAX, &local, reader->err);
	if (r == 0)
		r = rh_comm_env_number(&reader->variables, "MPI_LOCALNRANKS", 1, RH_COMM_WORLD_MAX, &local, reader->err);
	if (r < 0)
		return r;
	if (local != reader->env.world)
		return 0;
	for (const char *at = launch; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 16777619U;
	reader->env.host = "127.0.0.1";
	if (reader->env.port == 0)
		reader->env.port = LAUNCHER_PORTS + (int32_t)(hash % LAUNCHER_PORT_COUNT);
	(void)snprintf(reader->env.job_text, sizeof(reader->env.job_text), "mpi %s", launch);
	return 0;
}

static int32_t env_check_address(const struct env_reader *reader)
{
	if (reader->env.world == 1 || (reader->options && reader->options->kv_set))
		return 0;
	if (!reader->env.host)
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "the address of rank 0 is missing: set RH_COMM_HOST, or MASTER_ADDR%s",
		                    reader->env.launched_by_mpi
		                        ? " (with more than one host mpirun does not pass it; its option "
		                          "-x passes the variable on)"
		                        : "");
	if (reader->env.port == 0)
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "the port of rank 0 is missing: set RH_COMM_PORT, or MASTER_PORT (then it is the "
		                    "one after it)");
	return 0;
}

int32_t rh_comm_env_time(const struct rh_comm_variables *variables, const char *name, int64_t option, int64_t fallback,
                         int64_t *ret_time, struct rh_comm_error *err)
{
	int64_t seconds = 0;
	int32_t r;

	if (option != 0) {
		*ret_time = option < 0 ? RH_COMM_NEVER : option;
		return 0;
	}
	r = rh_comm_env_number(variables, name, 1, SECONDS_MAX, &seconds, err);
	if (r < 0)
		return r;
	*ret_time = r > 0 ? seconds * RH_COMM_SECOND : fallback;
	return 0;
}

static int32_t env_read_time(const struct env_reader *reader, const char *name, int64_t option, int64_t fallback,
                             int64_t *ret_time)
{
	return rh_comm_env_time(&reader->variables, name, option, fallback, ret_time, reader->err);
}

static int32_t env_read_times(struct env_reader *reader)
{
	const struct rh_comm_options none = {0};
	const struct rh_comm_options *options = reader->options ? reader->options : &none;
	struct rh_comm_env *env = &reader->env;
	int32_t r = env_read_time(reader, "RH_COMM_INIT_TIMEOUT", options->init_timeout, RH_COMM_DEFAULT_INIT_TIMEOUT,
	                          &env->init_timeout);

	if (r == 0)
		r = env_read_time(reader, "RH_COMM_TIMEOUT", options->op_timeout, RH_COMM_DEFAULT_OP_TIMEOUT, &env->op_timeout);
	if (r == 0)
		r = env_read_time(reader, "RH_COMM_DEATH_TIMEOUT", options->death_timeout, RH_COMM_DEFAULT_DEATH_TIMEOUT,
		                  &env->death_timeout);
	if (r == 0)
		r = env_read_time(reader, "RH_COMM_SLOW", 0, SLOW, &env->slow);
	return r;
}

static int32_t env_read_fusion(struct env_reader *reader)
{
	int64_t bytes = FUSION;
	int32_t r = rh_comm_env_number(&reader->variables, "RH_COMM_FUSION", 0, FUSION_MAX, &bytes, reader->err);

	reader->env.fusion = (size_t)bytes;
	return r < 0 ? r : 0;
}

static const char *env_word(const struct env_reader *reader, const char *option, const char *name, const char *fallback)
{
	const char *text = option ? option : rh_comm_env_text(&reader->variables, name);

	return text ? text : fallback;
}

int32_t rh_comm_env_read(const struct rh_comm_options *options, rh_comm_lookup_fn *lookup, void *arg,
                         struct rh_comm_env *ret_env, struct rh_comm_error *err)
{
	struct env_reader reader = {.options = options, .variables = {lookup, arg}, .err = err};
	const char *log = rh_comm_env_text(&reader.variables, "RH_COMM_LOG");
	int32_t r = env_read_ranks(&reader);

	if (r == 0)
		r = env_read_address(&reader);
	if (r == 0)
		r = env_guess_address(&reader);
	if (r == 0)
		r = env_check_address(&reader);
	if (r == 0)
		r = env_read_times(&reader);
	if (r == 0)
		r = env_read_fusion(&reader);
	if (r < 0)
		return r;
	reader.env.log = !log || strcmp(log, "off") != 0;
	reader.env.backend = env_word(&reader, options ? options->backend : NULL, "RH_COMM_BACKEND", "auto");
	reader.env.job = env_word(&reader, options ? options->job : NULL, "RH_COMM_JOB", "");
	reader.env.secret = env_word(&reader, options ? options->secret : NULL, "RH_COMM_SECRET", "");
	reader.env.tune = env_word(&reader, NULL, "RH_COMM_TUNE", "");
	reader.env.trace = env_word(&reader, NULL, "RH_COMM_TRACE", "");
	*ret_env = reader.env;
	if (!ret_env->job[0])
		ret_env->job = ret_env->job_text;
	return 0;
}
