/* SPDX-License-Identifier: Apache-2.0 */
#include "local/progress/endpoint.h"

#include <stdint.h>
#include <string.h>

#include "base/os/file.h"
#include "base/os/random.h"
#include "local/progress/report.h"

/* Bytes of a token before they are written as hexadecimal digits. */
#define ENDPOINT_SECRET 32
#define ENDPOINT_TOKEN_SIZE (2 * ENDPOINT_SECRET + 1)
#define ENDPOINT_BEARER "Bearer "

/* One job. */
struct endpoint_job {
	char *path;
	char *variables[RH_ENDPOINT_VARIABLES + 1];
	char token[ENDPOINT_TOKEN_SIZE];
	int64_t full_at; /* monotonic: when RH_ENDPOINT_BURST reports may come at once again */
};

struct rh_endpoint {
	const struct rh_progress_serving *serving;
	struct rh_progress_server *server;
	rh_endpoint_report_fn *report;
	void *arg;
	int64_t (*now)(void);
	char *folder;
	char *authority; /* file of the certificate */
	struct endpoint_job *jobs;
	size_t count;
};

/* Kubernetes' Status, as Trainer answers. Without memory the body is missing. */
static unsigned endpoint_refuse(struct rh_str *body, unsigned code, const char *reason, const char *message)
{
	rh_auto(json) status = rh_json_new_object();

	if (status && rh_json_set_string(status, "status", "Failure") == 0 &&
	    rh_json_set_string(status, "message", message) == 0 && rh_json_set_string(status, "reason", reason) == 0 &&
	    rh_json_set_integer(status, "code", code) == 0)
		rh_json_print(status, false, body);
	rh_str_append(body, "\n");
	return code;
}

static struct endpoint_job *endpoint_find(const struct rh_endpoint *endpoint, const char *path)
{
	for (size_t i = 0; i < endpoint->count; i++) {
		if (strcmp(endpoint->jobs[i].path, path) == 0)
			return &endpoint->jobs[i];
	}
	return NULL;
}

/* Takes as long for each wrong token as for the right one. */
static bool endpoint_is_token(const struct endpoint_job *job, const char *authorization)
{
	size_t length = strlen(ENDPOINT_BEARER);
	unsigned char differs = 0;

	if (strncmp(authorization, ENDPOINT_BEARER, length) != 0 ||
	    strlen(authorization) != length + ENDPOINT_TOKEN_SIZE - 1)
		return false;
	for (size_t i = 0; i < ENDPOINT_TOKEN_SIZE; i++)
		differs |= (unsigned char)(job->token[i] ^ authorization[length + i]);
	return differs == 0;
}

/* A report pushes the time at which the whole burst is free again by one period. */
static bool endpoint_has_room(struct endpoint_job *job, int64_t now)
{
	int64_t from = job->full_at > now ? job->full_at : now;

	if (from + RH_ENDPOINT_PERIOD > now + RH_ENDPOINT_BURST * RH_ENDPOINT_PERIOD)
		return false;
	job->full_at = from + RH_ENDPOINT_PERIOD;
	return true;
}

/* Trainer answers with what it has understood. */
static unsigned endpoint_accept(const struct rh_json *status, struct rh_str *body)
{
	rh_auto(json) answer = rh_json_new_object();

	if (answer && (!status || rh_json_set(answer, "trainerStatus", rh_json_copy(status)) == 0))
		rh_json_print(answer, false, body);
	rh_str_append(body, "\n");
	return 200;
}

static unsigned endpoint_answer(void *arg, const struct rh_progress_request *request, struct rh_str *body)
{
	struct rh_endpoint *endpoint = arg;
	struct endpoint_job *job = endpoint_find(endpoint, request->path);
	rh_auto(json) status = NULL;
	struct rh_error err = {0};
	int r;

	if (!job || strcmp(request->method, "POST") != 0)
		return endpoint_refuse(body, 404, "NotFound", "Not found");
	if (!endpoint_is_token(job, request->authorization))
		return endpoint_refuse(body, 403, "Forbidden", "Forbidden");
	if (!endpoint_has_room(job, endpoint->now()))
		return endpoint_refuse(body, 429, "TooManyRequests", "too many reports; send one in five seconds");
	r = rh_report_read(request->body, request->body_length, &status, &err);
	if (r < 0)
		return endpoint_refuse(body, r == RH_EINVAL ? 422 : 500, r == RH_EINVAL ? "Invalid" : "InternalError",
		                       err.message);
	if (status)
		endpoint->report(endpoint->arg, (size_t)(job - endpoint->jobs), status);
	return endpoint_accept(status, body);
}

