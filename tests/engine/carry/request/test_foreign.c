/* SPDX-License-Identifier: Apache-2.0 */
/* Names that an MPIJob needs and that objects of another owner have: nothing is created, and the job waits. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/carry/sim.h"
#include "roundhouse/plugin.h"

#define RBAC "rbac.authorization.k8s.io/v1"

static const struct rh_resource accounts = {"v1", "ServiceAccount", "serviceaccounts"};
static const struct rh_resource roles = {RBAC, "Role", "roles"};
static const struct rh_resource bindings = {RBAC, "RoleBinding", "rolebindings"};

/* One name that an MPIJob needs. */
struct need {
	const struct rh_resource *resource;
	const char *name;
	int pods; /* that are created nevertheless */
};

static const struct need needs[] = {
	{&sim_config_maps, "m-config", 0}, {&accounts, "m-launcher", 0},         {&roles, "m-launcher", 0},
	{&bindings, "m-launcher", 0},      {&rh_resource_pods, "m-worker-0", 0}, {&rh_resource_pods, "m-worker-1", 1},
};

static const struct rh_json *find(const struct sim *sim, const struct rh_resource *resource, const char *name)
{
	return rh_memory_store_find(sim->store, resource, "default", name);
}

static int count_pods(const struct sim *sim)
{
	static const char *const names[] = {"m-launcher", "m-worker-0", "m-worker-1"};
	const char *uid = rh_json_string_at(find(sim, &sim_mpi_jobs, "m"), "metadata.uid");
	int count = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		count += rh_text_equal(rh_json_string_at(sim_pod(sim, names[i]), "metadata.ownerReferences[0].uid"), uid);
	return count;
}

/* @return the message of the condition Stalled, or NULL */
static const char *stalled(const struct sim *sim)
{
	const struct rh_json *item = rh_json_first(rh_json_at(find(sim, &sim_mpi_jobs, "m"), "status.conditions"));

	while (item && !(rh_text_equal(rh_json_string_at(item, "type"), "Stalled") &&
	                 rh_text_equal(rh_json_string_at(item, "status"), "True")))
		item = rh_json_next(item);
	return rh_json_string_at(item, "message");
}

/* Create an object; @p owner is the UID of its controller, NULL: none. */
static void make(struct sim *sim, const struct need *need, const char *owner)
{
	rh_auto_free char *text =
		owner ? rh_asprintf("{'metadata':{'name':'%s','ownerReferences':[{'kind':'MPIJob','name':'m','uid':'%s',"
	                        "'controller':true}]},'rules':[],'spec':{},'data':{'x':'theirs'}}",
	                        need->name, owner)
			  : rh_asprintf("{'metadata':{'name':'%s'},'rules':[],'spec':{},'data':{'x':'theirs'}}", need->name);

	assert_int_equal(
		sim_user(sim, (struct rh_request){.verb = RH_VERB_CREATE, .resource = need->resource, .body = sim_json(text)}),
		RH_OUTCOME_OK);
}

static void drop(struct sim *sim, const struct need *need)
{
	assert_int_equal(
		sim_user(sim, (struct rh_request){.verb = RH_VERB_DELETE, .resource = need->resource, .name = need->name}),
		RH_OUTCOME_OK);
}

static void patch_job(struct sim *sim, const char *patch)
{
	assert_int_equal(sim_user(sim, (struct rh_request){.verb = RH_VERB_PATCH,
	                                                   .resource = &sim_mpi_jobs,
	                                                   .name = "m",
	                                                   .body = sim_json(patch)}),
	                 RH_OUTCOME_OK);
}

