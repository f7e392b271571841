/* SPDX-License-Identifier: Apache-2.0 */
/* The containers that wait until the Master's name resolves (v1-behaviour C; V1:
 * pkg/controller.v1/pytorch/initcontainer.go).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pytorch.h"

#define INIT_PATH "spec.initContainers[+]"
#define INIT_VARIABLES 3

/** What a template may name, and what it stands for, as it stands in a JSON string. */
struct init_variable {
	const char *name; /* with its braces */
	const char *value;
	size_t length; /* of value */
};

/** What the configuration and the job say. */
struct init_call {
	const struct rh_services *host;
	const struct rh_view *view;
	struct rh_reply *reply;
	const char *image;   /* JSON, in quotes */
	const char *address; /* JSON, in quotes */
	long tries;
};

/** How often it tries, from the configuration. @return 0 when that is no number of tries */
static long init_max_tries(const struct init_call *call)
{
	const char *text = call->host->setting(call->view, "init-container-max-tries");
	char *end;
	long tries = text ? strtol(text, &end, 10) : 100;

	return !text || (*text && !*end && tries > 0 && tries <= INT32_MAX) ? tries : 0;
}

static int32_t init_append(const struct init_call *call, char *json)
{
	int32_t r = json ? call->host->edit(call->reply, INIT_PATH, json)
	                 : call->host->fail(call->reply, RH_ENOMEM, "out of memory");

	free(json);
	return r;
}

static int32_t init_add_builtin(const struct init_call *call)
{
	int address = (int)strlen(call->address) - 2;
	char *json;

	if (asprintf(
			&json,
			"{\"name\":\"init-pytorch\",\"image\":%s,\"imagePullPolicy\":\"IfNotPresent\","
			"\"command\":[\"sh\",\"-c\",\"err=1;for i in $(seq %ld); do if nslookup %.*s; then err=0 && break; fi;"
			"echo waiting for master; sleep 2; done; exit $err\"],\"resources\":{"
			"\"limits\":{\"cpu\":\"100m\",\"memory\":\"20Mi\"},\"requests\":{\"cpu\":\"50m\",\"memory\":\"10Mi\"}}}",
			call->image, call->tries, address, call->address + 1) < 0)
		json = NULL;
	return init_append(call, json);
}

/** @return the variable that @p text begins with, or NULL */
static const struct init_variable *init_find(const struct init_variable variables[INIT_VARIABLES], const char *text)
{
	for (size_t i = 0; i < INIT_VARIABLES; i++) {
		if (strncmp(text, variables[i].name, strlen(variables[i].name)) == 0)
			return &variables[i];
	}
	return NULL;
}

/** Fill one container in. @return JSON, to be freed, or NULL when memory is out */
static char *init_expand(const struct init_variable variables[INIT_VARIABLES], const char *line, size_t length)
{
	char *json = NULL;
	size_t size;
	FILE *out = open_memstream(&json, &size);
	int failed;

	if (!out)
		return NULL;
	for (const char *end = line + length; line < end;) {
		const struct init_variable *variable = init_find(variables, line);

		if (variable)
			(void)fwrite(variable->value, 1, variable->length, out);
		else
			(void)fputc(*line, out);
		line += variable ? strlen(variable->name) : 1;
	}
	failed = ferror(out);
	if (fclose(out) == 0 && !failed)
		return json;
	free(json);
	return NULL;
}

/** @param lines one container each */
static int32_t init_add_template(const struct init_call *call, const char *lines)
{
	char tries[24];
	const struct init_variable variables[INIT_VARIABLES] = {
		{"{{.MasterAddr}}", call->address + 1, strlen(call->address) - 2},
		{"{{.InitContainerImage}}", call->image + 1, strlen(call->image) - 2},
		{"{{.MaxTries}}", tries, (size_t)snprintf(tries, sizeof(tries), "%ld", call->tries)},
	};
	int32_t r = 0;

	while (*lines && r == 0) {
		size_t length = strcspn(lines, "\n");

		r = init_append(call, init_expand(variables, lines, length));
		lines += length + (lines[length] == '\n');
	}
	return r;
}

int32_t pytorch_add_init(const struct rh_services *host, const struct rh_view *view, struct rh_reply *reply)
{
	struct init_call call = {.host = host, .view = view, .reply = reply};
	const char *image = host->setting(view, "init-container-image");
	const char *lines = host->setting(view, "init-container-template-file");

	if (host->state(view) & RH_STATE_LOCAL)
		return 0;
	call.tries = init_max_tries(&call);
	if (call.tries == 0)
		return host->fail(reply, RH_EINVAL,
		                  "configuration, section [plugin pytorch]: init-container-max-tries must be at least 1");
	call.image = host->quote(view, image ? image : "alpine:3.10");
	call.address = host->quote(view, host->host(view, "Master", 0));
	if (!call.image || !call.address)
		return host->fail(reply, RH_ENOMEM, "out of memory");
	return lines ? init_add_template(&call, lines) : init_add_builtin(&call);
}
