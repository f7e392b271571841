/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher on a cluster: a batch/v1 Job, which runs it and repeats it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "mpi2.h"

/** Longest name of a member in a path of an edit. */
#define LAUNCHER_KEY_SIZE 128

/** The template of the Job, as pods are edited. */
struct launcher_template {
	struct mpi2_call *call;
	cJSON *pod; /**< owned */
};

static void launcher_fail(struct mpi2_call *call)
{
	if (call->status == 0)
		call->status = call->host->fail(call->reply, RH_ENOMEM, "out of memory");
}

/** One step of a path: a member, or a place in a list. */
struct launcher_step {
	char key[LAUNCHER_KEY_SIZE]; /**< "": a place */
	int place;                   /**< -1: behind the last one */
};

/** Read a step: NAME, ["NAME"], [NUMBER] or [+]. @return what follows it */
static const char *launcher_read(const char *path, struct launcher_step *ret_step)
{
	bool quoted = strncmp(path, "[\"", 2) == 0;
	size_t length;

	*ret_step = (struct launcher_step){.place = -1};
	if (*path == '[' && !quoted) {
		ret_step->place = path[1] == '+' ? -1 : (int)strtol(path + 1, NULL, 10);
		return path + strcspn(path, "]") + 1;
	}
	path += quoted ? 2 : *path == '.';
	length = strcspn(path, quoted ? "\"" : ".[");
	snprintf(ret_step->key, sizeof(ret_step->key), "%.*s", (int)length, path);
	return path + length + (quoted ? 2 : 0);
}

/** @return what is at a step below @p at; NULL: nothing */
static cJSON *launcher_get(cJSON *at, const struct launcher_step *step)
{
	if (*step->key)
		return cJSON_GetObjectItemCaseSensitive(at, step->key);
	return step->place >= 0 ? cJSON_GetArrayItem(at, step->place) : NULL;
}

/** Put @p item, which is taken, at a step below @p at. @return whether there was memory */
static bool launcher_put(cJSON *at, const struct launcher_step *step, cJSON *item)
{
	bool done = false;

	if (!item)
		return false;
	if (!*step->key)
		done = cJSON_AddItemToArray(at, item);
	else if (cJSON_GetObjectItemCaseSensitive(at, step->key))
		done = cJSON_ReplaceItemInObjectCaseSensitive(at, step->key, item);
	else
		done = cJSON_AddItemToObject(at, step->key, item);
	if (!done)
		cJSON_Delete(item);
	return done;
}

/** Go to a step below @p at, and make a map or list there where there is none. @return NULL when memory is out */
static cJSON *launcher_enter(cJSON *at, const struct launcher_step *step, bool list)
{
	cJSON *found = launcher_get(at, step);

	if (found && (list ? cJSON_IsArray(found) : cJSON_IsObject(found)))
		return found;
	found = list ? cJSON_CreateArray() : cJSON_CreateObject();
	return launcher_put(at, step, found) ? found : NULL;
}

static void launcher_edit(void *arg, const char *path, const char *json)
{
	struct launcher_template *template_ = arg;
	cJSON *at = template_->pod;
	struct launcher_step step;

	path = launcher_read(path, &step);
	while (*path && at) {
		at = launcher_enter(at, &step, *path == '[' && path[1] != '"');
		path = launcher_read(path, &step);
	}
	if (!at || !launcher_put(at, &step, cJSON_Parse(json)))
		launcher_fail(template_->call);
}

/** @return a copy of the launcher's template, edited, as JSON; owned by the caller; NULL with the status set */
static char *launcher_print(struct mpi2_call *call)
{
	const char *json = call->host->json(call->view, MPI2_LAUNCHER_SPEC ".template");
	const char *policy = call->host->restart_policy(call->view, MPI2_LAUNCHER);
	struct launcher_template template_ = {call, cJSON_Parse(json ? json : "{}")};
	const struct mpi2_pod pod = {call, launcher_edit, &template_};
	char *text = NULL;

	if (template_.pod) {
		mpi2_edit_launcher(&pod);
		launcher_edit(&template_, "spec.restartPolicy", policy && *policy == 'N' ? "\"Never\"" : "\"OnFailure\"");
	}
	if (template_.pod && call->status == 0)
		text = cJSON_PrintUnformatted(template_.pod);
	cJSON_Delete(template_.pod);
	if (!text)
		launcher_fail(call);
	return text;
}

/** A number of the run policy that the Job has, too. */
static void launcher_copy(const struct mpi2_call *call, FILE *out, const char *name)
{
	char path[LAUNCHER_KEY_SIZE];
	int64_t value;

	snprintf(path, sizeof(path), "spec.runPolicy.%s", name);
	if (call->host->integer(call->view, path, &value))
		fprintf(out, ",\"%s\":%lld", name, (long long)value);
}

static void launcher_write(struct mpi2_call *call, FILE *out, bool suspend, const char *template_)
{
	const char *name = mpi2_quote(call, "%s-launcher", mpi2_name(call));
	const char *app = mpi2_quote(call, "%s", mpi2_name(call));

	if (!name || !app)
		return;
	fprintf(
		out,
		"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":%s,\"labels\":{\"app\":%s}},\"spec\":{"
		"\"suspend\":%s,\"podReplacementPolicy\":\"Failed\"",
		name, app, suspend ? "true" : "false");
	launcher_copy(call, out, "ttlSecondsAfterFinished");
	launcher_copy(call, out, "activeDeadlineSeconds");
	launcher_copy(call, out, "backoffLimit");
	fprintf(out, ",\"template\":%s}}", template_);
}

void mpi2_name_job(struct mpi2_call *call, bool suspend)
{
	char *template_ = launcher_print(call);
	char *json = NULL;
	size_t size;
	FILE *out = template_ ? open_memstream(&json, &size) : NULL;

	if (out)
		launcher_write(call, out, suspend, template_);
	if (out && fclose(out) == 0 && call->status == 0)
		call->status = call->host->object(call->reply, json);
	else
		launcher_fail(call);
	free(json);
	free(template_);
}
