/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/kubeconfig/parts.h
 * @brief Declarations shared by the files of the kubeconfig reader; for core/kube/kubeconfig/kubeconfig*.c alone.
 */
#ifndef RH_KUBE_KUBECONFIG_PARTS_H
#define RH_KUBE_KUBECONFIG_PARTS_H

#include "kube/kubeconfig/kubeconfig.h"

/** One mapping of a kubeconfig file. */
struct rh_kubeconfig_entry {
	const char *file;            /**< name of the file, for messages; borrowed */
	char *dir;                   /**< folder of the file, where relative paths begin; owned */
	char *at;                    /**< "file: users[1].user"; owned */
	const struct rh_json *value; /**< the mapping; borrowed */
};

/** Free what @p entry owns. */
void rh_kubeconfig_entry_deinit(struct rh_kubeconfig_entry *entry);
/** A local entry that is freed when it goes out of scope. */
#define rh_auto_kubeconfig_entry __attribute__((cleanup(rh_kubeconfig_entry_deinit))) struct rh_kubeconfig_entry

/**
 * Get the string @p field of @p entry. @param[out] ret_text borrowed; NULL when it is absent, null or ""
 * @return 0, or RH_EINVAL when it is not a string
 */
int rh_kubeconfig_text(const struct rh_kubeconfig_entry *entry, const char *field, const char **ret_text,
                       struct rh_error *err);
/** Read the cluster @p entry into @p config. @return 0, RH_EINVAL or RH_ENOMEM */
int rh_kubeconfig_read_cluster(const struct rh_kubeconfig_entry *entry, struct rh_kubeconfig *config,
                               struct rh_error *err);
/** Read the user @p entry into @p config; after its cluster. @return 0, RH_EINVAL or RH_ENOMEM */
int rh_kubeconfig_read_user(const struct rh_kubeconfig_entry *entry, struct rh_kubeconfig *config,
                            struct rh_error *err);
/** Check the "exec" part of the user @p entry and store it in @p config. @return 0, RH_EINVAL or RH_ENOMEM */
int rh_kubeconfig_read_exec(const struct rh_kubeconfig_entry *entry, const struct rh_json *exec,
                            struct rh_kubeconfig *config, struct rh_error *err);

#endif
