/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "cli/scaffold/scaffold.h"
#include "job/values/names.h"

/* "-controller" is appended to the kind in lower case, and must fit into a label's value with it. */
#define NAMES_KIND_MAX (RH_LABEL_MAX - (int)sizeof("-controller") + 1)

/* Targets that CMake has already, and words that a type or module cannot be called in one of the languages. */
static const char names_taken[] =
	"all|clean|depend|edit_cache|help|install|list_install_components|package|package_source|rebuild_cache|test";
/* Types of the C++ header and of the crate. */
static const char names_taken_kinds[] = "Description|Findings|Judgement|Kind|Objects|Option|Pod|Replica|ReplicaType|"
										"Result|RoundhousePlugin|Self|String|Vec|"
										"Verdicts|View";

static int names_need(const char *value, const char *option, const char *example, struct rh_error *err)
{
	if (value && *value)
		return 0;
	return rh_fail(err, RH_EINVAL, "`plugins new` needs %s, as in %s", option, example);
}

/* plugin.h, rh_plugin.name; a letter first, because source files use it in names of functions */
static int names_read_name(const char *name, struct rh_scaffold *scaffold, struct rh_error *err)
{
	if (!rh_name_is_dns1035(name))
		return rh_fail(err, RH_EINVAL,
		               "NAME is \"%.64s\", and must be lower-case letters, digits and \"-\", a letter first and no "
		               "\"-\" at the end, at most %d characters",
		               name, RH_LABEL_MAX);
	if (rh_words_have(names_taken, '|', name, strlen(name)))
		return rh_fail(err, RH_EINVAL, "NAME is \"%s\", and CMake has a target of that name; use another", name);
	rh_copy(scaffold->name, sizeof(scaffold->name), name);
	return 0;
}

/* plugin.h, rh_kind.kind and rh_replica_type.name */
static bool names_is_word(const char *word, size_t most)
{
	size_t length = 0;

	while (isalnum((unsigned char)word[length]))
		length++;
	return length > 0 && length <= most && !word[length] && isupper((unsigned char)word[0]);
}

static int names_read_kind(const char *kind, struct rh_scaffold *scaffold, struct rh_error *err)
{
	if (!names_is_word(kind, NAMES_KIND_MAX))
		return rh_fail(err, RH_EINVAL,
		               "--kind is \"%.64s\", and must be letters and digits, a capital first, at most %d characters: "
		               "FooJob",
		               kind, NAMES_KIND_MAX);
	if (rh_words_have(names_taken_kinds, '|', kind, strlen(kind)))
		return rh_fail(err, RH_EINVAL, "--kind is \"%s\", which the sources use for something else; use another: %sJob",
		               kind, kind);
	rh_copy(scaffold->kind, sizeof(scaffold->kind), kind);
	return 0;
}

/* apiextensions.k8s.io: a group has a dot, and those of Kubernetes need the consent of its community */
static int names_read_group(const char *group, struct rh_scaffold *scaffold, struct rh_error *err)
{
	static const char *const reserved[] = {".k8s.io", ".kubernetes.io"};
	size_t length = strlen(group);

	if (!rh_name_is_dns1123(group) || !strchr(group, '.') || length >= sizeof(scaffold->group))
		return rh_fail(err, RH_EINVAL, "--group is \"%.64s\", and must be a domain name with a dot, as example.org",
		               group);
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		if (length >= strlen(reserved[i]) && strcmp(group + length - strlen(reserved[i]), reserved[i]) == 0)
			return rh_fail(err, RH_EINVAL,
			               "--group is \"%s\", and Kubernetes keeps *%s for itself; use a domain of yours", group,
			               reserved[i]);
	}
	rh_copy(scaffold->group, sizeof(scaffold->group), group);
	return 0;
}

static int names_add_type(const char *word, size_t length, struct rh_scaffold *scaffold, struct rh_error *err)
{
	char type[RH_SCAFFOLD_WORD] = "";

	if (length < sizeof(type))
		memcpy(type, word, length);
	if (!names_is_word(type, RH_LABEL_MAX))
		return rh_fail(err, RH_EINVAL,
		               "--replicas has \"%.*s\", and a replica type must be letters and digits, a capital first: "
		               "Leader,Worker",
		               (int)(length < RH_LABEL_MAX ? length : RH_LABEL_MAX), word);
	for (size_t i = 0; i < scaffold->type_count; i++) {
		if (strcasecmp(scaffold->types[i], type) == 0)
			return rh_fail(err, RH_EINVAL, "--replicas has \"%s\" twice", type);
	}
	if (scaffold->type_count == RH_TYPES_MAX)
		return rh_fail(err, RH_EINVAL, "--replicas has more than %d replica types", RH_TYPES_MAX);
	rh_copy(scaffold->types[scaffold->type_count++], RH_SCAFFOLD_WORD, type);
	return 0;
}

static int names_read_types(const char *words, struct rh_scaffold *scaffold, struct rh_error *err)
{
	int r = 0;

	while (r == 0) {
		size_t length = strcspn(words, ",");

		r = names_add_type(words, length, scaffold, err);
		if (!words[length])
			break;
		words += length + 1;
	}
	return r;
}

int rh_scaffold_read(const struct rh_scaffold_words *words, struct rh_scaffold *ret_scaffold, struct rh_error *err)
{
	struct rh_scaffold scaffold = {.lang = words->lang};
	int r = names_need(words->name, "NAME", "roundhouse plugins new foo", err);

	if (r == 0)
		r = names_need(words->kind, "--kind", "--kind FooJob", err);
	if (r == 0)
		r = names_need(words->replicas, "--replicas", "--replicas Leader,Worker", err);
	if (r == 0)
		r = names_need(words->lang, "--lang", "--lang cpp", err);
	if (r == 0)
		r = names_read_name(words->name, &scaffold, err);
	if (r == 0)
		r = names_read_kind(words->kind, &scaffold, err);
	if (r == 0)
		r = names_read_types(words->replicas, &scaffold, err);
	if (r == 0)
		r = names_read_group(words->group ? words->group : "example.org", &scaffold, err);
	if (r == 0)
		*ret_scaffold = scaffold;
	return r;
}
