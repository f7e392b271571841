/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <string.h>

#include "base/os/clock.h"
#include "job/status/status.h"
#include "job/support.h"

/* A list of conditions as a line: "Created+/r@1,1 Running-/r@2,2" is type, status, reason, and the seconds of update
 * and transition. */
static char *status_line(const struct rh_job_status *status)
{
	rh_auto_str line = {0};

	for (size_t i = 0; i < status->condition_count; i++) {
		const struct rh_condition *item = &status->conditions[i];

		rh_str_appendf(&line, "%s%s%c/%s@%d,%d", i ? " " : "", item->type, item->status ? '+' : '-', item->reason,
		               (int)(item->updated_at / RH_SECOND), (int)(item->transitioned_at / RH_SECOND));
	}
	return rh_str_take(&line);
}

/* A call of rh_job_status_set(): second by second, the first at 1. */
struct set_step {
	const char *type; /* NULL ends the steps */
	bool value;
	const char *reason;
	int result;
};

struct set_row {
	const char *name;
	struct set_step steps[8];
	const char *line;
};

/* One row a sentence of v1-behaviour E.1. */
static const struct set_row set_rows[] = {
	{"a first condition", {{"Created", true, "c", 1}}, "Created+/c@1,1"},
	{"Failed is final",
     {{"Failed", true, "f", 1}, {"Running", true, "r", 0}, {"Succeeded", true, "s", 0}, {"Failed", false, "g", 0}},
     "Failed+/f@1,1"},
	{"a Failed that is False is not final",
     {{"Failed", false, "f", 1}, {"Running", true, "r", 1}},
     "Failed-/f@1,1 Running+/r@2,2"},
	{"same status and reason",
     {{"Running", true, "r", 1}, {"Created", true, "c", 1}, {"Running", true, "r", 0}},
     "Running+/r@1,1 Created+/c@2,2"},
	{"same status, other reason: the transition stays",
     {{"Running", true, "r", 1}, {"Created", true, "c", 1}, {"Running", true, "other", 1}},
     "Created+/c@2,2 Running+/other@3,1"},
	{"other status: a new transition", {{"Suspended", true, "s", 1}, {"Suspended", false, "s", 1}}, "Suspended-/s@2,2"},
	{"what is set goes to the end",
     {{"Created", true, "c", 1}, {"Suspended", true, "s", 1}, {"Created", true, "d", 1}},
     "Suspended+/s@2,2 Created+/d@3,1"},
	{"Restarting removes Running",
     {{"Created", true, "c", 1}, {"Running", true, "r", 1}, {"Restarting", true, "x", 1}},
     "Created+/c@1,1 Restarting+/x@3,3"},
	{"Running removes Restarting", {{"Restarting", true, "x", 1}, {"Running", true, "r", 1}}, "Running+/r@2,2"},
	{"a False Running removes Restarting, too",
     {{"Restarting", true, "x", 1}, {"Running", false, "s", 1}},
     "Running-/s@2,2"},
	{"Succeeded flips Running in place",
     {{"Running", true, "r", 1}, {"Created", true, "c", 1}, {"Succeeded", true, "s", 1}},
     "Running-/r@1,1 Created+/c@2,2 Succeeded+/s@3,3"},
	{"Failed flips Running in place",
     {{"Created", true, "c", 1}, {"Running", true, "r", 1}, {"Failed", true, "f", 1}},
     "Created+/c@1,1 Running-/r@2,2 Failed+/f@3,3"},
	{"Failed leaves Restarting",
     {{"Restarting", true, "x", 1}, {"Failed", true, "f", 1}},
     "Restarting+/x@1,1 Failed+/f@2,2"},
	{"Succeeded leaves Restarting",
     {{"Restarting", true, "x", 1}, {"Succeeded", true, "s", 1}},
     "Restarting+/x@1,1 Succeeded+/s@2,2"},
	{"Suspended leaves Running",
     {{"Running", true, "r", 1}, {"Suspended", true, "s", 1}},
     "Running+/r@1,1 Suspended+/s@2,2"},
	{"Succeeded then Failed",
     {{"Succeeded", true, "s", 1}, {"Failed", true, "f", 1}},
     "Succeeded+/s@1,1 Failed+/f@2,2"},
	{"suspend and resume",
     {{"Created", true, "c", 1},
      {"Running", true, "r", 1},
      {"Running", false, "s", 1},
      {"Suspended", true, "s", 1},
      {"Suspended", false, "m", 1},
      {"Running", true, "r", 1}},
     "Created+/c@1,1 Suspended-/m@5,5 Running+/r@6,6"},
};

