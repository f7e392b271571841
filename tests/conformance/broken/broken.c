/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that breaks one rule: the macro BREAK names it. Without one it keeps all rules. Each break is one line at
 * the place where an author would make the mistake.
 */
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "roundhouse/plugin.h"

/* What can be broken. */
enum broken_rule {
	NOTHING,
	HEAD_SIZE,
	SCHEMA_TEXT,
	SCHEMA_KEYWORD,
	SCHEMA_TYPE,
	SCHEMA_LIMITS,
	SCHEMA_PATTERN,
	CEL_BRACKET,
	SERVER_CEL,
	SERVER_POD,
	COLUMN_PATH,
	EXPORT_MORE,
	CRASH_LOAD,
	CRASH_INIT,
	CRASH_POD,
	CRASH_NULL,
	CRASH_JUDGE,
	CRASH_FINI,
	ABORT_OBJECTS,
	EXIT_POD,
	EXIT_KERNEL,
	EXIT_INIT,
	HANG_VALIDATE,
	HANG_LOAD,
	SLEEP_POD,
	LEAK_POD,
	LEAK_VALIDATE,
	THREAD_OBJECTS,
	THREAD_INIT,
	FORK_POD,
	SPAWN_POD,
	WRITE_POD,
	WRITE_INIT,
	READ_POD,
	SOCKET_POD,
	DESCRIPTOR_POD,
	OUTPUT_POD,
	OUTPUT_ERROR,
	ENVIRONMENT_POD,
	LOCALE_JUDGE,
	FOLDER_POD,
	SIGNAL_INIT,
	LIMIT_POD,
	UMASK_POD,
	ROUNDING_POD,
	JSON_QUOTE,
	JSON_EDIT,
	WRONG_SERVICE,
	STATUS_POD,
	UTF8_ENV,
	UTF8_EDIT,
	CORE_STATUS,
	CORE_METADATA,
	CORE_CONTAINERS,
	ENV_NAME,
	ENV_TWICE,
	ENV_LARGE,
	OBJECT_FIELDS,
	OBJECT_NAME,
	OBJECT_CLUSTER,
	OBJECT_NAMESPACE,
	OBJECT_TWICE,
	RBAC_MISSING,
	RBAC_GRANT,
	CONTRACT_MISSING,
	CONTRACT_NEVER,
	CONTRACT_TYPES,
	CONTRACT_OBJECT,
	VERDICT_BOTH,
	VERDICT_TYPE,
	VERDICT_NONE,
	VERDICT_RESTART,
	STATUS_VALUE,
	PURE_COUNT,
	PURE_CLOCK,
	PURE_PROCESS,
	PURE_ORDER,
	MEMORY_POD,
	MEMORY_STATUS
};

#ifndef BREAK
#define BREAK NOTHING
#endif

/** @return whether this plugin breaks @p rule: a constant, but not for compilers */
static int broken(enum broken_rule rule)
{
	volatile enum broken_rule mine = BREAK;

	return mine == rule;
}

static const struct rh_services *services;
static volatile int broken_calls;

#define WORKER_CONTRACT                                                              \
	"{\"what\": \"env\", \"name\": \"RANK\", \"value\": \"the rank\"},"              \
	"{\"what\": \"env\", \"name\": \"LEADER\", \"value\": \"where the leader is\"}," \
	"{\"what\": \"env\", \"name\": \"NOTE\", \"value\": \"spec.note\", \"when\": \"it is set\"},"

static const struct rh_replica_type broken_leader = {.head = RH_HEAD(struct rh_replica_type),
                                                     .name = "Leader",
                                                     .default_replicas = 1,
                                                     .min_replicas = 1,
                                                     .max_replicas = 1,
                                                     .flags = RH_REPLICA_LEADER | RH_REPLICA_REQUIRED};
static const struct rh_replica_type broken_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};
static const struct rh_replica_type *const broken_types[] = {&broken_leader, &broken_worker, 0};

