/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/scheduler/roles.h"

#include <stddef.h>
#include <string.h>

#include "comm/core/error.h"
#include "comm/ps/scheduler/shards.h"

#define PORT_MAX 65535
#define SECONDS_MAX 1000000000
/* How long a server or worker that has died may take to come back. */
#define GRACE (60 * RH_COMM_SECOND)

/* A number, from the options or one of two variables, which must agree. */
struct roles_number {
	const char *what;
	int64_t option; /* below min: not set */
	const char *names[2];
	int64_t min;
	int64_t max;
};

/* @return 1: *ret_value is set; 0: not set; RH_COMM_EINVAL */
static int32_t roles_number(const struct rh_comm_variables *variables, const struct roles_number *number,
                            int32_t *ret_value, struct rh_comm_error *err)
{
	const char *source = number->option >= number->min ? number->what : NULL;
	int64_t known = number->option;

	for (size_t i = 0; i < 2 && number->names[i]; i++) {
		int64_t value = 0;
		int32_t r = rh_comm_env_number(variables, number->names[i], number->min, number->max, &value, err);

		if (r < 0)
			return r;
		if (r > 0 && source && value != known)
			return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			                    "%s gives %lld and %s gives %lld: unset one of them", source, (long long)known,
			                    number->names[i], (long long)value);
		if (r > 0) {
			source = number->names[i];
			known = value;
		}
	}
	if (!source)
		return 0;
	*ret_value = (int32_t)known;
	return 1;
}

static const char *roles_text(const struct rh_comm_variables *variables, const char *option, const char *name)
{
	const char *text = option && option[0] ? option : rh_comm_env_text(variables, name);

	return text ? text : "";
}

static int32_t roles_time(const struct rh_comm_variables *variables, const char *name, int64_t option, int64_t *time,
                          struct rh_comm_error *err)
{
	int64_t seconds = 0;
	int32_t r = option == 0 ? rh_comm_env_number(variables, name, 1, SECONDS_MAX, &seconds, err) : 0;

	if (option != 0)
		*time = option < 0 ? RH_COMM_NEVER : option;
	else if (r > 0)
		*time = seconds * RH_COMM_SECOND;
	return r < 0 ? r : 0;
}

static int32_t roles_counts(const struct rh_comm_variables *variables, const int32_t *options, int32_t *ret_servers,
                            int32_t *ret_workers, struct rh_comm_error *err)
{
	struct roles_number servers = {
		"number of servers", options[0], {"RH_PS_SERVER_COUNT", "DMLC_NUM_SERVER"}, 1, RH_PS_MAX};
	struct roles_number workers = {"number of workers", options[1], {"RH_PS_WORKERS", "DMLC_NUM_WORKER"}, 1, RH_PS_MAX};
	int32_t r = roles_number(variables, &servers, ret_servers, err);

	return r < 0 ? r : roles_number(variables, &workers, ret_workers, err);
}

/* Members that this library knows and the caller's header does not are zero. @return 0 or RH_COMM_EINVAL */
static int32_t roles_options(const struct rh_ps_scheduler_options *options, struct rh_ps_scheduler_options *ret_whole,
                             struct rh_comm_error *err)
{
	static const struct rh_ps_scheduler_options none = {.size = sizeof(none)};

	memset(ret_whole, 0, sizeof(*ret_whole));
	if (!options)
		options = &none;
	if (options->size < offsetof(struct rh_ps_scheduler_options, replicas) || options->size > sizeof(*options))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "options.size is %u and must be sizeof(struct rh_ps_scheduler_options)", options->size);
	memcpy(ret_whole, options, options->size);
	return 0;
}

