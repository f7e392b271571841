/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pods of one machine have beyond their templates is in the contract (rh_kind.contract), and what it says of one
 * machine is there. test_contract.py does the same for clusters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/kit.h"

/** What "when" says of an entry that only one machine has. */
#define CONTRACT_LOCAL "the job runs on one machine"
/** Most entries of a contract. */
#define CONTRACT_ENTRIES_MAX 64

/** One kind: a job with all its types, whose replicas all have addresses. */
struct contract_case {
	const char *plugin;
	const char *job;
};

static const struct contract_case contract_cases[] = {
	{"pytorch", KIT_JOB("PyTorchJob", "pytorchReplicaSpecs", "  elasticPolicy: {}\n",
                        KIT_TYPE("Master", "1", "pytorch") KIT_TYPE("Worker", "2", "pytorch"))},
	{"tensorflow", KIT_JOB("TFJob", "tfReplicaSpecs", "",
                           KIT_TYPE("Chief", "1", "tensorflow") KIT_TYPE("Worker", "2", "tensorflow"))},
	{"xgboost", KIT_JOB("XGBoostJob", "xgbReplicaSpecs", "",
                        KIT_TYPE("Master", "1", "xgboost") KIT_TYPE("Worker", "2", "xgboost"))},
	{"paddle", KIT_JOB("PaddleJob", "paddleReplicaSpecs", "",
                       KIT_TYPE("Master", "1", "paddle") KIT_TYPE("Worker", "2", "paddle"))},
	{"mpi", KIT_JOB("MPIJob", "mpiReplicaSpecs", "", KIT_TYPE("Launcher", "1", "mpi") KIT_TYPE("Worker", "2", "mpi"))},
};

/** A contract, and which of its entries have been seen. */
struct contract {
	struct rh_json *entries;
	bool seen[CONTRACT_ENTRIES_MAX];
};

static void contract_close(struct contract *contract)
{
	rh_json_free(contract->entries);
}

static bool contract_is_for(const struct rh_json *entry, const char *type)
{
	const struct rh_json *types = rh_json_get(entry, "types");
	const struct rh_json *item = rh_json_first(types);

	while (item && strcmp(rh_json_string(item), type) != 0)
		item = rh_json_next(item);
	return !types || item;
}

/** One thing that a pod of @p type has must be in the contract. */
static void contract_see(struct contract *contract, const char *type, const char *what, const char *name)
{
	const struct rh_json *entry = rh_json_first(contract->entries);
	size_t place = 0;

	for (; entry; entry = rh_json_next(entry), place++) {
		if (strcmp(rh_json_string_at(entry, "what"), what) == 0 &&
		    strcmp(rh_json_string_at(entry, "name"), name) == 0 && contract_is_for(entry, type))
			break;
	}
	if (!entry)
		fail_msg("a pod of type %s has %s %s, which the contract does not name", type, what, name);
	contract->seen[place] = true;
}

static void contract_see_all(struct contract *contract, const char *type, const char *what, const struct rh_json *list)
{
	const char *key = strcmp(what, "mount") == 0 ? "mountPath" : "name";

	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item))
		contract_see(contract, type, what, rh_json_string_at(item, key));
}

/** The template has one container with a name and an image, so all else is the plugin's. */
static void contract_see_pod(struct contract *contract, const char *type, const struct rh_json *pod)
{
	contract_see_all(contract, type, "env", rh_json_at(pod, "spec.containers[0].env"));
	contract_see_all(contract, type, "mount", rh_json_at(pod, "spec.containers[0].volumeMounts"));
	contract_see_all(contract, type, "volume", rh_json_at(pod, "spec.volumes"));
	contract_see_all(contract, type, "initContainer", rh_json_at(pod, "spec.initContainers"));
}

static int contract_compare(const void *a, const void *b)
{
	const struct rh_address *first = a, *second = b;
	int order = strcmp(first->type, second->type);

	return order ? order : first->index - second->index;
}

/** Give each replica of the job an address. @return how many there are */
static size_t contract_plan(const struct rh_job *job, struct rh_address items[KIT_PODS_MAX])
{
	size_t count = 0;

	for (size_t s = 0; s < job->spec_count; s++) {
		for (int32_t i = 0; i < job->specs[s].replicas; i++) {
			struct rh_address *item = &items[count++];

			*item = (struct rh_address){.index = i, .port = 20000 + i};
			rh_copy(item->type, sizeof(item->type), job->specs[s].type);
			snprintf(item->host, sizeof(item->host), "127.9.0.%zu", count);
		}
	}
	qsort(items, count, sizeof(items[0]), contract_compare);
	return count;
}

static void contract_check(const struct contract_case *row)
{
	struct rh_address items[KIT_PODS_MAX] = {0};
	struct rh_addresses plan = {.items = items};
	__attribute__((cleanup(contract_close))) struct contract contract = {NULL, {false}};
	const struct rh_job *job;
	const char *text;
	auto_kit kit;
	size_t place = 0;

	kit_open(&kit, row->plugin, NULL, row->job);
	job = kit.fixture.job;
	text = job->kind->contract;
	assert_int_equal(rh_json_parse(text, strlen(text), &contract.entries, NULL), 0);
	assert_true(rh_json_size(contract.entries) <= CONTRACT_ENTRIES_MAX);
	plan.count = contract_plan(job, items);
	kit.fixture.snapshot.addresses = &plan;
	for (size_t i = 0; i < plan.count; i++) {
		rh_auto(json) pod = kit_pod(&kit, items[i].type, items[i].index);

		contract_see_pod(&contract, items[i].type, pod);
	}
	for (const struct rh_json *entry = rh_json_first(contract.entries); entry; entry = rh_json_next(entry), place++) {
		const char *when = rh_json_string_at(entry, "when");

		if (when && strcmp(when, CONTRACT_LOCAL) == 0 && !contract.seen[place])
			fail_msg("%s: no pod of one machine has %s", row->plugin, rh_json_string_at(entry, "name"));
	}
}

static void test_contract__one_machine(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIT_COUNT(contract_cases); i++) {
		print_message("%s\n", contract_cases[i].plugin);
		contract_check(&contract_cases[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contract__one_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
