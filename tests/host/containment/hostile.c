/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that does harm. What and where its file's name says: "pod-loop.so" loops in pod(). It serves HostileJob of
 * example.org.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "roundhouse/plugin.h"

/** Bytes of a text that is too long for anything. */
#define HOSTILE_LARGE ((size_t)100 << 20)

/** How long a slow operation takes, in microseconds: longer than the host waits, shorter than any time limit. */
#define HOSTILE_SLOW 50000

static const struct rh_services *hostile_services;
static char hostile_name[64]; /* of the file, without its ending */

static const struct rh_replica_type hostile_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};
static const struct rh_replica_type *const hostile_types[] = {&hostile_worker, 0};
static struct rh_kind hostile_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "HostileJob",
	.plural = "hostilejobs",
	.singular = "hostilejob",
	.framework = "hostile",
	.controller = "hostilejob-controller",
	.replicas_field = "hostileReplicaSpecs",
	.types = hostile_types,
	.container = "hostile",
	.restart_policy = "Never",
};

static int hostile_is(const char *where, const char *what)
{
	size_t length = strlen(where);

	return strncmp(hostile_name, where, length) == 0 && hostile_name[length] == '-' &&
	       strcmp(hostile_name + length + 1, what) == 0;
}

static void hostile_recurse(volatile char *before)
{
	volatile char room[4096];

	room[0] = before ? before[0] : 'x';
	if (room[0])
		hostile_recurse(room);
	room[0] = 'y'; /* behind the call, so that it is a call */
}

/** @return @p memory; a plugin that gets none crashes */
static void *hostile_hold(void *memory)
{
	if (!memory)
		(void)raise(SIGSEGV);
	return memory;
}

/** Something that a plugin in a process of its own cannot do; where it can, it crashes. */
static void hostile_try(const char *where)
{
	char path[64];
	int worked = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	if (hostile_is(where, "socket"))
		worked = socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
	if (hostile_is(where, "write"))
		worked = open("written", O_WRONLY | O_CREAT, 0600) >= 0 || fopen("written", "w") || mkdir("made", 0700) == 0;
	if (hostile_is(where, "kill"))
		worked = kill(getppid(), SIGKILL) == 0 || kill(0, SIGKILL) == 0 || kill(-1, SIGKILL) == 0;
	if (hostile_is(where, "secret"))
		worked = open(path, O_RDONLY) >= 0 || open("/etc/hostname", O_RDONLY) >= 0;
	if (hostile_is(where, "program"))
		worked = execl("/bin/true", "true", (char *)0) == 0 || fork() >= 0 || vfork() >= 0;
	if (worked) {
		(void)fprintf(stderr, "%s: it worked\n", hostile_name);
		abort();
	}
}

/** Do what the name says, if it says so of this place. */
static void hostile_act(const char *where)
{
	hostile_try(where);
	if (hostile_is(where, "words"))
		(void)fprintf(stderr, "first line\nlast words\n");
	if (hostile_is(where, "words"))
		(void)raise(SIGSEGV);
	if (hostile_is(where, "garbage"))
		(void)!write(3, "garbage garbage garbage", 23);
	if (hostile_is(where, "close"))
		(void)close(3);
	while (hostile_is(where, "memory"))
		memset(hostile_hold(malloc(HOSTILE_LARGE)), 1, HOSTILE_LARGE);
	if (hostile_is(where, "segv"))
		(void)raise(SIGSEGV);
	if (hostile_is(where, "abort"))
		abort();
	/* as a user who ends the process that tries it: its parent has another process group */
	if (hostile_is(where, "ended") && getpid() != getpgrp())
		(void)raise(SIGTERM);
	if (hostile_is(where, "stack"))
		hostile_recurse(NULL);
	if (hostile_is(where, "exit"))
		exit(0);
	if (hostile_is(where, "leave"))
		_exit(0);
	if (hostile_is(where, "kernel"))
		(void)syscall(SYS_exit_group, 0);
	if (hostile_is(where, "child") && fork() == 0)
		_exit(0);
	if (hostile_is(where, "slow"))
		(void)usleep(HOSTILE_SLOW);
	while (hostile_is(where, "sleep"))
		(void)sleep(1000);
	while (hostile_is(where, "loop"))
		continue;
}

__attribute__((constructor)) static void hostile_construct(void)
{
	const char *mark = getenv("HOSTILE_MARK");
	const char *slash;
	Dl_info info;

	if (!dladdr((void *)hostile_name, &info) || !info.dli_fname)
		return;
	slash = strrchr(info.dli_fname, '/');
	(void)snprintf(hostile_name, sizeof(hostile_name), "%s", slash ? slash + 1 : info.dli_fname);
	if (strchr(hostile_name, '.'))
		*strchr(hostile_name, '.') = '\0';
	if (mark) {
		FILE *file = fopen(mark, "a");

		if (file)
			(void)fclose(file);
	}
	hostile_act("load");
}

/** hostile_act() of an operation: a job may ask to be spared. */
static void hostile_operate(const struct rh_view *view, const char *where)
{
	const char *spared = hostile_services->text(view, "metadata.annotations.spared");

	if (!spared || strcmp(spared, "true") != 0)
		hostile_act(where);
}

