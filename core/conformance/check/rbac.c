/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check/rbac.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/** Room for the name of a resource. */
#define RBAC_NAME_SIZE 128

/** What the controller may do for every kind: pods and Services (conf/deploy/manifests.yaml). */
static bool rbac_is_core(const char *group, const char *resource, const char *verb)
{
	static const char verbs[] = "create|delete|get|list|patch|update|watch";

	return !*group && (strcmp(resource, "pods") == 0 || strcmp(resource, "services") == 0) &&
	       rh_words_have(verbs, '|', verb, strlen(verb));
}

/** @return whether the list of texts has @p word or "*" */
static bool rbac_lists(const struct rh_json *list, const char *word)
{
	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		const char *text = rh_json_string(item);

		if (text && (strcmp(text, "*") == 0 || strcmp(text, word) == 0))
			return true;
	}
	return false;
}

static bool rbac_allows(const struct rh_json *rules, const char *group, const char *resource, const char *verb)
{
	for (const struct rh_json *rule = rh_json_first(rules); rule; rule = rh_json_next(rule)) {
		if (rbac_lists(rh_json_get(rule, "apiGroups"), group) && rbac_lists(rh_json_get(rule, "resources"), resource) &&
		    rbac_lists(rh_json_get(rule, "verbs"), verb))
			return true;
	}
	return rbac_is_core(group, resource, verb);
}

/** The plural of a kind in lower case, as Kubernetes builds those of its own. */
static void rbac_resource(const char *kind, char resource[RBAC_NAME_SIZE])
{
	size_t length;

	rh_copy(resource, RBAC_NAME_SIZE - 3, kind);
	for (char *at = resource; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	length = strlen(resource);
	if (length > 0 && resource[length - 1] == 'y')
		memcpy(resource + length - 1, "ies", sizeof("ies"));
	else if (length > 0 && strchr("sx", resource[length - 1]))
		memcpy(resource + length, "es", sizeof("es"));
	else
		memcpy(resource + length, "s", sizeof("s"));
}

static void rbac_check_object(struct rh_board *board, const struct rh_json *rules, const struct rh_kind *kind,
                              const struct rh_json *object)
{
	static const char *const verbs[] = {"create", "list", "update", "delete"};
	const char *version = rh_json_string_at(object, "apiVersion");
	const char *slash = version ? strchr(version, '/') : NULL;
	char group[RBAC_NAME_SIZE] = "", resource[RBAC_NAME_SIZE];

	if (slash)
		snprintf(group, sizeof(group), "%.*s", (int)(slash - version), version);
	rbac_resource(rh_json_string_at(object, "kind") ? rh_json_string_at(object, "kind") : "", resource);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (!rbac_allows(rules, group, resource, verbs[i]))
			rh_board_add(board, RH_CHECK_RBAC, "rbac_rules of %s do not allow to %s %s of group \"%s\"", kind->kind,
			             verbs[i], resource, group);
	}
}

/** One rule of a Role: each group, resource and verb of it must be ours. */
static void rbac_check_grant(struct rh_board *board, const struct rh_json *rules, const struct rh_kind *kind,
                             const struct rh_json *grant)
{
	const struct rh_json *group = rh_json_first(rh_json_get(grant, "apiGroups"));

	for (; group; group = rh_json_next(group)) {
		const struct rh_json *resource = rh_json_first(rh_json_get(grant, "resources"));

		for (; resource; resource = rh_json_next(resource)) {
			const struct rh_json *verb = rh_json_first(rh_json_get(grant, "verbs"));

			for (; verb; verb = rh_json_next(verb)) {
				const char *words[] = {rh_json_string(group), rh_json_string(resource), rh_json_string(verb)};

				if (words[0] && words[1] && words[2] && !rbac_allows(rules, words[0], words[1], words[2]))
					rh_board_add(
						board, RH_CHECK_RBAC,
						"a Role grants %.60s of %.60s, which rbac_rules of %s do not have: an API server refuses it",
						words[2], words[1], kind->kind);
			}
		}
	}
}

void rh_check_rights(struct rh_board *board, const struct rh_json *rules, const struct rh_kind *kind,
                     const struct rh_json *object)
{
	const struct rh_json *grant = NULL;

	rbac_check_object(board, rules, kind, object);
	if (rh_text_equal(rh_json_string_at(object, "kind"), "Role"))
		grant = rh_json_first(rh_json_get(object, "rules"));
	for (; grant; grant = rh_json_next(grant))
		rbac_check_grant(board, rules, kind, grant);
}