static void assert_taken(const struct sim *sim, const struct need *need)
{
	const struct rh_json *object = find(sim, need->resource, need->name);
	rh_auto_free char *words =
		rh_asprintf("Resource \"%s\" of MPIJobKind \"%s\" already exists and is not managed by MPIJob", need->name,
	                need->resource->kind);
	rh_auto_free char *event = rh_asprintf("Warning ErrResourceExists %s", words);

	sim_assert_event(sim, event);
	assert_non_null(stalled(sim));
	assert_non_null(strstr(stalled(sim), words));
	assert_int_equal(count_pods(sim), need->pods);
	assert_string_equal(rh_json_string_at(object, "data.x"), "theirs");
	if (need->resource != &bindings)
		assert_null(find(sim, &bindings, "m-launcher"));
}

static void assert_complete(const struct sim *sim)
{
	assert_null(stalled(sim));
	assert_int_equal(count_pods(sim), 3);
	assert_non_null(find(sim, &bindings, "m-launcher"));
}

/* A job that has all that it needs, and its pods. */
static void open_complete(struct sim *sim)
{
	sim_open(sim, false);
	sim_start_mpi(sim);
	assert_complete(sim);
}

/* Once the foreign object is gone, the job gets all objects that it needs. */
static void assert_goes_on(struct sim *sim, const struct need *need)
{
	drop(sim, need);
	sim_wait(sim, 1001);
	assert_complete(sim);
}

static void open_beside(struct sim *sim, const struct need *need)
{
	sim_open(sim, false);
	make(sim, need, NULL);
	sim_start_mpi(sim);
}

static void test_foreign__nothing_is_made_until_the_name_is_free(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const struct need *need = &needs[i];
		auto_sim sim = {0};

		print_message("           %s %s\n", need->resource->kind, need->name);
		open_beside(&sim, need);
		assert_taken(&sim, need);
		sim_wait(&sim, 3600);
		assert_taken(&sim, need);
		drop(&sim, need);
		sim_wait(&sim, 1001);
		assert_complete(&sim);
	}
}

/* A conflict is found again after a controller start, and after a change of the job. */
static void test_foreign__is_found_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const struct need *need = &needs[i];
		auto_sim sim = {0};

		print_message("           %s %s\n", need->resource->kind, need->name);
		open_beside(&sim, need);
		sim_kill(&sim);
		sim_start(&sim);
		sim_settle(&sim);
		assert_taken(&sim, need);
		patch_job(&sim, "{'spec':{'slotsPerWorker':2}}");
		sim_settle(&sim);
		assert_taken(&sim, need);
		patch_job(&sim, "{'spec':{'runPolicy':{'suspend':true}}}");
		sim_settle(&sim);
		patch_job(&sim, "{'spec':{'runPolicy':{'suspend':false}}}");
		sim_wait(&sim, 10);
		assert_taken(&sim, need);
		drop(&sim, need);
		sim_wait(&sim, 1001);
		assert_complete(&sim);
	}
}

/* Objects of a deleted job of the same name are foreign until they are collected. */
static void test_foreign__of_a_former_job_are_waited_for(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	for (size_t i = 0; i < 4; i++)
		make(&sim, &needs[i], "former");
	sim_start_mpi(&sim);
	assert_int_equal(count_pods(&sim), 0);
	for (size_t i = 0; i < 4; i++) {
		drop(&sim, &needs[i]);
		sim_wait(&sim, 30);
	}
	sim_wait(&sim, 1001);
	assert_complete(&sim);
}