static int32_t hostile_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	*ret_self = 0;
	hostile_services = services;
	hostile_act("init");
	if (hostile_is("init", "note"))
		(void)services->note(reply, RH_NOTE_WARN, "noted in init()");
	return 0;
}

static void hostile_fini(void *self)
{
	(void)self;
	hostile_act("fini");
}

static const struct rh_kind *hostile_describe(void *self, uint32_t index)
{
	static const struct {
		const char *name;
		const char *rules;
	} rows[] = {
		{"at", "[{\"at\":\"nowhere\",\"rule\":\"true\"}]"},
		{"text", "[{\"at\":\"spec\",\"rule\":7}]"},
		{"empty", "[{\"at\":\"spec\",\"rule\":\"\"}]"},
		{"none", "[{\"at\":\"spec\",\"message\":\"no rule\"}]"},
		{"item", "[17]"},
		{"open", "[{\"at\":\"spec\",\"rule\":\"self.a.all(x, x > (1)\"}]"},
		{"quote", "[{\"at\":\"spec\",\"rule\":\"self.a == 'b\"}]"},
		{"member", "[{\"at\":\"spec\",\"rule\":\"true\",\"massage\":\"m\"}]"},
		{"reason", "[{\"at\":\"spec\",\"rule\":\"true\",\"reason\":\"Because\"}]"},
	};

	(void)self;
	hostile_act("describe");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (hostile_is("cel", rows[i].name))
			hostile_kind.cel_rules = rows[i].rules;
	}
	if (hostile_is("rbac", "item"))
		hostile_kind.rbac_rules = "[\"pods\"]";
	if (hostile_is("columns", "item"))
		hostile_kind.columns = "[{\"name\":7}]";
	if (hostile_is("schema", "scalar"))
		hostile_kind.spec_schema = "{\"size\":7}";
	if (hostile_is("schema", "limits"))
		hostile_kind.spec_schema = "{\"size\":{\"type\":\"integer\",\"minimum\":2}}";
	return index == 0 ? &hostile_kind : 0;
}

static int32_t hostile_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	(void)self;
	hostile_operate(view, "validate");
	for (int i = 0; i < 1000000 && hostile_is("validate", "many"); i++)
		(void)hostile_services->refuse(reply, "spec", "Forbidden: again");
	return 0;
}

/** @return a JSON text with a string of HOSTILE_LARGE bytes between @p before and @p after; to be freed */
static char *hostile_text(const char *before, const char *after)
{
	size_t length = strlen(before);
	char *text = malloc(length + HOSTILE_LARGE + strlen(after) + 1);

	if (!text)
		return NULL;
	memcpy(text, before, length);
	memset(text + length, 'x', HOSTILE_LARGE);
	memcpy(text + length + HOSTILE_LARGE, after, strlen(after) + 1);
	return text;
}

static int32_t hostile_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	int32_t r = 0;

	(void)self;
	(void)me;
	hostile_operate(view, "pod");
	if (hostile_is("pod", "variable")) {
		char *text = hostile_text("", "");

		r = hostile_services->env(reply, 0, "LARGE", text);
		free(text);
	}
	if (hostile_is("pod", "edit")) {
		char *text = hostile_text("\"", "\"");

		r = hostile_services->edit(reply, "metadata.annotations.large", text);
		free(text);
	}
	for (int i = 0; i < 1000000 && r == 0 && hostile_is("pod", "many"); i++)
		r = hostile_services->env(reply, 0, "AGAIN", "0123456789012345678901234567890123456789");
	if (hostile_is("pod", "json"))
		r = hostile_services->edit(reply, "metadata.annotations", "{");
	return r;
}

static int32_t hostile_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	char text[256];
	int32_t r = 0;

	(void)self;
	hostile_operate(view, "objects");
	for (int i = 0; i < 200000 && r == 0 && hostile_is("objects", "many"); i++) {
		(void)snprintf(text, sizeof(text),
		               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c%d\"}}", i);
		r = hostile_services->object(reply, text);
	}
	if (hostile_is("objects", "large")) {
		char *large = hostile_text(
			"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"", "\"}}");

		r = hostile_services->object(reply, large);
		free(large);
	}
	if (hostile_is("objects", "child"))
		r = hostile_services->object(
			reply,
			"{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{\"name\":\"child\"},"
			"\"spec\":{\"pytorchReplicaSpecs\":{\"Master\":{\"restartPolicy\":\"Never\",\"template\":{\"spec\":{"
			"\"containers\":[{\"name\":\"pytorch\",\"image\":\"i\",\"command\":[\"sh\",\"-c\",\"exit 3\"]}]}}}}}}");
	return r;
}

static int32_t hostile_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts)};

	(void)self;
	(void)reply;
	hostile_operate(view, "judge");
	(void)hostile_services->counts(view, "Worker", &counts);
	while (counts.active > 0 && hostile_is("judge", "late"))
		continue;
	return RH_DEFAULT;
}

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	static struct rh_plugin plugin = {
		.head = RH_HEAD(struct rh_plugin),
		.name = hostile_name,
		.release = "0.1",
		.init = hostile_init,
		.fini = hostile_fini,
		.describe = hostile_describe,
		.validate = hostile_validate,
		.pod = hostile_pod,
		.objects = hostile_objects,
		.judge = hostile_judge,
	};

	hostile_act("entry");
	return &plugin;
}
