/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates, updates and deletes of further objects, and what depends on them.
 *
 * Pods, and what makes pods, wait until all objects that they may mount, or get rights from, belong to the job. While
 * another owner's object has one of the names, nothing is created. Rights are granted last: a RoleBinding waits until
 * the roles and accounts that it refers to belong to the job and have the desired content, and until the pods that a
 * role may name belong to the job, too. Leaders, which use the rights, wait for the binding.
 */
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/decide/children/children.h"
#include "job/keep.h"

#define OBJECTS_RBAC "rbac.authorization.k8s.io/"

/* The state of a desired further object, in order of what is known of it. */
enum objects_state {
	OBJECTS_ABSENT,
	OBJECTS_MOVING,  /* its create or delete is in flight */
	OBJECTS_UNKNOWN, /* the job owns it; its content is unknown */
	OBJECTS_OWN,     /* it has the content of an earlier desired state */
	OBJECTS_RIGHT    /* it has the desired content */
};

/* One desired further object. */
struct objects_desired {
	const struct rh_json *object;
	const char *api_version;
	const char *kind;
	const char *name;
	int32_t index; /* its place in world.objects */
	bool serves;   /* pods may use it */
	struct rh_keep keep;
};

int rh_object_hash(const struct rh_json *object, uint64_t *ret_hash)
{
	rh_auto_free char *text = rh_json_text(object);
	uint64_t hash;

	if (!text)
		return RH_ENOMEM;
	hash = rh_hash(text, strlen(text));
	*ret_hash = hash ? hash : 1;
	return 0;
}

bool rh_object_serves_pods(const char *api_version)
{
	return strcmp(api_version, "v1") == 0 || rh_starts_with(api_version, OBJECTS_RBAC);
}

static bool objects_is_rbac(const char *api_version, const char *kind, const char *desired)
{
	return strcmp(kind, desired) == 0 && rh_starts_with(api_version, OBJECTS_RBAC);
}

static bool objects_is_binding(const struct objects_desired *desired)
{
	return objects_is_rbac(desired->api_version, desired->kind, "RoleBinding");
}

/* @return whether it makes pods itself, which may use what pods of the job use */
static bool objects_makes_pods(const struct objects_desired *desired)
{
	return strcmp(desired->api_version, "batch/v1") == 0;
}

/* @return whether bindings usually refer to it: a role or an account */
static bool objects_is_bound(const struct objects_desired *desired)
{
	return objects_is_rbac(desired->api_version, desired->kind, "Role") ||
	       (strcmp(desired->kind, "ServiceAccount") == 0 && strcmp(desired->api_version, "v1") == 0);
}

static const char *objects_text(const struct rh_json *object, const char *path)
{
	const char *text = rh_json_string_at(object, path);

	return text ? text : "";
}

static struct objects_desired objects_read(const struct rh_json *object, int32_t index)
{
	const char *api_version = objects_text(object, "apiVersion");

	return (struct objects_desired){
		.object = object,
		.api_version = api_version,
		.kind = objects_text(object, "kind"),
		.name = objects_text(object, "metadata.name"),
		.index = index,
		.serves = rh_object_serves_pods(api_version),
		.keep = rh_keep_read(object),
	};
}

static bool objects_is_it(const struct rh_child *child, const struct objects_desired *desired)
{
	return strcmp(child->api_version, desired->api_version) == 0 && strcmp(child->kind, desired->kind) == 0 &&
	       strcmp(child->name, desired->name) == 0;
}

static bool objects_is_further(const struct rh_decision *decision, const struct rh_child *child)
{
	return strcmp(child->owner_uid, decision->job->uid) == 0 && !rh_decide_is_service(decision, child);
}

static const struct rh_child *objects_find(const struct rh_decision *decision, const struct objects_desired *desired)
{
	const struct rh_world *world = decision->world;

	for (size_t i = 0; i < world->child_count; i++) {
		if (objects_is_further(decision, world->children[i]) && objects_is_it(world->children[i], desired))
			return world->children[i];
	}
	return NULL;
}

static enum objects_state objects_state(const struct rh_child *child, uint64_t hash)
{
	if (!child)
		return OBJECTS_ABSENT;
	if (child->deleting || !*child->uid)
		return OBJECTS_MOVING;
	if (child->hash == hash)
		return OBJECTS_RIGHT;
	return child->hash ? OBJECTS_OWN : OBJECTS_UNKNOWN;
}

/* @return whether the last check found another owner's object of its name */
static bool objects_is_taken(const struct rh_decision *decision, const struct objects_desired *desired)
{
	const struct rh_world *world = decision->world;

	for (size_t i = 0; desired->serves && i < world->refusal_count; i++) {
		const struct rh_refusal *refusal = &world->refusals[i];

		if (refusal->what == RH_REFUSED_NAME && strcmp(refusal->kind, desired->kind) == 0 &&
		    strcmp(refusal->name, desired->name) == 0)
			return true;
	}
	return false;
}

