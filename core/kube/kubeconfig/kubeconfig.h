/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/kubeconfig/kubeconfig.h
 * @brief Address of the API server and credentials: kubeconfig files as kubectl reads them, or a pod's service account.
 *
 * Loading chooses one context, reads the files that it names and checks what can be checked without the server. An
 * error names file, field path and hint. Unknown fields are ignored, as in kubectl. Messages never contain secret
 * values.
 */
#ifndef RH_KUBE_KUBECONFIG_KUBECONFIG_H
#define RH_KUBE_KUBECONFIG_KUBECONFIG_H

#include <stddef.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"

/** Largest certificate, key or token file, in bytes. */
#define RH_KUBECONFIG_FILE_MAX (1u << 20)

/** One API server and one user. Strings are owned; NULL where the field is absent. */
struct rh_kubeconfig {
	char *cluster_at; /**< for messages: "/home/u/.kube/config: clusters[0].cluster" */
	char *user_at;    /**< for messages: "/home/u/.kube/config: users[0].user" */
	char *context;    /**< name of the context; NULL: a pod's service account */
	char *user;       /**< name of its user; NULL: it has none */
	char *server;     /**< "https://host:port" or "http://…", perhaps with a path; no slash at its end */
	char *ca;         /**< PEM of the authorities that may sign the server's certificate; NULL: the system's */
	char *ca_file;    /**< where it came from, to be read again; NULL: it was inline */
	bool insecure;    /**< the server's certificate is not verified */
	bool no_compression;
	char *tls_server_name;  /**< name that the certificate must have instead of the server's */
	char *proxy_url;        /**< NULL: the environment's */
	char *namespace_;       /**< the context's, or the pod's own */
	char *certificate;      /**< PEM of the client's certificate chain */
	char *certificate_file; /**< where it came from, to be read again; NULL: it was inline */
	char *key;              /**< PEM; secret */
	char *key_file;
	char *token;      /**< bearer token; secret */
	char *token_file; /**< file with a bearer token that is renewed; takes precedence over token */
	char *username;   /**< for basic authentication */
	char *password;   /**< secret */
	/** The checked "exec" part; its command is absolute, or a name for $PATH. NULL: none */
	struct rh_json *exec;
	/** Value of the cluster's extension client.authentication.k8s.io/exec, for exec plugins; NULL: none */
	struct rh_json *exec_config;
	/** Impersonation headers, an array of "Name: value"; NULL: none */
	struct rh_json *headers;
};

/** Where to find the configuration. */
struct rh_kubeconfig_options {
	const char *path;                /**< --kubeconfig; NULL or "": use the default places */
	const char *context;             /**< --context; NULL or "": the files' current-context */
	const char *service_account_dir; /**< NULL: /var/run/secrets/kubernetes.io/serviceaccount */
};

/**
 * Find and read the configuration: @p options' path, else the files in $KUBECONFIG, merged as kubectl does, else the
 * pod's service account ($KUBERNETES_SERVICE_HOST), else $HOME/.kube/config. Blocks for the files.
 * @param[out] ret_config owned by the caller
 * @return 0, RH_EINVAL, RH_ENOENT (not found; the message lists the places searched), RH_EIO or RH_ENOMEM
 */
int rh_kubeconfig_load(const struct rh_kubeconfig_options *options, struct rh_kubeconfig **ret_config,
                       struct rh_error *err);
/**
 * Parse one kubeconfig in memory. Files that it names are not read: their paths are in the *_file members.
 * @param name file name for messages; relative paths start at its folder
 * @param context NULL or "": the kubeconfig's current-context
 * @return 0, RH_EINVAL or RH_ENOMEM
 */
int rh_kubeconfig_parse(const char *name, const char *text, size_t length, const char *context,
                        struct rh_kubeconfig **ret_config, struct rh_error *err);
/** Wipe secrets and free @p config. NULL is ignored. */
void rh_kubeconfig_free(struct rh_kubeconfig *config);
RH_DEFINE_CLEANUP(kubeconfig);

/**
 * Check that @p text is PEM with a @p what ("CERTIFICATE", "PRIVATE KEY"); an encrypted key is refused.
 * @param at names the field in the message. @return 0 or RH_EINVAL
 */
int rh_kubeconfig_check_pem(const char *at, const char *text, const char *what, struct rh_error *err);

#endif
