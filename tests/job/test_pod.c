/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/os/clock.h"
#include "job/evidence/evidence.h"
#include "job/kinds.h"
#include "job/pod.h"
#include "job/support.h"

static struct rh_pod *pod_parse(const char *text)
{
	rh_auto(json) object = test_json(text);
	struct rh_pod *pod = NULL;

	assert_int_equal(rh_pod_parse(&test_pytorch, object, &pod), 0);
	return pod;
}

static const char pod_running[] =
	"{'metadata':{'name':'j-worker-1','uid':'u1','resourceVersion':'77','creationTimestamp':'2026-11-21T10:00:00Z',"
	"'labels':{'training.kubeflow.org/replica-type':'worker','training.kubeflow.org/replica-index':'1'},"
	"'annotations':{'roundhouse.dev/attempt':'3'},"
	"'ownerReferences':[{'uid':'other'},{'uid':'job','controller':true}]},"
	"'spec':{'nodeName':'n1','containers':[{'name':'side'},{'name':'pytorch'}]},"
	"'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}],"
	"'initContainerStatuses':[{'name':'init','restartCount':2}],"
	"'containerStatuses':[{'name':'side','restartCount':1,'state':{'running':{'startedAt':'2026-11-21T10:00:09Z'}}},"
	"{'name':'pytorch','restartCount':4,'state':{'running':{'startedAt':'2026-11-21T10:00:05Z'}}}]}}";

static void test_pod__running_texts(void **state)
{
	rh_auto(pod) pod = pod_parse(pod_running);

	(void)state;
	assert_string_equal(pod->name, "j-worker-1");
	assert_string_equal(pod->uid, "u1");
	assert_string_equal(pod->resource_version, "77");
	assert_string_equal(pod->owner_uid, "job");
	assert_string_equal(pod->type, "worker");
	assert_string_equal(pod->node, "n1");
	assert_string_equal(pod->reason, "");
	assert_string_equal(pod->waiting_reason, "");
	assert_string_equal(pod->waiting_message, "");
	assert_string_equal(pod->last_lines, "");
	assert_string_equal(pod->failed_container, "");
}

static void test_pod__running_numbers(void **state)
{
	rh_auto(pod) pod = pod_parse(pod_running);
	int64_t created = 0;

	(void)state;
	assert_int_equal(rh_time_parse("2026-11-21T10:00:00Z", &created, NULL), 0);
	assert_int_equal(pod->index, 1);
	assert_int_equal(pod->attempt, 3);
	assert_int_equal(pod->phase, RH_PHASE_RUNNING);
	assert_int_equal(pod->restarts, 7);
	assert_int_equal(pod->exit_code, -1);
	assert_int_equal(pod->failed_code, -1);
	assert_int_equal(pod->created_at, created);
	assert_int_equal(pod->started_at, created + 5 * RH_SECOND);
	assert_int_equal(pod->finished_at, 0);
	assert_int_equal(pod->deleted_at, 0);
	assert_false(pod->deleting);
	assert_true(pod->ready);
	assert_false(rh_pod_finished(pod));
}

#define POD_OF(status) "{'spec':{'containers':[{'name':'pytorch'},{'name':'side'}]},'status':" status "}"
#define ENDED(name, code, message)                                                                            \
	"{'name':'" name "','state':{'terminated':{'exitCode':" code ",'reason':'Error','message':'" message "'," \
	"'startedAt':'2026-11-21T10:00:00Z','finishedAt':'2026-11-21T10:00:07Z'}}}"

struct fault_row {
	const char *name;
	const char *pod;
	int32_t exit_code;
	int32_t failed_code;
	const char *container;
	const char *last_lines;
	const char *reason;
};

