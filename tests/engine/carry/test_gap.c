/* SPDX-License-Identifier: Apache-2.0 */
/* Watch events after a gap (store/store.h), and kinds whose lists come late or never. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "job/values/names.h"

#define PAIR "Master=OnFailure Worker=OnFailure"

static void open_pair(struct sim *sim)
{
	sim_open(sim, false);
	sim_start(sim);
	sim_create(sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_settle(sim);
	sim_set_pod(sim, "j-master-0", "Running", 0, 0);
	sim_set_pod(sim, "j-worker-0", "Running", 0, 0);
	sim_settle(sim);
}

/* Requests that the engine has sent. */
static bool count_requests(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	(void)request;
	(void)ret_outcome;
	(void)ret_apply;
	(*(int *)arg)++;
	return false;
}

static void test_gap__duplicate_events_are_ignored(void **state)
{
	static const char *const names[] = {"j-master-0", "j-worker-0"};
	auto_sim sim = {0};
	int sent = 0;

	(void)state;
	open_pair(&sim);
	rh_memory_store_set_gate(sim.store, count_requests, &sent);
	for (size_t i = 0; i < 2; i++) {
		sim_deliver(&sim, "Pod", RH_WATCH_ADDED, sim_pod(&sim, names[i]));
		sim_deliver(&sim, "Service", RH_WATCH_ADDED,
		            rh_memory_store_find(sim.store, &rh_resource_services, "default", names[i]));
	}
	sim_deliver(&sim, "PyTorchJob", RH_WATCH_ADDED, sim_job(&sim, "j"));
	sim_deliver(&sim, "Pod", RH_WATCH_SYNCED, NULL);
	sim_settle(&sim);
	assert_int_equal(sent, 0);
	assert_false(rh_engine_busy(sim.engine));
}

/* A copy of the last state of an object as after a gap: without labels. */
static struct rh_json *identity(const struct rh_json *object)
{
	static const char *const kept[] = {"name", "namespace", "uid"};
	struct rh_json *made = rh_json_new_object();
	struct rh_json *metadata = rh_json_ensure_object(made, "metadata");

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
			rh_json_add(metadata, kept[i], rh_json_copy(rh_json_get(rh_json_get(object, "metadata"), kept[i]))), 0);
	return made;
}

static void test_gap__what_vanished_is_made_again(void **state)
{
	auto_sim sim = {0};
	rh_auto(json) pod = NULL;

	(void)state;
	open_pair(&sim);
	pod = identity(sim_pod(&sim, "j-worker-0"));
	sim_delete_pod(&sim, "j-worker-0", 0);
	sim_deliver(&sim, "Pod", RH_WATCH_DELETED, pod);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Pending");
}

/* Watch events of a store, held back by kind. */
struct late_store {
	struct rh_store face;
	struct rh_store *inner;
	const char *late; /* kind whose watch events are held back */
	rh_watch_fn *fn;
	void *arg;
};

static uint64_t late_watch(struct rh_store *store, const struct rh_resource *resource, const char *label,
                           rh_watch_fn *fn, void *arg)
{
	struct late_store *late = (struct late_store *)store;

	if (strcmp(resource->kind, late->late) != 0)
		return late->inner->watch(late->inner, resource, label, fn, arg);
	late->fn = fn;
	late->arg = arg;
	return UINT64_MAX;
}

static void late_unwatch(struct rh_store *store, uint64_t id)
{
	const struct late_store *late = (const struct late_store *)store;

	late->inner->unwatch(late->inner, id);
}

static int late_submit(struct rh_store *store, struct rh_request *request, rh_done_fn *done, void *arg,
                       uint64_t *ret_id, struct rh_error *err)
{
	const struct late_store *late = (const struct late_store *)store;

	return late->inner->submit(late->inner, request, done, arg, ret_id, err);
}

static void late_cancel(struct rh_store *store, uint64_t id)
{
	const struct late_store *late = (const struct late_store *)store;

	late->inner->cancel(late->inner, id);
}

static void start_late(struct sim *sim, struct late_store *late, const char *kind)
{
	struct rh_error err = {0};

	sim_open(sim, false);
	if (rh_host_load_file(sim->host, RH_PLUGIN_DIR "/tensorflow.so", &err) < 0)
		fail_msg("%s", err.message);
	*late = (struct late_store){
		.face = {.watch = late_watch, .unwatch = late_unwatch, .submit = late_submit, .cancel = late_cancel},
		.inner = rh_memory_store_face(sim->store),
		.late = kind};
	sim->options.host = sim->host;
	sim->options.store = &late->face;
	assert_int_equal(rh_engine_new(&sim->options, &sim->engine, &err), 0);
}

static void test_gap__a_kind_that_is_not_there_holds_up_no_other(void **state)
{
	struct late_store late;
	auto_sim sim = {0};

	(void)state;
	start_late(&sim, &late, "TFJob");
	sim_create(&sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

static void test_gap__a_kind_is_not_decided_about_before_its_list_is_complete(void **state)
{
	struct late_store late;
	auto_sim sim = {0};

	(void)state;
	start_late(&sim, &late, "PyTorchJob");
	sim_create(&sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_settle(&sim);
	late.fn(late.arg, RH_WATCH_ADDED, sim_job(&sim, "j"));
	sim_settle(&sim);
	sim_assert(&sim, "j", "| ");
	late.fn(late.arg, RH_WATCH_SYNCED, NULL);
	sim_settle(&sim);
	assert_non_null(sim_pod(&sim, "j-master-0"));
}

static void test_gap__pods_are_waited_for_by_all(void **state)
{
	struct late_store late;
	auto_sim sim = {0};

	(void)state;
	start_late(&sim, &late, "Pod");
	sim_create(&sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_settle(&sim);
	sim_assert(&sim, "j", "| ");
	late.fn(late.arg, RH_WATCH_SYNCED, NULL);
	sim_settle(&sim);
	assert_non_null(sim_pod(&sim, "j-master-0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gap__duplicate_events_are_ignored),
		cmocka_unit_test(test_gap__what_vanished_is_made_again),
		cmocka_unit_test(test_gap__a_kind_that_is_not_there_holds_up_no_other),
		cmocka_unit_test(test_gap__a_kind_is_not_decided_about_before_its_list_is_complete),
		cmocka_unit_test(test_gap__pods_are_waited_for_by_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