static struct rh_kind broken_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "BrokenJob",
	.plural = "brokenjobs",
	.singular = "brokenjob",
	.framework = "broken",
	.controller = "brokenjob-controller",
	.replicas_field = "brokenReplicaSpecs",
	.types = broken_types,
	.container = "broken",
	.port_name = "brokenjob-port",
	.restart_policy = "Never",
	.port = 4000,
	.flags = RH_KIND_SERVICES,
	.spec_schema = "{\"note\": {\"type\": \"string\"}, \"slots\": {\"type\": \"integer\", \"minimum\": 1},"
				   "\"labels\": {\"type\": \"object\", \"additionalProperties\": {\"type\": \"string\"}}}",
	.rbac_rules = "[{\"apiGroups\": [\"\"], \"resources\": [\"configmaps\"],"
				  "\"verbs\": [\"create\", \"list\", \"update\", \"delete\"]},"
				  "{\"apiGroups\": [\"rbac.authorization.k8s.io\"], \"resources\": [\"roles\"],"
				  "\"verbs\": [\"create\", \"list\", \"update\", \"delete\"]}]",
	.contract =
		"[" WORKER_CONTRACT "{\"what\": \"field\", \"name\": \"spec.subdomain\", \"value\": \"the job's name\"},"
		"{\"what\": \"object\", \"name\": \"ConfigMap JOB-config\", \"value\": \"names of the replicas\"}]",
};

static void broken_describe_text(void)
{
	if (broken(SCHEMA_TEXT))
		broken_kind.spec_schema = "{\"note\": {\"type\": \"string\"}";
	if (broken(SCHEMA_KEYWORD))
		broken_kind.spec_schema = "{\"note\": {\"type\": \"string\", \"max_length\": 3}}";
	if (broken(SCHEMA_TYPE))
		broken_kind.spec_schema = "{\"note\": {\"type\": \"text\"}}";
	if (broken(SCHEMA_LIMITS))
		broken_kind.spec_schema = "{\"slots\": {\"type\": \"integer\", \"minimum\": 3, \"maximum\": 1}}";
	if (broken(SCHEMA_PATTERN))
		broken_kind.spec_schema = "{\"note\": {\"type\": \"string\", \"pattern\": \"(a\"}}";
	if (broken(CEL_BRACKET))
		broken_kind.cel_rules = "[{\"at\": \"spec\", \"rule\": \"self.slots > (1\", \"message\": \"x\"}]";
	if (broken(SERVER_CEL))
		broken_kind.cel_rules =
			"[{\"at\": \"spec\", \"rule\": \"!has(self.labels) || self.labels.all(a, self.labels.all(b, "
			"self.labels.all(c, a + b != c)))\", \"message\": \"x\"}]";
	if (broken(COLUMN_PATH))
		broken_kind.columns = "[{\"name\": \"Note\", \"type\": \"string\", \"jsonPath\": \"spec.note\"}]";
	if (broken(STATUS_VALUE))
		broken_kind.status_schema = "{\"step\": {\"type\": \"integer\"}}";
	if (broken(RBAC_MISSING))
		broken_kind.rbac_rules = "[{\"apiGroups\": [\"\"], \"resources\": [\"configmaps\"], \"verbs\": [\"create\"]}]";
	if (broken(CONTRACT_MISSING))
		broken_kind.contract = "[{\"what\": \"env\", \"name\": \"RANK\", \"value\": \"x\"}]";
	if (broken(CONTRACT_NEVER))
		broken_kind.contract =
			"[" WORKER_CONTRACT "{\"what\": \"field\", \"name\": \"spec.subdomain\", \"value\": \"the job's name\"},"
			"{\"what\": \"env\", \"name\": \"GONE\", \"value\": \"x\"},"
			"{\"what\": \"object\", \"name\": \"ConfigMap JOB-config\", \"value\": \"x\"}]";
	if (broken(CONTRACT_TYPES))
		broken_kind.contract = "[{\"what\": \"env\", \"name\": \"NOTE\", \"value\": \"x\", \"when\": \"x\"},"
							   "{\"what\": \"env\", \"name\": \"LEADER\", \"value\": \"x\", \"types\": [\"Leader\"]},"
							   "{\"what\": \"env\", \"name\": \"RANK\", \"value\": \"x\"},"
							   "{\"what\": \"field\", \"name\": \"spec.subdomain\", \"value\": \"the job's name\"},"
							   "{\"what\": \"object\", \"name\": \"ConfigMap JOB-config\", \"value\": \"x\"}]";
	if (broken(CONTRACT_OBJECT))
		broken_kind.contract =
			"[" WORKER_CONTRACT "{\"what\": \"field\", \"name\": \"spec.subdomain\", \"value\": \"the job's name\"}]";
}