static const struct fault_row fault_rows[] = {
	{"main container", POD_OF("{'phase':'Failed','containerStatuses':[" ENDED("pytorch", "137", "oh") "]}"), 137, 137,
     "pytorch", "oh", "Error"},
	{"main before sidecar",
     POD_OF("{'phase':'Failed','containerStatuses':[" ENDED("side", "2", "s") "," ENDED("pytorch", "1", "m") "]}"), 1,
     1, "pytorch", "m", "Error"},
	{"sidecar, main ended well",
     POD_OF("{'phase':'Failed','containerStatuses':[" ENDED("pytorch", "0", "m") "," ENDED("side", "2", "s") "]}"), 0,
     2, "side", "s", "Error"},
	{"sidecar, main lost it",
     POD_OF("{'phase':'Failed','containerStatuses':[" ENDED("pytorch", "1", "Connection refused") "," ENDED(
		 "side", "2", "no certificate") "]}"),
     1, 2, "side", "no certificate", "Error"},
	{"all lost a peer",
     POD_OF("{'phase':'Failed','containerStatuses':[" ENDED("side", "2", "Broken pipe") "," ENDED(
		 "pytorch", "1", "Connection refused") "]}"),
     1, 1, "pytorch", "Connection refused", "Error"},
	{"init container",
     POD_OF("{'phase':'Failed','initContainerStatuses':[" ENDED("a", "0", "") "," ENDED(
		 "b", "3", "i") "],'containerStatuses':[{'name':'pytorch','state':{'waiting':{'reason':'PodInitializing'}}}]}"),
     -1, 3, "b", "i", "Error"},
	{"evicted", POD_OF("{'phase':'Failed','reason':'Evicted','message':'disk'}"), -1, -1, "", "disk", "Evicted"},
	{"evicted, and its container was killed for it",
     POD_OF("{'phase':'Failed','reason':'Evicted','message':'The node was low on resource: ephemeral-storage. ',"
            "'containerStatuses':[" ENDED("pytorch", "137", "step 7") "]}"),
     137, 137, "pytorch", "The node was low on resource: ephemeral-storage.", "Evicted"},
	{"no container has a word",
     POD_OF("{'phase':'Failed','reason':'Terminated','message':'imminent node shutdown',"
            "'containerStatuses':[" ENDED("pytorch", "137", "") "]}"),
     137, 137, "pytorch", "imminent node shutdown", "Terminated"},
	{"pod's own reason first",
     POD_OF("{'phase':'Failed','reason':'NodeLost','containerStatuses':[" ENDED("pytorch", "9", "m") "]}"), 9, 9,
     "pytorch", "m", "NodeLost"},
	{"succeeded", POD_OF("{'phase':'Succeeded','containerStatuses':[" ENDED("pytorch", "0", "fine") "]}"), 0, -1, "",
     "fine", "Error"},
	{"no spec", "{'status':{'phase':'Failed','containerStatuses':[" ENDED("x", "5", "m") "]}}", 5, 5, "x", "m",
     "Error"},
	{"negative exit code", POD_OF("{'phase':'Failed','containerStatuses':[" ENDED("pytorch", "-5", "m") "]}"), -1, -1,
     "pytorch", "m", "Error"},
	{"huge exit code", POD_OF("{'phase':'Failed','containerStatuses':[" ENDED("pytorch", "1e15", "m") "]}"), -1, -1,
     "pytorch", "m", "Error"},
};

static void test_pod__fault(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fault_rows) / sizeof(fault_rows[0]); i++) {
		const struct fault_row *row = &fault_rows[i];
		rh_auto(pod) pod = pod_parse(row->pod);

		if (pod->exit_code != row->exit_code || pod->failed_code != row->failed_code)
			fail_msg("%s: codes %d and %d", row->name, (int)pod->exit_code, (int)pod->failed_code);
		assert_string_equal(pod->failed_container, row->container);
		assert_string_equal(pod->last_lines, row->last_lines);
		assert_string_equal(pod->reason, row->reason);
		assert_true(rh_pod_finished(pod));
	}
}