/* @return 0 or RH_COMM_EINVAL */
static int32_t roles_replicas(const struct rh_comm_variables *variables, int32_t option, const char *backend,
                              int32_t *ret_replicas, struct rh_comm_error *err)
{
	struct roles_number replicas = {"number of replicas", option, {"RH_PS_REPLICAS"}, 1, RH_PS_REPLICAS_MAX};
	int32_t r;

	if (option < 0 || option > RH_PS_REPLICAS_MAX)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the number of replicas is %d and must be 1 or %d",
		                    (int)option, RH_PS_REPLICAS_MAX);
	*ret_replicas = 1;
	r = roles_number(variables, &replicas, ret_replicas, err);
	if (r >= 0 && *ret_replicas > 1 && strcmp(backend, "mpi") == 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "the backend mpi ends all processes when one dies, so replicas are of no use: set "
		                    "RH_PS_BACKEND to another one");
	return r < 0 ? r : 0;
}

int32_t rh_ps_scheduler_settings_read(const struct rh_ps_scheduler_options *options,
                                      const struct rh_comm_variables *variables,
                                      struct rh_ps_scheduler_settings *ret_settings, struct rh_comm_error *err)
{
	struct rh_ps_scheduler_settings settings = {
		.init_timeout = RH_COMM_DEFAULT_INIT_TIMEOUT, .death_timeout = RH_COMM_DEFAULT_DEATH_TIMEOUT, .grace = GRACE};
	struct roles_number port = {"port", 0, {"RH_PS_PORT", "DMLC_PS_ROOT_PORT"}, 1, PORT_MAX};
	struct rh_ps_scheduler_options whole;
	int32_t counts[2];
	int32_t r = roles_options(options, &whole, err);

	if (r < 0)
		return r;
	options = &whole;
	counts[0] = options->servers;
	counts[1] = options->workers;
	port.option = options->port;
	r = roles_counts(variables, counts, &settings.servers, &settings.workers, err);
	if (r >= 0)
		r = options->port < 0 ? 0 : roles_number(variables, &port, &settings.port, err);
	if (r >= 0)
		r = roles_time(variables, "RH_PS_INIT_TIMEOUT", options->init_timeout, &settings.init_timeout, err);
	if (r == 0)
		r = roles_time(variables, "RH_PS_GRACE", options->grace, &settings.grace, err);
	if (r == 0)
		r = roles_time(variables, "RH_COMM_DEATH_TIMEOUT", options->death_timeout, &settings.death_timeout, err);
	if (r < 0)
		return r;
	if (settings.servers == 0 || settings.workers == 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the number of %s is missing: set %s",
		                    settings.servers == 0 ? "servers" : "workers",
		                    settings.servers == 0 ? "DMLC_NUM_SERVER" : "DMLC_NUM_WORKER");
	settings.host = options->host ? options->host : rh_comm_env_text(variables, "RH_PS_HOST");
	if (!settings.host)
		settings.host = rh_comm_env_text(variables, "DMLC_PS_ROOT_URI");
	settings.job = roles_text(variables, options->job, "RH_COMM_JOB");
	settings.secret = roles_text(variables, options->secret, "RH_COMM_SECRET");
	settings.quiet = strcmp(roles_text(variables, NULL, "RH_COMM_LOG"), "off") == 0;
	settings.backend = rh_ps_backend_read(variables, options->backend);
	r = roles_replicas(variables, options->replicas, settings.backend, &settings.replicas, err);
	*ret_settings = settings;
	return r;
}

/* @return 1: there is a scheduler; 0: there is none */
static int32_t roles_root(const struct rh_comm_variables *variables, const char *role, struct rh_ps_root *root,
                          struct rh_comm_error *err)
{
	const char *dmlc_role = rh_comm_env_text(variables, "DMLC_ROLE");
	int64_t port = 0;
	int32_t r;

	if (!dmlc_role)
		return 0;
	if (strcmp(dmlc_role, role) != 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "DMLC_ROLE is \"%s\", and this is a %s", dmlc_role,
		                    role);
	root->host = rh_comm_env_text(variables, "DMLC_PS_ROOT_URI");
	r = rh_comm_env_number(variables, "DMLC_PS_ROOT_PORT", 1, PORT_MAX, &port, err);
	if (r < 0)
		return r;
	if (!root->host || r == 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "DMLC_ROLE is \"%s\", and the address of the scheduler is missing: set %s", dmlc_role,
		                    root->host ? "DMLC_PS_ROOT_PORT" : "DMLC_PS_ROOT_URI");
	root->port = (int32_t)port;
	return 1;
}