static int objects_act(struct rh_decision *decision, enum rh_action_verb verb, const struct objects_desired *desired)
{
	struct rh_action *action = rh_plan_act(decision->plan, verb, NULL, desired->index, desired->name);

	if (!action)
		return RH_ENOMEM;
	action->api_version = rh_strdup(desired->api_version);
	action->kind = rh_strdup(desired->kind);
	return action->api_version && action->kind ? 0 : RH_ENOMEM;
}

/* @return whether each replica that is not a leader has a pod, or needs none: a role may name these pods */
static bool objects_have_followers(const struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;

	for (size_t i = 0; i < job->spec_count; i++) {
		if (rh_decide_leads(&job->specs[i]))
			continue;
		for (size_t place = decision->offsets[i]; place < decision->offsets[i + 1]; place++) {
			const struct rh_pod *pod = decision->pods[place];
			uint8_t slot = decision->slots[place];

			if (!(pod && *pod->uid) && slot != RH_SLOT_SUCCEEDED && slot != RH_SLOT_FAILED)
				return false;
		}
	}
	return true;
}

static bool objects_have_binding(const struct rh_decision *decision)
{
	const struct rh_world *world = decision->world;

	for (size_t i = 0; i < world->child_count; i++) {
		const struct rh_child *child = world->children[i];

		if (objects_is_further(decision, child) && objects_is_rbac(child->api_version, child->kind, "RoleBinding"))
			return true;
	}
	return false;
}

/*
 * A binding grants its role. A bound role is extended only once the pods that it names exist. What makes pods waits as
 * pods do.
 */
static bool objects_must_wait(const struct rh_decision *decision, const struct objects_desired *desired,
                              enum objects_state state)
{
	if (objects_is_binding(desired))
		return !decision->verified || !objects_have_followers(decision);
	if (objects_makes_pods(desired) && !rh_json_bool(rh_json_at(desired->object, "spec.suspend"), false))
		return !decision->equipped;
	return state == OBJECTS_OWN && objects_is_rbac(desired->api_version, desired->kind, "Role") &&
	       objects_have_binding(decision) && !objects_have_followers(decision);
}

static int objects_drop(struct rh_decision *decision, const struct rh_child *child)
{
	struct rh_action *action;

	if (child->retained)
		return 0;
	decision->left = true;
	/* An object whose create is in flight may belong to another owner: its delete waits for the UID. */
	if (child->deleting || !*child->uid)
		return 0;
	action = rh_plan_act(decision->plan, RH_DELETE_OBJECT, NULL, 0, child->name);
	if (!action)
		return RH_ENOMEM;
	action->api_version = rh_strdup(child->api_version);
	action->kind = rh_strdup(child->kind);
	action->uid = rh_strdup(child->uid);
	return action->api_version && action->kind && action->uid ? 0 : RH_ENOMEM;
}

/*
 * @return whether another owner's pod has the name of a replica, so that a role which names it would grant access to
 * it
 */
static bool objects_open_another(const struct rh_decision *decision)
{
	const struct rh_world *world = decision->world;
	size_t i = 0;

	while (i < world->refusal_count &&
	       !(world->refusals[i].what == RH_REFUSED_NAME && strcmp(world->refusals[i].kind, "Pod") == 0))
		i++;
	return i < world->refusal_count && !objects_have_followers(decision);
}

/* @return the name of an object in the ledger, owned by the caller; NULL when memory is out */
static char *objects_key(const struct objects_desired *desired)
{
	const char *slash = strchr(desired->api_version, '/');
	int group = slash ? (int)(slash - desired->api_version) : 0;

	return rh_asprintf("%s%s%.*s/%s", desired->kind, group > 0 ? "." : "", group, desired->api_version, desired->name);
}

/*
 * @return whether an object that bears the job's UID may be used. What this program created it knows by its answer, and
 * after that by the UID in the ledger. Any other may be somebody else's work. Without an entry the job may be another
 * operator's, or the ledger is lost: then its pods use the object already.
 */
static bool objects_trust(const struct rh_decision *decision, const struct rh_child *child, const char *made)
{
	if (child->retained || child->hash != 0)
		return true;
	return made ? strcmp(made, child->uid) == 0 : decision->owned_count > 0;
}

/* An object that is made once: pods wait until the ledger has its UID, which is written before they are created. */
static int objects_desire_once(struct rh_decision *decision, const struct objects_desired *desired)
{
	const struct rh_child *child = objects_find(decision, desired);
	struct rh_uid_map *made = &decision->plan->ledger.made;
	rh_auto_free char *key = objects_key(desired);

	if (!key)
		return RH_ENOMEM;
	if (child && !child->deleting && *child->uid && objects_trust(decision, child, rh_uid_map_find(made, key)))
		return rh_uid_map_set(made, key, child->uid);
	decision->equipped = false;
	if (!child)
		return objects_act(decision, desired->keep.random > 0 ? RH_MAKE_OBJECT : RH_CREATE_OBJECT, desired);
	return objects_drop(decision, child);
}

