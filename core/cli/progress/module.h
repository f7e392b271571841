/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/progress/module.h
 * @brief The shared object roundhouse-progress.so, which serves the reports of progress of a run. Only runs that use it
 * load the libraries for HTTP and TLS with it.
 */
#ifndef RH_CLI_PROGRESS_MODULE_H
#define RH_CLI_PROGRESS_MODULE_H

#include "local/progress/server.h"

/** Its file, in libexec/roundhouse. */
#define RH_PROGRESS_MODULE_FILE "roundhouse-progress.so"
/** The symbol that it exports, of type rh_progress_module_fn. */
#define RH_PROGRESS_MODULE_SYMBOL "rh_progress_module"

/** @param version RH_VERSION of the caller: program and module share structures, and must be built together
 * @return how to serve, static storage; NULL: the module is of another version */
typedef const struct rh_progress_serving *rh_progress_module_fn(const char *version);
/** The function of that symbol. */
__attribute__((visibility("default"))) const struct rh_progress_serving *rh_progress_module(const char *version);

#endif
