/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/scaffold/scaffold.h
 * @brief The project that `plugins new` writes: what it is made for, and how a template becomes a file of it.
 *
 * A template is a file of core/cli/templates, compiled in. @WORD@ in it is replaced; lines between "@each@" and
 * "@end@", each alone on its line, are repeated for every replica type.
 */
#ifndef RH_CLI_SCAFFOLD_SCAFFOLD_H
#define RH_CLI_SCAFFOLD_SCAFFOLD_H

#include <stddef.h>

#include "base/error.h"
#include <stdbool.h>

#include "base/str.h"
#include "job/status/status.h"

/** Room for a word that is made of names, in bytes. */
#define RH_SCAFFOLD_WORD 128

/** One file of the templates. */
struct rh_template {
	const char *path; /**< "cpp/plugin.cpp.in", below core/cli/templates */
	const char *text; /**< zero-terminated */
};

/** All templates; path NULL ends the list. */
extern const struct rh_template rh_templates[];

/** What a project is made for. */
struct rh_scaffold {
	char name[RH_SCAFFOLD_WORD];                /**< of the plugin: "my-foo" */
	char kind[RH_SCAFFOLD_WORD];                /**< "FooJob" */
	char group[RH_SCAFFOLD_WORD * 2];           /**< "example.org" */
	char types[RH_TYPES_MAX][RH_SCAFFOLD_WORD]; /**< replica types in start order */
	size_t type_count;
	const char *lang;   /**< "c", "cpp" or "rust"; static */
	const char *prefix; /**< where Roundhouse is installed, "/usr/local"; borrowed */
};

/** What the command line says, unchecked and borrowed; NULL: not given. */
struct rh_scaffold_words {
	const char *name;
	const char *kind;
	const char *replicas; /**< separated by commas */
	const char *lang;
	const char *group;
};

/**
 * Check the words by the rules of the plugin ABI and of what the project is built with. @param[out] ret_scaffold filled
 * but for prefix
 * @return 0 or RH_EINVAL, with a message that names the option
 */
int rh_scaffold_read(const struct rh_scaffold_words *words, struct rh_scaffold *ret_scaffold, struct rh_error *err);
/**
 * @return whether the template belongs to the project's language. @param[out] ret_path then the path of its file in the
 * project, owned by the caller; NULL when memory is out
 */
bool rh_scaffold_has(const struct rh_scaffold *scaffold, const struct rh_template *template_, char **ret_path);
/** Append the template's text for this project. @return 0, or RH_EINVAL for a word that no template may have */
int rh_scaffold_expand(const struct rh_scaffold *scaffold, const char *text, struct rh_str *out, struct rh_error *err);

#endif