static void status_play(struct rh_job_status *status, const struct set_row *row)
{
	for (size_t i = 0; i < 8 && row->steps[i].type; i++) {
		const struct set_step *step = &row->steps[i];
		int64_t now = (int64_t)(i + 1) * RH_SECOND;

		if (rh_job_status_set(status, step->type, step->value, step->reason, "m", now) != step->result)
			fail_msg("%s: step %zu did not say %d", row->name, i + 1, step->result);
	}
}

static void test_status__set(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(set_rows) / sizeof(set_rows[0]); i++) {
		struct rh_job_status status = {0};
		rh_auto_free char *line = NULL;

		status_play(&status, &set_rows[i]);
		line = status_line(&status);
		if (strcmp(line, set_rows[i].line) != 0)
			fail_msg("%s: %s", set_rows[i].name, line);
		rh_job_status_deinit(&status);
	}
}

/* v1-behaviour E.1: neither a message is refreshed by the same reason, nor does a flip touch it. */
static void test_status__messages(void **state)
{
	struct rh_job_status status = {0};

	(void)state;
	assert_int_equal(rh_job_status_set(&status, "Running", true, "r", "first", RH_SECOND), 1);
	assert_int_equal(rh_job_status_set(&status, "Running", true, "r", "second", RH_SECOND), 0);
	assert_string_equal(rh_job_status_condition(&status, "Running")->message, "first");
	assert_int_equal(rh_job_status_set(&status, "Succeeded", true, "s", "done", RH_SECOND), 1);
	assert_string_equal(rh_job_status_condition(&status, "Running")->message, "first");
	assert_string_equal(rh_job_status_condition(&status, "Running")->reason, "r");
	rh_job_status_deinit(&status);
}

/* What is handed in may be the texts of the condition that goes. */
static void test_status__set_from_itself(void **state)
{
	struct rh_job_status status = {0};
	const struct rh_condition *old;

	(void)state;
	assert_int_equal(rh_job_status_set(&status, "Running", true, "r", "m", RH_SECOND), 1);
	old = rh_job_status_condition(&status, "Running");
	assert_int_equal(rh_job_status_set(&status, old->type, false, old->reason, old->message, RH_SECOND), 1);
	assert_string_equal(rh_job_status_condition(&status, "Running")->message, "m");
	rh_job_status_deinit(&status);
}

static void test_status__questions(void **state)
{
	struct rh_job_status status = {0};

	(void)state;
	assert_null(rh_job_status_condition(&status, "Created"));
	assert_false(rh_job_status_is(&status, "Created"));
	assert_int_equal(rh_job_status_set(&status, "Created", true, "c", "m", 1), 1);
	assert_int_equal(rh_job_status_set(&status, "Suspended", false, "c", "m", 1), 1);
	assert_true(rh_job_status_is(&status, "Created"));
	assert_false(rh_job_status_is(&status, "Suspended"));
	assert_false(rh_job_status_finished(&status));
	assert_int_equal(rh_job_status_set(&status, "Succeeded", true, "c", "m", 1), 1);
	assert_true(rh_job_status_finished(&status));
	rh_job_status_deinit(&status);
	assert_int_equal(rh_job_status_set(&status, "Failed", true, "c", "m", 1), 1);
	assert_true(rh_job_status_finished(&status));
	rh_job_status_deinit(&status);
}

