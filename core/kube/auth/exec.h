/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/auth/exec.h
 * @brief Exec credential plugins (client.authentication.k8s.io/v1 and v1beta1): their input and their output.
 */
#ifndef RH_KUBE_AUTH_EXEC_H
#define RH_KUBE_AUTH_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kube/kubeconfig/kubeconfig.h"

/** The credential that a plugin returned. Strings are owned and secret; NULL where the field is absent. */
struct rh_auth_answer {
	char *token;
	char *certificate; /**< PEM */
	char *key;         /**< PEM */
	int64_t expires;   /**< wall-clock microseconds; RH_NEVER: not given */
};

/** Wipe and free what @p answer owns. */
void rh_auth_answer_deinit(struct rh_auth_answer *answer);
/**
 * Parse the ExecCredential that the plugin of @p config wrote. No error message quotes it.
 * @return 0, RH_EINVAL or RH_ENOMEM
 */
int rh_auth_answer_parse(const struct rh_kubeconfig *config, const char *text, size_t length,
                         struct rh_auth_answer *ret_answer, struct rh_error *err);
/** @return the value of $KUBERNETES_EXEC_INFO for the plugin of @p config, owned by the caller; NULL: out of memory */
char *rh_auth_exec_info(const struct rh_kubeconfig *config, bool interactive) __attribute__((warn_unused_result));
/**
 * Decide whether the plugin of @p config may use the terminal; @p terminal: there is one.
 * @return 0, or RH_EINVAL when it needs one
 */
int rh_auth_exec_interactive(const struct rh_kubeconfig *config, bool terminal, bool *ret_interactive,
                             struct rh_error *err);

/** Arguments and environment for starting a plugin. Owned; both lists are NULL-terminated. */
struct rh_auth_command {
	char **argv;
	char **envp;
};

/** Build them for the plugin of @p config. @param environment NULL-terminated "NAME=value", borrowed
 * @return 0 or RH_ENOMEM */
int rh_auth_command_init(struct rh_auth_command *command, const struct rh_kubeconfig *config, bool interactive,
                         char *const *environment);
/** Free what @p command owns. */
void rh_auth_command_deinit(struct rh_auth_command *command);

#endif
