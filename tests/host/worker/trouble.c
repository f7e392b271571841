/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin in trouble, with all operations of ABI 1.2. Its jobs say where and how: the annotation example.org/trouble
 * is "pod segv" for a crash in pod(). Other jobs are fine. Faults end the process, hang, break the wire to the host, or
 * answer what no operation may answer.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "roundhouse/plugin.h"

/** Descriptor of the socket to the host. */
#define TROUBLE_SOCKET 3
/** Nested arrays of a JSON text that is too deep, and bytes of one that is too large. */
#define TROUBLE_DEEP 10000
#define TROUBLE_LARGE ((size_t)20 << 20)
/** Bytes of a block, until memory is out: they are not touched. */
#define TROUBLE_BLOCK ((size_t)64 << 20)

static const struct rh_services *trouble_services;

static const struct rh_replica_type *const trouble_types[] = {NULL};
static const struct rh_kind trouble_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "TroubleJob",
	.plural = "troublejobs",
	.singular = "troublejob",
	.framework = "trouble",
	.controller = "troublejob-controller",
	.types = trouble_types,
	.restart_policy = "Never",
	.flags = RH_KIND_EXPANDED | RH_KIND_OWN_STATUS,
	.status_schema = "{\"rounds\":{\"type\":\"integer\"}}",
	.rbac_rules = "[{\"apiGroups\":[\"\"],\"resources\":[\"secrets\"],\"verbs\":[\"create\",\"delete\",\"list\"]}]",
};

static void trouble_signal(const char *fault)
{
	static const struct {
		const char *fault;
		int signal;
	} rows[] = {{"segv", SIGSEGV}, {"bus", SIGBUS},    {"fpe", SIGFPE},     {"ill", SIGILL},
	            {"trap", SIGTRAP}, {"abort", SIGABRT}, {"killed", SIGKILL}, {"limit", SIGXCPU}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(fault, rows[i].fault) == 0)
			(void)raise(rows[i].signal);
	}
}

static void trouble_recurse(volatile char *before)
{
	volatile char room[4096];

	room[0] = before ? before[0] : 'x';
	if (room[0])
		trouble_recurse(room);
	room[0] = 'y'; /* behind the call, so that it is a call */
}

static void trouble_end(const char *fault)
{
	if (strcmp(fault, "exit") == 0)
		exit(0);
	if (strcmp(fault, "exit7") == 0)
		exit(7);
	if (strcmp(fault, "leave") == 0)
		_exit(0);
	if (strcmp(fault, "kernel") == 0)
		(void)syscall(SYS_exit_group, 0);
	if (strcmp(fault, "stack") == 0)
		trouble_recurse(NULL);
	while (strcmp(fault, "memory") == 0) {
		if (!malloc(TROUBLE_BLOCK))
			abort();
	}
	if (strcmp(fault, "words") == 0) {
		(void)fprintf(stderr, "first line\nlast words\n");
		(void)raise(SIGSEGV);
	}
	while (strcmp(fault, "sleep") == 0)
		(void)sleep(1000);
	if (strcmp(fault, "deaf") == 0) {
		sigset_t all;

		(void)sigfillset(&all);
		(void)sigprocmask(SIG_BLOCK, &all, NULL);
		for (;;)
			(void)sleep(1000);
	}
}

/** Write what is no answer. The head of a message is its length and the number of the request. */
static void trouble_wire(const char *fault)
{
	static const unsigned char huge[8] = {0xff, 0xff, 0xff, 0x7f};
	static const unsigned char alien[12] = {4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 9, 9, 9, 9};

	if (strcmp(fault, "garbage") == 0)
		(void)!write(TROUBLE_SOCKET, "garbage garbage garbage", 23);
	if (strcmp(fault, "huge") == 0)
		(void)!write(TROUBLE_SOCKET, huge, sizeof(huge));
	if (strcmp(fault, "alien") == 0)
		(void)!write(TROUBLE_SOCKET, alien, sizeof(alien));
	if (strcmp(fault, "half") == 0) {
		(void)!write(TROUBLE_SOCKET, huge, 3);
		(void)syscall(SYS_exit_group, 0);
	}
	if (strcmp(fault, "close") == 0)
		(void)close(TROUBLE_SOCKET);
}

/** @return whether the job wants trouble in this operation; @p ret_fault says which */
static bool trouble_is_due(const struct rh_view *view, const char *operation, const char **ret_fault)
{
	const char *text = trouble_services->text(view, "metadata.annotations[\"example.org/trouble\"]");
	size_t length = strlen(operation);

	if (!text || strncmp(text, operation, length) != 0 || text[length] != ' ')
		return false;
	*ret_fault = text + length + 1;
	return true;
}