static void test_status__replica(void **state)
{
	struct rh_job_status status = {0};
	struct rh_replica_status *worker;
	char type[] = "T00";

	(void)state;
	worker = rh_job_status_replica(&status, "Worker");
	assert_non_null(worker);
	assert_int_equal(worker->active + worker->succeeded + worker->failed, 0);
	assert_null(worker->selector);
	worker->active = 3;
	assert_ptr_equal(rh_job_status_replica(&status, "Worker"), worker);
	assert_int_equal(worker->active, 3);
	for (int i = 1; i < RH_TYPES_MAX; i++) {
		type[1] = (char)('0' + i / 10);
		type[2] = (char)('0' + i % 10);
		assert_non_null(rh_job_status_replica(&status, type));
	}
	assert_null(rh_job_status_replica(&status, "one more"));
	assert_non_null(rh_job_status_replica(&status, "Worker"));
	rh_job_status_deinit(&status);
}

static const char status_full[] =
	"{'conditions':[{'type':'Created','status':'True','reason':'PyTorchJobCreated','message':'PyTorchJob j is "
	"created.',"
	"'lastUpdateTime':'2026-11-21T10:00:00Z','lastTransitionTime':'2026-11-21T10:00:01Z'},"
	"{'type':'Running','status':'False'}],"
	"'replicaStatuses':{'Master':{'active':1,'selector':'a=b'},'Worker':{'succeeded':2,'failed':3},'PS':{}},"
	"'startTime':'2026-11-21T10:00:02Z','completionTime':'2026-11-21T10:00:03Z',"
	"'lastReconcileTime':'2026-11-21T10:00:04Z'}";

/* Reads @text and writes it again; the result must be @wanted. */
static void status_expect_json(const char *text, const char *wanted)
{
	struct rh_job_status status = {0};
	rh_auto(json) object = test_json(text);
	rh_auto(json) expected = test_json(wanted);
	rh_auto(json) written = NULL;

	assert_int_equal(rh_job_status_parse(object, &status), 0);
	written = rh_job_status_json(&status);
	assert_non_null(written);
	if (!rh_json_equal(written, expected)) {
		rh_auto_free char *made = rh_json_text(written);

		fail_msg("%s became %s", text, made);
	}
	rh_job_status_deinit(&status);
}

struct json_row {
	const char *text;
	const char *wanted;
};

static const struct json_row json_rows[] = {
	{status_full, status_full},
	{"{}", "{}"},
	{"null", "{}"},
	{"[]", "{}"},
	{"{'conditions':[],'replicaStatuses':{}}", "{}"},
	{"{'conditions':{},'replicaStatuses':[],'startTime':5}", "{}"},
	{"{'conditions':[5,null,{},{'status':'True'},{'type':7}]}", "{}"},
	{"{'conditions':[{'type':'X','status':'Unknown'}]}", "{'conditions':[{'type':'X','status':'False'}]}"},
	{"{'conditions':[{'type':'X','status':true,'reason':5,'lastUpdateTime':'soon'}]}",
     "{'conditions':[{'type':'X','status':'False'}]}"},
	{"{'conditions':[{'type':'X','status':'True'},{'type':'Y','status':'True'},{'type':'X','status':'False'}]}",
     "{'conditions':[{'type':'Y','status':'True'},{'type':'X','status':'False'}]}"},
	{"{'replicaStatuses':{'Worker':{'active':0,'succeeded':-1,'failed':3000000000,'selector':'','x':1}}}",
     "{'replicaStatuses':{'Worker':{}}}"},
	{"{'replicaStatuses':{'Worker':5,'PS':{'active':'1'}}}", "{'replicaStatuses':{'PS':{}}}"},
	{"{'startTime':'2026-11-21T12:00:00+02:00'}", "{'startTime':'2026-11-21T10:00:00Z'}"},
};

static void test_status__json(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(json_rows) / sizeof(json_rows[0]); i++)
		status_expect_json(json_rows[i].text, json_rows[i].wanted);
}

