/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/plugin/container_template.h
 * @brief Files with containers in YAML, in which {{.NAME}} stands for what is only known for each pod (v1-behaviour C).
 */
#ifndef RH_HOST_PLUGIN_CONTAINER_TEMPLATE_H
#define RH_HOST_PLUGIN_CONTAINER_TEMPLATE_H

#include "base/error.h"
#include "base/json.h"

/**
 * Read the text of such a file. Of Go's templates {{.NAME}} alone is understood, with white space or "-" inside.
 * @param variables a JSON array of the NAMEs that there are
 * @param[out] ret_lines one JSON object for each container, each ended by a line feed, with {{.NAME}} in its strings;
 * owned by the caller
 * @return 0, RH_ENOMEM, or RH_EINVAL with what is wrong and what may stand there
 */
int rh_container_template_read(const char *text, const struct rh_json *variables, char **ret_lines,
                               struct rh_error *err);

#endif
