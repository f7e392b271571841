/* SPDX-License-Identifier: Apache-2.0 */
/* The variables by which the processes of a framework find each other. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../trainer.h"

#define ENV_PODS TRAINER_JOBS "[%" PRId32 "].template.spec.template.spec.%s"
#define ENV_RANK "metadata.annotations['batch.kubernetes.io/job-completion-index']"
#define ENV_INDEX "metadata.labels['batch.kubernetes.io/job-completion-index']"

/** A container of the pod that gets variables. */
struct env_container {
	struct trainer_call *call;
	const struct rh_replica *me;
	int32_t job;      /**< place of the replicated job */
	const char *list; /**< containers or initContainers */
	int32_t place;
	const char *name;
};

const char *trainer_reserved(enum trainer_policy policy, size_t place)
{
	static const char *const torch[] = {"PET_MASTER_ADDR", "PET_MASTER_PORT",    "PET_NNODES",
	                                    "PET_NODE_RANK",   "PET_NPROC_PER_NODE", NULL};
	static const char *const xgboost[] = {"DMLC_NUM_WORKER", "DMLC_TASK_ID", "DMLC_TRACKER_PORT", "DMLC_TRACKER_URI",
	                                      NULL};
	static const char *const mpi[] = {"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames",
	                                  "OMPI_MCA_orte_set_default_slots", "OMPI_MCA_plm_rsh_args", NULL};

	switch (policy) {
	case TRAINER_TORCH:
		return torch[place];
	case TRAINER_XGBOOST:
		return xgboost[place];
	case TRAINER_MPI:
		return mpi[place];
	case TRAINER_PLAIN:
	case TRAINER_JAX:
		break;
	}
	return NULL;
}

bool trainer_is_reserved(enum trainer_policy policy, const char *name)
{
	const char *other;

	for (size_t i = 0; (other = trainer_reserved(policy, i)); i++) {
		if (strcmp(other, name) == 0)
			return true;
	}
	return false;
}

/** @return whether the list of variables at @p path, of the job or the runtime, has @p name */
static bool env_list_has(const struct trainer_call *call, const char *path, const char *name)
{
	char item[TRAINER_TEXT + 32];
	const char *found;

	for (int32_t i = 0; snprintf(item, sizeof(item), "%s[%" PRId32 "].name", path, i),
	             (found = call->host->text(call->view, item)) != NULL;
	     i++) {
		if (strcmp(found, name) == 0)
			return true;
	}
	return false;
}

/** @return whether the user has set the variable, so that it stays */
static bool env_is_taken(const struct env_container *to, const char *name)
{
	char path[TRAINER_TEXT];

	if (trainer_policy(to->call) != TRAINER_JAX)
		return false;
	trainer_path(to->call, path, ENV_PODS "[%" PRId32 "].env", to->job, to->list, to->place);
	return env_list_has(to->call, "spec.trainer.env", name) || env_list_has(to->call, path, name);
}

static void env_add(const struct env_container *to, const char *json)
{
	trainer_edit(to->call, json, "spec.%s[%" PRId32 "].env[+]", to->list, to->place);
}

static void __attribute__((format(printf, 3, 4)))
env_set(const struct env_container *to, const char *name, const char *format, ...)
{
	char value[TRAINER_TEXT], json[3 * TRAINER_TEXT];
	const char *quoted;
	va_list list;

	va_start(list, format);
	vsnprintf(value, sizeof(value), format, list);
	va_end(list);
	quoted = env_is_taken(to, name) ? NULL : trainer_quote(to->call, "%s", value);
	if (!quoted)
		return;
	snprintf(json, sizeof(json), "{\"name\":\"%s\",\"value\":%s}", name, quoted);
	env_add(to, json);
}

/** @param field of the pod */
static void env_set_field(const struct env_container *to, const char *name, const char *field)
{
	char json[TRAINER_TEXT];

	if (env_is_taken(to, name))
		return;
	snprintf(json, sizeof(json), "{\"name\":\"%s\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"%s\"}}}", name, field);
	env_add(to, json);
}

/** Where the first node is reached, and its port. */
static int32_t env_find_first(const struct trainer_call *call, char *host)
{
	const char *job = trainer_ancestor(call, "trainer");

	trainer_host(call, job ? job : TRAINER_NODE, 0, host);
	return call->host->port(call->view, job ? job : TRAINER_NODE, 0);
}

