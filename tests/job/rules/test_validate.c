/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <string.h>

#include "job/kinds.h"
#include "job/rules/validate.h"
#include "job/support.h"

/* Jobs that V1 refused for a rule of the core; the rest are the plugins'. */
static const char *const refused_goldens[] = {
	"bad-container-name", "bad-name-Upper", "bad-no-image",      "bad-paddle-rt",
	"bad-two-masters",    "bad-unknown-rt", "bad-xgb-no-master",
};

static struct rh_job *validate_golden(const char *path)
{
	struct rh_json *object = test_golden(path);
	const struct rh_kind *kind = test_kind(rh_json_string_at(object, "kind"));
	struct rh_job *job = NULL;
	struct rh_error err = {0};

	assert_non_null(kind);
	if (rh_job_parse(kind, object, &job, &err) != 0)
		fail_msg("%s: %s", path, err.message);
	return job;
}

static void test_validate__goldens_refused(void **state)
{
	rh_auto(json) messages = test_golden("invalid/messages.json");

	(void)state;
	for (size_t i = 0; i < sizeof(refused_goldens) / sizeof(refused_goldens[0]); i++) {
		rh_auto_free char *path = rh_asprintf("invalid/%s.yaml", refused_goldens[i]);
		rh_auto(job) job = validate_golden(path);
		rh_auto_findings findings = {0};
		rh_auto_str text = {0};

		assert_int_equal(rh_job_validate(job, &findings), 0);
		rh_findings_print_v1(&findings, &text);
		assert_string_equal(rh_str_text(&text),
		                    rh_json_string(rh_json_get(rh_json_get(messages, refused_goldens[i]), "message")));
	}
}

struct accepted_row {
	const char *golden;
	const char *findings;
};

/* What V1 let in; the job with two chiefs is one type with two replicas, which V1's rule did not mean. */
static const struct accepted_row accepted_rows[] = {
	{"bad-clean-policy", "spec.runPolicy.cleanPodPolicy: Unsupported value: \"Sometimes\": supported values: \"All\", "
                         "\"None\", \"Running\"\n"},
	{"bad-restart-policy", "spec.pytorchReplicaSpecs[Master].restartPolicy: Unsupported value: \"Maybe\": supported "
                           "values: \"Always\", \"ExitCode\", \"Never\", \"OnFailure\"\n"},
	{"bad-no-specs", "spec.pytorchReplicaSpecs: Required value: must have at least one replica type\n"},
	{"bad-mpi-no-launcher", "spec.mpiReplicaSpecs[Launcher]: Required value: must be present\n"},
	{"bad-tf-two-chiefs", ""},
	{"bad-nproc-both", ""},
};

static void test_validate__goldens_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(accepted_rows) / sizeof(accepted_rows[0]); i++) {
		rh_auto_free char *path = rh_asprintf("invalid/%s.yaml", accepted_rows[i].golden);
		rh_auto(job) job = validate_golden(path);
		rh_auto_free char *text = test_validate(job);

		assert_string_equal(text, accepted_rows[i].findings);
	}
}

/* Every job that V1 ran in goldens/objects and goldens/lives has no error here either. */
static int validate_folder(const char *folder)
{
	rh_auto_free char *full = rh_asprintf("%s/%s", RH_GOLDENS, folder);
	DIR *entries = opendir(full);
	int count = 0;

	assert_non_null(entries);
	for (struct dirent *entry; (entry = readdir(entries));) {
		rh_auto_free char *path = rh_asprintf("%s/%s", folder, entry->d_name);
		rh_auto(job) job = NULL;
		rh_auto_findings findings = {0};

		if (!strstr(entry->d_name, ".yaml"))
			continue;
		job = validate_golden(path);
		assert_int_equal(rh_job_validate(job, &findings), 0);
		if (rh_findings_errors(&findings) > 0)
			fail_msg("%s: %s: %s", path, findings.items[0].path, findings.items[0].detail);
		count++;
	}
	(void)closedir(entries);
	return count;
}

static void test_validate__goldens_good(void **state)
{
	(void)state;
	assert_true(validate_folder("objects") > 20);
}

struct rule_row {
	const char *name;
	const struct rh_kind *kind;
	const char *job;
	const char *findings;
};

