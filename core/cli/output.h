/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/output.h
 * @brief How commands print values and Kubernetes objects.
 */
#ifndef RH_CLI_OUTPUT_H
#define RH_CLI_OUTPUT_H

#include <stdbool.h>

#include "base/json.h"
#include "base/str.h"
#include "cli/cli.h"

/** @return whether the option "output" of the command is "json" */
bool rh_cli_wants_json(const struct rh_cli *cli);
/** Append @p json as indented JSON, or as one YAML document, and a line end. @return 0 or RH_ENOMEM, also for NULL */
int rh_cli_put(const struct rh_json *json, bool as_json, struct rh_str *out);
/** Print @p json on standard output, as rh_cli_put(). @return 0 or RH_ENOMEM, also for NULL */
int rh_cli_put_out(const struct rh_json *json, bool as_json);
/** Print @p json on standard output as indented JSON. @return 0 or RH_ENOMEM, also for NULL */
int rh_cli_put_json(const struct rh_json *json);
/**
 * @param items an array of Kubernetes objects; taken, also on failure; NULL: memory is out
 * @return a List of them, as kubectl takes it, owned by the caller; NULL: memory is out
 */
struct rh_json *rh_cli_list(struct rh_json *items) __attribute__((warn_unused_result));
/**
 * Append Kubernetes objects: as a List in JSON, or as YAML documents with --- lines between them.
 * @param items an array of objects; taken, also on failure; NULL: memory is out
 * @return 0 or RH_ENOMEM
 */
int rh_cli_put_objects(struct rh_json *items, bool as_json, struct rh_str *out);
/** Print Kubernetes objects on standard output, as rh_cli_put_objects(). @param items taken. @return 0 or RH_ENOMEM */
int rh_cli_put_objects_out(struct rh_json *items, bool as_json, struct rh_error *err);

#endif