static void env_add_torch(const struct env_container *to, bool tunes)
{
	char host[TRAINER_TEXT], processes[32];
	const int32_t port = env_find_first(to->call, host);

	env_set(to, "PET_NNODES", "%" PRId64, trainer_nodes(to->call));
	env_set(to, "PET_NPROC_PER_NODE", "%s", trainer_processes(to->call, processes));
	env_set_field(to, "PET_NODE_RANK", ENV_RANK);
	if (tunes)
		return;
	env_set(to, "PET_MASTER_ADDR", "%s", host);
	env_set(to, "PET_MASTER_PORT", "%" PRId32, port);
}

static void env_add_jax(const struct env_container *to)
{
	char host[TRAINER_TEXT];
	const int32_t port = env_find_first(to->call, host);

	env_set(to, "JAX_NUM_PROCESSES", "%" PRId64, trainer_nodes(to->call));
	env_set_field(to, "JAX_PROCESS_ID", ENV_RANK);
	env_set(to, "JAX_COORDINATOR_ADDRESS", "%s:%" PRId32, host, port);
}

static void env_add_xgboost(const struct env_container *to)
{
	char host[TRAINER_TEXT];
	const int32_t port = env_find_first(to->call, host);
	const int64_t gpus = trainer_gpus(to->call);

	env_set(to, "DMLC_TRACKER_URI", "%s", host);
	env_set(to, "DMLC_TRACKER_PORT", "%" PRId32, port);
	env_set_field(to, "DMLC_TASK_ID", ENV_RANK);
	env_set(to, "DMLC_NUM_WORKER", "%" PRId64, trainer_nodes(to->call) * (gpus > 0 ? gpus : 1));
}

static void env_add_mpi(const struct env_container *to)
{
	env_set(to, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
	env_set(to, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
	env_set(to, "OMPI_MCA_orte_set_default_slots", "%" PRId64, trainer_slots(to->call));
	env_set(to, "OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10");
}

/** @return whether envInjection names the container */
static bool env_is_target(const struct env_container *to)
{
	const char *job, *name;

	for (int32_t i = 0; (job = trainer_text(to->call, "mlPolicy.torch.envInjection.targets[%" PRId32 "].jobName", i));
	     i++) {
		for (int32_t k = 0;
		     strcmp(job, to->me->type) == 0 &&
		     (name =
		          trainer_text(to->call, "mlPolicy.torch.envInjection.targets[%" PRId32 "].containerNames[%" PRId32 "]",
		                       i, k)) != NULL;
		     k++) {
			if (strcmp(name, to->name) == 0)
				return true;
		}
	}
	return false;
}

static void env_add_container(const struct env_container *to)
{
	const bool node = strcmp(to->list, "containers") == 0 && strcmp(to->name, TRAINER_NODE) == 0;
	const bool trains = node && trainer_is_ancestor(to->call, to->me->type);
	bool tunes;

	switch (trainer_policy(to->call)) {
	case TRAINER_TORCH:
		tunes = trains && trainer_add_tune(to->call, to->me, to->place);
		if (trains || env_is_target(to))
			env_add_torch(to, tunes);
		break;
	case TRAINER_JAX:
		if (trains)
			env_add_jax(to);
		break;
	case TRAINER_XGBOOST:
		if (trains)
			env_add_xgboost(to);
		break;
	case TRAINER_MPI:
		if (node && strcmp(to->me->type, TRAINER_LAUNCHER) == 0 && !trainer_is_local(to->call))
			env_add_mpi(to);
		break;
	case TRAINER_PLAIN:
		break;
	}
	env_set_field(to, "JOB_COMPLETION_INDEX", ENV_INDEX);
}

void trainer_add_env(struct trainer_call *call, const struct rh_replica *me)
{
	static const char *const lists[] = {"initContainers", "containers"};
	struct env_container to = {call, me, trainer_job(call, me->type), NULL, 0, NULL};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		to.list = lists[i];
		for (to.place = 0; (to.name = trainer_text(call, ENV_PODS "[%" PRId32 "].name", to.job, to.list, to.place));
		     to.place++)
			env_add_container(&to);
	}
}
