/* SPDX-License-Identifier: Apache-2.0 */
/* TFJob and PaddleJob to a TrainJob. Trainer has no policy for them: each type is a replicated job of a plain runtime,
 * with the variables of V1. All stays in the runtime, for the types have templates of their own. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "convert/runtime.h"

/* Trainer's DNS name of a pod: JOB-REPLICATED_JOB-0-INDEX.JOB. */
#define TYPES_HOST "%s-%s-0-%" PRId64 ".%s:%" PRId64
/* Longest variable that Linux hands to a program. */
#define TYPES_VARIABLE_MAX (128 * 1024)
/* The Job controller sets it behind all others, so that no other variable can be made of it; one that is there stays.
 */
#define TYPES_INDEX "JOB_COMPLETION_INDEX"
/* Types of a job with counted replicas. V1 takes unknown ones of a TFJob, too. */
#define TYPES_MAX 16
#define TYPES_NAME_SIZE 64

/* One replicated job. */
struct type_part {
	const struct rh_json *replica; /* borrowed; its key is the type */
	char lower[TYPES_NAME_SIZE];   /* the type in lower case */
	const char *name;              /* of the replicated job */
	int64_t pods;
	bool leads; /* Paddle: serves the rendezvous */
	struct rh_json *job;
};

/* The replicated jobs of a job, in the order of the alphabet. */
struct types {
	const struct rh_convert_field *field;
	const char *job; /* name of the job */
	const char *main;
	const char *restart;
	const char *port_name;
	int64_t port;
	struct type_part parts[TYPES_MAX];
	size_t count;
};

static void types_lower(const char *type, char lower[TYPES_NAME_SIZE])
{
	rh_copy(lower, TYPES_NAME_SIZE, type);
	for (char *at = lower; *at; at++)
		*at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
}

/* @return the part of a type, borrowed, or NULL */
static struct type_part *types_find(struct types *all, const char *lower)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->parts[i].lower, lower) == 0)
			return &all->parts[i];
	return NULL;
}

static int types_note_none(const struct types *all, const char *type)
{
	static const struct rh_convert_remark none = {RH_CONVERT_IMPLIED, NULL, "it has no replicas"};

	return rh_convert_note_at(all->field->conversion, &none, "%s[%s]", all->field->path, type);
}

static int types_put(struct types *all, const struct rh_json *replica, struct rh_error *err)
{
	struct type_part part = {.replica = replica, .pods = rh_runtime_replicas(replica, 1)};
	size_t at = all->count;

	types_lower(rh_json_key(replica), part.lower);
	if (rh_json_type(replica) != RH_JSON_OBJECT || all->count == TYPES_MAX || types_find(all, part.lower))
		return rh_fail(err, RH_EINVAL, "%s[%s]: must be the replicas of one of at most %d types", all->field->path,
		               rh_json_key(replica), TYPES_MAX);
	if (part.pods < 1)
		return types_note_none(all, rh_json_key(replica)) < 0 ? rh_fail_oom(err) : 0;
	for (; at > 0 && strcmp(all->parts[at - 1].lower, part.lower) > 0; at--)
		all->parts[at] = all->parts[at - 1];
	all->parts[at] = part;
	all->count++;
	return 0;
}

static int types_read(struct types *all, const struct rh_json *types, struct rh_error *err)
{
	int r = 0;

	all->job = rh_json_string_at(all->field->conversion->object, "metadata.name");
	for (const struct rh_json *type = rh_json_type(types) == RH_JSON_OBJECT ? rh_json_first(types) : NULL;
	     r == 0 && type; type = rh_json_next(type))
		r = types_put(all, type, err);
	if (r == 0 && all->count == 0)
		r = rh_fail(err, RH_EINVAL, "%s: no type has replicas", all->field->path);
	for (size_t i = 0; i < all->count; i++)
		all->parts[i].name = all->parts[i].lower;
	return r;
}

/* V1 reads the port of a name from the main container. */
static int64_t types_port(const struct types *all, const struct type_part *part)
{
	const struct rh_json *container = rh_runtime_main(rh_json_get(part->replica, "template"), all->main);
	int64_t port = all->port;

	for (const struct rh_json *at = rh_json_first(rh_json_get(container, "ports")); at; at = rh_json_next(at))
		if (rh_text_equal(rh_json_string_at(at, "name"), all->port_name))
			(void)rh_json_integer(rh_json_get(at, "containerPort"), &port);
	return port;
}