#define WAS(name, code, message)                                                                             \
	"{'name':'" name "','restartCount':1,'state':{'running':{}},'lastState':{'terminated':{'exitCode':" code \
	",'reason':'OOMKilled','message':'" message "','finishedAt':'2026-11-21T10:00:07Z'}}}"

#define LOST "RuntimeError: Connection closed by peer"
#define WAS_LOST(name)                                                                                    \
	"{'name':'" name "','restartCount':1,'state':{'running':{}},'lastState':{'terminated':{'exitCode':1," \
	"'reason':'Error','message':'" LOST "','finishedAt':'2026-11-21T10:00:07Z'}}}"

/* A container that ended badly and was restarted in its place is the culprit of a pod that goes on. */
static void test_pod__restarted_in_place(void **state)
{
	static const struct fault_row rows[] = {
		{"main container", POD_OF("{'phase':'Running','containerStatuses':[" WAS("pytorch", "137", "oh") "]}"), -1, 137,
	     "pytorch", "oh", "OOMKilled"},
		{"main before sidecar",
	     POD_OF("{'phase':'Running','containerStatuses':[" WAS("side", "2", "s") "," WAS("pytorch", "1", "m") "]}"), -1,
	     1, "pytorch", "m", "OOMKilled"},
		{"sidecar",
	     POD_OF("{'phase':'Running','containerStatuses':[" WAS("pytorch", "0", "m") "," WAS("side", "2", "s") "]}"), -1,
	     2, "side", "s", "OOMKilled"},
		{"sidecar, whose end the main container only noticed",
	     POD_OF("{'phase':'Running','containerStatuses':[" WAS_LOST("pytorch") "," WAS("side", "2", "s") "]}"), -1, 2,
	     "side", "s", "OOMKilled"},
		{"sidecar between two runs",
	     POD_OF(
			 "{'phase':'Running','containerStatuses':[" ENDED("pytorch", "1", LOST) "," ENDED("side", "2", "s") "]}"),
	     1, 2, "side", "s", "Error"},
		{"main container, where both lost others",
	     POD_OF("{'phase':'Running','containerStatuses':[" WAS_LOST("pytorch") "," WAS_LOST("side") "]}"), -1, 1,
	     "pytorch", LOST, "Error"},
		{"init container", POD_OF("{'phase':'Pending','initContainerStatuses':[" WAS("a", "3", "i") "]}"), -1, 3, "a",
	     "i", "OOMKilled"},
		{"between two runs", POD_OF("{'phase':'Running','containerStatuses':[" ENDED("pytorch", "4", "now") "]}"), 4, 4,
	     "pytorch", "now", "Error"},
		{"ended well before", POD_OF("{'phase':'Running','containerStatuses':[" WAS("pytorch", "0", "m") "]}"), -1, -1,
	     "", "", ""},
		{"not while it succeeded", POD_OF("{'phase':'Succeeded','containerStatuses':[" WAS("pytorch", "9", "m") "]}"),
	     -1, -1, "", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(pod) pod = pod_parse(rows[i].pod);

		if (pod->exit_code != rows[i].exit_code || pod->failed_code != rows[i].failed_code)
			fail_msg("%s: codes %d and %d", rows[i].name, (int)pod->exit_code, (int)pod->failed_code);
		assert_string_equal(pod->failed_container, rows[i].container);
		assert_string_equal(pod->last_lines, rows[i].last_lines);
		assert_string_equal(pod->reason, rows[i].reason);
		assert_int_equal(pod->failed_at != 0, rows[i].failed_code > 0);
	}
}

static void test_pod__times_of_the_end(void **state)
{
	rh_auto(pod) pod = pod_parse(POD_OF("{'phase':'Failed','initContainerStatuses':[" ENDED(
		"init", "0",
		"") "],'containerStatuses':["
	        "{'name':'side','state':{'terminated':{'exitCode':0,'finishedAt':'2026-11-21T10:00:30Z'}}}," ENDED(
				"pytorch", "1", "") "]}"));

	(void)state;
	assert_int_equal(pod->finished_at - pod->started_at, 30 * RH_SECOND);
}

struct waiting_row {
	const char *status;
	const char *reason;
	const char *message;
};

static const struct waiting_row waiting_rows[] = {
	{"{'containerStatuses':[{'state':{'waiting':{'reason':'ImagePullBackOff','message':'Back-off pulling'}}}]}",
     "ImagePullBackOff", "Back-off pulling"},
	{"{'containerStatuses':[{'state':{'waiting':{'reason':'ContainerCreating'}}}]}", "ContainerCreating", ""},
	{"{'initContainerStatuses':[{'state':{'waiting':{'reason':'ErrImagePull'}}}],"
     "'containerStatuses':[{'state':{'waiting':{'reason':'PodInitializing'}}}]}",
     "ErrImagePull", ""},
	{"{'containerStatuses':[{'state':{'waiting':{'reason':'PodInitializing'}}}]}", "", ""},
	{"{'conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable','message':'0/3 nodes'}]}",
     "Unschedulable", "0/3 nodes"},
	{"{'conditions':[{'type':'PodScheduled','status':'True','reason':'x'}]}", "", ""},
	{"{}", "", ""},
};

static void test_pod__waiting(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(waiting_rows) / sizeof(waiting_rows[0]); i++) {
		rh_auto_free char *text = rh_asprintf("{'status':%s}", waiting_rows[i].status);
		rh_auto(pod) pod = pod_parse(text);

		assert_string_equal(pod->waiting_reason, waiting_rows[i].reason);
		assert_string_equal(pod->waiting_message, waiting_rows[i].message);
		assert_int_equal(pod->phase, RH_PHASE_PENDING);
	}
}