static void *broken_thread(void *arg)
{
	for (;;)
		sleep(3600);
	return arg;
}

static void broken_start_thread(void)
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, broken_thread, NULL);
}

static void broken_crash(void)
{
	int *volatile nowhere = NULL;

	*nowhere = 1;
}

static void broken_hang(void)
{
	while (broken_calls >= 0)
		continue;
}

static void broken_write(void)
{
	FILE *file = fopen("/tmp/roundhouse-broken-plugin", "w");

	if (!file)
		return;
	fputs("x", file);
	fclose(file);
}

__attribute__((constructor)) static void broken_load(void)
{
	if (broken(CRASH_LOAD))
		broken_crash();
	if (broken(HANG_LOAD))
		broken_hang();
}

static int32_t broken_init(const struct rh_services *given, void **ret_self, struct rh_reply *reply)
{
	(void)ret_self, (void)reply;
	services = given;
	broken_describe_text();
	if (broken(CRASH_INIT))
		broken_crash();
	if (broken(EXIT_INIT))
		exit(0);
	if (broken(THREAD_INIT))
		broken_start_thread();
	if (broken(WRITE_INIT))
		broken_write();
	if (broken(SIGNAL_INIT))
		(void)signal(SIGUSR1, SIG_IGN);
	return 0;
}

static void broken_fini(void *self)
{
	(void)self;
	if (broken(CRASH_FINI))
		broken_crash();
}

static const struct rh_kind *broken_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &broken_kind : NULL;
}

static int32_t broken_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	int64_t slots;
	void *volatile kept;

	(void)self;
	if (broken(HANG_VALIDATE))
		broken_hang();
	if (broken(LEAK_VALIDATE)) {
		kept = malloc(500);
		(void)kept;
	}
	if (services->integer(view, "spec.slots", &slots) && slots < 1)
		return services->refuse(reply, "spec.slots", "Invalid value: must be at least 1");
	return 0;
}

static void broken_harm_process(void)
{
	struct rlimit limit = {100, 100};

	if (broken(ENVIRONMENT_POD))
		(void)setenv("BROKEN", "1", 1);
	if (broken(FOLDER_POD) && chdir("/usr") < 0)
		return;
	if (broken(LIMIT_POD))
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	if (broken(UMASK_POD))
		(void)umask(0);
	if (broken(ROUNDING_POD))
		(void)fesetround(FE_TOWARDZERO);
	if (broken(DESCRIPTOR_POD) && dup(0) < 0)
		return;
	if (broken(OUTPUT_POD))
		puts("hello from pod()");
	if (broken(OUTPUT_ERROR))
		fputs("hello from pod()\n", stderr);
}

