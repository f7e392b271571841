/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config/isolation.h
 * @brief Which plugins run in a process of their own ([plugins] isolation).
 */
#ifndef RH_CONFIG_ISOLATION_H
#define RH_CONFIG_ISOLATION_H

#include "base/error.h"

/** Which plugins run in a process of their own. */
enum rh_isolation {
	RH_ISOLATION_NONE,    /**< none: a plugin that does harm ends the program */
	RH_ISOLATION_FOREIGN, /**< those that are not of this release */
	RH_ISOLATION_PROCESS  /**< all */
};

/** The words of a setting or an option, as an option's table lists them. */
#define RH_ISOLATION_WORDS "none|foreign|process"

/** Read one of these words. @return 0 or RH_EINVAL */
int rh_isolation_parse(const char *text, enum rh_isolation *ret_isolation, struct rh_error *err);
/**
 * Find the program that runs a plugin: ../libexec/roundhouse/roundhouse-plugin-worker, beside the running one in a
 * build tree and in an installation.
 * @return owned by the caller; NULL when memory is out or the folder of the program is unknown
 */
char *rh_isolation_worker(void);

#endif
