/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that fits (CASE_A_GOOD), and the same with one thing wrong, chosen when it is compiled. */
#include "roundhouse/plugin.h"

#ifdef CASE_NO_SYMBOL

RH_PLUGIN_EXPORT int rh_something_else(void);

int rh_something_else(void)
{
	return 0;
}

#else

/* Where a head does not fit, nothing behind it may be read: these addresses would crash. */
#define CASE_POISON ((const char *)8)

static const struct rh_replica_type case_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 1,
};

__attribute__((unused)) static const struct rh_replica_type *const case_types[] = {&case_worker, 0};

#ifndef CASE_NO_KIND
static const struct rh_kind case_kind = {
#ifdef CASE_KIND_HEAD
	.head = {offsetof(struct rh_kind, contract), RH_ABI_MAJOR, RH_ABI_MINOR, RH_ABI_VENDOR},
	.group = CASE_POISON,
#else
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
#endif
	.version = "v1",
#ifdef CASE_C_SECOND_NAME
	.kind = "OtherJob",
	.plural = "otherjobs",
	.singular = "otherjob",
#else
	.kind = "CaseJob",
	.plural = "casejobs",
	.singular = "casejob",
#endif
	.framework = "case",
	.controller = "casejob-controller",
	.replicas_field = "caseReplicaSpecs",
	.types = case_types,
	.container = "case",
	.restart_policy = "Never",
};
#endif

static int32_t case_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	*ret_self = 0;
#ifdef CASE_INIT_ERROR
	return services->fail(reply, RH_EIO, "no accelerator");
#else
	(void)services;
	(void)reply;
	return 0;
#endif
}

__attribute__((unused)) static const struct rh_kind *case_describe(void *self, uint32_t index)
{
	(void)self;
#ifdef CASE_NO_KIND
	(void)index;
	return 0;
#else
	return index == 0 ? &case_kind : 0;
#endif
}

static const struct rh_plugin case_plugin = {
#if defined(CASE_SHORT_STRUCT)
	.head = {sizeof(struct rh_head) + 8, RH_ABI_MAJOR, RH_ABI_MINOR, RH_ABI_VENDOR},
	.name = CASE_POISON,
#elif defined(CASE_VENDOR)
	.head = {sizeof(struct rh_plugin), RH_ABI_MAJOR, RH_ABI_MINOR, "acme"},
	.name = CASE_POISON,
#elif defined(CASE_TABLE_MAJOR)
	.head = {sizeof(struct rh_plugin), RH_ABI_MAJOR + 1, 0, RH_ABI_VENDOR},
	.name = CASE_POISON,
#elif defined(CASE_B_SECOND_KIND)
	.head = RH_HEAD(struct rh_plugin),
	.name = "second",
#else
	.head = RH_HEAD(struct rh_plugin),
	.name = "case",
#endif
	.release = "0.1",
	.init = case_init,
#ifndef CASE_NO_DESCRIBE
	.describe = case_describe,
#endif
};

#if defined(CASE_EARLIER_MAJOR)
#define CASE_ENTRY rh_plugin_entry_v0
#elif defined(CASE_LATER_MAJOR)
#define CASE_ENTRY rh_plugin_entry_v2
#else
#define CASE_ENTRY rh_plugin_entry_v1
#endif

RH_PLUGIN_EXPORT const struct rh_plugin *CASE_ENTRY(void);

const struct rh_plugin *CASE_ENTRY(void)
{
#ifdef CASE_NULL_TABLE
	(void)case_plugin;
	return 0;
#else
	return &case_plugin;
#endif
}

#endif
