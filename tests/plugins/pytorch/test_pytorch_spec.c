/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/os/file.h"
#include "jobs.h"

/** Members of spec, and the findings: "E path: detail" and "W detail", one a line. */
struct spec_case {
	const char *spec;
	const char *findings;
};

#define NO_PROCESSES(text)                                                                                          \
	"W spec.nprocPerNode is " text                                                                                  \
	": torchrun takes a number of processes from 1, auto, cpu, gpu, xpu, or the name of a device that PyTorch was " \
	"built for, and fails on anything else\n"

static const struct spec_case spec_cases[] = {
	{"", ""},
	{"  nprocPerNode: auto\n", ""},
	{"  nprocPerNode: cpu\n", ""},
	{"  nprocPerNode: gpu\n", ""},
	{"  nprocPerNode: xpu\n", ""},
	{"  nprocPerNode: hpu\n", ""},
	{"  nprocPerNode: npu\n", ""},
	{"  nprocPerNode: privateuseone\n", ""},
	{"  nprocPerNode: '1'\n", ""},
	{"  nprocPerNode: '2147483647'\n", ""},
	{"  nprocPerNode: ''\n", NO_PROCESSES("\"\"")},
	{"  nprocPerNode: '0'\n", NO_PROCESSES("\"0\"")},
	{"  nprocPerNode: '-2'\n", NO_PROCESSES("\"-2\"")},
	{"  nprocPerNode: 2x\n", NO_PROCESSES("\"2x\"")},
	{"  nprocPerNode: Auto\n", NO_PROCESSES("\"Auto\"")},
	{"  nprocPerNode: '2147483648'\n", NO_PROCESSES("\"2147483648\"")},
	{"  nprocPerNode: 2\n", "E spec.nprocPerNode: Invalid value: 2: must be of type string: \"2\"\n"},
	{"  nprocPerNode: {}\n", "E spec.nprocPerNode: Invalid value: {}: must be of type string: \"auto\"\n"},
	{"  elasticPolicy: {}\n", ""},
	{"  elasticPolicy: {minReplicas: 1, maxReplicas: 2, rdzvPort: 1, maxRestarts: 0}\n", ""},
	{"  elasticPolicy: {minReplicas: 0, maxReplicas: 2}\n",
     "E spec.elasticPolicy.minReplicas: Invalid value: 0: must be between 1 and 2147483647\n"},
	{"  elasticPolicy: {minReplicas: -5}\n",
     "E spec.elasticPolicy.minReplicas: Invalid value: -5: must be between 1 and 2147483647\n"},
	{"  elasticPolicy: {minReplicas: 3, maxReplicas: 2}\n",
     "E spec.elasticPolicy.minReplicas: Invalid value: 3: must not be greater than maxReplicas 2\n"},
	{"  elasticPolicy: {maxReplicas: '2'}\n",
     "E spec.elasticPolicy.maxReplicas: Invalid value: \"2\": must be of type integer\n"},
	{"  elasticPolicy: {maxReplicas: 1.5}\n",
     "E spec.elasticPolicy.maxReplicas: Invalid value: 1.5: must be of type integer\n"},
	{"  elasticPolicy: {rdzvPort: 65536}\n",
     "E spec.elasticPolicy.rdzvPort: Invalid value: 65536: must be between 1 and 65535\n"},
	{"  elasticPolicy: {maxRestarts: -1}\n",
     "E spec.elasticPolicy.maxRestarts: Invalid value: -1: must be between 0 and 2147483647\n"},
	{"  elasticPolicy: {rdzvBackend: c10d}\n", ""},
	{"  elasticPolicy: {rdzvBackend: etcd-v2}\n", ""},
	{"  elasticPolicy: {rdzvBackend: c10}\n",
     "W spec.elasticPolicy.rdzvBackend \"c10\" is not one that torch brings along: c10d, etcd, etcd-v2, static\n"},
	{"  elasticPolicy: {nProcPerNode: 2}\n",
     "W spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead\n"},
	{"  elasticPolicy: {nProcPerNode: 2}\n  nprocPerNode: '2'\n",
     "W spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead\n"
     "E spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode\n"},
	{"  elasticPolicy: {rdzvConf: [{key: a, value: b}]}\n", ""},
	{"  elasticPolicy: {rdzvConf: []}\n", ""},
	{"  elasticPolicy: {rdzvConf: [{key: a, value: b}, {value: b}]}\n",
     "E spec.elasticPolicy.rdzvConf[1].key: Required value: must be a text that is not empty\n"},
	{"  elasticPolicy: {rdzvConf: [{key: a=, value: 'b,'}]}\n",
     "E spec.elasticPolicy.rdzvConf[0].key: Invalid value: must contain no comma and no equals sign\n"
     "E spec.elasticPolicy.rdzvConf[0].value: Invalid value: must contain no comma\n"},
};