static struct rh_json *types_container(const struct type_part *part)
{
	return rh_runtime_main(rh_json_at(part->job, "spec.template"), RH_RUNTIME_NODE);
}

static int types_add(struct types *all, struct type_part *part, struct rh_error *err)
{
	const struct rh_runtime_part job = {part->name,
	                                    rh_json_key(part->replica),
	                                    part->replica,
	                                    all->main,
	                                    all->restart,
	                                    part->pods,
	                                    strcmp(part->name, RH_RUNTIME_NODE) == 0,
	                                    false};

	return rh_runtime_add(all->field, &job, &part->job, err);
}

static int types_add_all(struct types *all, const char *framework, struct rh_error *err)
{
	struct rh_json *runtime;
	int r = rh_runtime_begin(all->field, framework, &runtime, err);

	for (size_t i = 0; r == 0 && i < all->count; i++)
		r = types_add(all, &all->parts[i], err);
	return r;
}

/* A variable of the job's own: V1's stands behind it, and counts. */
static int types_replace(const struct types *all, const struct type_part *part, struct rh_json *container,
                         const char *name, const char *value)
{
	static const struct rh_convert_remark own = {RH_CONVERT_LOST, NULL,
	                                             "the operator's own takes precedence, in V1 too"};
	struct rh_json *env = rh_json_get(container, "env");
	int r = 0;

	for (size_t i = rh_json_size(env); r == 0 && i > 0; i--) {
		if (!rh_text_equal(rh_json_string_at(rh_json_item(env, i - 1), "name"), name))
			continue;
		rh_json_free(rh_json_detach_item(env, i - 1));
		r = rh_convert_note_at(all->field->conversion, &own, "%s[%s].template.spec.containers[%s].env[%s]",
		                       all->field->path, rh_json_key(part->replica), all->main, name);
	}
	return r == 0 ? rh_runtime_env(container, name, value) : r;
}

/* Set a variable from a field of the pod. */
static int types_field(struct rh_json *container, const char *name, const char *field)
{
	struct rh_json *env, *variable, *from;
	int r = rh_runtime_env(container, name, "");

	if (r < 0)
		return r;
	env = rh_json_get(container, "env");
	variable = rh_json_item(env, rh_json_size(env) - 1);
	rh_json_remove(variable, "value");
	from = rh_json_ensure_object(variable, "valueFrom");
	from = from ? rh_json_ensure_object(from, "fieldRef") : NULL;
	return from ? rh_json_set_string(from, "fieldPath", field) : RH_ENOMEM;
}

/* --- TFJob */

static void tf_hosts(const struct types *all, const struct type_part *part, struct rh_str *out)
{
	int64_t port = types_port(all, part);

	rh_str_appendf(out, "\"%s\":[", part->lower);
	for (int64_t i = 0; i < part->pods && out->length <= TYPES_VARIABLE_MAX; i++)
		rh_str_appendf(out, "%s\"" TYPES_HOST "\"", i > 0 ? "," : "", all->job, part->name, i, all->job, port);
	rh_str_append(out, "]");
}

/* V1's TF_CONFIG, in which the index of the task is that of the Job. */
static int tf_config(const struct types *all, const struct type_part *part, const char *cluster)
{
	rh_auto_str config = {0};
	struct rh_json *container = types_container(part);

	rh_str_appendf(&config,
	               "{\"cluster\":{%s},\"task\":{\"type\":\"%s\",\"index\":$(" TYPES_INDEX ")},\"environment\":"
	               "\"cloud\"}",
	               cluster, part->lower);
	if (config.failed ||
	    types_field(container, TYPES_INDEX, "metadata.annotations['batch.kubernetes.io/job-completion-index']") < 0)
		return RH_ENOMEM;
	return types_replace(all, part, container, "TF_CONFIG", rh_str_text(&config));
}

static int tf_set_config(const struct types *all, struct rh_error *err)
{
	rh_auto_str cluster = {0};
	int64_t sum = 0;
	int r = 0;

	for (size_t i = 0; i < all->count; i++) {
		sum += all->parts[i].pods;
		rh_str_append(&cluster, i > 0 ? "," : "");
		tf_hosts(all, &all->parts[i], &cluster);
	}
	if (cluster.length > TYPES_VARIABLE_MAX)
		return rh_fail(err, RH_EINVAL, "%s: TF_CONFIG names all replicas and is longer than a variable of Linux can be",
		               all->field->path);
	if (sum == 1)
		return 0; /* V1 sets none */
	for (size_t i = 0; r == 0 && i < all->count; i++)
		r = tf_config(all, &all->parts[i], rh_str_text(&cluster));
	return r < 0 || cluster.failed ? rh_fail_oom(err) : 0;
}

