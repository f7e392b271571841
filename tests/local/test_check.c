/* SPDX-License-Identifier: Apache-2.0 */
#include "local/check.h"

#include <string.h>

#include "job/kinds.h"
#include "job/support.h"

/* A PyTorchJob "a-b" of a Master and two Workers, whose Master's container has these members. */
#define JOB(members)                                                                                                \
	"{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'a-b'},'spec':{'pytorchReplicaSpecs':{" \
	"'Master':{'template':{'spec':{'initContainers':[{'name':'i','image':'i'}],'containers':["                      \
	"{'name':'side','image':'i'},{'name':'pytorch','image':'i'," members "}]}}},"                                   \
	"'Worker':{'replicas':2,'template':{'spec':{'containers':[{'name':'pytorch','image':'i'}]}}}}}}"
#define PLACE "spec.pytorchReplicaSpecs[Master].template.spec.containers[1]."

static void test_check__names_of_services(void **state)
{
	static const struct {
		const char *name;
		const char *job;
		const char *path; /* NULL: nothing is found */
		const char *word;
	} rows[] = {
		{"nothing", JOB("'command':['x']"), NULL, NULL},
		{"an argument", JOB("'command':['x','--to=a-b-master-0']"), PLACE "command[1]", "\"a-b-master-0\""},
		{"with a port", JOB("'args':['a-b-worker-1:23456']"), PLACE "args[0]", "\"a-b-worker-1\""},
		{"with its domain", JOB("'args':['a-b-worker-0.default.svc']"), PLACE "args[0]", "\"a-b-worker-0\""},
		{"in a script", JOB("'args':['x','ping a-b-master-0; echo']"), PLACE "args[1]", "\"a-b-master-0\""},
		{"behind one that is none", JOB("'args':['a-b-worker-7,a-b-worker-1']"), PLACE "args[0]", "\"a-b-worker-1\""},
		{"a variable", JOB("'env':[{'name':'A','value':'x'},{'name':'B','value':'a-b-worker-0'}]"), PLACE "env[1]",
	     "\"a-b-worker-0\""},
		{"a variable from elsewhere", JOB("'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'a-b-worker-0'}}}]"),
	     NULL, NULL},
		{"no such index", JOB("'args':['a-b-worker-2']"), NULL, NULL},
		{"no such type", JOB("'args':['a-b-ps-0']"), NULL, NULL},
		{"another job", JOB("'args':['c-worker-0','xa-b-worker-0','x-a-b-worker-0']"), NULL, NULL},
		{"a longer name", JOB("'args':['a-b-worker-0-x','a-b-worker-0x','a-b-worker-01x']"), NULL, NULL},
		{"no index", JOB("'args':['a-b-worker-','a-b-worker']"), NULL, NULL},
		{"no text", JOB("'args':[1]"), NULL, NULL},
	};
	const struct rh_runtime_spec_machine machine = {.can_mount = false};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(job) job = test_job(&test_pytorch, rows[i].job);
		rh_auto_findings findings = {0};

		print_message("%s\n", rows[i].name);
		assert_int_equal(rh_local_check(job, &machine, &findings), 0);
		assert_int_equal(findings.count, rows[i].path ? 1 : 0);
		if (!rows[i].path)
			continue;
		assert_int_equal(findings.items[0].severity, RH_FINDING_WARNING);
		assert_string_equal(findings.items[0].path, rows[i].path);
		assert_non_null(strstr(findings.items[0].detail, rows[i].word));
	}
}

/* With a mount namespace the names are in the pod's /etc/hosts. */
static void test_check__names_that_are_found(void **state)
{
	const struct rh_runtime_spec_machine machine = {.can_mount = true};
	rh_auto(job) job = test_job(&test_pytorch, JOB("'args':['a-b-master-0']"));
	rh_auto_findings findings = {0};

	(void)state;
	assert_int_equal(rh_local_check(job, &machine, &findings), 0);
	assert_int_equal(findings.count, 0);
}

static void test_check__without_memory(void **state)
{
	const struct rh_runtime_spec_machine machine = {.can_mount = false};
	rh_auto(job) job = test_job(&test_pytorch, JOB("'args':['x','a-b-master-0']"));
	int r = RH_ENOMEM;

	(void)state;
	for (long count = 0; r < 0; count++) {
		rh_auto_findings findings = {0};

		assert_true(count < 1000);
		rh_mem_fail_after(count);
		r = rh_local_check(job, &machine, &findings);
		rh_mem_fail_after(-1);
		assert_true(r == RH_ENOMEM || (r == 0 && findings.count == 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check__names_of_services),
		cmocka_unit_test(test_check__names_that_are_found),
		cmocka_unit_test(test_check__without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