static void spec_print(const struct rh_findings *findings, struct rh_str *out)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct rh_finding *finding = &findings->items[i];

		if (finding->severity == RH_FINDING_ERROR)
			rh_str_appendf(out, "E %s: %s\n", finding->path, finding->detail);
		else
			rh_str_appendf(out, "W %s%s\n", finding->path, finding->detail);
	}
}

static void spec_check(const char *job, const char *want)
{
	rh_auto_findings findings = {0};
	rh_auto_str printed = {0};
	auto_fixture fixture;

	jobs_open(&fixture, NULL, job);
	if (rh_host_validate(&fixture.snapshot, &findings, &fixture.err) < 0)
		fail_msg("%s", fixture.err.message);
	spec_print(&findings, &printed);
	if (strcmp(rh_str_text(&printed), want) != 0)
		fail_msg("%s\ngives\n%s\nnot\n%s", job, rh_str_text(&printed), want);
}

static void test_pytorch_spec__rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(spec_cases) / sizeof(spec_cases[0]); i++) {
		rh_auto_str job = {0};

		rh_str_appendf(&job, "%s%s%s", JOBS_JOB("", ""), JOBS_WORKERS("2"), spec_cases[i].spec);
		spec_check(rh_str_text(&job), spec_cases[i].findings);
	}
}

/* v1-behaviour A.5, rule 13 */
static void test_pytorch_spec__elastic_needs_workers(void **state)
{
	(void)state;
	spec_check(JOBS_JOB("  elasticPolicy: {minReplicas: 1}\n", JOBS_MASTER),
	           "E spec.pytorchReplicaSpecs[Worker]: Required value: must be configured if elastic policy is used\n");
	spec_check(JOBS_JOB("  elasticPolicy: {}\n", JOBS_MASTER),
	           "E spec.pytorchReplicaSpecs[Worker]: Required value: must be configured if elastic policy is used\n");
}

/* The jobs that V1 refused, in V1's words; the rest of the recorded ones are other layers' or other kinds'. */
static void test_pytorch_spec__words_of_v1(void **state)
{
	static const char *const names[] = {"bad-container-name", "bad-name-Upper",  "bad-no-image",
	                                    "bad-nproc-both",     "bad-two-masters", "bad-unknown-rt"};
	rh_auto(json) messages = NULL;
	rh_auto_free char *text = NULL;

	(void)state;
	assert_int_equal(rh_file_read(RH_GOLDENS "/invalid/messages.json", 1 << 20, &text, NULL, NULL), 0);
	assert_int_equal(rh_json_parse(text, strlen(text), &messages, NULL), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		rh_auto_str path = {0}, printed = {0};
		rh_auto_free char *yaml = NULL;
		rh_auto_findings findings = {0};
		auto_fixture fixture;

		rh_str_appendf(&path, "%s/invalid/%s.yaml", RH_GOLDENS, names[i]);
		assert_int_equal(rh_file_read(rh_str_text(&path), 1 << 20, &yaml, NULL, NULL), 0);
		jobs_open(&fixture, NULL, yaml);
		assert_int_equal(rh_host_validate(&fixture.snapshot, &findings, &fixture.err), 0);
		rh_findings_print_v1(&findings, &printed);
		assert_string_equal(rh_str_text(&printed),
		                    rh_json_string(rh_json_get(rh_json_get(messages, names[i]), "message")));
	}
}

static void test_pytorch_spec__survives_allocation_failures(void **state)
{
	int r = RH_ENOMEM;
	auto_fixture fixture;

	(void)state;
	jobs_open(&fixture, NULL, JOBS_JOB("  nprocPerNode: x\n  elasticPolicy: {nProcPerNode: -1}\n", JOBS_WORKERS("2")));
	for (long n = 0; r < 0 && n < 500; n++) {
		rh_auto_findings findings = {0};

		rh_mem_fail_after(n);
		r = rh_host_validate(&fixture.snapshot, &findings, NULL);
		rh_mem_fail_after(-1);
		assert_true(r == RH_ENOMEM || findings.count == 4);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pytorch_spec__rules),
		cmocka_unit_test(test_pytorch_spec__elastic_needs_workers),
		cmocka_unit_test(test_pytorch_spec__words_of_v1),
		cmocka_unit_test(test_pytorch_spec__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