/* An object with the job's owner reference and other content gets the desired content before it is used. */
static void test_foreign__content_is_written_before_it_is_used(void **state)
{
	auto_sim sim = {0};
	const struct rh_json *role, *binding;

	(void)state;
	sim_open(&sim, false);
	sim_start_mpi(&sim);
	patch_job(&sim, "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_settle(&sim);
	assert_null(find(&sim, &roles, "m-launcher"));
	make(&sim, &needs[2], rh_json_string_at(find(&sim, &sim_mpi_jobs, "m"), "metadata.uid"));
	patch_job(&sim, "{'spec':{'runPolicy':{'suspend':false}}}");
	sim_settle(&sim);
	assert_complete(&sim);
	role = find(&sim, &roles, "m-launcher");
	binding = find(&sim, &bindings, "m-launcher");
	assert_int_equal(rh_json_size(rh_json_get(role, "rules")), 2);
	assert_true(strtoull(rh_json_string_at(role, "metadata.resourceVersion"), NULL, 10) <
	            strtoull(rh_json_string_at(binding, "metadata.resourceVersion"), NULL, 10));
}

/* An object of the job may get another owner before a pod is created again much later. */
static void test_foreign__what_became_anothers_is_not_used(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		auto_sim sim = {0};

		print_message("           %s %s\n", needs[i].resource->kind, needs[i].name);
		open_complete(&sim);
		drop(&sim, &needs[i]);
		make(&sim, &needs[i], NULL);
		sim_wait(&sim, 3600);
		sim_delete_pod(&sim, "m-worker-1", 0);
		sim_settle(&sim);
		assert_int_equal(count_pods(&sim), 2);
		assert_non_null(stalled(&sim));
		/* No binding to a foreign role or account is left. */
		if (needs[i].resource == &roles || needs[i].resource == &accounts)
			assert_null(find(&sim, &bindings, "m-launcher"));
		assert_goes_on(&sim, &needs[i]);
	}
}

/* A launcher that runs may not run anything in a pod that took a worker's name. */
static void test_foreign__a_pod_of_another_is_not_opened(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_complete(&sim);
	sim_delete_pod(&sim, "m-worker-1", 0);
	make(&sim, &needs[5], NULL);
	sim_settle(&sim);
	assert_int_equal(count_pods(&sim), 2);
	assert_null(find(&sim, &bindings, "m-launcher"));
	assert_goes_on(&sim, &needs[5]);
}

/* V1 creates no workers either. */
static void test_foreign__a_launchers_name(void **state)
{
	static const struct need need = {&rh_resource_pods, "m-launcher", 2};
	auto_sim sim = {0};

	(void)state;
	open_beside(&sim, &need);
	sim_assert_event(&sim, "Warning ErrResourceExists Resource \"m-launcher\" of MPIJobKind \"Pod\"");
	assert_non_null(stalled(&sim));
	assert_int_equal(count_pods(&sim), 2);
	assert_goes_on(&sim, &need);
}

/* Further objects are not watched: one that is to be updated may have another owner by now. */
static void test_foreign__what_became_anothers_is_not_changed(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	sim_start_mpi(&sim);
	drop(&sim, &needs[0]);
	make(&sim, &needs[0], NULL);
	sim_play_pod(&sim, "m-worker-0", "Running");
	assert_string_equal(rh_json_string_at(find(&sim, &sim_config_maps, "m-config"), "data.x"), "theirs");
	assert_null(rh_json_at(find(&sim, &sim_config_maps, "m-config"), "data.hostfile"));
	sim_assert_event(&sim, "Warning ErrResourceExists Resource \"m-config\" of MPIJobKind");
	assert_non_null(stalled(&sim));
}

/* A deleted object is created again before a pod that uses it. */
static void test_foreign__what_vanished_is_made_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		auto_sim sim = {0};

		sim_open(&sim, false);
		sim_start_mpi(&sim);
		drop(&sim, &needs[i]);
		sim_wait(&sim, 3600);
		sim_delete_pod(&sim, "m-worker-1", 0);
		sim_settle(&sim);
		assert_complete(&sim);
		assert_non_null(find(&sim, needs[i].resource, needs[i].name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_foreign__nothing_is_made_until_the_name_is_free),
		cmocka_unit_test(test_foreign__is_found_again),
		cmocka_unit_test(test_foreign__of_a_former_job_are_waited_for),
		cmocka_unit_test(test_foreign__content_is_written_before_it_is_used),
		cmocka_unit_test(test_foreign__what_became_anothers_is_not_used),
		cmocka_unit_test(test_foreign__a_pod_of_another_is_not_opened),
		cmocka_unit_test(test_foreign__a_launchers_name),
		cmocka_unit_test(test_foreign__what_became_anothers_is_not_changed),
		cmocka_unit_test(test_foreign__what_vanished_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
