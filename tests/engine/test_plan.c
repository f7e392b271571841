/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka.h needs the headers before it. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "engine/plan.h"

/* Everything that a plan can hold. @return 0 or RH_ENOMEM */
static int plan_fill(struct rh_plan *plan)
{
	struct rh_action *object;

	plan->wake_at = INT64_C(1767225600) * RH_SECOND;
	if (!rh_plan_act(plan, RH_CREATE_POD, "Worker", 1, "j-worker-1") ||
	    !rh_plan_act(plan, RH_CREATE_SERVICE, "Worker", 1, "j-worker-1"))
		return RH_ENOMEM;
	object = rh_plan_act(plan, RH_UPDATE_OBJECT, NULL, 0, "j-config");
	if (!object)
		return RH_ENOMEM;
	object->api_version = rh_strdup("v1");
	object->kind = rh_strdup("ConfigMap");
	if (!object->api_version || !object->kind || rh_plan_delete(plan, RH_DELETE_POD, "j-worker-2", "u2", true) < 0 ||
	    rh_plan_delete(plan, RH_DELETE_SERVICE, "j-worker-2", "s2", false) < 0 ||
	    rh_plan_delete(plan, RH_DELETE_JOB, "j", "uj", false) < 0)
		return RH_ENOMEM;
	return rh_plan_emit(plan, true, "PyTorchJobRestarting", "job %s is restarting", "j");
}

static void test_plan__print(void **state)
{
	rh_auto_plan plan = {0};
	rh_auto_str text = {0};

	(void)state;
	assert_int_equal(plan_fill(&plan), 0);
	plan.done = true;
	rh_plan_print(&plan, &text);
	assert_string_equal(rh_str_text(&text), "create pod j-worker-1\n"
	                                        "create service j-worker-1\n"
	                                        "update object v1 ConfigMap j-config\n"
	                                        "delete pod j-worker-2 uid u2 by force\n"
	                                        "delete service j-worker-2 uid s2\n"
	                                        "delete job j uid uj\n"
	                                        "event Warning PyTorchJobRestarting: job j is restarting\n"
	                                        "wake at 2026-01-01T00:00:00Z\n"
	                                        "done\n");
}

static void test_plan__print_ledger_and_status(void **state)
{
	rh_auto_plan plan = {.wake_at = RH_NEVER, .write_ledger = true, .write_status = true};
	rh_auto_str text = {0};

	(void)state;
	plan.ledger.attempt = 3;
	plan.ledger.end = RH_END_BACKOFF;
	assert_int_equal(rh_ledger_count(&plan.ledger, "Worker", RH_CAUSE_IN_PLACE, "u1"), 1);
	assert_int_equal(rh_ledger_note(&plan.ledger, "u2"), 1);
	assert_int_equal(rh_ledger_set_succeeded(&plan.ledger, "Worker", 4), 0);
	assert_int_equal(rh_job_status_set(&plan.status, RH_CONDITION_CREATED, true, "TCreated", "m", 1), 1);
	rh_job_status_replica(&plan.status, "Worker")->active = 7;
	plan.status.started_at = 1;
	rh_plan_print(&plan, &text);
	assert_string_equal(rh_str_text(&text),
	                    "ledger: attempt 3 end=backoff; Worker in-place=1 succeeded=4; counted u1 u2\n"
	                    "status: Created=True/TCreated; Worker 7/0/0; started\n");
}

/* What has no UID yet cannot be deleted safely. */
static void test_plan__no_delete_without_uid(void **state)
{
	rh_auto_plan plan = {0};

	(void)state;
	assert_int_equal(rh_plan_delete(&plan, RH_DELETE_POD, "p", "", false), 0);
	assert_true(rh_plan_is_empty(&plan));
	assert_int_equal(rh_plan_delete(&plan, RH_DELETE_POD, "p", "u", false), 0);
	assert_false(rh_plan_is_empty(&plan));
}

static void test_plan__is_empty(void **state)
{
	rh_auto_plan event = {0};
	struct rh_plan ledger = {.write_ledger = true}, status = {.write_status = true},
				   waits = {.wake_at = 1, .done = true};

	(void)state;
	assert_int_equal(rh_plan_emit(&event, false, "R", "m"), 0);
	assert_false(rh_plan_is_empty(&event));
	assert_false(rh_plan_is_empty(&ledger));
	assert_false(rh_plan_is_empty(&status));
	assert_true(rh_plan_is_empty(&waits));
}

static void test_plan__grows(void **state)
{
	rh_auto_plan plan = {0};

	(void)state;
	for (int32_t i = 0; i < 1000; i++) {
		assert_non_null(rh_plan_act(&plan, RH_CREATE_POD, "Worker", i, "p"));
		assert_int_equal(rh_plan_emit(&plan, false, "R", "message %d", (int)i), 0);
	}
	assert_int_equal(plan.actions[999].index, 999);
	assert_string_equal(plan.events[999].message, "message 999");
}

static void test_plan__out_of_memory(void **state)
{
	int r = RH_ENOMEM;

	(void)state;
	for (long i = 0; r == RH_ENOMEM; i++) {
		rh_auto_plan plan = {0};

		assert_true(i < 1000);
		rh_mem_fail_after(i);
		r = plan_fill(&plan);
		rh_mem_fail_after(-1);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan__print),
		cmocka_unit_test(test_plan__print_ledger_and_status),
		cmocka_unit_test(test_plan__no_delete_without_uid),
		cmocka_unit_test(test_plan__is_empty),
		cmocka_unit_test(test_plan__grows),
		cmocka_unit_test(test_plan__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
