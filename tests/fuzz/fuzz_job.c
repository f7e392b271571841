/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and pods: any tree is refused with a message or makes a job that every function of the layer can take. */
#include "base/mem.h"
#include "base/yaml.h"
#include "fuzz.h"
#include "job/kinds.h"
#include "job/manifest.h"
#include "job/pod.h"
#include "job/rules/validate.h"

/* A status that was read, written and read again is the same. */
static void fuzz_status(const struct rh_job *job)
{
	rh_auto(json) written = rh_job_status_json(&job->status);
	struct rh_job_status again = {0};

	fuzz_require(written && rh_job_status_parse(written, &again) == 0);
	fuzz_require(rh_job_status_equal(&job->status, &again));
	rh_job_status_deinit(&again);
}

static void fuzz_questions(const struct rh_job *job)
{
	for (size_t i = 0; i < job->spec_count; i++) {
		const struct rh_replica_spec *spec = &job->specs[i];
		int32_t port = rh_job_port(job, spec->type);

		fuzz_require(rh_job_spec(job, spec->type) == spec);
		fuzz_require(spec->replicas >= 0 && port >= 0 && port <= 65535);
		fuzz_require(rh_job_rank(job, spec->type, 0) >= 0);
		(void)rh_job_is_leader(job, spec->type, 0);
	}
	fuzz_require(rh_job_total_replicas(job) >= 0);
	(void)rh_job_is_ours(job);
}

static void fuzz_job(const struct rh_kind *kind, const struct rh_json *object)
{
	rh_auto(job) job = NULL;
	rh_auto_findings findings = {0};
	rh_auto_str text = {0};
	struct rh_error err = {0};
	int r = rh_job_parse(kind, rh_json_copy(object), &job, &err);

	fuzz_require(r == 0 || (r == RH_EINVAL && err.message[0]));
	if (r != 0)
		return;
	fuzz_status(job);
	fuzz_questions(job);
	fuzz_require(rh_job_validate(job, &findings) == 0);
	fuzz_require(rh_job_validate_update(job, job, &findings) == 0);
	rh_findings_print_v1(&findings, &text);
	fuzz_require((rh_findings_errors(&findings) > 0) == (text.length > 0));
}

static void fuzz_pod(const struct rh_json *object)
{
	rh_auto(pod) pod = NULL;

	fuzz_require(rh_pod_parse(&test_pytorch, object, &pod) == 0);
	fuzz_require(pod->index >= -1 && pod->attempt >= 0 && pod->restarts >= 0 && pod->exit_code >= -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rh_kind *const kinds[] = {&test_pytorch, &test_tensorflow, &test_xgboost, &test_mpi};
	rh_auto(json) documents = NULL;
	rh_auto_manifest manifest = {0};

	(void)rh_manifest_parse(&manifest, "input", (const char *)data, size, NULL);
	if (rh_yaml_parse((const char *)data, size, &documents, NULL) != 0)
		return 0;
	for (const struct rh_json *item = rh_json_first(documents); item; item = rh_json_next(item)) {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			fuzz_job(kinds[i], item);
		fuzz_pod(item);
	}
	return 0;
}