struct index_row {
	const char *label;
	int32_t index;
};

static const struct index_row index_rows[] = {
	{"'0'", 0},
	{"'17'", 17},
	{"'007'", 7},
	{"'2000000000'", 2000000000},
	{"'2147483647'", INT32_MAX},
	{"''", -1},
	{"'2147483648'", -1},
	{"'-1'", -1},
	{"'+1'", -1},
	{"'x'", -1},
	{"'1x'", -1},
	{"' 1'", -1},
	{"'1.0'", -1},
	{"'99999999999999999999'", -1},
	{"1", -1},
	{"null", -1},
	{"{'a':1}", -1},
	{"['1']", -1},
	{"'0x10'", -1},
	{"'1e3'", -1},
};

static void test_pod__index(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(index_rows) / sizeof(index_rows[0]); i++) {
		rh_auto_free char *text = rh_asprintf("{'metadata':{'labels':{'training.kubeflow.org/"
		                                      "replica-index':%s},'annotations':{'roundhouse.dev/attempt':%s}}}",
		                                      index_rows[i].label, index_rows[i].label);
		rh_auto(pod) pod = pod_parse(text);

		if (pod->index != index_rows[i].index)
			fail_msg("%s: index %d", index_rows[i].label, (int)pod->index);
		assert_int_equal(pod->attempt, index_rows[i].index < 0 ? 0 : index_rows[i].index);
	}
}

/* v1-behaviour C.11: the launcher's pod has no index label; a worker's that lost it counts for no replica. */
static void test_pod__of_a_type_without_index(void **state)
{
	static const char *const types[] = {"launcher", "worker"};

	(void)state;
	for (int32_t i = 0; i < 2; i++) {
		rh_auto(json) object = rh_json_new_object();
		struct rh_json *labels = rh_json_ensure_object(rh_json_ensure_object(object, "metadata"), "labels");
		rh_auto(pod) pod = NULL;

		assert_int_equal(rh_json_set_string(labels, "training.kubeflow.org/replica-type", types[i]), 0);
		assert_int_equal(rh_pod_parse(&test_mpi, object, &pod), 0);
		assert_int_equal(pod->index, -i);
	}
}

