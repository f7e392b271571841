/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin whose schema and rules the test gives: the files that RULES_SCHEMA and RULES_CEL name. It serves RuleJob of
 * example.org.
 */
#include <stdio.h>
#include <stdlib.h>

#include "roundhouse/plugin.h"

/* Bytes of a file, with its final zero. */
#define RULES_SIZE 262144

static const struct rh_replica_type rules_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};
static const struct rh_replica_type *const rules_types[] = {&rules_worker, 0};
static struct rh_kind rules_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "RuleJob",
	.plural = "rulejobs",
	.singular = "rulejob",
	.framework = "rule",
	.controller = "rulejob-controller",
	.replicas_field = "ruleReplicaSpecs",
	.types = rules_types,
	.container = "rule",
	.restart_policy = "Never",
};

static const char *rules_read(const char *variable, char *buffer)
{
	const char *path = getenv(variable);
	FILE *file = path ? fopen(path, "r") : 0;
	size_t length;

	if (!file)
		return 0;
	length = fread(buffer, 1, RULES_SIZE - 1, file);
	(void)fclose(file);
	buffer[length] = '\0';
	return buffer;
}

static const struct rh_kind *rules_describe(void *self, uint32_t index)
{
	static char schema[RULES_SIZE], cel[RULES_SIZE];

	(void)self;
	rules_kind.spec_schema = rules_read("RULES_SCHEMA", schema);
	rules_kind.cel_rules = rules_read("RULES_CEL", cel);
	return index == 0 ? &rules_kind : 0;
}

static const struct rh_plugin rules_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "rules",
	.release = "1",
	.describe = rules_describe,
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &rules_plugin;
}