static int endpoint_write(const char *path, const char *text, struct rh_error *err)
{
	return rh_file_write_atomic(path, text, strlen(text), 0600, err);
}

int rh_endpoint_new(const struct rh_endpoint_options *options, struct rh_endpoint **ret_endpoint, struct rh_error *err)
{
	rh_auto(endpoint) endpoint = rh_alloc(sizeof(*endpoint));
	int r;

	if (!endpoint)
		return rh_fail_oom(err);
	*endpoint = (struct rh_endpoint){
		.serving = options->serving, .report = options->report, .arg = options->arg, .now = options->now};
	endpoint->folder = rh_strdup(options->folder);
	endpoint->authority = rh_path_join(options->folder, "ca.crt");
	if (!endpoint->folder || !endpoint->authority)
		return rh_fail_oom(err);
	r = rh_dir_make(options->folder, 0700, err);
	if (r == 0)
		r = endpoint->serving->open(options->loop, endpoint_answer, endpoint, &endpoint->server, err);
	if (r == 0)
		r = endpoint_write(endpoint->authority, endpoint->serving->authority(endpoint->server), err);
	if (r == 0)
		*ret_endpoint = rh_take(endpoint);
	return r;
}

static void endpoint_forget(struct endpoint_job *job)
{
	explicit_bzero(job->token, sizeof(job->token));
	for (size_t i = 0; i < RH_ENDPOINT_VARIABLES; i++)
		rh_free(job->variables[i]);
	rh_free(job->path);
}

void rh_endpoint_free(struct rh_endpoint *endpoint)
{
	if (!endpoint)
		return;
	endpoint->serving->close(endpoint->server);
	for (size_t i = 0; i < endpoint->count; i++)
		endpoint_forget(&endpoint->jobs[i]);
	rh_free(endpoint->jobs);
	rh_free(endpoint->authority);
	rh_free(endpoint->folder);
	rh_free(endpoint);
}

static int endpoint_make_token(char token[ENDPOINT_TOKEN_SIZE], struct rh_error *err)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t secret[ENDPOINT_SECRET];

	if (!rh_random_secret(secret, sizeof(secret)))
		return rh_fail(err, RH_EIO, "the kernel has no random numbers yet");
	for (size_t i = 0; i < sizeof(secret); i++) {
		token[2 * i] = digits[secret[i] >> 4];
		token[2 * i + 1] = digits[secret[i] & 15];
	}
	token[2 * sizeof(secret)] = '\0';
	explicit_bzero(secret, sizeof(secret));
	return 0;
}

static int endpoint_fill(const struct rh_endpoint *endpoint, struct endpoint_job *job, const char *namespace_,
                         const char *name, struct rh_error *err)
{
	rh_auto_free char *file = rh_asprintf("%s/%zu.token", endpoint->folder, endpoint->count);
	int r = endpoint_make_token(job->token, err);

	job->path = rh_asprintf("/apis/trainer.kubeflow.org/v1alpha1/namespaces/%s/trainjobs/%s/status", namespace_, name);
	job->variables[0] = rh_asprintf("KUBEFLOW_TRAINER_SERVER_URL=https://127.0.0.1:%u%s",
	                                (unsigned)endpoint->serving->port(endpoint->server), job->path ? job->path : "");
	job->variables[1] = rh_asprintf("KUBEFLOW_TRAINER_SERVER_CA_CERT=%s", endpoint->authority);
	job->variables[2] = rh_asprintf("KUBEFLOW_TRAINER_SERVER_TOKEN=%s", file ? file : "");
	if (r == 0 && (!file || !job->path || !job->variables[0] || !job->variables[1] || !job->variables[2]))
		r = rh_fail_oom(err);
	return r == 0 ? endpoint_write(file, job->token, err) : r;
}

int rh_endpoint_add(struct rh_endpoint *endpoint, const char *namespace_, const char *name, struct rh_error *err)
{
	struct endpoint_job *grown = rh_realloc_array(endpoint->jobs, endpoint->count + 1, sizeof(*grown));
	int r;

	if (!grown)
		return rh_fail_oom(err);
	endpoint->jobs = grown;
	grown[endpoint->count] = (struct endpoint_job){.full_at = 0};
	r = endpoint_fill(endpoint, &grown[endpoint->count], namespace_, name, err);
	if (r < 0)
		endpoint_forget(&grown[endpoint->count]);
	else
		endpoint->count++;
	return r;
}

const char *const *rh_endpoint_variables(const struct rh_endpoint *endpoint, size_t index)
{
	return (const char *const *)endpoint->jobs[index].variables;
}