/* Worker 0 alone decides. */
static int tf_first_worker(const struct type_part *worker)
{
	rh_auto(json) rule = rh_json_new_object();
	struct rh_json *policy = rh_json_ensure_object(rh_json_get(worker->job, "spec"), "successPolicy");
	struct rh_json *rules = policy ? rh_json_ensure_array(policy, "rules") : NULL;

	if (!rule || !rules || rh_json_set_string(rule, "succeededIndexes", "0") < 0)
		return RH_ENOMEM;
	return rh_json_append(rules, rh_take(rule));
}

/* @param policy spec.successPolicy of the job, or NULL */
static int tf_success(struct types *all, const char *policy)
{
	static const struct rh_convert_remark never = {
		RH_CONVERT_CHANGED, NULL,
		"without Chief, Master and Worker V1's job never succeeds; a TrainJob does when all end"};
	struct type_part *chief = types_find(all, "chief"), *worker = types_find(all, "worker");

	chief = chief ? chief : types_find(all, "master");
	if (chief)
		return rh_runtime_succeed_with(all->field, chief->name);
	if (!worker)
		return rh_convert_note_at(all->field->conversion, &never, "spec.successPolicy");
	if (worker->pods > 1 && !rh_text_equal(policy, "AllWorkers") && tf_first_worker(worker) < 0)
		return RH_ENOMEM;
	return rh_runtime_succeed_with(all->field, worker->name);
}

/* Tools of Trainer look for the job "node": the Workers, or who stands in for them. */
static void tf_name(struct types *all)
{
	static const char *const nodes[] = {"worker", "chief", "master"};
	struct type_part *found = NULL;

	for (size_t i = 0; !found && i < sizeof(nodes) / sizeof(nodes[0]); i++)
		found = types_find(all, nodes[i]);
	(found ? found : &all->parts[0])->name = RH_RUNTIME_NODE;
}

static int types_tf(const struct rh_convert_field *field, struct rh_error *err)
{
	rh_auto(json) types = rh_json_detach(field->parent, field->key);
	rh_auto(json) policy = rh_json_detach(field->parent, "successPolicy");
	struct types all = {
		.field = field, .main = "tensorflow", .restart = "Never", .port_name = "tfjob-port", .port = 2222};
	int r = types_read(&all, types, err);

	if (r < 0)
		return r;
	tf_name(&all);
	r = types_add_all(&all, "tensorflow", err);
	if (r == 0)
		r = tf_set_config(&all, err);
	if (r == 0 && (tf_success(&all, rh_json_string(policy)) < 0 ||
	               rh_convert_note(field, RH_CONVERT_CHANGED, field->rule->to, field->rule->why) < 0))
		r = rh_fail_oom(err);
	return r;
}

/* --- PaddleJob */

/* V1's variables; the rendezvous is at the leader, which knows itself by its address. */
static int paddle_container(const struct types *all, const struct type_part *part, struct rh_json *container,
                            const char *nodes, const char *master)
{
	const char *role = part->lower[0] == 'm' ? "PADDLE_SERVER_NUM" : "PADDLE_TRAINER_NUM";
	bool servers = false;

	for (size_t i = 0; i < all->count; i++)
		servers |= strcmp(all->parts[i].lower, "master") == 0;
	if (types_replace(all, part, container, "PYTHONUNBUFFERED", "1") < 0 ||
	    types_replace(all, part, container, "PADDLE_JOB_ID", all->job) < 0 ||
	    types_replace(all, part, container, "PADDLE_NNODES", nodes) < 0 ||
	    (part->leads && types_field(container, "POD_IP_DUMMY", "status.podIP") < 0) ||
	    types_replace(all, part, container, "PADDLE_MASTER", master) < 0)
		return RH_ENOMEM;
	return servers ? types_replace(all, part, container, role, "1") : 0;
}