static void broken_harm(void)
{
	char name[] = "true";
	char *words[] = {name, NULL};
	void *volatile kept;
	pid_t child;

	if (broken(CRASH_POD))
		broken_crash();
	if (broken(EXIT_POD))
		exit(0);
	if (broken(EXIT_KERNEL))
		(void)syscall(SYS_exit_group, 0);
	if (broken(SLEEP_POD))
		sleep(1);
	if (broken(LEAK_POD)) {
		kept = malloc(100);
		(void)kept;
	}
	if (broken(FORK_POD) && fork() == 0)
		_exit(0);
	if (broken(SPAWN_POD))
		(void)posix_spawn(&child, "/bin/true", NULL, NULL, words, NULL);
	if (broken(WRITE_POD))
		broken_write();
	if (broken(READ_POD)) {
		FILE *file = fopen("/etc/hostname", "r");

		if (file)
			fclose(file);
	}
	if (broken(SOCKET_POD))
		(void)socket(AF_INET, SOCK_STREAM, 0);
	if (broken(MEMORY_POD))
		memset(malloc((size_t)1 << 40), 1, 1);
	broken_harm_process();
}

/** Mistakes in answers. */
static int32_t broken_answer(const struct rh_view *view, struct rh_reply *reply)
{
	const char *note = services->text(view, "spec.note");
	char text[400];

	if (broken(JSON_QUOTE) && note) {
		snprintf(text, sizeof(text), "\"%.300s\"", note);
		return services->edit(reply, "metadata.annotations.note", text);
	}
	if (broken(JSON_EDIT))
		return services->edit(reply, "spec.hostname", "host");
	if (broken(WRONG_SERVICE))
		return services->object(reply, "{}");
	if (broken(STATUS_POD))
		return -5;
	if (broken(MEMORY_STATUS)) {
		void *large = malloc((size_t)1 << 40);

		free(large);
		return large ? 0 : RH_ENOMEM;
	}
	if (broken(UTF8_ENV))
		return services->env(reply, NULL, "RANK", "\xff\xfe");
	if (broken(UTF8_EDIT))
		return services->edit(reply, "spec.hostname", "\"\xc3\"");
	if (broken(CORE_STATUS))
		return services->edit(reply, "status.phase", "\"Running\"");
	if (broken(CORE_METADATA))
		return services->edit(reply, "metadata", "{\"name\": \"mine\"}");
	if (broken(CORE_CONTAINERS))
		return services->edit(reply, "spec.containers[0].name", "\"mine\"");
	if (broken(ENV_NAME))
		return services->env(reply, NULL, "1 RANK", "x");
	if (broken(ENV_TWICE))
		return services->env(reply, NULL, "RANK", "x");
	return 0;
}

/** Answers that are not the same each time. */
static int32_t broken_change(const struct rh_view *view, struct rh_reply *reply)
{
	char text[64] = "same";
	const char *json = services->json(view, "spec.brokenReplicaSpecs");

	if (broken(PURE_COUNT))
		snprintf(text, sizeof(text), "%d", broken_calls++);
	if (broken(PURE_CLOCK))
		snprintf(text, sizeof(text), "%ld", (long)time(NULL));
	if (broken(PURE_PROCESS))
		snprintf(text, sizeof(text), "%.60s", getenv("HOME") ? getenv("HOME") : "");
	if (broken(PURE_ORDER))
		snprintf(text, sizeof(text), "%.20s", json ? json : "");
	return services->env(reply, NULL, "LEADER", text);
}

static int32_t broken_large(struct rh_reply *reply)
{
	char *value = malloc((size_t)200 << 10);
	int32_t r;

	if (!value)
		return RH_ENOMEM;
	memset(value, 'x', ((size_t)200 << 10) - 1);
	value[((size_t)200 << 10) - 1] = '\0';
	r = services->env(reply, NULL, "RANK", value);
	free(value);
	return r;
}