/* Pods that a user could write to harm the program; each must parse to something harmless. */
static const char *const hostile_pods[] = {
	"{}",
	"[]",
	"null",
	"'pod'",
	"{'metadata':[],'spec':[],'status':[]}",
	"{'metadata':7,'spec':'x','status':true}",
	"{'metadata':{'labels':[],'annotations':'x','ownerReferences':{'controller':true,'uid':'x'},'name':5}}",
	"{'metadata':{'ownerReferences':[null,5,[],{'controller':'true','uid':'x'}]}}",
	"{'metadata':{'creationTimestamp':'yesterday','deletionTimestamp':''}}",
	"{'status':{'phase':['Running'],'conditions':{'type':'Ready','status':'True'}}}",
	"{'status':{'phase':'Failed','containerStatuses':{'a':{'name':'pytorch'}}}}",
	"{'status':{'phase':'Failed','containerStatuses':[null,5,[],{},{'state':5},{'state':{'terminated':[]}}]}}",
	"{'status':{'phase':'Running','containerStatuses':[{'restartCount':1e300},{'restartCount':-5}]}}",
	"{'status':{'phase':'Running','containerStatuses':[{'restartCount':[]},{'restartCount':'7'}]}}",
	"{'spec':{'containers':{'name':'pytorch'},'nodeName':[]}}",
	"{'spec':{'containers':[5,null,'x']}}",
};

static void test_pod__hostile(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hostile_pods) / sizeof(hostile_pods[0]); i++) {
		rh_auto(pod) pod = pod_parse(hostile_pods[i]);

		assert_string_equal(pod->name, "");
		assert_string_equal(pod->owner_uid, "");
		assert_string_equal(pod->node, "");
		assert_int_equal(pod->index, -1);
		assert_int_equal(pod->restarts, 0);
		assert_int_equal(pod->exit_code, -1);
		assert_int_equal(pod->created_at, 0);
		assert_false(pod->ready);
	}
}

static void test_pod__restarts_saturate(void **state)
{
	rh_auto(pod) pod = pod_parse("{'status':{'containerStatuses':[{'restartCount':2147483647},"
	                             "{'restartCount':2147483647},{'restartCount':9007199254740992}]}}");

	(void)state;
	assert_int_equal(pod->restarts, INT32_MAX);
}

static void test_pod__deleting(void **state)
{
	rh_auto(pod) pod = pod_parse("{'metadata':{'deletionTimestamp':'1970-01-01T00:00:02Z'}}");
	rh_auto(pod) odd = pod_parse("{'metadata':{'deletionTimestamp':5}}");
	rh_auto(pod) graceful =
		pod_parse("{'metadata':{'deletionTimestamp':'1970-01-01T00:01:00Z','deletionGracePeriodSeconds':30}}");
	rh_auto(pod) bad_grace =
		pod_parse("{'metadata':{'deletionTimestamp':'1970-01-01T00:00:02Z','deletionGracePeriodSeconds':-7}}");
	rh_auto(pod) not_yet = pod_parse("{'metadata':{'deletionTimestamp':null}}");

	(void)state;
	assert_true(pod->deleting);
	assert_int_equal(pod->deleted_at, 2 * RH_SECOND);
	assert_int_equal(graceful->deleted_at, 30 * RH_SECOND);
	assert_int_equal(bad_grace->deleted_at, 2 * RH_SECOND);
	assert_true(odd->deleting);
	assert_int_equal(odd->deleted_at, 0);
	assert_false(not_yet->deleting);
}

/* A message of one line of 2-byte characters behind a single byte, so that the cut falls into a character. */
static void test_pod__last_lines_are_cut(void **state)
{
	static const char head[] = "{'status':{'phase':'Failed','containerStatuses':[{'name':'x','state':{'terminated':{"
							   "'exitCode':1,'message':'z";
	rh_auto_str text = {0};
	rh_auto(pod) pod = NULL;

	(void)state;
	rh_str_append(&text, head);
	for (int i = 0; i < 4000; i++)
		rh_str_append(&text, "\xc3\xa4");
	rh_str_append(&text, "'}}}]}}");
	pod = pod_parse(rh_str_text(&text));
	assert_in_range(strlen(pod->last_lines), RH_LAST_LINES_MAX / 2, RH_LAST_LINES_MAX);
	assert_true(rh_starts_with(pod->last_lines, "z\xc3\xa4"));
	assert_int_equal(strlen(pod->last_lines) % 2, 1);
}

