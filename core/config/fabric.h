/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config/fabric.h
 * @brief Sections [comm] and [comm NAME] of the configuration: which keys they have, and how their lists are read.
 */
#ifndef RH_CONFIG_FABRIC_H
#define RH_CONFIG_FABRIC_H

#include <stdbool.h>

#include "base/error.h"

/** The section of all jobs; "comm NAME" is a profile, for the pods of one class of nodes. */
#define RH_FABRIC_SECTION "comm"
/** Keys that set a variable begin with this. */
#define RH_FABRIC_ENV "env."
/** Longest item of a list: a qualified name, "=" and a value. */
#define RH_FABRIC_ITEM_SIZE 512

/** One item of a list: "rdma/hca=1", "IPC_LOCK". */
struct rh_fabric_item {
	char name[RH_FABRIC_ITEM_SIZE];
	const char *value; /**< behind the "=", within name; "" when there is none */
};

/** Called for each item, which is borrowed. @return 0, or a status that ends the walk */
typedef int rh_fabric_item_fn(void *arg, const struct rh_fabric_item *item);

/** Call @p fn for each item of @p list; NULL has none. @return 0, or the first other status of @p fn */
int rh_fabric_for_each(const char *list, rh_fabric_item_fn *fn, void *arg);
/** @return whether @p section is "comm" or "comm NAME" */
bool rh_fabric_is_section(const char *section);
/** Check one setting of such a section. @return 0, or RH_EINVAL with what is wrong and what to write */
int rh_fabric_check(const char *section, const char *key, const char *value, struct rh_error *err);

#endif