static int32_t broken_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const char *note = services->text(view, "spec.note");
	char rank[16];
	int32_t r;

	(void)self;
	broken_harm();
	if (broken(CRASH_NULL) && strlen(note) > 5)
		return 0;
	snprintf(rank, sizeof(rank), "%d", (int)me->rank);
	r = broken_answer(view, reply);
	if (r < 0)
		return r;
	r = broken(ENV_LARGE) ? broken_large(reply) : services->env(reply, NULL, "RANK", rank);
	if (r == 0)
		r = broken_change(view, reply);
	if (r == 0 && note)
		r = services->env(reply, NULL, "NOTE", note);
	return r == 0 ? services->edit(reply, "spec.subdomain",
	                               broken(SERVER_POD) ? "\"Not_A_Name\""
	                                                  : services->quote(view, services->text(view, "metadata.name")))
	              : r;
}

/** Mistakes in objects. @return the JSON of one more object; NULL: none */
static const char *broken_object(void)
{
	if (broken(OBJECT_FIELDS))
		return "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\"}";
	if (broken(OBJECT_NAME))
		return "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"My_Config\"}}";
	if (broken(OBJECT_CLUSTER))
		return "{\"apiVersion\": \"rbac.authorization.k8s.io/v1\", \"kind\": \"ClusterRole\", \"metadata\": {\"name\": "
			   "\"x\"}}";
	if (broken(OBJECT_NAMESPACE))
		return "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"x\", \"namespace\": "
			   "\"kube-system\"}}";
	if (broken(RBAC_GRANT))
		return "{\"apiVersion\": \"rbac.authorization.k8s.io/v1\", \"kind\": \"Role\", \"metadata\": {\"name\": \"x\"},"
			   "\"rules\": [{\"apiGroups\": [\"\"], \"resources\": [\"secrets\"], \"verbs\": [\"get\"]}]}";
	return NULL;
}

static int32_t broken_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const char *name = services->text(view, "metadata.name");
	const char *more = broken_object();
	char text[600];
	int32_t r = 0;

	(void)self;
	if (broken(ABORT_OBJECTS))
		abort();
	if (broken(THREAD_OBJECTS))
		broken_start_thread();
	snprintf(text, sizeof(text),
	         "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"%.260s-config\"}}",
	         name ? name : "");
	for (int i = 0; r == 0 && i < (broken(OBJECT_TWICE) ? 2 : 1); i++)
		r = services->object(reply, text);
	return r == 0 && more ? services->object(reply, more) : r;
}

static int32_t broken_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts)};

	(void)self;
	if (broken(CRASH_JUDGE))
		broken_crash();
	if (broken(LOCALE_JUDGE))
		(void)uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
	if (broken(STATUS_VALUE) && services->status(reply, "step", "\"three\"") < 0)
		return RH_EPLUGIN;
	if (broken(VERDICT_RESTART))
		return services->restart(reply, NULL, -1, 0, NULL, NULL);
	if (!services->counts(view, "Leader", &counts) || !broken(VERDICT_BOTH))
		return broken(VERDICT_TYPE)   ? services->verdict(reply, RH_VERDICT_FAILED, "Boss", NULL)
		       : broken(VERDICT_NONE) ? 0
		                              : RH_DEFAULT;
	if (counts.succeeded > 0 && services->verdict(reply, RH_VERDICT_SUCCEEDED, NULL, NULL) < 0)
		return RH_ENOMEM;
	return services->verdict(reply, RH_VERDICT_RESTARTING, "Leader", NULL);
}

static struct rh_plugin broken_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "broken",
	.release = "1.0",
	.init = broken_init,
	.fini = broken_fini,
	.describe = broken_describe,
	.validate = broken_validate,
	.pod = broken_pod,
	.objects = broken_objects,
	.judge = broken_judge,
};

#ifdef BROKEN_EXPORTS
/** Exported, as all functions are without -fvisibility=hidden. @return 1 */
RH_PLUGIN_EXPORT int broken_helper(void);

RH_PLUGIN_EXPORT int broken_helper(void)
{
	return 1;
}
#endif

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	if (broken(HEAD_SIZE))
		broken_plugin.head.size = 20;
	return &broken_plugin;
}