#define NAMED(name) "{'metadata':{'name':'" name "'},'spec':{'pytorchReplicaSpecs':{" TEST_MASTER "}}}"
#define POLICY(policy) \
	"{'metadata':{'name':'j'},'spec':{'runPolicy':" policy ",'pytorchReplicaSpecs':{" TEST_MASTER "}}}"
#define ANNOTATED(annotations) \
	"{'metadata':{'name':'j','annotations':" annotations "},'spec':{'pytorchReplicaSpecs':{" TEST_MASTER "}}}"
#define TYPES(field, map) "{'metadata':{'name':'j'},'spec':{'" field "':" map "}}"
#define PT(map) TYPES("pytorchReplicaSpecs", map)
#define WORKER(members) "'Worker':{" members ",'template':" TEST_TEMPLATE "}"
#define TF_TEMPLATE "'template':{'spec':{'containers':[{'name':'tensorflow','image':'i'}]}}"
#define MPI_TEMPLATE "'template':{'spec':{'containers':[{'name':'any','image':'i'}]}}"

#define DNS1035                                                                                                        \
	"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, " \
	"and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "             \
	"'[a-z]([-a-z0-9]*[a-z0-9])?')"
#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A54 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define FORBIDDEN(type, why) "spec.pytorchReplicaSpecs[" type "].replicas: Forbidden: " why "\n"
#define POLICY_NEGATIVE(field, value) \
	"spec.runPolicy." field ": Invalid value: " value ": must be greater than or equal to 0\n"