static void test_pod__no_container_name(void **state)
{
	rh_auto(json) object =
		test_json("{'spec':{'containers':[{'name':'any'}]},'status':{'phase':'Failed','containerStatuses':["
	              "{'name':'side'},{'name':'any','state':{'terminated':{'exitCode':4}}}]}}");
	rh_auto(pod) pod = NULL;

	(void)state;
	assert_int_equal(rh_pod_parse(&test_mpi, object, &pod), 0);
	assert_int_equal(pod->exit_code, 4);
}

/* What a container wrote is unknown only where the kubelet was not to look at its log. */
static void test_pod__output_unknown(void **state)
{
	static const struct {
		const char *name;
		const char *spec;
		const char *end;
		bool unknown;
	} rows[] = {
		{"no message by the policy of API servers", "'terminationMessagePolicy':'File'", ENDED("any", "1", ""), true},
		{"a message", "'terminationMessagePolicy':'File'", ENDED("any", "1", "ValueError: x"), false},
		{"an empty log", "'terminationMessagePolicy':'FallbackToLogsOnError'", ENDED("any", "1", ""), false},
		{"one machine", "'image':'i'", ENDED("any", "1", ""), false},
		{"another container failed", "'terminationMessagePolicy':'File'", ENDED("other", "1", ""), false},
		{"none failed", "'terminationMessagePolicy':'File'", ENDED("any", "0", ""), false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rh_auto_free char *text =
			rh_asprintf("{'spec':{'containers':[{'name':'any',%s},{'name':'other'}]},'status':{'phase':'Failed',"
		                "'containerStatuses':[%s]}}",
		                rows[i].spec, rows[i].end);
		rh_auto(pod) pod = pod_parse(text);

		if (pod->output_unknown != rows[i].unknown)
			fail_msg("%s", rows[i].name);
	}
}

#define AT(name, time, more) \
	"{'name':'" name "','state':{'terminated':{'exitCode':1,'finishedAt':'2026-01-01T00:00:" time "Z'}}" more "}"
#define FILE_POLICY "'terminationMessagePolicy':'File'"
#define TWO "{'spec':{'containers':[{'name':'any'," FILE_POLICY "},{'name':'other'," FILE_POLICY "}]},'status':"

static void assert_unread(const char *status, const char *expected)
{
	rh_auto_free char *text = rh_asprintf(TWO "%s}", status);
	rh_auto(pod) pod = pod_parse(text);
	rh_auto_str list = {0};

	for (size_t i = 0; pod->unread && i < pod->unread->count; i++) {
		const struct rh_unread *unread = &pod->unread->items[i];

		rh_str_appendf(&list, "%s of %d%s%s, ", unread->container, (int)(unread->ended_at / RH_SECOND % 60),
		               unread->previous ? " before" : "", unread->exit_code == 1 ? "" : " odd");
	}
	assert_string_equal(rh_str_text(&list), expected);
}

/* Which logs would show what failed. */
static void test_pod__unread(void **state)
{
	(void)state;
	assert_unread("{'phase':'Failed','containerStatuses':[" AT("any", "05", "") "," AT("other", "07", "") "]}",
	              "any of 5, other of 7, ");
	assert_unread("{'phase':'Failed','containerStatuses':[" AT("any", "05", "") ",{'name':'other'}]}", "any of 5, ");
	assert_unread("{'phase':'Running','containerStatuses':[{'name':'any','restartCount':1,'state':{'running':{}},"
	              "'lastState':{'terminated':{'exitCode':1,'finishedAt':'2026-01-01T00:00:09Z'}}}]}",
	              "any of 9 before, ");
	assert_unread("{'phase':'Failed','message':'evicted','containerStatuses':[" AT("any", "05", "") "]}", "");
	assert_unread("{'phase':'Succeeded','containerStatuses':[{'name':'any'}]}", "");
	/* no name for a path */
	assert_unread("{'phase':'Failed','containerStatuses':[" AT("a/y", "05", "") "]}", "");
}

/* What was read counts as a message does, for the end that it was read of. */
static void test_pod__written(void **state)
{
	static const char status[] =
		"{'phase':'Failed','containerStatuses':[" AT("any", "05", "") "," AT("other", "07", "") "]}";
	const struct rh_unread main_end = {.container = "any", .ended_at = INT64_C(1767225605) * RH_SECOND, .exit_code = 1};
	rh_auto_free char *text = rh_asprintf(TWO "%s}", status);
	rh_auto(json) object = test_json(text);
	struct rh_unread other_end = {.container = "other", .exit_code = 1};
	struct rh_written *written = NULL;
	rh_auto(pod) alone = NULL;
	rh_auto(pod) both = NULL;

	(void)state;
	assert_int_equal(rh_written_add(&written, &main_end, "a\nRuntimeError: Connection closed by peer\n"), 0);
	assert_int_equal(rh_written_add(&written, &other_end, "an end of another time"), 0);
	assert_int_equal(rh_pod_parse_with(&test_pytorch, object, written, &alone), 0);
	assert_string_equal(alone->failed_container, "other");
	assert_int_equal(alone->blame, RH_BLAME_UNKNOWN);
	assert_true(alone->output_unknown);
	other_end.ended_at = INT64_C(1767225607) * RH_SECOND;
	assert_int_equal(rh_written_add(&written, &other_end, "ValueError: x\n"), 0);
	assert_int_equal(rh_pod_parse_with(&test_pytorch, object, written, &both), 0);
	assert_string_equal(both->last_lines, "ValueError: x");
	assert_int_equal(both->blame, RH_BLAME_CAUSE);
	assert_false(both->output_unknown);
	assert_null(both->unread);
	rh_written_free(written);
}

/* @return how many allocations failed before it could be parsed */
static long failing_allocations(const char *text)
{
	rh_auto(json) object = test_json(text);
	long failures = 0;
	int r;

	do {
		rh_auto(pod) pod = NULL;

		rh_mem_fail_after(failures++);
		r = rh_pod_parse(&test_pytorch, object, &pod);
		rh_mem_fail_after(-1);
		assert_true(r == 0 || (r == RH_ENOMEM && !pod));
	} while (r != 0);
	return failures;
}

static void test_pod__failing_allocations(void **state)
{
	(void)state;
	assert_true(failing_allocations(pod_running) > 10);
	assert_true(failing_allocations(TWO "{'phase':'Failed','containerStatuses':[" AT("any", "05", "") "]}}") > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pod__running_texts),
		cmocka_unit_test(test_pod__running_numbers),
		cmocka_unit_test(test_pod__fault),
		cmocka_unit_test(test_pod__restarted_in_place),
		cmocka_unit_test(test_pod__times_of_the_end),
		cmocka_unit_test(test_pod__waiting),
		cmocka_unit_test(test_pod__index),
		cmocka_unit_test(test_pod__of_a_type_without_index),
		cmocka_unit_test(test_pod__hostile),
		cmocka_unit_test(test_pod__restarts_saturate),
		cmocka_unit_test(test_pod__deleting),
		cmocka_unit_test(test_pod__last_lines_are_cut),
		cmocka_unit_test(test_pod__no_container_name),
		cmocka_unit_test(test_pod__output_unknown),
		cmocka_unit_test(test_pod__unread),
		cmocka_unit_test(test_pod__written),
		cmocka_unit_test(test_pod__failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
