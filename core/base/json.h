/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json.h
 * @brief JSON trees.
 *
 * A tree has one owner, the holder of its root; a value inside is borrowed and lives as long as its root does.
 * Functions that put a value into a tree take it over ("taken"), also when they fail, so that no caller has to clean
 * up.
 *
 * One header for all users; what it declares lies, by subject, in base/json/.
 */
#ifndef RH_BASE_JSON_H
#define RH_BASE_JSON_H

/* IWYU pragma: begin_exports */
#include "base/json/edit.h"
#include "base/json/path.h"
#include "base/json/read.h"
#include "base/json/text.h"
#include "base/json/value.h"
/* IWYU pragma: end_exports */

#endif