static const struct rule_row rule_rows[] = {
	{"good", &test_pytorch, NAMED("j"), ""},
	{"name with capitals", &test_pytorch, NAMED("Job"),
     "metadata.name: Invalid value: \"Job\": should match: " DNS1035 "\n"},
	{"name with dots", &test_pytorch, NAMED("a.b"),
     "metadata.name: Invalid value: \"a.b\": should match: " DNS1035 "\n"},
	{"long name", &test_pytorch, NAMED(A63 "a"),
     "metadata.name: Invalid value: \"" A63 "a\": should match: must be no more than 63 characters\n"},
	{"long name with capitals", &test_pytorch, NAMED("A" A63),
     "metadata.name: Invalid value: \"A" A63 "\": should match: must be no more than 63 characters," DNS1035 "\n"},
	{"long child", &test_pytorch, NAMED(A54 "b"),
     "metadata.name: Invalid value: \"" A54 "b\": the name of its replica \"" A54
     "b-master-0\" has 64 characters and must "
     "be no more than 63 characters: shorten the job's name by 1\n"},
	{"longest child that fits", &test_pytorch, NAMED(A54), ""},
	{"the index counts", &test_pytorch,
     "{'metadata':{'name':'" A54 "'},'spec':{'pytorchReplicaSpecs':{" WORKER("'replicas':11") "}}}",
     "metadata.name: Invalid value: \"" A54 "\": the name of its replica \"" A54
     "-worker-10\" has 64 characters and must be "
     "no more than 63 characters: shorten the job's name by 1\n"},
	{"namespace", &test_pytorch,
     "{'metadata':{'name':'j','namespace':'../x'},'spec':{'pytorchReplicaSpecs':{" TEST_MASTER "}}}",
     "metadata.namespace: Invalid value: \"../x\": a lowercase RFC 1123 label must consist of lower case alphanumeric "
     "characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
     "used "
     "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\n"},
	{"a kind without DNS names", &test_mpi,
     "{'metadata':{'name':'1.x'},'spec':{'mpiReplicaSpecs':{'Launcher':{" MPI_TEMPLATE "}}}}", ""},
	{"its names", &test_mpi, "{'metadata':{'name':'X'},'spec':{'mpiReplicaSpecs':{'Launcher':{" MPI_TEMPLATE "}}}}",
     "metadata.name: Invalid value: \"X\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
     "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
     "for "
     "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\n"},
	{"its names are labels", &test_mpi,
     "{'metadata':{'name':'" A63 ".a'},'spec':{'mpiReplicaSpecs':{'Launcher':{" MPI_TEMPLATE "}}}}",
     "metadata.name: Invalid value: \"" A63
     ".a\": must be no more than 63 characters, because it is a label of its pods\n"},
	{"its children may be long", &test_mpi,
     "{'metadata':{'name':'" A63 "'},'spec':{'mpiReplicaSpecs':{'Launcher':{" MPI_TEMPLATE "}}}}", ""},
	{"managed by us", &test_pytorch, POLICY("{'managedBy':'kubeflow.org/training-operator'}"), ""},
	{"managed by Kueue", &test_pytorch, POLICY("{'managedBy':'kueue.x-k8s.io/multikueue'}"), ""},
	{"managed by nobody", &test_pytorch, POLICY("{'managedBy':''}"),
     "spec.runPolicy.managedBy: Unsupported value: \"\": supported values: \"kueue.x-k8s.io/multikueue\", "
     "\"kubeflow.org/training-operator\"\n"},
	{"clean policies", &test_pytorch, POLICY("{'cleanPodPolicy':'All'}"), ""},
	{"no clean policy", &test_pytorch, POLICY("{'cleanPodPolicy':''}"),
     "spec.runPolicy.cleanPodPolicy: Unsupported value: \"\": supported values: \"All\", \"None\", \"Running\"\n"},
	{"MPI's second clean policy", &test_mpi,
     "{'metadata':{'name':'j'},'spec':{'cleanPodPolicy':'x','mpiReplicaSpecs':{'Launcher':{" MPI_TEMPLATE "}}}}",
     "spec.cleanPodPolicy: Unsupported value: \"x\": supported values: \"All\", \"None\", \"Running\"\n"},
	{"negative times", &test_pytorch,
     POLICY("{'ttlSecondsAfterFinished':-1,'activeDeadlineSeconds':-2,'backoffLimit':-3}"),
     POLICY_NEGATIVE("ttlSecondsAfterFinished", "-1") POLICY_NEGATIVE("activeDeadlineSeconds", "-2")
         POLICY_NEGATIVE("backoffLimit", "-3")},
	{"zero times", &test_pytorch, POLICY("{'ttlSecondsAfterFinished':0,'activeDeadlineSeconds':0,'backoffLimit':0}"),
     ""},
	{"scheduling", &test_pytorch,
     POLICY("{'schedulingPolicy':{'minAvailable':-1,'scheduleTimeoutSeconds':-1,'minResources':{'cpu':'x'}}}"),
     POLICY_NEGATIVE("schedulingPolicy.minAvailable", "-1") POLICY_NEGATIVE(
		 "schedulingPolicy.scheduleTimeoutSeconds", "-1") "spec.runPolicy.schedulingPolicy.minResources[cpu]: Invalid "
                                                          "value: quantity \"x\" is not a number with an optional "
                                                          "suffix, such as 500m, 1.5 or 2Gi\n"},
	{"scope", &test_pytorch, ANNOTATED("{'roundhouse.dev/restart':'job','roundhouse.dev/terminating-timeout':'1m'}"),
     ""},
	{"backend", &test_pytorch, ANNOTATED("{'roundhouse.dev/comm':'ucx'}"), ""},
	{"no backend", &test_pytorch, ANNOTATED("{'roundhouse.dev/comm':'none'}"), ""},
	{"unknown backend", &test_pytorch, ANNOTATED("{'roundhouse.dev/comm':'UCX'}"),
     "metadata.annotations[roundhouse.dev/comm]: Unsupported value: \"UCX\": supported values: \"auto\", \"native\", "
     "\"ucx\", \"mpi\", \"nccl\", \"none\", or the name of another backend\n"},
	{"backend of others", &test_pytorch, ANNOTATED("{'roundhouse.dev/comm':'mailbox'}"),
     "warning: metadata.annotations[roundhouse.dev/comm]: \"mailbox\" is none of Roundhouse's own backends (auto, "
     "native, ucx, mpi, nccl, none), so the image of every replica must have librhcomm_mailbox.so\n"},
	{"unknown scope", &test_pytorch, ANNOTATED("{'roundhouse.dev/restart':'all'}"),
     "metadata.annotations[roundhouse.dev/restart]: Unsupported value: \"all\": supported values: \"job\", "
     "\"replica\"\n"},
	{"no duration", &test_pytorch, ANNOTATED("{'roundhouse.dev/terminating-timeout':'soon'}"),
     "metadata.annotations[roundhouse.dev/terminating-timeout]: Invalid value: \"soon\": must be a duration such as "
     "30s or "
     "2m\n"},
	{"stalls", &test_pytorch,
     ANNOTATED(
		 "{'roundhouse.dev/stalls':'evict','roundhouse.dev/stalls-after':'90s','roundhouse.dev/stalls-limit':'0'}"),
     ""},
	{"stalls that are reported", &test_pytorch, ANNOTATED("{'roundhouse.dev/stalls':'report'}"), ""},
	{"unknown action", &test_pytorch, ANNOTATED("{'roundhouse.dev/stalls':'kill'}"),
     "metadata.annotations[roundhouse.dev/stalls]: Unsupported value: \"kill\": supported values: \"report\", "
     "\"restart\", \"evict\"\n"},
	{"no time, no number", &test_pytorch,
     ANNOTATED("{'roundhouse.dev/stalls':'restart','roundhouse.dev/stalls-after':'soon','roundhouse.dev/stalls-limit':"
               "'-1'}"),
     "metadata.annotations[roundhouse.dev/stalls-after]: Invalid value: \"soon\": must be a duration such as 30s or "
     "2m\n"
     "metadata.annotations[roundhouse.dev/stalls-limit]: Invalid value: \"-1\": must be a whole number from 0 to "
     "2147483647, such as 3\n"},
	{"a limit of nothing", &test_pytorch, ANNOTATED("{'roundhouse.dev/stalls-limit':'1'}"),
     "warning: metadata.annotations[roundhouse.dev/stalls-limit]: has no effect without roundhouse.dev/stalls: "
     "restart, "
     "or evict\n"},
	{"annotation of wrong type", &test_pytorch, ANNOTATED("{'a':true}"),
     "metadata.annotations[a]: Invalid value: true: must be of type string\n"},
	{"no map", &test_pytorch, "{'metadata':{'name':'j'},'spec':{}}",
     "spec.pytorchReplicaSpecs: Required value: must be required\n"},
	{"null map", &test_pytorch, PT("null"), "spec.pytorchReplicaSpecs: Required value: must be required\n"},
	{"empty map with a required type", &test_xgboost, TYPES("xgbReplicaSpecs", "{}"),
     "spec.xgbReplicaSpecs[Master]: Required value: must be present\n"},
	{"several errors of one type, in V1's order", &test_pytorch, PT("{'Boss':{'restartPolicy':'x'}}"),
     "spec.pytorchReplicaSpecs[Boss]: Unsupported value: \"Boss\": supported values: \"Master\", \"Worker\"\n"
     "spec.pytorchReplicaSpecs[Boss].template.spec.containers: Required value: must be specified\n"
     "spec.pytorchReplicaSpecs[Boss].template.spec.containers: Required value: must have at least one container with "
     "name "
     "pytorch\n"
     "spec.pytorchReplicaSpecs[Boss].restartPolicy: Unsupported value: \"x\": supported values: \"Always\", "
     "\"ExitCode\", "
     "\"Never\", \"OnFailure\"\n"},
	{"Master without replicas", &test_pytorch, PT("{'Master':{'template':" TEST_TEMPLATE "}}"),
     FORBIDDEN("Master", "must be 1")},
	{"Master with null replicas", &test_pytorch, PT("{'Master':{'replicas':null,'template':" TEST_TEMPLATE "}}"),
     FORBIDDEN("Master", "must be 1")},
	{"no Master at all in Master", &test_pytorch, PT("{'Master':{'replicas':0,'template':" TEST_TEMPLATE "}}"),
     FORBIDDEN("Master", "must be 1")},
	{"no workers", &test_pytorch, PT("{" WORKER("'replicas':0") "}"), FORBIDDEN("Worker", "must be at least 1")},
	{"negative workers", &test_pytorch, PT("{" WORKER("'replicas':-1") "}"), FORBIDDEN("Worker", "must be at least 1")},
	{"most workers", &test_pytorch, PT("{" WORKER("'replicas':10000000") "}"), ""},
	{"too many workers", &test_pytorch, PT("{" WORKER("'replicas':10000001") "}"),
     "spec.pytorchReplicaSpecs[Worker].replicas: Invalid value: 10000001: must be less than or equal to 10000000\n"},
	{"workers by default", &test_pytorch, PT("{" WORKER("'replicas':null") "}"), ""},
	{"negative without a bound", &test_tensorflow, TYPES("tfReplicaSpecs", "{'PS':{'replicas':-2," TF_TEMPLATE "}}"),
     "spec.tfReplicaSpecs[PS].replicas: Invalid value: -2: must be greater than or equal to 0\n"},
	{"zero without a bound", &test_tensorflow, TYPES("tfReplicaSpecs", "{'PS':{'replicas':0," TF_TEMPLATE "}}"), ""},
	{"two launchers", &test_mpi, TYPES("mpiReplicaSpecs", "{'Launcher':{'replicas':2," MPI_TEMPLATE "}}"),
     "spec.mpiReplicaSpecs[Launcher].replicas: Forbidden: must be 1\n"},
	{"a launcher by default", &test_mpi, TYPES("mpiReplicaSpecs", "{'Launcher':{" MPI_TEMPLATE "}}"), ""},
	{"types are listed as V1 does", &test_mpi,
     TYPES("mpiReplicaSpecs", "{'Launcher':{" MPI_TEMPLATE "},'x':{" MPI_TEMPLATE "}}"),
     "spec.mpiReplicaSpecs[x]: Unsupported value: \"x\": supported values: \"Launcher\", \"Worker\"\n"},
	{"a type in another case", &test_mpi,
     TYPES("mpiReplicaSpecs", "{'Launcher':{" MPI_TEMPLATE "},'worker':{" MPI_TEMPLATE "}}"),
     "spec.mpiReplicaSpecs[worker]: Unsupported value: \"worker\": supported values: \"Launcher\", \"Worker\"; did you "
     "mean \"Worker\"?\n"},
	{"a misspelt type", &test_mpi,
     TYPES("mpiReplicaSpecs", "{'Launcher':{" MPI_TEMPLATE "},'Wroker':{" MPI_TEMPLATE "}}"),
     "spec.mpiReplicaSpecs[Wroker]: Unsupported value: \"Wroker\": supported values: \"Launcher\", \"Worker\"; did you "
     "mean \"Worker\"?\n"},
	{"types in any case", &test_tensorflow, TYPES("tfReplicaSpecs", "{'worker':{" TF_TEMPLATE "}}"), ""},
	{"a displaced type", &test_tensorflow, TYPES("tfReplicaSpecs", "{'Worker':{},'worker':{" TF_TEMPLATE "}}"),
     "spec.tfReplicaSpecs[Worker].template.spec.containers: Required value: must be specified\n"
     "spec.tfReplicaSpecs[Worker].template.spec.containers: Required value: must have at least one container with name "
     "tensorflow\n"
     "warning: spec.tfReplicaSpecs[Worker]: it has no effect: the same type is there in another spelling\n"},
	{"an open type", &test_tensorflow, TYPES("tfReplicaSpecs", "{'Helper':{" TF_TEMPLATE "}}"), ""},
	{"an open type that names no pod", &test_tensorflow, TYPES("tfReplicaSpecs", "{'a_b':{" TF_TEMPLATE "}}"),
     "spec.tfReplicaSpecs[a_b]: Invalid value: \"a_b\": a replica type must consist of at most 63 letters, digits or "
     "'-', "
     "and start and end with a letter or digit, because pods are named after it\n"},
	{"a template's restart policy", &test_pytorch,
     PT("{'Worker':{'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'pytorch','image':'i'}]}}}}"),
     "warning: spec.pytorchReplicaSpecs[Worker].template.spec.restartPolicy: Restart policy in pod template will be "
     "overwritten by restart policy in replica spec\n"},
};