/** An answer in JSON, or as a text. */
typedef int32_t trouble_say_fn(struct rh_reply *reply, const char *json);

static int32_t trouble_say_many(trouble_say_fn *say, struct rh_reply *reply, char fill, size_t count)
{
	char *text = malloc(count + 1);
	int32_t r;

	if (!text)
		return RH_ENOMEM;
	memset(text, fill, count);
	text[count] = '\0';
	r = say(reply, text);
	free(text);
	return r;
}

/** Answer what may not be answered. @return what the operation returns */
static int32_t trouble_answer(const char *fault, trouble_say_fn *say, struct rh_reply *reply)
{
	if (strcmp(fault, "json") == 0)
		return say(reply, "{\"a\":");
	if (strcmp(fault, "deep") == 0)
		return trouble_say_many(say, reply, '[', TROUBLE_DEEP);
	if (strcmp(fault, "large") == 0)
		return trouble_say_many(say, reply, ' ', TROUBLE_LARGE);
	if (strcmp(fault, "bytes") == 0)
		return say(reply, "\"\xff\xfe\"");
	if (strcmp(fault, "null") == 0)
		return say(reply, NULL);
	/* what it answers does not matter to a plugin that does not look */
	if (strcmp(fault, "unheard") == 0) {
		(void)say(reply, "{");
		return 0;
	}
	if (strcmp(fault, "status") == 0)
		return -12345;
	return 0;
}

/** @return 1: there is no trouble; else what the operation returns */
static int32_t trouble(const struct rh_view *view, const char *operation, trouble_say_fn *say, struct rh_reply *reply)
{
	const char *fault;

	if (!trouble_is_due(view, operation, &fault))
		return 1;
	trouble_signal(fault);
	trouble_end(fault);
	trouble_wire(fault);
	return trouble_answer(fault, say, reply);
}

static int32_t trouble_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, expansion))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	*ret_self = NULL;
	trouble_services = services;
	return 0;
}

static const struct rh_kind *trouble_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &trouble_kind : NULL;
}

static int32_t trouble_say_expansion(struct rh_reply *reply, const char *json)
{
	return trouble_services->expansion(reply, json);
}

static int32_t trouble_expand(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	int32_t r = trouble(view, "expand", trouble_say_expansion, reply);

	(void)self;
	return r <= 0 ? r
	              : trouble_services->expansion(
						reply, "{\"types\":[{\"name\":\"node\",\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
							   "\"image\":\"i\"}]}}}]}");
}

static int32_t trouble_say_refusal(struct rh_reply *reply, const char *path)
{
	return trouble_services->refuse(reply, "spec", path);
}

static int32_t trouble_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	int32_t r = trouble(view, "validate", trouble_say_refusal, reply);

	(void)self;
	return r > 0 ? 0 : r;
}

static int32_t trouble_say_edit(struct rh_reply *reply, const char *json)
{
	return trouble_services->edit(reply, "metadata.annotations", json);
}

static int32_t trouble_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	int32_t r = trouble(view, "pod", trouble_say_edit, reply);

	(void)self;
	(void)me;
	return r > 0 ? trouble_services->env(reply, NULL, "FINE", "1") : r;
}

static int32_t trouble_say_object(struct rh_reply *reply, const char *json)
{
	return trouble_services->object(reply, json);
}

static int32_t trouble_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_object_options once = {
		.head = RH_HEAD(struct rh_object_options), .flags = RH_OBJECT_ONCE, .random_bytes = 8};
	int32_t r = trouble(view, "objects", trouble_say_object, reply);

	(void)self;
	return r > 0 ? trouble_services->object_with(
					   reply, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"keys\"}}", &once)
	             : r;
}

static int32_t trouble_make(void *self, const struct rh_view *view, const struct rh_made *made, struct rh_reply *reply)
{
	int32_t r = trouble(view, "make", trouble_say_object, reply);

	(void)self;
	(void)made;
	return r > 0 ? trouble_services->object(reply, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":"
	                                               "\"keys\"},\"stringData\":{\"a\":\"b\"}}")
	             : r;
}

static int32_t trouble_say_status(struct rh_reply *reply, const char *json)
{
	return trouble_services->status(reply, "rounds", json);
}

static int32_t trouble_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	int32_t r = trouble(view, "judge", trouble_say_status, reply);

	(void)self;
	return r > 0 ? RH_DEFAULT : r;
}

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	static const struct rh_plugin plugin = {
		.head = RH_HEAD(struct rh_plugin),
		.name = "trouble",
		.release = "1",
		.init = trouble_init,
		.describe = trouble_describe,
		.validate = trouble_validate,
		.pod = trouble_pod,
		.objects = trouble_objects,
		.judge = trouble_judge,
		.make = trouble_make,
		.expand = trouble_expand,
	};

	return &plugin;
}