static int paddle_env(const struct types *all, const struct type_part *leader, const struct type_part *part,
                      int64_t nodes)
{
	int64_t port = types_port(all, leader);
	rh_auto_free char *count = rh_asprintf("%" PRId64, nodes);
	rh_auto_free char *master = part->leads
	                                ? rh_asprintf("$(POD_IP_DUMMY):%" PRId64, port)
	                                : rh_asprintf(TYPES_HOST, all->job, leader->name, (int64_t)0, all->job, port);
	int r = count && master ? 0 : RH_ENOMEM;

	for (struct rh_json *at = rh_json_first(rh_json_at(part->job, "spec.template.spec.containers")); r == 0 && at;
	     at = rh_json_next(at))
		r = paddle_container(all, part, at, count, master);
	return r;
}

/* Replica 0 of the leading type has other variables than the rest: a replicated job of its own. The leader is the last
 * part then. */
static void paddle_split(struct types *all, struct type_part *leading)
{
	struct type_part *leader = &all->parts[all->count];

	if (leading->pods == 1) {
		leading->leads = true;
		return;
	}
	*leader = *leading;
	leader->name = "leader";
	leader->pods = 1;
	leader->leads = true;
	leading->pods--;
	all->count++;
}

static int paddle_finish(const struct types *all)
{
	const struct type_part *leader = &all->parts[0];
	int64_t nodes = 0;
	int r = 0;

	for (size_t i = 0; i < all->count; i++) {
		nodes += all->parts[i].pods;
		leader = all->parts[i].leads ? &all->parts[i] : leader;
	}
	for (size_t i = 0; r == 0 && i < all->count; i++) {
		r = paddle_env(all, leader, &all->parts[i], nodes);
		if (r == 0 && strcmp(all->parts[i].lower, leader->lower) == 0)
			r = rh_runtime_succeed_with(all->field, all->parts[i].name);
	}
	return r;
}

static int types_paddle(const struct rh_convert_field *field, struct rh_error *err)
{
	rh_auto(json) types = rh_json_detach(field->parent, field->key);
	struct types all = {.field = field, .main = "paddle", .restart = "OnFailure", .port_name = "master", .port = 36543};
	struct type_part *master, *worker, *nodes;
	int r = types_read(&all, types, err);

	if (r < 0)
		return r;
	master = types_find(&all, "master");
	worker = types_find(&all, "worker");
	nodes = worker ? worker : master;
	if (!nodes || all.count != (size_t)(master != NULL) + (size_t)(worker != NULL))
		return rh_fail(err, RH_EINVAL, "%s: a PaddleJob has the types Master and Worker", field->path);
	nodes->name = RH_RUNTIME_NODE;
	paddle_split(&all, master ? master : nodes);
	r = types_add_all(&all, "paddle", err);
	if (r == 0 &&
	    (paddle_finish(&all) < 0 || rh_convert_note(field, RH_CONVERT_CHANGED, field->rule->to, field->rule->why) < 0))
		r = rh_fail_oom(err);
	return r;
}

const struct rh_convert_rule rh_convert_tf_to_trainjob[] = {
	{.path = "spec.tfReplicaSpecs",
     .to = "a TrainingRuntime",
     .effect = RH_CONVERT_CHANGED,
     .apply = types_tf,
     .why =
         "each type is a replicated job; Workers are node. TF_CONFIG lists all hosts, so a change of replicas changes "
         "it in each of them, too; its hosts are JOB-TYPE-0-INDEX.JOB"},
	{.path = "spec.successPolicy",
     .to = "successPolicy of the runtime",
     .effect = RH_CONVERT_MOVED,
     .why = "the Chief or Master decides, else Worker 0, or all Workers with AllWorkers, as in V1"},
	{.path = "spec.enableDynamicWorker",
     .effect = RH_CONVERT_LOST,
     .when = "true",
     .why = "TF_CONFIG names all Workers, and one that fails for good fails the TrainJob"},
	{.path = "spec.enableDynamicWorker", .effect = RH_CONVERT_IMPLIED, .why = "a TrainJob has a fixed number of pods"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_paddle_to_trainjob[] = {
	{.path = "spec.paddleReplicaSpecs",
     .to = "a TrainingRuntime",
     .effect = RH_CONVERT_CHANGED,
     .apply = types_paddle,
     .why =
         "each type is a replicated job; Workers are node, and the replica that serves the rendezvous is leader where "
         "its type has more. PADDLE_NNODES is a variable of each, so a change of replicas changes it, too"},
	{.path = "spec.elasticPolicy", .effect = RH_CONVERT_IMPLIED, .why = "it had no effect in V1"},
	{.path = NULL},
};