static void test_validate__rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rule_rows) / sizeof(rule_rows[0]); i++) {
		rh_auto(job) job = test_job(rule_rows[i].kind, rule_rows[i].job);
		rh_auto_free char *text = test_validate(job);

		if (strcmp(text, rule_rows[i].findings) != 0)
			fail_msg("%s: %s", rule_rows[i].name, text);
	}
}

struct update_row {
	const char *old;
	const char *new;
	const char *message;
};

#define QUEUE(queue) POLICY("{'schedulingPolicy':{'queue':" queue "}}")
#define MANAGER(manager) POLICY("{'managedBy':" manager "}")
#define IMMUTABLE(value) "spec.runPolicy.managedBy: Invalid value: " value ": field is immutable"

static const struct update_row update_rows[] = {
	{NAMED("j"), NAMED("j"), ""},
	{MANAGER("'a'"), MANAGER("'a'"), ""},
	{MANAGER("'a'"), MANAGER("'b'"), IMMUTABLE("\"b\"")},
	{MANAGER("null"), MANAGER("'b'"), IMMUTABLE("\"b\"")},
	{MANAGER("'a'"), NAMED("j"), IMMUTABLE("null")},
	{QUEUE("'a'"), QUEUE("'a'"), ""},
	{QUEUE("'a'"), QUEUE("'b'"),
     "spec.runPolicy.schedulingPolicy.queue: Invalid value: \"string\": spec.runPolicy.schedulingPolicy.queue is "
     "immutable"},
	{QUEUE("null"), QUEUE("'b'"), ""},
	{QUEUE("'a'"), NAMED("j"), ""},
};

