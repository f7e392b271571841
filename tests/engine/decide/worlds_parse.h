/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/decide/worlds_parse.h
 * @brief Parsing of the words that describe jobs and worlds; for worlds*.c.
 */
#ifndef RH_TEST_ENGINE_DECIDE_WORLDS_PARSE_H
#define RH_TEST_ENGINE_DECIDE_WORLDS_PARSE_H

#include <stdbool.h>

#include "base/json.h"
#include "engine/world.h"
#include "roundhouse/plugin.h"

/** Room for a statement and for each of its words. */
#define WORLDS_TEXT 2048

/**
 * A plugin with two kinds without Services and selectors, and a judge() without a verdict, which restarts
 * what the annotation "again" says: ToyJob; and OuterJob, whose
 * type Launcher is run by an object of the plugin, with the limits of the run policy.
 */
extern const struct rh_plugin worlds_toy_plugin;
/** Copy the next word of *@p text and move on. @return false at the end */
bool worlds_word(const char **text, char word[WORLDS_TEXT]);
/** @return the value of "key=value", or NULL when the word has another key */
const char *worlds_value(const char *word, const char *key);
/** @return the value of "create", "read", "update", "delete" or "name"; another word fails the test */
enum rh_refused worlds_refused(const char *word);
/** @return the object that the words of a job describe, owned by the caller */
struct rh_json *worlds_object(const char *words);

#endif
