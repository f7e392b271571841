/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/ini.h
 * @brief Configuration files. The only module that knows inih.
 */
#ifndef RH_BASE_INI_H
#define RH_BASE_INI_H

#include <stddef.h>

#include "base/error.h"

/**
 * One setting of a file. @p line counts from 1. Return 0 to go on; a negative status (with @p err filled) ends the
 * read, and rh_ini_parse() puts "file:line: " in front of its message.
 */
typedef int rh_ini_fn(void *arg, const char *section, const char *key, const char *value, int line,
                      struct rh_error *err);

/**
 * Call @p fn for each setting of @p text; @p name is the file's name in messages. Comments start with ; or #, also
 * behind a value after white space. The first =, or on a line without one the first :, ends a key; white space at the
 * start of a line means nothing; names of sections have at most 49 bytes and keys 150; values have no limit. Syntax
 * errors are refused with their line. @return 0, RH_EINVAL, RH_ENOMEM or what @p fn returned
 */
int rh_ini_parse(const char *name, const char *text, size_t length, rh_ini_fn *fn, void *arg, struct rh_error *err);

#endif