static void test_validate__update(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(update_rows) / sizeof(update_rows[0]); i++) {
		rh_auto(job) old = test_job(&test_pytorch, update_rows[i].old);
		rh_auto(job) new = test_job(&test_pytorch, update_rows[i].new);
		rh_auto_findings findings = {0};
		rh_auto_str text = {0};

		assert_int_equal(rh_job_validate_update(old, new, &findings), 0);
		rh_findings_print_v1(&findings, &text);
		assert_string_equal(rh_str_text(&text), update_rows[i].message);
	}
}

/* Each rule once, so that each way to run out of memory is tried. */
static const char failing_job[] =
	"{'metadata':{'name':'J','namespace':'N','annotations':{'roundhouse.dev/restart':'x','a':1,"
	"'roundhouse.dev/stalls':'x','roundhouse.dev/stalls-after':'x','roundhouse.dev/stalls-limit':'x',"
	"'roundhouse.dev/terminating-timeout':'x'}},"
	"'spec':{'runPolicy':{'cleanPodPolicy':'x','managedBy':'x','backoffLimit':-1,'schedulingPolicy':{'minAvailable':-1,"
	"'minResources':{'cpu':'x'}}},'pytorchReplicaSpecs':{'x':{'restartPolicy':'x','template':{'metadata':{'name':'x'},"
	"'spec':{'restartPolicy':'x','containers':[{'name':'X','resources':{'requests':{'cpu':2},'limits':{'cpu':1}}}]}}}}}"
	"}";

