/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "convert/rules.h"

/* One member of the list of replicas, and what kinds call its members. */
struct old_list {
	const char *map;       /* where the replicas go */
	const char *type;      /* member that has the type */
	const char *port;      /* member that has the port */
	const char *port_name; /* the container port that V1 looks for */
	int64_t port_default;
	const char *container; /* the main container */
};

static const struct old_list old_tf = {"tfReplicaSpecs", "tfReplicaType", "tfPort", "tfjob-port", 2222, "tensorflow"};
static const struct old_list old_pytorch = {
	"pytorchReplicaSpecs", "pytorchReplicaType", "masterPort", "pytorchjob-port", 23456, "pytorch"};

/* "MASTER" is "Master"; "PS" stays. */
static void old_type_name(const char *type, char name[32])
{
	rh_copy(name, 32, type);
	for (char *at = name; strcmp(name, "PS") != 0 && *at && at[1]; at++)
		if (at[1] >= 'A' && at[1] <= 'Z')
			at[1] = (char)(at[1] - 'A' + 'a');
}

/* @return the container that gets the kind's port, or NULL */
static struct rh_json *old_container(const struct old_list *list, const struct rh_json *item)
{
	struct rh_json *containers = rh_json_at(item, "template.spec.containers");
	struct rh_json *found = rh_json_first(containers);

	for (struct rh_json *at = found; at; at = rh_json_next(at)) {
		const char *name = rh_json_string_at(at, "name");

		if (name && strcmp(name, list->container) == 0)
			return at;
	}
	return found;
}

/* A port of its own becomes the container port that V1 looks for; V1 adds the default itself. */
static int old_port(const struct old_list *list, struct rh_json *item)
{
	rh_auto(json) port = NULL;
	struct rh_json *container = old_container(list, item);
	struct rh_json *ports;
	int64_t number;
	bool other = rh_json_integer(rh_json_get(item, list->port), &number) && number != list->port_default;

	rh_json_remove(item, list->port);
	if (!other || rh_json_type(container) != RH_JSON_OBJECT)
		return 0;
	port = rh_json_new_object();
	ports = rh_json_ensure_array(container, "ports");
	if (!ports || !port || rh_json_set_string(port, "name", list->port_name) < 0 ||
	    rh_json_set_integer(port, "containerPort", number) < 0)
		return RH_ENOMEM;
	return rh_json_append(ports, rh_take(port));
}

/* The pod's restartPolicy was the replicas' own; V1 reads that of the replica type alone. */
static int old_restart(struct rh_json *item)
{
	struct rh_json *spec = rh_json_at(item, "template.spec");
	const char *policy = rh_json_string_at(spec, "restartPolicy");
	int r = rh_json_set_string(item, "restartPolicy", policy ? policy : "Never");

	if (spec)
		rh_json_remove(spec, "restartPolicy");
	return r;
}

static int old_item(const struct rh_convert_field *field, const struct old_list *list, struct rh_json *item,
                    struct rh_json *map, struct rh_error *err)
{
	const char *type = rh_json_string_at(item, list->type);
	char name[32];

	old_type_name(type ? type : "MASTER", name);
	if (rh_json_type(item) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EINVAL, "%s: each item must be an object", field->path);
	if (rh_json_get(map, name))
		return rh_fail(err, RH_EINVAL, "%s: two items have the type %s, and V1 has one of each", field->path, name);
	rh_json_remove(item, list->type);
	if (old_port(list, item) < 0 || old_restart(item) < 0 || rh_json_set(map, name, rh_json_copy(item)) < 0)
		return rh_fail_oom(err);
	return 0;
}

static int old_list(const struct rh_convert_field *field, const struct old_list *list, struct rh_error *err)
{
	rh_auto(json) items = rh_json_detach(field->parent, field->key);
	rh_auto(json) map = rh_json_new_object();
	int r = map ? 0 : rh_fail_oom(err);

	if (rh_json_type(items) != RH_JSON_ARRAY)
		return rh_fail(err, RH_EINVAL, "%s: must be a list of replicas", field->path);
	for (struct rh_json *item = rh_json_first(items); r == 0 && item; item = rh_json_next(item))
		r = old_item(field, list, item, map, err);
	if (r == 0 && (rh_json_set(field->parent, list->map, rh_take(map)) < 0 ||
	               rh_convert_note(field, RH_CONVERT_MOVED, field->rule->to, field->rule->why) < 0))
		r = rh_fail_oom(err);
	return r;
}

static int old_tf_list(const struct rh_convert_field *field, struct rh_error *err)
{
	return old_list(field, &old_tf, err);
}