/* A foreign status with too many conditions and types: ours stay, and of the foreign ones the newest. */
static void test_status__too_many(void **state)
{
	rh_auto_str text = {0};
	rh_auto(json) object = NULL;
	struct rh_job_status status;

	(void)state;
	rh_str_append(&text, "{'conditions':[{'type':'Failed','status':'True'}");
	for (int i = 0; i < 40; i++)
		rh_str_appendf(&text, ",{'type':'Foreign%d','status':'True'}", i);
	rh_str_append(&text, "],'replicaStatuses':{'A':{}");
	for (int i = 0; i < 40; i++)
		rh_str_appendf(&text, ",'T%d':{}", i);
	rh_str_append(&text, "}}");
	object = test_json(rh_str_text(&text));
	assert_int_equal(rh_job_status_parse(object, &status), 0);
	assert_int_equal(status.condition_count, RH_CONDITIONS_MAX);
	assert_int_equal(status.replica_count, RH_TYPES_MAX);
	assert_true(rh_job_status_is(&status, "Failed"));
	assert_true(rh_job_status_is(&status, "Foreign39"));
	assert_null(rh_job_status_condition(&status, "Foreign0"));
	rh_job_status_deinit(&status);
}

static void status_from(const char *text, struct rh_job_status *ret_status)
{
	rh_auto(json) object = test_json(text);

	assert_int_equal(rh_job_status_parse(object, ret_status), 0);
}

static void test_status__copy_is_equal(void **state)
{
	struct rh_job_status status;
	struct rh_job_status copy = {0};

	(void)state;
	status_from(status_full, &status);
	assert_int_equal(rh_job_status_copy(&copy, &status), 0);
	assert_true(rh_job_status_equal(&status, &copy));
	assert_string_not_equal(copy.conditions[0].message, "");
	assert_ptr_not_equal(copy.conditions[0].message, status.conditions[0].message);
	rh_job_status_deinit(&status);
	assert_string_equal(copy.conditions[0].message, "PyTorchJob j is created.");
	rh_job_status_deinit(&copy);
}

/* Pairs of texts in status_full and what takes their place: each makes a difference. */
static const char *const differences[][2] = {
	{"'Created'", "'Other'"},
	{"'status':'True'", "'status':'False'"},
	{"PyTorchJobCreated", "Other"},
	{"is created.", "was created."},
	{"10:00:00Z", "10:00:10Z"},
	{"10:00:01Z", "10:00:11Z"},
	{"10:00:02Z", "10:00:12Z"},
	{"10:00:03Z", "10:00:13Z"},
	{"10:00:04Z", "10:00:14Z"},
	{"'active':1", "'active':2"},
	{"'succeeded':2", "'succeeded':3"},
	{"'failed':3", "'failed':4"},
	{"'a=b'", "'a=c'"},
	{"'PS':{}", "'PT':{}"},
	{",'PS':{}", ""},
	{",{'type':'Running','status':'False'}", ""},
};

static void test_status__differences_count(void **state)
{
	struct rh_job_status status;

	(void)state;
	status_from(status_full, &status);
	for (size_t i = 0; i < sizeof(differences) / sizeof(differences[0]); i++) {
		const char *at = strstr(status_full, differences[i][0]);
		rh_auto_free char *text = rh_asprintf("%.*s%s%s", (int)(at - status_full), status_full, differences[i][1],
		                                      at + strlen(differences[i][0]));
		struct rh_job_status other;

		status_from(text, &other);
		if (rh_job_status_equal(&status, &other) || rh_job_status_equal(&other, &status))
			fail_msg("%s made no difference", differences[i][1]);
		rh_job_status_deinit(&other);
	}
	rh_job_status_deinit(&status);
}

/* What a reader cannot see is no difference: parts of a second, the order of types. */
static void test_status__equal_as_written(void **state)
{
	struct rh_job_status a;
	struct rh_job_status b;

	(void)state;
	status_from("{'startTime':'2026-11-21T10:00:02Z','replicaStatuses':{'A':{'active':1},'B':{}}}", &a);
	status_from("{'startTime':'2026-11-21T10:00:02.75Z','replicaStatuses':{'B':{},'A':{'active':1}}}", &b);
	assert_true(rh_job_status_equal(&a, &b));
	rh_job_status_deinit(&a);
	rh_job_status_deinit(&b);
}