/* What is not desired any more leaves the ledger. */
static int objects_forget_made(struct rh_decision *decision)
{
	struct rh_uid_map *made = &decision->plan->ledger.made;

	for (size_t i = made->count; i > 0; i--) {
		bool found = false;

		for (const struct rh_json *object = rh_json_first(decision->world->objects); object && !found;
		     object = rh_json_next(object)) {
			const struct objects_desired desired = objects_read(object, 0);
			rh_auto_free char *key = desired.keep.once ? objects_key(&desired) : NULL;

			if (desired.keep.once && !key)
				return RH_ENOMEM;
			found = key && strcmp(key, made->items[i - 1].key) == 0;
		}
		if (!found)
			rh_uid_map_remove(made, i - 1);
	}
	return 0;
}

static int objects_desire(struct rh_decision *decision, const struct objects_desired *desired)
{
	const struct rh_child *child = objects_find(decision, desired);
	enum objects_state state;
	uint64_t hash;

	if (desired->keep.once)
		return objects_desire_once(decision, desired);
	if (rh_object_hash(desired->object, &hash) < 0)
		return RH_ENOMEM;
	state = objects_state(child, hash);
	if (child && objects_is_binding(desired) && objects_open_another(decision)) {
		decision->granted = false;
		return objects_drop(decision, child);
	}
	if (objects_is_binding(desired)) {
		decision->granted = decision->granted && state == OBJECTS_RIGHT;
	} else if (desired->serves) {
		decision->equipped = decision->equipped && state >= OBJECTS_OWN;
		decision->verified = decision->verified && (state == OBJECTS_RIGHT || !objects_is_bound(desired));
	}
	if (state == OBJECTS_RIGHT || state == OBJECTS_MOVING || objects_must_wait(decision, desired, state))
		return 0;
	return objects_act(decision, state == OBJECTS_ABSENT ? RH_CREATE_OBJECT : RH_UPDATE_OBJECT, desired);
}

/*
 * @return whether another owner's object has the name of an object that serves pods, or (@p bound) that a binding
 * refers to
 */
static bool objects_are_taken(const struct rh_decision *decision, bool bound)
{
	const struct rh_json *object = rh_json_first(decision->world->objects);

	for (; object; object = rh_json_next(object)) {
		const struct objects_desired desired = objects_read(object, 0);

		if (objects_is_taken(decision, &desired) && (!bound || objects_is_bound(&desired)))
			return true;
	}
	return false;
}

/* Objects that serve pods during a name conflict: nothing is created, and a binding to a foreign object is deleted. */
static int objects_block(struct rh_decision *decision, const struct objects_desired *desired)
{
	const struct rh_child *child = NULL;

	if (objects_is_taken(decision, desired))
		return objects_act(decision, RH_LOOK_OBJECT, desired);
	if (objects_is_binding(desired) && objects_are_taken(decision, true))
		child = objects_find(decision, desired);
	return child ? objects_drop(decision, child) : 0;
}

/* One pass over the desired objects: those that wait for others, or these. */
static int objects_desire_all(struct rh_decision *decision, bool waiting, bool blocked)
{
	int32_t index = 0;
	int r = 0;

	for (const struct rh_json *object = rh_json_first(decision->world->objects); object && r == 0;
	     object = rh_json_next(object)) {
		const struct objects_desired desired = objects_read(object, index++);

		if ((objects_is_binding(&desired) || objects_makes_pods(&desired)) != waiting)
			continue;
		r = blocked && desired.serves ? objects_block(decision, &desired) : objects_desire(decision, &desired);
	}
	return r;
}

int rh_decide_objects(struct rh_decision *decision)
{
	bool blocked = objects_are_taken(decision, false);

	decision->equipped = decision->verified = decision->granted = !blocked;
	if (!decision->world->objects)
		return 0;
	if (objects_forget_made(decision) < 0 || objects_desire_all(decision, false, blocked) < 0 ||
	    objects_desire_all(decision, true, blocked) < 0)
		return RH_ENOMEM;
	return rh_decide_drop_objects(decision);
}

static bool objects_is_desired(const struct rh_decision *decision, const struct rh_child *child)
{
	for (const struct rh_json *object = rh_json_first(decision->world->objects); object;
	     object = rh_json_next(object)) {
		const struct objects_desired desired = objects_read(object, 0);

		if (objects_is_it(child, &desired))
			return true;
	}
	return false;
}

int rh_decide_drop_objects(struct rh_decision *decision)
{
	const struct rh_world *world = decision->world;

	for (size_t i = 0; world->objects && i < world->child_count; i++) {
		const struct rh_child *child = world->children[i];

		if (objects_is_further(decision, child) && !objects_is_desired(decision, child) &&
		    objects_drop(decision, child) < 0)
			return RH_ENOMEM;
	}
	return 0;
}
