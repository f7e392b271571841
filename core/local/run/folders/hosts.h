/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/folders/hosts.h
 * @brief The machine's part of a pod's /etc/hosts. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_FOLDERS_HOSTS_H
#define RH_LOCAL_RUN_FOLDERS_HOSTS_H

#include "base/str.h"

/**
 * Append the entries of this machine for a pod's /etc/hosts: its own file and, if missing there, its host name.
 * torchrun passes the host name to its peers, so a machine whose name is not in DNS would not be reachable by itself.
 * @param text the machine's /etc/hosts; NULL: it has none
 * @param name host name of the machine
 */
void rh_run_hosts_machine(struct rh_str *out, const char *text, const char *name);

#endif