/* Each status that V1 was seen to report reads and writes back; the goldens keep times only as "set or not". */
static void status_replay(const struct rh_json *golden)
{
	static const char *const lists[] = {"conditions", "replicaStatuses"};
	rh_auto(json) wanted = rh_json_new_object();
	rh_auto(json) written = NULL;
	struct rh_job_status status;

	for (size_t i = 0; i < 2; i++) {
		const struct rh_json *list = rh_json_get(golden, lists[i]);

		if (rh_json_size(list) > 0)
			assert_int_equal(rh_json_set(wanted, lists[i], rh_json_copy(list)), 0);
	}
	assert_int_equal(rh_job_status_parse(wanted, &status), 0);
	written = rh_job_status_json(&status);
	assert_true(rh_json_equal(written, wanted));
	rh_job_status_deinit(&status);
}

static void test_status__goldens(void **state)
{
	DIR *folder = opendir(RH_GOLDENS "/lives");
	int count = 0;

	(void)state;
	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder));) {
		rh_auto_free char *path = rh_asprintf("lives/%s", entry->d_name);
		rh_auto(json) golden = strstr(entry->d_name, ".v1.json") ? test_golden(path) : NULL;
		const struct rh_json *step = rh_json_first(rh_json_get(golden, "afterStep"));

		for (; step; step = rh_json_next(step), count++)
			status_replay(step);
	}
	(void)closedir(folder);
	assert_true(count > 50);
}

static void test_status__failing_parse(void **state)
{
	rh_auto(json) object = test_json(status_full);
	long failures = 0;
	int r;

	(void)state;
	do {
		struct rh_job_status status = {0};

		rh_mem_fail_after(failures++);
		r = rh_job_status_parse(object, &status);
		rh_mem_fail_after(-1);
		assert_true(r == 0 || (r == RH_ENOMEM && status.condition_count == 0));
		rh_job_status_deinit(&status);
	} while (r != 0);
	assert_true(failures > 10);
}

static void test_status__failing_copy_and_json(void **state)
{
	struct rh_job_status status;
	long failures = 0;
	bool all = false;

	(void)state;
	status_from(status_full, &status);
	while (!all) {
		struct rh_job_status copy = {0};
		rh_auto(json) written = NULL;

		rh_mem_fail_after(failures++);
		all = rh_job_status_copy(&copy, &status) == 0;
		written = all ? rh_job_status_json(&copy) : NULL;
		all = all && written;
		rh_mem_fail_after(-1);
		rh_job_status_deinit(&copy);
	}
	assert_true(failures > 20);
	rh_job_status_deinit(&status);
}

/* A set that fails changes nothing, not even what it would have displaced. */
static void test_status__failing_set(void **state)
{
	struct rh_job_status status = {0};
	rh_auto_free char *before = NULL;
	long failures = 0;
	int r;

	(void)state;
	assert_int_equal(rh_job_status_set(&status, "Running", true, "r", "m", RH_SECOND), 1);
	before = status_line(&status);
	do {
		rh_auto_free char *after = NULL;

		rh_mem_fail_after(failures++);
		r = rh_job_status_set(&status, "Restarting", true, "x", "m", RH_SECOND);
		rh_mem_fail_after(-1);
		after = status_line(&status);
		assert_string_equal(after, r < 0 ? before : "Restarting+/x@1,1");
	} while (r < 0);
	assert_int_equal(failures, 4);
	rh_job_status_deinit(&status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status__set),
		cmocka_unit_test(test_status__messages),
		cmocka_unit_test(test_status__set_from_itself),
		cmocka_unit_test(test_status__questions),
		cmocka_unit_test(test_status__replica),
		cmocka_unit_test(test_status__json),
		cmocka_unit_test(test_status__too_many),
		cmocka_unit_test(test_status__copy_is_equal),
		cmocka_unit_test(test_status__differences_count),
		cmocka_unit_test(test_status__equal_as_written),
		cmocka_unit_test(test_status__goldens),
		cmocka_unit_test(test_status__failing_parse),
		cmocka_unit_test(test_status__failing_copy_and_json),
		cmocka_unit_test(test_status__failing_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