static bool roles_has_cluster(const struct rh_comm_variables *variables)
{
	return rh_comm_env_text(variables, "TF_CONFIG") != NULL;
}

/* What options of servers and of workers have in common. */
struct roles_common {
	int32_t servers;
	int32_t workers;
	int64_t init_timeout;
	int64_t death_timeout;
	const char *backend;
	const char *job;
	const char *secret;
};

/* @return 1, or RH_COMM_EINVAL */
static int32_t roles_fill(const struct rh_comm_variables *variables, const struct roles_common *common,
                          const struct roles_number *index, struct rh_ps_join_plan *plan, struct rh_comm_error *err)
{
	int32_t counts[2] = {common->servers, common->workers};
	int32_t r = roles_number(variables, index, &plan->index, err);

	plan->init_timeout = RH_COMM_DEFAULT_INIT_TIMEOUT;
	plan->death_timeout = RH_COMM_DEFAULT_DEATH_TIMEOUT;
	if (r >= 0)
		r = roles_counts(variables, counts, &plan->servers, &plan->workers, err);
	if (r >= 0)
		r = roles_time(variables, "RH_PS_INIT_TIMEOUT", common->init_timeout, &plan->init_timeout, err);
	if (r >= 0)
		r = roles_time(variables, "RH_COMM_DEATH_TIMEOUT", common->death_timeout, &plan->death_timeout, err);
	plan->backend = rh_ps_backend_read(variables, common->backend);
	plan->job = roles_text(variables, common->job, "RH_COMM_JOB");
	plan->secret = roles_text(variables, common->secret, "RH_COMM_SECRET");
	return r < 0 ? r : 1;
}

int32_t rh_ps_roles_read_server(const struct rh_ps_server_options *options, const struct rh_comm_variables *variables,
                                struct rh_ps_join_plan *ret_plan, struct rh_comm_error *err)
{
	struct roles_number index = {"index of the server", -1, {"RH_PS_SERVER", "DMLC_SERVER_ID"}, 0, RH_PS_MAX - 1};
	struct rh_ps_join_plan plan = {.server = true, .index = -1};
	struct roles_common common = {0};
	int32_t r = roles_has_cluster(variables) ? 0 : roles_root(variables, "server", &plan.root, err);

	if (r <= 0)
		return r;
	if (options) {
		common = (struct roles_common){.servers = options->servers,
		                               .workers = options->workers,
		                               .death_timeout = options->death_timeout,
		                               .backend = options->backend,
		                               .job = options->job,
		                               .secret = options->secret};
		index.option = options->has_index ? options->index : -1;
	}
	r = roles_fill(variables, &common, &index, &plan, err);
	if (r > 0)
		*ret_plan = plan;
	return r;
}

int32_t rh_ps_roles_read_worker(const struct rh_ps_options *options, const struct rh_comm_variables *variables,
                                struct rh_ps_join_plan *ret_plan, struct rh_comm_error *err)
{
	struct roles_number index = {"index of the worker", -1, {"RH_PS_WORKER", "DMLC_WORKER_ID"}, 0, RH_PS_MAX - 1};
	bool has_servers = (options && options->servers) || rh_comm_env_text(variables, "RH_PS_SERVERS");
	struct rh_ps_join_plan plan = {.index = -1};
	struct roles_common common = {0};
	int32_t r = has_servers || roles_has_cluster(variables) ? 0 : roles_root(variables, "worker", &plan.root, err);

	if (r <= 0)
		return r;
	if (options) {
		common = (struct roles_common){0,
		                               options->workers,
		                               options->init_timeout,
		                               options->death_timeout,
		                               options->backend,
		                               options->job,
		                               options->secret};
		index.option = options->has_worker ? options->worker : -1;
	}
	r = roles_fill(variables, &common, &index, &plan, err);
	if (r > 0)
		*ret_plan = plan;
	return r;
}
