/* SPDX-License-Identifier: Apache-2.0 */
/* nprocPerNode with a program that starts one process: V1 counts nprocPerNode processes of each replica in WORLD_SIZE,
 * and init_process_group() waits for them (v1-behaviour C.5). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pytorch.h"

/** Room for the path of a container. */
#define LAUNCH_PATH_SIZE 128
/** Room for the path of a word of one, or for the warning. */
#define LAUNCH_TEXT_SIZE 512

/** The words of one container, looked at one after the other. */
struct launch {
	const struct rh_services *host;
	const struct rh_view *view;
	const char *container; /**< path */
	int has_python;        /**< the program is python, or a shell that names it */
	int has_launcher;      /**< some word names what starts several processes */
};

/** What starts as many processes as there are to be on a node. */
static const char *const launch_words[] = {"torchrun", "torch.distributed", "accelerate", "deepspeed", "mpirun",
                                           "mpiexec",  "horovodrun",        "spawn",      "launch"};

static void launch_look_at(struct launch *launch, const char *word, int first)
{
	const char *slash = strrchr(word, '/');
	const char *program = slash ? slash + 1 : word;

	/* of a script behind "sh -c" too */
	if (strncmp(program, "python", strlen("python")) == 0 || (!first && strstr(word, "python ")) ||
	    (!first && strstr(word, "python3 ")))
		launch->has_python = 1;
	for (size_t i = 0; i < sizeof(launch_words) / sizeof(launch_words[0]); i++)
		launch->has_launcher |= strstr(word, launch_words[i]) != NULL;
}

static void launch_read(struct launch *launch, const char *list, int first)
{
	char path[LAUNCH_TEXT_SIZE];
	int32_t size;

	snprintf(path, sizeof(path), "%s.%s", launch->container, list);
	size = launch->host->size(launch->view, path);
	for (int32_t i = 0; i < size; i++) {
		const char *word;

		snprintf(path, sizeof(path), "%s.%s[%" PRId32 "]", launch->container, list, i);
		word = launch->host->text(launch->view, path);
		if (word)
			launch_look_at(launch, word, first && i == 0);
	}
}

/** @return whether the container at @p path is the main one, and starts a single Python process as far as one can see
 */
static int launch_is_single(const struct rh_services *host, const struct rh_view *view, const char *path)
{
	struct launch launch = {host, view, path, 0, 0};
	char name[LAUNCH_TEXT_SIZE];
	const char *text;

	snprintf(name, sizeof(name), "%s.name", path);
	text = host->text(view, name);
	if (!text || strcmp(text, "pytorch") != 0)
		return 0;
	launch_read(&launch, "command", 1);
	launch_read(&launch, "args", 0);
	return launch.has_python && !launch.has_launcher;
}

/** Warn of the first such container of a type. */
static int32_t launch_check_type(const struct rh_services *host, const struct rh_view *view, struct rh_reply *reply,
                                 const char *type)
{
	char path[LAUNCH_PATH_SIZE];
	char text[LAUNCH_TEXT_SIZE];
	int32_t size;

	snprintf(path, sizeof(path), "spec.pytorchReplicaSpecs.%s.template.spec.containers", type);
	size = host->size(view, path);
	for (int32_t i = 0; i < size; i++) {
		snprintf(path, sizeof(path), "spec.pytorchReplicaSpecs.%s.template.spec.containers[%" PRId32 "]", type, i);
		if (!launch_is_single(host, view, path))
			continue;
		snprintf(
			text, sizeof(text),
			"spec.nprocPerNode is \"%.32s\", so WORLD_SIZE counts that many processes of each replica, but the command "
			"of %s starts python once: init_process_group() would wait for ever for the others; start it with "
			"torchrun, or remove nprocPerNode",
			host->text(view, PYTORCH_NPROC), type);
		return host->note(reply, RH_NOTE_WARN, text);
	}
	return 0;
}

int32_t pytorch_check_launch(const struct rh_services *host, const struct rh_view *view, struct rh_reply *reply)
{
	const char *text = host->text(view, PYTORCH_NPROC);
	int32_t r;

	if (!text || strtol(text, NULL, 10) < 2 || host->replicas(view, "Master") < 0)
		return 0;
	r = launch_check_type(host, view, reply, "Master");
	return r == 0 ? launch_check_type(host, view, reply, "Worker") : r;
}