static int old_pytorch_list(const struct rh_convert_field *field, struct rh_error *err)
{
	return old_list(field, &old_pytorch, err);
}

/* The chief of V1 is the Chief or Master, else Worker 0: only another one is lost. */
static int old_chief(const struct rh_convert_field *field, struct rh_error *err)
{
	const struct rh_json *policy = rh_json_get(field->parent, field->key);
	const char *type = rh_json_string_at(policy, "chief.replicaName");
	int64_t index = 0;
	bool master = rh_json_at(field->conversion->object, "spec.tfReplicaSpecs.Master") != NULL;
	bool same;

	(void)rh_json_integer(rh_json_at(policy, "chief.replicaIndex"), &index);
	same = !type || (index == 0 && strcmp(type, master ? "MASTER" : "WORKER") == 0);
	rh_json_remove(field->parent, field->key);
	if (!same && rh_convert_note(field, RH_CONVERT_LOST, NULL, field->rule->why) < 0)
		return rh_fail_oom(err);
	return 0;
}

const struct rh_convert_rule rh_convert_tf_list[] = {
	{.path = "spec.replicaSpecs",
     .to = "spec.tfReplicaSpecs",
     .effect = RH_CONVERT_MOVED,
     .apply = old_tf_list,
     .why = "a map by type; tfPort is the container port tfjob-port, and restartPolicy of the pod is that of the type"},
	{.path = "spec.terminationPolicy",
     .effect = RH_CONVERT_LOST,
     .apply = old_chief,
     .why = "the Chief or Master decides when the job has succeeded, or Worker 0 where there is none"},
	{.path = "spec.tfImage",
     .effect = RH_CONVERT_LOST,
     .why = "it was the image of parameter servers without a template: give type PS a template"},
	{.path = "spec.tensorboard",
     .effect = RH_CONVERT_LOST,
     .why = "run TensorBoard in a Deployment that mounts the job's log folder"},
	{.path = "spec.runtimeId", .effect = RH_CONVERT_LOST, .why = "pods are named after the job"},
	{.path = "spec.RuntimeId", .effect = RH_CONVERT_LOST, .why = "pods are named after the job"},
	{.path = "spec.schedulerName",
     .to = "spec.tfReplicaSpecs[Worker].template.spec.schedulerName",
     .effect = RH_CONVERT_CHANGED,
     .why = "set it in the template of each further type, too"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_pytorch_list[] = {
	{.path = "spec.replicaSpecs",
     .to = "spec.pytorchReplicaSpecs",
     .effect = RH_CONVERT_MOVED,
     .apply = old_pytorch_list,
     .why = "a map by type; masterPort is the container port pytorchjob-port, and restartPolicy of the pod is that of "
            "the type"},
	{.path = "spec.terminationPolicy",
     .effect = RH_CONVERT_LOST,
     .why = "the Master decides when the job has succeeded, as it did by default"},
	{.path = "spec.pytorchImage", .effect = RH_CONVERT_LOST, .why = "each type has an image in its template"},
	{.path = "spec.RuntimeId", .effect = RH_CONVERT_LOST, .why = "pods are named after the job"},
	{.path = "spec.schedulerName",
     .to = "spec.pytorchReplicaSpecs[Master].template.spec.schedulerName",
     .effect = RH_CONVERT_CHANGED,
     .why = "set it in the template of each further type, too"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_flat_policy[] = {
	{.path = "spec.cleanPodPolicy", .to = "spec.runPolicy.cleanPodPolicy", .effect = RH_CONVERT_MOVED},
	{.path = "spec.ttlSecondsAfterFinished",
     .to = "spec.runPolicy.ttlSecondsAfterFinished",
     .effect = RH_CONVERT_MOVED},
	{.path = "spec.ttlSecondsAfterFinishing",
     .to = "spec.runPolicy.ttlSecondsAfterFinished",
     .effect = RH_CONVERT_MOVED},
	{.path = "spec.activeDeadlineSeconds", .to = "spec.runPolicy.activeDeadlineSeconds", .effect = RH_CONVERT_MOVED},
	{.path = "spec.backoffLimit", .to = "spec.runPolicy.backoffLimit", .effect = RH_CONVERT_MOVED},
	{.path = "spec.schedulingPolicy", .to = "spec.runPolicy.schedulingPolicy", .effect = RH_CONVERT_MOVED},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_clean_running[] = {
	{.path = "spec.runPolicy.cleanPodPolicy",
     .to = "spec.runPolicy.cleanPodPolicy",
     .effect = RH_CONVERT_CHANGED,
     .value = "\"Running\"",
     .absent = true,
     .why = "the former default; V1's is None"},
	{.path = NULL},
};
