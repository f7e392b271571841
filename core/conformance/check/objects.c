/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check/objects.h"

#include <stdio.h>
#include <string.h>

#include "conformance/check/rbac.h"
#include "conformance/check/texts.h"
#include "job/values/names.h"

/** Kinds of Kubernetes that have no namespace: a job's objects cannot be of them. */
static const char objects_cluster_kinds[] =
	"Namespace|Node|PersistentVolume|ClusterRole|ClusterRoleBinding|CustomResourceDefinition|StorageClass|"
	"PriorityClass|RuntimeClass|IngressClass|APIService|MutatingWebhookConfiguration|ValidatingWebhookConfiguration|"
	"ValidatingAdmissionPolicy|ValidatingAdmissionPolicyBinding|CSIDriver|CSINode|VolumeAttachment|"
	"CertificateSigningRequest|FlowSchema|PriorityLevelConfiguration|DeviceClass|ResourceSlice";

static const char *objects_text(const struct rh_json *object, const char *path)
{
	const char *text = rh_json_string_at(object, path);

	return text ? text : "";
}

/** Names of roles and of their bindings are looser: any segment of a path. */
static bool objects_is_name(const char *kind, const char *name)
{
	if (strcmp(kind, "Role") == 0 || strcmp(kind, "RoleBinding") == 0)
		return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strpbrk(name, "/%");
	if (strcmp(kind, "Service") == 0)
		return rh_name_is_dns1035(name);
	return rh_name_is_dns1123(name);
}

static void objects_check_one(struct rh_board *board, const struct rh_job *job, const struct rh_json *object)
{
	const char *kind = objects_text(object, "kind");
	const char *name = objects_text(object, "metadata.name");
	const char *namespace_ = rh_json_string_at(object, "metadata.namespace");

	if (!*kind || !*objects_text(object, "apiVersion"))
		rh_board_add(board, RH_CHECK_OBJECTS, "an object has no apiVersion or kind");
	if (rh_words_have(objects_cluster_kinds, '|', kind, strlen(kind)))
		rh_board_add(board, RH_CHECK_OBJECTS,
		             "%.60s is not namespaced: a job cannot own it, so it would outlive the job", kind);
	if (!objects_is_name(kind, name))
		rh_board_add(board, RH_CHECK_OBJECTS, "%.60s: metadata.name \"%.260s\" is not a name that an API server takes",
		             kind, name);
	if (namespace_ && strcmp(namespace_, job->namespace_) != 0)
		rh_board_add(board, RH_CHECK_OBJECTS, "%.60s: metadata.namespace \"%.70s\" is not the job's", kind, namespace_);
	if (rh_json_at(object, "metadata.ownerReferences"))
		rh_board_add(board, RH_CHECK_OBJECTS, "%.60s: metadata.ownerReferences is the host's", kind);
}

/** Two objects of one name would replace each other for ever. */
static void objects_check_twice(struct rh_board *board, const struct rh_json *objects, const struct rh_json *object)
{
	for (const struct rh_json *other = rh_json_first(objects); other != object; other = rh_json_next(other)) {
		if (strcmp(objects_text(other, "kind"), objects_text(object, "kind")) == 0 &&
		    strcmp(objects_text(other, "apiVersion"), objects_text(object, "apiVersion")) == 0 &&
		    strcmp(objects_text(other, "metadata.name"), objects_text(object, "metadata.name")) == 0)
			rh_board_add(board, RH_CHECK_OBJECTS, "%.60s %.260s is named twice", objects_text(object, "kind"),
			             objects_text(object, "metadata.name"));
	}
}

/** The name with JOB in place of the job's. */
static void objects_generic(const char *name, const char *job, char *generic, size_t size)
{
	const char *found = *job ? strstr(name, job) : NULL;

	if (found)
		snprintf(generic, size, "%.*sJOB%s", (int)(found - name), name, found + strlen(job));
	else
		snprintf(generic, size, "%s", name);
}

void rh_check_objects(struct rh_board *board, struct rh_contract *contract, const struct rh_json *rules,
                      const struct rh_job *job, const struct rh_json *objects)
{
	const struct rh_json *object = rh_json_first(objects);
	char name[RH_NAME_SIZE];

	contract->objects = true;
	for (; object; object = rh_json_next(object)) {
		objects_check_one(board, job, object);
		objects_check_twice(board, objects, object);
		rh_check_texts(board, "a key of an object", object);
		rh_check_rights(board, rules, job->kind, object);
		objects_generic(objects_text(object, "metadata.name"), job->name, name, sizeof(name));
		rh_contract_object(contract, board, objects_text(object, "kind"), name);
	}
}
