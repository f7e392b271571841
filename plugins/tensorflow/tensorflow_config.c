/* SPDX-License-Identifier: Apache-2.0 */
/* TF_CONFIG: the cluster as TensorFlow reads it, in V1's bytes (v1-behaviour C.7). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow.h"

/** Room for a namespace and a domain. */
#define CONFIG_SUFFIX_SIZE 384

/** One TF_CONFIG that is being written. */
struct config_call {
	const struct rh_services *host;
	const struct rh_view *view;
	const struct rh_replica *me;
	FILE *out;
	char suffix[CONFIG_SUFFIX_SIZE]; /**< what follows the name of a Service: ".team.svc" */
};

const char *tensorflow_lower(const char *type, char buffer[TENSORFLOW_TYPE_SIZE])
{
	snprintf(buffer, TENSORFLOW_TYPE_SIZE, "%s", type);
	for (char *c = buffer; *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
	return buffer;
}

const char *tensorflow_next_type(const struct rh_services *host, const struct rh_view *view, const char *last)
{
	char after[TENSORFLOW_TYPE_SIZE], best[TENSORFLOW_TYPE_SIZE], lower[TENSORFLOW_TYPE_SIZE];
	const char *found = NULL;
	const char *type;

	tensorflow_lower(last, after);
	for (uint32_t i = 0; (type = host->type(view, i)); i++) {
		tensorflow_lower(type, lower);
		if (strcmp(lower, after) <= 0 || (found && strcmp(lower, best) >= 0))
			continue;
		found = type;
		memcpy(best, lower, sizeof(best));
	}
	return found;
}

int tensorflow_is_distributed(const struct rh_services *host, const struct rh_view *view)
{
	static const char *const known[] = {"Chief", "Master", "PS", "Worker", "Evaluator"};
	int64_t sum = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		int32_t replicas = host->replicas(view, known[i]);

		sum += replicas > 0 ? replicas : 0;
	}
	return sum != 1;
}

/** On a cluster the names of Services are completed as V1 does; elsewhere hosts are addresses. */
static void config_set_suffix(struct config_call *call)
{
	const char *domain = call->host->setting(call->view, "cluster-domain");

	if (call->host->state(call->view) & RH_STATE_LOCAL)
		return;
	snprintf(call->suffix, sizeof(call->suffix), ".%s.svc%s%s", call->host->text(call->view, "metadata.namespace"),
	         domain && *domain ? "." : "", domain ? domain : "");
}

static void config_put_host(const struct config_call *call, const char *type, int32_t index)
{
	const char *name = call->host->host(call->view, type, index);

	fprintf(call->out, "\"%s%s:%" PRId32 "\"", name ? name : "", call->suffix,
	        call->host->port(call->view, type, index));
}

static void config_put_hosts(const struct config_call *call, const char *type)
{
	int32_t replicas = call->host->replicas(call->view, type);

	fputc('[', call->out);
	for (int32_t i = 0; i < replicas; i++) {
		if (i > 0)
			fputc(',', call->out);
		config_put_host(call, type, i);
	}
	fputc(']', call->out);
}

static void config_put_type(const struct config_call *call, const char *type)
{
	char lower[TENSORFLOW_TYPE_SIZE];
	const char *quoted = call->host->quote(call->view, tensorflow_lower(type, lower));

	fputs(quoted ? quoted : "\"\"", call->out);
}

static void config_put_cluster(const struct config_call *call)
{
	const char *type = tensorflow_next_type(call->host, call->view, "");

	while (type) {
		config_put_type(call, type);
		fputc(':', call->out);
		config_put_hosts(call, type);
		type = tensorflow_next_type(call->host, call->view, type);
		if (type)
			fputc(',', call->out);
	}
}

/**
 * With dynamic workers TF_CONFIG lists no other workers, because they come and go: a worker sees itself and the
 * parameter servers, a parameter server itself.
 */
static void config_put_sparse_cluster(const struct config_call *call)
{
	const struct rh_replica *me = call->me;

	fputs("\"worker\":{", call->out);
	if (strcmp(me->type, "Worker") == 0) {
		fprintf(call->out, "\"%" PRId32 "\":", me->index);
		config_put_host(call, me->type, me->index);
	}
	fputs("},\"ps\":", call->out);
	if (strcmp(me->type, "PS") == 0) {
		fputc('[', call->out);
		config_put_host(call, me->type, me->index);
		fputc(']', call->out);
	} else if (strcmp(me->type, "Worker") != 0) {
		fputs("[]", call->out);
	} else if (call->host->replicas(call->view, "PS") < 0) {
		fputs("null", call->out);
	} else {
		config_put_hosts(call, "PS");
	}
}

static void config_put(const struct config_call *call)
{
	int sparse = call->host->boolean(call->view, TENSORFLOW_DYNAMIC);

	fputs("{\"cluster\":{", call->out);
	if (sparse)
		config_put_sparse_cluster(call);
	else
		config_put_cluster(call);
	fputs("},\"task\":{\"type\":", call->out);
	config_put_type(call, call->me->type);
	fprintf(call->out, ",\"index\":%" PRId32 "}", call->me->index);
	fputs(sparse ? "}" : ",\"environment\":\"cloud\"}", call->out);
}

char *tensorflow_config(const struct rh_services *host, const struct rh_view *view, const struct rh_replica *me)
{
	struct config_call call = {.host = host, .view = view, .me = me};
	char *text = NULL;
	size_t length;

	config_set_suffix(&call);
	call.out = open_memstream(&text, &length);
	if (!call.out)
		return NULL;
	config_put(&call);
	if (fclose(call.out) == 0)
		return text;
	free(text);
	return NULL;
}