static void test_validate__failing_allocations(void **state)
{
	rh_auto(job) job = test_job(&test_pytorch, failing_job);
	long failures = 0;
	int r;

	(void)state;
	do {
		rh_auto_findings findings = {0};

		rh_mem_fail_after(failures++);
		r = rh_job_validate(job, &findings);
		rh_mem_fail_after(-1);
		assert_true(r == (findings.failed ? RH_ENOMEM : 0));
		assert_true(r != 0 || findings.count > 12);
	} while (r != 0);
	assert_true(failures > 40);
}

static void test_validate__failing_update(void **state)
{
	rh_auto(job) old = test_job(&test_pytorch, MANAGER("'a'"));
	rh_auto(job) new = test_job(&test_pytorch, MANAGER("'b'"));
	rh_auto_findings findings = {0};

	(void)state;
	rh_mem_fail_after(0);
	assert_int_equal(rh_job_validate_update(old, new, &findings), RH_ENOMEM);
	rh_mem_fail_after(-1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_validate__goldens_refused), cmocka_unit_test(test_validate__goldens_accepted),
		cmocka_unit_test(test_validate__goldens_good),    cmocka_unit_test(test_validate__rules),
		cmocka_unit_test(test_validate__update),          cmocka_unit_test(test_validate__failing_allocations),
		cmocka_unit_test(test_validate__failing_update),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
