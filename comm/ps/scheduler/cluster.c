/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TF_CONFIG: {"cluster":{"ps":["host:port",…],"chief":[…],"worker":[…]},"task":{"type":"ps","index":0}}. The library
 * has no JSON of its own; what is read here is what a TFJob writes.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"
#include "comm/ps/options.h"

#define DEPTH_MAX 16

static const char *json_space(const char *at)
{
	while (*at && isspace((unsigned char)*at))
		at++;
	return at;
}

/* @return the end of the string that begins at `at`; NULL: it is not a string */
static const char *json_skip_string(const char *at)
{
	if (*at != '"')
		return NULL;
	for (at++; *at && *at != '"'; at++)
		if (*at == '\\' && at[1])
			at++;
	return *at == '"' ? at + 1 : NULL;
}

/* @return the end of the value that begins at `at`; NULL: malformed */
static const char *json_skip(const char *at)
{
	int depth = 0;

	do {
		at = json_space(at);
		if (*at == '"') {
			at = json_skip_string(at);
			if (!at)
				return NULL;
		} else if (*at == '{' || *at == '[') {
			depth++;
			at++;
		} else if (*at == '}' || *at == ']') {
			depth--;
			at++;
		} else if (*at && (depth > 0 || !strchr(",:", *at))) {
			at++;
			while (*at && !strchr(",:{}[]\" \t\r\n", *at))
				at++;
		} else {
			return NULL;
		}
	} while (depth > 0 && depth < DEPTH_MAX);
	return depth == 0 ? at : NULL;
}

/* @return where the value of member `name` of the object at `at` begins; NULL: there is none, or it is malformed */
static const char *json_member(const char *at, const char *name)
{
	size_t length = strlen(name);

	if (!at || *at != '{')
		return NULL;
	for (at = json_space(at + 1); *at == '"'; at = json_space(at + 1)) {
		const char *end = json_skip_string(at);
		bool found = end && (size_t)(end - at) == length + 2 && strncmp(at + 1, name, length) == 0;

		at = end ? json_space(end) : NULL;
		if (!at || *at != ':')
			return NULL;
		at = json_space(at + 1);
		if (found)
			return at;
		at = json_skip(at);
		at = at ? json_space(at) : NULL;
		if (!at || *at != ',')
			return NULL;
	}
	return NULL;
}

/* Walk over a list of texts. @return the number of them; -1: malformed. @param places NULL: only count, else addresses
 */
static int32_t json_list(const char *at, struct rh_ps_place *places)
{
	int32_t count = 0;

	if (!at)
		return 0;
	if (*at != '[')
		return -1;
	at = json_space(at + 1);
	while (*at == '"') {
		const char *end = json_skip_string(at);

		if (!end)
			return -1;
		if (places && rh_ps_place_read(at + 1, (size_t)(end - at - 2), &places[count], NULL) < 0)
			return -1;
		count++;
		at = json_space(end);
		if (*at != ',')
			break;
		at = json_space(at + 1);
		if (*at != '"')
			return -1;
	}
	return *at == ']' ? count : -1;
}

static bool json_is(const char *at, const char *text)
{
	size_t length = strlen(text);

	return at && at[0] == '"' && strncmp(at + 1, text, length) == 0 && at[length + 1] == '"';
}

/* The Chief, or Master, is worker 0. */
static void cluster_place(struct rh_ps_cluster *cluster, const char *type, int32_t index, int32_t leaders)
{
	cluster->server = -1;
	cluster->worker = -1;
	if (json_is(type, "ps"))
		cluster->server = index;
	else if (json_is(type, "chief") || json_is(type, "master"))
		cluster->worker = index;
	else if (json_is(type, "worker"))
		cluster->worker = leaders + index;
}

int32_t rh_ps_cluster_read(const char *text, struct rh_ps_cluster *ret_cluster, struct rh_comm_error *err)
{
	struct rh_ps_cluster cluster = {.server = -1, .worker = -1};
	const char *root = text ? json_space(text) : NULL;
	const char *list = json_member(root, "cluster");
	const char *task = json_member(root, "task");
	const char *index = json_member(task, "index");
	int32_t chiefs = json_list(json_member(list, "chief"), NULL);
	int32_t masters = json_list(json_member(list, "master"), NULL);
	int32_t workers = json_list(json_member(list, "worker"), NULL);

	cluster.server_count = json_list(json_member(list, "ps"), NULL);
	if (!text || cluster.server_count == 0) {
		*ret_cluster = cluster;
		return 0;
	}
	if (chiefs < 0 || masters < 0 || workers < 0 || cluster.server_count < 0 || !index)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "TF_CONFIG is malformed: %.200s", text);
	cluster.places = calloc((size_t)cluster.server_count, sizeof(*cluster.places));
	if (!cluster.places)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	if (json_list(json_member(list, "ps"), cluster.places) < 0) {
		free(cluster.places);
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "TF_CONFIG: the addresses of cluster.ps must be host:port: %.200s", text);
	}
	cluster.workers = chiefs + masters + workers;
	cluster_place(&cluster, json_member(task, "type"), (int32_t)strtol(index, NULL, 10), chiefs + masters);
	*ret_cluster = cluster;
	return 0;
}
